//! What is logged, how, and to where: stderr.

use std::io::{self, IsTerminal as _};

use tracing::{Level, Metadata};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use crate::config::{Config, ConfigError, LogFormat};

/// Sets up logging for the process; the second call of a process has no effect.
pub fn init(config: &Config) -> Result<(), ConfigError> {
    let filter = EnvFilter::try_new(&config.log).map_err(|error| ConfigError::Bad {
        key: "log".to_owned(),
        origin: "configuration".to_owned(),
        reason: format!("is no filter like `info,rmcp=warn`: {error}"),
    })?;
    let to_stderr = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    // On a terminal the library colours, unless NO_COLOR is set; a file or a collector gets plain text.
    let to_stderr = if io::stderr().is_terminal() { to_stderr } else { to_stderr.with_ansi(false) };
    let to_stderr = match config.log_format {
        LogFormat::Text => to_stderr.boxed(),
        LogFormat::Json => to_stderr.json().flatten_event(true).boxed(),
    };
    // It fails only where logging is set up already.
    let _ = tracing_subscriber::registry().with(filter).with(filter_fn(shows_no_content)).with(to_stderr).try_init();
    Ok(())
}

/// Whether an event may be logged at all, whatever the operator asks for: below errors, the MCP library writes whole
/// messages, arguments included, and as warnings those that it refused.
pub fn shows_no_content(of: &Metadata<'_>) -> bool {
    let library = of.target().split("::").next() == Some("rmcp");
    !library || *of.level() == Level::ERROR
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn messages_are_not_logged_at_any_level() {
        let written = Written::default();
        let sink = written.clone();
        let layer = tracing_subscriber::fmt::layer().with_writer(move || sink.clone());
        let subscriber = tracing_subscriber::registry()
            .with(EnvFilter::new("trace,rmcp=trace,rmcp::service=trace"))
            .with(filter_fn(shows_no_content))
            .with(layer);
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(target: "rmcp::service", "canary");
            tracing::trace!(target: "rmcp", "canary");
            tracing::error!(target: "rmcp::service", "a failure of the library");
            tracing::trace!(target: "rmcpx", "ours");
        });
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        assert!(text.contains("a failure of the library") && text.contains("ours"), "{text}");
        assert!(!text.contains("canary"), "{text}");
    }
}
