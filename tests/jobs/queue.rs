//! What waits, what runs, and who may end it.

use serde_json::{Value, json};
use sync_core::clock::Clock as _;
use sync_core::ids::{JobId, RepositoryId};
use sync_store::{JobCause, JobKind, JobProblem, JobReport, JobState, NewJob, RepositoryState, Requeued, StoreError};
use sync_tests::{TestDatabase, with_database};
use time::Duration;

use super::{LEASE, Queue};

fn lost(result: Result<impl std::fmt::Debug, StoreError>) {
    let error = result.unwrap_err();
    assert!(matches!(&error, StoreError::Conflict(constraint) if constraint == "lease_lost"), "{error}");
}

fn problem() -> JobProblem {
    JobProblem { reason: "the remote does not answer".to_owned(), next_step: "look after it".to_owned() }
}

#[test]
fn requests_merge_while_one_waits_and_the_most_urgent_counts() {
    with_database(async |database: &TestDatabase| {
        let queue = Queue::of(&database.store);
        let source = queue.one_source().await;
        let first = queue.ask(&source, JobCause::Sweep, None, &json!({"head": 1})).await;
        assert!(!first.merged);
        queue.clock.advance(Duration::seconds(1));
        for head in 2..=6 {
            let again = queue.ask(&source, JobCause::Webhook, Some("main"), &json!({"head": head})).await;
            assert_eq!((again.id, again.merged), (first.id, true));
        }
        assert!(!queue.ask(&source, JobCause::Sweep, Some("release"), &Value::Null).await.merged, "another ref");
        assert!(queue.ask(&source, JobCause::Sweep, None, &json!({"head": 7})).await.merged);
        let job = queue.job(&source, first.id).await;
        assert_eq!((job.requests, job.cause, job.state), (7, JobCause::Webhook, JobState::Queued));
        assert_eq!(job.payload, json!({"head": 7}), "the last request says what is known");
        assert_eq!(job.ref_name.as_deref(), Some("main"));
        assert_eq!(job.run_at, job.enqueued_at);
        let ticket = queue.take().await.unwrap();
        assert_eq!(ticket.id, first.id, "the one that somebody pushed to goes before what nobody waits for");
        assert_eq!(ticket.attempt, 1);
    });
}

#[test]
fn a_run_does_not_swallow_a_request_and_the_next_waits_for_it() {
    with_database(async |database: &TestDatabase| {
        let queue = Queue::of(&database.store);
        let source = queue.one_source().await;
        let first = queue.push(&source).await;
        let running = queue.take().await.unwrap();
        let second = queue.push(&source).await;
        assert!(!second.merged && second.id != first.id);
        assert_eq!(queue.take().await, None, "one runs of a source and ref");
        queue.finish(&source, &running).await.unwrap();
        assert_eq!(queue.job(&source, first.id).await.state, JobState::Done);
        let next = queue.take().await.unwrap();
        assert_eq!(next.id, second.id);
        queue.finish(&source, &next).await.unwrap();
        assert_eq!(queue.take().await, None);
    });
}

#[test]
fn other_refs_and_sources_run_at_the_same_time() {
    with_database(async |database: &TestDatabase| {
        let queue = Queue::of(&database.store);
        let source = queue.one_source().await;
        let other = queue.source(&source.principal, "acme/shop").await;
        queue.push(&source).await;
        queue.ask(&source, JobCause::Webhook, Some("release"), &Value::Null).await;
        queue.push(&other).await;
        for _ in 0..3 {
            assert!(queue.take().await.is_some());
        }
        assert_eq!(queue.take().await, None);
    });
}

#[test]
fn nothing_is_queued_by_a_transaction_that_does_not_commit() {
    with_database(async |database: &TestDatabase| {
        let queue = Queue::of(&database.store);
        let source = queue.one_source().await;
        let now = queue.clock.now();
        let new = NewJob {
            id: JobId::at(now),
            repository: source.repository,
            kind: JobKind::Reindex,
            ref_name: None,
            cause: JobCause::Webhook,
            payload: &Value::Null,
            run_at: now,
        };
        let mut tx = database.store.begin_change(&source.principal).await.unwrap();
        tx.enqueue(&new, now).await.unwrap();
        drop(tx);
        assert_eq!(queue.take().await, None);

        let mut tx = database.store.begin_change(&source.principal).await.unwrap();
        let nowhere = NewJob { repository: RepositoryId::at(now), ..new.clone() };
        assert!(matches!(tx.enqueue(&nowhere, now).await, Err(StoreError::NotFound(_))));
        drop(tx);
        let mut tx = database.store.begin_change(&source.principal).await.unwrap();
        tx.set_repository_state(source.repository, RepositoryState::Deleting, None, now).await.unwrap();
        let refused = tx.enqueue(&new, now).await;
        assert!(matches!(&refused, Err(StoreError::Conflict(why)) if why == "source_is_deleting"), "{refused:?}");
        assert!(!tx.enqueue(&NewJob { kind: JobKind::Erase, ..new }, now).await.unwrap().merged);
        tx.commit().await.unwrap();
        assert_eq!(queue.take().await.unwrap().kind, JobKind::Erase);
    });
}

#[test]
fn a_lease_that_ran_out_is_taken_again_and_the_first_holder_can_write_nothing() {
    with_database(async |database: &TestDatabase| {
        let queue = Queue::of(&database.store);
        let source = queue.one_source().await;
        let job = queue.push(&source).await;
        let first = queue.take().await.unwrap();
        queue.clock.advance(LEASE - Duration::SECOND);
        assert_eq!(queue.take().await, None);
        let mut tx = database.store.system("test").await.unwrap();
        let until = queue.clock.now() + LEASE;
        assert_eq!(tx.heartbeat(&[first.holder], until).await.unwrap(), [first.holder]);
        tx.commit().await.unwrap();
        queue.clock.advance(LEASE - Duration::SECOND);
        assert_eq!(queue.take().await, None, "the heartbeat kept it");
        // A request that waits meanwhile does not go before the lease that ran out.
        let waits = queue.push(&source).await;
        queue.clock.advance(Duration::SECOND);
        let second = queue.take().await.unwrap();
        assert_eq!((second.id, second.attempt), (job.id, 2));
        assert_ne!(second.holder, first.holder);

        let now = queue.clock.now();
        let mut tx = database.store.system("test").await.unwrap();
        assert_eq!(tx.heartbeat(&[first.holder], now + LEASE).await.unwrap(), []);
        tx.commit().await.unwrap();
        let mut tx = database.store.begin_write(&source.principal).await.unwrap();
        lost(tx.begin_job(&first, now).await);
        lost(tx.retry_job(&first, &problem(), &JobReport::default(), now, now).await);
        lost(tx.bury_job(&first, &problem(), &JobReport::default(), now).await);
        lost(tx.return_job(&first, now).await);
        drop(tx);
        // What it would have written goes with the transaction that cannot finish the job.
        let mut tx = database.store.begin_write(&source.principal).await.unwrap();
        tx.set_default_branch(source.repository, "stale").await.unwrap();
        lost(tx.finish_job(&first, &JobReport::default(), now).await);
        drop(tx);
        let mut tx = database.store.begin(&source.principal).await.unwrap();
        assert_eq!(tx.repository(source.repository).await.unwrap().unwrap().default_branch, "main");
        drop(tx);
        queue.finish(&source, &second).await.unwrap();
        assert_eq!(queue.take().await.unwrap().id, waits.id);
    });
}

#[test]
fn what_is_tried_again_waits_and_gives_way_to_a_newer_request() {
    with_database(async |database: &TestDatabase| {
        let queue = Queue::of(&database.store);
        let source = queue.one_source().await;
        let job = queue.push(&source).await;
        let ticket = queue.take().await.unwrap();
        let now = queue.clock.now();
        let retry = async |ticket| {
            let mut tx = database.store.begin_change(&source.principal).await.unwrap();
            tx.begin_job(ticket, now).await.unwrap();
            let again = now + Duration::MINUTE;
            let requeued = tx.retry_job(ticket, &problem(), &JobReport::default(), again, now).await.unwrap();
            tx.commit().await.unwrap();
            requeued
        };
        assert_eq!(retry(&ticket).await, Requeued::Waits);
        assert_eq!(queue.take().await, None);
        let waiting = queue.job(&source, job.id).await;
        assert_eq!((waiting.state, waiting.attempts, waiting.run_at), (JobState::Queued, 1, now + Duration::MINUTE));
        assert_eq!(waiting.reason.as_deref(), Some("the remote does not answer"));
        // Somebody pushes: it is the same job, and now is the time.
        assert!(queue.push(&source).await.merged);
        let ticket = queue.take().await.unwrap();
        assert_eq!((ticket.id, ticket.attempt), (job.id, 2));
        let newer = queue.push(&source).await;
        assert_eq!(retry(&ticket).await, Requeued::Superseded);
        let gone = queue.job(&source, job.id).await;
        assert_eq!(gone.state, JobState::Cancelled);
        assert_eq!(gone.reason.as_deref(), Some("the remote does not answer"));
        let ticket = queue.take().await.unwrap();
        assert_eq!((ticket.id, ticket.attempt), (newer.id, 1));
        // Given back, it is as if it had not begun.
        let mut tx = database.store.begin_change(&source.principal).await.unwrap();
        tx.begin_job(&ticket, now).await.unwrap();
        assert_eq!(tx.return_job(&ticket, now).await.unwrap(), Requeued::Waits);
        tx.commit().await.unwrap();
        let returned = queue.job(&source, newer.id).await;
        assert_eq!((returned.state, returned.attempts), (JobState::Queued, 0));
        assert_eq!(queue.take().await.unwrap().attempt, 1);
    });
}

#[test]
fn what_is_taken_back_neither_starts_nor_ends() {
    with_database(async |database: &TestDatabase| {
        let queue = Queue::of(&database.store);
        let source = queue.one_source().await;
        let cancel = async |id| {
            let mut tx = database.store.begin_change(&source.principal).await.unwrap();
            let open = tx.cancel_job(id, queue.clock.now()).await.unwrap();
            tx.commit().await.unwrap();
            open
        };
        let waits = queue.push(&source).await;
        assert!(cancel(waits.id).await);
        assert!(!cancel(waits.id).await, "it has ended");
        assert_eq!(queue.take().await, None);
        assert_eq!(queue.job(&source, waits.id).await.state, JobState::Cancelled);

        let runs = queue.push(&source).await;
        let ticket = queue.take().await.unwrap();
        assert!(cancel(runs.id).await);
        lost(queue.finish(&source, &ticket).await);
        assert_eq!(queue.job(&source, runs.id).await.state, JobState::Cancelled);
        assert!(!queue.push(&source).await.merged);
        assert!(queue.take().await.is_some(), "nothing stands in the way of the next");
    });
}

#[test]
fn old_jobs_are_forgotten_and_open_ones_never() {
    with_database(async |database: &TestDatabase| {
        let queue = Queue::of(&database.store);
        let source = queue.one_source().await;
        let done = queue.push(&source).await;
        queue.finish(&source, &queue.take().await.unwrap()).await.unwrap();
        let open = queue.push(&source).await;
        queue.clock.advance(Duration::days(31));
        let mut tx = database.store.begin_change(&source.principal).await.unwrap();
        let before = queue.clock.now() - Duration::days(30);
        assert_eq!(tx.forget_jobs(before, 100).await.unwrap(), 1);
        assert_eq!(tx.job(done.id).await.unwrap(), None);
        assert_eq!(tx.jobs_of(source.repository, 10).await.unwrap().len(), 1);
        assert_eq!(tx.job(open.id).await.unwrap().unwrap().state, JobState::Queued);
        tx.commit().await.unwrap();
    });
}
