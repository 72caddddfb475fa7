//! What is listed, and the prompts, resources and completions.

use serde_json::{Value, json};
use sync_core::principal::Scope;
use sync_tests::service::TestService;
use sync_tests::{TestDatabase, TwoOrganizations, with_database};

/// What all tools together may take of an agent's context.
const MAX_LIST_BYTES: usize = 24_000;

#[test]
fn the_tools_are_one_small_sorted_private_page() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = service.reader(&both.alpha.principal).await;
        let reply = service.modern(&token, "tools/list", json!({})).await;
        assert!(reply.text.len() <= MAX_LIST_BYTES, "{} bytes", reply.text.len());
        let result = &reply.json()["result"];
        assert_eq!((&result["cacheScope"], result["ttlMs"].is_u64()), (&json!("private"), true));
        assert!(result.get("nextCursor").is_none());
        assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "sync");
        let tools = result["tools"].as_array().unwrap();
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        assert_eq!(names, ["sync_explain_call_site", "sync_repositories", "sync_whats_at_risk", "sync_whats_changed"]);
        for tool in tools {
            assert!(tool["title"].is_string() && tool["description"].is_string(), "{tool}");
            assert_eq!(tool["inputSchema"]["type"], "object");
            assert_eq!(tool["outputSchema"]["type"], "object");
            for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
                assert!(tool["annotations"][hint].is_boolean(), "{} {hint}", tool["name"]);
            }
        }
        // A second credential with more scopes sees the same, as long as no tool needs more.
        let (_, admin) = service.token(&both.alpha.principal, &[Scope::Admin], None).await;
        assert_eq!(service.modern(&admin, "tools/list", json!({})).await.json(), reply.json());
        service.stop().await;
    });
}

#[test]
fn an_answer_is_structured_content_and_the_same_text() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = service.reader(&both.alpha.principal).await;
        let schemas = service.rpc(&token, "tools/list", json!({})).await.json();
        for (tool, arguments) in [
            ("sync_repositories", json!({})),
            ("sync_whats_at_risk", json!({})),
            ("sync_whats_at_risk", json!({ "path": "src/none.ts" })),
            ("sync_explain_call_site", json!({ "file": "src/canary-alpha-5f3a.ts", "line": 6 })),
            ("sync_explain_call_site", json!({ "file": "src/canary-alpha-5f3a.ts", "line": 1 })),
            ("sync_whats_changed", json!({ "vendor": "stripe" })),
        ] {
            let reply = service.call(&token, tool, arguments.clone()).await;
            let result = &reply.json()["result"];
            assert_eq!(result["isError"], false, "{tool} {arguments}: {reply:?}");
            let content = result["content"].as_array().unwrap();
            let text: Value = serde_json::from_str(content[0]["text"].as_str().unwrap()).unwrap();
            assert_eq!((content.len(), &text), (1, &result["structuredContent"]), "{tool}");
            let listed = schemas["result"]["tools"].as_array().unwrap().iter().find(|listed| listed["name"] == tool);
            let schema = jsonschema::validator_for(&listed.unwrap()["outputSchema"]).unwrap();
            let faults: Vec<String> =
                schema.iter_errors(&result["structuredContent"]).map(|error| error.to_string()).collect();
            assert!(faults.is_empty(), "{tool} {arguments}: {faults:?}");
        }
        service.stop().await;
    });
}

#[test]
fn a_pinned_address_answers_for_its_repository_only() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = service.reader(&both.alpha.principal).await;
        let ask = async |path: &str, arguments: Value| {
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": { "name": "sync_whats_at_risk", "arguments": arguments } });
            sync_tests::service::Reply::of(service.post(path, &token).body(body.to_string())).await
        };
        let pinned = ask("/mcp/acme/billing", json!({})).await;
        assert_eq!(pinned.json()["result"]["structuredContent"]["repository"], "acme/billing", "{pinned:?}");
        assert_eq!(ask("/mcp/acme/nothing", json!({})).await.tool_error()["code"], "repository_not_found");
        let other = ask("/mcp/acme/billing", json!({ "repository": "acme/other" })).await;
        assert_ne!(other.tool_error(), Value::Null, "{other:?}");
        service.stop().await;
    });
}

#[test]
fn prompts_resources_and_completions() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = service.reader(&both.alpha.principal).await;
        let prompts = service.rpc(&token, "prompts/list", json!({})).await.json();
        let names: Vec<&Value> = prompts["result"]["prompts"].as_array().unwrap().iter().map(|p| &p["name"]).collect();
        assert_eq!(names, ["sync_review_change", "sync_upgrade_plan"]);
        let plan = json!({ "name": "sync_upgrade_plan", "arguments": { "vendor": "stripe" } });
        let plan = service.rpc(&token, "prompts/get", plan).await;
        assert!(plan.json()["result"]["messages"][0]["content"]["text"].as_str().unwrap().contains("`stripe`"));
        let none = service.rpc(&token, "prompts/get", json!({ "name": "sync_upgrade_plan" })).await;
        assert_eq!(none.rpc_code(), -32602);

        let templates = service.rpc(&token, "resources/templates/list", json!({})).await.json();
        assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "sync://feed/{vendor}");
        assert_eq!(service.rpc(&token, "resources/list", json!({})).await.json()["result"]["resources"], json!([]));

        let complete = async |reference: Value, name: &str, value: &str| {
            let params = json!({ "ref": reference, "argument": { "name": name, "value": value } });
            service.rpc(&token, "completion/complete", params).await
        };
        let upgrade = json!({ "type": "ref/prompt", "name": "sync_upgrade_plan" });
        let review = json!({ "type": "ref/prompt", "name": "sync_review_change" });
        let feed = json!({ "type": "ref/resource", "uri": "sync://feed/{vendor}" });
        for (reference, name, typed, expected) in [
            (&upgrade, "vendor", "strip", json!(["stripe"])),
            (&feed, "vendor", "strip", json!(["stripe"])),
            (&review, "paths", "src/can", json!(["src/canary-alpha-5f3a.ts"])),
            (&review, "paths", "a.ts, src/can", json!(["a.ts,src/canary-alpha-5f3a.ts"])),
            (&upgrade, "repository", "acme/", json!(["acme/billing"])),
            (&upgrade, "vendor", "no such", json!([])),
        ] {
            let reply = complete(reference.clone(), name, typed).await;
            assert_eq!(reply.json()["result"]["completion"]["values"], expected, "{name} {typed}: {reply:?}");
        }
        let other = json!({ "type": "ref/prompt", "name": "nothing" });
        assert_eq!(complete(other, "vendor", "s").await.rpc_code(), -32602);
        assert_eq!(complete(upgrade, "colour", "s").await.rpc_code(), -32602);
        service.stop().await;
    });
}
