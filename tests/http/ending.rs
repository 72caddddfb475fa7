//! The end of the process: what is in flight is answered and written down.

use std::sync::Arc;

use serde_json::json;
use sync_tests::service::{TestService, audit_log};
use sync_tests::{TestDatabase, TwoOrganizations, with_database};

use crate::mcp::held::Held;

#[test]
fn requests_in_flight_finish_after_the_end_has_begun() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let (held, handle) = Held::new();
        let service = TestService::start_with(database.store.clone(), &[], |inner| Arc::new(held.over(inner))).await;
        let token = service.reader(&both.alpha.principal).await;
        let address = service.url.clone();
        let (reply, ()) = tokio::join!(service.call(&token, "sync_repositories", json!({})), async {
            handle.reached().await;
            service.shutdown.begin();
            handle.release();
        });
        assert_eq!(reply.json()["result"]["isError"], false, "{reply:?}");
        service.stop().await;
        assert!(
            reqwest::Client::new().get(format!("{address}/livez")).send().await.is_err(),
            "nobody listens any more"
        );
        assert_eq!(audit_log(database, both.alpha.principal.organization).await.len(), 1);
    });
}
