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
    let (store, audit) = match tokio::time::timeout(PING_BUDGET, app.store.may_record()).await {
        Ok(Ok(true)) => ("ok", "ok"),
        Ok(Ok(false)) => {
            tracing::warn!("not ready: the role of SYNC_DATABASE_URL may not write the audit log");
            (
                "ok",
                "the service may not write the audit log, without which it answers nothing; next: run `syncd migrate`",
            )
        }
        Ok(Err(error)) => {
            tracing::warn!(%error, "not ready: the store");
            (
                "the database does not answer; next: check SYNC_DATABASE_URL and the database, or run `syncd doctor`",
                "unknown",
            )
        }
        Err(_elapsed) => ("the database is too slow; next: look at its load and at open transactions", "unknown"),
    };
    let ready = (store, audit) == ("ok", "ok");
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let word = if ready { "ok" } else { "not_ready" };
    let body = json!({ "status": word, "checks": { "store": store, "audit": audit } });
    (status, Json(body)).into_response()
}
