//! One run of a job: what it knows, how it ends, and what is written down of it.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::{Value, json};
use sync_core::clock::Clock;
use sync_core::ids::{EventId, RequestId};
use sync_core::principal::Principal;
use sync_store::{
    AuditEvent, Job, JobProblem, JobReport, Outcome, Protocol, Repository, Store, StoreError, Ticket, Tx,
};
use time::OffsetDateTime;

/// What is done where a job runs. It ends the job itself ([`Run::finish`]), in the transaction that writes what it did,
/// so that a worker that lost its lease writes nothing. Dropping the future ends whatever it began.
#[async_trait]
pub trait Work: Send + Sync + 'static {
    /// Does it.
    async fn run(&self, run: &Run) -> Result<(), Fault>;
}

/// Why a run did not end well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Another try may go better.
    Passing(Problem),
    /// No try will, unless somebody does something.
    Lasting(Problem),
    /// The lease is another's, or was taken back: nothing of this run counts.
    LeaseLost,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// A word for it: `unavailable`, `gated`, `not_consented`, ….
    pub code: &'static str,
    /// What happened, to what.
    pub reason: String,
    /// What to do about it.
    pub next_step: String,
}

impl Problem {
    /// Of those three.
    pub fn new(code: &'static str, reason: impl Into<String>, next_step: impl Into<String>) -> Self {
        Self { code, reason: reason.into(), next_step: next_step.into() }
    }

    pub(super) fn to_store(&self) -> JobProblem {
        JobProblem { reason: self.reason.clone(), next_step: self.next_step.clone() }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict(constraint) if constraint == "lease_lost" => Self::LeaseLost,
            StoreError::Unavailable(_) => {
                Self::Passing(Problem::new("unavailable", error.to_string(), "nothing: it is tried again"))
            }
            StoreError::OverLimit { .. } => Self::Lasting(Problem::new(
                "over_limit",
                error.to_string(),
                "remove a source or a ref, or ask for a larger plan",
            )),
            StoreError::Refused(said) => {
                let (reason, next) = said.split_once("; next: ").unwrap_or((&said, "report it"));
                Self::Lasting(Problem::new("refused", reason, next))
            }
            StoreError::NotFound(_) => {
                Self::Lasting(Problem::new("source_not_found", error.to_string(), "register the source"))
            }
            StoreError::Conflict(_) | StoreError::Bug(_) => {
                Self::Passing(Problem::new("internal", error.to_string(), "report it, if it stays"))
            }
        }
    }
}

/// A run that has begun.
pub struct Run {
    /// The database.
    pub store: Store,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// The lease.
    pub ticket: Ticket,
    /// What is to be done.
    pub job: Job,
    /// For which source.
    pub repository: Repository,
    /// When it began.
    pub began: OffsetDateTime,
    phases: Phases,
}

/// How long each phase of a run took, in milliseconds. Cheap to clone.
#[derive(Debug, Clone, Default)]
struct Phases(Arc<Mutex<BTreeMap<String, u64>>>);

impl Phases {
    fn add(&self, phase: &str, took: Duration) {
        let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(phase.to_owned()).or_default() += took;
    }

    fn taken(&self) -> BTreeMap<String, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Run {
    pub(super) fn new(
        store: Store,
        clock: Arc<dyn Clock>,
        ticket: Ticket,
        job: Job,
        repository: Repository,
        began: OffsetDateTime,
    ) -> Self {
        let phases = Phases::default();
        // A clock that was put back makes it none.
        phases.add("waited", Duration::try_from(began - ticket.run_at).unwrap_or_default());
        Self { store, clock, ticket, job, repository, began, phases }
    }

    /// As whom it reads and writes.
    pub fn principal(&self) -> Principal {
        Principal::service(self.ticket.organization, self.ticket.kind.as_str())
    }

    /// Does something, and notes how long it took.
    pub async fn timed<T>(&self, phase: &str, what: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        let done = what.await;
        self.phases.add(phase, begun.elapsed());
        done
    }

    /// Ends the job well, with what the transaction did, and commits it.
    pub async fn finish(&self, mut tx: Tx, result: Value) -> Result<(), Fault> {
        let now = self.clock.now();
        let report = JobReport { timings: self.phases.taken(), result: Some(result) };
        tx.finish_job(&self.ticket, &report, now).await?;
        tx.record_event(&self.event(Outcome::Ok, None, now)).await?;
        Ok(tx.commit().await?)
    }

    /// What is reported of a run that did not end well.
    pub(super) fn report(&self, problem: &Problem) -> JobReport {
        JobReport { timings: self.phases.taken(), result: Some(json!({"code": problem.code})) }
    }

    /// The audit row of this run.
    pub(super) fn event(&self, outcome: Outcome, code: Option<&'static str>, now: OffsetDateTime) -> AuditEvent {
        let principal = self.principal();
        AuditEvent {
            event_id: EventId::at(now),
            time: self.began,
            principal: None,
            principal_name: Some(principal.name),
            principal_kind: Some(principal.kind),
            credential_id: Some(principal.credential_id),
            protocol: Protocol::Cli,
            action: format!("job.{}", self.ticket.kind.as_str()),
            repository: Some((self.repository.id, self.repository.name.clone())),
            arguments_digest: None,
            outcome: Some(outcome),
            code: code.map(str::to_owned),
            rows: None,
            duration: Some(Duration::try_from(now - self.began).unwrap_or_default()),
            // A run is a request of its own, known by its lease.
            request_id: RequestId::from_uuid(self.ticket.holder.uuid()),
            client_ip: None,
        }
    }
}
