//! MCP over streamable HTTP: stateless, so that any replica answers, in three revisions on one address.
//!
//! [`gate`] lets a request in: who asks, what is asked, and that it is written down. [`handler`] is what the MCP
//! library calls; it wraps `answers/` and knows nothing itself.

mod answer;
pub mod gate;
pub mod guard;
pub mod handler;
pub mod message;
pub mod prompts;
pub mod reply;
pub mod resources;
pub mod surface;

use std::sync::Arc;

use rmcp::model::ProtocolVersion;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::app::App;
use crate::http::body::MAX_BODY_BYTES;
use handler::Handler;

/// The longest repository name.
const MAX_REPOSITORY_NAME: usize = 100;

/// The revisions that are spoken: two with `initialize`, and the stateless one.
pub const REVISIONS: [ProtocolVersion; 3] =
    [ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

/// What the MCP routes work with.
#[derive(Clone)]
pub struct Door {
    pub(crate) app: Arc<App>,
    pub(crate) service: StreamableHttpService<Handler, NeverSessionManager>,
}

impl Door {
    /// For one service.
    pub fn new(app: Arc<App>) -> Self {
        let handler = Handler::new(app.clone());
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(MAX_BODY_BYTES)
            // Host and Origin are checked by the gate, before authentication (http/names.rs).
            .disable_allowed_hosts();
        let service =
            StreamableHttpService::new(move || Ok(handler.clone()), Arc::new(NeverSessionManager::default()), config);
        Self { app, service }
    }
}

/// Whether a text is the name of a repository: `[a-z0-9._-]+(/[a-z0-9._-]+)*`, at most 100 characters.
pub fn is_repository_name(text: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty() && word.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-'))
    };
    text.len() <= MAX_REPOSITORY_NAME && text.split('/').all(word)
}

#[cfg(test)]
mod tests {
    use super::is_repository_name;

    #[test]
    fn repository_names() {
        for name in ["a", "acme/billing", "acme/sub/billing-2.0_x"] {
            assert!(is_repository_name(name), "{name}");
        }
        for name in ["", "/a", "a/", "a//b", "A", "a b", "é", &"a".repeat(101)] {
            assert!(!is_repository_name(name), "{name}");
        }
    }
}
