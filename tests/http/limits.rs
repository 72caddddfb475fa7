//! How much may be asked, and by whom.

use serde_json::json;
use sync_core::ids::PrincipalId;
use sync_core::principal::{Principal, PrincipalKind, Role, Scope};
use sync_store::{NewMember, Plan};
use sync_tests::service::{Reply, TestService, audit_log};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};
use time::Duration;

async fn ask(service: &TestService, token: &str) -> Reply {
    Reply::of(service.client.get(format!("{}/v1/organization", service.url)).bearer_auth(token)).await
}

async fn limited(database: &TestDatabase, settings: &[(&str, &str)]) -> (TwoOrganizations, TestService) {
    let both = TwoOrganizations::create(&database.store).await.unwrap();
    (both, TestService::start_with(database.store.clone(), settings, |answers| answers).await)
}

#[test]
fn a_principal_that_asks_too_much_is_told_when_to_come_back_and_nobody_else_is_concerned() {
    with_database(async |database: &TestDatabase| {
        let (both, service) = limited(database, &[("SYNC_PRINCIPAL_REQUESTS_PER_MINUTE", "3")]).await;
        let (alpha, beta) = (&both.alpha.principal, &both.beta.principal);
        let (token, other) = (service.reader(alpha).await, service.reader(beta).await);
        for left in [2, 1, 0] {
            let reply = ask(&service, &token).await;
            assert_eq!(reply.status, 200);
            assert!(reply.header("ratelimit").starts_with(&format!("\"principal\";r={left};t=")), "{reply:?}");
            let policy = "\"principal\";q=3;w=60, \"organization\";q=1000000000;w=60";
            assert_eq!(reply.header("ratelimit-policy"), policy);
        }
        for _ in 0..4 {
            let reply = ask(&service, &token).await;
            assert_eq!((reply.status, &reply.json()["code"]), (429, &json!("rate_limited")), "{reply:?}");
            assert_eq!((reply.header("retry-after"), reply.header("content-type")), ("20", "application/problem+json"));
            assert!(reply.header("ratelimit").starts_with("\"principal\";r=0;t=60"), "{reply:?}");
        }
        // The same principal comes by MCP: an agent sees why its tool does not answer.
        let called = service.call(&token, "sync_repositories", json!({})).await;
        assert_eq!((called.status, called.header("retry-after")), (200, "20"));
        let error = called.tool_error();
        assert_eq!((&error["code"], &error["details"]["retry_after_s"]), (&json!("rate_limited"), &json!(20)));
        assert_eq!(service.rpc(&token, "tools/list", json!({})).await.status, 429);
        assert_eq!(ask(&service, &other).await.status, 200);

        // Three answers, the first refusal of each protocol as itself, the others as a number.
        let told = async || -> Vec<(String, Option<String>)> {
            let log = audit_log(database, alpha.organization).await;
            log.into_iter().map(|row| (row.action, row.code)).collect()
        };
        let row = |action: &str, code: Option<&str>| (action.to_owned(), code.map(str::to_owned));
        let mut expected = vec![row("rest.get_organization", None); 3];
        expected.push(row("rest.rate_limited", Some("rate_limited")));
        expected.push(row("mcp.rate_limited", Some("rate_limited")));
        assert_eq!(told().await, expected);
        service.app.limits.throttled.flush(&service.app.auditor).await;
        service.app.limits.throttled.flush(&service.app.auditor).await;
        let mut superuser = database.superuser().await;
        let counted: Vec<(String, i64)> = sqlx::query_as(
            "SELECT action, rows FROM sync.audit_events WHERE action LIKE '%rate_limited' AND rows IS NOT NULL ORDER BY 1",
        )
        .fetch_all(&mut superuser)
        .await
        .unwrap();
        assert_eq!(counted, [("mcp.rate_limited".to_owned(), 1), ("rest.rate_limited".to_owned(), 3)]);

        service.clock.advance(Duration::seconds(20));
        assert_eq!(ask(&service, &token).await.status, 200);
        assert_eq!(ask(&service, &token).await.status, 429);
        service.stop().await;
    });
}

#[test]
fn members_of_an_organization_share_its_quota() {
    with_database(async |database: &TestDatabase| {
        let (both, service) = limited(database, &[("SYNC_ORGANIZATION_REQUESTS_PER_MINUTE", "2")]).await;
        let alpha = &both.alpha.principal;
        let second = Principal { id: PrincipalId::at(NOW), name: "second".to_owned(), ..alpha.clone() };
        let mut tx = database.store.begin(alpha).await.unwrap();
        let member = NewMember {
            id: second.id,
            name: "second",
            kind: PrincipalKind::User,
            role: Role::Owner,
            identity: None,
            reads_all: true,
        };
        tx.create_member(&member, NOW).await.unwrap();
        tx.commit().await.unwrap();
        let tokens = [service.reader(alpha).await, service.reader(&second).await];
        assert_eq!(ask(&service, &tokens[0]).await.status, 200);
        assert_eq!(ask(&service, &tokens[1]).await.status, 200);
        let reply = ask(&service, &tokens[1]).await;
        assert_eq!((reply.status, reply.header("retry-after")), (429, "30"));
        assert!(reply.json()["detail"].as_str().unwrap().contains("organization"), "{reply:?}");
        service.stop().await;
    });
}

#[test]
fn the_plan_says_how_much_its_organization_may_ask_and_no_other() {
    with_database(async |database: &TestDatabase| {
        let (both, service) = limited(database, &[]).await;
        let (alpha, beta) = (&both.alpha.principal, &both.beta.principal);
        let on_plan = async |requests_per_minute: Option<u64>| {
            let mut tx = database.store.begin(alpha).await.unwrap();
            let plan = Plan { name: "small".to_owned(), requests_per_minute, ..Plan::default() };
            tx.set_plan(&plan, NOW).await.unwrap();
            tx.commit().await.unwrap();
        };
        on_plan(Some(2)).await;
        let (token, other) = (service.reader(alpha).await, service.reader(beta).await);
        for left in [1, 0] {
            let reply = ask(&service, &token).await;
            assert_eq!(reply.status, 200, "{reply:?}");
            assert!(reply.header("ratelimit-policy").contains("\"organization\";q=2;w=60"), "{reply:?}");
            assert!(reply.header("ratelimit").contains(&format!("\"organization\";r={left};t=")), "{reply:?}");
        }
        let over = ask(&service, &token).await;
        assert_eq!((over.status, over.header("retry-after")), (429, "30"), "{over:?}");
        assert!(over.json()["detail"].as_str().unwrap().contains("More than 2 requests a minute"), "{over:?}");
        let called = service.call(&token, "sync_repositories", json!({})).await;
        assert_eq!(called.tool_error()["code"], "rate_limited", "{called:?}");
        for _ in 0..5 {
            let reply = ask(&service, &other).await;
            assert_eq!(reply.status, 200, "another organization's plan is not concerned: {reply:?}");
        }

        // A larger plan holds for the requests after the first that is let through again.
        on_plan(Some(600)).await;
        service.clock.advance(Duration::seconds(30));
        assert_eq!(ask(&service, &token).await.status, 200);
        service.clock.advance(Duration::SECOND);
        let reply = ask(&service, &token).await;
        assert!(reply.header("ratelimit-policy").contains("\"organization\";q=600;w=60"), "{reply:?}");
        assert_eq!(reply.status, 200);
        service.stop().await;
    });
}

#[test]
fn strangers_are_counted_by_address_and_accepted_credentials_are_not_held_up_by_them() {
    with_database(async |database: &TestDatabase| {
        let (both, service) = limited(database, &[("SYNC_STRANGER_REQUESTS_PER_MINUTE", "3")]).await;
        let (id, token) = service.token(&both.alpha.principal, &[Scope::GraphRead], None).await;
        assert_eq!(ask(&service, &token).await.status, 200);
        for guess in ["a", "b", "c"] {
            assert_eq!(ask(&service, guess).await.status, 401);
        }
        let reply = ask(&service, "d").await;
        assert_eq!((reply.status, &reply.json()["code"]), (429, &json!("rate_limited")), "{reply:?}");
        assert_eq!(reply.header("retry-after"), "20");
        assert_eq!(ask(&service, &token).await.status, 200);
        // Without any credential nothing is tried, and nothing is spent.
        let bare = Reply::of(service.client.get(format!("{}/v1/organization", service.url))).await;
        assert_eq!(bare.status, 401);
        // A credential that is accepted no more is a stranger's.
        let mut tx = database.store.begin(&both.alpha.principal).await.unwrap();
        tx.revoke_token(id, NOW).await.unwrap();
        tx.commit().await.unwrap();
        // What another process changed is seen within ten seconds.
        service.clock.advance(Duration::seconds(10));
        assert_eq!(ask(&service, &token).await.status, 401);
        assert_eq!(ask(&service, &token).await.status, 429);
        service.stop().await;
    });
}

#[test]
fn pages_of_accepted_origins_may_call() {
    with_database(async |database: &TestDatabase| {
        let (both, service) = limited(database, &[("SYNC_ALLOWED_ORIGINS", r#"["https://app.example.com"]"#)]).await;
        let token = service.reader(&both.alpha.principal).await;
        for path in ["/v1/organization", "/mcp"] {
            let preflight = |origin: &'static str| {
                let request = service.client.request(reqwest::Method::OPTIONS, format!("{}{path}", service.url));
                request.header("origin", origin).header("access-control-request-method", "GET")
            };
            let asked = Reply::of(preflight("https://app.example.com")).await;
            assert_eq!((asked.status, asked.header("access-control-allow-origin")), (200, "https://app.example.com"));
            assert!(asked.header("access-control-allow-headers").contains("idempotency-key"), "{asked:?}");
            let foreign = Reply::of(preflight("https://evil.example.com")).await;
            assert_eq!(foreign.header("access-control-allow-origin"), "");
        }
        let called = service.client.get(format!("{}/v1/organization", service.url)).bearer_auth(&token);
        let called = Reply::of(called.header("origin", "https://app.example.com")).await;
        assert_eq!((called.status, called.header("access-control-allow-origin")), (200, "https://app.example.com"));
        assert!(called.header("access-control-expose-headers").contains("x-request-id"), "{called:?}");
        service.stop().await;
    });
}
