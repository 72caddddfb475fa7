//! A row of the log as it is sealed.

use serde::Serialize;
use time::OffsetDateTime;

use super::{Hash, canonical, tree};
use crate::ids::{EventId, OrganizationId, PrincipalId, RepositoryId, RequestId};

/// Which of the log's two tables a row is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// What was asked; with its outcome, where it is that of a read.
    Event,
    /// How a call with outside effects ended.
    Outcome,
}

impl RowKind {
    /// The word used in sealed rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Outcome => "outcome",
        }
    }

    /// As one byte.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Event => b'e',
            Self::Outcome => b'o',
        }
    }

    /// Out of one byte.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            b'e' => Some(Self::Event),
            b'o' => Some(Self::Outcome),
            _ => None,
        }
    }
}

/// Where a row stands among those of a seal: by transaction, then as written here.
pub type RowKey = (u64, RowKind, OffsetDateTime, EventId);

/// A row, whole. What only events have is absent in outcomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Which table.
    pub kind: RowKind,
    /// Its id; an outcome has its event's.
    pub event_id: EventId,
    /// Whose.
    pub organization: OrganizationId,
    /// When the call began, to the microsecond.
    pub time: OffsetDateTime,
    /// The transaction that wrote it.
    pub xid: u64,
    /// The principal's id.
    pub principal_id: Option<PrincipalId>,
    /// The principal's name at that time.
    pub principal: Option<String>,
    /// Person or machine.
    pub principal_kind: Option<String>,
    /// Which credential.
    pub credential_id: Option<String>,
    /// How the call came in; of every event.
    pub protocol: Option<String>,
    /// What was asked; of every event.
    pub action: Option<String>,
    /// About which repository.
    pub repository_id: Option<RepositoryId>,
    /// Its name at that time.
    pub repository_name: Option<String>,
    /// Keyed digest of the arguments.
    pub arguments_digest: Option<Vec<u8>>,
    /// How it ended.
    pub outcome: Option<String>,
    /// Why, where it did not end well.
    pub code: Option<String>,
    /// Rows answered.
    pub rows: Option<i64>,
    /// How long it took, in microseconds.
    pub duration_us: Option<i64>,
    /// The request; of every event.
    pub request_id: Option<RequestId>,
    /// Whence, as the database writes an `inet`, with its mask.
    pub client_ip: Option<String>,
}

impl Row {
    /// Its place.
    pub fn key(&self) -> RowKey {
        (self.xid, self.kind, self.time, self.event_id)
    }

    /// Its canonical JSON (RFC 8785), what is absent left out: the bytes that its leaf is the hash of.
    pub fn canonical(&self) -> Vec<u8> {
        canonical(&Canonical {
            action: self.action.as_deref(),
            arguments_digest: self.arguments_digest.as_ref().map(hex::encode),
            client_ip: self.client_ip.as_deref(),
            code: self.code.as_deref(),
            credential_id: self.credential_id.as_deref(),
            duration_us: self.duration_us.map(|number| number.to_string()),
            event_id: self.event_id,
            format: 1,
            kind: self.kind,
            organization: self.organization,
            outcome: self.outcome.as_deref(),
            principal: self.principal.as_deref(),
            principal_id: self.principal_id,
            principal_kind: self.principal_kind.as_deref(),
            protocol: self.protocol.as_deref(),
            repository_id: self.repository_id,
            repository_name: self.repository_name.as_deref(),
            request_id: self.request_id,
            rows: self.rows.map(|number| number.to_string()),
            time: rfc3339_micros(self.time),
            xid: self.xid.to_string(),
        })
    }

    /// Its leaf.
    pub fn leaf(&self) -> Hash {
        tree::leaf(&self.canonical())
    }
}

/// The names ascend, as canonical JSON wants them; 64-bit numbers are text.
#[derive(Serialize)]
struct Canonical<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments_digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_ip: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    credential_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_us: Option<String>,
    event_id: EventId,
    format: u32,
    kind: RowKind,
    organization: OrganizationId,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal_id: Option<PrincipalId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal_kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository_id: Option<RepositoryId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<RequestId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<String>,
    time: String,
    xid: String,
}

/// With all six decimals that the database keeps: an edit of the last one is an edit.
fn rfc3339_micros(instant: OffsetDateTime) -> String {
    let utc = instant.to_offset(time::UtcOffset::UTC);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
        utc.year(),
        u8::from(utc.month()),
        utc.day(),
        utc.hour(),
        utc.minute(),
        utc.second(),
        utc.microsecond()
    )
}
