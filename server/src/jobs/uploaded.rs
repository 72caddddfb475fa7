//! A snapshot that was made elsewhere becomes what is answered from. It is read line by line while it is written, so that
//! nobody holds all of it.

use std::fs::File;
use std::io::BufReader;

use sync_core::graph::Header;
use sync_core::text::shown;
use sync_ingest::snapshot::{Limits, Reader, Record, SnapshotError};
use sync_store::{Gate, RefOrigin, Repository, RepositoryState, SnapshotLine, StoreError, Swap, Tx};
use time::OffsetDateTime;
use tokio::sync::{mpsc, oneshot};

use super::place::HEAD;
use super::{findings, refs};

/// Lines that wait to be written.
const AHEAD: usize = 64;

/// A snapshot that was received, and what it is said to be of.
pub struct Uploaded<'a> {
    /// All of its bytes, from the start.
    pub file: File,
    /// Whose.
    pub repository: &'a Repository,
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
    /// It is no sound snapshot.
    #[error(transparent)]
    Unsound(#[from] SnapshotError),
    /// It is of another commit than it was sent as.
    #[error("line 1: the snapshot is of {}, and was sent as one of {sent}", found.as_deref().unwrap_or("no commit"))]
    OtherCommit {
        /// As the snapshot says.
        found: Option<String>,
        /// As it was sent.
        sent: String,
    },
    /// A commit that was made later is indexed already.
    #[error("`{ref_name}` is indexed at a commit that was made later, {indexed}")]
    Older {
        /// The ref.
        ref_name: String,
        /// Its commit.
        indexed: String,
    },
    /// The store refuses it, or is not there.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The reader of it ended early.
    #[error("the snapshot was not read to its end")]
    Reader,
}

/// Makes it the current index of its ref, with the findings of that index, in the caller's transaction, which is
/// [`sync_store::Store::begin_write`]'s.
pub async fn store(tx: &mut Tx, uploaded: Uploaded<'_>, now: OffsetDateTime) -> Result<Swap, UploadFault> {
    let Uploaded { file, repository, ref_name, commit, committed_at } = uploaded;
    tx.lock_repository(repository.id).await?;
    refuse_older(tx, repository, ref_name, committed_at).await?;
    let (lines, written) = mpsc::channel(AHEAD);
    let (head, header) = oneshot::channel();
    let reading = tokio::task::spawn_blocking(move || read(file, head, &lines));
    let header: Result<Header, _> = header.await;
    let swapped = match header {
        Ok(header) if header.commit.as_deref() == Some(commit) => {
            tx.swap_index_from(repository.id, ref_name, &header, written, now).await
        }
        Ok(header) => {
            return Err(UploadFault::OtherCommit {
                found: header.commit.map(|found| shown(&found, 64)),
                sent: commit.to_owned(),
            });
        }
        // The reader says why below.
        Err(_) => Err(StoreError::Refused("there is no header".to_owned())),
    };
    // A reader whose lines nobody takes any more has ended, so that this waits for nothing.
    match reading.await {
        Ok(Err(unsound)) => return Err(unsound.into()),
        Ok(Ok(())) => {}
        Err(_) => return Err(UploadFault::Reader),
    }
    let swap = swapped?;
    if !swap.confirmed || findings::are_stale(tx, &swap.index).await? {
        findings::replace(tx, &swap.index, now).await?;
    }
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

/// Hands out the lines of a snapshot, and its end only where all of it was sound. Ends early where nobody takes them.
fn read(file: File, head: oneshot::Sender<Header>, lines: &mpsc::Sender<SnapshotLine>) -> Result<(), SnapshotError> {
    let mut reader = Reader::new(BufReader::new(file), Limits::default())?;
    if head.send(reader.header().clone()).is_err() {
        return Ok(());
    }
    while let Some(record) = reader.next_record()? {
        let line = match record {
            Record::Skipped(skipped) => SnapshotLine::Skipped(skipped),
            Record::File(facts) => SnapshotLine::File(facts),
        };
        if lines.blocking_send(line).is_err() {
            return Ok(());
        }
    }
    // Where nobody takes it, the store has failed and says so.
    let _ = lines.blocking_send(SnapshotLine::End);
    Ok(())
}
