//! A snapshot becomes a ref's index: the difference by `facts_hash`, in the caller's transaction.
//!
//! Bulk rows go through UNNEST and not through COPY, which is refused on a table under row security; a COPY into
//! `pg_temp` and an INSERT … SELECT behind it would write every row twice and gain nothing at the size of a push.

mod columns;
mod prune;
mod write;

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use sync_core::graph::{FileFacts, Header, MAX_PATH_BYTES, Skipped};
use sync_core::ids::{IndexId, RepositoryId};
use sync_core::rung::Rung;
use time::OffsetDateTime;
use uuid::Uuid;

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

/// A ref, locked with its repository.
struct LockedRef {
    key: i64,
    seq: i64,
    current: Option<(Uuid, Vec<u8>)>,
}

/// What differs between the ref's paths and the snapshot's.
struct Difference<'a> {
    /// Paths whose row ends.
    ended: Vec<String>,
    /// Files to write.
    files: Vec<&'a FileFacts>,
    /// Skipped paths to write.
    skipped: Vec<&'a Skipped>,
    /// How many files are gone.
    removed_files: u64,
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

    /// Makes the snapshot the current index of the ref, writing only what differs by `facts_hash`. Refuses a call
    /// site above `static`, and an index for which the organization's plan has no room. Needs [`crate::Store::begin_write`]; join and [`Tx::replace_findings`] in the same
    /// transaction unless `confirmed`.
    pub async fn swap_index(
        &mut self,
        repository: RepositoryId,
        ref_name: &str,
        snapshot: &SnapshotFacts,
        now: OffsetDateTime,
    ) -> Result<Swap, StoreError> {
        refuse_what_may_not_be_stored(snapshot)?;
        self.lock_repository(repository).await?;
        let locked = self.lock_ref(repository, ref_name).await?;
        let content_hash = content_hash(snapshot)?;
        let commit = snapshot.header.commit.as_deref();

        let confirmed = locked.current.as_ref().filter(|(_, hash)| hash[..] == content_hash);
        let (changed_files, removed_files) = if let Some((index_id, _)) = confirmed {
            self.point_ref_at(locked.key, *index_id, locked.seq, commit, now).await?;
            (0, 0)
        } else {
            let seq = locked.seq + 1;
            let index_id = IndexId::at(now).uuid();
            let call_sites: usize = snapshot.files.iter().map(|file| file.call_sites.len()).sum();
            self.require_room_for_call_sites(repository, ref_name, call_sites as u64).await?;
            let difference = difference(&self.current_paths(locked.key).await?, snapshot);
            self.end_paths(locked.key, seq, &difference.ended).await?;
            self.write_files(repository, locked.key, seq, &difference.files).await?;
            self.write_skipped(locked.key, seq, &difference.skipped).await?;
            self.write_index(repository, locked.key, seq, index_id, &content_hash, snapshot).await?;
            self.point_ref_at(locked.key, index_id, seq, commit, now).await?;
            (difference.files.len() as u64, difference.removed_files)
        };
        let confirmed = confirmed.is_some();
        self.prune(locked.key).await?;
        let index = self
            .current_index(repository, ref_name)
            .await?
            .ok_or_else(|| StoreError::Bug("the index that was just written is not there".to_owned()))?;
        Ok(Swap { index, changed_files, removed_files, confirmed })
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

/// The service writes the rung: a snapshot claims `static` and nothing above it.
fn refuse_what_may_not_be_stored(snapshot: &SnapshotFacts) -> Result<(), StoreError> {
    for file in &snapshot.files {
        if let Some(call) = file.call_sites.iter().find(|call| call.binding_source != Rung::Static) {
            return Err(StoreError::Refused(format!(
                "{}:{} claims the rung `{}`, which nothing established; next: write the snapshot with `sync-ingest index`",
                sync_core::text::shown(&file.path, 200),
                call.line,
                call.binding_source.as_str()
            )));
        }
    }
    let paths =
        snapshot.files.iter().map(|file| &file.path).chain(snapshot.skipped.iter().map(|skipped| &skipped.path));
    for path in paths {
        if path.len() > MAX_PATH_BYTES {
            return Err(StoreError::Refused(format!(
                "the path `{}` has {} bytes, more than {MAX_PATH_BYTES}; next: shorten it or have it ignored",
                sync_core::text::shown(path, 100),
                path.len()
            )));
        }
    }
    Ok(())
}

/// SHA-256 over everything of the snapshot but repository, ref and commit.
fn content_hash(snapshot: &SnapshotFacts) -> Result<[u8; 32], StoreError> {
    let header = Header { repository: None, ref_name: None, commit: None, ..snapshot.header.clone() };
    let unwritable = |error: serde_json::Error| StoreError::Bug(format!("a snapshot's header: {error}"));
    let mut hasher = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hasher.update((bytes.len() as u64).to_be_bytes());
        hasher.update(bytes);
    };
    part(&serde_json::to_vec(&header).map_err(unwritable)?);
    part(&serde_json::to_vec(&snapshot.skipped).map_err(unwritable)?);
    for file in &snapshot.files {
        part(file.path.as_bytes());
        part(file.facts_hash.as_bytes());
    }
    Ok(hasher.finalize().into())
}

/// What a path of the ref holds now.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Held {
    Facts(Vec<u8>),
    Skipped(String),
}

fn difference<'a>(current: &BTreeMap<String, Held>, snapshot: &'a SnapshotFacts) -> Difference<'a> {
    let mut left = current.clone();
    let mut difference = Difference { ended: vec![], files: vec![], skipped: vec![], removed_files: 0 };
    for file in &snapshot.files {
        let same = match left.remove(&file.path) {
            Some(Held::Facts(hash)) if hex::decode(&file.facts_hash).is_ok_and(|given| given == hash) => true,
            Some(_) => {
                difference.ended.push(file.path.clone());
                false
            }
            None => false,
        };
        if !same {
            difference.files.push(file);
        }
    }
    for skipped in &snapshot.skipped {
        let same = match left.remove(&skipped.path) {
            Some(Held::Skipped(reason)) if reason == skipped.reason => true,
            Some(held) => {
                difference.removed_files += u64::from(matches!(held, Held::Facts(_)));
                difference.ended.push(skipped.path.clone());
                false
            }
            None => false,
        };
        if !same {
            difference.skipped.push(skipped);
        }
    }
    for (path, held) in left {
        difference.removed_files += u64::from(matches!(held, Held::Facts(_)));
        difference.ended.push(path);
    }
    difference
}
