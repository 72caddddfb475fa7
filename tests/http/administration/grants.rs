//! Grants: what a member reads, by id and by name.

use serde_json::{Value, json};
use sync_core::ids::RepositoryId;
use sync_tests::service::{Reply, TestService, audit_log};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};
use time::Duration;

use super::Api;

#[test]
fn grants_narrow_and_widen_what_a_member_reads() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let owner = Api::of(&service, &both.alpha.principal).await;
        let (reader, token) = owner.member("reader", "member", &["graph:read"]).await;
        let secret = token["secret"].as_str().unwrap();
        let reads = async || {
            let listed = service.call(secret, "sync_repositories", json!({})).await.json();
            listed["result"]["structuredContent"]["repositories"].as_array().unwrap().len()
        };
        assert_eq!(reads().await, 1);
        owner.good("PATCH", &format!("/members/{reader}"), json!({ "reads_all": false }), 200).await;
        assert_eq!(reads().await, 0);
        let path = format!("/grants/{reader}/{}", both.alpha.repository);
        let granted = owner.good("PUT", &path, Value::Null, 200).await;
        assert_eq!(granted["repository_name"], "acme/billing");
        service.clock.advance(Duration::HOUR);
        assert_eq!(owner.good("PUT", &path, Value::Null, 200).await, granted, "one that is there stays as it is");
        assert_eq!(reads().await, 1);
        for query in ["", &format!("?principal={reader}"), &format!("?repository={}", both.alpha.repository)] {
            let listed = owner.get(&format!("/grants{query}")).await.json();
            assert_eq!((&listed["items"], &listed["total"]), (&json!([granted]), &json!(1)), "{query}");
        }
        let none = owner.get(&format!("/grants?principal={}", both.alpha.principal.id)).await.json();
        assert_eq!((&none["items"], &none["total"]), (&json!([]), &json!(0)));
        owner.good("DELETE", &path, Value::Null, 204).await;
        assert_eq!(owner.code("DELETE", &path, Value::Null, 404).await, "not_found");
        assert_eq!(reads().await, 0);
        // People know the name. One that is none's is as absent as an id of nothing.
        let named = format!("/grants/{reader}/acme%2Fbilling");
        let again = owner.good("PUT", &named, Value::Null, 200).await;
        assert_eq!((&again["repository"], &again["repository_name"]), (&granted["repository"], &json!("acme/billing")));
        let listed = owner.get("/grants?repository=acme/billing").await.json();
        assert_eq!((&listed["items"], &listed["total"]), (&json!([again]), &json!(1)));
        let nothing = owner.get("/grants?repository=acme/none").await.json();
        assert_eq!((&nothing["items"], &nothing["total"]), (&json!([]), &json!(0)));
        owner.good("DELETE", &named, Value::Null, 204).await;
        assert_eq!(owner.code("DELETE", &named, Value::Null, 404).await, "not_found");
        assert_eq!(reads().await, 0);
        // Another organization's repository and member are as absent as ones that never were.
        let absent = owner.send("PUT", &format!("/grants/{reader}/{}", RepositoryId::at(NOW)), Value::Null).await;
        for (principal, repository) in
            [(reader.clone(), both.beta.repository), (both.beta.principal.id.to_string(), both.alpha.repository)]
        {
            let reply = owner.send("PUT", &format!("/grants/{principal}/{repository}"), Value::Null).await;
            assert_eq!(reply.status, 404);
            let without_id = |reply: &Reply| {
                let mut problem = reply.json();
                problem["request_id"] = Value::Null;
                problem
            };
            assert_eq!(without_id(&reply), without_id(&absent));
        }
        let rows = audit_log(database, both.alpha.principal.organization).await;
        assert_eq!(rows.iter().filter(|row| row.action == "rest.put_grant").count(), 6);
        service.stop().await;
    });
}
