//! Protected-resource metadata (RFC 9728): where a client that got a 401 learns who issues tokens. Public, not audited.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use sync_core::principal::Scope;

use crate::app::App;

/// Where the documents stand.
pub const PREFIX: &str = "/.well-known/oauth-protected-resource";

/// The document of `/mcp`. The root's is the same: clients that ignore the challenge look there, and compare
/// `resource` with the address that was typed.
pub async fn endpoint(State(app): State<Arc<App>>) -> Response {
    respond(&document(&app, "/mcp").await)
}

/// The document of `/mcp/{repository…}`.
pub async fn pinned(State(app): State<Arc<App>>, repository: Result<Path<String>, PathRejection>) -> Response {
    match repository {
        Ok(Path(name)) if crate::mcp::is_repository_name(&name) => {
            respond(&document(&app, &format!("/mcp/{name}")).await)
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// The absolute address of the document of a resource, as the challenge names it.
pub fn address(public_url: &str, resource_path: &str) -> String {
    format!("{public_url}{PREFIX}{resource_path}")
}

async fn document(app: &App, resource_path: &str) -> Value {
    let mut document = json!({
        "resource": format!("{}{resource_path}", app.public_url),
        "resource_name": "Sync",
        "bearer_methods_supported": ["header"],
        "scopes_supported": [Scope::GraphRead],
    });
    let issuers = app.advertised.issuers().await;
    // With no issuer there is nobody to send a client to (the list may not be empty): only Sync's own tokens work.
    if !issuers.is_empty() {
        document["authorization_servers"] = json!(issuers);
    }
    document
}

fn respond(document: &Value) -> Response {
    let mut response = document.to_string().into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    // Public: a browser client on any origin may read it before it has a token.
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*"));
    response
}
