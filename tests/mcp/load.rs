//! Many callers of two organizations at once, on few connections, some of whom leave in the middle.

use serde_json::json;
use sync_tests::service::{TestService, audit_log};
use sync_tests::{TestDatabase, TwoOrganizations, with_database};

const CALLERS: usize = 16;
const CALLS_EACH: usize = 12;

#[test]
fn nobody_sees_another_organization_and_nothing_stays_open() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let sides = [(&both.alpha, &both.beta), (&both.beta, &both.alpha)];
        let tokens = [service.reader(&both.alpha.principal).await, service.reader(&both.beta.principal).await];
        let service_ref = &service;
        let caller = async |caller: usize| {
            let side = caller % 2;
            let (own, other) = sides[side];
            let mut answered = 0;
            for call in 0..CALLS_EACH {
                let arguments = json!({ "file": format!("src/{}.ts", own.canary), "line": 6 });
                let asked = service_ref.call(&tokens[side], "sync_explain_call_site", arguments);
                // Every third caller gives up: at once, or after being polled a while.
                if (caller + call).is_multiple_of(3) {
                    let polls = call % 4;
                    tokio::select! {
                        biased;
                        () = async { for _ in 0..polls { tokio::task::yield_now().await } } => continue,
                        reply = asked => assert!(!reply.text.contains(other.canary)),
                    }
                    continue;
                }
                let reply = asked.await;
                assert!(!reply.text.contains(other.canary), "{reply:?}");
                let chain = &reply.json()["result"]["structuredContent"]["chain"];
                assert_eq!(chain, &json!(format!("{}.charges.create", own.canary)), "{reply:?}");
                answered += 1;
            }
            answered
        };
        let answered: Vec<usize> = futures::future::join_all((0..CALLERS).map(caller)).await;
        let answered: usize = answered.iter().sum();
        service.stop().await;

        // Whatever was answered has its row; nobody's row is in the other's log; and, as after every test, no
        // transaction is left open.
        let mut rows = 0;
        for (own, _) in sides {
            let log = audit_log(database, own.principal.organization).await;
            assert!(log.iter().all(|row| row.outcome.as_deref() == Some("ok")), "{log:?}");
            rows += log.len();
        }
        assert!(rows >= answered && rows <= CALLERS * CALLS_EACH, "{answered} answers, {rows} rows");
    });
}
