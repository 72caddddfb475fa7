//! What web pages of accepted origins may do (CORS). Others are refused by http/names.rs whatever a browser makes of it.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, Method, header};
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::app::App;

/// How long a browser may keep the answer to its question.
const KEPT: Duration = Duration::from_mins(10);

/// Beside what any page may send: ours, and those of MCP's revisions.
const SENT: [&str; 5] = ["idempotency-key", "x-request-id", "mcp-protocol-version", "mcp-method", "mcp-name"];

/// Beside what any page may read.
const READ: [&str; 6] =
    ["x-request-id", "idempotency-replayed", "ratelimit", "ratelimit-policy", "retry-after", "www-authenticate"];

/// For `/mcp` and `/v1`.
pub(super) fn layer(app: &Arc<App>) -> CorsLayer {
    let app = app.clone();
    let sent = SENT.map(HeaderName::from_static);
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(move |origin, _| app.names.allow(origin)))
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        .allow_headers(
            [header::AUTHORIZATION, header::CONTENT_TYPE, header::ACCEPT].into_iter().chain(sent).collect::<Vec<_>>(),
        )
        .expose_headers(READ.map(HeaderName::from_static))
        .max_age(KEPT)
}
