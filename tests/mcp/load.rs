//! Many callers of two organizations at once, on four connections, some of whom leave in the middle.

use std::time::Duration;

use serde_json::json;
use sqlx::Connection as _;
use sync_tests::service::{TestService, audit_log};
use sync_tests::{TestDatabase, TwoOrganizations, with_database};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

#[test]
fn nobody_sees_another_organization_and_nothing_stays_open() {
    many_at_once(16, 12, |_| {});
}

#[test]
#[ignore = "ten thousand requests, by hand"]
fn ten_thousand_requests_see_no_other_organization_and_leave_nothing_open() {
    many_at_once(64, 157, |asked| {
        println!("{asked:?}; no row of another organization, no backend idle in a transaction for a second");
    });
}

/// What became of the requests.
#[derive(Debug, Default)]
struct Asked {
    answered: usize,
    left: usize,
    /// Told that the service is too busy to answer in time.
    busy: usize,
    /// Audit rows of both organizations.
    rows: usize,
}

fn many_at_once(callers: usize, calls_each: usize, told: impl Fn(&Asked)) {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let (watched, idle) = watch(database).await;
        let sides = [(&both.alpha, &both.beta), (&both.beta, &both.alpha)];
        let tokens = [service.reader(&both.alpha.principal).await, service.reader(&both.beta.principal).await];
        let service_ref = &service;
        let caller = async |caller: usize| {
            let side = caller % 2;
            let (own, other) = sides[side];
            let mut asked = Asked::default();
            for call in 0..calls_each {
                let arguments = json!({ "file": format!("src/{}.ts", own.canary), "line": 6 });
                let asking = service_ref.call(&tokens[side], "sync_explain_call_site", arguments);
                // Every third caller gives up: at once, or after being polled a while.
                let reply = if (caller + call).is_multiple_of(3) {
                    let leaving = async {
                        for _ in 0..call % 40 {
                            tokio::task::yield_now().await;
                        }
                    };
                    tokio::select! { biased; () = leaving => None, reply = asking => Some(reply) }
                } else {
                    Some(asking.await)
                };
                let Some(reply) = reply else {
                    asked.left += 1;
                    continue;
                };
                assert!(!reply.text.contains(other.canary), "{reply:?}");
                if reply.tool_error()["code"] == "unavailable" {
                    asked.busy += 1;
                    continue;
                }
                let chain = &reply.json()["result"]["structuredContent"]["chain"];
                assert_eq!(chain, &json!(format!("{}.charges.create", own.canary)), "{reply:?}");
                asked.answered += 1;
            }
            asked
        };
        let each = futures::future::join_all((0..callers).map(caller)).await;
        // However busy it was, whoever asks alone is answered.
        for (side, (own, _)) in sides.iter().enumerate() {
            let arguments = json!({ "file": format!("src/{}.ts", own.canary), "line": 6 });
            let mut reply = service.call(&tokens[side], "sync_explain_call_site", arguments.clone()).await;
            for _ in 0..30 {
                if reply.tool_error()["code"] != "unavailable" {
                    break;
                }
                reply = service.call(&tokens[side], "sync_explain_call_site", arguments.clone()).await;
            }
            let chain = &reply.json()["result"]["structuredContent"]["chain"];
            assert_eq!(chain, &json!(format!("{}.charges.create", own.canary)), "{reply:?}");
        }
        service.stop().await;
        drop(watched);
        assert_eq!(idle.await.unwrap(), Vec::<String>::new(), "backends idle in a transaction for more than a second");

        let mut all = Asked::default();
        for asked in each {
            all.answered += asked.answered;
            all.left += asked.left;
            all.busy += asked.busy;
        }
        // Whatever was answered has its row; nobody's row is in the other's log; and, as after every test, no
        // transaction is left open.
        for (own, _) in sides {
            let log = audit_log(database, own.principal.organization).await;
            let well = log.iter().all(|row| row.outcome.as_deref() == Some("ok"));
            assert!(all.busy > 0 || well, "{log:?}");
            all.rows += log.len();
        }
        assert!(all.rows >= all.answered && all.rows <= callers * calls_each + 64, "{all:?}");
        assert!(all.answered > 0 && all.left > 0, "{all:?}");
        told(&all);
    });
}

/// Looks for backends that are idle in a transaction for more than a second until the sender is dropped; gives what
/// they did last.
async fn watch(database: &TestDatabase) -> (oneshot::Sender<()>, JoinHandle<Vec<String>>) {
    let mut connection = sqlx::PgConnection::connect(&database.superuser_url).await.unwrap();
    let (watched, mut ended) = oneshot::channel();
    let watching = tokio::spawn(async move {
        let mut found = Vec::new();
        loop {
            let idle: Vec<String> = sqlx::query_scalar(
                "SELECT query FROM pg_stat_activity
                 WHERE datname = current_database() AND state LIKE 'idle in transaction%'
                   AND clock_timestamp() - state_change > interval '1 second'",
            )
            .fetch_all(&mut connection)
            .await
            .unwrap();
            found.extend(idle);
            if tokio::time::timeout(Duration::from_millis(100), &mut ended).await.is_ok() {
                return found;
            }
        }
    });
    (watched, watching)
}
