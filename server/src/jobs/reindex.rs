//! The job `reindex`: the head of a ref is brought here, read by a child, and becomes what is answered from.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use sync_ingest::git::{Held, RemoteUrl};
use sync_store::{Gate, Index, RepositoryState, StoreError, Tx};
use time::{Duration, OffsetDateTime};

use super::caches::Caches;
use super::child::ChildError;
use super::index_child::{self, IndexChildError, IndexRequest, Known};
use super::place::{HEAD, LocalSources, Place};
use super::refs;
use super::remote::RemoteAccess;
use super::run::{Fault, Problem, Run};
use super::snapshot_file::{SnapshotFault, SnapshotFile};

/// How long a ref that somebody asked for is kept after it was last indexed.
pub const REQUESTED_FOR: Duration = Duration::days(14);

/// After how many tries what takes too long is not tried again: each costs minutes.
const SLOW_TRIES: u32 = 3;

/// What reindexing stands on.
pub struct Reindex {
    /// The executable that knows the command `index`.
    pub executable: PathBuf,
    /// What is known of the files of each source.
    pub caches: Caches,
    /// Where snapshots are kept, in files without a name, until they are stored.
    pub spool: PathBuf,
    /// How remotes are reached, and where their mirrors are.
    pub remotes: RemoteAccess,
    /// What is allowed of sources on this machine.
    pub local: LocalSources,
    /// Told how far it is.
    pub told: Arc<dyn Fn(Told<'_>) + Send + Sync>,
}

/// How far a reindexing is.
#[derive(Debug, Clone, Copy)]
pub enum Told<'a> {
    /// This is being fetched.
    Fetching(&'a str),
    /// It could not be, and what was fetched before is indexed.
    LastFetch(&'a str),
    /// The source of this name is being read.
    Indexing(&'a str),
    /// It is as it was.
    Unchanged,
    /// It is indexed.
    Indexed(&'a Index),
}

/// Code that can be read.
struct Brought {
    path: PathBuf,
    /// What to read of it; absent: what its `HEAD` names.
    rev: Option<String>,
    /// What that is called, where it is known.
    ref_name: Option<String>,
    /// When its commit was made, where that is known.
    committed_at: Option<OffsetDateTime>,
    /// Keeps a mirror while it is read.
    held: Option<Held>,
    /// Whether the remote did not answer, and this is what was fetched before.
    is_stale: bool,
}

/// What is indexed before the remote is looked at.
struct Before {
    /// Of the ref, as far as it is known what `HEAD` names.
    index: Option<Index>,
    /// When each ref was stored or confirmed.
    indexed_at: BTreeMap<String, OffsetDateTime>,
}

impl Reindex {
    /// Does it.
    pub async fn run(&self, run: &Run) -> Result<(), Fault> {
        let asked = run.job.ref_name.as_deref().unwrap_or(&run.repository.default_branch);
        if run.repository.settings.gate == Gate::Off {
            return Err(Fault::Lasting(Problem::new(
                "gated",
                "its gate is off",
                "set the gate of the source to `auto` or `on`",
            )));
        }
        let place = Place::of(&run.repository, &self.local)?;
        let before = before(run, asked).await?;
        let (mut brought, mut snapshot) = self.bring_and_read(run, &place, asked, &before, wants_fresh(run)).await?;
        if brought.held.is_some() && snapshot.as_ref().is_some_and(is_damaged) {
            (brought, snapshot) = self.bring_and_read(run, &place, asked, &before, true).await?;
        }
        brought.held = None;
        self.make_room().await;
        match (snapshot, &before.index) {
            (Some(snapshot), _) => self.store(run, asked, &before, &brought, snapshot).await,
            (None, Some(index)) => {
                let now = run.clock.now();
                let mut tx = run.store.begin_write(&run.principal()).await?;
                // What the remote did not say is not confirmed.
                if !brought.is_stale {
                    confirm_in(&mut tx, run.repository.default_branch == index.ref_name, index, now).await?;
                }
                (self.told)(Told::Unchanged);
                let confirmed = !brought.is_stale;
                let result = json!({"commit": index.commit, "ref": index.ref_name, "confirmed": confirmed});
                run.finish(tx, result).await
            }
            (None, None) => {
                Err(Fault::Passing(Problem::new("internal", "the indexer wrote nothing", "report it, if it stays")))
            }
        }
    }

    /// Removes what was not used for longest, where all takes more of the disk than it may.
    async fn make_room(&self) {
        let (mirrors, caches) = (self.remotes.mirrors.clone(), self.caches.clone());
        let made = tokio::task::spawn_blocking(move || mirrors.make_room().and_then(|()| caches.make_room())).await;
        if let Err(error) = made.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
            tracing::warn!(%error, "mirrors and caches could not be kept within their quota");
        }
    }

    /// Brings the head of a ref here and has it read; nothing is read where it is as it was.
    async fn bring_and_read(
        &self,
        run: &Run,
        place: &Place,
        asked: &str,
        before: &Before,
        fresh: bool,
    ) -> Result<(Brought, Option<SnapshotFile>), Fault> {
        let brought = match place {
            Place::Folder(path) => {
                let (rev, ref_name) = (named(asked), named(asked));
                Brought { path: path.clone(), rev, ref_name, committed_at: None, held: None, is_stale: false }
            }
            Place::Remote(url) => run.timed("fetch", self.bring(run, url, asked, fresh)).await?,
        };
        (self.told)(Told::Indexing(&run.repository.name));
        let snapshot = run.timed("index", self.read(run, &brought, before.index.as_ref())).await?;
        Ok((brought, snapshot))
    }

    /// Brings the head of a ref here.
    async fn bring(&self, run: &Run, url: &RemoteUrl, asked: &str, fresh: bool) -> Result<Brought, Fault> {
        (self.told)(Told::Fetching(url.as_str()));
        let mirrored = self.remotes.bring(run, url, asked, fresh).await?;
        if let Some(error) = &mirrored.stale {
            (self.told)(Told::LastFetch(error));
        }
        let committed_at = mirrored.head.committed_at.and_then(|at| OffsetDateTime::from_unix_timestamp(at).ok());
        Ok(Brought {
            path: mirrored.repository,
            rev: Some(mirrored.head.commit),
            ref_name: named(asked).or(mirrored.head.branch),
            committed_at,
            held: Some(mirrored.held),
            is_stale: mirrored.stale.is_some(),
        })
    }

    /// Has it read; nothing where it is as it was.
    async fn read(&self, run: &Run, brought: &Brought, index: Option<&Index>) -> Result<Option<SnapshotFile>, Fault> {
        let (caches, organization, repository) = (self.caches.clone(), run.ticket.organization, run.repository.id);
        let cache = tokio::task::spawn_blocking(move || caches.hold(organization, repository)).await;
        let cache = cache.unwrap_or_else(|error| Err(std::io::Error::other(error))).map_err(|error| {
            disk(format!("what is known of the files of {} cannot be kept: {error}", run.repository.name))
        })?;
        let request = IndexRequest {
            executable: self.executable.clone(),
            path: brought.path.clone(),
            rev: brought.rev.clone(),
            ref_name: brought.ref_name.clone(),
            cache: Some(cache.folder.clone()),
            gate: run.repository.settings.gate.as_str(),
            known: index.and_then(known),
            spool: self.spool.clone(),
        };
        index_child::run(&request).await.map_err(|error| match error {
            IndexChildError::Child(ChildError::Refused { what, next }) => {
                // The one word of the gate that says how large a repository may be.
                let code = if what.ends_with("(too_large)") { "too_large" } else { "gated" };
                Fault::Lasting(Problem::new(code, what, next))
            }
            IndexChildError::Child(error) => child_failed(run, "index_failed", error),
            IndexChildError::Snapshot(_) => unsound(error.to_string()),
            IndexChildError::Disk { .. } => disk(error.to_string()),
        })
    }

    /// Makes the snapshot what is answered from, and ends the job: one transaction.
    async fn store(
        &self,
        run: &Run,
        asked: &str,
        before: &Before,
        brought: &Brought,
        snapshot: SnapshotFile,
    ) -> Result<(), Fault> {
        let ref_name =
            brought.ref_name.clone().or_else(|| snapshot.header.ref_name.clone()).unwrap_or_else(|| HEAD.to_owned());
        let (now, repository) = (run.clock.now(), run.repository.id);
        let mut tx = run.store.begin_write(&run.principal()).await?;
        let swap = run.timed("store", async {
            tx.lock_repository(repository).await?;
            // By an upload, or by a run under the ref's other name: what this one fetched may be older.
            let there = tx.current_index(repository, &ref_name).await?.map(|index| index.indexed_at);
            if there != before.indexed_at.get(&ref_name).copied() {
                return Err(Fault::Passing(Problem::new(
                    "moved_meanwhile",
                    format!("{} was indexed by another run meanwhile", sync_core::text::shown(&ref_name, 200)),
                    "nothing: its head is looked at again",
                )));
            }
            let swap = snapshot.swap_in(&mut tx, repository, &ref_name, now).await.map_err(|fault| match fault {
                SnapshotFault::Store(error) => error.into(),
                SnapshotFault::Unsound(_) | SnapshotFault::Reader => {
                    unsound(format!("what the indexer wrote could not be stored: {fault}"))
                }
            })?;
            let is_default = asked == HEAD || ref_name == run.repository.default_branch;
            if asked == HEAD && ref_name != run.repository.default_branch {
                tx.set_default_branch(repository, &ref_name).await?;
            }
            refs::keep(&mut tx, &run.repository, &ref_name, is_default, now).await?;
            tx.set_committed_at(repository, &ref_name, brought.committed_at).await?;
            if is_default {
                tx.set_repository_state(repository, RepositoryState::Indexed, None, now).await?;
            }
            Ok(swap)
        });
        let swap = swap.await?;
        let index = &swap.index;
        let result = json!({
            "commit": index.commit, "ref": index.ref_name, "confirmed": swap.confirmed,
            "changed_files": swap.changed_files, "removed_files": swap.removed_files,
            "files": index.counts.files, "call_sites": index.counts.call_sites,
        });
        run.finish(tx, result).await?;
        (self.told)(Told::Indexed(index));
        Ok(())
    }
}

/// Says that an index is still that of its ref's head: `indexed_at` moves, and an earlier refusal is over.
async fn confirm_in(tx: &mut Tx, is_default: bool, index: &Index, now: OffsetDateTime) -> Result<(), StoreError> {
    tx.confirm_index(index, now).await?;
    if is_default {
        tx.set_repository_state(index.repository, RepositoryState::Indexed, None, now).await?;
    }
    Ok(())
}

async fn before(run: &Run, asked: &str) -> Result<Before, StoreError> {
    let ref_name = if asked == HEAD { &run.repository.default_branch } else { asked };
    let mut tx = run.store.begin(&run.principal()).await?;
    let index = tx.current_index(run.repository.id, ref_name).await?;
    let refs = tx.refs(run.repository.id).await?;
    tx.commit().await?;
    let indexed_at = refs.into_iter().filter_map(|row| Some((row.name, row.indexed_at?))).collect();
    Ok(Before { index, indexed_at })
}

/// Whether the mirror is made anew: it could not be read at the last try.
fn wants_fresh(run: &Run) -> bool {
    let last = run.job.result.as_ref().and_then(|result| result["code"].as_str());
    run.ticket.attempt > 1 && last == Some("index_failed")
}

/// Whether something of a mirror could not be read that must be there.
fn is_damaged(snapshot: &SnapshotFile) -> bool {
    snapshot.header.partial_reasons.iter().any(|partial| partial.reason == "unreadable")
}

/// The ref, where it is more than what `HEAD` names.
fn named(asked: &str) -> Option<String> {
    (asked != HEAD).then(|| asked.to_owned())
}

/// What the child compares with. A plain folder has no commit, and what was cut short deserves another try.
fn known(index: &Index) -> Option<Known> {
    let commit = index.commit.clone().filter(|_| !index.partial)?;
    Some(Known { commit, analyzer: index.analyzer.clone(), catalog: index.catalog.clone() })
}

fn unsound(what: String) -> Fault {
    Fault::Passing(Problem::new("internal", what, "this is a fault of Sync; report it"))
}

fn disk(what: String) -> Fault {
    Fault::Passing(Problem::new("disk", what, "have the operator look at worker_data_dir"))
}

fn child_failed(run: &Run, code: &'static str, error: ChildError) -> Fault {
    match error {
        ChildError::Refused { what, next } | ChildError::Failed { what, next } => {
            Fault::Passing(Problem::new(code, what, next))
        }
        ChildError::Start { .. } => Fault::Passing(Problem::new(
            "internal",
            error.to_string(),
            "have the operator check the limits on processes of the worker's user",
        )),
        ChildError::Time { .. } => {
            let problem = Problem::new("timeout", error.to_string(), "try again, or name a smaller repository");
            if run.ticket.attempt < SLOW_TRIES { Fault::Passing(problem) } else { Fault::Lasting(problem) }
        }
    }
}
