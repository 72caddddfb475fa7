//! A snapshot on the disk becomes what is answered from: the one way in, whoever made it. It is read line by line while it is
//! written, so that nobody holds all of it, and only once it is there, so that nobody holds a transaction while it comes.

use std::fs::File;
use std::io::{BufReader, Seek as _};

use sync_core::graph::Header;
use sync_core::ids::RepositoryId;
use sync_ingest::snapshot::{Limits, Reader, Record, SnapshotError};
use sync_store::{SnapshotLine, StoreError, Swap, Tx};
use time::OffsetDateTime;
use tokio::sync::mpsc;

use super::findings;

/// How much of a snapshot, in bytes, is handed over at a time, unless one line is longer.
const PIECE: usize = 256 << 10;

/// Pieces that wait to be written.
const AHEAD: usize = 2;

/// A snapshot on the disk whose header was read. Its file has no name and is gone with this.
#[derive(Debug)]
pub struct SnapshotFile {
    /// What it is of.
    pub header: Header,
    /// All of it, from the start.
    pub file: File,
}

/// Why a snapshot was not stored. Nothing of it was.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotFault {
    /// It is no sound snapshot.
    #[error(transparent)]
    Unsound(#[from] SnapshotError),
    /// The store refuses it, or is not there.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The thread that read it ended early.
    #[error("the snapshot was not read to its end")]
    Reader,
}

impl SnapshotFile {
    /// Reads the header. Waits for the disk.
    pub fn open(mut file: File) -> Result<Self, SnapshotError> {
        let failed = |source| SnapshotError::Input { line: 1, source };
        file.rewind().map_err(failed)?;
        let header = Reader::new(BufReader::new(&file), Limits::default())?.header().clone();
        file.rewind().map_err(failed)?;
        Ok(Self { header, file })
    }

    /// Makes it the current index of the ref and its findings those of that index, in the caller's transaction, which is
    /// [`sync_store::Store::begin_write`]'s: a reader sees the old index with its findings or the new one with its own.
    pub async fn swap_in(
        self,
        tx: &mut Tx,
        repository: RepositoryId,
        ref_name: &str,
        now: OffsetDateTime,
    ) -> Result<Swap, SnapshotFault> {
        let (lines, coming) = mpsc::channel(AHEAD);
        let Self { header, file } = self;
        let reading = tokio::task::spawn_blocking(move || read(file, &lines));
        let swapped = swap_lines(tx, repository, ref_name, (&header, coming), now).await;
        // A reader whose lines nobody takes any more has ended, so that this waits for nothing.
        match reading.await {
            Ok(Err(unsound)) => return Err(unsound.into()),
            Ok(Ok(())) => {}
            Err(_) => return Err(SnapshotFault::Reader),
        }
        Ok(swapped?)
    }
}

/// The same of a header and lines that were checked.
pub async fn swap_lines(
    tx: &mut Tx,
    repository: RepositoryId,
    ref_name: &str,
    (header, coming): (&Header, mpsc::Receiver<Vec<SnapshotLine>>),
    now: OffsetDateTime,
) -> Result<Swap, StoreError> {
    let swap = tx.swap_index(repository, ref_name, header, coming, now).await?;
    if !swap.confirmed || findings::are_stale(tx, &swap.index).await? {
        findings::replace(tx, &swap.index, now).await?;
    }
    Ok(swap)
}

/// Hands out the lines of a snapshot, and its end only where all of it was sound. Ends early where nobody takes them: the
/// store has failed then, and says so.
fn read(file: File, lines: &mpsc::Sender<Vec<SnapshotLine>>) -> Result<(), SnapshotError> {
    let mut reader = Reader::new(BufReader::new(file), Limits::default())?;
    let (mut piece, mut bytes) = (Vec::new(), 0);
    while let Some(record) = reader.next_record()? {
        piece.push(match record {
            Record::Skipped(skipped) => SnapshotLine::Skipped(skipped),
            Record::File(facts) => SnapshotLine::File { facts, bytes: reader.line_bytes() },
        });
        bytes += reader.line_bytes();
        if bytes >= PIECE {
            if lines.blocking_send(std::mem::take(&mut piece)).is_err() {
                return Ok(());
            }
            bytes = 0;
        }
    }
    piece.push(SnapshotLine::End);
    let _ = lines.blocking_send(piece);
    Ok(())
}
