//! Secrets and arguments that are nobody's to read later: in a whole run with everything that goes wrong in it, none of
//! them stands in a line of the log (at any level), in an error, or in a row.

use base64::Engine as _;
use serde_json::{Value, json};
use sqlx::Executor as _;
use sync_core::principal::Scope;
use sync_server::secrets::KeyRing;
use sync_store::SecretPurpose;
use sync_tests::service::{Reply, TestService};
use sync_tests::{NOW, TestDatabase, TwoOrganizations};

use crate::answers::heard::Heard;

/// In what callers send; callers may be answered with it, but nothing else may hold it.
const ARGUMENT: &str = "canary-argument-5d21";
/// In credentials; not even their sender is told them again.
const CREDENTIAL: &str = "canaryCredential7b13";
/// A stored secret.
const STORED: &str = "canary-stored-secret-08ce";

#[tokio::test]
async fn a_whole_run_keeps_no_secret_and_no_argument() {
    let _heard = Heard::start();
    let database = TestDatabase::create().await;
    let both = TwoOrganizations::create(&database.store).await.unwrap();
    let service = TestService::start(&database).await;
    let alpha = &both.alpha.principal;
    let (_, token) = service.token(alpha, &Scope::ALL, None).await;
    let secret = token.rsplit('_').next().unwrap().to_owned();

    let ring = KeyRing::derive(b"a key of the tests, long enough for one", []).unwrap();
    let sealed = ring.seal(alpha.organization, SecretPurpose::WebhookSecret, "end_1", STORED.as_bytes()).unwrap();
    let mut tx = database.store.begin_change(alpha).await.unwrap();
    tx.put_secret(SecretPurpose::WebhookSecret, "end_1", &sealed, NOW).await.unwrap();
    tx.commit().await.unwrap();

    let mut credentials = credentials(&service, &token).await;
    arguments(&service, &token).await;
    // The log cannot be written, then the table is gone, then the credential.
    let mut superuser = database.superuser().await;
    for (breaks, mends) in [
        ("REVOKE INSERT ON sync.audit_events FROM sync_app", "GRANT INSERT ON sync.audit_events TO sync_app"),
        ("ALTER TABLE sync.repositories RENAME TO gone", "ALTER TABLE sync.gone RENAME TO repositories"),
        ("UPDATE sync.tokens SET revoked_at = '2026-11-30 12:00Z'", "SELECT 1"),
    ] {
        superuser.execute(breaks).await.unwrap();
        arguments(&service, &token).await;
        credentials.push(get(&service, "/v1/organization", &format!("Bearer {token}")).await);
        superuser.execute(mends).await.unwrap();
    }
    service.app.refusals.flush(&service.app.store).await;
    service.app.limits.throttled.flush(&service.app.auditor).await;

    let log = Heard::logged();
    assert!(log.contains("sqlx::query") && log.contains("hyper"), "the run is heard");
    let mut rows = Vec::new();
    for table in [
        "sync.audit_events",
        "sync.audit_outcomes",
        "routing.refusals",
        "sync.idempotency_keys",
        "sync.tokens",
        "sync.secrets",
    ] {
        let statement = sqlx::AssertSqlSafe(format!("SELECT to_jsonb(t) FROM {table} t"));
        let found: Vec<Value> = sqlx::query_scalar(statement).fetch_all(&mut superuser).await.unwrap();
        rows.push(serde_json::to_string(&found).unwrap());
    }
    assert!(rows[0].contains("mcp.tools/call:sync_whats_at_risk") && rows[2].contains("bad_jwt"), "{rows:?}");
    let told: Vec<String> = credentials.iter().map(|reply| format!("{reply:?}")).collect();
    for canary in [ARGUMENT, CREDENTIAL, STORED, &secret] {
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(canary)).collect();
        assert!(lines.is_empty(), "the log says {canary}: {lines:#?}");
        assert!(!rows.iter().any(|rows| rows.contains(canary)), "a row holds {canary}: {rows:#?}");
        assert!(!told.iter().any(|told| told.contains(canary)), "{canary} is told: {told:#?}");
    }
    service.stop().await;
    database.finish().await;
}

/// Credentials of every kind that is not accepted, and one that is.
async fn credentials(service: &TestService, token: &str) -> Vec<Reply> {
    let altered = format!("{}{CREDENTIAL}", &token[..token.len() - 20]);
    let claims = r#"{"iss":"https://canaryCredential7b13.example","sub":"x","aud":"y","exp":9999999999}"#;
    let part = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
    let jwt = format!("{}.{}.{CREDENTIAL}", part(r#"{"alg":"ES256","kid":"canaryCredential7b13"}"#), part(claims));
    let mut told = Vec::new();
    for value in [
        format!("Bearer {token}"),
        format!("Bearer {CREDENTIAL}"),
        format!("Bearer sync_{CREDENTIAL}"),
        format!("Bearer {altered}"),
        format!("Bearer {jwt}"),
        format!("Basic {CREDENTIAL}"),
        format!("{CREDENTIAL} {CREDENTIAL}"),
    ] {
        told.push(get(service, "/v1/organization", &value).await);
        told.push(Reply::of(service.client.post(format!("{}/mcp", service.url)).header("authorization", &value)).await);
    }
    // In the address no credential is read.
    told.push(get(service, &format!("/v1/organization?access_token={CREDENTIAL}"), "").await);
    told
}

/// Arguments of every kind of request, well formed and not.
async fn arguments(service: &TestService, token: &str) {
    let bearer = format!("Bearer {token}");
    for arguments in [
        json!({ "path": format!("src/{ARGUMENT}.ts") }),
        json!({ "repository": ARGUMENT }),
        json!({ "severity": ARGUMENT }),
        json!({ ARGUMENT: 1 }),
        json!({ "cursor": ARGUMENT }),
    ] {
        service.call(token, "sync_whats_at_risk", arguments).await;
    }
    service.call(token, ARGUMENT, json!({})).await;
    service.rpc(token, ARGUMENT, json!({ ARGUMENT: ARGUMENT })).await;
    service.rpc(token, "resources/read", json!({ "uri": format!("sync://feed/{ARGUMENT}") })).await;
    service.rpc(token, "prompts/get", json!({ "name": ARGUMENT, "arguments": { "vendor": ARGUMENT } })).await;
    Reply::of(service.post("/mcp", token).body(format!("{{\"{ARGUMENT}"))).await;
    for path in ["/v1/organization?q=", "/v1/members?cursor=", "/v1/members?limit=", "/v1/tokens?principal="] {
        get(service, &format!("{path}{ARGUMENT}"), &bearer).await;
    }
    for body in [json!({ "name": ARGUMENT, "role": ARGUMENT }), json!({ "principal": ARGUMENT, "scopes": [ARGUMENT] })]
    {
        for path in ["/v1/members", "/v1/tokens", "/v1/issuers"] {
            let request = service.client.post(format!("{}{path}", service.url)).header("authorization", &bearer);
            let request = request.header("idempotency-key", ARGUMENT).header("cookie", ARGUMENT);
            Reply::of(request.json(&body)).await;
        }
    }
}

async fn get(service: &TestService, path: &str, authorization: &str) -> Reply {
    Reply::of(service.client.get(format!("{}{path}", service.url)).header("authorization", authorization)).await
}
