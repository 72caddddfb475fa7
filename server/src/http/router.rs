//! Every route, as a table, and every layer, in the order a request meets them.

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::{any, get, post};
use http::{StatusCode, header};
use sync_core::ids::RequestId;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::sensitive_headers::SetSensitiveRequestHeadersLayer;

use super::{cors, health, problem::Problem, request_id, v1, well_known};
use crate::app::App;
use crate::mcp;
use crate::webhooks;

/// The whole service.
pub fn router(app: &Arc<App>) -> Router {
    let metadata = || get(well_known::endpoint).options(well_known::endpoint);
    let public = Router::new()
        .route("/livez", get(health::livez))
        .route("/readyz", get(health::readyz))
        .route("/openapi.json", get(openapi))
        .route(well_known::PREFIX, metadata())
        .route("/.well-known/oauth-protected-resource/mcp", metadata())
        .route(
            "/.well-known/oauth-protected-resource/mcp/{*repository}",
            get(well_known::pinned).options(well_known::pinned),
        )
        .with_state(app.clone());
    // The gate authenticates by itself, since what it says depends on the message: see mcp/gate.rs.
    let agents = Router::new()
        .route("/mcp", any(mcp::gate::endpoint))
        .route("/mcp/{*repository}", any(mcp::gate::pinned))
        .with_state(mcp::Door::new(app.clone()));
    // Forges sign what they send, and are no principals.
    let forges = Router::new()
        .route("/webhooks/{provider}/{endpoint}", post(webhooks::receive::endpoint))
        .with_state(app.clone());
    Router::new()
        .merge(public)
        .merge(forges)
        // Every operation of `/v1` goes one way, see http/v1/endpoint.rs. Pages of accepted origins may call it and `/mcp`.
        // A browser asks with a method that is not served, so that what answers those stands within the layer.
        .merge(agents.merge(v1::router(app)).method_not_allowed_fallback(method_not_allowed).layer(cors::layer(app)))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        // Layers, the last added is met first:
        // 4. no log line shows a credential,
        .layer(SetSensitiveRequestHeadersLayer::new([header::AUTHORIZATION, header::COOKIE]))
        // 3. a panic of a handler is a 500 and no hung connection,
        .layer(CatchPanicLayer::custom(panicked))
        // 2. no answer is taken for another kind of content than it says,
        .layer(from_fn(no_sniffing))
        // 1. the request has an id.
        .layer(from_fn_with_state(app.clock.clone(), request_id::assign))
}

/// What `/v1` offers, for whoever wants to know; neither private nor audited.
async fn openapi() -> impl axum::response::IntoResponse {
    ([(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "public, max-age=300")], v1::openapi::text())
}

async fn not_found(request: Request) -> Response {
    Problem::new(
        StatusCode::NOT_FOUND,
        "not_found",
        "Nothing is served at this path.",
        "Agents connect to /mcp; /openapi.json names what /v1 serves; health is at /livez and /readyz.",
    )
    .response(request.extensions().get::<RequestId>().copied())
}

async fn method_not_allowed(request: Request) -> Response {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        format!("{} is not served at this path.", request.method()),
        "See the Allow header for the methods that are.",
    )
    .response(request.extensions().get::<RequestId>().copied())
}

async fn no_sniffing(request: Request, next: axum::middleware::Next) -> Response {
    let mut response = next.run(request).await;
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, http::HeaderValue::from_static("nosniff"));
    response
}

#[expect(clippy::needless_pass_by_value, reason = "the layer hands over the panic's box")]
fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let message = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(message = message.unwrap_or("(no text)"), "a handler panicked");
    Problem::internal().response(None)
}
