//! What an operation of `/v1` is made of, and the one way that leads to it: authenticated, permitted, read, answered in
//! a transaction with its audit row, and worked on to the end whether its client waits or not.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, Method, StatusCode, header};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sync_core::policy::Operation;
use sync_core::principal::{Principal, Scope};
use sync_store::{Outcome, Protocol};
use tokio::time::Instant;

use super::idempotency::{self, Key};
use super::input::{self, Given};
use crate::app::App;
use crate::audit::{Asker, Failure, LedgerState, Reading};
use crate::http::entrance::{Entrance, Turned};
use crate::http::problem::Problem;

/// The resource whose metadata a challenge of `/v1` points at: the one whose tokens are good here too.
const RESOURCE: &str = "/mcp";

/// Where an operation stands, what it takes and how it is described. The description is the OpenAPI file's; a client
/// reads it.
pub trait Endpoint: Send + Sync + Sized + 'static {
    /// Its row in the table of who may do what; its name there is also the audit row's action.
    const OPERATION: Operation;
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    const METHOD: Method;
    /// `/v1/tokens/{token}`.
    const PATH: &'static str;
    /// The group it is listed in: `identity`, `audit`, ….
    const TAG: &'static str;
    /// What it does, in a few words.
    const SUMMARY: &'static str;
    /// What a caller has to know beyond that.
    const DESCRIPTION: &'static str;
    /// What is missing where an id of the path is no id, or is none of an existing thing: `token`.
    const SUBJECT: &'static str = "thing";
    /// How it says that it went well; 204 where there is nothing to say.
    const SUCCESS: StatusCode = StatusCode::OK;
    /// Another status by which it says that it went well, with the same answer.
    const ALSO: Option<StatusCode> = None;
    /// How else it may end, beside what every operation may end with: 409 and whatever is its own.
    const FAILURES: &'static [StatusCode] = &[];
    /// Whether a request without a body is one with an empty object: where nothing in it has to be said.
    const BODY_OPTIONAL: bool = false;
    /// In which forms it takes a body that it reads by itself, since it is no JSON and may be large. Its [`Endpoint::Body`]
    /// is [`Nothing`].
    const UPLOADS: &'static [&'static str] = &[];
    /// In which forms it answers, as HTTP names them.
    const MEDIA: &'static [&'static str] = &["application/json"];
    /// What is said where what the path names is not there.
    fn absent() -> Problem {
        Problem::not_found(Self::SUBJECT)
    }
    /// The parts of the path; [`Nothing`] where it has none.
    type Path: Part;
    /// The query; [`Nothing`] where it takes none. Unknown parameters must be refused (`deny_unknown_fields`).
    type Query: Part;
    /// The JSON body; [`Nothing`] where it takes none. Unknown members must be refused (`deny_unknown_fields`).
    type Body: Part;
    /// What it answers with; [`Nothing`] where it answers with nothing.
    type Output: Serialize + JsonSchema + Send;
}

/// An operation that is answered from rows of the caller's organization, or changes some: the usual kind.
pub trait Answer: Endpoint {
    /// Makes the answer. Of a `GET`, all statements see one snapshot; everything else changes rows, and its changes
    /// commit together with the audit row or not at all. [`Reading::about`] and [`Reading::rows`] say what the row says.
    fn answer(
        call: &Call,
        reading: &mut Reading,
        input: Input<Self>,
    ) -> impl Future<Output = Result<Self::Output, Problem>> + Send;

    /// Where the answer holds a secret that is shown this once and kept nowhere: the id of what was made. The same change
    /// asked for again under its `Idempotency-Key` is then a conflict that names it.
    fn shown_once(_: &Self::Output) -> Option<String> {
        None
    }
}

/// An operation that makes its response itself, since it is a stream or has effects outside of the database. It goes
/// through a door of the [`crate::audit::Auditor`] by itself, and must: a response whose row is not committed is
/// withheld.
pub trait Respond: Endpoint {
    /// Makes the response.
    fn respond(call: &Call, input: Input<Self>) -> impl Future<Output = Result<Response, Problem>> + Send;
}

/// What an operation takes.
pub trait Part: DeserializeOwned + JsonSchema + Send + Sync {}

impl<T: DeserializeOwned + JsonSchema + Send + Sync> Part for T {}

/// No path, no query, no body, no answer.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

impl Nothing {
    /// Whether a type is this one.
    pub fn is<T: JsonSchema>() -> bool {
        T::schema_id() == Self::schema_id()
    }
}

/// What one request gave to its operation.
pub struct Input<E: Endpoint> {
    /// Parts of the path.
    pub path: E::Path,
    /// The query.
    pub query: E::Query,
    /// The body.
    pub body: E::Body,
    /// The body of an operation that reads it by itself; empty otherwise.
    pub stream: Body,
}

/// One request of a principal who may ask it.
#[derive(Clone)]
pub struct Call {
    /// The service.
    pub app: Arc<App>,
    /// Who asks.
    pub asker: Asker,
}

impl Call {
    /// Who asks.
    pub fn principal(&self) -> &Principal {
        &self.asker.principal
    }
}

/// Serves a request to an operation of the usual kind.
pub(super) async fn answer<E: Answer>(app: Arc<App>, request: Request) -> Response {
    let (entrance, call, given) = match let_in::<E>(&app, request).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    entrance.detached(async move { finished(&call, answered::<E>(&call, given).await).await }).await
}

async fn answered<E: Answer>(call: &Call, given: Given<E>) -> Result<Response, Problem> {
    let Given { input, arguments, key } = given;
    let (auditor, by) = (&call.app.auditor, call.clone());
    if E::METHOD.is_safe() {
        let answer = auditor.audited(&call.asker, None, &arguments, move |reading| {
            Box::pin(async move { E::answer(&by, reading, input).await })
        });
        let output: E::Output = answer.await?;
        return Ok(said(success::<E>(), body::<E>(&output)?));
    }
    let key = key.map(|key| Key::new(call, &key, &arguments));
    let change = auditor.changed(&call.asker, None, &arguments, move |reading| {
        Box::pin(async move { change_once::<E>(&by, reading, input, key).await })
    });
    let changed = change.await;
    // Also where it failed: what timed out may have been done.
    call.app.authenticator.changed(call.principal().organization);
    changed
}

/// Makes a change, or gives what was answered to it before.
async fn change_once<E: Answer>(
    call: &Call,
    reading: &mut Reading,
    input: Input<E>,
    key: Option<Key>,
) -> Result<Response, Problem> {
    if let Some(key) = &key
        && let Some(answer) = key.answered(reading).await?
    {
        let status = StatusCode::from_u16(answer.status).unwrap_or(E::SUCCESS);
        return Ok(idempotency::replayed(said(status, answer.body.unwrap_or_default())));
    }
    let output = E::answer(call, reading, input).await?;
    let (status, bytes) = (success::<E>(), body::<E>(&output)?);
    if let Some(key) = key {
        key.remember(reading, status, &bytes, E::shown_once(&output)).await?;
    }
    Ok(said(status, bytes))
}

/// Serves a request to an operation that makes its response itself.
pub(super) async fn respond<E: Respond>(app: Arc<App>, request: Request) -> Response {
    let (entrance, call, given) = match let_in::<E>(&app, request).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    entrance
        .detached(async move {
            let told = E::respond(&call, given.input).await;
            finished(&call, told).await
        })
        .await
}

/// All that comes before the operation itself. What is refused here is counted or written down already.
async fn let_in<E: Endpoint>(app: &Arc<App>, request: Request) -> Result<(Entrance, Call, Given<E>), Response> {
    let (mut parts, body) = request.into_parts();
    let mut entrance = Entrance::of(app, Protocol::Rest, &parts, RESOURCE)?;
    let action = E::OPERATION.name();
    let wanted = E::OPERATION.scopes().first().copied().unwrap_or(Scope::Admin);
    let principal = match entrance.principal(&mut parts.headers, wanted, action).await {
        Ok(principal) => principal,
        Err(Turned::Away(response)) => return Err(response),
        Err(Turned::TooMany(too_many)) => {
            return Err(entrance.stamped(too_many.problem().response(Some(entrance.request_id))));
        }
        Err(Turned::Unavailable) => return Err(Problem::unavailable().response(Some(entrance.request_id))),
        Err(Turned::IssuerUnavailable) => {
            return Err(Problem::issuer_unavailable().response(Some(entrance.request_id)));
        }
    };
    entrance.permit(&principal, E::OPERATION, action).await?;
    // How long a client takes to send its body is not taken from the budget of the answer.
    let spent = entrance.began.elapsed();
    let given = input::read::<E>(&mut parts, body).await;
    entrance.began = Instant::now() - spent;
    let given = match given {
        Ok(given) => given,
        Err(problem) => return Err(entrance.refuse(principal, action, problem).await),
    };
    let asker = entrance.asker(principal, action, None);
    Ok((entrance, Call { app: app.clone(), asker }, given))
}

/// Lets a response out once its audit row is committed; one that no door of the auditor saw is written down here.
async fn finished(call: &Call, told: Result<Response, Problem>) -> Response {
    let request_id = Some(call.asker.request_id);
    match (call.asker.ledger.state(), told) {
        (LedgerState::Failed, _) => Problem::unavailable().response(request_id),
        (LedgerState::Committed, Ok(response)) => response,
        (LedgerState::Committed, Err(problem)) => problem.response(request_id),
        (LedgerState::Open, told) => {
            let (outcome, code) = match &told {
                Ok(_) => (Outcome::Ok, None),
                Err(problem) => (Failure::outcome(problem), Some(problem.code)),
            };
            match call.app.auditor.record(&call.asker, None, None, outcome, code).await {
                Ok(()) => told.unwrap_or_else(|problem| problem.response(request_id)),
                Err(_unrecorded) => Problem::unavailable().response(request_id),
            }
        }
    }
}

/// How an operation says that it went well.
pub(super) fn success<E: Endpoint>() -> StatusCode {
    if Nothing::is::<E::Output>() { StatusCode::NO_CONTENT } else { E::SUCCESS }
}

/// The JSON of an answer; empty where it has none.
pub(super) fn body<E: Endpoint>(output: &E::Output) -> Result<Vec<u8>, Problem> {
    if Nothing::is::<E::Output>() {
        return Ok(Vec::new());
    }
    serde_json::to_vec(output).map_err(|error| {
        tracing::error!(%error, action = E::OPERATION.name(), "an answer has no JSON");
        Problem::internal()
    })
}

/// An answer as the response it is.
pub(super) fn said(status: StatusCode, body: Vec<u8>) -> Response {
    let empty = body.is_empty();
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_TYPE);
    if !empty {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
