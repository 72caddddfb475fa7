//! Who administers: nobody but administrators, and only what is theirs.

use serde_json::{Value, json};
use sync_core::ids::{IssuerId, PrincipalId, TokenId};
use sync_core::principal::Scope;
use sync_tests::service::{Reply, TestService};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};

use super::Api;

#[test]
fn only_administrators_administer_and_what_is_elsewhere_is_not_found() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let owner = Api::of(&service, &both.alpha.principal).await;
        let (_, beta_token) = service.token(&both.beta.principal, &[Scope::Admin], None).await;
        let beta_token_id = sync_server::identity::token::parse(&beta_token).unwrap().id;
        let (beta, never) = (both.beta.principal.id, PrincipalId::at(NOW));
        let new_token =
            |principal: PrincipalId| json!({ "principal": principal, "name": "x", "scopes": ["graph:read"] });
        // (method, path of a thing elsewhere, the same of one that never was, body)
        let elsewhere = [
            ("GET", format!("/members/{beta}"), format!("/members/{never}"), Value::Null, Value::Null),
            (
                "PATCH",
                format!("/members/{beta}"),
                format!("/members/{never}"),
                json!({ "disabled": true }),
                json!({ "disabled": true }),
            ),
            ("POST", "/tokens".to_owned(), "/tokens".to_owned(), new_token(beta), new_token(never)),
            (
                "POST",
                format!("/tokens/{beta_token_id}/rotate"),
                format!("/tokens/{}/rotate", TokenId::at(NOW)),
                json!({}),
                json!({}),
            ),
            (
                "DELETE",
                format!("/tokens/{beta_token_id}"),
                format!("/tokens/{}", TokenId::at(NOW)),
                Value::Null,
                Value::Null,
            ),
            (
                "DELETE",
                format!("/issuers/{}", IssuerId::at(NOW)),
                "/issuers/nonsense".to_owned(),
                Value::Null,
                Value::Null,
            ),
        ];
        for (method, there, nowhere, body, other_body) in elsewhere {
            let (one, other) = (owner.send(method, &there, body).await, owner.send(method, &nowhere, other_body).await);
            assert_eq!((one.status, other.status), (404, 404), "{method} {there}: {one:?}");
            let bytes = |reply: &Reply| reply.text.replace(reply.header("x-request-id"), "");
            assert_eq!(bytes(&one), bytes(&other), "{method} {there}");
            assert!(!one.text.contains(both.beta.canary));
        }
        assert_eq!(service.rpc(&beta_token, "ping", json!({})).await.status, 200, "nobody elsewhere revokes it");

        // Neither a member whose token says admin, nor an owner whose token does not.
        let (_, member) = owner.member("member", "member", &["graph:read"]).await;
        let member = owner.with(&member["secret"]);
        let (_, plain) = service.token(&both.alpha.principal, &[Scope::GraphRead, Scope::SourcesWrite], None).await;
        let plain = Api { service: &service, token: plain };
        for (method, path, body) in [
            ("GET", "/members".to_owned(), Value::Null),
            ("POST", "/members".to_owned(), json!({ "name": "x", "role": "member" })),
            ("GET", format!("/members/{never}"), Value::Null),
            ("PATCH", format!("/members/{never}"), json!({})),
            ("GET", "/grants".to_owned(), Value::Null),
            ("PUT", format!("/grants/{never}/{}", both.alpha.repository), Value::Null),
            ("DELETE", format!("/grants/{never}/{}", both.alpha.repository), Value::Null),
            ("GET", "/tokens".to_owned(), Value::Null),
            ("POST", "/tokens".to_owned(), new_token(never)),
            ("DELETE", format!("/tokens/{}", TokenId::at(NOW)), Value::Null),
            ("GET", "/issuers".to_owned(), Value::Null),
        ] {
            for api in [&member, &plain] {
                assert_eq!(api.code(method, &path, body.clone(), 403).await, "forbidden", "{method} {path}");
            }
        }
        service.stop().await;
    });
}
