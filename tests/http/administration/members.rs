//! Members: made, changed, shut out; owners, of whom one remains.

use serde_json::{Value, json};
use sync_tests::service::TestService;
use sync_tests::{TestDatabase, TwoOrganizations, with_database};

use super::Api;

#[test]
fn members_are_made_changed_and_shut_out_and_an_owner_always_remains() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let owner = Api::of(&service, &both.alpha.principal).await;
        let me = both.alpha.principal.id.to_string();
        let made = owner.good("POST", "/members", json!({ "name": "ci", "role": "ingest" }), 201).await;
        let ci = made["id"].as_str().unwrap();
        assert_eq!(
            made,
            json!({ "id": ci, "name": "ci", "kind": "service", "role": "ingest", "reads_all": true, "identity": null,
                    "created_at": "2026-11-30T12:00:00.000Z", "disabled_at": null })
        );
        assert_eq!(owner.code("POST", "/members", json!({ "name": "ci", "role": "member" }), 409).await, "name_taken");
        assert_eq!(owner.good("GET", &format!("/members/{ci}"), Value::Null, 200).await, made);
        let all = owner.good("GET", "/members", Value::Null, 200).await;
        assert_eq!((all["items"].as_array().unwrap().len(), &all["total"]), (2, &json!(2)));
        let first = owner.good("GET", "/members?limit=1", Value::Null, 200).await;
        let cursor = first["next_cursor"].as_str().unwrap();
        let second = owner.good("GET", &format!("/members?limit=1&cursor={cursor}"), Value::Null, 200).await;
        assert_eq!(json!([first["items"][0], second["items"][0]]), all["items"]);
        assert_eq!(second["next_cursor"], Value::Null);
        let ingest = owner.good("GET", "/members?role=ingest", Value::Null, 200).await;
        assert_eq!((&ingest["items"], &ingest["total"]), (&json!([made]), &json!(1)));
        // A cursor goes on where it was given, and nowhere else.
        let crossed = format!("/members?limit=1&role=ingest&cursor={cursor}");
        assert_eq!(owner.code("GET", &crossed, Value::Null, 400).await, "cursor_expired");

        let change = json!({ "name": "ci of billing", "role": "member", "reads_all": false, "disabled": true });
        let changed = owner.good("PATCH", &format!("/members/{ci}"), change, 200).await;
        assert_eq!((&changed["name"], &changed["role"]), (&json!("ci of billing"), &json!("member")));
        assert_eq!(
            (&changed["reads_all"], &changed["disabled_at"]),
            (&json!(false), &json!("2026-11-30T12:00:00.000Z"))
        );
        let again = owner.good("PATCH", &format!("/members/{ci}"), json!({ "disabled": false }), 200).await;
        assert_eq!((&again["disabled_at"], &again["name"]), (&Value::Null, &json!("ci of billing")));

        // The last owner stays one, and is let in.
        let (mine, theirs) = (format!("/members/{me}"), format!("/members/{ci}"));
        for change in [json!({ "role": "admin" }), json!({ "disabled": true })] {
            assert_eq!(owner.code("PATCH", &mine, change, 409).await, "last_owner");
        }
        owner.good("PATCH", &theirs, json!({ "role": "owner", "disabled": true }), 200).await;
        assert_eq!(owner.code("PATCH", &mine, json!({ "role": "admin" }), 409).await, "last_owner");
        owner.good("PATCH", &theirs, json!({ "disabled": false }), 200).await;
        owner.good("PATCH", &mine, json!({ "role": "admin" }), 200).await;
        // Now an administrator, who makes no owner, is none by a detour, and does not unmake one.
        for (method, path, body) in [
            ("PATCH", mine.as_str(), json!({ "role": "owner" })),
            ("PATCH", &theirs, json!({ "role": "member" })),
            ("PATCH", &theirs, json!({ "disabled": true })),
            ("POST", "/members", json!({ "name": "x", "role": "owner" })),
            ("POST", "/tokens", json!({ "principal": ci, "name": "x", "scopes": ["admin"] })),
        ] {
            assert_eq!(owner.code(method, path, body, 403).await, "forbidden", "{method} {path}");
        }
        for (body, argument) in [
            (json!({ "name": "", "role": "member" }), "name"),
            (json!({ "name": " a", "role": "member" }), "name"),
            (json!({ "name": "a\u{7}", "role": "member" }), "name"),
            (json!({ "name": "ä".repeat(101), "role": "member" }), "name"),
        ] {
            let reply = owner.send("POST", "/members", body.clone()).await;
            assert_eq!((reply.status, &reply.json()["code"]), (422, &json!("invalid_argument")), "{body}");
            assert!(reply.json()["detail"].as_str().unwrap().contains(argument));
        }
        let longest = json!({ "name": "ä".repeat(100), "role": "auditor" });
        owner.good("POST", "/members", longest, 201).await;
        assert_eq!(owner.code("POST", "/members", json!({ "name": "a", "role": "root" }), 422).await, "invalid_body");
        service.stop().await;
    });
}

#[test]
fn two_owners_who_unmake_each_other_leave_one() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let first = Api::of(&service, &both.alpha.principal).await;
        for round in 0..5 {
            let (id, token) = first.member(&format!("second-{round}"), "owner", &["admin"]).await;
            let second = first.with(&token["secret"]);
            let (mine, theirs) = (format!("/members/{}", both.alpha.principal.id), format!("/members/{id}"));
            let (one, other) = tokio::join!(
                first.send("PATCH", &theirs, json!({ "role": "member" })),
                second.send("PATCH", &mine, json!({ "role": "admin" })),
            );
            let mut statuses = [one.status, other.status];
            statuses.sort_unstable();
            // Whoever was second was told: by the rule, or since it was no owner any more.
            assert!(matches!(statuses, [200, 403 | 409]), "{one:?} {other:?}");
            let owners: i64 = sqlx::query_scalar(
                "SELECT count(*) FROM sync.principals WHERE role = 'owner' AND organization_id = $1",
            )
            .bind(both.alpha.principal.organization.uuid())
            .fetch_one(&mut database.superuser().await)
            .await
            .unwrap();
            assert_eq!(owners, 1);
            sqlx::query("UPDATE sync.principals SET role = CASE WHEN id = $1 THEN 'owner' ELSE 'member' END WHERE organization_id = $2")
                .bind(both.alpha.principal.id.uuid())
                .bind(both.alpha.principal.organization.uuid())
                .execute(&mut database.superuser().await)
                .await
                .unwrap();
        }
        service.stop().await;
    });
}

/// An administrator whom an owner lets read what is granted only, widens neither itself nor anybody, and unmakes no owner's
/// credentials.
#[test]
fn a_limited_administrator_gives_no_more_than_it_has() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let owner = Api::of(&service, &both.alpha.principal).await;
        let (id, token) = owner.member("boss", "admin", &["admin"]).await;
        let admin = owner.with(&token["secret"]);
        let (other, theirs) = owner.member("ci", "member", &["graph:read"]).await;
        let own = format!("/members/{id}");
        owner.good("PATCH", &own, json!({ "reads_all": false }), 200).await;
        service.clock.advance(time::Duration::seconds(10));
        let rotate = format!("/tokens/{}/rotate", theirs["token"]["id"].as_str().unwrap());
        for (method, path, body) in [
            ("PATCH", own.as_str(), json!({ "reads_all": true })),
            ("POST", "/members", json!({ "name": "x", "role": "member" })),
            ("POST", "/members", json!({ "name": "x", "role": "member", "reads_all": true })),
            ("POST", "/tokens", json!({ "principal": other, "name": "x", "scopes": ["graph:read"] })),
            ("POST", &rotate, json!({})),
            ("POST", "/issuers", json!({ "issuer": "https://id.example.com", "organization_claim": "org" })),
        ] {
            assert_eq!(admin.code(method, path, body, 403).await, "forbidden", "{method} {path}");
        }
        let made = json!({ "name": "y", "role": "member", "reads_all": false });
        let made = admin.good("POST", "/members", made, 201).await;
        let own_token = json!({ "principal": made["id"], "name": "x", "scopes": ["graph:read"] });
        admin.good("POST", "/tokens", own_token, 201).await;

        let of_owner = owner.get(&format!("/tokens?principal={}", both.alpha.principal.id)).await.json();
        let of_owner = format!("/tokens/{}", of_owner["items"][0]["id"].as_str().unwrap());
        assert_eq!(admin.code("DELETE", &of_owner, Value::Null, 403).await, "forbidden");
        service.stop().await;
    });
}
