//! Deliveries that come again, at once, or after a first try that failed: one job each, none lost.

use sqlx::Executor as _;
use sync_core::ids::JobId;
use sync_store::Forge;
use sync_tests::service::{Reply, TestService};
use sync_tests::{TestDatabase, TwoOrganizations, with_database};

use super::{Hooked, body, taken};

const GITHUB: &str = "https://github.com/acme/billing";

#[test]
fn a_hundred_copies_at_once_are_one_delivery_and_one_job() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let hooked = Hooked::new(database, &service, &both.alpha.principal, Forge::Github, GITHUB).await;
        let push = body("github/push.json");
        let replies =
            futures::future::join_all((0..100).map(|_| Reply::of(hooked.signed("push", "same", push.clone())))).await;
        // A pool that is waited for too long says so, and its forge sends it again.
        let (told, tried_again): (Vec<_>, Vec<_>) = replies.iter().partition(|reply| reply.status == 202);
        assert!(tried_again.iter().all(|reply| reply.status == 503), "{tried_again:?}");
        let told: Vec<(u16, String, Option<JobId>)> = told.into_iter().map(taken).collect();
        let jobs = hooked.jobs().await;
        assert_eq!((jobs.len(), jobs[0].requests), (1, 1), "{jobs:?}");
        assert!(told.iter().all(|(_, _, job)| *job == Some(jobs[0].id)), "{told:?}");
        assert_eq!(told.iter().filter(|(_, outcome, _)| outcome == "queued").count(), 1, "{told:?}");
        let later = hooked.deliver("push", "same", "github/push.json").await;
        assert_eq!(taken(&later), (202, "duplicate".to_owned(), Some(jobs[0].id)));
        service.stop().await;
    });
}

#[test]
fn different_deliveries_of_one_branch_are_one_run_however_they_are_ordered() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let hooked = Hooked::new(database, &service, &both.alpha.principal, Forge::Github, GITHUB).await;
        let push = String::from_utf8(body("github/push.json")).unwrap();
        let mut ids = Vec::new();
        // The newer push comes first. Neither commit is in the job: it fetches what the remote's head is by then.
        for (delivery, after) in [("2", "c".repeat(40)), ("1", "b".repeat(40))] {
            let body = push.replace(&"b2".repeat(20), &after);
            let reply = Reply::of(hooked.signed("push", delivery, body.clone().into_bytes())).await;
            ids.push(taken(&reply).2.unwrap());
            assert!(body.contains(&after));
        }
        assert_eq!(ids[0], ids[1]);
        let jobs = hooked.jobs().await;
        assert_eq!((jobs.len(), jobs[0].requests, jobs[0].ref_name.as_deref()), (1, 2, Some("main")));
        assert_eq!(jobs[0].payload, serde_json::Value::Null);
        service.stop().await;
    });
}

#[test]
fn a_delivery_whose_first_try_failed_is_taken_when_it_comes_again() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let hooked = Hooked::new(database, &service, &both.alpha.principal, Forge::Github, GITHUB).await;
        let mut superuser = database.superuser().await;
        // The job is queued and the delivery cannot be remembered; then the other way round.
        for table in ["sync.webhook_deliveries", "sync.jobs"] {
            superuser.execute(sqlx::AssertSqlSafe(format!("REVOKE INSERT ON {table} FROM sync_app"))).await.unwrap();
            let failed = hooked.deliver("push", "1", "github/push.json").await;
            assert!(failed.status >= 500, "{failed:?}");
            assert_eq!(hooked.jobs().await, [], "{table}");
            superuser.execute(sqlx::AssertSqlSafe(format!("GRANT INSERT ON {table} TO sync_app"))).await.unwrap();
        }
        let again = hooked.deliver("push", "1", "github/push.json").await;
        assert_eq!(taken(&again).1, "queued", "{again:?}");
        assert_eq!(hooked.jobs().await.len(), 1);
        service.stop().await;
    });
}
