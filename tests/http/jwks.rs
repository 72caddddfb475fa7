//! Keys that issuers publish: attacks on tokens, rotation, outages and floods. What is accepted of a token's claims is
//! in `jwt.rs`.

use std::time::Duration as Wait;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::StreamExt as _;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use sync_tests::service::{Reply, TestService, audit_log};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};
use time::Duration;

use super::issuer::{Answer, DISCOVERY, FakeIssuer, KEYS, TRAP};
use super::keys::Keys;

/// A service that trusts the issuer for `alpha`.
async fn trusting(database: &TestDatabase, issuer: &FakeIssuer) -> TestService {
    let issuers = json!([{ "issuer": issuer.url, "organization": "alpha" }]).to_string();
    let settings = [("SYNC_ISSUERS", issuers.as_str()), ("SYNC_PRIVATE_ISSUER_HOSTS", r#"["127.0.0.1"]"#)];
    TestService::start_with(database.store.clone(), &settings, |answers| answers).await
}

fn claims(service: &TestService, issuer: &FakeIssuer) -> Value {
    json!({
        "iss": issuer.url, "aud": format!("{}/mcp", service.url), "sub": "ada", "scope": "graph:read",
        "exp": NOW.unix_timestamp() + 86_400, "nbf": NOW.unix_timestamp() - 10,
    })
}

async fn ping(service: &TestService, token: &str) -> Reply {
    service.rpc(token, "ping", json!({})).await
}

fn with(claims: &Value, key: &str, value: Value) -> Value {
    let mut claims = claims.clone();
    claims[key] = value;
    claims
}

fn without(claims: &Value, key: &str) -> Value {
    let mut claims = claims.clone();
    claims.as_object_mut().unwrap().remove(key);
    claims
}

#[test]
fn attacks_on_tokens_are_refused_and_lead_the_service_nowhere() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let (rsa, stranger) = (Keys::rsa(), Keys::rsa());
        let issuer = FakeIssuer::start(Answer::Keys(vec![rsa.published("one")])).await;
        let service = trusting(database, &issuer).await;
        let good = claims(&service, &issuer);
        let now = NOW.unix_timestamp();
        let sign = |claims: &Value| rsa.sign_with(&rsa.header("one"), claims);
        assert_eq!(ping(&service, &sign(&good)).await.status, 200);
        assert_eq!(ping(&service, &rsa.sign(&good)).await.status, 200, "a token may leave out which key it is");

        let trap = format!("{}{TRAP}", issuer.url);
        let unsigned = |header: Value| {
            let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
            format!("{}.{}.", part(&header), part(&good))
        };
        let hmac = |secret: &[u8]| {
            let header = Header { kid: Some("one".to_owned()), ..Header::new(Algorithm::HS256) };
            jsonwebtoken::encode(&header, &good, &EncodingKey::from_secret(secret).unwrap()).unwrap()
        };
        let modulus = URL_SAFE_NO_PAD.decode(rsa.jwk["n"].as_str().unwrap()).unwrap();
        let stray = |header: Value| stranger.sign_raw(&header, &good);
        let cases: Vec<(&str, String, &str)> = vec![
            ("alg none", unsigned(json!({ "alg": "none", "kid": "one" })), "algorithm"),
            ("alg nOnE", unsigned(json!({ "alg": "nOnE", "kid": "one" })), "algorithm"),
            ("no signature", unsigned(json!({ "alg": "RS256", "kid": "one" })), "signature"),
            ("HS256 with the public key's PEM", hmac(rsa.public_pem.as_bytes()), "algorithm"),
            ("HS256 with the modulus", hmac(&modulus), "algorithm"),
            ("a key of the kind that is not published", Keys::ed25519().sign(&good), "does not publish"),
            ("another key under the same id", stranger.sign_with(&rsa.header("one"), &good), "signature is invalid"),
            ("another key without an id", stranger.sign(&good), "does not publish"),
            ("kid is a path", stray(json!({ "alg": "RS256", "kid": "../../../../dev/null" })), "does not publish"),
            ("kid is SQL", stray(json!({ "alg": "RS256", "kid": "x' UNION SELECT 'k" })), "does not publish"),
            ("kid is an address", stray(json!({ "alg": "RS256", "kid": trap })), "does not publish"),
            ("kid of 10 KB", stray(json!({ "alg": "RS256", "kid": "k".repeat(10_000) })), "malformed"),
            ("kid of 1 KB", stray(json!({ "alg": "RS256", "kid": "k".repeat(1_000) })), "header"),
            ("kid is no text", stray(json!({ "alg": "RS256", "kid": { "a": 1 } })), "algorithm"),
            ("jku", stray(json!({ "alg": "RS256", "kid": "one", "jku": trap })), "signature is invalid"),
            ("x5u", stray(json!({ "alg": "RS256", "kid": "one", "x5u": trap })), "signature is invalid"),
            (
                "jwk brings the key",
                stray(json!({ "alg": "RS256", "kid": "two", "jwk": stranger.published("two") })),
                "does not publish",
            ),
            ("crit", rsa.sign_raw(&json!({ "alg": "RS256", "kid": "one", "crit": ["b64"] }), &good), "header"),
            ("another type", rsa.sign_raw(&json!({ "alg": "RS256", "typ": "dpop+jwt" }), &good), "header"),
            ("no exp", sign(&without(&good, "exp")), "`exp`"),
            ("text exp", sign(&with(&good, "exp", json!((now + 3600).to_string()))), "`exp`"),
            ("exp is null", sign(&with(&good, "exp", json!(null))), "`exp`"),
            ("past exp", sign(&with(&good, "exp", json!(now - 31))), "expired"),
            ("future nbf", sign(&with(&good, "nbf", json!(now + 31))), "not valid yet"),
            ("no aud", sign(&without(&good, "aud")), "`aud`"),
            ("wrong aud", sign(&with(&good, "aud", json!("https://other.example.com/mcp"))), "audience"),
            ("no iss", sign(&without(&good, "iss")), "`iss`"),
            ("wrong iss", sign(&with(&good, "iss", json!(trap))), "issuer"),
            ("ID token: aud is the client", sign(&with(&good, "aud", json!("my-client"))), "audience"),
            ("ID token: nonce", sign(&with(&good, "nonce", json!("n"))), "not an access token"),
            ("ID token: at_hash", sign(&with(&good, "at_hash", json!("h"))), "not an access token"),
            ("ID token: it says so", sign(&with(&good, "typ", json!("ID"))), "not an access token"),
            ("ID token: token_use", sign(&with(&good, "token_use", json!("id"))), "not an access token"),
            ("refresh token", sign(&with(&good, "typ", json!("Refresh"))), "not an access token"),
        ];
        for (case, token, says) in &cases {
            let reply = service.rpc(token, "tools/list", json!({})).await;
            assert_eq!(reply.status, 401, "{case}: {reply:?}");
            let challenge = reply.header("www-authenticate");
            assert!(challenge.contains(r#"error="invalid_token""#) && challenge.contains(says), "{case}: {challenge}");
            assert!(challenge.contains("resource_metadata="), "{case}: {challenge}");
        }
        assert_eq!(issuer.asked(TRAP), 0);
        // One of each since the start: what a token says fetches nothing.
        assert_eq!((issuer.asked(DISCOVERY), issuer.asked(KEYS)), (1, 1));
        assert_eq!(audit_log(database, both.alpha.principal.organization).await.len(), 2, "the two good ones");

        // Revoked: whoever is shut out is so at once, and it is written down.
        sqlx::query("UPDATE sync.principals SET disabled_at = $1 WHERE subject = 'ada'")
            .bind(NOW)
            .execute(&mut database.superuser().await)
            .await
            .unwrap();
        let reply = ping(&service, &sign(&good)).await;
        assert!(reply.status == 401 && reply.header("www-authenticate").contains("disabled"), "{reply:?}");
        let rows = audit_log(database, both.alpha.principal.organization).await;
        assert_eq!((rows.len(), rows[2].code.as_deref()), (3, Some("member_disabled")));
        service.stop().await;
    });
}

#[test]
fn a_new_key_works_after_one_fetch_and_a_withdrawn_one_no_longer() {
    with_database(async |database: &TestDatabase| {
        TwoOrganizations::create(&database.store).await.unwrap();
        let (old, new) = (Keys::p256(), Keys::ed25519());
        let issuer = FakeIssuer::start(Answer::Keys(vec![old.published("old")])).await;
        let service = trusting(database, &issuer).await;
        let good = claims(&service, &issuer);
        let old_token = old.sign_with(&old.header("old"), &good);
        let new_token = new.sign_with(&new.header("new"), &good);
        assert_eq!(ping(&service, &old_token).await.status, 200);
        issuer.answers(Answer::Keys(vec![old.published("old"), new.published("new")]));
        // Within the least time between two fetches it is not asked for again.
        service.clock.advance(Duration::seconds(29));
        assert_eq!(ping(&service, &new_token).await.status, 401);
        assert_eq!(issuer.asked(KEYS), 1);
        service.clock.advance(Duration::SECOND);
        assert_eq!(ping(&service, &new_token).await.status, 200);
        assert_eq!((ping(&service, &old_token).await.status, issuer.asked(KEYS), issuer.asked(DISCOVERY)), (200, 2, 1));
        // The old one is withdrawn: it is good until the keys are fetched anew, which needs no unknown key.
        issuer.answers(Answer::Keys(vec![new.published("new")]));
        service.clock.advance(Duration::seconds(299));
        assert_eq!(ping(&service, &old_token).await.status, 200);
        service.clock.advance(Duration::SECOND);
        assert_eq!(ping(&service, &new_token).await.status, 200);
        issuer.wait_for(KEYS, 3).await;
        // The answer may be on its way; whoever asks for a key that is not there waits for it, or is told the same.
        service.clock.advance(Duration::seconds(30));
        assert_eq!(ping(&service, &new.sign_with(&new.header("none"), &good)).await.status, 401);
        assert_eq!(ping(&service, &old_token).await.status, 401);
        // Keys without ids rotate too.
        issuer.answers(Answer::Keys(vec![old.jwk.clone()]));
        service.clock.advance(Duration::seconds(30));
        assert_eq!(ping(&service, &old.sign(&good)).await.status, 200);
        service.stop().await;
    });
}

#[test]
fn an_outage_is_never_a_bad_token_and_keys_are_kept_to_their_greatest_age() {
    with_database(async |database: &TestDatabase| {
        TwoOrganizations::create(&database.store).await.unwrap();
        let (known, other) = (Keys::ed25519(), Keys::ed25519());
        let issuer = FakeIssuer::start(Answer::Keys(vec![known.published("known")])).await;
        let service = trusting(database, &issuer).await;
        let good = claims(&service, &issuer);
        let token = known.sign_with(&known.header("known"), &good);
        let unknown = other.sign_with(&other.header("unknown"), &good);
        assert_eq!(ping(&service, &token).await.status, 200);
        issuer.answers(Answer::Status(503));
        let mut failed = 0;
        for minute in 1..60 {
            service.clock.set(NOW + Duration::minutes(minute));
            assert_eq!(ping(&service, &token).await.status, 200, "minute {minute}");
            // From the fifth minute on each of these starts a fetch, which fails.
            if minute >= 5 {
                failed += 1;
                // The fetch before may not have come to its end yet, and then none began: ask again.
                for _ in 0..500 {
                    if issuer.asked(DISCOVERY) >= failed {
                        break;
                    }
                    assert_eq!(ping(&service, &token).await.status, 200, "minute {minute}");
                }
                issuer.wait_for(DISCOVERY, failed).await;
            }
        }
        // It may be a new key.
        service.clock.set(NOW + Duration::seconds(3599));
        assert_eq!(ping(&service, &token).await.status, 200);
        let reply = ping(&service, &unknown).await;
        assert_eq!((reply.status, reply.header("retry-after")), (503, "30"), "{reply:?}");
        assert!(reply.json()["detail"].as_str().unwrap().contains("issuer"), "{reply:?}");
        service.clock.set(NOW + Duration::seconds(3600));
        let reply = ping(&service, &token).await;
        assert_eq!((reply.status, reply.header("www-authenticate")), (503, ""), "{reply:?}");
        let called = service.call(&token, "sync_repositories", json!({})).await;
        let error = called.tool_error();
        assert_eq!((&error["code"], &error["details"]["retry_after_s"]), (&json!("unavailable"), &json!(30)));
        // It comes back.
        issuer.answers(Answer::Keys(vec![known.published("known")]));
        service.clock.advance(Duration::minutes(1));
        assert_eq!(ping(&service, &token).await.status, 200);
        assert_eq!(ping(&service, &unknown).await.status, 401);
        service.stop().await;
    });
}

#[test]
fn a_flood_of_unknown_keys_is_one_fetch_every_thirty_seconds() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let (known, other) = (Keys::ed25519(), Keys::ed25519());
        let issuer = FakeIssuer::start(Answer::Keys(vec![known.published("known")])).await;
        let service = trusting(database, &issuer).await;
        let good = claims(&service, &issuer);
        let flood = async |from: usize| {
            let statuses: Vec<u16> = futures::stream::iter(from..from + 500)
                .map(|n| {
                    let token = other.sign_with(&other.header(&format!("key-{n}")), &good);
                    let service = &service;
                    async move { ping(service, &token).await.status }
                })
                .buffer_unordered(32)
                .collect()
                .await;
            assert!(statuses.iter().all(|status| *status == 401), "{statuses:?}");
        };
        flood(0).await;
        assert_eq!((issuer.asked(DISCOVERY), issuer.asked(KEYS)), (1, 1));
        service.clock.advance(Duration::seconds(30));
        flood(500).await;
        assert_eq!((issuer.asked(DISCOVERY), issuer.asked(KEYS)), (1, 2));
        assert_eq!(ping(&service, &known.sign_with(&known.header("known"), &good)).await.status, 200);
        assert_eq!(audit_log(database, both.alpha.principal.organization).await.len(), 1);
        service.stop().await;
    });
}

#[test]
fn what_an_issuer_answers_is_bounded() {
    with_database(async |database: &TestDatabase| {
        TwoOrganizations::create(&database.store).await.unwrap();
        let keys = Keys::ed25519();
        let published = json!({ "keys": [keys.published("one")] }).to_string();
        let elsewhere = FakeIssuer::start(Answer::Keys(vec![keys.published("one")])).await;
        let issuer = FakeIssuer::start(Answer::Status(500)).await;
        let service = trusting(database, &issuer).await;
        let token = keys.sign_with(&keys.header("one"), &claims(&service, &issuer));
        let padded = |length: usize| format!("{published}{}", " ".repeat(length - published.len()));
        for answer in [
            Answer::Status(500),
            Answer::Status(404),
            Answer::Body(padded(64 * 1024 + 1)),
            Answer::Redirect(format!("{}{KEYS}", elsewhere.url)),
            Answer::Body("<html>".to_owned()),
            Answer::Keys(vec![json!({ "kty": "oct", "k": "c2VjcmV0", "kid": "one" })]),
        ] {
            issuer.answers(answer.clone());
            let reply = ping(&service, &token).await;
            assert_eq!((reply.status, reply.header("www-authenticate")), (503, ""), "{answer:?}: {reply:?}");
            service.clock.advance(Duration::seconds(30));
        }
        assert_eq!(elsewhere.asked(KEYS), 0, "a redirect is not followed");
        // A fetch that never ends is left, though whoever asked has gone long before.
        issuer.answers(Answer::Drip);
        let began = std::time::Instant::now();
        assert_eq!(ping(&service, &token).await.status, 503);
        issuer.wait_until_left().await;
        assert!(began.elapsed() < Wait::from_secs(25), "it is a test's own bound that ended it");
        service.clock.advance(Duration::seconds(30));
        issuer.answers(Answer::Body(padded(64 * 1024)));
        assert_eq!(ping(&service, &token).await.status, 200);
        service.stop().await;
    });
}
