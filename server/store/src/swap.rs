//! A snapshot becomes a ref's index: the difference by `facts_hash`, in the caller's transaction.
//!
//! Bulk rows go through UNNEST and not through COPY, which is refused on a table under row security; a COPY into
//! `pg_temp` and an INSERT … SELECT behind it would write every row twice and gain nothing at the size of a push.
//! There is one way in, line by line: nobody holds all of a snapshot.

mod columns;
mod incoming;
mod prune;
mod write;

use sync_core::graph::{FileFacts, Header, Skipped};
use sync_core::ids::RepositoryId;
use time::OffsetDateTime;
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::error::StoreError;
use crate::indexes::Index;
use crate::tx::Tx;

/// The conflict of a repository whose index is being stored.
pub const SOURCE_IS_BUSY: &str = "source_is_busy";

/// In milliseconds: below the time that a statement of a request may take.
const LOCK_SOON: &str = "SET LOCAL lock_timeout = 800";

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

/// A line of a snapshot, behind its header.
#[derive(Debug, Clone, PartialEq)]
pub enum SnapshotLine {
    /// A path that was not read.
    Skipped(Skipped),
    /// The facts of a file.
    File {
        /// Them.
        facts: Box<FileFacts>,
        /// How long their line is: what is held of a snapshot is bounded by it.
        bytes: usize,
    },
    /// The end of a sound snapshot: one that breaks off has none, and is not stored.
    End,
}

/// A ref, locked with its repository.
struct LockedRef {
    key: i64,
    seq: i64,
    current: Option<(Uuid, Vec<u8>)>,
}

impl Tx {
    /// Locks the repository until this transaction ends, so that swaps and joins of it happen one after the other.
    /// [`Tx::swap_index`] does so itself; call it before joining anew. Needs [`crate::Store::begin_write`].
    pub async fn lock_repository(&mut self, repository: RepositoryId) -> Result<(), StoreError> {
        if !self.writer {
            return Err(StoreError::Bug("an index is written in a transaction of Store::begin_write".to_owned()));
        }
        // NO KEY: inserts that refer to the repository need not wait.
        sqlx::query_scalar::<_, i32>("SELECT 1 FROM sync.repositories WHERE id = $1 FOR NO KEY UPDATE")
            .bind(repository.uuid())
            .fetch_optional(self.connection())
            .await?
            .map(|_| ())
            .ok_or_else(|| StoreError::NotFound(format!("repository {repository}")))
    }

    /// Locks the repository for a change of what is said of it, and does not wait long: while an index of it is being stored,
    /// which may take minutes, it is [`StoreError::Conflict`] of [`SOURCE_IS_BUSY`].
    pub async fn lock_source(&mut self, repository: RepositoryId) -> Result<(), StoreError> {
        sqlx::query(LOCK_SOON).execute(self.connection()).await?;
        let locked = sqlx::query_scalar::<_, i32>("SELECT 1 FROM sync.repositories WHERE id = $1 FOR NO KEY UPDATE")
            .bind(repository.uuid())
            .fetch_optional(self.connection())
            .await;
        let locked = match locked {
            // lock_not_available
            Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("55P03") => {
                return Err(StoreError::Conflict(SOURCE_IS_BUSY.to_owned()));
            }
            locked => locked?,
        };
        sqlx::query("SET LOCAL lock_timeout = 0").execute(self.connection()).await?;
        locked.map(|_| ()).ok_or_else(|| StoreError::NotFound(format!("repository {repository}")))
    }

    /// Makes the snapshot the current index of the ref, writing only what differs by `facts_hash`, as its lines come:
    /// of those no more is held than the sender puts together and [`incoming::TEXT`]. Refuses a call site above `static`,
    /// and an index for which the organization's plan has no room. Needs [`crate::Store::begin_write`]; join and
    /// [`Tx::replace_findings`] in the same transaction unless `confirmed`.
    pub async fn swap_index(
        &mut self,
        repository: RepositoryId,
        ref_name: &str,
        header: &Header,
        mut lines: mpsc::Receiver<Vec<SnapshotLine>>,
        now: OffsetDateTime,
    ) -> Result<Swap, StoreError> {
        let mut incoming = self.begin_swap(repository, ref_name, header).await?;
        while let Some(some) = lines.recv().await {
            for line in some {
                match line {
                    SnapshotLine::Skipped(skipped) => incoming.skipped(self, skipped).await?,
                    SnapshotLine::File { facts, bytes } => incoming.file(self, *facts, bytes).await?,
                    SnapshotLine::End => return incoming.end(self, now).await,
                }
            }
        }
        Err(StoreError::Refused("the snapshot broke off; next: send it again".to_owned()))
    }

    /// Says that an index is still that of its ref's head: only `indexed_at` moves. [`StoreError::Conflict`] where
    /// another index took its place meanwhile. Needs [`crate::Store::begin_write`].
    pub async fn confirm_index(&mut self, index: &Index, now: OffsetDateTime) -> Result<(), StoreError> {
        self.lock_repository(index.repository).await?;
        let locked = self.lock_ref(index.repository, &index.ref_name).await?;
        if locked.current.is_none_or(|(current, _)| current != index.id.uuid()) {
            return Err(StoreError::Conflict("the ref has another index now".to_owned()));
        }
        self.point_ref_at(locked.key, index.id.uuid(), locked.seq, index.commit.as_deref(), now).await
    }
}
