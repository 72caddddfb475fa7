//! The audit log: insert only.

use std::net::IpAddr;
use std::time::Duration;

use sync_core::ids::{EventId, PrincipalId, RepositoryId, RequestId};
use sync_core::principal::PrincipalKind;
use time::OffsetDateTime;

use sqlx::PgConnection;

use crate::convert::{stored_count, text};
use crate::error::StoreError;
use crate::tx::{AuthTx, SystemTx, Tx};

/// How a call came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// A tool, a resource, a prompt.
    Mcp,
    /// `/v1`.
    Rest,
    /// Spans.
    Otlp,
    /// A push from a forge.
    Webhook,
    /// The command line.
    Cli,
}

impl Protocol {
    /// The word used in rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Rest => "rest",
            Self::Otlp => "otlp",
            Self::Webhook => "webhook",
            Self::Cli => "cli",
        }
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Answered.
    Ok,
    /// The caller may not, or asked for nothing that is.
    Refused,
    /// It failed.
    Error,
    /// It took too long.
    Timeout,
}

impl Outcome {
    /// The word used in rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::Error => "error",
            Self::Timeout => "timeout",
        }
    }
}

/// One row of the log. A read's row is complete; that of a call with outside effects has no outcome yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEvent {
    /// Its id.
    pub event_id: EventId,
    /// When the call began.
    pub time: OffsetDateTime,
    /// Who, where that got known.
    pub principal: Option<PrincipalId>,
    /// Name of the principal at that time.
    pub principal_name: Option<String>,
    /// Person or machine.
    pub principal_kind: Option<PrincipalKind>,
    /// The token's or the issuer's id, never the secret.
    pub credential_id: Option<String>,
    /// How the call came in.
    pub protocol: Protocol,
    /// What was asked: a tool's name, `GET /v1/findings`, `initialize`.
    pub action: String,
    /// The repository that was asked about, where it exists and may be read.
    pub repository: Option<(RepositoryId, String)>,
    /// Keyed digest of the arguments.
    pub arguments_digest: Option<[u8; 32]>,
    /// How it ended; absent for a call with outside effects, whose outcome follows.
    pub outcome: Option<Outcome>,
    /// The error's code, where it did not end well.
    pub code: Option<String>,
    /// Rows answered.
    pub rows: Option<u64>,
    /// How long it took until this row was written.
    pub duration: Option<Duration>,
    /// The request.
    pub request_id: RequestId,
    /// Whence.
    pub client_ip: Option<IpAddr>,
}

/// How a call with outside effects ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditOutcome {
    /// Whose outcome.
    pub event_id: EventId,
    /// The event's time, and so when the call began: there is one outcome of an event, and it lies beside it.
    pub time: OffsetDateTime,
    /// How.
    pub outcome: Outcome,
    /// The error's code.
    pub code: Option<String>,
    /// Rows sent.
    pub rows: Option<u64>,
    /// How long the call took.
    pub duration: Duration,
}

/// A request that belongs to no organization: counted, not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The minute it came in (the store cuts it to the minute).
    pub time: OffsetDateTime,
    /// The /24 or /48 it came from.
    pub address_prefix: String,
    /// How it came in.
    pub protocol: Protocol,
    /// Why it was refused: `no_credential`, `bad_token`, ….
    pub code: String,
    /// How many.
    pub count: u64,
}

impl Tx {
    /// Writes an audit row in this transaction.
    pub async fn record_event(&mut self, event: &AuditEvent) -> Result<(), StoreError> {
        record_event(self.connection(), event).await
    }

    /// Writes the outcome of an event that had none; [`StoreError::Conflict`] where it has one by now.
    pub async fn record_outcome(&mut self, outcome: &AuditOutcome) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO sync.audit_outcomes (event_id, time, outcome, code, rows, duration_us)
             VALUES ($1, $2, $3, $4, $5, $6)",
        )
        .bind(outcome.event_id.uuid())
        .bind(outcome.time)
        .bind(outcome.outcome.as_str())
        .bind(outcome.code.as_deref().map(text))
        .bind(outcome.rows.map(stored_count))
        .bind(microseconds(outcome.duration))
        .execute(self.connection())
        .await?;
        Ok(())
    }
}

impl AuthTx {
    /// Writes the audit row of a refused credential of this organization.
    pub async fn record_event(&mut self, event: &AuditEvent) -> Result<(), StoreError> {
        record_event(self.connection(), event).await
    }
}

/// Address prefixes counted in one minute before the rest becomes `other`: an attacker chooses addresses, not the
/// size of this table.
const PREFIXES_A_MINUTE: i64 = 1000;

impl SystemTx {
    /// Adds to the counted refusals of no organization. Beyond a bound of address prefixes a minute, the rest is
    /// counted under `other`.
    pub async fn count_refusal(&mut self, refusal: &Refusal) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO routing.refusals AS r (minute, address_prefix, protocol, code, count)
             SELECT date_trunc('minute', $1, 'UTC'),
                    CASE WHEN known.prefixes < $6 OR known.this THEN $2 ELSE 'other' END, $3, $4, $5
             FROM (SELECT count(DISTINCT address_prefix) AS prefixes,
                          coalesce(bool_or(address_prefix = $2), false) AS this
                   FROM routing.refusals WHERE minute = date_trunc('minute', $1, 'UTC')) known
             ON CONFLICT (minute, address_prefix, protocol, code) DO UPDATE SET count = r.count + excluded.count",
        )
        .bind(refusal.time)
        .bind(text(&refusal.address_prefix))
        .bind(refusal.protocol.as_str())
        .bind(text(&refusal.code))
        .bind(stored_count(refusal.count))
        .bind(PREFIXES_A_MINUTE)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Forgets the refusals counted in minutes before this instant; gives how many rows went.
    pub async fn forget_refusals(&mut self, before: OffsetDateTime) -> Result<u64, StoreError> {
        let gone = sqlx::query("DELETE FROM routing.refusals WHERE minute < $1")
            .bind(before)
            .execute(self.connection())
            .await?;
        Ok(gone.rows_affected())
    }
}

async fn record_event(connection: &mut PgConnection, event: &AuditEvent) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO sync.audit_events
             (event_id, time, principal_id, principal, principal_kind, credential_id, protocol, action, repository_id,
              repository_name, arguments_digest, outcome, code, rows, duration_us, request_id, client_ip)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, ($17::text)::inet)",
    )
    .bind(event.event_id.uuid())
    .bind(event.time)
    .bind(event.principal.map(PrincipalId::uuid))
    .bind(event.principal_name.as_deref().map(text))
    .bind(event.principal_kind.map(PrincipalKind::as_str))
    .bind(event.credential_id.as_deref().map(text))
    .bind(event.protocol.as_str())
    .bind(text(&event.action))
    .bind(event.repository.as_ref().map(|(id, _)| id.uuid()))
    .bind(event.repository.as_ref().map(|(_, name)| name))
    .bind(event.arguments_digest.as_ref().map(|digest| &digest[..]))
    .bind(event.outcome.map(Outcome::as_str))
    .bind(event.code.as_deref().map(text))
    .bind(event.rows.map(stored_count))
    .bind(event.duration.map(microseconds))
    .bind(event.request_id.uuid())
    .bind(event.client_ip.map(|address| address.to_string()))
    .execute(connection)
    .await?;
    Ok(())
}

fn microseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
