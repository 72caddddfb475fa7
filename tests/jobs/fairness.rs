//! Who is served next, where many wait.

use sync_store::JobCause;
use sync_tests::{NOW, TestDatabase, with_database};

use super::Queue;

#[test]
fn an_organization_with_many_sources_does_not_keep_the_others_waiting() {
    with_database(async |database: &TestDatabase| {
        let queue = Queue::of(&database.store);
        let (large, small) = (queue.organization("large").await, queue.organization("small").await);
        for number in 0..100 {
            let source = queue.source(&large, &format!("large/{number}")).await;
            queue.push(&source).await;
        }
        let mut sources = Vec::new();
        for number in 0..3 {
            let source = queue.source(&small, &format!("small/{number}")).await;
            queue.push(&source).await;
            sources.push(source);
        }
        // One slot: the two take turns, though all of the first one's came before.
        let mut order = Vec::new();
        for _ in 0..103 {
            let ticket = queue.take().await.unwrap();
            let principal = if ticket.organization == small.organization { &small } else { &large };
            order.push(principal.organization == small.organization);
            let mut tx = database.store.begin_change(principal).await.unwrap();
            tx.finish_job(&ticket, &sync_store::JobReport::default(), sync_tests::NOW).await.unwrap();
            tx.commit().await.unwrap();
        }
        let places: Vec<usize> = order.iter().enumerate().filter(|(_, small)| **small).map(|(at, _)| at).collect();
        assert_eq!(places, [1, 3, 5]);

        // Two slots that are both held: the next one that is free is for who has none.
        for source in &sources {
            queue.push(source).await;
        }
        let (first, _second) = (queue.take().await.unwrap(), queue.take().await.unwrap());
        let other = queue.source(&large, "large/late").await;
        queue.push(&other).await;
        queue.finish(&sources[0], &first).await.unwrap();
        assert_eq!(queue.take().await.unwrap().organization, large.organization);
    });
}

#[test]
fn a_person_goes_before_a_push_and_a_push_before_the_sweep_whoever_they_are() {
    with_database(async |database: &TestDatabase| {
        let queue = Queue::of(&database.store);
        let acme = queue.organization("acme").await;
        let mut expected = Vec::new();
        for (name, cause) in [
            ("sweep", JobCause::Sweep),
            ("push", JobCause::Webhook),
            ("new", JobCause::Registration),
            ("person", JobCause::Person),
        ] {
            let source = queue.source(&acme, name).await;
            expected.insert(0, queue.ask(&source, cause, None, &serde_json::Value::Null).await.id);
        }
        let mut taken = Vec::new();
        while let Some(ticket) = queue.take().await {
            taken.push(ticket.id);
        }
        assert_eq!(taken, expected);
    });
}

#[test]
fn a_ticket_that_a_transaction_holds_keeps_nobody_else_waiting() {
    with_database(async |database: &TestDatabase| {
        let queue = Queue::of(&database.store);
        let (acme, other) = (queue.organization("acme").await, queue.organization("other").await);
        let (held, free) = (queue.source(&acme, "held").await, queue.source(&other, "free").await);
        let first = queue.ask(&held, JobCause::Person, None, &serde_json::Value::Null).await;
        let second = queue.push(&free).await;
        let mut superuser = database.superuser().await;
        for statement in ["BEGIN", "SELECT FROM routing.job_tickets WHERE priority = 0 FOR UPDATE"] {
            sqlx::query(statement).execute(&mut superuser).await.unwrap();
        }
        // More urgent, and of an organization that has none running: but another transaction may end it.
        assert_eq!(queue.take().await.unwrap().id, second.id);
        assert_eq!(queue.take().await, None);
        sqlx::query("ROLLBACK").execute(&mut superuser).await.unwrap();
        assert_eq!(queue.take().await.unwrap().id, first.id);
    });
}

#[test]
fn a_suspended_organization_is_not_served() {
    with_database(async |database: &TestDatabase| {
        let queue = Queue::of(&database.store);
        let source = queue.one_source().await;
        queue.push(&source).await;
        let mut superuser = database.superuser().await;
        sqlx::query("UPDATE routing.organizations SET state = 'suspended'").execute(&mut superuser).await.unwrap();
        assert_eq!(queue.take().await, None);
        sqlx::query("UPDATE routing.organizations SET state = 'active'").execute(&mut superuser).await.unwrap();
        let ticket = queue.take().await.unwrap();
        // A run that has begun is not kept on either: whoever does it notices with its next heartbeat.
        let kept = async || {
            let mut tx = database.store.system("test").await.unwrap();
            let kept = tx.heartbeat(&[ticket.holder], NOW + time::Duration::HOUR).await.unwrap();
            tx.commit().await.unwrap();
            kept
        };
        assert_eq!(kept().await, [ticket.holder]);
        sqlx::query("UPDATE routing.organizations SET state = 'suspended'").execute(&mut superuser).await.unwrap();
        assert_eq!(kept().await, []);
    });
}
