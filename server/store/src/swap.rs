//! A snapshot becomes a ref's index.

use sync_core::graph::{FileFacts, Header, Skipped};
use sync_core::ids::RepositoryId;
use time::OffsetDateTime;

use crate::error::StoreError;
use crate::indexes::Index;
use crate::tx::Tx;

/// A validated snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct SnapshotFacts {
    /// Its first line.
    pub header: Header,
    /// Paths that were not read.
    pub skipped: Vec<Skipped>,
    /// Facts of each file, sorted by path.
    pub files: Vec<FileFacts>,
}

/// What a swap did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swap {
    /// The ref's current index now.
    pub index: Index,
    /// Files whose facts are new or changed.
    pub changed_files: u64,
    /// Files that are gone.
    pub removed_files: u64,
    /// Whether the content was the same, so that only `commit` and `indexed_at` moved. Findings then stand, unless
    /// the feeds moved.
    pub confirmed: bool,
}

impl Tx {
    /// Locks the repository until this transaction ends, so that swaps and joins of it happen one after the other.
    /// [`Tx::swap_index`] does so itself; call it before joining anew. Needs [`crate::Store::begin_write`].
    pub async fn lock_repository(&mut self, repository: RepositoryId) -> Result<(), StoreError> {
        let _ = repository;
        Err(crate::tx::pending())
    }

    /// Makes the snapshot the current index of the ref, writing only what differs by `facts_hash`. Refuses a call
    /// site above `static`. Needs [`crate::Store::begin_write`]; join and [`Tx::replace_findings`] in the same
    /// transaction unless `confirmed`.
    pub async fn swap_index(
        &mut self,
        repository: RepositoryId,
        ref_name: &str,
        snapshot: &SnapshotFacts,
        now: OffsetDateTime,
    ) -> Result<Swap, StoreError> {
        let _ = (repository, ref_name, snapshot, now);
        Err(crate::tx::pending())
    }
}
