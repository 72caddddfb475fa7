//! Things that break while a question is answered: no answer leaves unwritten, and nobody waits forever.

use std::sync::Arc;

use serde_json::json;
use sqlx::{Connection as _, Executor as _};
use sync_tests::service::{TestService, audit_log};
use sync_tests::{TestDatabase, TwoOrganizations, with_database};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::held::Held;

#[test]
fn without_an_audit_row_no_answer_leaves() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = service.reader(&both.alpha.principal).await;
        let mut superuser = database.superuser().await;
        superuser.execute("REVOKE INSERT ON sync.audit_events FROM sync_app").await.unwrap();

        for arguments in [json!({}), json!({ "repository": "no/such" }), json!({ "limit": 0 })] {
            let reply = service.call(&token, "sync_whats_at_risk", arguments.clone()).await;
            assert_eq!(reply.tool_error()["code"], "unavailable", "{arguments}: {reply:?}");
            assert!(!reply.text.contains("canary"), "{reply:?}");
        }
        for (method, params) in [
            ("tools/list", json!({})),
            ("resources/list", json!({})),
            ("prompts/get", json!({ "name": "sync_upgrade_plan", "arguments": { "vendor": "stripe" } })),
            ("nothing/at/all", json!({})),
        ] {
            let reply = service.rpc(&token, method, params).await;
            assert_eq!((reply.status, reply.header("retry-after")), (503, "2"), "{method}: {reply:?}");
            assert_eq!(reply.json()["code"], "unavailable", "{method}");
        }
        assert_eq!(audit_log(database, both.alpha.principal.organization).await, []);

        superuser.execute("GRANT INSERT ON sync.audit_events TO sync_app").await.unwrap();
        let reply = service.call(&token, "sync_whats_at_risk", json!({})).await;
        assert_eq!(reply.json()["result"]["isError"], false, "{reply:?}");
        assert_eq!(audit_log(database, both.alpha.principal.organization).await.len(), 1);
        service.stop().await;
    });
}

#[test]
fn a_log_that_is_locked_is_not_waited_for() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = service.reader(&both.alpha.principal).await;
        let mut superuser = database.superuser().await;
        let mut lock = superuser.begin().await.unwrap();
        lock.execute("LOCK TABLE sync.audit_events IN ACCESS EXCLUSIVE MODE").await.unwrap();
        let reply = service.call(&token, "sync_repositories", json!({})).await;
        let error = reply.tool_error();
        assert_eq!((&error["code"], &error["details"]["retry_after_s"]), (&json!("unavailable"), &json!(2)));
        lock.rollback().await.unwrap();
        let reply = service.call(&token, "sync_repositories", json!({})).await;
        assert_eq!(reply.json()["result"]["isError"], false, "{reply:?}");
        // The question that was given up may have its row, but never an answer without one, nor two rows.
        let rows = audit_log(database, both.alpha.principal.organization).await;
        let ids: std::collections::BTreeSet<_> = rows.iter().map(|row| row.request_id).collect();
        assert_eq!(ids.len(), rows.len(), "{rows:?}");
        service.stop().await;
    });
}

#[test]
fn a_panic_is_an_error_that_is_written_down() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service =
            TestService::start_with(database.store.clone(), &[], |inner| Arc::new(Held::panicking().over(inner))).await;
        let token = service.reader(&both.alpha.principal).await;
        let reply = service.call(&token, "sync_repositories", json!({})).await;
        assert_eq!((reply.status, &reply.tool_error()["code"]), (200, &json!("internal")));
        assert!(!reply.text.contains("a defect"), "what broke is no business of the caller: {reply:?}");
        assert_eq!(service.call(&token, "sync_whats_at_risk", json!({})).await.json()["result"]["isError"], false);
        let rows = audit_log(database, both.alpha.principal.organization).await;
        let row = &rows[0];
        assert_eq!((row.action.as_str(), row.outcome.as_deref()), ("mcp.tools/call:sync_repositories", Some("error")));
        assert_eq!((row.code.as_deref(), rows.len()), (Some("internal"), 2));
        service.stop().await;
    });
}

#[test]
fn an_answer_that_does_not_come_is_given_up() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let (held, handle) = Held::new();
        let service = TestService::start_with(database.store.clone(), &[], |inner| Arc::new(held.over(inner))).await;
        let token = service.reader(&both.alpha.principal).await;
        // Never released: the guard around the handler ends it.
        let reply = service.call(&token, "sync_repositories", json!({})).await;
        handle.reached().await;
        assert_ne!(reply.tool_error()["code"], json!(null), "{reply:?}");
        assert_eq!(service.call(&token, "sync_whats_at_risk", json!({})).await.json()["result"]["isError"], false);
        service.stop().await;
    });
}

#[test]
fn a_client_that_leaves_is_written_down_all_the_same() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let (held, handle) = Held::new();
        let service = TestService::start_with(database.store.clone(), &[], |inner| Arc::new(held.over(inner))).await;
        let token = service.reader(&both.alpha.principal).await;
        let address = service.url.trim_start_matches("http://").to_owned();
        let body =
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sync_repositories","arguments":{}}}"#;
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut connection = TcpStream::connect(&address).await.unwrap();
        connection.write_all(request.as_bytes()).await.unwrap();
        handle.reached().await;
        // Closed for both directions while the answer is being made; the service notices and drops its handler.
        connection.shutdown().await.unwrap();
        drop(connection);
        let mut other = TcpStream::connect(&address).await.unwrap();
        other.write_all(b"GET /livez HTTP/1.0\r\n\r\n").await.unwrap();
        let mut text = String::new();
        other.read_to_string(&mut text).await.unwrap();
        assert!(text.starts_with("HTTP/1.0 200"), "{text}");
        handle.release();
        // The work is done when the service has ended, and its row is there.
        service.stop().await;
        let rows = audit_log(database, both.alpha.principal.organization).await;
        assert_eq!(rows.len(), 1);
        assert_eq!(
            (rows[0].action.as_str(), rows[0].outcome.as_deref()),
            ("mcp.tools/call:sync_repositories", Some("ok"))
        );
    });
}
