//! The door that every answer leaves through: no answer without an audit row.
//!
//! A read's row is inserted in the read's own transaction, and COMMIT returns before the first byte leaves
//! ([`Auditor::audited`]). A refusal rolls back and gets its row in a second transaction. What the MCP library answers
//! by itself is written down by the layer around it ([`Auditor::record`]). Where the row cannot be committed, nothing
//! leaves but `unavailable`.
//!
//! Actions are `<door>[:<name>]`: `mcp.initialize`, `mcp.tools/list`, `mcp.tools/call:sync_whats_at_risk`,
//! `mcp.resources/read:sync://feed`, `mcp.prompts/get:sync_upgrade_plan`, `mcp.tools/call:unknown`, `mcp.malformed`,
//! `rest.<operationId>`, and `job.<kind>` for a run of a job (protocol `cli`; its request is its lease). They are words of
//! ours and never text of the request; arguments appear as a keyed digest.

pub mod ahead;
pub mod entry;
pub mod export;
pub mod heads;
pub mod maintain;
pub mod refusals;
pub mod seal_key;
pub mod sealing;
pub mod verify;

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;
use sync_core::clock::Clock;
use sync_core::ids::{EventId, OrganizationId, RepositoryId, RequestId};
use sync_core::principal::Principal;
use sync_store::{AuditEvent, Outcome, Store, StoreError, Tx};
use time::OffsetDateTime;
use tokio::time::{Instant, timeout_at};

pub use sync_store::Protocol;

use crate::answers::error::{AnswerError, Code};
use crate::keys::Keys;

/// How long an answer may take to be made and committed.
const ANSWER_BUDGET: Duration = Duration::from_millis(1600);

/// After how long the caller has been told something, whatever the store does.
pub const TOTAL_BUDGET: Duration = Duration::from_millis(1950);

/// Who asks, how, and the record of whether the request has its audit row yet. Made once a request, by the
/// authentication layer; cheap to clone.
#[derive(Debug, Clone)]
pub struct Asker {
    /// Who the request acts as.
    pub principal: Arc<Principal>,
    /// As in `X-Request-Id`.
    pub request_id: RequestId,
    /// The protocol it came by.
    pub protocol: Protocol,
    /// Protocol and method, the first part of the audit row's action: `mcp.tools/call`.
    pub door: &'static str,
    /// When the request came in: its budget of two seconds counts from here.
    pub began: Instant,
    /// The peer's address, or the one a trusted proxy reported.
    pub client_ip: Option<IpAddr>,
    /// The one repository an address like `/mcp/acme/billing` pins every answer to.
    pub pinned_repository: Option<Arc<str>>,
    /// Whether this request's audit row is committed.
    pub ledger: AuditLedger,
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
    /// Could not be committed; nothing but `unavailable` may leave.
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

    fn set(&self, state: LedgerState) {
        let value = match state {
            LedgerState::Open => 0,
            LedgerState::Committed => 1,
            LedgerState::Failed => 2,
        };
        self.0.store(value, Ordering::Release);
    }
}

/// The transaction in which one answer is made. It is rolled back unless the answer comes out well.
pub struct Reading {
    /// Rows of the asker's organization, one snapshot for all statements.
    pub tx: Tx,
    /// The instant the answer is made at, by the service's clock.
    pub now: OffsetDateTime,
    noted: Arc<Mutex<Noted>>,
}

/// What the audit row says of the answer beyond its outcome.
#[derive(Debug, Default, Clone)]
struct Noted {
    repository: Option<(RepositoryId, String)>,
    rows: Option<u64>,
}

impl Reading {
    /// Notes which repository the answer is about; also where it then ends in an error.
    pub fn about(&self, id: RepositoryId, name: &str) {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).repository = Some((id, name.to_owned()));
    }

    /// Notes how many rows the answer gives.
    pub fn rows(&self, count: usize) {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).rows = Some(count as u64);
    }
}

/// Writes the audit log.
#[derive(Clone)]
pub struct Auditor {
    store: Store,
    clock: Arc<dyn Clock>,
    keys: Keys,
}

/// What is said instead of an answer, as far as its audit row goes: an agent's error, or a problem of REST.
pub trait Failure: From<StoreError> + Send {
    /// A word that only grows: the row's code.
    fn code(&self) -> &'static str;
    /// How the row says that it ended.
    fn outcome(&self) -> Outcome;
    /// The store is down or slow.
    fn unavailable() -> Self;
    /// A defect of ours.
    fn internal() -> Self;
}

impl Failure for AnswerError {
    fn code(&self) -> &'static str {
        self.code.as_str()
    }

    fn outcome(&self) -> Outcome {
        outcome_of(self.code)
    }

    fn unavailable() -> Self {
        Self::unavailable()
    }

    fn internal() -> Self {
        Self::internal()
    }
}

/// What an answer does with the rows of its organization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    /// Reads them, all statements in one snapshot.
    Read,
    /// Changes some, seeing what others committed meanwhile.
    Change,
}

/// Requests that ended alike, counted.
#[derive(Debug, Clone, Copy)]
pub struct Tallied {
    /// How they came in.
    pub protocol: Protocol,
    /// What was asked.
    pub action: &'static str,
    /// How they ended.
    pub outcome: Outcome,
    /// Why they did not end well.
    pub code: Option<&'static str>,
    /// How many.
    pub count: u64,
    /// Which repository they were about.
    pub about: Option<RepositoryId>,
}

/// The audit row could not be committed, so that nothing may be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unrecorded;

impl Auditor {
    /// Over a store.
    pub fn new(store: Store, clock: Arc<dyn Clock>, keys: Keys) -> Self {
        Self { store, clock, keys }
    }

    /// Makes an answer and writes it down, or gives an error that is written down: the one way to answer a question.
    ///
    /// `question` is the name of what is asked (`sync_whats_at_risk`), the second part of the row's action. `answer`
    /// reads through [`Reading::tx`] and says what it is about with [`Reading::about`] and
    /// [`Reading::rows`]. Within the budget of two seconds the caller has the answer, or `unavailable`. A panic in
    /// `answer` is an `internal` error. Where the door alone says what is asked, as in REST, there is no `question`.
    pub async fn audited<T, E, F>(
        &self,
        asker: &Asker,
        question: impl Into<Option<&'static str>>,
        arguments: &Value,
        answer: F,
    ) -> Result<T, E>
    where
        T: Send,
        E: Failure,
        F: for<'r> FnOnce(&'r mut Reading) -> BoxFuture<'r, Result<T, E>> + Send,
    {
        self.through(Door::Read, asker, question.into(), arguments, answer).await
    }

    /// The same for what changes rows of the organization: the change and its audit row commit together or not at all.
    pub async fn changed<T, E, F>(
        &self,
        asker: &Asker,
        question: impl Into<Option<&'static str>>,
        arguments: &Value,
        change: F,
    ) -> Result<T, E>
    where
        T: Send,
        E: Failure,
        F: for<'r> FnOnce(&'r mut Reading) -> BoxFuture<'r, Result<T, E>> + Send,
    {
        self.through(Door::Change, asker, question.into(), arguments, change).await
    }

    async fn through<T, E, F>(
        &self,
        door: Door,
        asker: &Asker,
        question: Option<&'static str>,
        arguments: &Value,
        answer: F,
    ) -> Result<T, E>
    where
        T: Send,
        E: Failure,
        F: for<'r> FnOnce(&'r mut Reading) -> BoxFuture<'r, Result<T, E>> + Send,
    {
        let mut event = self.event(asker, question, Some(arguments));
        let noted = Arc::new(Mutex::new(Noted::default()));
        let attempt = self.attempt(door, asker, event.clone(), noted.clone(), answer);
        let error = match timeout_at(asker.began + ANSWER_BUDGET, AssertUnwindSafe(attempt).catch_unwind()).await {
            Ok(Ok(Ok(value))) => {
                asker.ledger.set(LedgerState::Committed);
                return Ok(value);
            }
            Ok(Ok(Err(error))) => error,
            Ok(Err(_panic)) => {
                tracing::error!(action = event.action, request_id = %asker.request_id, "an answer panicked");
                E::internal()
            }
            Err(_elapsed) => {
                event.outcome = Some(Outcome::Timeout);
                E::unavailable()
            }
        };
        let noted = noted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        event.outcome = event.outcome.or(Some(error.outcome()));
        event.code = Some(error.code().to_owned());
        event.repository = noted.repository;
        event.duration = Some(asker.began.elapsed());
        match self.commit(asker, &event).await {
            Ok(()) => Err(error),
            Err(Unrecorded) => Err(E::unavailable()),
        }
    }

    /// Writes down that a question was refused before it was asked (an argument of the wrong type), and gives what to
    /// say: `error` itself, or `unavailable` where the row could not be committed.
    pub async fn refused(
        &self,
        asker: &Asker,
        question: &'static str,
        arguments: &Value,
        error: AnswerError,
    ) -> AnswerError {
        let code = error.code.as_str();
        match self.record(asker, Some(question), Some(arguments), outcome_of(error.code), Some(code)).await {
            Ok(()) => error,
            Err(Unrecorded) => AnswerError::unavailable(),
        }
    }

    /// Writes down what was answered without [`Auditor::audited`]; `code` says why where it did not end well.
    pub async fn record(
        &self,
        asker: &Asker,
        question: Option<&'static str>,
        arguments: Option<&Value>,
        outcome: Outcome,
        code: Option<&str>,
    ) -> Result<(), Unrecorded> {
        let mut event = self.event(asker, question, arguments);
        event.outcome = Some(outcome);
        event.code = code.map(str::to_owned);
        event.duration = Some(asker.began.elapsed());
        self.commit(asker, &event).await
    }

    /// Writes down as one row how many requests ended alike that had no row of their own.
    pub async fn tallied(
        &self,
        principal: &Arc<Principal>,
        tallied: &Tallied,
        request_id: RequestId,
    ) -> Result<(), Unrecorded> {
        let asker = Asker {
            principal: principal.clone(),
            request_id,
            protocol: tallied.protocol,
            door: tallied.action,
            began: Instant::now(),
            client_ip: None,
            pinned_repository: None,
            ledger: AuditLedger::default(),
        };
        let mut event = self.event(&asker, None, None);
        event.outcome = Some(tallied.outcome);
        event.code = tallied.code.map(str::to_owned);
        event.rows = Some(tallied.count);
        event.repository = match tallied.about {
            Some(id) => self.name_of(&asker, id).await.map(|name| (id, name)),
            None => None,
        };
        self.commit(&asker, &event).await
    }

    /// What a repository is called; nothing where it is gone, or cannot be asked about.
    async fn name_of(&self, asker: &Asker, id: RepositoryId) -> Option<String> {
        let found = async {
            let mut tx = self.store.begin(&asker.principal).await?;
            let found = tx.repository(id).await?;
            tx.commit().await?;
            Ok::<_, StoreError>(found)
        };
        found.await.ok().flatten().map(|repository| repository.name)
    }

    async fn attempt<T, E, F>(
        &self,
        door: Door,
        asker: &Asker,
        mut event: AuditEvent,
        noted: Arc<Mutex<Noted>>,
        answer: F,
    ) -> Result<T, E>
    where
        E: Failure,
        F: for<'r> FnOnce(&'r mut Reading) -> BoxFuture<'r, Result<T, E>> + Send,
    {
        let tx = match door {
            Door::Read => self.store.begin(&asker.principal).await?,
            Door::Change => self.store.begin_change(&asker.principal).await?,
        };
        let mut reading = Reading { tx, now: event.time, noted };
        let value = answer(&mut reading).await?;
        let noted = reading.noted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        event.outcome = Some(Outcome::Ok);
        event.repository = noted.repository;
        event.rows = noted.rows;
        event.duration = Some(asker.began.elapsed());
        reading.tx.record_event(&event).await.map_err(|error| unwritten::<E>(&error))?;
        reading.tx.commit().await.map_err(|error| unwritten::<E>(&error))?;
        Ok(value)
    }

    /// Commits a row in a transaction of its own. The event keeps its id: where the first transaction did commit, but
    /// too late for its caller, this one conflicts with it, and there is still exactly one row.
    async fn commit(&self, asker: &Asker, event: &AuditEvent) -> Result<(), Unrecorded> {
        let insert = async {
            let mut tx = self.store.begin(&asker.principal).await?;
            tx.record_event(event).await?;
            tx.commit().await
        };
        let result = match timeout_at(asker.began + TOTAL_BUDGET, insert).await {
            Ok(Ok(()) | Err(StoreError::Conflict(_))) => Ok(()),
            Ok(Err(error)) => {
                tracing::error!(%error, action = event.action, request_id = %asker.request_id, "an audit row could not be written");
                Err(Unrecorded)
            }
            Err(_elapsed) => {
                tracing::error!(action = event.action, request_id = %asker.request_id, "an audit row was not written in time");
                Err(Unrecorded)
            }
        };
        asker.ledger.set(if result.is_ok() { LedgerState::Committed } else { LedgerState::Failed });
        result
    }

    /// The keyed digest of a value: the same within an organization for the same value, whatever the order of its keys.
    pub fn digest(&self, organization: OrganizationId, value: &Value) -> [u8; 32] {
        // Canonical JSON cannot fail on a value that JSON was parsed into; the plain text is as good a key.
        let canonical = serde_json_canonicalizer::to_vec(value).unwrap_or_else(|_| value.to_string().into_bytes());
        self.keys.audit_digest(organization, &canonical)
    }

    fn event(&self, asker: &Asker, question: Option<&str>, arguments: Option<&Value>) -> AuditEvent {
        let now = self.clock.now();
        let principal = &asker.principal;
        AuditEvent {
            event_id: EventId::at(now),
            time: now,
            principal: Some(principal.id),
            principal_name: Some(principal.name.clone()),
            principal_kind: Some(principal.kind),
            credential_id: Some(principal.credential_id.clone()),
            protocol: asker.protocol,
            action: question.map_or_else(|| asker.door.to_owned(), |question| format!("{}:{question}", asker.door)),
            repository: None,
            arguments_digest: arguments.map(|arguments| self.digest(principal.organization, arguments)),
            outcome: None,
            code: None,
            rows: None,
            duration: None,
            request_id: asker.request_id,
            client_ip: asker.client_ip,
        }
    }
}

/// An answer whose row cannot be written is withheld as `unavailable`, whatever the reason.
fn unwritten<E: Failure>(error: &StoreError) -> E {
    tracing::error!(%error, "the audit row of an answer could not be written; the answer is withheld");
    E::unavailable()
}

fn outcome_of(code: Code) -> Outcome {
    match code {
        Code::Timeout => Outcome::Timeout,
        code if code.is_refusal() => Outcome::Refused,
        _ => Outcome::Error,
    }
}
