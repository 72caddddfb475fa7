//! `/v1`: one way in for every operation, and what is said and written down on it.

use serde_json::{Value, json};
use sync_core::principal::Scope;
use sync_tests::service::{Reply, TestService, audit_log};
use sync_tests::{TestDatabase, TwoOrganizations, with_database};

async fn get(service: &TestService, path: &str, token: &str) -> Reply {
    Reply::of(service.client.get(format!("{}{path}", service.url)).bearer_auth(token)).await
}

#[test]
fn a_read_is_answered_and_written_down() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let alpha = &both.alpha.principal;
        let (id, token) = service.token(alpha, &[Scope::AuditRead, Scope::TelemetryWrite], None).await;
        let reply = get(&service, "/v1/organization", &token).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, "application/json"), "{reply:?}");
        assert_eq!((reply.header("cache-control"), reply.header("x-content-type-options")), ("no-store", "nosniff"));
        assert_eq!(
            reply.json(),
            json!({
                "id": alpha.organization, "name": "alpha", "display_name": null,
                "principal": {
                    "id": alpha.id, "name": alpha.name, "kind": "user", "role": alpha.role,
                    "scopes": ["telemetry:write", "audit:read"], "reads_all": true,
                },
            })
        );
        let rows = audit_log(database, alpha.organization).await;
        assert_eq!(rows.len(), 1, "{rows:?}");
        let row = &rows[0];
        assert_eq!((row.action.as_str(), row.outcome.as_deref()), ("rest.get_organization", Some("ok")));
        assert_eq!((row.protocol.as_str(), row.code.as_deref()), ("rest", None));
        assert_eq!(row.credential_id.as_deref(), Some(id.to_string().as_str()));
        assert_eq!(format!("req_{}", row.request_id.simple()), reply.header("x-request-id"));
        service.stop().await;
    });
}

#[test]
fn what_is_refused_is_a_problem_and_is_written_down_once() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let alpha = &both.alpha.principal;
        let (_, spans) = service.token(alpha, &[Scope::TelemetryWrite], None).await;
        let (expired, old) = service.token(alpha, &[Scope::GraphRead], Some(sync_tests::NOW)).await;
        let token = service.reader(alpha).await;
        let at = format!("{}/v1/organization", service.url);

        // Of nobody: counted.
        for (request, code) in [
            (service.client.get(&at), "no_credential"),
            (service.client.get(&at).bearer_auth("nonsense"), "bad_jwt"),
            (service.client.get(&at).header("host", "evil.example.com").bearer_auth(&token), "foreign_host"),
        ] {
            let reply = Reply::of(request).await;
            let problem = reply.json();
            assert_eq!((&problem["code"], reply.header("content-type")), (&json!(code), "application/problem+json"));
            assert_eq!(problem["request_id"], reply.header("x-request-id"));
            assert_eq!(problem["status"], reply.status);
        }
        assert_eq!(audit_log(database, alpha.organization).await, []);

        // Of a principal: one row each, of the operation that was asked.
        for (reply, status, code) in [
            (get(&service, "/v1/organization", &old).await, 401, "token_expired"),
            (get(&service, "/v1/organization", &spans).await, 403, "forbidden"),
            (get(&service, "/v1/organization?no=1", &token).await, 400, "invalid_argument"),
        ] {
            assert_eq!((reply.status, &reply.json()["code"]), (status, &json!(code)), "{reply:?}");
            assert_eq!(reply.header("www-authenticate").contains("resource_metadata="), status != 400, "{reply:?}");
        }
        let rows = audit_log(database, alpha.organization).await;
        let told: Vec<_> =
            rows.iter().map(|row| (row.action.as_str(), row.outcome.as_deref(), row.code.as_deref())).collect();
        let refused = |code| ("rest.get_organization", Some("refused"), Some(code));
        assert_eq!(told, [refused("token_expired"), refused("forbidden"), refused("invalid_argument")]);
        assert_eq!(rows[0].credential_id.as_deref(), Some(expired.to_string().as_str()));
        service.stop().await;
    });
}

#[test]
fn without_an_audit_row_nothing_is_answered() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = service.reader(&both.alpha.principal).await;
        let mut superuser = database.superuser().await;
        sqlx::Executor::execute(&mut superuser, "REVOKE INSERT ON sync.audit_events FROM sync_app").await.unwrap();
        for path in ["/v1/organization", "/v1/organization?no=1"] {
            let reply = get(&service, path, &token).await;
            assert_eq!((reply.status, reply.header("retry-after")), (503, "2"), "{reply:?}");
            assert!(!reply.text.contains("alpha"), "{reply:?}");
        }
        service.stop().await;
    });
}

#[test]
fn the_description_is_served_to_everybody() {
    with_database(async |database: &TestDatabase| {
        let service = TestService::start(database).await;
        let reply = Reply::of(service.client.get(format!("{}/openapi.json", service.url))).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, "application/json"));
        assert_eq!(reply.text, include_str!("../../openapi/sync.v1.json"));
        let described: Value = reply.json();
        assert_eq!(described["openapi"], "3.1.0");
        assert!(described["paths"]["/v1/organization"]["get"]["responses"]["503"].is_object());
        let other = Reply::of(service.client.put(format!("{}/v1/organization", service.url))).await;
        assert_eq!((other.status, other.header("allow")), (405, "GET,HEAD,PATCH"), "{other:?}");
        service.stop().await;
    });
}
