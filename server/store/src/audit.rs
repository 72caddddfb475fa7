//! The audit log: insert only.

use std::net::IpAddr;
use std::time::Duration;

use sync_core::ids::{EventId, PrincipalId, RepositoryId, RequestId};
use sync_core::principal::PrincipalKind;
use time::OffsetDateTime;

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
    /// When.
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
        let _ = event;
        Err(crate::tx::pending())
    }

    /// Writes the outcome of an event that had none.
    pub async fn record_outcome(&mut self, outcome: &AuditOutcome) -> Result<(), StoreError> {
        let _ = outcome;
        Err(crate::tx::pending())
    }
}

impl AuthTx {
    /// Writes the audit row of a refused credential of this organization.
    pub async fn record_event(&mut self, event: &AuditEvent) -> Result<(), StoreError> {
        let _ = event;
        Err(crate::tx::pending())
    }
}

impl SystemTx {
    /// Adds to the counted refusals of no organization. Beyond a bound of address prefixes a minute, the rest is
    /// counted under `other`.
    pub async fn count_refusal(&mut self, refusal: &Refusal) -> Result<(), StoreError> {
        let _ = refusal;
        Err(crate::tx::pending())
    }
}
