//! The protocol's table: requests that are not as they should be, and exactly what is said to each.

use serde_json::{Value, json};
use sync_tests::service::{MODERN, Reply, TestService, modern_message};
use sync_tests::{TestDatabase, TwoOrganizations, with_database};

#[test]
fn bodies_and_heads_that_are_no_message() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = service.reader(&both.alpha.principal).await;
        let ping = json!({ "jsonrpc": "2.0", "id": 7, "method": "ping" }).to_string();

        for (body, code, id) in [
            ("", -32700, Value::Null),
            ("{", -32700, Value::Null),
            ("not json", -32700, Value::Null),
            (&format!("[{ping}]"), -32600, Value::Null),
            ("[]", -32600, Value::Null),
            ("7", -32600, Value::Null),
            ("{}", -32600, Value::Null),
            (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, -32600, json!(7)),
            (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, -32600, json!(7)),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#, -32600, json!(7)),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"sync_repositories","arguments":[]}}"#,
                -32602,
                json!(7),
            ),
            (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}"#, -32602, json!(7)),
            (r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}"#, -32602, json!(7)),
            (r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}"#, -32600, Value::Null),
            (r#"{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":7}}"#, -32602, json!(7)),
        ] {
            let reply = Reply::of(service.post("/mcp", &token).body(body.to_owned())).await;
            assert_eq!((reply.status, reply.rpc_code()), (400, code), "{body}: {reply:?}");
            assert_eq!(reply.header("content-type"), "application/json", "{body}");
            assert_eq!(reply.json().get("id").cloned().unwrap_or_default(), id, "{body}");
        }

        let long = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"ping","x":"{}"}}"#, "x".repeat(5 << 20));
        let reply = Reply::of(service.post("/mcp", &token).body(long)).await;
        assert_eq!((reply.status, &reply.json()["code"]), (413, &json!("payload_too_large")));
        let text = service.client.post(format!("{}/mcp", service.url)).bearer_auth(&token).body(ping.clone());
        let reply = Reply::of(text.try_clone().unwrap().header("content-type", "text/plain")).await;
        assert_eq!((reply.status, &reply.json()["code"]), (415, &json!("unsupported_media_type")));
        // What a person types with curl is served: no Accept, any, or JSON alone.
        let json = text.header("content-type", "application/json; charset=utf-8");
        for accept in [None, Some("*/*"), Some("application/json")] {
            let mut request = json.try_clone().unwrap();
            if let Some(accept) = accept {
                request = request.header("accept", accept);
            }
            assert_eq!(Reply::of(request).await.status, 200, "{accept:?}");
        }
        assert_eq!(Reply::of(json.header("accept", "text/html")).await.status, 406);
        for method in [reqwest::Method::GET, reqwest::Method::DELETE, reqwest::Method::PUT] {
            let request = service.client.request(method.clone(), format!("{}/mcp", service.url)).bearer_auth(&token);
            let reply = Reply::of(request).await;
            assert_eq!((reply.status, reply.header("allow")), (405, "POST"), "{method}");
        }
        let elsewhere = Reply::of(service.post("/mcp/Not%20a%20name", &token).body(ping)).await;
        assert_eq!((elsewhere.status, &elsewhere.json()["code"]), (404, &json!("not_found")));
        service.stop().await;
    });
}

#[test]
fn revisions() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = service.reader(&both.alpha.principal).await;
        let supported = json!(["2025-06-18", "2025-11-25", "2026-07-28"]);

        for (asked, agreed) in [
            ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"),
            ("2026-07-28", "2025-11-25"),
            ("2024-11-05", "2025-11-25"),
            ("1999-01-01", "2025-11-25"),
        ] {
            let params =
                json!({ "protocolVersion": asked, "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
            let reply = service.rpc(&token, "initialize", params).await;
            assert_eq!(reply.json()["result"]["protocolVersion"], agreed, "{asked}: {reply:?}");
            assert_eq!(reply.header("mcp-session-id"), "", "no session is made");
        }
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let reply = Reply::of(service.post("/mcp", &token).body(initialized)).await;
        assert_eq!((reply.status, reply.text.as_str()), (202, ""));

        let ping = json!({ "jsonrpc": "2.0", "id": 7, "method": "ping" }).to_string();
        for (version, status) in
            [("2025-06-18", 200), ("2025-11-25", 200), ("2025-03-26", 400), ("2024-11-05", 400), ("nonsense", 400)]
        {
            let request = service.post("/mcp", &token).header("mcp-protocol-version", version);
            let reply = Reply::of(request.header("mcp-session-id", "stale").body(ping.clone())).await;
            assert_eq!(reply.status, status, "{version}: {reply:?}");
            if status == 400 {
                let error = &reply.json()["error"];
                assert_eq!((&error["code"], &error["data"]["supported"]), (&json!(-32022), &supported));
                assert_eq!((&error["data"]["requested"], &reply.json()["id"]), (&json!(version), &json!(7)));
            }
        }

        let discovered = service.modern(&token, "server/discover", json!({})).await;
        let result = &discovered.json()["result"];
        assert_eq!((&result["supportedVersions"], &result["resultType"]), (&supported, &json!("complete")));
        assert_eq!(result["cacheScope"], "private");
        assert_eq!(result["_meta"]["sync/surface_version"], 1);
        assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "sync");
        service.stop().await;
    });
}

#[test]
fn the_stateless_revision_is_strict() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = service.reader(&both.alpha.principal).await;
        let call = || modern_message("tools/call", json!({ "name": "sync_repositories", "arguments": {} })).0;
        let send = |headers: &[(&str, &str)], body: Value| {
            let mut request = service.post("/mcp", &token);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            Reply::of(request.body(body.to_string()))
        };
        let (version, method, name) =
            (("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", "sync_repositories"));
        assert_eq!(send(&[version, method, name], call()).await.status, 200);
        let encoded = ("mcp-name", "=?base64?c3luY19yZXBvc2l0b3JpZXM=?=");
        assert_eq!(send(&[version, method, encoded], call()).await.status, 200);

        let mut other_version = call();
        other_version["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
        let mut no_capabilities = call();
        no_capabilities["params"]["_meta"]
            .as_object_mut()
            .unwrap()
            .remove("io.modelcontextprotocol/clientCapabilities");
        for (case, headers, body, status, code) in [
            ("another name", vec![version, method, ("mcp-name", "sync_whats_at_risk")], call(), 400, -32020),
            ("no name", vec![version, method], call(), 400, -32020),
            ("another method", vec![version, ("mcp-method", "tools/list"), name], call(), 400, -32020),
            ("no method", vec![version, name], call(), 400, -32020),
            ("no version header", vec![method, name], call(), 400, -32020),
            ("two version headers", vec![version, version, method, name], call(), 400, -32020),
            ("two names", vec![version, method, name, ("mcp-name", "sync_whats_at_risk")], call(), 400, -32020),
            ("another version header", vec![("mcp-protocol-version", "2025-11-25"), method, name], call(), 400, -32020),
            ("unknown version", vec![("mcp-protocol-version", "2099-01-01"), method, name], other_version, 400, -32022),
            ("no capabilities", vec![version, method, name], no_capabilities, 400, -32602),
        ] {
            let reply = send(&headers, body).await;
            assert_eq!((reply.status, reply.rpc_code()), (status, code), "{case}: {reply:?}");
        }
        for gone in ["ping", "logging/setLevel", "resources/subscribe", "subscriptions/listen", "nothing/at/all"] {
            let reply = service.modern(&token, gone, json!({ "uri": "x", "level": "info", "notifications": {} })).await;
            assert_eq!((reply.status, reply.rpc_code()), (404, -32601), "{gone}: {reply:?}");
            assert_eq!(reply.json()["id"], 1);
        }
        service.stop().await;
    });
}

#[test]
fn what_does_not_exist_is_a_protocol_error_and_what_is_wrong_a_tools() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = service.reader(&both.alpha.principal).await;

        let unknown_tool = service.call(&token, "sync_propose_patch", json!({})).await;
        assert_eq!((unknown_tool.status, unknown_tool.rpc_code()), (200, -32602));
        assert!(unknown_tool.text.contains("tools/list"), "{unknown_tool:?}");
        assert_eq!(service.rpc(&token, "nothing/at/all", json!({})).await.rpc_code(), -32601);
        for list in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
            assert_eq!(service.rpc(&token, list, json!({ "cursor": "x" })).await.rpc_code(), -32602, "{list}");
        }
        let uri = "sync://feed/no-such-vendor";
        let legacy = service.rpc(&token, "resources/read", json!({ "uri": uri })).await;
        assert_eq!((legacy.rpc_code(), &legacy.json()["error"]["data"]["uri"]), (-32002, &json!(uri)));
        for uri in [uri, "sync://feed/../x", "file:///etc/passwd", "test://static"] {
            let modern = service.modern(&token, "resources/read", json!({ "uri": uri })).await;
            assert_eq!((modern.rpc_code(), &modern.json()["error"]["data"]["uri"]), (-32602, &json!(uri)), "{uri}");
        }

        let wrong = service.call(&token, "sync_whats_at_risk", json!({ "limit": "many" })).await;
        let error = wrong.tool_error();
        assert_eq!(error["code"], "invalid_argument");
        assert!(!error["message"].as_str().unwrap().is_empty() && !error["next_step"].as_str().unwrap().is_empty());
        let result = &wrong.json()["result"];
        assert_eq!(result["_meta"]["sync/error"], error);
        assert_eq!(result["_meta"]["sync/request_id"], wrong.header("x-request-id"));
        assert!(result.get("structuredContent").is_none());
        service.stop().await;
    });
}
