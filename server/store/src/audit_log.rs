//! Reading the audit log: what happened, newest first or oldest first, narrowed by who, what, how and when.

use sqlx::{FromRow, Row as _};
use sync_core::ids::{EventId, PrincipalId, RepositoryId, RequestId};
use sync_core::seal::{Row, RowKind};
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

use crate::audit::Outcome;
use crate::convert::{count, text};
use crate::error::StoreError;
use crate::seals;
use crate::tx::Tx;

/// Which events are wanted; what is absent narrows nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Of this member.
    pub principal: Option<PrincipalId>,
    /// Of whoever had this name.
    pub principal_name: Option<String>,
    /// About this repository.
    pub repository: Option<RepositoryId>,
    /// About whatever repository had this name.
    pub repository_name: Option<String>,
    /// Exactly this action.
    pub action: Option<String>,
    /// That ended so.
    pub outcome: Option<Outcome>,
    /// That began at this instant or later.
    pub from: Option<OffsetDateTime>,
    /// That began before this instant.
    pub to: Option<OffsetDateTime>,
    /// Written by transactions before this one.
    pub below_xid: Option<u64>,
    /// Written by this transaction or later ones.
    pub from_xid: Option<u64>,
}

/// Where a list of events goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditOrder {
    /// The newest first, after this position.
    NewestFirst(Option<(OffsetDateTime, EventId)>),
    /// The oldest first, after this position.
    OldestFirst(Option<(OffsetDateTime, EventId)>),
}

/// An event of the log, with the outcome that followed where it had none itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedEvent {
    /// Its id.
    pub event_id: EventId,
    /// When the call began.
    pub time: OffsetDateTime,
    /// Who.
    pub principal_id: Option<PrincipalId>,
    /// The principal's name at that time.
    pub principal: Option<String>,
    /// Person or machine.
    pub principal_kind: Option<String>,
    /// Which credential.
    pub credential_id: Option<String>,
    /// How the call came in.
    pub protocol: String,
    /// What was asked.
    pub action: String,
    /// About which repository.
    pub repository_id: Option<RepositoryId>,
    /// Its name at that time.
    pub repository_name: Option<String>,
    /// Keyed digest of the arguments.
    pub arguments_digest: Option<Vec<u8>>,
    /// How it ended; absent as long as it has not.
    pub outcome: Option<String>,
    /// Why, where it did not end well.
    pub code: Option<String>,
    /// Rows answered.
    pub rows: Option<u64>,
    /// How long it took, in microseconds.
    pub duration_us: Option<u64>,
    /// The request.
    pub request_id: RequestId,
    /// Whence.
    pub client_ip: Option<String>,
    /// The seal that covers it; absent as long as none does.
    pub sealed_in: Option<u64>,
}

/// Ids are made of the instant that the event names, to the millisecond.
const OF_ONE_ID: Duration = Duration::seconds(1);

impl Tx {
    /// Events, in order, at most `limit`.
    pub async fn audit_events(
        &mut self,
        filter: &AuditFilter,
        order: AuditOrder,
        limit: u32,
    ) -> Result<Vec<LoggedEvent>, StoreError> {
        let (after, newest_first) = match order {
            AuditOrder::NewestFirst(after) => (after, true),
            AuditOrder::OldestFirst(after) => (after, false),
        };
        let statement = if newest_first { NEWEST_FIRST } else { OLDEST_FIRST };
        let rows: Vec<EventRow> = sqlx::query_as(statement)
            .bind(filter.principal.map(PrincipalId::uuid))
            .bind(filter.principal_name.as_deref().map(text))
            .bind(filter.repository.map(RepositoryId::uuid))
            .bind(filter.repository_name.as_deref().map(text))
            .bind(filter.action.as_deref().map(text))
            .bind(filter.outcome.map(Outcome::as_str))
            .bind(filter.from)
            .bind(filter.to)
            .bind(filter.below_xid.map(|xid| xid.to_string()))
            .bind(after.map(|(time, _)| time))
            .bind(after.map(|(_, id)| id.uuid()))
            .bind(i64::from(limit))
            .bind(filter.from_xid.map(|xid| xid.to_string()))
            .fetch_all(self.connection())
            .await?;
        Ok(rows.into_iter().map(EventRow::read).collect())
    }

    /// The first transaction id that this snapshot does not know the end of: what is written below it is final.
    pub async fn audit_horizon(&mut self) -> Result<u64, StoreError> {
        let row =
            sqlx::query("SELECT pg_snapshot_xmin(pg_current_snapshot())::text").fetch_one(self.connection()).await?;
        seals::xid(row.try_get(0)?)
    }

    /// One row of the log as it is sealed.
    pub async fn audit_row(&mut self, kind: RowKind, id: EventId) -> Result<Option<Row>, StoreError> {
        // An id tells when it was made: without that, every row would have to be looked at.
        let Some(made) = id.made_at() else { return Ok(None) };
        let table = match kind {
            RowKind::Event => {
                "SELECT xid::text FROM sync.audit_events WHERE time >= $2 AND time < $3 AND event_id = $1"
            }
            RowKind::Outcome => {
                "SELECT xid::text FROM sync.audit_outcomes WHERE time >= $2 AND time < $3 AND event_id = $1"
            }
        };
        let xid: Option<String> = sqlx::query_scalar(table)
            .bind(id.uuid())
            .bind(made - OF_ONE_ID)
            .bind(made + OF_ONE_ID)
            .fetch_optional(self.connection())
            .await?;
        let Some(xid) = xid.map(|text| seals::xid(&text)).transpose()? else { return Ok(None) };
        let rows = self.sealed_rows(xid, xid + 1).await?;
        Ok(rows.into_iter().find(|row| (row.kind, row.event_id) == (kind, id)))
    }
}

macro_rules! events {
    ($after:literal, $order:literal) => {
        concat!(
            "SELECT e.event_id, e.time, e.principal_id, e.principal, e.principal_kind, e.credential_id, e.protocol,
                    e.action, e.repository_id, e.repository_name, e.arguments_digest,
                    coalesce(e.outcome, o.outcome) AS outcome, coalesce(e.code, o.code) AS code,
                    coalesce(e.rows, o.rows) AS rows, coalesce(e.duration_us, o.duration_us) AS duration_us,
                    e.request_id, host(e.client_ip) AS client_ip,
                    (SELECT s.number FROM sync.audit_seals s WHERE s.to_xid > e.xid ORDER BY s.to_xid LIMIT 1)
                        AS sealed_in
             FROM sync.audit_events e
             LEFT JOIN sync.audit_outcomes o
                 ON e.outcome IS NULL AND o.organization_id = e.organization_id AND o.time = e.time
                AND o.event_id = e.event_id
             WHERE ($1::uuid IS NULL OR e.principal_id = $1) AND ($2::text IS NULL OR e.principal = $2)
               AND ($3::uuid IS NULL OR e.repository_id = $3) AND ($4::text IS NULL OR e.repository_name = $4)
               AND ($5::text IS NULL OR e.action = $5)
               AND ($6::text IS NULL OR coalesce(e.outcome, o.outcome) = $6)
               AND ($7::timestamptz IS NULL OR e.time >= $7) AND ($8::timestamptz IS NULL OR e.time < $8)
               AND ($9::text IS NULL OR e.xid < ($9::text)::xid8)
               AND ($13::text IS NULL OR e.xid >= ($13::text)::xid8)
               AND ($10::timestamptz IS NULL OR (e.time, e.event_id) ",
            $after,
            " ($10, $11::uuid))
             ORDER BY ",
            $order,
            " LIMIT $12"
        )
    };
}

const NEWEST_FIRST: &str = events!("<", "e.time DESC, e.event_id DESC");
const OLDEST_FIRST: &str = events!(">", "e.time, e.event_id");

#[derive(FromRow)]
struct EventRow {
    event_id: Uuid,
    time: OffsetDateTime,
    principal_id: Option<Uuid>,
    principal: Option<String>,
    principal_kind: Option<String>,
    credential_id: Option<String>,
    protocol: String,
    action: String,
    repository_id: Option<Uuid>,
    repository_name: Option<String>,
    arguments_digest: Option<Vec<u8>>,
    outcome: Option<String>,
    code: Option<String>,
    rows: Option<i64>,
    duration_us: Option<i64>,
    request_id: Uuid,
    client_ip: Option<String>,
    sealed_in: Option<i64>,
}

impl EventRow {
    fn read(self) -> LoggedEvent {
        LoggedEvent {
            event_id: EventId::from_uuid(self.event_id),
            time: self.time,
            principal_id: self.principal_id.map(PrincipalId::from_uuid),
            principal: self.principal,
            principal_kind: self.principal_kind,
            credential_id: self.credential_id,
            protocol: self.protocol,
            action: self.action,
            repository_id: self.repository_id.map(RepositoryId::from_uuid),
            repository_name: self.repository_name,
            arguments_digest: self.arguments_digest,
            outcome: self.outcome,
            code: self.code,
            rows: self.rows.map(count),
            duration_us: self.duration_us.map(count),
            request_id: RequestId::from_uuid(self.request_id),
            client_ip: self.client_ip,
            sealed_in: self.sealed_in.map(count),
        }
    }
}

impl crate::Store {
    /// Whether the database answers and the service may write the audit log, without which it can answer nothing: for
    /// `/readyz`.
    pub async fn may_record(&self) -> Result<bool, StoreError> {
        let mut tx = self.system("readyz").await?;
        let may: bool = sqlx::query_scalar(
            "SELECT has_column_privilege('sync.audit_events', 'event_id', 'INSERT')
                AND has_column_privilege('sync.audit_outcomes', 'event_id', 'INSERT')",
        )
        .fetch_one(tx.connection())
        .await?;
        tx.commit().await?;
        Ok(may)
    }
}
