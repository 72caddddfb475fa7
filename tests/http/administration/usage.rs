//! What an organization used, and what its plan allows.

use serde_json::{Value, json};
use sync_core::ids::RepositoryId;
use sync_store::{NewRepository, Plan, StoreError};
use sync_tests::service::{TestService, audit_log};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};
use time::Duration;

use super::Api;

#[test]
fn use_is_counted_by_month_beside_what_the_plan_allows_and_limits_name_themselves() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let owner = Api::of(&service, &both.alpha.principal).await;
        let reader = service.reader(&both.alpha.principal).await;
        for _ in 0..3 {
            service.call(&reader, "sync_repositories", json!({})).await;
        }
        service.app.usage.flush(&service.app.store).await;
        service.clock.set(NOW + Duration::days(31));
        service.call(&reader, "sync_repositories", json!({})).await;
        service.app.usage.flush(&service.app.store).await;
        let used = owner.good("GET", "/usage", Value::Null, 200).await;
        assert_eq!(
            used,
            json!({
                "plan": { "name": "default", "sources": null, "call_sites": null, "spans_per_second": null,
                          "requests_per_minute": null, "tools": null },
                "now": { "sources": 1, "call_sites": 1, "members": 1 },
                "months": [{ "month": "2026-12", "used": { "requests": 1, "tool_calls": 1 } },
                           { "month": "2026-11", "used": { "requests": 3, "tool_calls": 3 } }],
            })
        );
        assert_eq!(owner.get("/usage?months=1").await.json()["months"].as_array().unwrap().len(), 1);
        assert_eq!(owner.code("GET", "/usage?months=37", Value::Null, 422).await, "invalid_argument");

        let plan = Plan {
            name: "small".to_owned(),
            sources: Some(1),
            call_sites: Some(1),
            tools: Some(vec!["sync_repositories".to_owned()]),
            ..Plan::default()
        };
        let mut tx = database.store.begin_write(&both.alpha.principal).await.unwrap();
        tx.set_plan(&plan, NOW).await.unwrap();
        let another = NewRepository {
            id: RepositoryId::at(NOW),
            name: "acme/web",
            provider: None,
            clone_url: None,
            default_branch: "main",
        };
        let over = tx.register_repository(&another, NOW).await.unwrap_err();
        assert!(
            matches!(&over, StoreError::OverLimit { limit: "sources", allowed: 1, plan } if plan == "small"),
            "{over}"
        );
        let calls = vec![sync_tests::facts::call("one", 1), sync_tests::facts::call("two", 2)];
        let snapshot =
            sync_tests::facts::snapshot(&"c".repeat(40), vec![], vec![sync_tests::facts::file("src/a.ts", calls)]);
        let over = sync_tests::facts::swap(&mut tx, both.alpha.repository, "main", &snapshot, NOW).await.unwrap_err();
        assert!(matches!(&over, StoreError::OverLimit { limit: "call_sites", allowed: 1, .. }), "{over}");
        tx.commit().await.unwrap();

        service.clock.advance(Duration::seconds(10));
        let reply = service.call(&reader, "sync_whats_at_risk", json!({})).await;
        let error = reply.tool_error();
        assert_eq!(
            (&error["code"], &error["details"]["limit"], &error["details"]["plan"]),
            (&json!("over_limit"), &json!("tools"), &json!("small"))
        );
        assert!(service.call(&reader, "sync_repositories", json!({})).await.tool_error().is_null());
        assert_eq!(owner.good("GET", "/usage", Value::Null, 200).await["plan"]["name"], "small");
        let rows = audit_log(database, both.alpha.principal.organization).await;
        let refused: Vec<_> = rows.iter().filter(|row| row.code.as_deref() == Some("over_limit")).collect();
        assert_eq!((refused.len(), refused[0].action.as_str()), (1, "mcp.tools/call:sync_whats_at_risk"));
        service.stop().await;
    });
}
