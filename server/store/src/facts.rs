//! Facts of one file, as the snapshot's line carried them, and what is known of a path.

use sync_core::graph::FileFacts;

use crate::error::StoreError;
use crate::indexes::Index;
use crate::tx::Tx;

/// What an index knows of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathState {
    /// A file with facts.
    File(FileRow),
    /// A folder that holds files with facts.
    Folder {
        /// How many, at any depth.
        files: u64,
        /// Call sites in them.
        call_sites: u64,
    },
    /// Not read: the skipped path (the file itself or a folder above it) and why.
    Skipped {
        /// As recorded; a folder ends in `/`.
        path: String,
        /// `hidden`, `vendored`, `ignored`, ….
        reason: String,
    },
    /// Not in the index.
    Absent,
}

/// Sizes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    /// Its path.
    pub path: String,
    /// Size.
    pub bytes: u64,
    /// Number of lines.
    pub lines: u32,
    /// Its language.
    pub language: String,
    /// Call sites in it.
    pub call_sites: u64,
}

/// Where a symbol stands in an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolLine {
    /// As asked: `path#qualified#ordinal`.
    pub target: String,
    /// Its file.
    pub path: String,
    /// Its first line.
    pub line: u32,
}

impl Tx {
    /// The facts of a file in an index.
    pub async fn file(&mut self, index: &Index, path: &str) -> Result<Option<FileFacts>, StoreError> {
        let _ = (index, path);
        Err(crate::tx::pending())
    }

    /// What an index knows of a path; a trailing `/` is ignored, the empty path is the root.
    pub async fn path_state(&mut self, index: &Index, path: &str) -> Result<PathState, StoreError> {
        let _ = (index, path);
        Err(crate::tx::pending())
    }

    /// Sizes of those paths that are files of the index, by path.
    pub async fn file_rows(&mut self, index: &Index, paths: &[String]) -> Result<Vec<FileRow>, StoreError> {
        let _ = (index, paths);
        Err(crate::tx::pending())
    }

    /// The lines of `path#qualified#ordinal` targets of this index; a target that is not there is left out. A target
    /// without a symbol (`path##0`) is line 1 of its file.
    pub async fn symbol_lines(&mut self, index: &Index, targets: &[String]) -> Result<Vec<SymbolLine>, StoreError> {
        let _ = (index, targets);
        Err(crate::tx::pending())
    }
}
