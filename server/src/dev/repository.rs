//! The repository becomes a source like any other: registered, asked to be indexed, and worked off by the worker of this
//! process.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sync_core::ids::{JobId, RepositoryId};
use sync_core::principal::Principal;
use sync_ingest::reason::told;
use sync_store::{
    Gate, Job, JobCause, JobKind, JobState, NewJob, NewRepository, Repository, RepositoryState, SourceSettings, Store,
    StoreError, Tx,
};

use super::error::DevError;
use super::progress::Progress;
use super::source::Source;
use super::{Start, fixture};
use crate::config::Config;
use crate::jobs::AllJobs;
use crate::jobs::caches::Caches;
use crate::jobs::egress::{Egress, EgressPolicy};
use crate::jobs::mirrors::Mirrors;
use crate::jobs::place::{FOLDER, HEAD, LocalSources, WorkerFolders};
use crate::jobs::reindex::{Reindex, Told};
use crate::jobs::remote::RemoteAccess;
use crate::jobs::sweep::Sweep;
use crate::jobs::worker::{Worker, WorkerOptions};

/// How often a job that another worker took is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How many open jobs of the last start are looked for.
const OPEN_JOBS: u32 = 200;

/// What can be asked now.
pub(super) struct Indexed {
    /// The repository's name.
    pub(super) repository: String,
    /// Whether the organization has further ones, so that a question has to name it.
    pub(super) among_others: bool,
}

/// The repository, registered.
struct Registered {
    id: RepositoryId,
    name: String,
    is_new: bool,
}

impl Start<'_> {
    /// How this process reaches remotes.
    pub(super) async fn remotes(&self, config: &Config) -> Result<RemoteAccess, DevError> {
        // Whoever starts this on a machine may name what the machine reaches.
        let policy = EgressPolicy { any_host: true, environment: true, ..EgressPolicy::default() };
        let egress = Egress::start(policy).await.map_err(|error| {
            DevError::failed(format!("the proxy of fetches cannot be started: {error}"), "check this user's limits")
        })?;
        Ok(RemoteAccess {
            executable: self.executable.clone(),
            egress: Arc::new(egress),
            mirrors: Mirrors::new(self.folders()?.mirrors(), config.mirror_quota()),
            keys: RemoteAccess::keys(config).map_err(|error| DevError::said(&error.to_string()))?,
            last_fetch_will_do: false,
        })
    }

    fn folders(&self) -> Result<WorkerFolders, DevError> {
        let root = self.data.path("");
        WorkerFolders::below(&root).map_err(|error| DevError::data_dir(&root, &error))
    }

    /// The worker of this process, on that store.
    pub(super) fn worker(
        &self,
        store: Store,
        config: &Config,
        remotes: RemoteAccess,
    ) -> Result<(Worker, Sweep), DevError> {
        let folders = self.folders()?;
        let builtin = self.data.path("fixture");
        if *self.source == Source::Fixture {
            fixture::write(&builtin).map_err(|error| DevError::data_dir(&builtin, &error))?;
        }
        let caches = Caches::new(folders.caches(), config.cache_quota());
        let local = LocalSources { allowed: true, builtin: Some(builtin), ..LocalSources::default() };
        let sweep = Sweep {
            store: store.clone(),
            clock: self.clock.clone(),
            remotes: Arc::new(remotes.clone()),
            local: local.clone(),
            every: config.sweep_every(),
            folders: folders.clone(),
            caches: caches.clone(),
        };
        let progress = self.progress;
        let reindex = Reindex {
            executable: self.executable.clone(),
            caches,
            spool: folders.spool(),
            remotes,
            local,
            told: Arc::new(move |told| tell(progress, told)),
        };
        let options = WorkerOptions {
            slots: config.worker_slots,
            listen: true,
            grace: Duration::from_secs(config.shutdown_grace_s),
        };
        Ok((Worker::new(store, self.clock.clone(), Arc::new(AllJobs { reindex }), options), sweep))
    }

    /// Indexes the repository, unless it is indexed as it is.
    pub(super) async fn index(
        &self,
        store: &Store,
        principal: &Principal,
        worker: &Worker,
    ) -> Result<Indexed, DevError> {
        let registered = self.registered(store, principal).await?;
        let job = self.ask(store, principal, registered.id).await?;
        let ended = self.worked_off(store, principal, worker, job).await?;
        let mut tx = store.begin_write(principal).await?;
        if ended.state != JobState::Done {
            if registered.is_new {
                tx.erase_source(registered.id, None).await?;
            } else {
                // Whoever is told now starts again: no later start tries it beside what it was started for.
                tx.cancel_job(job, self.clock.now()).await?;
            }
            tx.commit().await?;
            return Err(failed(ended));
        }
        // What was asked for by its name is what answers.
        if let Some(rev) = &self.args.rev {
            tx.set_default_branch(registered.id, rev).await?;
            tx.set_repository_state(registered.id, RepositoryState::Indexed, None, self.clock.now()).await?;
        }
        let among_others = tx.count_visible_repositories().await? > 1;
        tx.commit().await?;
        Ok(Indexed { repository: registered.name, among_others })
    }

    /// The repository as it is registered, which it is made where it is new. Another origin's name is not taken over:
    /// the second repository of a name gets a number.
    async fn registered(&self, store: &Store, principal: &Principal) -> Result<Registered, DevError> {
        let plain = self.source.name()?;
        let origin = self.source.origin();
        let mut tx = store.begin_change(principal).await?;
        let mut name = plain.clone();
        for number in 2_u32.. {
            match tx.repository_by_name(&name).await? {
                Some(other) if other.clone_url != origin => name = format!("{plain}-{number}"),
                Some(known) => {
                    let registered = Registered { id: known.id, name, is_new: false };
                    self.bring_up_to_date(&mut tx, known).await?;
                    tx.commit().await?;
                    return Ok(registered);
                }
                None => {
                    let id = self.register(&mut tx, &name, origin.as_deref()).await?;
                    tx.commit().await?;
                    return Ok(Registered { id, name, is_new: true });
                }
            }
        }
        Err(DevError::failed("no name is free for the repository", "start on an empty --data-dir"))
    }

    async fn register(&self, tx: &mut Tx, name: &str, origin: Option<&str>) -> Result<RepositoryId, StoreError> {
        let now = self.clock.now();
        let new = NewRepository {
            id: RepositoryId::at(now),
            name,
            provider: self.provider(),
            clone_url: origin,
            default_branch: self.rev(),
        };
        tx.register_repository(&new, now).await?;
        // The built-in one is a plain folder; anything else should be a git repository.
        let gate = if *self.source == Source::Fixture { Gate::On } else { Gate::Auto };
        tx.set_source_settings(new.id, &SourceSettings { gate, ..SourceSettings::default() }).await?;
        // Whoever gives the address on the command line wants it fetched from there.
        tx.set_egress_consent(new.id, Some("syncd dev"), now).await?;
        Ok(new.id)
    }

    /// What an earlier release registered, and what an earlier start left undone.
    async fn bring_up_to_date(&self, tx: &mut Tx, known: Repository) -> Result<(), StoreError> {
        let now = self.clock.now();
        if known.provider.as_deref() != self.provider() {
            tx.set_source_address(known.id, self.provider(), known.clone_url.as_deref()).await?;
        }
        if known.egress_consent.is_none() {
            tx.set_egress_consent(known.id, Some("syncd dev"), now).await?;
        }
        if *self.source == Source::Fixture && known.settings.gate != Gate::On {
            tx.set_source_settings(known.id, &SourceSettings { gate: Gate::On, ..known.settings }).await?;
        }
        // Nobody but this process works on this folder: what is open was left by one that was killed.
        for job in tx.jobs_of(known.id, OPEN_JOBS).await? {
            if job.ended_at.is_none() {
                tx.cancel_job(job.id, now).await?;
            }
        }
        Ok(())
    }

    async fn ask(&self, store: &Store, principal: &Principal, repository: RepositoryId) -> Result<JobId, StoreError> {
        let now = self.clock.now();
        let mut tx = store.begin_change(principal).await?;
        let new = NewJob {
            id: JobId::at(now),
            repository,
            kind: JobKind::Reindex,
            ref_name: Some(self.rev()),
            cause: JobCause::Person,
            payload: &Value::Null,
            run_at: now,
        };
        let enqueued = tx.enqueue(&new, now).await?;
        tx.commit().await?;
        Ok(enqueued.id)
    }

    /// Works until the job was tried once.
    async fn worked_off(
        &self,
        store: &Store,
        principal: &Principal,
        worker: &Worker,
        id: JobId,
    ) -> Result<Job, DevError> {
        loop {
            let ticket = worker.take().await?;
            let idle = ticket.is_none();
            if let Some(ticket) = ticket {
                worker.work_off(ticket).await;
            }
            let mut tx = store.begin(principal).await?;
            let job = tx.job(id).await?;
            tx.commit().await?;
            match job {
                // A second try would be made in a few seconds, but who waits here wants to know why there was none.
                Some(job) if job.ended_at.is_some() || (job.state == JobState::Queued && job.reason.is_some()) => {
                    return Ok(job);
                }
                None => return Err(DevError::failed("the job that indexes it is gone", "start again")),
                Some(_) if idle => tokio::time::sleep(LOOK_EVERY).await,
                Some(_) => {}
            }
        }
    }

    fn provider(&self) -> Option<&'static str> {
        matches!(self.source, Source::Folder(_)).then_some(FOLDER)
    }

    fn rev(&self) -> &str {
        self.args.rev.as_deref().unwrap_or(HEAD)
    }
}

fn tell(progress: Progress, told_of: Told<'_>) {
    match told_of {
        Told::Fetching(url) => progress.say(&format!("fetching {url}")),
        Told::LastFetch(error) => progress.say(&format!("using the last fetch: {error}")),
        Told::Indexing(name) => progress.say(&format!("indexing {name}")),
        Told::Unchanged => progress.say("nothing changed since the last index"),
        Told::Indexed(index) => {
            let counts = index.counts;
            progress.say(&format!("indexed {} files with {} call sites", counts.files, counts.call_sites));
            for reason in &index.partial_reasons {
                progress.say(&format!("not all of it: {}", told(reason)));
            }
        }
    }
}

fn failed(job: Job) -> DevError {
    let what = job.reason.unwrap_or_else(|| "the job that indexes it was taken back".to_owned());
    let next = job.next_step.unwrap_or_else(|| "start again".to_owned());
    let code = job.result.as_ref().and_then(|result| result["code"].as_str());
    if matches!(code, Some("gated" | "too_large" | "refused")) {
        DevError::refused(what, next)
    } else {
        DevError::failed(what, next)
    }
}
