//! The audit log's door: who asks, and whether what they were told has been written down.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use sync_core::principal::Principal;

/// Who asks, how, and the record of whether the request has its audit row yet. Made once a request, by the
/// authentication layer; cheap to clone.
#[derive(Debug, Clone)]
pub struct Asker {
    /// Who the request acts as.
    pub principal: Arc<Principal>,
    /// As echoed in `X-Request-Id`.
    pub request_id: Arc<str>,
    /// The door it came through.
    pub protocol: Protocol,
    /// The peer's address, or the one a trusted proxy reported.
    pub client_ip: Option<IpAddr>,
    /// The one repository an address like `/mcp/acme/billing` pins every answer to.
    pub pinned_repository: Option<Arc<str>>,
    /// Whether this request's audit row is committed.
    pub ledger: AuditLedger,
}

/// The door a request came through, as written in audit rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Streamable HTTP.
    Mcp,
    /// `/v1`.
    Rest,
    /// The command line of this machine.
    Cli,
}

impl Protocol {
    /// The word used in rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Rest => "rest",
            Self::Cli => "cli",
        }
    }
}

/// Whether one request's audit row is committed: shared by everyone who works on the request, so that exactly one
/// of them writes the row.
#[derive(Debug, Clone, Default)]
pub struct AuditLedger(Arc<AtomicU8>);

/// What became of a request's audit row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerState {
    /// Nobody wrote one yet.
    Open,
    /// Committed.
    Committed,
    /// Could not be committed; nothing but "unavailable" may leave.
    Failed,
}

impl AuditLedger {
    /// What became of the row so far.
    pub fn state(&self) -> LedgerState {
        match self.0.load(Ordering::Acquire) {
            1 => LedgerState::Committed,
            2 => LedgerState::Failed,
            _ => LedgerState::Open,
        }
    }

    /// The row is committed.
    pub fn committed(&self) {
        self.0.store(1, Ordering::Release);
    }

    /// The row could not be committed.
    pub fn failed(&self) {
        self.0.store(2, Ordering::Release);
    }
}
