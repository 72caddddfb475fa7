//! Why a catalog cannot be used.

use std::path::PathBuf;

/// A catalog that cannot be used. The message names the file, what is wrong in it, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The folder or a file in it cannot be read.
    #[error("cannot read catalog `{}`: {source}; check the path and its permissions", path.display())]
    Unreadable {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not a vendor file of this format.
    #[error(
        "catalog file `{file}` is not a vendor file: {reason}; its format is described in ingest/catalog/README.md"
    )]
    Malformed {
        /// File name.
        file: String,
        /// Parser's words with line and column.
        reason: String,
    },
    /// A file says something that contradicts itself or another file.
    #[error("catalog file `{file}`: {reason}; correct the file")]
    Contradiction {
        /// File name.
        file: String,
        /// What contradicts.
        reason: String,
    },
}
