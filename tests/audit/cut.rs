//! The way to the database is cut, or falls silent, while requests come: nothing leaves but that it is unavailable, and
//! once the way is back, answers are.

use std::time::Duration;

use serde_json::json;
use sync_core::principal::Scope;
use sync_store::{PoolOptions, Store};
use sync_tests::proxy::Proxy;
use sync_tests::service::{Reply, TestService, audit_log};
use sync_tests::{TestDatabase, TwoOrganizations, with_database};

/// Far above the two seconds that a caller waits at most: only to tell that it does not wait for ever.
const FOR_EVER: Duration = Duration::from_mins(1);

async fn ask(service: &TestService, token: &str) -> [Reply; 3] {
    let get = |path: &str| service.client.get(format!("{}{path}", service.url)).bearer_auth(token);
    let asked = async {
        let mcp = service.call(token, "sync_repositories", json!({})).await;
        [mcp, Reply::of(get("/v1/organization")).await, Reply::of(get("/v1/audit/export")).await]
    };
    tokio::time::timeout(FOR_EVER, asked).await.unwrap()
}

#[test]
fn a_database_that_is_cut_off_or_silent_lets_no_answer_out_and_answers_come_back() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let proxy = Proxy::before(&database.app_url).await.unwrap();
        let options = PoolOptions { max_connections: 4, ..PoolOptions::default() };
        let store = Store::connect(&proxy.url, options).await.unwrap();
        let service = TestService::start_with(store, &[], |answers| answers).await;
        let scopes = [Scope::GraphRead, Scope::AuditRead];
        let (_, token) = service.token(&both.alpha.principal, &scopes, None).await;
        for what in ["cut", "silent"] {
            let answered = ask(&service, &token).await;
            assert!(answered.iter().all(|reply| reply.status == 200), "{what}, before: {answered:?}");
            if what == "cut" {
                proxy.cut();
            } else {
                proxy.silence();
            }
            let refused = ask(&service, &token).await;
            assert_eq!(refused[0].tool_error()["code"], "unavailable", "{what}: {:?}", refused[0]);
            for reply in &refused[1..] {
                assert_eq!((reply.status, reply.header("retry-after")), (503, "2"), "{what}: {reply:?}");
                assert_eq!(reply.json()["code"], "unavailable", "{what}");
            }
            assert!(
                refused.iter().all(|reply| !reply.text.contains("alpha") && !reply.text.contains("acme")),
                "{what}"
            );
            let ready = Reply::of(service.client.get(format!("{}/readyz", service.url))).await;
            let live = Reply::of(service.client.get(format!("{}/livez", service.url))).await;
            assert_eq!((ready.status, live.status), (503, 200), "{what}");
            proxy.restore();
            // A connection that is found to be broken costs one try.
            let back = async {
                while ask(&service, &token)
                    .await
                    .iter()
                    .any(|reply| reply.status != 200 || !reply.tool_error().is_null())
                {}
            };
            tokio::time::timeout(FOR_EVER, back).await.unwrap();
        }
        service.stop().await;
        let rows = audit_log(database, both.alpha.principal.organization).await;
        let ids: std::collections::BTreeSet<_> = rows.iter().map(|row| row.request_id).collect();
        assert_eq!(ids.len(), rows.len(), "none is written down twice: {rows:?}");
        // What was begun before the way broke may have been committed after its caller was told otherwise.
        let log = super::Log::of(database, &both.alpha.principal).await;
        let later = sync_tests::NOW + time::Duration::HOUR;
        let mut tx = log.maintenance.begin(log.organization()).await.unwrap();
        tx.close_open_events(later, later).await.unwrap();
        tx.commit().await.unwrap();
    });
}
