//! Which index answers: the current one of a ref, or that of a commit that is still kept.

use sync_core::graph::{Client, PartialReason};
use sync_core::ids::{IndexId, RepositoryId};
use time::OffsetDateTime;

use crate::error::StoreError;
use crate::tx::Tx;

/// Totals of an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexCounts {
    /// Files with facts.
    pub files: u64,
    /// Paths skipped, a folder once.
    pub skipped: u64,
    /// Symbols.
    pub symbols: u64,
    /// Resolved calls between symbols.
    pub edges: u64,
    /// Calls whose target is not known.
    pub unresolved: u64,
    /// Calls that reach, or may reach, a vendor.
    pub call_sites: u64,
}

/// The graph of one repository at one commit of one ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Changes with the content, not with a commit that changed nothing.
    pub id: IndexId,
    /// Whose.
    pub repository: RepositoryId,
    /// Of which ref.
    pub ref_name: String,
    /// The commit; absent for a plain folder.
    pub commit: Option<String>,
    /// When that commit was last stored or confirmed.
    pub indexed_at: OffsetDateTime,
    /// A newer head of the ref, when one is known.
    pub head_commit: Option<String>,
    /// Whether it is the ref's current index; findings and joined feeds are kept for that one only.
    pub current: bool,
    /// Version of the analyzer.
    pub analyzer: String,
    /// Version of the catalog.
    pub catalog: String,
    /// What the gate was set to and said.
    pub gate: String,
    /// Whether something that should have been read was not.
    pub partial: bool,
    /// Why, counted.
    pub partial_reasons: Vec<PartialReason>,
    /// Totals.
    pub counts: IndexCounts,
    pub(crate) ref_key: i64,
    pub(crate) seq: i64,
}

impl Tx {
    /// The current index of a ref.
    pub async fn current_index(
        &mut self,
        repository: RepositoryId,
        ref_name: &str,
    ) -> Result<Option<Index>, StoreError> {
        let _ = (repository, ref_name);
        Err(crate::tx::pending())
    }

    /// The index of a commit, of whichever ref has it, if it is among the last 50 of that ref. `commit` is complete.
    pub async fn index_by_commit(
        &mut self,
        repository: RepositoryId,
        commit: &str,
    ) -> Result<Option<Index>, StoreError> {
        let _ = (repository, commit);
        Err(crate::tx::pending())
    }

    /// The current index of every ref of a repository, by ref name.
    pub async fn current_indexes(&mut self, repository: RepositoryId) -> Result<Vec<Index>, StoreError> {
        let _ = repository;
        Err(crate::tx::pending())
    }

    /// Notes the head that a ref is known to have, indexed or not.
    pub async fn set_head_commit(
        &mut self,
        repository: RepositoryId,
        ref_name: &str,
        commit: &str,
    ) -> Result<(), StoreError> {
        let _ = (repository, ref_name, commit);
        Err(crate::tx::pending())
    }

    /// The vendor clients of an index, by id.
    pub async fn clients(&mut self, index: &Index) -> Result<Vec<Client>, StoreError> {
        let _ = index;
        Err(crate::tx::pending())
    }

    /// One client of an index.
    pub async fn client(&mut self, index: &Index, id: &str) -> Result<Option<Client>, StoreError> {
        let _ = (index, id);
        Err(crate::tx::pending())
    }
}
