//! Why a configuration does not stand.

use std::path::PathBuf;

/// Why the configuration does not stand; each message names the key.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("cannot read the configuration {path}: {source}; next: check the path given by --config or SYNC_CONFIG")]
    Unreadable {
        /// As given.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is no TOML.
    #[error("{path} is not valid TOML: {reason}; next: compare it with `syncd config print --reference`")]
    Syntax {
        /// As given.
        path: PathBuf,
        /// Where and why.
        reason: String,
    },
    /// A key that does not exist.
    #[error("unknown configuration key `{key}` ({origin}); next: `syncd config print --reference` lists every key")]
    Unknown {
        /// The key.
        key: String,
        /// The file or variable that gave it.
        origin: String,
    },
    /// A value that cannot be used.
    #[error(
        "bad value for configuration key `{key}` ({origin}): {reason}; next: correct it; `syncd config print --reference` describes the key"
    )]
    Bad {
        /// The key.
        key: String,
        /// The file or variable that gave it.
        origin: String,
        /// What is wrong.
        reason: String,
    },
    /// A key this command cannot do without.
    #[error("configuration key `{key}` is not set; next: set {variable} or {variable}_FILE")]
    Missing {
        /// The key.
        key: &'static str,
        /// Its variable.
        variable: &'static str,
    },
}
