//! Registered repositories. What the principal may not read is not found.

use sync_core::ids::RepositoryId;
use time::OffsetDateTime;

use crate::error::StoreError;
use crate::tx::Tx;

/// What a repository's indexing is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepositoryState {
    /// Registered, not looked at yet.
    Registered,
    /// Being fetched and indexed.
    Indexing,
    /// The default branch has an index.
    Indexed,
    /// Refused by the gate; `state_reason` is the gate's word.
    Gated,
    /// The last try failed; `state_reason` says why. An older index still answers.
    Failed,
}

impl RepositoryState {
    /// The word used in rows and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Registered => "registered",
            Self::Indexing => "indexing",
            Self::Indexed => "indexed",
            Self::Gated => "gated",
            Self::Failed => "failed",
        }
    }
}

/// A registered repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Its id.
    pub id: RepositoryId,
    /// Its name, unique in the organization.
    pub name: String,
    /// `github`, `gitlab`, …; absent for a local one.
    pub provider: Option<String>,
    /// Where it is cloned from, without credentials.
    pub clone_url: Option<String>,
    /// The ref that answers where none is named.
    pub default_branch: String,
    /// What indexing is doing.
    pub state: RepositoryState,
    /// Why, where that needs saying.
    pub state_reason: Option<String>,
    /// Since when.
    pub state_at: OffsetDateTime,
}

/// A repository to register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRepository<'a> {
    /// Its id.
    pub id: RepositoryId,
    /// `[a-z0-9._-]+(/[a-z0-9._-]+)*`, at most 100 characters.
    pub name: &'a str,
    /// `github`, `gitlab`, …; absent for a local one.
    pub provider: Option<&'a str>,
    /// Where it is cloned from, without credentials.
    pub clone_url: Option<&'a str>,
    /// The ref that answers where none is named.
    pub default_branch: &'a str,
}

impl Tx {
    /// Registers a repository; [`StoreError::Conflict`] where the name is taken.
    pub async fn register_repository(
        &mut self,
        repository: &NewRepository<'_>,
        now: OffsetDateTime,
    ) -> Result<Repository, StoreError> {
        let _ = (repository, now);
        Err(crate::tx::pending())
    }

    /// By name, if the principal may read it.
    pub async fn repository_by_name(&mut self, name: &str) -> Result<Option<Repository>, StoreError> {
        let _ = name;
        Err(crate::tx::pending())
    }

    /// By id, if the principal may read it.
    pub async fn repository(&mut self, id: RepositoryId) -> Result<Option<Repository>, StoreError> {
        let _ = id;
        Err(crate::tx::pending())
    }

    /// Those that the principal may read, by name, after `after`, at most `limit`.
    pub async fn visible_repositories(
        &mut self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Repository>, StoreError> {
        let _ = (after, limit);
        Err(crate::tx::pending())
    }

    /// How many the principal may read.
    pub async fn count_visible_repositories(&mut self) -> Result<u64, StoreError> {
        Err(crate::tx::pending())
    }

    /// Readable repositories whose default branch's current index holds exactly this path; by name, at most `limit`.
    pub async fn repositories_with_path(&mut self, path: &str, limit: u32) -> Result<Vec<Repository>, StoreError> {
        let _ = (path, limit);
        Err(crate::tx::pending())
    }

    /// Says what indexing is doing.
    pub async fn set_repository_state(
        &mut self,
        id: RepositoryId,
        state: RepositoryState,
        reason: Option<&str>,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        let _ = (id, state, reason, now);
        Err(crate::tx::pending())
    }

    /// Moves the default branch (a repository whose remote renamed it).
    pub async fn set_default_branch(&mut self, id: RepositoryId, branch: &str) -> Result<(), StoreError> {
        let _ = (id, branch);
        Err(crate::tx::pending())
    }
}
