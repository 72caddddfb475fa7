//! Issuers that an organization trusts.

use serde_json::{Value, json};
use sync_core::ids::PrincipalId;
use sync_core::principal::{PrincipalKind, Role};
use sync_store::NewMember;
use sync_tests::service::TestService;
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};

use super::Api;

#[test]
fn issuers_are_trusted_by_a_claim_that_names_the_organization() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let (alpha, beta) =
            (Api::of(&service, &both.alpha.principal).await, Api::of(&service, &both.beta.principal).await);
        let good = json!({ "issuer": "https://id.example.com", "organization_claim": "org" });
        let made = alpha.good("POST", "/issuers", good.clone(), 201).await;
        assert_eq!(
            made,
            json!({ "id": made["id"], "issuer": "https://id.example.com", "organization_claim": "org", "audience": null,
                    "algorithms": ["RS256", "ES256", "EdDSA"], "jwks_url": null, "default_role": "member",
                    "reads_all": true, "created_at": "2026-11-30T12:00:00.000Z" })
        );
        assert_eq!(alpha.code("POST", "/issuers", good.clone(), 409).await, "issuer_known");
        beta.good("POST", "/issuers", good.clone(), 201).await;
        let with = |member: &str, value: Value| {
            let mut wanted = good.clone();
            wanted["issuer"] = json!("https://other.example.com");
            wanted[member] = value;
            wanted
        };
        for (wanted, argument) in [
            (with("issuer", json!("http://id.example.com")), "issuer"),
            (with("issuer", json!("https://127.0.0.1/")), "issuer"),
            (with("issuer", json!("https://user@id.example.com/")), "issuer"),
            (with("jwks_url", json!("https://169.254.169.254/keys")), "jwks_url"),
            (with("organization_claim", json!("preferred_username")), "organization_claim"),
            (with("organization_claim", json!("")), "organization_claim"),
            (with("algorithms", json!(["HS256"])), "algorithms"),
            (with("algorithms", json!([])), "algorithms"),
            (with("algorithms", json!(["RS256", "RS256"])), "algorithms"),
            (with("default_role", json!("owner")), "default_role"),
        ] {
            let reply = alpha.send("POST", "/issuers", wanted.clone()).await;
            assert_eq!((reply.status, &reply.json()["code"]), (422, &json!("invalid_argument")), "{wanted}: {reply:?}");
            assert!(reply.json()["detail"].as_str().unwrap().contains(argument), "{reply:?}");
        }
        // Whose all tokens of an issuer are is the operator's to say.
        let whole = json!({ "issuer": "https://other.example.com" });
        assert_eq!(alpha.code("POST", "/issuers", whole, 422).await, "invalid_body");
        for n in 1..20 {
            let another = json!({ "issuer": format!("https://{n}.example.com"), "organization_claim": "org" });
            alpha.good("POST", "/issuers", another, 201).await;
        }
        let reply = alpha.send("POST", "/issuers", with("default_role", json!("auditor"))).await;
        assert_eq!((reply.status, &reply.json()["code"]), (409, &json!("over_limit")), "{reply:?}");
        assert!(reply.json()["detail"].as_str().unwrap().contains("default"), "it names the plan: {reply:?}");
        let listed = alpha.get("/issuers?limit=200").await.json();
        let items = listed["items"].as_array().unwrap();
        assert_eq!((items.len(), items.contains(&made), &listed["total"]), (20, true, &json!(20)));
        let theirs = format!("/issuers/{}", beta.get("/issuers").await.json()["items"][0]["id"].as_str().unwrap());
        assert_eq!(alpha.code("DELETE", &theirs, Value::Null, 404).await, "not_found");
        let mine = format!("/issuers/{}", made["id"].as_str().unwrap());
        alpha.good("DELETE", &mine, Value::Null, 204).await;
        assert_eq!(alpha.code("DELETE", &mine, Value::Null, 404).await, "not_found");
        service.stop().await;
    });
}

/// Who says what an issuer's keys are can come as anybody of it: where an owner comes by it, only an owner says so.
#[test]
fn an_issuer_that_an_owner_comes_by_is_the_owners_to_trust() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let owner = Api::of(&service, &both.alpha.principal).await;
        let (_, token) = owner.member("boss", "admin", &["admin"]).await;
        let admin = owner.with(&token["secret"]);
        let issuer = "https://id.example.com";
        let wanted = json!({ "issuer": issuer, "organization_claim": "org" });
        // Nobody comes by it yet, and then somebody who is no owner: an admin may.
        let made = admin.good("POST", "/issuers", wanted.clone(), 201).await;
        let mut tx = database.store.begin_change(&both.alpha.principal).await.unwrap();
        let alice = NewMember {
            id: PrincipalId::at(NOW),
            name: "alice",
            kind: PrincipalKind::User,
            role: Role::Member,
            identity: Some((issuer, "alice")),
            reads_all: true,
        };
        tx.create_member(&alice, NOW).await.unwrap();
        tx.commit().await.unwrap();
        admin.good("DELETE", &format!("/issuers/{}", made["id"].as_str().unwrap()), Value::Null, 204).await;
        let made = admin.good("POST", "/issuers", wanted.clone(), 201).await;
        let path = format!("/issuers/{}", made["id"].as_str().unwrap());

        owner.good("PATCH", &format!("/members/{}", alice.id), json!({ "role": "owner" }), 200).await;
        assert_eq!(admin.code("DELETE", &path, Value::Null, 403).await, "forbidden");
        owner.good("DELETE", &path, Value::Null, 204).await;
        assert_eq!(admin.code("POST", "/issuers", wanted.clone(), 403).await, "forbidden");
        owner.good("POST", "/issuers", wanted, 201).await;
        service.stop().await;
    });
}
