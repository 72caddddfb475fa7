//! Every request leaves exactly one row, and its arguments leave no value.

use serde_json::{Value, json};
use sync_tests::service::{Reply, TestService, audit_log};
use sync_tests::{TestDatabase, TwoOrganizations, with_database};

#[test]
fn every_request_leaves_exactly_one_row() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let alpha = &both.alpha.principal;
        let token = service.reader(alpha).await;
        let completion = json!({ "ref": { "type": "ref/prompt", "name": "sync_upgrade_plan" },
            "argument": { "name": "vendor", "value": "s" } });
        let handshake = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
        let file = "src/canary-alpha-5f3a.ts";
        let mut expected: Vec<(&str, &str, Option<&str>)> = Vec::new();
        for (method, params, action, outcome, code) in [
            ("initialize", handshake, "mcp.initialize", "ok", None),
            ("ping", json!({}), "mcp.ping", "ok", None),
            ("tools/list", json!({}), "mcp.tools/list", "ok", None),
            ("tools/list", json!({ "cursor": "x" }), "mcp.tools/list", "refused", Some("rpc_-32602")),
            ("prompts/list", json!({}), "mcp.prompts/list", "ok", None),
            (
                "prompts/get",
                json!({ "name": "sync_upgrade_plan", "arguments": { "vendor": "stripe" } }),
                "mcp.prompts/get:sync_upgrade_plan",
                "ok",
                None,
            ),
            ("prompts/get", json!({ "name": "x" }), "mcp.prompts/get:unknown", "refused", Some("rpc_-32602")),
            ("resources/list", json!({}), "mcp.resources/list:feeds", "ok", None),
            ("resources/templates/list", json!({}), "mcp.resources/templates/list", "ok", None),
            (
                "resources/read",
                json!({ "uri": "sync://feed/none" }),
                "mcp.resources/read:sync://feed",
                "refused",
                Some("vendor_unknown"),
            ),
            ("resources/read", json!({ "uri": "x://y" }), "mcp.resources/read:unknown", "refused", Some("rpc_-32002")),
            ("completion/complete", completion, "mcp.completion/complete:complete", "ok", None),
            ("nothing/at/all", json!({}), "mcp.unknown_method", "refused", Some("rpc_-32601")),
            ("tools/call", json!({ "name": "x" }), "mcp.tools/call:unknown", "refused", Some("rpc_-32602")),
            ("tools/call", json!({ "name": "sync_repositories" }), "mcp.tools/call:sync_repositories", "ok", None),
            ("tools/call", json!({ "name": "sync_whats_at_risk" }), "mcp.tools/call:sync_whats_at_risk", "ok", None),
            (
                "tools/call",
                json!({ "name": "sync_whats_at_risk", "arguments": { "limit": 0 } }),
                "mcp.tools/call:sync_whats_at_risk",
                "refused",
                Some("invalid_argument"),
            ),
            (
                "tools/call",
                json!({ "name": "sync_whats_at_risk", "arguments": { "repository": "no/such" } }),
                "mcp.tools/call:sync_whats_at_risk",
                "refused",
                Some("repository_not_found"),
            ),
            (
                "tools/call",
                json!({ "name": "sync_explain_call_site", "arguments": { "file": file, "line": 6 } }),
                "mcp.tools/call:sync_explain_call_site",
                "ok",
                None,
            ),
            (
                "tools/call",
                json!({ "name": "sync_whats_changed", "arguments": { "vendor": "stripe" } }),
                "mcp.tools/call:sync_whats_changed",
                "ok",
                None,
            ),
        ] {
            let reply = service.rpc(&token, method, params.clone()).await;
            expected.push((action, outcome, code));
            let rows = audit_log(database, alpha.organization).await;
            assert_eq!(rows.len(), expected.len(), "{method} {params}: {reply:?} left {rows:?}");
            let row = rows.last().unwrap();
            let left = (row.action.as_str(), row.outcome.as_deref().unwrap(), row.code.as_deref());
            assert_eq!(left, (action, outcome, code), "{method} {params}: {reply:?}");
            assert_eq!(format!("req_{}", row.request_id.simple()), reply.header("x-request-id"));
            assert_eq!(row.protocol, "mcp");
        }

        // What never becomes a message is written down too, and so is the stateless revision.
        let mut rows = expected.len();
        for (request, action, code) in [
            (service.post("/mcp", &token).body("{"), "mcp.malformed", Some("rpc_-32700")),
            (service.post("/mcp", &token).body("[]"), "mcp.malformed", Some("rpc_-32600")),
            (service.post("/mcp", &token).body("x".repeat(2 << 20)), "mcp.malformed", Some("payload_too_large")),
            (
                service.client.get(format!("{}/mcp", service.url)).bearer_auth(&token),
                "mcp.malformed",
                Some("method_not_allowed"),
            ),
            (service.post("/mcp/UPPER", &token).body("{}"), "mcp.route", Some("not_found")),
            (
                service.post("/mcp", &token).body(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
                "mcp.notifications/initialized",
                None,
            ),
            (
                service
                    .post("/mcp", &token)
                    .header("mcp-protocol-version", "2024-11-05")
                    .body(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#),
                "mcp.ping",
                Some("rpc_-32022"),
            ),
        ] {
            let reply = Reply::of(request).await;
            rows += 1;
            let log = audit_log(database, alpha.organization).await;
            assert_eq!(log.len(), rows, "{action}: {reply:?}");
            assert_eq!((log[rows - 1].action.as_str(), log[rows - 1].code.as_deref()), (action, code), "{reply:?}");
        }
        service.modern(&token, "server/discover", json!({})).await;
        service.modern(&token, "tools/call", json!({ "name": "sync_repositories" })).await;
        let log = audit_log(database, alpha.organization).await;
        let last: Vec<&str> = log[rows..].iter().map(|row| row.action.as_str()).collect();
        assert_eq!(last, ["mcp.server/discover", "mcp.tools/call:sync_repositories"]);

        // Public paths leave none, and nothing of this is in the other organization's log.
        for path in ["/livez", "/readyz", "/.well-known/oauth-protected-resource/mcp"] {
            Reply::of(service.client.get(format!("{}{path}", service.url))).await;
        }
        assert_eq!(audit_log(database, alpha.organization).await.len(), rows + 2);
        assert_eq!(audit_log(database, both.beta.principal.organization).await, []);
        service.stop().await;
    });
}

#[test]
fn arguments_are_a_digest_that_agrees_within_an_organization_only() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let secret = "src/secret-argument-77aa.ts";
        let mut digests = Vec::new();
        for principal in [&both.alpha.principal, &both.beta.principal] {
            let token = service.reader(principal).await;
            for arguments in [
                json!({ "path": secret, "limit": 3 }),
                json!({ "limit": 3, "path": secret }),
                json!({ "path": "another", "limit": 3 }),
            ] {
                service.call(&token, "sync_whats_at_risk", arguments).await;
            }
            let rows = audit_log(database, principal.organization).await;
            let of: Vec<Vec<u8>> = rows.iter().map(|row| row.arguments_digest.clone().unwrap()).collect();
            assert_eq!(of[0], of[1], "the order of keys is none of the value");
            assert_ne!(of[0], of[2]);
            digests.push(of[0].clone());
        }
        assert_ne!(digests[0], digests[1]);

        // Neither the values nor the credentials are anywhere in the log's tables.
        let mut superuser = database.superuser().await;
        let all: Vec<Value> =
            sqlx::query_scalar("SELECT to_jsonb(e) FROM sync.audit_events e").fetch_all(&mut superuser).await.unwrap();
        let all = serde_json::to_string(&all).unwrap();
        assert!(!all.contains("secret-argument") && !all.contains("sync_0"), "{all}");
        service.stop().await;
    });
}

#[test]
fn another_organizations_names_and_no_names_are_the_same_answer() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = service.reader(&both.alpha.principal).await;
        let (theirs, nobodys) = (both.beta.canary, "canary-nobody-0000");
        for (tool, arguments) in [
            ("sync_whats_at_risk", json!({ "path": "src/NAME.ts" })),
            ("sync_whats_at_risk", json!({ "repository": "NAME" })),
            ("sync_explain_call_site", json!({ "file": "src/NAME.ts", "line": 6 })),
        ] {
            let ask = async |name: &str| {
                let arguments = serde_json::from_str(&arguments.to_string().replace("NAME", name)).unwrap();
                let reply = service.call(&token, tool, arguments).await;
                let own = reply.text.replace(name, "NAME").replace(reply.header("x-request-id"), "REQUEST");
                (reply.status, own)
            };
            let (given, absent) = (ask(theirs).await, ask(nobodys).await);
            // The estimate of what an answer saves counts its own bytes, and the two names differ in length.
            let bare = |(status, text): (u16, String)| {
                let mut value: Value = serde_json::from_str(&text).unwrap();
                value["result"]["content"] = Value::Null;
                (status, value.to_string().replace(r#""tokens":"#, ""))
            };
            assert_eq!(bare(given), bare(absent), "{tool} {arguments}");
        }
        service.stop().await;
    });
}
