//! A snapshot that was made elsewhere and sent here.

use std::fs::File;

use sync_core::ids::RepositoryId;
use sync_core::text::shown;
use sync_store::{Gate, RefOrigin, Repository, RepositoryState, StoreError, Swap, Tx};
use time::OffsetDateTime;

use super::place::HEAD;
use super::refs;
use super::snapshot_file::{SnapshotFault, SnapshotFile};
use crate::sources::refresh::is_fetched;

/// A snapshot that was received, and what it is said to be of.
pub struct Uploaded<'a> {
    /// All of its bytes, from the start.
    pub file: File,
    /// Whose.
    pub repository: RepositoryId,
    /// The ref that the commit is the newest of.
    pub ref_name: &'a str,
    /// The commit.
    pub commit: &'a str,
    /// When the commit was made, where that is known.
    pub committed_at: Option<OffsetDateTime>,
}

/// Why it was not stored. Nothing of it was.
#[derive(Debug, thiserror::Error)]
pub enum UploadFault {
    /// It is no sound snapshot, or the store refuses it.
    #[error(transparent)]
    Snapshot(#[from] SnapshotFault),
    /// It is of another commit than it was sent as.
    #[error("line 1: the snapshot is of {}, and was sent as one of {sent}", found.as_deref().unwrap_or("no commit"))]
    OtherCommit {
        /// As the snapshot says.
        found: Option<String>,
        /// As it was sent.
        sent: String,
    },
    /// Sync fetches that ref itself.
    #[error("`{ref_name}` is a branch that Sync fetches itself, and what it fetched stays")]
    Fetched {
        /// The ref.
        ref_name: String,
    },
    /// The source is being erased.
    #[error("the source is being erased")]
    Deleting,
    /// A commit that was made later is indexed already.
    #[error("`{ref_name}` is indexed at a commit that was made later, {indexed}")]
    Older {
        /// The ref.
        ref_name: String,
        /// Its commit.
        indexed: String,
    },
}

impl From<StoreError> for UploadFault {
    fn from(error: StoreError) -> Self {
        Self::Snapshot(error.into())
    }
}

/// Makes it the current index of its ref, with the findings of that index, in the caller's transaction, which is
/// [`sync_store::Store::begin_write`]'s.
pub async fn store(tx: &mut Tx, uploaded: Uploaded<'_>, now: OffsetDateTime) -> Result<Swap, UploadFault> {
    let Uploaded { file, repository, ref_name, commit, committed_at } = uploaded;
    let opened = tokio::task::spawn_blocking(move || SnapshotFile::open(file)).await;
    let snapshot = opened.map_err(|_| SnapshotFault::Reader)?.map_err(SnapshotFault::from)?;
    if snapshot.header.commit.as_deref() != Some(commit) {
        let found = snapshot.header.commit.as_deref().map(|found| shown(found, 64));
        return Err(UploadFault::OtherCommit { found, sent: commit.to_owned() });
    }
    tx.lock_repository(repository).await?;
    // As it is now: to receive a body takes a while.
    let repository = tx.repository(repository).await?.ok_or_else(|| StoreError::NotFound(repository.to_string()))?;
    let repository = &repository;
    if repository.state == RepositoryState::Deleting {
        return Err(UploadFault::Deleting);
    }
    if is_fetched(repository, ref_name) {
        return existing(tx, repository, ref_name, commit).await;
    }
    refuse_older(tx, repository, ref_name, committed_at).await?;
    let swap = snapshot.swap_in(tx, repository.id, ref_name, now).await?;
    // What the remote's HEAD names a fetch says. Of a source that is never fetched, the first upload does.
    let is_first = repository.default_branch == HEAD && repository.settings.gate == Gate::Off;
    if is_first {
        tx.set_default_branch(repository.id, ref_name).await?;
    }
    let is_default = is_first || ref_name == repository.default_branch;
    if is_default || refs::is_tracked(&repository.settings.tracked_refs, ref_name) {
        refs::keep(tx, repository, ref_name, is_default, now).await?;
    } else {
        tx.keep_ref(repository.id, ref_name, RefOrigin::Uploaded, Some(now + super::reindex::REQUESTED_FOR)).await?;
    }
    tx.set_committed_at(repository.id, ref_name, committed_at).await?;
    if is_default {
        tx.set_repository_state(repository.id, RepositoryState::Indexed, None, now).await?;
    }
    Ok(swap)
}

/// The index of a ref that Sync fetches, where it is of that commit already. Else there will be one as soon as it is fetched.
async fn existing(tx: &mut Tx, repository: &Repository, ref_name: &str, commit: &str) -> Result<Swap, UploadFault> {
    let index = tx.current_index(repository.id, ref_name).await?;
    match index.filter(|index| index.commit.as_deref() == Some(commit)) {
        Some(index) => Ok(Swap { index, changed_files: 0, removed_files: 0, confirmed: true }),
        None => Err(UploadFault::Fetched { ref_name: shown(ref_name, 200) }),
    }
}

/// Two runs of CI may end in another order than they began.
async fn refuse_older(
    tx: &mut Tx,
    repository: &Repository,
    ref_name: &str,
    committed_at: Option<OffsetDateTime>,
) -> Result<(), UploadFault> {
    let Some(committed_at) = committed_at else { return Ok(()) };
    let known = tx.refs(repository.id).await?.into_iter().find(|row| row.name == ref_name);
    match known {
        Some(row) if row.committed_at.is_some_and(|indexed| indexed > committed_at) => Err(UploadFault::Older {
            ref_name: shown(ref_name, 200),
            indexed: row.commit.unwrap_or_else(|| "unknown".to_owned()),
        }),
        _ => Ok(()),
    }
}
