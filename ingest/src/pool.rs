//! The parse children.

use std::ffi::OsString;
use std::path::PathBuf;

/// How a parse child is started: always explicit, since the executable differs by product and in tests.
#[derive(Debug, Clone)]
pub struct ParseCommand {
    /// Absolute path of the executable.
    pub executable: PathBuf,
    /// Its arguments, such as `parse`.
    pub args: Vec<OsString>,
}
