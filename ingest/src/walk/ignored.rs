//! `.gitignore` files of a folder and those above it.

use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Largest ignore file that is read, in bytes.
pub(super) const IGNORE_FILE_BYTES: u64 = 256 << 10;

/// The ignore files that hold in a folder, the innermost last.
#[derive(Debug, Clone, Default)]
pub(super) struct IgnoreStack(Vec<(String, Arc<Gitignore>)>);

impl IgnoreStack {
    /// With the ignore file of `folder` (empty, or ending in `/`). Lines that are no pattern ignore nothing, as in git.
    pub(super) fn with(&self, folder: &str, bytes: &[u8]) -> Self {
        let mut builder = GitignoreBuilder::new("");
        for line in String::from_utf8_lossy(bytes).lines() {
            // A bad pattern is reported here and simply not added.
            let _ = builder.add_line(None, line);
        }
        let mut stack = self.clone();
        if let Ok(patterns) = builder.build() {
            stack.0.push((folder.to_owned(), Arc::new(patterns)));
        }
        stack
    }

    /// Whether a path (a folder ending in `/`) is ignored: the innermost file that says anything decides. That nothing
    /// below an ignored folder counts follows from such a folder never being entered.
    pub(super) fn is_ignored(&self, path: &str, is_folder: bool) -> bool {
        let path = path.strip_suffix('/').unwrap_or(path);
        for (folder, patterns) in self.0.iter().rev() {
            let Some(relative) = path.strip_prefix(folder.as_str()) else { continue };
            let found = patterns.matched(relative, is_folder);
            if found.is_ignore() {
                return true;
            }
            if found.is_whitelist() {
                return false;
            }
        }
        false
    }
}
