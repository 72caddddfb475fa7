//! The log as a stream: pages of short transactions under one horizon, so that the whole is of one moment and neither
//! memory nor a long transaction is needed for it.

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sync_core::clock::rfc3339_millis;
use sync_core::ids::EventId;
use sync_core::principal::Principal;
use sync_core::seal::SignedHead;
use sync_store::{AuditFilter, AuditOrder, LoggedEvent, Store, StoreError};
use time::OffsetDateTime;
use tokio::time::{Instant, timeout_at};

use super::entry::Entry;

/// Rows read at a time: what one export holds in memory, beside what its reader has not taken yet.
const PAGE: u32 = 500;

/// How the rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// One JSON object a line.
    #[default]
    Ndjson,
    /// A table with a line of names.
    Csv,
}

impl Format {
    /// As HTTP names it.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Ndjson => "application/x-ndjson",
            Self::Csv => "text/csv; charset=utf-8",
        }
    }
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exported {
    /// Rows.
    pub rows: u64,
    /// Whether all of them; else time ran out, which the last line says.
    pub complete: bool,
}

/// Why an export ended before its last line; its reader sees it broken off.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// Who read it left.
    #[error("its reader left")]
    Left,
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Where the lines go.
pub trait Sink: Send {
    /// Takes some lines; waits where the reader is slower than the database.
    fn take(&mut self, lines: Bytes) -> impl Future<Output = Result<(), Broken>> + Send;
}

/// An export that is under way.
pub struct Export<'a, S> {
    store: &'a Store,
    principal: &'a Principal,
    filter: AuditFilter,
    format: Format,
    sink: S,
    /// Rows written so far, also where it then breaks.
    pub rows: u64,
}

impl<'a, S: Sink> Export<'a, S> {
    /// Of the events that the filter leaves, the oldest first.
    pub fn new(store: &'a Store, principal: &'a Principal, filter: AuditFilter, format: Format, sink: S) -> Self {
        Self { store, principal, filter, format, sink, rows: 0 }
    }

    /// Writes it, until `deadline` at most. The last line says how many rows there are, whether they are all, and the
    /// last signed head: what it covers can be proven row by row.
    pub async fn run(&mut self, deadline: Instant) -> Result<Exported, Broken> {
        let mut tx = self.store.begin(self.principal).await?;
        let horizon = tx.audit_horizon().await?;
        let head = tx.last_seal().await?;
        tx.commit().await?;
        self.filter.below_xid = Some(self.filter.below_xid.map_or(horizon, |given| given.min(horizon)));
        if self.format == Format::Csv {
            self.sink.take(Bytes::from(format!("{}\r\n", Entry::NAMES.join(",")))).await?;
        }
        let mut last: Option<(OffsetDateTime, EventId)> = None;
        let complete = loop {
            let Ok(page) = timeout_at(deadline, self.page(last)).await else { break false };
            let page = page?;
            let Some(end) = page.last() else { break true };
            let position = (end.time, end.event_id);
            let (count, whole) = (page.len() as u64, page.len() == PAGE as usize);
            let lines = self.lines(page);
            match timeout_at(deadline, self.sink.take(lines)).await {
                Ok(taken) => taken?,
                Err(_elapsed) => break false,
            }
            self.rows += count;
            last = Some(position);
            if !whole {
                break true;
            }
        };
        let left_out = if complete { self.newer(horizon).await? } else { None };
        let last_line = self.last_line(complete, last.map(|(time, _)| time), left_out, head.as_ref());
        // A reader that took nothing until the deadline has had its chance.
        match timeout_at(deadline + super::TOTAL_BUDGET, self.sink.take(last_line)).await {
            Ok(taken) => taken?,
            Err(_elapsed) => return Err(Broken::Left),
        }
        Ok(Exported { rows: self.rows, complete })
    }

    async fn page(&self, after: Option<(OffsetDateTime, EventId)>) -> Result<Vec<LoggedEvent>, StoreError> {
        let mut tx = self.store.begin(self.principal).await?;
        let page = tx.audit_events(&self.filter, AuditOrder::OldestFirst(after), PAGE).await?;
        tx.commit().await?;
        Ok(page)
    }

    fn lines(&self, page: Vec<LoggedEvent>) -> Bytes {
        let mut lines = Vec::new();
        for event in page {
            let entry = Entry::from(event);
            match self.format {
                Format::Ndjson => {
                    // An entry is plain text and numbers, which always have their JSON.
                    let _ = serde_json::to_writer(&mut lines, &entry);
                    lines.push(b'\n');
                }
                Format::Csv => entry.write_csv(&mut lines),
            }
        }
        Bytes::from(lines)
    }

    /// When the oldest row began that is committed and left out: the moment lies before transactions that are open anywhere on
    /// the server, and what was written after those began comes after it.
    async fn newer(&self, horizon: u64) -> Result<Option<OffsetDateTime>, StoreError> {
        let newer = AuditFilter { below_xid: None, from_xid: Some(horizon), ..self.filter.clone() };
        let mut tx = self.store.begin(self.principal).await?;
        let oldest = tx.audit_events(&newer, AuditOrder::OldestFirst(None), 1).await?;
        tx.commit().await?;
        Ok(oldest.first().map(|event| event.time))
    }

    fn last_line(
        &self,
        complete: bool,
        last: Option<OffsetDateTime>,
        left_out: Option<OffsetDateTime>,
        head: Option<&SignedHead>,
    ) -> Bytes {
        let end = json!({ "end": {
            "rows": self.rows,
            "complete": complete,
            "last_time": last.map(rfc3339_millis),
            "newer_from": left_out.map(rfc3339_millis),
            "head": head,
        } });
        let sign = match self.format {
            Format::Ndjson => "",
            // What a table has no place for is a comment.
            Format::Csv => "# ",
        };
        Bytes::from(format!("{sign}{end}\n"))
    }
}
