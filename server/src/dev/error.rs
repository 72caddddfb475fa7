//! What can go wrong when a person starts `syncd dev`, each with what to do next.

use std::fmt;
use std::io;
use std::path::Path;

use sync_store::StoreError;

/// A failure of `syncd dev`: what happened, what to do next, and whether the input was refused.
#[derive(Debug)]
pub struct DevError {
    what: String,
    next: String,
    refused: bool,
}

impl DevError {
    /// Something failed.
    pub fn failed(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { what: what.into(), next: next.into(), refused: false }
    }

    /// What was asked for cannot be done as it was asked.
    pub fn refused(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { what: what.into(), next: next.into(), refused: true }
    }

    /// A failure whose text is `what; next: next` already.
    pub(super) fn said(text: &str) -> Self {
        match text.split_once("; next: ") {
            Some((what, next)) => Self::failed(what, next),
            None => Self::failed(text, "start again; if it stays, report it with this message"),
        }
    }

    /// Whether what was asked for is refused, rather than that it failed.
    pub const fn is_refusal(&self) -> bool {
        self.refused
    }

    /// What happened, without the remedy.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What to do.
    pub fn next(&self) -> &str {
        &self.next
    }

    pub(super) fn no_randomness() -> Self {
        Self::failed("the operating system gives no random bytes", "check that getrandom(2) works here")
    }

    pub(super) fn data_dir(path: &Path, error: &io::Error) -> Self {
        Self::failed(
            format!("the data folder {} cannot be used: {error}", path.display()),
            "name a folder that you may write with --data-dir",
        )
    }

    pub(super) fn locked(root: &Path, holder: Option<u32>) -> Self {
        let holder = holder.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
        Self::refused(
            format!("a `syncd dev` already runs on {} ({holder})", root.display()),
            "use that one, stop it, or name another folder with --data-dir",
        )
    }
}

impl fmt::Display for DevError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; next: {}", self.what, self.next)
    }
}

impl std::error::Error for DevError {}

impl From<StoreError> for DevError {
    fn from(error: StoreError) -> Self {
        let text = error.to_string();
        if text.contains("; next: ") {
            return Self::said(&text);
        }
        let next = if error.is_unavailable() {
            "check that the database runs, then start again"
        } else {
            "this is a fault of Sync; start again on an empty --data-dir, and report it with this message"
        };
        Self::failed(text, next)
    }
}
