//! A request of every operation in the table of who may do what: what the matrix sends. An operation without one fails
//! there, so that none lands without being part of it.

use serde_json::{Value, json};
use sync_core::ids::{EventId, IssuerId, JobId, PrincipalId, RepositoryId, TokenId};
use sync_core::policy::Operation;
use sync_tests::facts;

/// Things that a request can name: one organization's, or nobody's.
#[derive(Debug, Clone)]
pub(super) struct Things {
    pub(super) principal: PrincipalId,
    pub(super) token: TokenId,
    pub(super) issuer: IssuerId,
    pub(super) repository: RepositoryId,
    /// Its name, of the same length everywhere.
    pub(super) repository_name: &'static str,
    pub(super) event: EventId,
    pub(super) job: JobId,
}

/// One request.
#[derive(Debug, Clone)]
pub(super) struct Example {
    /// What goes into the path, the query and the body, or into the parameters of a message.
    pub(super) given: Given,
    /// How it ends where the caller may do it and all things are its own: the status, and the audit row's outcome, which of a
    /// stream follows in a row of its own.
    pub(super) right: (u16, Option<&'static str>),
    /// Whether it names things, which may be another's.
    pub(super) names_things: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Given {
    /// A body that is a text is sent as the lines it is, any other as JSON.
    Rest {
        method: &'static str,
        path: String,
        body: Option<Value>,
    },
    Mcp {
        method: &'static str,
        params: Value,
    },
}

/// The request of an operation about these things.
pub(super) fn of(operation: Operation, things: &Things) -> Example {
    if operation.rest_id().is_some() { rest(operation, things) } else { mcp(operation, things) }
}

fn rest(operation: Operation, things: &Things) -> Example {
    let Things { principal, token, issuer, repository, event, job, .. } = things;
    let (method, path, body, status, names_things) = match operation.name() {
        "rest.get_organization" => ("GET", "/v1/organization".to_owned(), None, 200, false),
        "rest.change_organization" => {
            ("PATCH", "/v1/organization".to_owned(), Some(json!({ "display_name": "matrix" })), 200, false)
        }
        "rest.list_members" => ("GET", "/v1/members".to_owned(), None, 200, false),
        "rest.create_member" => {
            let name = format!("matrix-{}", principal.uuid().simple());
            ("POST", "/v1/members".to_owned(), Some(json!({ "name": name, "role": "member" })), 201, false)
        }
        "rest.get_member" => ("GET", format!("/v1/members/{principal}"), None, 200, true),
        "rest.change_member" => {
            ("PATCH", format!("/v1/members/{principal}"), Some(json!({ "name": "matrix-renamed" })), 200, true)
        }
        "rest.list_grants" => ("GET", format!("/v1/grants?principal={principal}"), None, 200, true),
        "rest.put_grant" => ("PUT", format!("/v1/grants/{principal}/{repository}"), None, 200, true),
        "rest.delete_grant" => ("DELETE", format!("/v1/grants/{principal}/{repository}"), None, 204, true),
        "rest.list_tokens" => ("GET", format!("/v1/tokens?principal={principal}"), None, 200, true),
        "rest.create_token" => {
            let body = json!({ "principal": principal, "name": "matrix", "scopes": ["graph:read"] });
            ("POST", "/v1/tokens".to_owned(), Some(body), 201, true)
        }
        "rest.rotate_token" => ("POST", format!("/v1/tokens/{token}/rotate"), Some(json!({})), 201, true),
        "rest.revoke_token" => ("DELETE", format!("/v1/tokens/{token}"), None, 204, true),
        "rest.list_issuers" => ("GET", "/v1/issuers".to_owned(), None, 200, false),
        "rest.create_issuer" => {
            let name = format!("https://{}.example.net", issuer.uuid().simple());
            let body = json!({ "issuer": name, "organization_claim": "matrix" });
            ("POST", "/v1/issuers".to_owned(), Some(body), 201, false)
        }
        "rest.delete_issuer" => ("DELETE", format!("/v1/issuers/{issuer}"), None, 204, true),
        "rest.get_usage" => ("GET", "/v1/usage".to_owned(), None, 200, false),
        "rest.list_audit_events" => ("GET", format!("/v1/audit?principal={principal}"), None, 200, true),
        "rest.export_audit_log" => ("GET", "/v1/audit/export".to_owned(), None, 200, false),
        // Nothing is sealed yet, so that nothing can be proven of one's own rows either.
        "rest.prove_audit_event" => ("GET", format!("/v1/audit/proof?event={event}"), None, 404, true),
        "rest.get_provider" => ("GET", "/v1/provider".to_owned(), None, 200, false),
        "rest.list_sources" => ("GET", "/v1/sources".to_owned(), None, 200, false),
        "rest.register_source" => {
            let address = format!("https://git.example/{}", principal.uuid().simple());
            let body = json!({ "clone_url": address, "consent": { "egress": true } });
            ("POST", "/v1/sources".to_owned(), Some(body), 201, false)
        }
        "rest.get_source" => ("GET", format!("/v1/sources/{repository}"), None, 200, true),
        "rest.change_source" => {
            ("PATCH", format!("/v1/sources/{repository}"), Some(json!({ "tracked_refs": ["release/*"] })), 200, true)
        }
        "rest.refresh_source" => ("POST", format!("/v1/sources/{repository}/refresh"), Some(json!({})), 202, true),
        "rest.put_consent" => {
            ("PUT", format!("/v1/sources/{repository}/consent"), Some(json!({ "egress": true })), 200, true)
        }
        "rest.put_credential" => {
            ("PUT", format!("/v1/sources/{repository}/credential"), Some(json!({ "secret": "matrix" })), 200, true)
        }
        "rest.delete_credential" => ("DELETE", format!("/v1/sources/{repository}/credential"), None, 204, true),
        "rest.put_webhook" => {
            ("POST", format!("/v1/sources/{repository}/webhook"), Some(json!({ "provider": "github" })), 201, true)
        }
        "rest.delete_webhook" => ("DELETE", format!("/v1/sources/{repository}/webhook"), None, 204, true),
        // Declined whatever it names.
        "rest.add_documents" => ("POST", format!("/v1/sources/{repository}/documents"), None, 501, false),
        "rest.get_job" => ("GET", format!("/v1/jobs/{job}"), None, 200, true),
        "rest.cancel_job" => ("POST", format!("/v1/jobs/{job}/cancel"), None, 200, true),
        "rest.upload_snapshot" => {
            let commit = "3".repeat(40);
            let lines = facts::bytes(&facts::snapshot(&commit, vec![], vec![facts::file("src/a.ts", vec![])]));
            let body = String::from_utf8(lines).unwrap_or_default();
            let path = format!("/v1/sources/{repository}/snapshots/{commit}?ref=matrix");
            ("PUT", path, Some(Value::String(body)), 201, true)
        }
        "rest.delete_source" => ("DELETE", format!("/v1/sources/{repository}"), None, 202, true),
        other => panic!("{other} is in core/src/policy.rs and has no example in tests/http/examples.rs; add one"),
    };
    let outcome = match operation.name() {
        "rest.export_audit_log" | "rest.upload_snapshot" => None,
        _ if status < 400 => Some("ok"),
        _ => Some("refused"),
    };
    Example { given: Given::Rest { method, path, body }, right: (status, outcome), names_things }
}

fn mcp(operation: Operation, things: &Things) -> Example {
    let repository = things.repository_name;
    let call = |tool: &str, arguments: Value| ("tools/call", json!({ "name": tool, "arguments": arguments }), true);
    let plain = |method| (method, json!({}), false);
    let (method, params, names_things) = match operation.name() {
        "mcp" => plain("nothing/of/the/kind"),
        "mcp.initialize" => {
            let client = json!({ "name": "matrix", "version": "1" });
            let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
            ("initialize", params, false)
        }
        "mcp.server/discover" => plain("server/discover"),
        "mcp.ping" => plain("ping"),
        "mcp.tools/list" => plain("tools/list"),
        "mcp.prompts/list" => plain("prompts/list"),
        "mcp.resources/list" => plain("resources/list"),
        "mcp.resources/templates/list" => plain("resources/templates/list"),
        "mcp.resources/read:sync://feed" => ("resources/read", json!({ "uri": "sync://feed/stripe" }), false),
        "mcp.prompts/get:sync_review_change" => {
            ("prompts/get", json!({ "name": "sync_review_change", "arguments": { "paths": "a.ts" } }), false)
        }
        "mcp.prompts/get:sync_upgrade_plan" => {
            ("prompts/get", json!({ "name": "sync_upgrade_plan", "arguments": { "vendor": "stripe" } }), false)
        }
        "mcp.completion/complete" => {
            let reference = json!({ "type": "ref/prompt", "name": "sync_upgrade_plan" });
            (
                "completion/complete",
                json!({ "ref": reference, "argument": { "name": "repository", "value": repository } }),
                true,
            )
        }
        "mcp.tools/call:sync_whats_at_risk" => call("sync_whats_at_risk", json!({ "repository": repository })),
        "mcp.tools/call:sync_explain_call_site" => {
            call("sync_explain_call_site", json!({ "repository": repository, "file": "src/a.ts", "line": 1 }))
        }
        "mcp.tools/call:sync_whats_changed" => {
            call("sync_whats_changed", json!({ "repository": repository, "vendor": "stripe" }))
        }
        "mcp.tools/call:sync_repositories" => call("sync_repositories", json!({ "repository": repository })),
        other => panic!("{other} is in core/src/policy.rs and has no example in tests/http/examples.rs; add one"),
    };
    let right = match operation.name() {
        // The older revisions say so in the body.
        "mcp" => (200, Some("refused")),
        _ => (200, Some("ok")),
    };
    Example { given: Given::Mcp { method, params }, right, names_things }
}
