//! `Idempotency-Key` from outside: a change that is asked for twice is done once.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sync_core::principal::{Principal, Scope};
use sync_tests::service::{Reply, TestService, audit_log};
use sync_tests::{TestDatabase, TwoOrganizations, with_database};
use time::Duration;

async fn post(service: &TestService, token: &str, path: &str, key: &str, body: &Value) -> Reply {
    let request = service.client.post(format!("{}/v1{path}", service.url)).bearer_auth(token);
    Reply::of(request.header("idempotency-key", key).json(body)).await
}

/// How a service names a principal's key in the store.
fn hash(principal: &Principal, key: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(principal.organization.uuid().as_bytes());
    hash.update(principal.id.uuid().as_bytes());
    hash.update(key.as_bytes());
    hash.finalize().into()
}

#[test]
fn a_change_asked_for_twice_under_one_key_is_done_once_and_answered_twice() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let (_, token) = service.token(&both.alpha.principal, &[Scope::Admin], None).await;
        let (_, other) = service.token(&both.beta.principal, &[Scope::Admin], None).await;
        let ci = json!({ "name": "ci", "role": "ingest" });

        let first = post(&service, &token, "/members", "key-1", &ci).await;
        assert_eq!((first.status, first.header("idempotency-replayed")), (201, ""), "{first:?}");
        // The same members in another order are the same request.
        let again = post(&service, &token, "/members", "key-1", &json!({ "role": "ingest", "name": "ci" })).await;
        assert_eq!((again.status, again.header("idempotency-replayed")), (201, "true"), "{again:?}");
        assert_eq!(again.text, first.text);
        assert_ne!(again.header("x-request-id"), first.header("x-request-id"));

        // Another request under the key is refused: another body, another operation.
        let me = both.alpha.principal.id.to_string();
        let of_me = json!({ "principal": me, "name": "ci", "scopes": ["graph:read"] });
        for (path, body) in [("/members", json!({ "name": "cd", "role": "ingest" })), ("/tokens", of_me)] {
            let reply = post(&service, &token, path, "key-1", &body).await;
            assert_eq!((reply.status, &reply.json()["code"]), (422, &json!("idempotency_key_reused")), "{reply:?}");
        }
        // Another principal's key of that name is another key.
        let beta = post(&service, &other, "/members", "key-1", &ci).await;
        assert_eq!((beta.status, beta.header("idempotency-replayed")), (201, ""), "{beta:?}");
        assert_ne!(beta.json()["id"], first.json()["id"]);

        // What failed did nothing, and is tried anew under the same key.
        let conflict = post(&service, &token, "/members", "key-2", &ci).await;
        assert_eq!((conflict.status, &conflict.json()["code"]), (409, &json!("name_taken")), "{conflict:?}");
        let free = post(&service, &token, "/members", "key-2", &json!({ "name": "cd", "role": "ingest" })).await;
        assert_eq!((free.status, free.header("idempotency-replayed")), (201, ""), "{free:?}");

        // After a day the key is as good as new, and the name it made is taken.
        service.clock.advance(Duration::DAY);
        let later = post(&service, &token, "/members", "key-1", &ci).await;
        assert_eq!((later.status, &later.json()["code"]), (409, &json!("name_taken")), "{later:?}");
        service.stop().await;

        let made: Vec<String> =
            sqlx::query_scalar("SELECT name FROM sync.principals WHERE name IN ('ci', 'cd') ORDER BY 1")
                .fetch_all(&mut database.superuser().await)
                .await
                .unwrap();
        assert_eq!(made, ["cd", "ci", "ci"], "one of each organization's");
        // Every one of them is written down, the repeated ones too.
        let rows = audit_log(database, both.alpha.principal.organization).await;
        assert_eq!(rows.iter().filter(|row| row.action == "rest.create_member").count(), 6, "{rows:?}");
    });
}

#[test]
fn a_secret_is_shown_once_and_a_key_that_is_held_is_waited_for() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let alpha = &both.alpha.principal;
        let (_, token) = service.token(alpha, &[Scope::Admin], None).await;
        let wanted = json!({ "principal": alpha.id.to_string(), "name": "ci", "scopes": ["graph:read"] });

        // Somebody else is working on a request with this key.
        let mut working = database.store.begin_change(alpha).await.unwrap();
        assert!(working.hold_idempotency_key(&hash(alpha, "key-1")).await.unwrap());
        let held = post(&service, &token, "/tokens", "key-1", &wanted).await;
        assert_eq!((held.status, &held.json()["code"]), (409, &json!("in_progress")), "{held:?}");
        assert_eq!(held.header("retry-after"), "1");
        drop(working);

        let made = post(&service, &token, "/tokens", "key-1", &wanted).await;
        assert_eq!(made.status, 201, "{made:?}");
        let secret = made.json()["secret"].as_str().unwrap().to_owned();
        let again = post(&service, &token, "/tokens", "key-1", &wanted).await;
        assert_eq!((again.status, &again.json()["code"]), (409, &json!("already_created")), "{again:?}");
        assert_eq!(again.json()["details"]["id"], made.json()["token"]["id"], "{again:?}");
        assert!(!again.text.contains(&secret));
        service.stop().await;

        let mut superuser = database.superuser().await;
        let tokens: i64 = sqlx::query_scalar("SELECT count(*) FROM sync.tokens WHERE name = 'ci'")
            .fetch_one(&mut superuser)
            .await
            .unwrap();
        let bodies: Vec<Option<Vec<u8>>> =
            sqlx::query_scalar("SELECT body FROM sync.idempotency_keys").fetch_all(&mut superuser).await.unwrap();
        assert_eq!((tokens, bodies), (1, vec![None]), "the answer with the secret is kept nowhere");
    });
}
