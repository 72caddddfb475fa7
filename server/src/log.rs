//! What is logged, how, and to where: stderr.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;

use crate::config::{Config, ConfigError, LogFormat};

/// Sets up logging for the process; the second call of a process has no effect.
pub fn init(config: &Config) -> Result<(), ConfigError> {
    let filter = EnvFilter::try_new(&config.log).map_err(|error| ConfigError::Bad {
        key: "log".to_owned(),
        origin: "configuration".to_owned(),
        reason: format!("is no filter like `info,rmcp=warn`: {error}"),
    })?;
    let to_stderr = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    // On a terminal the library colours, unless NO_COLOR is set; a file or a collector gets plain text.
    let to_stderr = if io::stderr().is_terminal() { to_stderr } else { to_stderr.with_ansi(false) };
    // It fails only where logging is set up already.
    let _ = match config.log_format {
        LogFormat::Text => to_stderr.try_init(),
        LogFormat::Json => to_stderr.json().flatten_event(true).try_init(),
    };
    Ok(())
}
