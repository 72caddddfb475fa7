//! Everything that is not MCP: metadata, health, problems, names, request ids.

use serde_json::json;
use sync_tests::service::{Reply, TestService};
use sync_tests::{TestDatabase, TwoOrganizations, with_database};

#[test]
fn metadata_is_public_and_names_the_address_as_typed() {
    with_database(async |database: &TestDatabase| {
        let issuers = json!([{
            "issuer": "https://id.example.com", "algorithms": ["EdDSA"], "organization": "alpha",
            "public_key_pem": "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n",
        }])
        .to_string();
        let settings = [("SYNC_ISSUERS", issuers.as_str()), ("SYNC_PUBLIC_URL", "https://sync.example.com")];
        let service = TestService::start_with(database.store.clone(), &settings, |answers| answers).await;
        for (path, resource) in [
            ("", "https://sync.example.com/mcp"),
            ("/mcp", "https://sync.example.com/mcp"),
            ("/mcp/acme/billing", "https://sync.example.com/mcp/acme/billing"),
        ] {
            let address = format!("{}/.well-known/oauth-protected-resource{path}", service.url);
            for request in [service.client.get(&address), service.client.request(reqwest::Method::OPTIONS, &address)] {
                let reply = Reply::of(request).await;
                assert_eq!((reply.status, reply.header("content-type")), (200, "application/json"), "{path}");
                assert_eq!(
                    reply.json(),
                    json!({
                        "resource": resource, "resource_name": "Sync", "bearer_methods_supported": ["header"],
                        "scopes_supported": ["graph:read"], "authorization_servers": ["https://id.example.com"],
                    })
                );
            }
        }
        for name in ["A%20B", "%ff", "a%22"] {
            let bad = service.client.get(format!("{}/.well-known/oauth-protected-resource/mcp/{name}", service.url));
            assert_eq!(Reply::of(bad).await.status, 404, "{name}");
            // Text that is no name stands in no challenge, where it could be read as a parameter or break the header.
            let reply = Reply::of(service.client.post(format!("{}/mcp/{name}", service.url))).await;
            assert_eq!((reply.status, &reply.json()["code"]), (401, &json!("no_credential")), "{name}");
            assert_eq!(
                reply.header("www-authenticate"),
                "Bearer resource_metadata=\"https://sync.example.com/.well-known/oauth-protected-resource/mcp\", \
                 scope=\"graph:read\"",
                "{name}"
            );
        }
        // The challenge of a pinned address names that address's document, by the public name.
        let reply = Reply::of(service.client.post(format!("{}/mcp/acme/billing", service.url))).await;
        assert!(reply.header("www-authenticate").contains(
            r#"resource_metadata="https://sync.example.com/.well-known/oauth-protected-resource/mcp/acme/billing""#
        ));
        service.stop().await;
    });
}

#[test]
fn health_problems_and_request_ids() {
    with_database(async |database: &TestDatabase| {
        let service = TestService::start(database).await;
        let at = |path: &str| format!("{}{path}", service.url);
        let live = Reply::of(service.client.get(at("/livez"))).await;
        assert_eq!((live.status, &live.json()["status"]), (200, &json!("ok")));
        let ready = Reply::of(service.client.get(at("/readyz"))).await;
        assert_eq!(
            (ready.status, ready.json()),
            (200, json!({ "status": "ok", "checks": { "store": "ok", "audit": "ok" } }))
        );

        for (request, status, code) in [
            (service.client.get(at("/nothing")), 404, "not_found"),
            (service.client.get(at("/v1/findings")), 404, "not_found"),
            (service.client.post(at("/livez")), 405, "method_not_allowed"),
        ] {
            let reply = Reply::of(request).await;
            let problem = reply.json();
            assert_eq!((reply.status, &problem["code"]), (status, &json!(code)));
            assert_eq!(reply.header("content-type"), "application/problem+json");
            assert_eq!(problem["request_id"], reply.header("x-request-id"));
            assert!(problem["title"].is_string() && problem["detail"].is_string() && problem["next_step"].is_string());
        }

        let given = "req_019ad0e0a0b07c3c8f0e5f3f4a5b6c7d";
        let echoed = Reply::of(service.client.get(at("/livez")).header("x-request-id", given)).await;
        assert_eq!(echoed.header("x-request-id"), given);
        let made = Reply::of(service.client.get(at("/livez")).header("x-request-id", "no id\tat all")).await;
        assert!(made.header("x-request-id").starts_with("req_") && made.header("x-request-id") != given);
        service.stop().await;
    });
}

#[test]
fn foreign_names_and_pages_are_turned_away_before_anyone_asks_who_they_are() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = service.reader(&both.alpha.principal).await;
        for (header, value, code) in [
            ("host", "evil.example.com", "foreign_host"),
            ("origin", "https://evil.example.com", "foreign_origin"),
            ("origin", "null", "foreign_origin"),
        ] {
            let anonymous = service.client.post(format!("{}/mcp", service.url)).header(header, value);
            for request in [anonymous, service.post("/mcp", &token).header(header, value)] {
                let reply = Reply::of(request.body("{}")).await;
                assert_eq!((reply.status, &reply.json()["code"]), (403, &json!(code)), "{header}: {value}");
            }
        }
        let page = service.post("/mcp", &token).header("origin", &service.url);
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        assert_eq!(Reply::of(page.body(ping.to_string())).await.status, 200);
        service.stop().await;
    });
}
