//! JSON Web Tokens: every well-known way of getting one accepted that should not be.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use sync_tests::service::{TestService, audit_log};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};

use super::keys::Keys;

const ISSUER: &str = "https://id.example.com";
const EC_ISSUER: &str = "https://ec.example.com";

/// Good claims for the service at `url`.
fn claims(url: &str) -> Value {
    json!({
        "iss": ISSUER, "aud": format!("{url}/mcp"), "sub": "ada", "name": "Ada", "scope": "openid graph:read",
        "exp": NOW.unix_timestamp() + 3600, "nbf": NOW.unix_timestamp() - 10,
    })
}

fn with(mut claims: Value, key: &str, value: Value) -> Value {
    claims[key] = value;
    claims
}

fn without(mut claims: Value, key: &str) -> Value {
    claims.as_object_mut().unwrap().remove(key);
    claims
}

fn issuers(ed: &Keys, ec: &Keys) -> String {
    json!([
        { "issuer": ISSUER, "algorithms": ["EdDSA"], "public_key_pem": ed.public_pem, "organization": "alpha" },
        { "issuer": EC_ISSUER, "algorithms": ["ES256"], "public_key_pem": ec.public_pem,
          "organization_claim": "org", "audience": "sync" },
    ])
    .to_string()
}

#[test]
fn a_good_token_is_a_principal_from_first_sight_on() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let (ed, ec) = (Keys::ed25519(), Keys::p256());
        let settings = issuers(&ed, &ec);
        let service =
            TestService::start_with(database.store.clone(), &[("SYNC_ISSUERS", &settings)], |answers| answers).await;
        let good = claims(&service.url);
        for audience in
            [json!(service.url), json!(format!("{}/mcp/acme/billing", service.url)), json!(["x", good["aud"]])]
        {
            let token = ed.sign(&with(good.clone(), "aud", audience.clone()));
            let reply = service.rpc(&token, "ping", json!({})).await;
            assert_eq!(reply.status, 200, "{audience}: {reply:?}");
        }
        // The other issuer names the organization in a claim, by name or id, and its scopes in a list.
        let by_claim = json!({
            "iss": EC_ISSUER, "aud": "sync", "sub": "robot", "client_id": "robot", "scp": ["graph:read"],
            "exp": NOW.unix_timestamp() + 60,
        });
        for organization in ["beta", &both.beta.principal.organization.to_string()] {
            let token = ec.sign(&with(by_claim.clone(), "org", json!(organization)));
            assert_eq!(service.rpc(&token, "ping", json!({})).await.status, 200, "{organization}");
        }
        let mut superuser = database.superuser().await;
        let members: Vec<(String, String)> =
            sqlx::query_as("SELECT name, kind FROM sync.principals WHERE subject IS NOT NULL ORDER BY name")
                .fetch_all(&mut superuser)
                .await
                .unwrap();
        let member = |name: &str, kind: &str| (name.to_owned(), kind.to_owned());
        assert_eq!(members, [member("Ada", "user"), member("robot", "service")]);
        let rows = audit_log(database, both.alpha.principal.organization).await;
        assert!(rows.iter().all(|row| row.credential_id.as_deref() == Some("jwt:https://id.example.com")));
        assert_eq!((rows.len(), audit_log(database, both.beta.principal.organization).await.len()), (3, 2));
        // A scope of ours that the token does not name is not had.
        let reply = service.rpc(&ed.sign(&without(good, "scope")), "ping", json!({})).await;
        assert_eq!(reply.status, 403);
        service.stop().await;
    });
}

#[test]
fn every_other_token_is_refused() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let (ed, ec, stranger) = (Keys::ed25519(), Keys::p256(), Keys::ed25519());
        let settings = issuers(&ed, &ec);
        let service =
            TestService::start_with(database.store.clone(), &[("SYNC_ISSUERS", &settings)], |answers| answers).await;
        let good = claims(&service.url);
        let now = NOW.unix_timestamp();
        let unsigned = |header: Value| {
            let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
            format!("{}.{}.", part(&header), part(&good))
        };
        let hmac = EncodingKey::from_secret(ed.public_pem.as_bytes()).unwrap();
        let confused = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &good, &hmac).unwrap();
        let header = |change: fn(&mut Header)| {
            let mut header = Header::new(Algorithm::EdDSA);
            change(&mut header);
            header
        };
        let mut tampered = ed.sign(&good).into_bytes();
        let dot = tampered.iter().rposition(|byte| *byte == b'.').unwrap();
        tampered[dot + 5] = if tampered[dot + 5] == b'A' { b'B' } else { b'A' };
        let tampered = String::from_utf8(tampered).unwrap();
        let stranger_with = |change: fn(&mut Header)| stranger.sign_with(&header(change), &good);

        let cases: Vec<(&str, String, &str)> = vec![
            ("alg none", unsigned(json!({ "alg": "none", "typ": "JWT" })), "algorithm"),
            ("alg None", unsigned(json!({ "alg": "NoNe" })), "algorithm"),
            ("no alg", unsigned(json!({ "typ": "JWT" })), "algorithm"),
            ("no signature", unsigned(json!({ "alg": "EdDSA" })), "signature"),
            ("HS256 with the public key", confused, "algorithm"),
            ("another issuer's algorithm", ec.sign(&good), "algorithm"),
            ("another key", stranger.sign(&good), "signature"),
            ("tampered", tampered, "signature"),
            ("kid is a path", stranger_with(|h| h.kid = Some("../../etc/passwd".into())), "signature"),
            ("kid is SQL", stranger_with(|h| h.kid = Some("' OR 1=1 --".into())), "signature"),
            ("kid of 10 KB", stranger_with(|h| h.kid = Some("k".repeat(10_000))), "malformed"),
            // Nothing listens there; a service that asked would not say "signature" but fail differently.
            ("jku", stranger_with(|h| h.jku = Some("http://127.0.0.1:1/jwks".into())), "signature"),
            ("x5u", stranger_with(|h| h.x5u = Some("http://127.0.0.1:1/x".into())), "signature"),
            ("another type", ed.sign_with(&header(|h| h.typ = Some("id_token+jwt".into())), &good), "header"),
            ("no exp", ed.sign(&without(good.clone(), "exp")), "`exp`"),
            ("text exp", ed.sign(&with(good.clone(), "exp", json!((now + 3600).to_string()))), "`exp`"),
            ("past exp", ed.sign(&with(good.clone(), "exp", json!(now - 31))), "expired"),
            ("text nbf", ed.sign(&with(good.clone(), "nbf", json!("soon"))), "`nbf`"),
            ("future nbf", ed.sign(&with(good.clone(), "nbf", json!(now + 31))), "not valid yet"),
            ("no aud", ed.sign(&without(good.clone(), "aud")), "`aud`"),
            (
                "another service",
                ed.sign(&with(good.clone(), "aud", json!("https://other.example.com/mcp"))),
                "audience",
            ),
            (
                "our address as a prefix",
                ed.sign(&with(good.clone(), "aud", json!(format!("{}0/mcp", service.url)))),
                "audience",
            ),
            (
                "another path",
                ed.sign(&with(good.clone(), "aud", json!(format!("{}/mcp-else", service.url)))),
                "audience",
            ),
            ("a client id, as in an ID token", ed.sign(&with(good.clone(), "aud", json!("my-app"))), "audience"),
            ("no iss", ed.sign(&without(good.clone(), "iss")), "`iss`"),
            ("another iss", ed.sign(&with(good.clone(), "iss", json!("https://evil.example.com"))), "issuer"),
            ("iss with a slash", ed.sign(&with(good.clone(), "iss", json!(format!("{ISSUER}/")))), "issuer"),
            ("no sub", ed.sign(&without(good.clone(), "sub")), "`sub`"),
            ("a sub that no database can hold", ed.sign(&with(good.clone(), "sub", json!("ada\u{0}"))), "`sub`"),
            (
                "an organization that no database can hold",
                ec.sign(&json!({ "iss": EC_ISSUER, "aud": "sync", "sub": "x", "org": "acme\u{0}",
                "scope": "graph:read", "exp": now + 60 })),
                "organization",
            ),
            (
                "unknown organization",
                ec.sign(&json!({ "iss": EC_ISSUER, "aud": "sync", "sub": "x", "org": "nowhere",
                "scope": "graph:read", "exp": now + 60 })),
                "organization",
            ),
            (
                "no organization",
                ec.sign(&json!({ "iss": EC_ISSUER, "aud": "sync", "sub": "x",
                "scope": "graph:read", "exp": now + 60 })),
                "organization",
            ),
            ("not JSON", "eyJ.eyJ.x".to_owned(), "malformed"),
        ];
        for (case, token, says) in cases {
            let reply = service.rpc(&token, "tools/list", json!({})).await;
            assert_eq!(reply.status, 401, "{case}: {reply:?}");
            let challenge = reply.header("www-authenticate");
            assert!(challenge.contains(r#"error="invalid_token""#) && challenge.contains(says), "{case}: {challenge}");
            assert!(challenge.contains("resource_metadata="), "{case}: {challenge}");
        }
        assert_eq!(audit_log(database, both.alpha.principal.organization).await, []);
        service.stop().await;
    });
}

#[test]
fn the_time_is_the_services() {
    with_database(async |database: &TestDatabase| {
        TwoOrganizations::create(&database.store).await.unwrap();
        let (ed, ec) = (Keys::ed25519(), Keys::p256());
        let settings = issuers(&ed, &ec);
        let service =
            TestService::start_with(database.store.clone(), &[("SYNC_ISSUERS", &settings)], |answers| answers).await;
        let token = ed.sign(&claims(&service.url));
        assert_eq!(service.rpc(&token, "ping", json!({})).await.status, 200);
        service.clock.advance(time::Duration::seconds(3600 + 29));
        assert_eq!(service.rpc(&token, "ping", json!({})).await.status, 200);
        service.clock.advance(time::Duration::SECOND);
        let reply = service.rpc(&token, "ping", json!({})).await;
        assert!(reply.header("www-authenticate").contains("expired"), "{reply:?}");
        service.stop().await;
    });
}

proptest::proptest! {
    /// Headers, claims and whole tokens that anybody may send are read or refused, and nothing else.
    #[test]
    fn whatever_is_sent_is_read_or_refused(
        header in "\\PC{0,80}",
        member in "(alg|typ|kid|jku|jwk|crit|x5c|iss|exp|aud)",
        value in "(null|1|\"none\"|\"HS256\"|\"EdDSA\"|\\[\\]|\\{\\}|\\{\"kty\":1\\}|-1e999|\"\\\\ud800\")",
        rest in "[A-Za-z0-9_.-]{0,60}",
    ) {
        let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let made = format!("{{\"alg\":\"EdDSA\",\"{member}\":{value}}}");
        for (head, body) in [(header.as_str(), "{}"), (&made, "{\"iss\":\"x\"}"), ("{\"alg\":\"EdDSA\"}", &made), (&made, &made)] {
            for token in [format!("{}.{}.{rest}", part(head), part(body)), format!("{head}.{body}.{rest}")] {
                if let Ok(token) = sync_server::identity::jwt::Unverified::read(&token) {
                    proptest::prop_assert!(!token.issuer().is_empty());
                }
            }
        }
        let own = format!("sync_{rest}");
        proptest::prop_assert!(sync_server::identity::token::parse(&own).is_err());
    }
}
