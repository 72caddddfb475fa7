//! One message of a known principal: handed to the MCP library, its reply made protocol-conformant where the library's
//! is not, and written down before it leaves.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::response::Response;
use http::request::Parts;
use http::{HeaderValue, Request, StatusCode, header};
use serde_json::{Value, json};
use sync_core::policy::{self, Operation};
use sync_store::Outcome;

use super::message::{Message, NotAMessage};
use super::{Door, REVISIONS, reply};
use crate::audit::{Asker, LedgerState};
use crate::http::{challenge, well_known};

/// Longer than any answer takes; what the MCP library does beyond it is not waited for.
const REPLY_BUDGET: Duration = Duration::from_secs(5);

/// The largest reply, far above what any answer may be.
const MAX_REPLY_BYTES: usize = 8 * 1024 * 1024;

const VERSION_HEADER: &str = "mcp-protocol-version";

const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i32 = -32602;
const INTERNAL_ERROR: i32 = -32603;

const OTHER_FORM: &str = "`params` do not have the form that the method needs";

/// Answers the message in `bytes`.
pub(super) async fn answer(door: Door, mut asker: Asker, parts: Parts, bytes: Bytes) -> Response {
    let message = match Message::read(&bytes) {
        Ok(message) => message,
        Err(NotAMessage { code, reason, id }) => {
            let told = reply::error(StatusCode::BAD_REQUEST, id.as_ref(), code, reason, None);
            return written_down(&door, &asker, None, told).await;
        }
    };
    asker.door = message.door;
    let refused = said_twice(&parts, &message)
        .or_else(|| unsupported_version(&parts, &message))
        .or_else(|| not_permitted(&door, &asker, &message));
    let told = match refused {
        Some(told) => told,
        None => ask_library(&door, &asker, parts, &message).await,
    };
    written_down(&door, &asker, Some(&message), told).await
}

/// Headers that repeat what the message says, for proxies to act on.
const REPEATED: [&str; 3] = [VERSION_HEADER, "mcp-method", "mcp-name"];

/// The library compares the first of each with the message; a proxy may have acted on another one.
fn said_twice(parts: &Parts, message: &Message) -> Option<Response> {
    let name = REPEATED.into_iter().find(|name| parts.headers.get_all(*name).iter().nth(1).is_some())?;
    let text = format!("the header {name} stands twice");
    Some(reply::error(StatusCode::BAD_REQUEST, message.id.as_ref(), reply::HEADER_MISMATCH, &text, None))
}

/// The library serves the handshake revisions before those we speak, where the header names one; a modern message
/// declares its revision itself, and the library compares the two.
fn unsupported_version(parts: &Parts, message: &Message) -> Option<Response> {
    if message.declared_version.is_some() || message.method == "initialize" {
        return None;
    }
    let requested = parts.headers.get(VERSION_HEADER)?.to_str().unwrap_or_default();
    let supported = REVISIONS.map(|version| version.as_str().to_owned());
    if supported.iter().any(|version| version == requested) {
        return None;
    }
    let requested = sync_core::text::shown(requested, 40);
    let message_text = format!("protocol version `{requested}` is not spoken here");
    let data = json!({ "supported": supported, "requested": requested });
    let id = message.id.as_ref();
    Some(reply::error(StatusCode::BAD_REQUEST, id, reply::UNSUPPORTED_VERSION, &message_text, Some(data)))
}

/// What was asked may need more than being let in. A tool that may not be called is unknown to its caller: that is the
/// handler's to say.
fn not_permitted(door: &Door, asker: &Asker, message: &Message) -> Option<Response> {
    if message.calls_a_tool() {
        return None;
    }
    let denied = policy::decide(&asker.principal, Operation::of_mcp(message.door, message.question)).err()?;
    let metadata = well_known::address(&door.app.public_url, "/mcp");
    Some(challenge::denied(&metadata, denied).response(Some(asker.request_id)))
}

async fn ask_library(door: &Door, asker: &Asker, mut parts: Parts, message: &Message) -> Response {
    // The library reads what was read here, byte for byte what was looked at: keys that stand twice, and whatever else
    // two parsers could read differently, are gone.
    let body = Bytes::from(message.value.to_string());
    parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    parts.headers.remove(header::TRANSFER_ENCODING);
    parts.headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    parts.extensions.insert(asker.clone());
    let work = async {
        let reply = door.service.handle(Request::from_parts(parts, Body::from(body))).await;
        let (head, body) = reply.into_parts();
        let bytes = to_bytes(Body::new(body), MAX_REPLY_BYTES).await.ok()?;
        Some((head, bytes))
    };
    let id = message.id.as_ref();
    let Ok(Some((head, bytes))) = tokio::time::timeout(REPLY_BUDGET, work).await else {
        tracing::error!(action = message.door, "the MCP library did not reply");
        return reply::error(
            StatusCode::INTERNAL_SERVER_ERROR,
            id,
            INTERNAL_ERROR,
            "no reply was made; try again",
            None,
        );
    };
    let json =
        head.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    // To the library, known methods with parameters of another form are unknown methods.
    if message.is_served() && rpc_error_code(&bytes) == Some(METHOD_NOT_FOUND) {
        return reply::error(StatusCode::BAD_REQUEST, id, INVALID_PARAMS, OTHER_FORM, None);
    }
    if json || head.status.is_success() {
        return Response::from_parts(head, Body::from(bytes));
    }
    // The library says some of this in plain text, and calls a message whose parameters it cannot read a wrong kind of
    // body; a client gets a JSON-RPC error.
    let (status, reason) = match head.status {
        StatusCode::UNSUPPORTED_MEDIA_TYPE => (StatusCode::BAD_REQUEST, OTHER_FORM.to_owned()),
        status => (status, sync_core::text::shown(&String::from_utf8_lossy(&bytes), 300)),
    };
    let code = if status.is_server_error() { INTERNAL_ERROR } else { INVALID_REQUEST };
    reply::error(status, id, code, &reason, None)
}

/// Lets a reply out once its audit row is committed: an answer wrote its own, everything else is written down here.
async fn written_down(door: &Door, asker: &Asker, message: Option<&Message>, told: Response) -> Response {
    let unavailable = || reply::unavailable(message, asker.request_id);
    match asker.ledger.state() {
        LedgerState::Committed => told,
        LedgerState::Failed => unavailable(),
        LedgerState::Open => {
            let (head, body) = told.into_parts();
            let Ok(bytes) = to_bytes(body, MAX_REPLY_BYTES).await else { return unavailable() };
            let (outcome, code) = outcome(head.status, &bytes);
            let arguments = message.map(Message::arguments);
            let question = message.and_then(|message| message.question);
            match door.app.auditor.record(asker, question, arguments.as_ref(), outcome, code.as_deref()).await {
                Ok(()) => Response::from_parts(head, Body::from(bytes)),
                Err(_unrecorded) => unavailable(),
            }
        }
    }
}

/// How a reply that no answer made ended: the JSON-RPC code is the row's code.
fn outcome(status: StatusCode, bytes: &[u8]) -> (Outcome, Option<String>) {
    if let Some(code) = rpc_error_code(bytes) {
        let outcome = if code == i64::from(INTERNAL_ERROR) { Outcome::Error } else { Outcome::Refused };
        return (outcome, Some(format!("rpc_{code}")));
    }
    let body: Value = serde_json::from_slice(bytes).unwrap_or_default();
    if body.pointer("/result/isError") == Some(&Value::Bool(true)) {
        return (Outcome::Error, Some("internal".to_owned()));
    }
    if status.is_success() {
        (Outcome::Ok, None)
    } else {
        (Outcome::Refused, Some(format!("http_{}", status.as_u16())))
    }
}

fn rpc_error_code(bytes: &[u8]) -> Option<i64> {
    // Most replies are results, some of them long: only what begins like an error is parsed.
    let head = &bytes[..bytes.len().min(512)];
    if !head.windows(7).any(|window| window == b"\"error\"") {
        return None;
    }
    serde_json::from_slice::<Value>(bytes).ok()?.pointer("/error/code")?.as_i64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_how_a_reply_ended() {
        let ended = |status: u16, body: &str| outcome(StatusCode::from_u16(status).unwrap(), body.as_bytes());
        assert_eq!(ended(200, r#"{"result":{}}"#), (Outcome::Ok, None));
        assert_eq!(ended(202, ""), (Outcome::Ok, None));
        assert_eq!(ended(200, r#"{"error":{"code":-32602}}"#), (Outcome::Refused, Some("rpc_-32602".to_owned())));
        assert_eq!(ended(200, r#"{"error":{"code":-32603}}"#), (Outcome::Error, Some("rpc_-32603".to_owned())));
        assert_eq!(ended(405, ""), (Outcome::Refused, Some("http_405".to_owned())));
    }
}
