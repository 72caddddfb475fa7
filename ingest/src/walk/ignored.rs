//! `.gitignore` files of a folder and those above it, read and matched as git does.

use std::sync::Arc;

use gix::bstr::ByteSlice;
use gix_glob::Pattern;
use gix_glob::pattern::Case;
use gix_glob::wildmatch::Mode;

/// Largest ignore file that is followed, in bytes.
pub(crate) const IGNORE_FILE_BYTES: u64 = 256 << 10;
/// Most patterns that hold in one folder. Each is looked at for each entry.
pub(crate) const MAX_PATTERNS: usize = 8_000;

/// The ignore files that hold in a folder, the innermost last.
#[derive(Debug, Clone, Default)]
pub(super) struct IgnoreStack {
    files: Vec<(String, Arc<[Pattern]>)>,
    patterns: usize,
}

impl IgnoreStack {
    /// With the ignore file of `folder` (empty, or ending in `/`); nothing where that would be too many patterns. Lines
    /// that are no pattern ignore nothing, as in git.
    pub(super) fn with(&self, folder: &str, bytes: &[u8]) -> Option<Self> {
        let patterns: Arc<[Pattern]> = gix_ignore::parse(bytes, false).map(|(pattern, _, _)| pattern).collect();
        let mut stack = self.clone();
        stack.patterns += patterns.len();
        stack.files.push((folder.to_owned(), patterns));
        (stack.patterns <= MAX_PATTERNS).then_some(stack)
    }

    /// Whether a path (a folder ending in `/`) is ignored: of the innermost file that says anything the last pattern
    /// decides. That nothing below an ignored folder counts follows from such a folder never being entered.
    pub(super) fn is_ignored(&self, path: &str, is_folder: bool) -> bool {
        let path = path.strip_suffix('/').unwrap_or(path);
        for (folder, patterns) in self.files.iter().rev() {
            let Some(relative) = path.strip_prefix(folder.as_str()) else { continue };
            let name = relative.rfind('/').map(|at| at + 1);
            let relative = relative.as_bytes().as_bstr();
            let matches = |pattern: &&Pattern| {
                let mode = Mode::NO_MATCH_SLASH_LITERAL;
                pattern.matches_repo_relative_path(relative, name, Some(is_folder), Case::Sensitive, mode)
            };
            if let Some(pattern) = patterns.iter().rev().find(matches) {
                return !pattern.is_negative();
            }
        }
        false
    }
}
