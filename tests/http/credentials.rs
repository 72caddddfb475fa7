//! Sync's own tokens: which are accepted, and what is said and written of the others.

use serde_json::json;
use sqlx::Executor as _;
use sync_core::ids::{OrganizationId, TokenId};
use sync_core::principal::Scope;
use sync_server::identity::token;
use sync_store::Store;
use sync_tests::service::{Reply, TestService, audit_log};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};
use time::Duration;

/// For how long a process accepts a token as it last read it, where another process changed something meanwhile. The
/// contract allows sixty seconds.
const SEEN_WITHIN: Duration = Duration::seconds(10);

/// What a client needs in order to get a credential, in every 401.
fn assert_challenge(service: &TestService, reply: &Reply, error: Option<&str>) {
    assert_eq!(reply.status, 401, "{reply:?}");
    let challenge = reply.header("www-authenticate");
    let metadata = format!(r#"resource_metadata="{}/.well-known/oauth-protected-resource/mcp""#, service.url);
    assert!(challenge.starts_with("Bearer ") && challenge.contains(&metadata), "{challenge}");
    assert!(challenge.contains(r#"scope="graph:read""#), "{challenge}");
    match error {
        None => assert!(!challenge.contains("error="), "{challenge}"),
        Some(description) => {
            assert!(challenge.contains(r#"error="invalid_token""#), "{challenge}");
            assert!(challenge.contains(description), "{challenge} does not say {description}");
        }
    }
    let problem = reply.json();
    assert_eq!(reply.header("content-type"), "application/problem+json");
    assert_eq!(reply.header("cache-control"), "no-store");
    assert_eq!(problem["status"], 401);
    assert_eq!(problem["request_id"], reply.header("x-request-id"));
    assert!(!problem["next_step"].as_str().unwrap().is_empty());
}

#[test]
fn credentials_that_are_not_accepted() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let alpha = &both.alpha.principal;
        let good = service.reader(alpha).await;
        assert_eq!(service.rpc(&good, "tools/list", json!({})).await.status, 200);

        let bare = service.client.post(format!("{}/mcp", service.url)).body("{}");
        assert_challenge(&service, &Reply::of(bare.try_clone().unwrap()).await, None);
        // A token in the address is no token.
        let in_address = service.client.post(format!("{}/mcp?access_token={good}", service.url)).body("{}");
        assert_challenge(&service, &Reply::of(in_address).await, None);
        let basic = bare.try_clone().unwrap().header("authorization", "Basic YTpi");
        assert_challenge(&service, &Reply::of(basic).await, Some("`Bearer`"));
        let twice = bare.bearer_auth(&good).header("authorization", format!("Bearer {good}"));
        assert_challenge(&service, &Reply::of(twice).await, Some("`Bearer`"));

        let random = [7; 32];
        let unknown = token::make(alpha.organization, TokenId::at(NOW), random).text;
        let nowhere = token::make(OrganizationId::at(NOW), TokenId::at(NOW), random).text;
        // The id of alpha's good token under beta's organization, and with another secret.
        let id = token::parse(&good).unwrap().id;
        let crossed = token::make(both.beta.principal.organization, id, random).text;
        let guessed = token::make(alpha.organization, id, random).text;
        let mut altered = good.clone();
        altered.replace_range(60..61, if &good[60..61] == "x" { "y" } else { "x" });
        for (credential, description) in [
            ("nonsense", "malformed"),
            ("sync_nonsense", "malformed"),
            ("a.b.c", "malformed"),
            (altered.as_str(), "checksum"),
            (&good[..good.len() - 1], "checksum"),
            (&unknown, "not known"),
            (&nowhere, "not known"),
            (&crossed, "not known"),
            (&guessed, "not known"),
        ] {
            let reply = service.rpc(credential, "tools/list", json!({})).await;
            assert_challenge(&service, &reply, Some(description));
            assert!(!reply.text.contains(&good[57..]), "the credential is not echoed");
        }

        // None of these reached an organization: they are counted, and alpha's log holds only its one good request.
        assert_eq!(audit_log(database, alpha.organization).await.len(), 1);
        assert_eq!(audit_log(database, both.beta.principal.organization).await, []);
        service.app.refusals.flush(&service.app.store).await;
        let mut superuser = database.superuser().await;
        let counted: Vec<(String, i64)> =
            sqlx::query_as("SELECT code, sum(count)::bigint FROM routing.refusals GROUP BY code ORDER BY code")
                .fetch_all(&mut superuser)
                .await
                .unwrap();
        let counted: Vec<(&str, i64)> = counted.iter().map(|(code, count)| (code.as_str(), *count)).collect();
        assert_eq!(
            counted,
            [
                ("bad_authorization", 2),
                ("bad_jwt", 2),
                ("malformed_token", 3),
                ("no_credential", 2),
                ("unknown_token", 4)
            ]
        );
        service.stop().await;
    });
}

#[test]
fn a_revoked_and_an_expired_token_are_refused_and_written_down() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let alpha = &both.alpha.principal;
        let (revoked, revoked_text) = service.token(alpha, &[Scope::GraphRead], None).await;
        let until = NOW + Duration::HOUR;
        let (expired, expired_text) = service.token(alpha, &[Scope::GraphRead], Some(until)).await;
        assert_eq!(service.rpc(&revoked_text, "ping", json!({})).await.status, 200);
        service.clock.set(until - Duration::MILLISECOND);
        assert_eq!(service.rpc(&expired_text, "ping", json!({})).await.status, 200);
        assert_eq!(service.rpc(&revoked_text, "ping", json!({})).await.status, 200);

        // Another process revokes the one. The other ends by itself, at that very instant, however lately it was read.
        let mut tx = database.store.begin(alpha).await.unwrap();
        tx.revoke_token(revoked, NOW).await.unwrap();
        tx.commit().await.unwrap();
        service.clock.set(until);
        assert_challenge(&service, &service.rpc(&expired_text, "ping", json!({})).await, Some("expired"));
        service.clock.set(until - Duration::MILLISECOND + SEEN_WITHIN);
        assert_challenge(&service, &service.rpc(&revoked_text, "ping", json!({})).await, Some("revoked"));

        let refused: Vec<_> = audit_log(database, alpha.organization)
            .await
            .into_iter()
            .filter(|row| row.action == "mcp.authenticate")
            .map(|row| (row.outcome.unwrap(), row.code.unwrap(), row.credential_id.unwrap()))
            .collect();
        let refusal = |code: &str, id: TokenId| ("refused".to_owned(), code.to_owned(), id.to_string());
        assert_eq!(refused, [refusal("token_expired", expired), refusal("token_revoked", revoked)]);
        service.stop().await;
    });
}

#[test]
fn members_and_organizations_that_are_shut_out() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let mut superuser = database.superuser().await;
        for (principal, statement, description) in [
            (&both.alpha.principal, "UPDATE sync.principals SET disabled_at = '2026-11-30 12:00Z'", "disabled"),
            (&both.beta.principal, "UPDATE routing.organizations SET state = 'suspended'", "suspended"),
        ] {
            let token = service.reader(principal).await;
            if description == "suspended" {
                superuser.execute("UPDATE sync.principals SET disabled_at = NULL").await.unwrap();
            }
            assert_eq!(service.rpc(&token, "ping", json!({})).await.status, 200);
            superuser.execute(statement).await.unwrap();
            service.clock.advance(SEEN_WITHIN);
            assert_challenge(&service, &service.rpc(&token, "ping", json!({})).await, Some(description));
        }
        service.stop().await;
    });
}

#[test]
fn a_token_without_the_scope_is_told_which_it_lacks() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let alpha = &both.alpha.principal;
        let (_, text) = service.token(alpha, &[Scope::TelemetryWrite], None).await;
        let reply = service.rpc(&text, "tools/list", json!({})).await;
        assert_eq!(reply.status, 403);
        let challenge = reply.header("www-authenticate");
        assert!(challenge.contains(r#"error="insufficient_scope""#) && challenge.contains(r#"scope="graph:read""#));
        assert!(challenge.contains("resource_metadata="), "{challenge}");
        let rows = audit_log(database, alpha.organization).await;
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].action.as_str(), rows[0].code.as_deref()), ("mcp.authorize", Some("forbidden")));
        // `admin` carries it.
        let (_, admin) = service.token(alpha, &[Scope::Admin], None).await;
        assert_eq!(service.rpc(&admin, "tools/list", json!({})).await.status, 200);
        service.stop().await;
    });
}

#[test]
fn a_store_that_is_down_is_never_a_bad_credential() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let store = Store::connect(&database.app_url, TestDatabase::pool()).await.unwrap();
        let service = TestService::start_with(store.clone(), &[], |answers| answers).await;
        let text = service.reader(&both.alpha.principal).await;
        store.close().await;

        let listed = service.rpc(&text, "tools/list", json!({})).await;
        assert_eq!((listed.status, listed.header("retry-after")), (503, "2"));
        assert_eq!(listed.json()["code"], "unavailable");
        let called = service.call(&text, "sync_repositories", json!({})).await;
        assert_eq!((called.status, called.header("retry-after")), (200, "2"));
        let error = called.tool_error();
        assert_eq!((&error["code"], &error["details"]["retry_after_s"]), (&json!("unavailable"), &json!(2)));
        assert!(called.json()["result"].get("structuredContent").is_none());
        let modern = service.modern(&text, "tools/call", json!({ "name": "sync_repositories" })).await;
        assert_eq!(modern.json()["result"]["resultType"], "complete");

        let ready = Reply::of(service.client.get(format!("{}/readyz", service.url))).await;
        assert_eq!((ready.status, &ready.json()["status"]), (503, &json!("not_ready")));
        assert!(ready.json()["checks"]["store"].as_str().unwrap().contains("; next: "));
        let live = Reply::of(service.client.get(format!("{}/livez", service.url))).await;
        assert_eq!(live.status, 200);
        service.stop().await;
    });
}
