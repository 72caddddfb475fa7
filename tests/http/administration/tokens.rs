//! Tokens: shown once, rotated, revoked.

use serde_json::{Value, json};
use sync_tests::service::{TestService, audit_log};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};
use time::Duration;

use super::Api;

#[test]
fn tokens_are_shown_once_rotate_with_an_overlap_and_are_revoked_at_once() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let owner = Api::of(&service, &both.alpha.principal).await;
        let (reader, first) = owner.member("reader", "member", &["graph:read"]).await;
        let (id, secret) = (first["token"]["id"].as_str().unwrap(), first["secret"].as_str().unwrap());
        let parsed = sync_server::identity::token::parse(secret).unwrap();
        assert_eq!((parsed.organization, parsed.id.to_string()), (both.alpha.principal.organization, id.to_owned()));
        let listed = owner.get(&format!("/tokens?principal={reader}")).await;
        assert_eq!((&listed.json()["items"], &listed.json()["total"]), (&json!([first["token"]]), &json!(1)));
        assert!(!listed.text.contains(&secret[60..]), "a secret is shown once");
        assert_eq!(service.rpc(secret, "ping", json!({})).await.status, 200);

        // What its role does not allow would be for nothing.
        let wanted = |name: &str, scopes: Value| json!({ "principal": reader, "name": name, "scopes": scopes });
        assert_eq!(owner.code("POST", "/tokens", wanted("x", json!(["audit:read"])), 409).await, "role_forbids");
        assert_eq!(owner.code("POST", "/tokens", wanted("x", json!([])), 422).await, "invalid_argument");
        assert_eq!(owner.code("POST", "/tokens", wanted("x", json!(["root"])), 422).await, "invalid_body");
        let mut days = wanted("x", json!(["graph:read"]));
        days["expires_in_days"] = json!(0);
        assert_eq!(owner.code("POST", "/tokens", days.clone(), 422).await, "invalid_argument");
        days["expires_in_days"] = json!(10);
        let ten_days = owner.good("POST", "/tokens", days, 201).await;
        assert_eq!(ten_days["token"]["expires_at"], "2026-12-10T12:00:00.000Z");

        // A successor: both are accepted until the overlap ends. A third is not made.
        service.clock.set(NOW + Duration::days(4));
        let path = format!("/tokens/{}/rotate", ten_days["token"]["id"].as_str().unwrap());
        let next = owner.good("POST", &path, json!({ "overlap_hours": 48 }), 201).await;
        assert_eq!(next["token"]["replaces"], ten_days["token"]["id"]);
        // Nothing has to be said of it: without a body the overlap is a day. Where something has to be, it is asked for.
        let (spare, plain) = owner.member("spare", "member", &["graph:read"]).await;
        let bare = format!("/tokens/{}/rotate", plain["token"]["id"].as_str().unwrap());
        assert_eq!(owner.good("POST", &bare, Value::Null, 201).await["token"]["principal"], spare);
        let seen = owner.get(&format!("/tokens?principal={spare}")).await.json();
        let tokens = seen["items"].as_array().unwrap();
        assert!(tokens.iter().any(|token| token["expires_at"] == "2026-12-05T12:00:00.000Z"), "{seen}");
        assert_eq!(owner.code("POST", "/tokens", Value::Null, 415).await, "unsupported_media_type");
        // It lives as long as the old one did from its beginning.
        assert_eq!(next["token"]["expires_at"], "2026-12-14T12:00:00.000Z");
        assert_eq!(owner.code("POST", &path, json!({}), 409).await, "two_live_tokens");
        assert_eq!(owner.code("POST", "/tokens", wanted("x", json!(["graph:read"])), 409).await, "two_live_tokens");
        let accepted =
            async |token: &Value| service.rpc(token["secret"].as_str().unwrap(), "ping", json!({})).await.status;
        assert_eq!((accepted(&ten_days).await, accepted(&next).await), (200, 200));
        service.clock.advance(Duration::hours(48));
        assert_eq!((accepted(&ten_days).await, accepted(&next).await), (401, 200));
        assert_eq!(owner.code("POST", &path, json!({}), 409).await, "token_not_live");
        let next_path = format!("/tokens/{}", next["token"]["id"].as_str().unwrap());
        owner.good("DELETE", &next_path, Value::Null, 204).await;
        assert_eq!(accepted(&next).await, 401);
        owner.good("DELETE", &next_path, Value::Null, 204).await;

        let seen = owner.get(&format!("/tokens?principal={reader}")).await.json();
        let tokens = seen["items"].as_array().unwrap();
        assert_eq!(tokens.len(), 3);
        let of = |made: &Value| tokens.iter().find(|token| token["id"] == made["token"]["id"]).unwrap();
        let end = json!("2026-12-06T12:00:00.000Z");
        assert_eq!((&of(&ten_days)["expires_at"], &of(&ten_days)["revoked_at"]), (&end, &Value::Null));
        assert_eq!((&of(&next)["revoked_at"], &of(&next)["last_used_at"]), (&end, &end));
        // Every change is in the log, by name, and no secret is.
        let rows = audit_log(database, both.alpha.principal.organization).await;
        let of = |action: &str| {
            rows.iter().filter(|row| row.action == action).map(|row| row.code.clone()).collect::<Vec<_>>()
        };
        let code = |code: &str| Some(code.to_owned());
        assert_eq!(of("rest.rotate_token"), [None, None, code("two_live_tokens"), code("token_not_live")]);
        assert_eq!(of("rest.revoke_token"), [None, None]);
        assert!(!format!("{rows:?}").contains(&secret[60..]));
        service.stop().await;
    });
}
