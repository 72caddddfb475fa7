//! Golden files: `tests/golden/` pins what agents see, requests and responses. `SYNC_GOLDEN=write` renews them, and
//! refuses where that would break a rule of [`crate::surface_rules`].

use std::path::PathBuf;

use serde_json::{Value, json};
use sync_core::principal::{PrincipalKind, Role, Scope};
use sync_server::answers::envelope::envelope_properties;
use sync_store::NewMember;
use sync_tests::service::{Reply, TestService};

use crate::answers::World;
use crate::surface_rules::broken;

/// The revisions of the protocol, oldest first. The last has no handshake.
const REVISIONS: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];

/// The service over the world's database, and somebody's token.
struct Asked {
    world: World,
    service: TestService,
    token: String,
}

impl Asked {
    async fn start() -> Self {
        let world = World::with_billing().await;
        let service = TestService::start(&world.database).await;
        let principal = world.asker().principal;
        let mut tx = world.store().begin(&principal).await.unwrap();
        let (kind, role) = (PrincipalKind::User, Role::Member);
        let member = NewMember { id: principal.id, name: "ada", kind, role, identity: None, reads_all: true };
        tx.create_member(&member, super::answers::START).await.unwrap();
        tx.commit().await.unwrap();
        let (_, token) = service.token(&principal, &[Scope::GraphRead], None).await;
        Self { world, service, token }
    }

    async fn end(self) {
        self.service.stop().await;
        self.world.end().await;
    }

    /// A method as a client of a revision sends it.
    async fn rpc(&self, revision: &str, method: &str, params: Value) -> Value {
        let reply = if revision == REVISIONS[2] {
            self.service.modern(&self.token, method, params).await
        } else {
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            let request = self.service.post("/mcp", &self.token).header("mcp-protocol-version", revision);
            Reply::of(request.body(body.to_string())).await
        };
        let reply = reply.json();
        if reply["result"].is_null() { json!({"error": reply["error"]}) } else { reply["result"].clone() }
    }
}

#[tokio::test]
async fn the_tools_are_listed_as_they_were() {
    let asked = Asked::start().await;
    let mut lists = Vec::new();
    for revision in REVISIONS {
        let list = asked.rpc(revision, "tools/list", json!({})).await;
        let bytes = serde_json::to_vec(&list).unwrap().len();
        assert!(bytes <= 24_000, "tools/list of {revision} is {bytes} bytes");
        let name = format!("tools-list/{revision}.json");
        if let Some(committed) = committed(&name) {
            let rules = broken(&committed["tools"], &list["tools"]);
            assert!(rules.is_empty(), "the tool surface only grows, and would lose something: {rules:#?}");
        }
        golden(&name, &list);
        lists.push(list["tools"].clone());
    }
    assert!(lists.iter().all(|tools| *tools == lists[0]), "every revision lists the same tools");
    golden("envelope.json", &json!({"type": "object", "properties": envelope_properties()}));
    asked.end().await;
}

/// The name of the file, the tool, the arguments.
fn cases() -> Vec<(&'static str, &'static str, Value)> {
    let risk = "sync_whats_at_risk";
    let explain = "sync_explain_call_site";
    let changed = "sync_whats_changed";
    vec![
        ("at-risk", risk, json!({})),
        ("at-risk-path", risk, json!({"path": "src/promotions.ts"})),
        ("at-risk-tests", risk, json!({"path": "src/promotions.test.ts", "include_tests": true})),
        (
            "at-risk-vendor-severity-since",
            risk,
            json!({"vendor": "stripe", "severity": "breaking", "since": "2025-03-31.basil"}),
        ),
        ("at-risk-page", risk, json!({"limit": 1})),
        ("at-risk-finding", risk, json!({"finding_id": "fnd_ec270ee4314eac997f3cd072379c6427"})),
        ("at-risk-nothing-found", risk, json!({"vendor": "stripe", "since": "2025-09-30.clover"})),
        ("absent-path", risk, json!({"path": "src/nowhere.ts"})),
        ("absent-skipped", risk, json!({"path": "src/generated/client.ts"})),
        ("absent-no-vendor-calls", risk, json!({"path": "src/money.ts"})),
        ("absent-ref", risk, json!({"ref": "feature"})),
        ("absent-base", risk, json!({"base": "feature"})),
        ("absent-feed", risk, json!({"path": "src/notify.ts"})),
        ("explain", explain, json!({"file": "src/subscriptions.ts", "line": 7})),
        ("explain-unmapped", explain, json!({"file": "src/promotions.ts", "line": 9})),
        ("explain-no-call-site", explain, json!({"file": "src/subscriptions.ts", "line": 40})),
        ("explain-path-not-indexed", explain, json!({"file": "src/nowhere.ts", "line": 1})),
        ("changed", changed, json!({"vendor": "stripe"})),
        ("changed-since", changed, json!({"vendor": "stripe", "since": "2025-06-01"})),
        ("changed-change", changed, json!({"vendor": "stripe", "change_id": "chg_9cb5c9e25d997d5064fadfd1e3542e8d"})),
        ("changed-no-feed", changed, json!({"vendor": "slack"})),
        ("repositories", "sync_repositories", json!({})),
        ("error-argument", risk, json!({"limit": "many"})),
        ("error-unknown-argument", changed, json!({"vendor": "stripe", "from": "2025"})),
        ("error-repository", risk, json!({"repository": "acme/nowhere"})),
        ("error-finding", risk, json!({"finding_id": "fnd_00000000000000000000000000000000"})),
        ("error-change", changed, json!({"vendor": "stripe", "change_id": "chg_00000000000000000000000000000000"})),
        ("error-vendor", changed, json!({"vendor": "strype"})),
        ("error-cursor", risk, json!({"cursor": "expired"})),
    ]
}

#[tokio::test]
async fn answers_are_as_they_were() {
    let asked = Asked::start().await;
    for (name, tool, arguments) in cases() {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = asked.rpc("2025-11-25", "tools/call", params.clone()).await;
        // A modern client mirrors `ref` into a header, which the other tests of the protocol do.
        if arguments.get("ref").is_none() {
            let modern = asked.rpc("2026-07-28", "tools/call", params.clone()).await;
            assert_eq!(masked(answer["content"].clone()), masked(modern["content"].clone()), "{name}");
        }
        if answer["isError"] == true {
            assert!(answer.get("structuredContent").is_none(), "{name}");
        } else {
            let text: Value = serde_json::from_str(answer["content"][0]["text"].as_str().unwrap()).unwrap();
            assert_eq!(text, answer["structuredContent"], "{name}: the text is the same JSON");
        }
        let shown = if answer["isError"] == true {
            let text: Value = serde_json::from_str(answer["content"][0]["text"].as_str().unwrap()).unwrap();
            json!({"isError": true, "text": text})
        } else {
            answer["structuredContent"].clone()
        };
        golden(&format!("answers/{name}.json"), &json!({"request": params, "response": masked(shown)}));
    }
    let feed = asked.rpc("2025-11-25", "resources/read", json!({"uri": "sync://feed/stripe"})).await;
    let text: Value = serde_json::from_str(feed["contents"][0]["text"].as_str().unwrap()).unwrap();
    golden("answers/resource-feed.json", &json!({"request": {"uri": "sync://feed/stripe"}, "response": text}));
    asked.end().await;
}

/// Cursors hold the id of an index, which is made by the clock and chance.
fn masked(mut value: Value) -> Value {
    fn mask(value: &mut Value) {
        match value {
            Value::Object(object) => {
                for (name, value) in object {
                    if name == "next_cursor" && value.is_string() {
                        *value = "<cursor>".into();
                    }
                    mask(value);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(mask),
            Value::String(text) => {
                // The text block is JSON in a string.
                if let Ok(mut inner @ Value::Object(_)) = serde_json::from_str(text) {
                    mask(&mut inner);
                    *text = inner.to_string();
                }
            }
            _ => {}
        }
    }
    mask(&mut value);
    value
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden").join(name)
}

fn committed(name: &str) -> Option<Value> {
    let text = std::fs::read_to_string(path(name)).ok()?;
    Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("tests/golden/{name}: {error}")))
}

/// Compares with the committed file.
fn golden(name: &str, actual: &Value) {
    if std::env::var("SYNC_GOLDEN").is_ok_and(|word| word == "write") {
        let path = path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{actual:#}\n")).unwrap();
        return;
    }
    let committed = committed(name).unwrap_or_default();
    assert!(
        committed == *actual,
        "tests/golden/{name} differs from today's:\n{actual:#}\nIf that is meant, renew it with SYNC_GOLDEN=write and say why in the commit."
    );
}
