//! `GET /v1/audit`.

use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use sync_core::ids::EventId;
use sync_core::policy::Operation;
use sync_store::{AuditOrder, LoggedEvent};
use time::OffsetDateTime;

use super::audit_filter::{Ended, Narrowing};
use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::page::{Asked, Page};
use crate::audit::Reading;
use crate::audit::entry::Entry;
use crate::http::problem::Problem;

/// Lists who asked what, and when.
pub(super) struct ListAuditEvents;

/// What narrows the list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// Whose calls: a member's id, or the name it had at that time.
    #[schemars(length(min = 1, max = 200))]
    principal: Option<String>,
    /// About which repository: its id, or the name it had at that time.
    #[schemars(length(min = 1, max = 200))]
    repository: Option<String>,
    /// Exactly this action: `mcp.tools/call:sync_whats_at_risk`, `rest.list_audit_events`.
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
    /// How many at most.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
    /// Where to go on: the `next_cursor` of the page before.
    cursor: Option<String>,
}

impl Wanted {
    fn narrowing(&self) -> Narrowing<'_> {
        Narrowing {
            principal: self.principal.as_deref(),
            repository: self.repository.as_deref(),
            action: self.action.as_deref(),
            outcome: self.outcome,
            from: self.from.as_deref(),
            to: self.to.as_deref(),
        }
    }
}

/// Reads a query as far as the store is not asked.
#[cfg(any(test, fuzzing))]
pub(super) fn query_for_fuzzing(query: &str) {
    let Ok(uri) = format!("/v1/audit?{query}").parse() else { return };
    let Ok(axum::extract::Query(wanted)) = axum::extract::Query::<Wanted>::try_from_uri(&uri) else { return };
    let narrowing = wanted.narrowing();
    let _ = (narrowing.filter().is_ok(), narrowing.arguments());
}

impl Endpoint for ListAuditEvents {
    const OPERATION: Operation = Operation::ListAuditEvents;
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/v1/audit";
    const TAG: &'static str = "audit";
    const SUMMARY: &'static str = "Who asked what, and when";
    const DESCRIPTION: &'static str = "Rows of the organization's audit log, the newest first. Reading it is itself \
        written down. A long log is read faster with `from` and `to`.";
    const FAILURES: &'static [StatusCode] = &[];
    type Path = Nothing;
    type Query = Wanted;
    type Body = Nothing;
    type Output = Page<Entry>;
}

impl Answer for ListAuditEvents {
    async fn answer(call: &Call, reading: &mut Reading, input: Input<Self>) -> Result<Page<Entry>, Problem> {
        let wanted = input.query;
        let narrowing = wanted.narrowing();
        let filter = narrowing.filter()?;
        let asked = Asked::of::<Self>(call, wanted.limit, &narrowing)?;
        let after: Option<(i128, EventId)> = asked.after(call, wanted.cursor.as_deref())?;
        let after = after.map(|(nanoseconds, id)| {
            let time = OffsetDateTime::from_unix_timestamp_nanos(nanoseconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
            (time, id)
        });
        let events = reading.tx.audit_events(&filter, AuditOrder::NewestFirst(after), asked.fetch()).await?;
        let page = asked
            .page(call, events, None, |event: &LoggedEvent| (event.time.unix_timestamp_nanos(), event.event_id))?;
        reading.rows(page.items.len());
        let items = page.items.into_iter().map(Entry::from).collect();
        Ok(Page { items, next_cursor: page.next_cursor, total: page.total })
    }
}
