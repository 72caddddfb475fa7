//! A snapshot on its way in: each line is compared with what the ref holds, and what differs is written in pieces.

use std::collections::HashMap;
use std::mem;

use sha2::{Digest, Sha256};
use sync_core::graph::{FileFacts, Header, MAX_PATH_BYTES, Skipped};
use sync_core::ids::{IndexId, RepositoryId};
use sync_core::rung::Rung;
use sync_core::text::shown;
use time::OffsetDateTime;

use super::{LockedRef, Swap};
use crate::error::StoreError;
use crate::indexes::IndexCounts;
use crate::tx::Tx;

/// Files, or skipped paths, that go into one statement at most.
const FILES: usize = 1000;

/// How long the lines of the files may be, in bytes, that are held before they are written. One line more may be there.
pub(super) const TEXT: usize = 2 << 20;

/// What a path of the ref holds now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Held {
    /// The hash of a file's facts.
    Facts(Vec<u8>),
    /// Why it was skipped.
    Skipped(String),
}

/// A swap that has begun. The repository is locked.
pub(super) struct Incoming<'h> {
    header: &'h Header,
    repository: RepositoryId,
    ref_name: String,
    locked: LockedRef,
    /// Paths of the current index that did not come yet.
    left: HashMap<String, Held>,
    ended: Vec<String>,
    files: Vec<FileFacts>,
    /// How long the lines of those files are.
    text: usize,
    skipped: Vec<Skipped>,
    counts: IndexCounts,
    changed_files: u64,
    removed_files: u64,
    hasher: Parts,
}

impl Tx {
    /// Locks the repository and reads what the ref holds.
    pub(super) async fn begin_swap<'h>(
        &mut self,
        repository: RepositoryId,
        ref_name: &str,
        header: &'h Header,
    ) -> Result<Incoming<'h>, StoreError> {
        self.lock_repository(repository).await?;
        let locked = self.lock_ref(repository, ref_name).await?;
        let left = self.current_paths(locked.key).await?;
        let mut hasher = Parts::default();
        let same_everywhere = Header { repository: None, ref_name: None, commit: None, ..header.clone() };
        hasher.part(&json(&same_everywhere)?);
        Ok(Incoming {
            header,
            repository,
            ref_name: ref_name.to_owned(),
            locked,
            left,
            ended: Vec::new(),
            files: Vec::new(),
            text: 0,
            skipped: Vec::new(),
            counts: IndexCounts::default(),
            changed_files: 0,
            removed_files: 0,
            hasher,
        })
    }
}

impl Incoming<'_> {
    /// Takes a path that was not read.
    pub(super) async fn skipped(&mut self, tx: &mut Tx, skipped: Skipped) -> Result<(), StoreError> {
        storable_path(&skipped.path)?;
        self.counts.skipped += 1;
        self.hasher.part(b"skipped");
        self.hasher.part(skipped.path.as_bytes());
        self.hasher.part(skipped.reason.as_bytes());
        match self.left.remove(&skipped.path) {
            Some(Held::Skipped(reason)) if reason == skipped.reason => return Ok(()),
            Some(held) => {
                self.removed_files += u64::from(matches!(held, Held::Facts(_)));
                self.ended.push(skipped.path.clone());
            }
            None => {}
        }
        self.skipped.push(skipped);
        if self.skipped.len() >= FILES { self.write(tx).await } else { Ok(()) }
    }

    /// Takes the facts of a file, whose line was so long.
    pub(super) async fn file(&mut self, tx: &mut Tx, file: FileFacts, bytes: usize) -> Result<(), StoreError> {
        storable_path(&file.path)?;
        storable_rungs(&file)?;
        let counts = &mut self.counts;
        counts.files += 1;
        counts.symbols += file.symbols.len() as u64;
        counts.edges += file.edges.len() as u64;
        counts.unresolved += file.unresolved.len() as u64;
        counts.call_sites += file.call_sites.len() as u64;
        self.hasher.part(b"file");
        self.hasher.part(file.path.as_bytes());
        self.hasher.part(file.facts_hash.as_bytes());
        match self.left.remove(&file.path) {
            Some(Held::Facts(hash)) if hex::decode(&file.facts_hash).is_ok_and(|given| given == hash) => return Ok(()),
            Some(_) => self.ended.push(file.path.clone()),
            None => {}
        }
        self.changed_files += 1;
        self.text += bytes;
        self.files.push(file);
        if self.files.len() >= FILES || self.text >= TEXT { self.write(tx).await } else { Ok(()) }
    }

    /// Ends the swap: what did not come is gone, and the ref points at the new index, or where nothing differs at the one
    /// that it has.
    pub(super) async fn end(mut self, tx: &mut Tx, now: OffsetDateTime) -> Result<Swap, StoreError> {
        let commit = self.header.commit.as_deref();
        let content_hash = mem::take(&mut self.hasher).finish();
        let current = self.locked.current.as_ref();
        let confirmed = current.filter(|(_, hash)| hash[..] == content_hash).map(|(index_id, _)| *index_id);
        if let Some(index_id) = confirmed {
            tx.point_ref_at(self.locked.key, index_id, self.locked.seq, commit, now).await?;
        } else {
            tx.require_room_for_call_sites(self.repository, &self.ref_name, self.counts.call_sites).await?;
            for (path, held) in mem::take(&mut self.left) {
                self.removed_files += u64::from(matches!(held, Held::Facts(_)));
                self.ended.push(path);
            }
            self.write(tx).await?;
            let (seq, index_id) = (self.seq(), IndexId::at(now).uuid());
            tx.write_index(self.repository, (self.locked.key, seq), index_id, &content_hash, self.header, &self.counts)
                .await?;
            tx.point_ref_at(self.locked.key, index_id, seq, commit, now).await?;
        }
        let confirmed = confirmed.is_some();
        tx.prune(self.locked.key).await?;
        let index = tx
            .current_index(self.repository, &self.ref_name)
            .await?
            .ok_or_else(|| StoreError::Bug("the index that was just written is not there".to_owned()))?;
        Ok(Swap { index, changed_files: self.changed_files, removed_files: self.removed_files, confirmed })
    }

    /// Writes what is held.
    async fn write(&mut self, tx: &mut Tx) -> Result<(), StoreError> {
        let (key, seq) = (self.locked.key, self.seq());
        tx.end_paths(key, seq, &mem::take(&mut self.ended)).await?;
        tx.write_files(self.repository, key, seq, mem::take(&mut self.files)).await?;
        tx.write_skipped(key, seq, &mem::take(&mut self.skipped)).await?;
        self.text = 0;
        Ok(())
    }

    /// The number of the index that is made.
    fn seq(&self) -> i64 {
        self.locked.seq + 1
    }
}

/// The service writes the rung: a snapshot claims `static` and nothing above it.
fn storable_rungs(file: &FileFacts) -> Result<(), StoreError> {
    match file.call_sites.iter().find(|call| call.binding_source != Rung::Static) {
        None => Ok(()),
        Some(call) => Err(StoreError::Refused(format!(
            "{}:{} claims the rung `{}`, which nothing established; next: write the snapshot with `sync-ingest index`",
            shown(&file.path, 200),
            call.line,
            call.binding_source.as_str()
        ))),
    }
}

fn storable_path(path: &str) -> Result<(), StoreError> {
    if path.len() > MAX_PATH_BYTES {
        return Err(StoreError::Refused(format!(
            "the path `{}` has {} bytes, more than {MAX_PATH_BYTES}; next: shorten it or have it ignored",
            shown(path, 100),
            path.len()
        )));
    }
    Ok(())
}

/// SHA-256 over everything of a snapshot but repository, ref and commit, each part with its length before it.
#[derive(Default)]
struct Parts(Sha256);

impl Parts {
    fn part(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }

    fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

fn json(header: &Header) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(header).map_err(|error| StoreError::Bug(format!("a snapshot's header: {error}")))
}
