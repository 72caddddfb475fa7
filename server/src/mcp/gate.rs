//! What every request to `/mcp` passes, in this order: is it addressed to us, who asks, may they, what do they ask;
//! then the MCP library answers; then, whoever answered, it is written down before the first byte leaves.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use futures::StreamExt as _;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, header};
use sync_core::ids::RequestId;
use sync_core::principal::{Principal, Scope};
use sync_store::{Outcome, Protocol};
use tokio::time::{Instant, timeout_at};

use super::message::{MALFORMED, Message};
use super::{Door, MAX_BODY_BYTES, answer, is_repository_name, reply};
use crate::audit::{Asker, AuditLedger, TOTAL_BUDGET};
use crate::http::names::Foreign;
use crate::http::problem::Problem;
use crate::http::{challenge, client_address, well_known};
use crate::identity::NotAuthenticated;

/// How long a client may take to send its message.
const BODY_BUDGET: Duration = Duration::from_secs(10);

/// How much of a message that is too long is read before its sender is told.
const MAX_DRAINED_BYTES: usize = 16 * MAX_BODY_BYTES;

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

/// A request as far as it is known before its body.
struct Entrance {
    door: Door,
    request_id: RequestId,
    client_ip: Option<IpAddr>,
    began: Instant,
}

async fn enter(door: Door, pin: Option<String>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let mut entrance = Entrance {
        request_id: parts.extensions.get().copied().unwrap_or_else(|| RequestId::at(door.app.clock.now())),
        client_ip: client_address::of(&parts.headers, &parts.extensions, door.app.config.forwarded_hops),
        door,
        began: Instant::now(),
    };
    if let Err(foreign) = entrance.door.app.names.check(&parts.headers, &parts.uri) {
        return entrance.turn_away(foreign_problem(foreign));
    }
    // Only a name goes into a header, where other text could be read as further parameters.
    let named = pin.as_ref().filter(|name| is_repository_name(name));
    let resource = named.map_or_else(|| "/mcp".to_owned(), |name| format!("/mcp/{name}"));
    let metadata = well_known::address(&entrance.door.app.public_url, &resource);
    let principal = match entrance.authenticate(&mut parts.headers).await {
        Ok(principal) => principal,
        Err(NotAuthenticated::Missing) => return entrance.turn_away(challenge::missing(&metadata)),
        Err(NotAuthenticated::Refused(refused)) => {
            let problem = Problem { code: refused.code, ..challenge::refused(&metadata, &refused.description) };
            return match refused.principal {
                None => entrance.turn_away(problem),
                Some(principal) => entrance.refuse(principal, "mcp.authenticate", problem).await,
            };
        }
        Err(NotAuthenticated::Unavailable) => {
            let message = read(body).await.ok().and_then(|bytes| Message::read(&bytes).ok());
            return reply::unavailable(message.as_ref(), entrance.request_id);
        }
    };
    if !principal.has(Scope::GraphRead) {
        return entrance.refuse(principal, "mcp.authorize", challenge::insufficient_scope(&metadata)).await;
    }
    if pin.is_some() && named.is_none() {
        return entrance.refuse(principal, "mcp.route", not_a_repository()).await;
    }
    if let Some(problem) = head_problem(&parts) {
        return entrance.refuse(principal, MALFORMED, problem).await;
    }
    // How long a client takes to send its message is not taken from the budget of the answer.
    let spent = entrance.began.elapsed();
    let body = read(body).await;
    entrance.began = Instant::now() - spent;
    let bytes = match body {
        Ok(bytes) => bytes,
        Err(problem) => return entrance.refuse(principal, MALFORMED, problem).await,
    };
    let asker = entrance.asker(principal, MALFORMED, pin.map(Arc::from));
    let door = entrance.door.clone();
    entrance.detached(answer::answer(door, asker, parts, bytes)).await
}

impl Entrance {
    /// Who asks. The credential goes no further than this: not into the MCP library, not into its log.
    async fn authenticate(&self, headers: &mut HeaderMap) -> Result<Principal, NotAuthenticated> {
        let given: Vec<_> = headers.get_all(header::AUTHORIZATION).iter().cloned().collect();
        headers.remove(header::AUTHORIZATION);
        let credential = match given.as_slice() {
            [] => None,
            [one] => Some(one.as_bytes()),
            // Which of two would count? Neither: empty text is no credential.
            _ => Some(&b""[..]),
        };
        let authenticated = self.door.app.authenticator.authenticate(credential);
        match timeout_at(self.began + TOTAL_BUDGET, authenticated).await {
            Ok(authenticated) => authenticated,
            Err(_elapsed) => Err(NotAuthenticated::Unavailable),
        }
    }

    /// Answers a request of no organization: counted, not written down.
    fn turn_away(&self, problem: Problem) -> Response {
        self.door.app.refusals.count(Protocol::Mcp, self.client_ip, problem.code);
        problem.response(Some(self.request_id))
    }

    /// Refuses a request of a known principal, which is written down first.
    async fn refuse(self, principal: Principal, action: &'static str, problem: Problem) -> Response {
        let asker = self.asker(principal, action, None);
        let (door, request_id) = (self.door.clone(), self.request_id);
        self.detached(async move {
            match door.app.auditor.record(&asker, None, None, Outcome::Refused, Some(problem.code)).await {
                Ok(()) => problem.response(Some(request_id)),
                Err(_unrecorded) => reply::unavailable(None, request_id),
            }
        })
        .await
    }

    fn asker(&self, principal: Principal, action: &'static str, pinned_repository: Option<Arc<str>>) -> Asker {
        Asker {
            principal: Arc::new(principal),
            request_id: self.request_id,
            protocol: Protocol::Mcp,
            door: action,
            began: self.began,
            client_ip: self.client_ip,
            pinned_repository,
            ledger: AuditLedger::default(),
        }
    }

    /// Works on to the end whether the connection lives or not: an answer that was made is written down, and the
    /// database sees no transaction dropped halfway.
    async fn detached(&self, work: impl Future<Output = Response> + Send + 'static) -> Response {
        let request_id = self.request_id;
        match self.door.app.work.spawn(tracing::Instrument::in_current_span(work)).await {
            Ok(response) => response,
            Err(error) => {
                tracing::error!(%error, "work on a request ended early");
                Problem::internal().response(Some(request_id))
            }
        }
    }
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
    let json = kind(header::CONTENT_TYPE).is_some_and(|kind| kind.split(';').next().map(str::trim) == Some(JSON));
    if !json {
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

async fn read(body: Body) -> Result<Bytes, Problem> {
    match tokio::time::timeout(BODY_BUDGET, collect(body)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(TooLong)) => Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "payload_too_large",
            format!("The message is longer than {MAX_BODY_BYTES} bytes."),
            "Send a shorter message.",
        )),
        Err(_elapsed) => Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "request_timeout",
            "The message did not arrive in time.",
            "Send it again.",
        )),
    }
}

struct TooLong;

/// All of the body, if it is short enough. Of one that is not, some more is read and thrown away: a client that is
/// still writing would see a broken connection instead of the reason.
async fn collect(body: Body) -> Result<Bytes, TooLong> {
    let mut chunks = body.into_data_stream();
    let (mut kept, mut seen) = (Vec::new(), 0);
    while let Some(chunk) = chunks.next().await {
        // The connection broke: nobody will read what is said.
        let Ok(chunk) = chunk else { break };
        seen += chunk.len();
        if seen <= MAX_BODY_BYTES {
            kept.extend_from_slice(&chunk);
        } else if seen > MAX_DRAINED_BYTES {
            break;
        }
    }
    if seen > MAX_BODY_BYTES { Err(TooLong) } else { Ok(Bytes::from(kept)) }
}

fn foreign_problem(foreign: Foreign) -> Problem {
    let (code, detail, next_step) = match foreign {
        Foreign::Host => (
            "foreign_host",
            "This service is not served under the name in the Host header.",
            "Use its public address; the operator adds names with allowed_hosts.",
        ),
        Foreign::Origin => (
            "foreign_origin",
            "Web pages of the origin in the Origin header may not call this service.",
            "Agents send no Origin; the operator adds origins with allowed_origins.",
        ),
    };
    Problem::new(StatusCode::FORBIDDEN, code, detail, next_step)
}

fn not_a_repository() -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "not_found",
        "The path below /mcp is not a repository name.",
        "Connect to /mcp, or to /mcp/ and a name as sync_repositories lists it.",
    )
}
