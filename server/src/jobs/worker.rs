//! The worker: takes tickets of all organizations into its slots, keeps them with heartbeats, and sees to it that each run
//! ends somehow – well, to be tried again, given up with the reason, or given back.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration as StdDuration;

use sync_core::clock::Clock;
use sync_core::ids::LeaseId;
use sync_core::principal::Principal;
use sync_store::{Job, JobReport, Outcome, Repository, RepositoryState, Requeued, Store, StoreError, Ticket, Tx};
use time::{Duration, OffsetDateTime};
use tokio::sync::{Notify, Semaphore};
use tokio::task::AbortHandle;
use tokio_util::task::TaskTracker;

use super::backoff::{self, MAX_ATTEMPTS};
use super::place::HEAD;
use super::run::{Fault, Problem, Run, Work};
use crate::shutdown::Shutdown;

/// How often leases are kept, and how soon after the end of a worker its jobs are another's: twice that.
const HEARTBEAT: StdDuration = StdDuration::from_secs(10);

/// How long a lease holds without a heartbeat.
pub const LEASE: Duration = Duration::seconds(20);

/// How often the queue is looked at though nothing was heard.
const LOOK_EVERY: StdDuration = StdDuration::from_secs(1);

/// How long to wait before a database that did not answer is asked again.
const ASK_AGAIN: StdDuration = StdDuration::from_secs(1);

/// How a worker works.
#[derive(Debug, Clone, Copy)]
pub struct WorkerOptions {
    /// Jobs at a time.
    pub slots: usize,
    /// Whether it has itself told of new jobs, and not only looks now and then.
    pub listen: bool,
    /// How long runs may take to end once the worker is to; then their leases are given back.
    pub grace: StdDuration,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Well.
    Done,
    /// It will be tried again.
    Retried,
    /// Given up.
    Buried,
    /// Given back to the queue.
    Returned,
    /// It was another's by then, or taken back: nothing was written.
    Lost,
}

/// Works off jobs. Cheap to clone.
#[derive(Clone)]
pub struct Worker(Arc<Inner>);

struct Inner {
    store: Store,
    clock: Arc<dyn Clock>,
    work: Arc<dyn Work>,
    options: WorkerOptions,
    running: Mutex<HashMap<LeaseId, AbortHandle>>,
    /// Whether runs that are ended from outside are given back.
    giving_back: AtomicBool,
    wake: Notify,
}

impl Worker {
    /// On that database.
    pub fn new(store: Store, clock: Arc<dyn Clock>, work: Arc<dyn Work>, options: WorkerOptions) -> Self {
        Self(Arc::new(Inner {
            store,
            clock,
            work,
            options,
            running: Mutex::default(),
            giving_back: AtomicBool::new(false),
            wake: Notify::new(),
        }))
    }

    /// Works until the end of the process begins, and lets what runs then come to its end.
    pub async fn run(self, shutdown: Shutdown) {
        let beating = tokio::spawn(self.clone().beat());
        let listening = self.0.options.listen.then(|| tokio::spawn(self.clone().listen()));
        let slots = Arc::new(Semaphore::new(self.0.options.slots));
        let runs = TaskTracker::new();
        loop {
            self.fill(&slots, &runs).await;
            tokio::select! {
                () = self.0.wake.notified() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = shutdown.begun() => break,
            }
        }
        runs.close();
        if tokio::time::timeout(self.0.options.grace, runs.wait()).await.is_err() {
            self.0.giving_back.store(true, Ordering::Relaxed);
            for run in self.0.held().values() {
                run.abort();
            }
            runs.wait().await;
        }
        beating.abort();
        if let Some(listening) = listening {
            listening.abort();
        }
    }

    /// Takes as many tickets as there are free slots.
    async fn fill(&self, slots: &Arc<Semaphore>, runs: &TaskTracker) {
        while let Ok(slot) = slots.clone().try_acquire_owned() {
            let ticket = match self.take().await {
                Ok(Some(ticket)) => ticket,
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!(%error, "no job can be taken; it is tried again");
                    return;
                }
            };
            let worker = self.clone();
            runs.spawn(async move {
                worker.work_off(ticket).await;
                drop(slot);
                worker.0.wake.notify_one();
            });
        }
    }

    /// Takes the next ticket.
    pub async fn take(&self) -> Result<Option<Ticket>, StoreError> {
        let now = self.0.clock.now();
        let mut tx = self.0.store.system("worker").await?;
        let ticket = tx.claim(LeaseId::at(now), now + LEASE, now).await?;
        tx.commit().await?;
        Ok(ticket)
    }

    /// Runs a ticket to its end.
    pub async fn work_off(&self, ticket: Ticket) -> Ended {
        let id = ticket.id;
        let ended = match self.begin(&ticket).await {
            Ok(Some(run)) => self.run_to_its_end(Arc::new(run)).await,
            Ok(None) => Ok(Ended::Buried),
            Err(error) => Err(error),
        };
        ended.unwrap_or_else(|error| {
            match Fault::from(error) {
                Fault::LeaseLost => tracing::info!(job = %id, "the job is another's by now, or was taken back"),
                // The lease runs out, and the job is taken again.
                Fault::Passing(problem) | Fault::Lasting(problem) => {
                    tracing::warn!(job = %id, reason = problem.reason, "what became of a run could not be written down");
                }
            }
            Ended::Lost
        })
    }

    /// Says that a run begins. Nothing where it must not: its source is gone, or it ended its worker too often.
    async fn begin(&self, ticket: &Ticket) -> Result<Option<Run>, StoreError> {
        let now = self.0.clock.now();
        // With the patience of a writer, here and below: another ref of the source may just be stored.
        let mut tx = self.0.store.begin_write(&Principal::service(ticket.organization, ticket.kind.as_str())).await?;
        let job = tx.begin_job(ticket, now).await?;
        let repository = tx.repository(job.repository).await?;
        let problem = if repository.is_none() {
            Problem::new("source_not_found", "its source is not there any more", "nothing")
        } else {
            Problem::new(
                "worker_died",
                died(job.reason.as_deref(), ticket.attempt - 1),
                "report it with the log of the worker",
            )
        };
        let Some(repository) = repository else {
            tx.bury_job(ticket, &problem.to_store(), &JobReport::default(), now).await?;
            tx.commit().await?;
            return Ok(None);
        };
        if is_of_default(&job, &repository)
            && matches!(repository.state, RepositoryState::Registered | RepositoryState::Failed)
        {
            tx.set_repository_state(repository.id, RepositoryState::Indexing, None, now).await?;
        }
        let run = Run::new(self.0.store.clone(), self.0.clock.clone(), ticket.clone(), job, repository, now);
        if ticket.attempt > MAX_ATTEMPTS {
            // It never came to say why: each of its runs ended the worker, or was left by it.
            self.give_up(tx, &run, &problem).await?;
            return Ok(None);
        }
        tx.commit().await?;
        Ok(Some(run))
    }

    async fn run_to_its_end(&self, run: Arc<Run>) -> Result<Ended, StoreError> {
        let holder = run.ticket.holder;
        let (work, its) = (self.0.work.clone(), run.clone());
        // A task of its own, so that a panic is its end alone.
        let task = tokio::spawn(async move { work.run(&its).await });
        self.0.held().insert(holder, task.abort_handle());
        // After it is among those that are held: it is ended either here or by who gives all of them back.
        if self.0.giving_back.load(Ordering::Relaxed) {
            task.abort();
        }
        let ended = task.await;
        self.0.held().remove(&holder);
        match ended {
            Ok(Ok(())) => {
                tracing::info!(job = %run.job.id, repository = run.repository.name, "done");
                Ok(Ended::Done)
            }
            Ok(Err(fault)) => self.settle(&run, fault).await,
            Err(error) if error.is_panic() => {
                let said = panicked(&*error.into_panic());
                self.settle(&run, Fault::Passing(Problem::new("panicked", said, "report it"))).await
            }
            Err(_) if self.0.giving_back.load(Ordering::Relaxed) => self.give_back(&run).await,
            Err(_) => Ok(Ended::Lost),
        }
    }

    async fn settle(&self, run: &Run, fault: Fault) -> Result<Ended, StoreError> {
        let (problem, lasting) = match fault {
            Fault::LeaseLost => return Ok(Ended::Lost),
            Fault::Passing(problem) => (problem, run.ticket.attempt >= MAX_ATTEMPTS),
            Fault::Lasting(problem) => (problem, true),
        };
        let mut tx = self.0.store.begin_write(&run.principal()).await?;
        if lasting {
            self.give_up(tx, run, &problem).await?;
            return Ok(Ended::Buried);
        }
        let now = self.0.clock.now();
        let run_at = now + backoff::after(run.job.id, run.ticket.attempt);
        let requeued = tx.retry_job(&run.ticket, &problem.to_store(), &run.report(&problem), run_at, now).await?;
        tx.record_event(&run.event(Outcome::Error, Some(problem.code), now)).await?;
        if requeued == Requeued::Waits {
            note_state(&mut tx, run, &problem, now).await?;
        }
        tx.commit().await?;
        tracing::warn!(job = %run.job.id, repository = run.repository.name, reason = problem.reason, "it is tried again");
        Ok(Ended::Retried)
    }

    async fn give_up(&self, mut tx: Tx, run: &Run, problem: &Problem) -> Result<(), StoreError> {
        let now = self.0.clock.now();
        tx.bury_job(&run.ticket, &problem.to_store(), &run.report(problem), now).await?;
        tx.record_event(&run.event(Outcome::Error, Some(problem.code), now)).await?;
        note_state(&mut tx, run, problem, now).await?;
        tx.commit().await?;
        tracing::warn!(job = %run.job.id, repository = run.repository.name, reason = problem.reason, "it is given up");
        Ok(())
    }

    async fn give_back(&self, run: &Run) -> Result<Ended, StoreError> {
        let mut tx = self.0.store.begin_write(&run.principal()).await?;
        tx.return_job(&run.ticket, self.0.clock.now()).await?;
        tx.commit().await?;
        tracing::info!(job = %run.job.id, repository = run.repository.name, "it is given back");
        Ok(Ended::Returned)
    }

    /// Keeps the leases of what runs, and ends what runs without one.
    pub async fn heartbeat(&self) -> Result<(), StoreError> {
        let held: Vec<LeaseId> = self.0.held().keys().copied().collect();
        if held.is_empty() {
            return Ok(());
        }
        let mut tx = self.0.store.system("worker").await?;
        let kept = tx.heartbeat(&held, self.0.clock.now() + LEASE).await?;
        tx.commit().await?;
        for (holder, run) in self.0.held().iter() {
            if held.contains(holder) && !kept.contains(holder) {
                run.abort();
            }
        }
        Ok(())
    }

    async fn beat(self) {
        let mut wait = HEARTBEAT;
        loop {
            tokio::time::sleep(wait).await;
            wait = match self.heartbeat().await {
                Ok(()) => HEARTBEAT,
                Err(error) => {
                    tracing::warn!(%error, "leases could not be kept; it is tried again");
                    ASK_AGAIN
                }
            };
        }
    }

    async fn listen(self) {
        loop {
            match self.0.store.listen_for_jobs().await {
                Ok(mut listener) => {
                    while listener.heard().await.is_ok() {
                        self.0.wake.notify_one();
                    }
                }
                Err(error) => tracing::debug!(%error, "nobody tells of new jobs; they are looked for"),
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }
}

impl Inner {
    fn held(&self) -> std::sync::MutexGuard<'_, HashMap<LeaseId, AbortHandle>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What asks about the default branch is told what became of its last run; an older index still answers.
async fn note_state(tx: &mut Tx, run: &Run, problem: &Problem, now: OffsetDateTime) -> Result<(), StoreError> {
    if !is_of_default(&run.job, &run.repository) {
        return Ok(());
    }
    let state =
        if matches!(problem.code, "gated" | "too_large") { RepositoryState::Gated } else { RepositoryState::Failed };
    let reason = format!("{}; next: {}", problem.reason, problem.next_step);
    tx.set_repository_state(run.repository.id, state, Some(&reason), now).await
}

fn is_of_default(job: &Job, repository: &Repository) -> bool {
    job.ref_name.as_ref().is_some_and(|name| name == HEAD || *name == repository.default_branch)
}

fn died(last: Option<&str>, runs: u32) -> String {
    let last = last.map(|reason| format!("; the last that said why: {reason}")).unwrap_or_default();
    format!("its worker ended in the middle of each of {runs} runs{last}")
}

fn panicked(payload: &(dyn std::any::Any + Send)) -> String {
    let said = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    format!("the worker failed in an unforeseen way: {}", said.unwrap_or("no reason was given"))
}
