//! Snapshots that were made elsewhere: stored as a whole or not at all, and what is wrong with one named by its line.

use serde_json::{Value, json};
use sync_core::principal::Scope;
use sync_core::rung::Rung;
use sync_tests::facts::SnapshotFacts;
use sync_tests::service::{Reply, TestService, audit_log};
use sync_tests::{TestDatabase, TwoOrganizations, facts, with_database};

const C1: &str = "1111111111111111111111111111111111111111";
const C2: &str = "2222222222222222222222222222222222222222";

fn made_at(commit: &str, lines: &[u32]) -> SnapshotFacts {
    let calls = lines.iter().map(|line| facts::call("charge", *line)).collect();
    facts::snapshot(
        commit,
        vec![facts::client("2025-05-28.basil")],
        vec![facts::file("src/a.ts", calls), facts::file("src/b.ts", vec![])],
    )
}

struct Ci<'a> {
    service: &'a TestService,
    token: String,
    source: String,
}

impl Ci<'_> {
    async fn put(&self, commit: &str, query: &str, form: &str, body: Vec<u8>) -> Reply {
        let address = format!("{}/v1/sources/{}/snapshots/{commit}{query}", self.service.url, self.source);
        let request = self.service.client.put(address).bearer_auth(&self.token);
        Reply::of(request.header("content-type", form).body(body)).await
    }

    async fn send(&self, commit: &str, query: &str, snapshot: &SnapshotFacts) -> Reply {
        self.put(commit, query, "application/x-ndjson", facts::bytes(snapshot)).await
    }

    /// Lines at which the repository's call sites are, as an agent sees it.
    async fn answered_at(&self, line: u32) -> Value {
        let arguments = json!({ "repository": "acme/billing", "file": "src/a.ts", "line": line });
        self.service.call(&self.token, "sync_explain_call_site", arguments).await.json()["result"]["structuredContent"]
            .clone()
    }
}

fn code(reply: &Reply) -> (u16, String) {
    (reply.status, reply.json()["code"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn an_upload_is_stored_once_and_answered_from() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = service.token(&both.alpha.principal, &[Scope::SourcesWrite, Scope::GraphRead], None).await.1;
        let ci = Ci { service: &service, token, source: both.alpha.repository.to_string() };

        let stored = ci.send(C1, "", &made_at(C1, &[4, 9])).await;
        assert_eq!(stored.status, 201, "{stored:?}");
        let told = stored.json();
        assert_eq!((&told["commit"], &told["ref"], &told["call_sites"]), (&json!(C1), &json!("main"), &json!(2)));
        let answer = ci.answered_at(9).await;
        assert_eq!((&answer["status"], &answer["commit"]), (&json!("ok"), &json!(C1)), "{answer}");

        // The same again, compressed; then a commit that changed nothing.
        let packed = zstd::encode_all(&facts::bytes(&made_at(C1, &[4, 9]))[..], 3).unwrap();
        let again = ci.put(C1, "", "application/zstd", packed).await;
        assert_eq!((again.status, &again.json()["index_id"]), (200, &told["index_id"]), "{again:?}");
        let moved = ci.send(C2, "", &made_at(C2, &[4, 9])).await;
        assert_eq!((moved.status, &moved.json()["index_id"]), (200, &told["index_id"]), "{moved:?}");
        assert_eq!(ci.answered_at(9).await["commit"], C2);

        // Another branch, by the source's name; it costs its difference.
        let by_name = Ci { source: "acme%2Fbilling".to_owned(), token: ci.token.clone(), ..ci };
        let branch = by_name.send(C1, "?ref=feature/x", &made_at(C1, &[4, 9, 12])).await;
        assert_eq!((branch.status, &branch.json()["changed_files"]), (201, &json!(2)), "{branch:?}");
        assert_eq!(by_name.answered_at(9).await["commit"], C2, "the default branch is as it was");

        let rows = audit_log(database, both.alpha.principal.organization).await;
        assert_eq!(rows.iter().filter(|row| row.action == "rest.upload_snapshot").count(), 4);
    });
}

#[test]
fn a_commit_that_is_older_than_what_is_indexed_does_not_replace_it() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = service.token(&both.alpha.principal, &[Scope::SourcesWrite, Scope::GraphRead], None).await.1;
        let ci = Ci { service: &service, token, source: both.alpha.repository.to_string() };
        let at = |hour: u32| format!("?committed_at=2026-11-30T{hour:02}:00:00%2B01:00");
        assert_eq!(ci.send(C2, &at(12), &made_at(C2, &[9])).await.status, 201);
        let older = ci.send(C1, &at(11), &made_at(C1, &[4])).await;
        assert_eq!(code(&older), (409, "newer_indexed".to_owned()), "{older:?}");
        assert!(older.text.contains(C2), "{older:?}");
        assert_eq!(ci.answered_at(9).await["commit"], C2);
        let future = ci.send(C1, "?committed_at=9999-01-01T00:00:00Z", &made_at(C1, &[4])).await;
        assert_eq!(code(&future), (422, "invalid_argument".to_owned()), "{future:?}");
        // On purpose, it does.
        assert_eq!(ci.send(C1, "", &made_at(C1, &[4])).await.status, 201);
    });
}

#[test]
fn what_is_wrong_is_named_by_its_line_and_nothing_of_it_is_stored() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = service.token(&both.alpha.principal, &[Scope::SourcesWrite, Scope::GraphRead], None).await.1;
        let ci = Ci { service: &service, token, source: both.alpha.repository.to_string() };
        assert_eq!(ci.send(C1, "", &made_at(C1, &[4])).await.status, 201);

        let mut claims = made_at(C2, &[9]);
        claims.files[0].call_sites[0].binding_source = Rung::Observed;
        claims.files[0] = claims.files[0].clone().seal().unwrap();
        let whole = facts::bytes(&made_at(C2, &[9]));
        let cut = whole[..whole.len() / 2].to_vec();
        let edited =
            String::from_utf8(whole.clone()).unwrap().replace("stripe.charges.create", "stripe.charges.delete");
        for (name, bytes, line) in [
            ("claims a rung", facts::bytes(&claims), "line 3"),
            ("cut off", cut, "line "),
            ("edited", edited.into_bytes(), "line 3"),
            ("empty", Vec::new(), "empty"),
            ("no snapshot", b"{}\n".to_vec(), "line 1"),
            ("another commit", facts::bytes(&made_at(C1, &[9])), "line 1"),
        ] {
            let reply = ci.put(C2, "", "application/x-ndjson", bytes).await;
            assert_eq!(code(&reply), (422, "invalid_snapshot".to_owned()), "{name}: {reply:?}");
            let detail = reply.json()["detail"].as_str().unwrap().to_lowercase();
            assert!(detail.contains(line), "{name}: {detail}");
            assert!(!reply.json()["next_step"].as_str().unwrap().is_empty());
        }
        // What the database has no form for is stored as near as it can be.
        let mut odd = made_at(C1, &[4]);
        odd.header.analyzer = "a\0b".to_owned();
        odd.files[0].call_sites[0].chain = "c\0d".to_owned();
        odd.files[0] = odd.files[0].clone().seal().unwrap();
        assert_eq!(ci.send(C1, "?ref=odd", &odd).await.status, 201);
        let form = ci.put(C2, "", "text/plain", whole.clone()).await;
        assert_eq!(code(&form), (415, "unsupported_media_type".to_owned()));
        let packed = service.client.put(format!("{}/v1/sources/{}/snapshots/{C2}", service.url, ci.source));
        let packed = packed.bearer_auth(&ci.token).header("content-type", "application/x-ndjson");
        let packed = Reply::of(packed.header("content-encoding", "gzip").body(whole.clone())).await;
        assert_eq!(code(&packed), (415, "unsupported_media_type".to_owned()));
        assert_eq!(packed.header("accept-encoding"), "identity");
        assert!(packed.text.contains("`gzip`") && packed.text.contains("application/zstd"), "{packed:?}");
        let name = ci.put("main", "", "application/x-ndjson", whole.clone()).await;
        assert_eq!(code(&name), (422, "invalid_argument".to_owned()));
        let foreign = Ci { source: both.beta.repository.to_string(), token: ci.token.clone(), ..ci };
        assert_eq!(
            code(&foreign.put(C2, "", "application/x-ndjson", whole).await),
            (404, "SOURCE_NOT_REGISTERED".to_owned())
        );
        assert_eq!(foreign.answered_at(4).await["commit"], C1, "what was there answers");

        let rows = audit_log(database, both.alpha.principal.organization).await;
        let refused = rows.iter().filter(|row| row.action == "rest.upload_snapshot").count();
        assert_eq!(refused, 12, "each try is written down");
    });
}

/// A change of a line.
type Change = fn(&mut Value);

#[test]
fn a_field_that_holds_what_none_may_is_named_with_its_line() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = service.token(&both.alpha.principal, &[Scope::SourcesWrite, Scope::GraphRead], None).await.1;
        let ci = Ci { service: &service, token, source: both.alpha.repository.to_string() };
        let cases: [(Change, &str); 7] = [
            (|line| line["gate"] = "on".repeat(4_500_000).into(), "Line 1: `gate` is `onon"),
            (|line| line["clients"][0]["vendor"] = "".into(), "Line 1: `clients[0].vendor` is"),
            (
                |line| line["path"] = format!("{}/x", line["path"].as_str().unwrap_or_default()).repeat(300).into(),
                "Line 2",
            ),
            (|line| line["path"] = "../../etc/passwd".into(), "Line 2: `path` is"),
            (|line| line["call_sites"][0]["line"] = 0.into(), "Line 3: `call_sites[0].line` is 0; lines count from 1."),
            (|line| line["symbols"][0]["name"] = "n".repeat(100_000).into(), "Line 3: `symbols[0].name` has 100000"),
            (|line| line["call_sites"][0]["column"] = 0.into(), "Line 3: `call_sites[0].column` is 0"),
        ];
        for (change, expected) in cases {
            let at = expected.as_bytes()[5] - b'0';
            let seen = std::cell::Cell::new(0);
            let body = facts::changed_bytes(&made_at(C1, &[4]), |line| {
                seen.set(seen.get() + 1);
                if seen.get() == at {
                    change(line);
                }
            });
            let reply = ci.put(C1, "", "application/x-ndjson", body).await;
            assert_eq!(code(&reply), (422, "invalid_snapshot".to_owned()), "{expected}");
            let detail = reply.json()["detail"].as_str().unwrap().to_owned();
            assert!(detail.starts_with(expected) && detail.len() < 400, "{expected}: {detail}");
        }
        assert_eq!(ci.answered_at(4).await["status"], "not_indexed", "nothing was stored");
    });
}

#[test]
fn a_source_that_is_never_fetched_is_registered_without_consent_and_lives_of_uploads() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = service.token(&both.alpha.principal, &[Scope::SourcesWrite, Scope::GraphRead], None).await.1;
        let register = async |gate: &str| {
            let body =
                json!({ "clone_url": "https://git.example/acme/ci", "gate": gate, "consent": { "egress": false } });
            let request = service.client.post(format!("{}/v1/sources", service.url)).bearer_auth(&token);
            Reply::of(request.json(&body)).await
        };
        assert_eq!(code(&register("auto").await), (403, "PROVIDER_NOT_CONSENTED".to_owned()));
        let source = register("off").await;
        assert_eq!((source.status, &source.json()["jobs"]), (201, &json!([])), "{source:?}");

        let source = source.json()["id"].as_str().unwrap().to_owned();
        let ci = Ci { service: &service, token: token.clone(), source };
        assert_eq!(ci.send(C1, "?ref=trunk", &made_at(C1, &[4])).await.status, 201);
        let arguments = json!({ "repository": "acme/ci", "file": "src/a.ts", "line": 4 });
        let answer = service.call(&token, "sync_explain_call_site", arguments).await.json();
        let answer = &answer["result"]["structuredContent"];
        assert_eq!((&answer["status"], &answer["ref"]), (&json!("ok"), &json!("trunk")), "{answer}");
        let rows = service.call(&token, "sync_repositories", json!({})).await.json();
        let rows = rows["result"]["structuredContent"]["repositories"].as_array().unwrap().clone();
        let row = rows.into_iter().find(|row| row["name"] == "acme/ci").unwrap();
        assert_eq!(row["gate"], "off", "the source's, whatever the snapshot was made with");
    });
}

/// The commit of `fixtures/snapshots`.
const OF_THE_FIXTURES: &str = "0091e2d9b8873b7582663fcf141fe451852c20aa";

#[test]
fn snapshots_of_every_version_are_taken() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = service.token(&both.alpha.principal, &[Scope::SourcesWrite, Scope::GraphRead], None).await.1;
        let ci = Ci { service: &service, token, source: both.alpha.repository.to_string() };
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/snapshots");
        // Before the fields that came later; with all of today; by a writer that knows fields of which we do not.
        for name in ["format-1-first", "format-1", "format-1-newer-writer"] {
            let body = std::fs::read(folder.join(format!("{name}.ndjson"))).unwrap();
            let stored = ci.put(OF_THE_FIXTURES, "", "application/x-ndjson", body.clone()).await;
            assert!([200, 201].contains(&stored.status), "{name}: {stored:?}");
            let arguments = json!({ "repository": "acme/billing", "file": "src/pay.ts", "line": 7 });
            let answer = service.call(&ci.token, "sync_explain_call_site", arguments).await.json();
            let answer = &answer["result"]["structuredContent"];
            assert_eq!(
                (&answer["operation"], &answer["api_version"]),
                (&json!("POST /v1/charges"), &json!("2024-06-20"))
            );
            // A version that is not known yet says so, and is not half understood.
            let newer = String::from_utf8(body).unwrap().replacen("\"format\":1", "\"format\":2", 1);
            let refused = ci.put(OF_THE_FIXTURES, "", "application/x-ndjson", newer.into_bytes()).await;
            assert_eq!(code(&refused), (422, "invalid_snapshot".to_owned()), "{name}");
            assert!(refused.text.contains("snapshot format 2; this version reads format 1"), "{refused:?}");
        }
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 3, "each file is tried");
    });
}
