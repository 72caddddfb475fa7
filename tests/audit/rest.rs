//! The log over `/v1`: read, exported, proven; and that whoever does so is in it.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sync_core::clock::Clock as _;
use sync_core::principal::{Principal, Scope};
use sync_server::audit::heads;
use sync_server::audit::verify::verify;
use sync_tests::service::{Reply, TestService, audit_log};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};
use time::Duration;

use super::{Log, event, said};

async fn get(service: &TestService, path: &str, token: &str) -> Reply {
    Reply::of(service.client.get(format!("{}{path}", service.url)).bearer_auth(token)).await
}

async fn auditor(service: &TestService, principal: &Principal) -> String {
    service.token(principal, &[Scope::AuditRead], None).await.1
}

#[test]
fn the_log_is_listed_by_pages_and_filters_and_that_is_in_it() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let alpha = &both.alpha.principal;
        let token = auditor(&service, alpha).await;
        let log = Log::of(database, alpha).await;
        let ids = log.write(5, NOW - Duration::HOUR).await;
        log.seal(NOW).await;
        let mut tx = database.store.begin(alpha).await.unwrap();
        let about = sync_store::AuditEvent {
            principal: Some(alpha.id),
            principal_name: Some("Grace".to_owned()),
            action: "mcp.tools/call:sync_explain_call_site".to_owned(),
            outcome: Some(sync_store::Outcome::Refused),
            code: Some("forbidden".to_owned()),
            repository: Some((both.alpha.repository, "acme/billing".to_owned())),
            ..event(NOW - Duration::MINUTE)
        };
        tx.record_event(&about).await.unwrap();
        tx.commit().await.unwrap();

        let mut seen = Vec::new();
        let mut at = "/v1/audit?limit=2&to=2026-11-30T12:00:00Z".to_owned();
        loop {
            let page = get(&service, &at, &token).await;
            assert_eq!(page.status, 200, "{page:?}");
            let page = page.json();
            seen.extend(
                page["items"].as_array().unwrap().iter().map(|row| row["event_id"].as_str().unwrap().to_owned()),
            );
            match page["next_cursor"].as_str() {
                Some(cursor) => at = format!("/v1/audit?limit=2&to=2026-11-30T12:00:00Z&cursor={cursor}"),
                None => break,
            }
        }
        let newest_first: Vec<String> =
            [about.event_id].iter().chain(ids.iter().rev()).map(ToString::to_string).collect();
        assert_eq!(seen, newest_first);

        let only = async |query: &str| {
            let reply = get(&service, &format!("/v1/audit?{query}"), &token).await;
            assert_eq!(reply.status, 200, "{query}: {reply:?}");
            reply.json()["items"].as_array().unwrap().clone()
        };
        for query in [
            format!("principal={}", alpha.id),
            "principal=Grace".to_owned(),
            format!("repository={}", both.alpha.repository),
            "repository=acme/billing".to_owned(),
            "action=mcp.tools/call:sync_explain_call_site".to_owned(),
            "outcome=refused".to_owned(),
            "from=2026-11-30T11:59:00Z&to=2026-11-30T11:59:01Z".to_owned(),
        ] {
            let to = if query.contains("to=") { "" } else { "&to=2026-11-30T12:00:00Z" };
            let rows = only(&format!("{query}{to}")).await;
            let found: Vec<&Value> = rows.iter().map(|row| &row["event_id"]).collect();
            assert_eq!(found, [&json!(about.event_id)], "{query}");
        }
        let row = &only("outcome=refused").await[0];
        assert_eq!(
            (&row["principal"], &row["code"], &row["sealed_in"], &row["time"]),
            (&json!("Grace"), &json!("forbidden"), &Value::Null, &json!("2026-11-30T11:59:00.000Z"))
        );
        let sealed = &only("to=2026-11-30T11:30:00Z&limit=1").await[0];
        assert_eq!((&sealed["sealed_in"], &sealed["client_ip"]), (&json!(1), &json!("192.0.2.7")));
        assert_eq!(only("principal=nobody").await, Vec::<Value>::new());
        // Reading the log is in the log.
        let own = only("action=rest.list_audit_events&limit=200").await;
        let rows = audit_log(database, alpha.organization).await;
        let read = rows.iter().filter(|row| row.action == "rest.list_audit_events").count();
        assert_eq!(own.len(), read - 1);
        assert!(own.iter().all(|row| row["outcome"] == "ok"));

        for (query, status) in [
            ("limit=0", 422),
            ("limit=201", 422),
            ("from=yesterday", 422),
            ("principal=", 422),
            ("outcome=no", 400),
            ("cursor=x", 400),
            ("nothing=1", 400),
        ] {
            let reply = get(&service, &format!("/v1/audit?{query}"), &token).await;
            assert_eq!(reply.status, status, "{query}: {reply:?}");
        }
        // A cursor is good for its own question only.
        let page = get(&service, "/v1/audit?limit=1", &token).await.json();
        let cursor = page["next_cursor"].as_str().unwrap();
        let reply = get(&service, &format!("/v1/audit?limit=1&outcome=ok&cursor={cursor}"), &token).await;
        assert_eq!(reply.json()["code"], "cursor_expired");

        // Who may not read the log, and another organization, see none of it.
        let reader = service.reader(alpha).await;
        assert_eq!(get(&service, "/v1/audit", &reader).await.status, 403);
        let other = auditor(&service, &both.beta.principal).await;
        let theirs = get(&service, "/v1/audit", &other).await;
        assert_eq!(theirs.json()["items"], json!([]));
        service.stop().await;
    });
}

/// The lines of an export and its end.
fn read_export(text: &str) -> (Vec<Value>, Value) {
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let end = lines.pop().unwrap()["end"].clone();
    (lines, end)
}

#[test]
fn an_export_is_of_one_moment_and_is_written_down_before_and_after() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let alpha = &both.alpha.principal;
        let token = auditor(&service, alpha).await;
        let log = Log::of(database, alpha).await;
        // More than one page of it.
        let mut tx = database.store.begin(alpha).await.unwrap();
        let mut ids = BTreeSet::new();
        for n in 0..1201 {
            let event = event(NOW - Duration::HOUR + Duration::milliseconds(n));
            tx.record_event(&event).await.unwrap();
            ids.insert(event.event_id.to_string());
        }
        tx.commit().await.unwrap();
        log.seal(NOW).await;
        // Not ended when the export begins, and so not in it, though it says that it is older.
        log.settle().await;
        let mut open = database.store.begin(alpha).await.unwrap();
        open.record_event(&event(NOW - Duration::HOUR)).await.unwrap();
        // Ended, and newer than what is open: left out too, which the end says.
        log.write(1, NOW - Duration::MINUTE).await;
        let reply = get(&service, "/v1/audit/export?to=2026-11-30T12:00:00Z", &token).await;
        open.commit().await.unwrap();
        assert_eq!((reply.status, reply.header("content-type")), (200, "application/x-ndjson"), "{}", reply.status);
        let (rows, end) = read_export(&reply.text);
        let given: Vec<String> = rows.iter().map(|row| row["event_id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(given.iter().cloned().collect::<BTreeSet<_>>(), ids);
        assert!(given.is_sorted(), "the oldest first");
        assert_eq!((&end["rows"], &end["complete"]), (&json!(1201), &json!(true)));
        assert_eq!(end["newer_from"], "2026-11-30T11:59:00.000Z");
        // The head is a signed one, which the log leads to.
        let (left, _) = heads::read(&end["head"].to_string());
        assert_eq!(left[0].head.rows, 1201);
        let report = verify(&database.store, &log.keys, alpha.organization, &left).await.unwrap();
        assert!(report.is_whole(), "{}", said(&report));

        log.settle().await;
        let table = get(&service, "/v1/audit/export?format=csv&to=2026-11-30T11:00:00.002Z", &token).await;
        assert_eq!(table.header("content-type"), "text/csv; charset=utf-8");
        let lines: Vec<&str> = table.text.lines().collect();
        assert!(lines[0].starts_with("event_id,time,principal_id,principal,"), "{}", lines[0]);
        // Two of the many, and the one that was open.
        assert_eq!(lines.len(), 1 + 3 + 1);
        assert!(lines[4].starts_with("# {\"end\":{"), "{}", lines[4]);

        service.stop().await;
        let mut superuser = database.superuser().await;
        let outcomes: Vec<(String, Option<String>, String, i64)> = sqlx::query_as(
            "SELECT e.action, e.outcome, o.outcome, o.rows FROM sync.audit_events e
             JOIN sync.audit_outcomes o USING (organization_id, time, event_id) ORDER BY o.xid",
        )
        .fetch_all(&mut superuser)
        .await
        .unwrap();
        let exported = |rows| ("rest.export_audit_log".to_owned(), None, "ok".to_owned(), rows);
        assert_eq!(outcomes, [exported(1201), exported(3)]);
    });
}

#[test]
fn an_export_whose_reader_leaves_says_so() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let alpha = &both.alpha.principal;
        let token = auditor(&service, alpha).await;
        // More than sockets and channels hold.
        let mut tx = database.store.begin(alpha).await.unwrap();
        for n in 0..20_000 {
            let event = sync_store::AuditEvent {
                action: "x".repeat(1000),
                ..event(NOW - Duration::HOUR + Duration::milliseconds(n))
            };
            tx.record_event(&event).await.unwrap();
        }
        tx.commit().await.unwrap();
        Log::of(database, alpha).await.settle().await;
        let request = service.client.get(format!("{}/v1/audit/export", service.url)).bearer_auth(&token);
        let mut response = request.send().await.unwrap();
        assert!(response.chunk().await.unwrap().is_some());
        drop(response);
        service.stop().await;
        let outcome: (String, Option<String>) = sqlx::query_as("SELECT outcome, code FROM sync.audit_outcomes")
            .fetch_one(&mut database.superuser().await)
            .await
            .unwrap();
        assert_eq!(outcome, ("error".to_owned(), Some("client_left".to_owned())));
    });
}

#[test]
fn without_its_row_no_export_begins() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = auditor(&service, &both.alpha.principal).await;
        let mut superuser = database.superuser().await;
        sqlx::Executor::execute(&mut superuser, "REVOKE INSERT ON sync.audit_events FROM sync_app").await.unwrap();
        for path in ["/v1/audit/export", "/v1/audit", "/v1/audit/proof?event=evt_00000000000070008000000000000001"] {
            let reply = get(&service, path, &token).await;
            assert_eq!((reply.status, reply.header("retry-after")), (503, "2"), "{path}: {reply:?}");
        }
        let ready = Reply::of(service.client.get(format!("{}/readyz", service.url))).await;
        assert_eq!((ready.status, &ready.json()["checks"]["store"]), (503, &json!("ok")), "{ready:?}");
        assert!(ready.json()["checks"]["audit"].as_str().unwrap().contains("; next: "), "{ready:?}");
        sqlx::Executor::execute(&mut superuser, "GRANT INSERT (event_id) ON sync.audit_events TO sync_app")
            .await
            .unwrap();
        let ready = Reply::of(service.client.get(format!("{}/readyz", service.url))).await;
        assert_eq!(ready.status, 200, "{ready:?}");
        service.stop().await;
    });
}

#[test]
fn a_log_that_is_locked_is_not_waited_for_and_answers_come_back_at_once() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = auditor(&service, &both.alpha.principal).await;
        let mut superuser = database.superuser().await;
        let mut lock = sqlx::Connection::begin(&mut superuser).await.unwrap();
        sqlx::Executor::execute(&mut *lock, "LOCK TABLE sync.audit_events IN ACCESS EXCLUSIVE MODE").await.unwrap();
        for path in ["/v1/audit", "/v1/audit/export", "/v1/organization"] {
            let reply = get(&service, path, &token).await;
            assert_eq!((reply.status, reply.header("retry-after")), (503, "2"), "{path}: {reply:?}");
            assert_eq!(
                (&reply.json()["code"], reply.header("content-type")),
                (&json!("unavailable"), "application/problem+json")
            );
        }
        lock.rollback().await.unwrap();
        for path in ["/v1/audit", "/v1/audit/export", "/v1/organization"] {
            let reply = get(&service, path, &token).await;
            assert_eq!(reply.status, 200, "{path}: {reply:?}");
        }
        service.stop().await;
        // What was given up may have its row; none has two, and no export began without one.
        let rows = audit_log(database, both.alpha.principal.organization).await;
        let ids: BTreeSet<_> = rows.iter().map(|row| row.request_id).collect();
        assert_eq!(ids.len(), rows.len(), "{rows:?}");
        // An event that was committed after its caller had gone is one that never ended.
        let log = Log::of(database, &both.alpha.principal).await;
        let mut tx = log.maintenance.begin(log.organization()).await.unwrap();
        tx.close_open_events(NOW + Duration::HOUR, NOW + Duration::HOUR).await.unwrap();
        tx.commit().await.unwrap();
    });
}

/// What openapi/audit.md says, in another language: nothing of ours but the public key is used.
fn check_as_an_outsider(proof: &Value, public_key: &[u8]) -> Value {
    let sha = |parts: &[&[u8]]| -> Vec<u8> { Sha256::digest(parts.concat()).to_vec() };
    let row = proof["row"].as_str().unwrap();
    let (mut at, size) = (proof["index"].as_u64().unwrap(), proof["size"].as_u64().unwrap());
    let mut last = size - 1;
    let mut hash = sha(&[b"\0", row.as_bytes()]);
    for other in proof["path"].as_array().unwrap() {
        let other = hex::decode(other.as_str().unwrap()).unwrap();
        if at % 2 == 1 || at == last {
            hash = sha(&[b"\x01", &other, &hash]);
            while at % 2 == 0 && at != 0 {
                (at, last) = (at / 2, last / 2);
            }
        } else {
            hash = sha(&[b"\x01", &hash, &other]);
        }
        (at, last) = (at / 2, last / 2);
    }
    assert_eq!(last, 0);
    let mut head = proof["head"].clone();
    let signature = head.as_object_mut().unwrap().remove("signature").unwrap();
    let signature = hex::decode(signature.as_str().unwrap()).unwrap();
    assert_eq!(hex::encode(hash), head["root"].as_str().unwrap());
    assert_eq!(hex::encode(Sha256::digest(public_key))[..16], *head["key_id"].as_str().unwrap());
    // Its names are sorted: serde_json keeps them so.
    let signed = head.to_string();
    aws_lc_rs::signature::UnparsedPublicKey::new(&aws_lc_rs::signature::ED25519, public_key)
        .verify(signed.as_bytes(), &signature)
        .unwrap();
    serde_json::from_str(row).unwrap()
}

#[test]
fn an_outsider_checks_the_proof_of_each_row() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let alpha = &both.alpha.principal;
        let token = auditor(&service, alpha).await;
        let log = Log::of(database, alpha).await;
        log.write(2, NOW - Duration::HOUR).await;
        log.seal(NOW).await;
        let mut ids = log.write(5, NOW - Duration::MINUTE).await;
        log.seal(NOW).await;
        let public_key = log.keys.current().public_key().to_vec();
        for id in &ids {
            let proof = get(&service, &format!("/v1/audit/proof?event={id}"), &token).await;
            assert_eq!(proof.status, 200, "{proof:?}");
            let row = check_as_an_outsider(&proof.json(), &public_key);
            assert_eq!(
                (&row["event_id"], &row["principal"], &row["outcome"]),
                (&json!(id), &json!("Ada"), &json!("ok"))
            );
            assert_eq!(proof.json()["head"]["number"], 2);
        }
        // Not sealed yet: the proofs that were just given are themselves rows.
        ids.extend(log.write(1, service.clock.now()).await);
        let reply = get(&service, &format!("/v1/audit/proof?event={}", ids[5]), &token).await;
        assert_eq!((reply.status, reply.header("retry-after")), (409, "60"));
        assert_eq!(reply.json()["code"], "not_sealed");
        // Of another organization, and of nobody: the same.
        let theirs = Log::of(database, &both.beta.principal).await.write(1, NOW).await[0];
        let bare = |reply: &Reply| reply.text.replace(reply.header("x-request-id"), "");
        let foreign = get(&service, &format!("/v1/audit/proof?event={theirs}"), &token).await;
        let none = get(&service, "/v1/audit/proof?event=evt_01a22c53820275da8d24798252286396", &token).await;
        assert_eq!((foreign.status, none.status), (404, 404), "{foreign:?}");
        assert_eq!(bare(&foreign), bare(&none));
        let wrong = get(&service, "/v1/audit/proof?event=tok_1", &token).await;
        assert_eq!(wrong.status, 400, "{wrong:?}");
        // A proof that leads nowhere is not handed out.
        log.as_owner(&format!(
            "UPDATE sync.audit_events SET code = 'x', outcome = 'error' WHERE event_id = '{}'",
            ids[1].uuid()
        ))
        .await;
        let reply = get(&service, &format!("/v1/audit/proof?event={}", ids[0]), &token).await;
        assert_eq!((reply.status, &reply.json()["code"]), (409, &json!("not_whole")), "{reply:?}");
        service.stop().await;
    });
}
