//! Replies that are made without the MCP library: JSON-RPC errors, and `unavailable`.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use super::message::Message;
use super::surface;
use crate::answers::error::{AnswerError, Code};
use crate::http::limits::TooMany;
use crate::http::problem::Problem;
use sync_core::ids::RequestId;

/// A revision that is not spoken here.
pub const UNSUPPORTED_VERSION: i32 = -32022;

/// A header that does not say what the message says.
pub const HEADER_MISMATCH: i32 = -32020;

/// A JSON-RPC error. The id is left out where none could be read, as the protocol says.
pub fn error(status: StatusCode, id: Option<&Value>, code: i32, message: &str, data: Option<Value>) -> Response {
    let mut body = json!({ "jsonrpc": "2.0", "error": { "code": code, "message": message } });
    if let Some(id) = id {
        body["id"] = id.clone();
    }
    if let Some(data) = data {
        body["error"]["data"] = data;
    }
    json(status, &body)
}

/// What is said where the store is down or slow: to the call of a tool, an error that its agent sees; to everything
/// else, 503.
pub fn unavailable(message: Option<&Message>, request_id: RequestId) -> Response {
    come_back(message, &AnswerError::unavailable(), 2)
        .unwrap_or_else(|| Problem::unavailable().response(Some(request_id)))
}

/// What is said where the keys of the token's issuer cannot be had: the same, with its own reason.
pub fn issuer_unavailable(message: Option<&Message>, request_id: RequestId) -> Response {
    let problem = Problem::issuer_unavailable();
    let retry_after_s = problem.retry_after_s.unwrap_or_default();
    let error = AnswerError::new(Code::Unavailable, &problem.detail, &problem.next_step)
        .with_details(json!({ "retry_after_s": retry_after_s }));
    come_back(message, &error, retry_after_s).unwrap_or_else(|| problem.response(Some(request_id)))
}

/// What is said to a request too many: the same, with 429.
pub fn rate_limited(message: Option<&Message>, too_many: &TooMany, request_id: RequestId) -> Response {
    let problem = too_many.problem();
    let error = AnswerError::new(Code::RateLimited, &problem.detail, &problem.next_step).with_details(
        json!({ "retry_after_s": too_many.retry_after_s, "limit": too_many.quota, "of": too_many.whose }),
    );
    come_back(message, &error, too_many.retry_after_s).unwrap_or_else(|| problem.response(Some(request_id)))
}

/// The error of a tool's call, with the time to call again; nothing where no tool is called.
fn come_back(message: Option<&Message>, error: &AnswerError, retry_after_s: u64) -> Option<Response> {
    let message = message.filter(|message| message.calls_a_tool())?;
    let told = surface::error_json(error);
    let mut result = json!({
        "content": [{ "type": "text", "text": json!({ "error": told }).to_string() }],
        "isError": true,
        "_meta": { surface::ERROR_KEY: told },
    });
    if message.declared_version.is_some() {
        result["resultType"] = json!("complete");
    }
    let mut response = json(StatusCode::OK, &json!({ "jsonrpc": "2.0", "id": message.id, "result": result }));
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry_after_s));
    Some(response)
}

fn json(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
