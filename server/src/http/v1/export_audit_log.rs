//! `GET /v1/audit/export`.

use std::io;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, Method, header};
use schemars::JsonSchema;
use serde::Deserialize;
use sync_core::policy::Operation;
use sync_store::{AuditFilter, Outcome};
use tokio::sync::mpsc;

use super::audit_filter::{Ended, Narrowing};
use super::endpoint::{Call, Endpoint, Input, Nothing, Respond};
use crate::audit::ahead::Ahead;
use crate::audit::export::{Broken, Export, Format, Sink};
use crate::http::problem::Problem;

/// Pages that wait for a slow reader.
const WAITING: usize = 2;

/// Gives the log as a stream.
pub(super) struct ExportAuditLog;

/// What narrows the export.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// `ndjson` (the default): one JSON object a line; `csv`: a table.
    format: Option<Format>,
    /// Whose calls: a member's id, or the name it had at that time.
    #[schemars(length(min = 1, max = 200))]
    principal: Option<String>,
    /// About which repository: its id, or the name it had at that time.
    #[schemars(length(min = 1, max = 200))]
    repository: Option<String>,
    /// Exactly this action.
    #[schemars(length(min = 1, max = 200))]
    action: Option<String>,
    /// How the call ended.
    outcome: Option<Ended>,
    /// Calls that began at this instant or later.
    #[schemars(extend("format" = "date-time"))]
    from: Option<String>,
    /// Calls that began before this instant.
    #[schemars(extend("format" = "date-time"))]
    to: Option<String>,
}

impl Endpoint for ExportAuditLog {
    const OPERATION: Operation = Operation::ExportAuditLog;
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/v1/audit/export";
    const TAG: &'static str = "audit";
    const SUMMARY: &'static str = "The audit log as a file";
    const DESCRIPTION: &'static str = "All rows that are wanted, the oldest first, as a stream of one moment: what is \
        written meanwhile is not in it. The last line is an object with `end` (in a table a comment): how many `rows`, \
        whether the export is `complete` (it ends after four minutes; go on with `from` = `last_time`), from when on \
        there are newer rows that are not in it (`newer_from`; null where there are none: the moment lies before what is \
        open in the database, minutes at most), and the signed `head` of the last seal. Without that line the export broke off. It is written down before it begins, and how it \
        ended after.";
    const MEDIA: &'static [&'static str] = &[Format::Ndjson.media_type(), Format::Csv.media_type()];
    type Path = Nothing;
    type Query = Wanted;
    type Body = Nothing;
    type Output = String;
}

impl Respond for ExportAuditLog {
    async fn respond(call: &Call, input: Input<Self>) -> Result<Response, Problem> {
        let wanted = input.query;
        let narrowing = Narrowing {
            principal: wanted.principal.as_deref(),
            repository: wanted.repository.as_deref(),
            action: wanted.action.as_deref(),
            outcome: wanted.outcome,
            from: wanted.from.as_deref(),
            to: wanted.to.as_deref(),
        };
        let filter = narrowing.filter()?;
        let format = wanted.format.unwrap_or_default();
        let arguments = narrowing.arguments();
        let ahead: Result<Ahead, Problem> = call.app.auditor.ahead(&call.asker, None, &arguments, None).await;
        let ahead = ahead?;
        let (sender, receiver) = mpsc::channel(WAITING);
        // On its own, so that its outcome is written down whatever becomes of the connection.
        call.app.work.spawn(stream(call.clone(), ahead, filter, format, sender));
        let chunks = futures::stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|chunk| (chunk, receiver))
        });
        let mut response = Response::new(Body::from_stream(chunks));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let name = match format {
            Format::Ndjson => "attachment; filename=\"audit.ndjson\"",
            Format::Csv => "attachment; filename=\"audit.csv\"",
        };
        headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static(name));
        Ok(response)
    }
}

/// What the connection takes.
struct Connection(mpsc::Sender<io::Result<Bytes>>);

impl Sink for Connection {
    async fn take(&mut self, lines: Bytes) -> Result<(), Broken> {
        self.0.send(Ok(lines)).await.map_err(|_| Broken::Left)
    }
}

async fn stream(
    call: Call,
    ahead: Ahead,
    filter: AuditFilter,
    format: Format,
    sender: mpsc::Sender<io::Result<Bytes>>,
) {
    let sink = Connection(sender.clone());
    let mut export = Export::new(&call.app.store, call.principal(), filter, format, sink);
    let (outcome, code) = match export.run(ahead.deadline()).await {
        Ok(exported) if exported.complete => (Outcome::Ok, None),
        Ok(_) => (Outcome::Timeout, Some("timeout")),
        Err(broken) => {
            // A body that ends in an error is cut off, which no reader takes for its end.
            let cut = sender.try_send(Err(io::Error::other("the export broke off")));
            tracing::warn!(%broken, request_id = %call.asker.request_id, told = cut.is_ok(), "an export broke off");
            match broken {
                Broken::Left => (Outcome::Error, Some("client_left")),
                Broken::Store(error) if error.is_unavailable() => (Outcome::Error, Some("unavailable")),
                Broken::Store(_) => (Outcome::Error, Some("internal")),
            }
        }
    };
    let rows = export.rows;
    // Where that cannot be written down, the log has the event without an outcome, which becomes a timeout.
    let _ = ahead.finish(outcome, code, Some(rows)).await;
}
