//! A whole index: walk, parse, link, bind, write.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use sync_core::graph::{End, PartialReason};

use crate::gate::Gate;
use crate::pool::ParseCommand;

/// What to index and how.
#[derive(Debug, Clone)]
pub struct IndexOptions {
    /// A git repository, bare or with a work tree, or a plain folder.
    pub path: PathBuf,
    /// What to read of a git repository; `HEAD` by default.
    pub rev: Option<String>,
    /// Ref name for the header; by default the branch that `HEAD` names.
    pub ref_name: Option<String>,
    /// Repository name for the header.
    pub repository: Option<String>,
    /// The gate.
    pub gate: Gate,
    /// The home folder of whoever runs this, which the gate keeps from being indexed.
    pub home: Option<PathBuf>,
    /// A folder of catalog files instead of the embedded catalog.
    pub catalog: Option<PathBuf>,
    /// How a parse child is started.
    pub parse: ParseCommand,
    /// How many parse children.
    pub parsers: NonZeroUsize,
    /// Most source files that are read.
    pub max_sources: usize,
}

/// What was indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSummary {
    /// Commit id, of a git repository.
    pub commit: Option<String>,
    /// As in the header.
    pub ref_name: Option<String>,
    /// Whether something that should have been read was not.
    pub partial: bool,
    /// Why, counted.
    pub partial_reasons: Vec<PartialReason>,
    /// Counts and digest of the snapshot.
    pub end: End,
}

/// Told how far an index is.
pub trait Progress: Sync {
    /// The walk found so many source files.
    fn found(&self, files: usize);
    /// So many of them are parsed.
    fn parsed(&self, files: usize);
}

/// Tells nobody.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn found(&self, _files: usize) {}
    fn parsed(&self, _files: usize) {}
}
