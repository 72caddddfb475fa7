//! Whether the process lives, and whether it can serve. Neither is audited.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::json;

use crate::app::App;

/// How long the store may take to say that it is there.
const PING_BUDGET: Duration = Duration::from_millis(1500);

/// 200 as long as the process can answer at all.
pub async fn livez() -> Json<serde_json::Value> {
    Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}

/// 200 where a request could be answered now; else 503 with what is missing.
pub async fn readyz(State(app): State<Arc<App>>) -> Response {
    let store = match tokio::time::timeout(PING_BUDGET, app.store.ping()).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => {
            tracing::warn!(%error, "not ready: the store");
            Some("the database does not answer; next: check SYNC_DATABASE_URL and the database, or run `syncd doctor`")
        }
        Err(_elapsed) => Some("the database is too slow; next: look at its load and at open transactions"),
    };
    let ready = store.is_none();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body =
        json!({ "status": if ready { "ok" } else { "not_ready" }, "checks": { "store": store.unwrap_or("ok") } });
    (status, Json(body)).into_response()
}
