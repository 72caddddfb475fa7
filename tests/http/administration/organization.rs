//! What an organization says of itself.

use serde_json::{Value, json};
use sync_tests::service::{TestService, audit_log};
use sync_tests::{TestDatabase, TwoOrganizations, with_database};

use super::Api;

#[test]
fn an_owner_names_the_organization_and_nobody_else_does() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let owner = Api::of(&service, &both.alpha.principal).await;
        let shown = async || owner.good("GET", "/organization", Value::Null, 200).await["display_name"].clone();
        assert_eq!(shown().await, Value::Null);
        let changed = owner.good("PATCH", "/organization", json!({ "display_name": "Alpha & Söhne" }), 200).await;
        assert_eq!((&changed["name"], &changed["display_name"]), (&json!("alpha"), &json!("Alpha & Söhne")));
        assert_eq!(changed, owner.good("GET", "/organization", Value::Null, 200).await);
        for (body, code) in [
            (json!({}), "invalid_body"),
            (json!({ "name": "beta" }), "invalid_body"),
            (json!({ "display_name": "" }), "invalid_argument"),
            (json!({ "display_name": "a\u{7}" }), "invalid_argument"),
        ] {
            assert_eq!(owner.code("PATCH", "/organization", body, 422).await, code);
        }
        let (_, token) = owner.member("admin", "admin", &["admin"]).await;
        let admin = owner.with(&token["secret"]);
        let reply = admin.send("PATCH", "/organization", json!({ "display_name": "Mine" })).await;
        assert_eq!((reply.status, &reply.json()["code"]), (403, &json!("forbidden")), "{reply:?}");
        assert_eq!(shown().await, "Alpha & Söhne");
        let beta = Api::of(&service, &both.beta.principal).await;
        assert_eq!(beta.good("GET", "/organization", Value::Null, 200).await["display_name"], Value::Null);
        owner.good("PATCH", "/organization", json!({ "display_name": null }), 200).await;
        assert_eq!(shown().await, Value::Null);
        let rows = audit_log(database, both.alpha.principal.organization).await;
        let codes: Vec<_> = rows
            .iter()
            .filter(|row| row.action == "rest.change_organization")
            .map(|row| row.code.as_deref().unwrap_or("ok"))
            .collect();
        let refused = ["invalid_body", "invalid_body", "invalid_argument", "invalid_argument", "forbidden"];
        assert_eq!(codes, [&["ok"][..], &refused, &["ok"]].concat());
        service.stop().await;
    });
}
