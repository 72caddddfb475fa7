//! What every request to `/mcp` passes, in this order: is it addressed to us, who asks, may they, what do they ask;
//! then the MCP library answers; then, whoever answered, it is written down before the first byte leaves.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::request::Parts;
use http::{Method, StatusCode, header};
use sync_core::policy::Operation;
use sync_core::principal::Scope;
use sync_store::Protocol;
use tokio::time::Instant;

use super::message::{MALFORMED, Message};
use super::{Door, answer, is_repository_name, reply};
use crate::http::body;
use crate::http::entrance::{Entrance, Turned};
use crate::http::problem::Problem;

/// `/mcp`.
pub async fn endpoint(State(door): State<Door>, request: Request) -> Response {
    enter(door, None, request).await
}

/// `/mcp/{repository…}`, which pins every answer to one repository.
pub async fn pinned(
    State(door): State<Door>,
    repository: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    // What is no text is no name: the gate says so, to those who may ask.
    let repository = repository.map(|Path(repository)| repository).unwrap_or_default();
    enter(door, Some(repository), request).await
}

async fn enter(door: Door, pin: Option<String>, request: Request) -> Response {
    match let_in(door, pin, request).await {
        Ok(response) | Err(response) => response,
    }
}

/// The answer, or what is said at the door.
async fn let_in(door: Door, pin: Option<String>, request: Request) -> Result<Response, Response> {
    let (mut parts, body) = request.into_parts();
    // Only a name goes into a header, where other text could be read as further parameters.
    let named = pin.as_ref().filter(|name| is_repository_name(name));
    let resource = named.map_or_else(|| "/mcp".to_owned(), |name| format!("/mcp/{name}"));
    let mut entrance = Entrance::of(&door.app, Protocol::Mcp, &parts, &resource)?;
    let principal = match entrance.principal(&mut parts.headers, Scope::GraphRead, "mcp.authenticate").await {
        Ok(principal) => principal,
        Err(Turned::Unavailable) => {
            let message = body::read(body).await.ok().and_then(|bytes| Message::read(&bytes).ok());
            return Err(reply::unavailable(message.as_ref(), entrance.request_id));
        }
        Err(Turned::IssuerUnavailable) => {
            let message = body::read(body).await.ok().and_then(|bytes| Message::read(&bytes).ok());
            return Err(reply::issuer_unavailable(message.as_ref(), entrance.request_id));
        }
        Err(Turned::TooMany(too_many)) => {
            let message = body::read(body).await.ok().and_then(|bytes| Message::read(&bytes).ok());
            return Err(entrance.stamped(reply::rate_limited(message.as_ref(), &too_many, entrance.request_id)));
        }
        Err(Turned::Away(response)) => return Err(response),
    };
    entrance.permit(&principal, Operation::Mcp, "mcp.authorize").await?;
    if pin.is_some() && named.is_none() {
        return Err(entrance.refuse(principal, "mcp.route", not_a_repository()).await);
    }
    if let Some(problem) = head_problem(&parts) {
        return Err(entrance.refuse(principal, MALFORMED, problem).await);
    }
    // How long a client takes to send its message is not taken from the budget of the answer.
    let spent = entrance.began.elapsed();
    let body = body::read(body).await;
    entrance.began = Instant::now() - spent;
    let bytes = match body {
        Ok(bytes) => bytes,
        Err(problem) => return Err(entrance.refuse(principal, MALFORMED, problem).await),
    };
    let asker = entrance.asker(principal, MALFORMED, pin.map(Arc::from));
    Ok(entrance.detached(answer::answer(door, asker, parts, bytes)).await)
}

/// What is wrong with the head of a request.
fn head_problem(parts: &Parts) -> Option<Problem> {
    if parts.method != Method::POST {
        let problem = Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "MCP is served statelessly: there is no stream to GET and no session to DELETE.",
            "POST one JSON-RPC message.",
        );
        return Some(problem.with_header(header::ALLOW, "POST"));
    }
    let kind = |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_ascii_lowercase);
    if !body::is_json(&parts.headers) {
        return Some(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            "The body of a request to MCP is application/json.",
            "Send `Content-Type: application/json`.",
        ));
    }
    // The protocol wants both kinds in Accept; whoever takes JSON gets JSON.
    let accepts = kind(header::ACCEPT).is_none_or(|kinds| {
        kinds.split(',').any(|kind| {
            matches!(kind.split(';').next().map(str::trim), Some(JSON | "application/*" | "*/*" | "text/event-stream"))
        })
    });
    (!accepts).then(|| {
        Problem::new(
            StatusCode::NOT_ACCEPTABLE,
            "not_acceptable",
            "Answers are application/json, which the Accept header excludes.",
            "Send `Accept: application/json, text/event-stream`.",
        )
    })
}

const JSON: &str = "application/json";

fn not_a_repository() -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "not_found",
        "The path below /mcp is not a repository name.",
        "Connect to /mcp, or to /mcp/ and a name as sync_repositories lists it.",
    )
}
