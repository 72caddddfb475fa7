//! What a worker makes of runs that end well, fail, panic, hang or lose their lease.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration as StdDuration;

use async_trait::async_trait;
use serde_json::json;
use sync_core::clock::Clock as _;
use sync_core::ids::RepositoryId;
use sync_server::jobs::backoff::MAX_ATTEMPTS;
use sync_server::jobs::run::{Fault, Problem, Run, Work};
use sync_server::jobs::worker::{Ended, LEASE, Worker, WorkerOptions};
use sync_server::shutdown::Shutdown;
use sync_store::{AuditFilter, AuditOrder, JobState, RepositoryState};
use sync_tests::{NOW, TestDatabase, with_database};
use time::Duration;
use tokio::sync::Notify;

use super::{Queue, Source};

const OPTIONS: WorkerOptions = WorkerOptions { slots: 2, listen: false, grace: StdDuration::from_mins(1) };

/// What the runs of a source do.
#[derive(Debug, Clone, Copy)]
enum Does {
    EndWell,
    Fail,
    FailForGood,
    Panic,
    /// Until it is ended from outside.
    Hang,
    /// Until it is let go on.
    Wait,
}

/// Work that does what it is told.
#[derive(Default)]
struct Scripted {
    does: Mutex<HashMap<RepositoryId, Does>>,
    /// Told when a run began to hang, and when it was dropped in the middle.
    begun: Notify,
    dropped: Arc<Notify>,
    go_on: Notify,
    runs: Mutex<Vec<RepositoryId>>,
}

impl Scripted {
    fn let_it(&self, source: &Source, does: Does) {
        self.does.lock().unwrap().insert(source.repository, does);
    }
}

struct OnDrop(Arc<Notify>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[async_trait]
impl Work for Scripted {
    async fn run(&self, run: &Run) -> Result<(), Fault> {
        self.runs.lock().unwrap().push(run.repository.id);
        let problem = || Problem::new("unreachable", "the remote does not answer", "look after it");
        let does = self.does.lock().unwrap().get(&run.repository.id).copied().unwrap_or(Does::EndWell);
        match does {
            Does::EndWell => {}
            Does::Fail => return Err(Fault::Passing(problem())),
            Does::FailForGood => return Err(Fault::Lasting(problem())),
            Does::Panic => panic!("a poisoned file"),
            Does::Hang | Does::Wait => {
                let _dropped = OnDrop(self.dropped.clone());
                self.begun.notify_one();
                self.go_on.notified().await;
            }
        }
        let tx = run.store.begin_write(&run.principal()).await?;
        run.finish(tx, json!({"changed": 1})).await
    }
}

fn worker(queue: &Queue<'_>, work: &Arc<Scripted>) -> Worker {
    Worker::new(queue.store.clone(), queue.clock.clone(), work.clone(), OPTIONS)
}

async fn state(queue: &Queue<'_>, source: &Source) -> (RepositoryState, Option<String>) {
    let mut tx = queue.store.begin(&source.principal).await.unwrap();
    let repository = tx.repository(source.repository).await.unwrap().unwrap();
    tx.commit().await.unwrap();
    (repository.state, repository.state_reason)
}

/// Outcomes and codes of audited runs, the oldest first.
async fn audited(queue: &Queue<'_>, source: &Source) -> Vec<(Option<String>, Option<String>)> {
    let filter = AuditFilter { action: Some("job.reindex".to_owned()), ..AuditFilter::default() };
    let mut tx = queue.store.begin(&source.principal).await.unwrap();
    let rows = tx.audit_events(&filter, AuditOrder::NewestFirst(None), 100).await.unwrap();
    tx.commit().await.unwrap();
    rows.into_iter().rev().map(|row| (row.outcome, row.code)).collect()
}

#[test]
fn a_job_that_never_ends_well_is_given_up_after_ten_tries_and_keeps_nobody_waiting() {
    with_database(async |database: &TestDatabase| {
        let queue = Queue::of(&database.store);
        let poisoned = queue.one_source().await;
        let other = queue.organization("other").await;
        let other = queue.source(&other, "other/fine").await;
        for does in [Does::Fail, Does::Panic] {
            let work = Arc::new(Scripted::default());
            let worker = worker(&queue, &work);
            work.let_it(&poisoned, does);
            let job = queue.push(&poisoned).await;
            let mut waits = Vec::new();
            for attempt in 1..=MAX_ATTEMPTS {
                // Beside each of its tries the other one's push is served at once.
                let fine = queue.push(&other).await;
                let mut ended = Vec::new();
                while let Some(ticket) = worker.take().await.unwrap() {
                    ended.push((ticket.id, worker.work_off(ticket).await));
                }
                ended.sort_by_key(|(id, _)| *id == fine.id);
                let expected = if attempt == MAX_ATTEMPTS { Ended::Buried } else { Ended::Retried };
                assert_eq!(ended, [(job.id, expected), (fine.id, Ended::Done)], "{attempt}");
                let seen = queue.job(&poisoned, job.id).await;
                assert_eq!(seen.attempts, attempt);
                if attempt < MAX_ATTEMPTS {
                    waits.push(seen.run_at - queue.clock.now());
                    queue.clock.set(seen.run_at);
                }
            }
            assert!(waits.windows(2).all(|two| two[0] < two[1] || two[1] > Duration::minutes(45)), "{waits:?}");
            assert_eq!(worker.take().await.unwrap(), None);
            let dead = queue.job(&poisoned, job.id).await;
            assert_eq!((dead.state, dead.attempts), (JobState::Dead, MAX_ATTEMPTS));
            let reason = dead.reason.unwrap();
            let said = if matches!(does, Does::Panic) { "a poisoned file" } else { "the remote does not answer" };
            assert!(reason.contains(said) && dead.next_step.is_some(), "{reason}");
            let told = format!("{reason}; next: {}", dead.next_step.unwrap());
            assert_eq!(state(&queue, &poisoned).await, (RepositoryState::Failed, Some(told)));
        }
        let rows = audited(&queue, &poisoned).await;
        assert_eq!(rows.len(), 20);
        assert_eq!(rows[0], (Some("error".to_owned()), Some("unreachable".to_owned())));
        assert_eq!(rows[19], (Some("error".to_owned()), Some("panicked".to_owned())));
        assert_eq!(audited(&queue, &other).await, vec![(Some("ok".to_owned()), None); 20]);
    });
}

#[test]
fn what_cannot_heal_is_given_up_at_once_and_a_new_request_begins_anew() {
    with_database(async |database: &TestDatabase| {
        let queue = Queue::of(&database.store);
        let source = queue.one_source().await;
        let work = Arc::new(Scripted::default());
        let worker = worker(&queue, &work);
        work.let_it(&source, Does::FailForGood);
        let job = queue.push(&source).await;
        assert_eq!(worker.work_off(worker.take().await.unwrap().unwrap()).await, Ended::Buried);
        let dead = queue.job(&source, job.id).await;
        assert_eq!((dead.state, dead.attempts), (JobState::Dead, 1));
        assert_eq!(dead.result, Some(json!({"code": "unreachable"})));
        work.let_it(&source, Does::EndWell);
        let again = queue.push(&source).await;
        assert_eq!(worker.work_off(worker.take().await.unwrap().unwrap()).await, Ended::Done);
        let done = queue.job(&source, again.id).await;
        assert_eq!((done.state, done.result), (JobState::Done, Some(json!({"changed": 1}))));
        assert_eq!((done.reason, done.next_step), (None, None));
        assert_eq!(done.timings["waited"], 0);
    });
}

#[test]
fn a_job_that_ends_its_worker_is_given_up_too() {
    with_database(async |database: &TestDatabase| {
        let queue = Queue::of(&database.store);
        let source = queue.one_source().await;
        let work = Arc::new(Scripted::default());
        let worker = worker(&queue, &work);
        let job = queue.push(&source).await;
        for attempt in 1..=MAX_ATTEMPTS {
            // Taken, and then nothing more is heard of the worker.
            assert_eq!(worker.take().await.unwrap().unwrap().attempt, attempt);
            assert_eq!(worker.take().await.unwrap(), None);
            queue.clock.advance(LEASE);
        }
        assert_eq!(worker.work_off(worker.take().await.unwrap().unwrap()).await, Ended::Buried);
        let dead = queue.job(&source, job.id).await;
        assert!(dead.reason.unwrap().contains("in the middle of each of 10 runs"));
        assert_eq!(*work.runs.lock().unwrap(), [], "it was not tried an eleventh time");
    });
}

#[test]
fn a_run_that_lost_its_lease_is_ended_and_writes_nothing() {
    with_database(async |database: &TestDatabase| {
        let queue = Queue::of(&database.store);
        let source = queue.one_source().await;
        let work = Arc::new(Scripted::default());
        let (slow, quick) = (worker(&queue, &work), worker(&queue, &work));
        work.let_it(&source, Does::Hang);
        let job = queue.push(&source).await;
        let ticket = slow.take().await.unwrap().unwrap();
        let hanging = tokio::spawn({
            let slow = slow.clone();
            async move { slow.work_off(ticket).await }
        });
        work.begun.notified().await;
        queue.clock.advance(LEASE);
        work.let_it(&source, Does::EndWell);
        let ticket = quick.take().await.unwrap().unwrap();
        assert_eq!(ticket.attempt, 2);
        // Its next heartbeat tells it, and what it ran is dropped where it stands.
        slow.heartbeat().await.unwrap();
        work.dropped.notified().await;
        assert_eq!(hanging.await.unwrap(), Ended::Lost);
        assert_eq!(quick.work_off(ticket).await, Ended::Done);
        let done = queue.job(&source, job.id).await;
        assert_eq!((done.state, done.attempts), (JobState::Done, 2));
        assert_eq!(audited(&queue, &source).await.len(), 1);
    });
}

#[test]
fn a_run_that_does_not_hear_of_its_lost_lease_writes_nothing_either() {
    with_database(async |database: &TestDatabase| {
        let queue = Queue::of(&database.store);
        let source = queue.one_source().await;
        let work = Arc::new(Scripted::default());
        let (slow, quick) = (worker(&queue, &work), worker(&queue, &work));
        work.let_it(&source, Does::Wait);
        queue.push(&source).await;
        let ticket = slow.take().await.unwrap().unwrap();
        let waiting = tokio::spawn(async move { slow.work_off(ticket).await });
        work.begun.notified().await;
        queue.clock.advance(LEASE);
        work.let_it(&source, Does::EndWell);
        let ticket = quick.take().await.unwrap().unwrap();
        work.go_on.notify_one();
        assert_eq!(waiting.await.unwrap(), Ended::Lost);
        assert_eq!(audited(&queue, &source).await.len(), 0);
        assert_eq!(quick.work_off(ticket).await, Ended::Done);
    });
}

#[test]
fn a_job_that_is_taken_back_ends_what_runs() {
    with_database(async |database: &TestDatabase| {
        let queue = Queue::of(&database.store);
        let source = queue.one_source().await;
        let work = Arc::new(Scripted::default());
        let worker = worker(&queue, &work);
        work.let_it(&source, Does::Hang);
        let job = queue.push(&source).await;
        let ticket = worker.take().await.unwrap().unwrap();
        let hanging = tokio::spawn({
            let worker = worker.clone();
            async move { worker.work_off(ticket).await }
        });
        work.begun.notified().await;
        assert_eq!(state(&queue, &source).await.0, RepositoryState::Indexing);
        let mut tx = database.store.begin_change(&source.principal).await.unwrap();
        assert!(tx.cancel_job(job.id, NOW).await.unwrap());
        tx.commit().await.unwrap();
        worker.heartbeat().await.unwrap();
        work.dropped.notified().await;
        assert_eq!(hanging.await.unwrap(), Ended::Lost);
        assert_eq!(queue.job(&source, job.id).await.state, JobState::Cancelled);
        assert_eq!(state(&queue, &source).await.0, RepositoryState::Registered);
    });
}

/// With nobody telling it of jobs, and told: it must work either way.
#[test]
fn the_loop_works_off_what_comes_and_gives_back_at_its_end_what_does_not_end() {
    for listen in [false, true] {
        with_database(async |database: &TestDatabase| {
            let queue = Queue::of(&database.store);
            let acme = queue.organization("acme").await;
            let (fine, hangs) = (queue.source(&acme, "fine").await, queue.source(&acme, "hangs").await);
            let work = Arc::new(Scripted::default());
            let options = WorkerOptions { slots: 2, listen, grace: StdDuration::ZERO };
            let worker = Worker::new(database.store.clone(), queue.clock.clone(), work.clone(), options);
            let shutdown = Shutdown::default();
            let working = tokio::spawn(worker.run(shutdown.clone()));
            work.let_it(&hangs, Does::Hang);
            work.let_it(&fine, Does::Wait);
            let first = queue.push(&hangs).await;
            work.begun.notified().await;
            let second = queue.push(&fine).await;
            work.begun.notified().await;
            // The one that began first is let go on; the other one never is.
            work.go_on.notify_one();
            while queue.job(&hangs, first.id).await.state != JobState::Done {
                tokio::task::yield_now().await;
            }
            shutdown.begin();
            working.await.unwrap();
            let returned = queue.job(&fine, second.id).await;
            assert_eq!((returned.state, returned.attempts), (JobState::Queued, 0));
            assert_eq!(queue.take().await.unwrap().attempt, 1);
            assert_eq!(database.open_transactions().await.unwrap(), Vec::<String>::new());
        });
    }
}

#[test]
fn a_run_that_ends_within_the_grace_is_let_end() {
    with_database(async |database: &TestDatabase| {
        let queue = Queue::of(&database.store);
        let source = queue.one_source().await;
        let work = Arc::new(Scripted::default());
        let shutdown = Shutdown::default();
        let working = tokio::spawn(worker(&queue, &work).run(shutdown.clone()));
        work.let_it(&source, Does::Wait);
        let job = queue.push(&source).await;
        work.begun.notified().await;
        shutdown.begin();
        work.go_on.notify_one();
        working.await.unwrap();
        assert_eq!(queue.job(&source, job.id).await.state, JobState::Done);
        // Nothing is begun once it ends.
        queue.push(&source).await;
        assert_eq!(work.runs.lock().unwrap().len(), 1);
    });
}
