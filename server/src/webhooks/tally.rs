//! Deliveries on their way into the audit log: counted by endpoint, minute and outcome, and written down as one row each
//! once the minute is over, or at the end. What queued a job is in the job besides; what was refused is shown with the
//! endpoint within seconds.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sync_core::clock::Clock;
use sync_core::ids::{OrganizationId, RepositoryId, RequestId, WebhookId};
use sync_core::principal::Principal;
use sync_store::{Outcome, Protocol, Store, StoreError};
use time::OffsetDateTime;

use crate::audit::{Auditor, Tallied};

/// What the audit log calls deliveries.
pub const ACTION: &str = "webhook.delivery";

/// Counts deliveries. Only known endpoints are counted here, so that nobody makes it grow.
pub struct Tally {
    clock: Arc<dyn Clock>,
    counts: Mutex<HashMap<Key, u64>>,
    problems: Mutex<HashMap<(OrganizationId, WebhookId), &'static str>>,
    parsed: AtomicU64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    organization: OrganizationId,
    endpoint: WebhookId,
    source: RepositoryId,
    minute: OffsetDateTime,
    outcome: &'static str,
    code: Option<&'static str>,
}

/// How a delivery ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// How, as the audit row says it.
    pub outcome: Outcome,
    /// Why it did not end well.
    pub code: Option<&'static str>,
}

impl Tally {
    /// Nothing counted yet.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, counts: Mutex::default(), problems: Mutex::default(), parsed: AtomicU64::new(0) }
    }

    /// Counts a delivery to a known endpoint.
    pub fn count(&self, organization: OrganizationId, endpoint: WebhookId, source: RepositoryId, ended: Ended) {
        let minute = minute_of(self.clock.now());
        let Ended { outcome, code } = ended;
        let key = Key { organization, endpoint, source, minute, outcome: outcome.as_str(), code };
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default() += 1;
    }

    /// Notes what is wrong with an endpoint's deliveries, for who looks at it.
    pub fn problem(&self, organization: OrganizationId, endpoint: WebhookId, problem: &'static str) {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner).insert((organization, endpoint), problem);
    }

    /// Forgets it: a delivery was taken since.
    pub fn well(&self, organization: OrganizationId, endpoint: WebhookId) {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner).remove(&(organization, endpoint));
    }

    /// Notes that a body was parsed.
    pub fn parsing(&self) {
        self.parsed.fetch_add(1, Ordering::Relaxed);
    }

    /// How many bodies were parsed.
    pub fn parsed(&self) -> u64 {
        self.parsed.load(Ordering::Relaxed)
    }

    /// Writes down the minutes that are over, or all of them at the end. What cannot be written stays for the next time.
    pub async fn flush(&self, store: &Store, auditor: &Auditor, ending: bool) {
        let problems = std::mem::take(&mut *self.problems.lock().unwrap_or_else(PoisonError::into_inner));
        for ((organization, endpoint), problem) in problems {
            if let Err(error) = note(store, organization, endpoint, problem).await {
                tracing::warn!(%error, "what is wrong with a webhook could not be noted; it is kept");
                let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
                problems.entry((organization, endpoint)).or_insert(problem);
            }
        }
        let now = minute_of(self.clock.now());
        let over: Vec<(Key, u64)> = {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            counts.extract_if(|key, _| ending || key.minute < now).collect()
        };
        for (key, count) in over {
            if !self.write(auditor, &key, count).await {
                *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default() += count;
            }
        }
    }

    async fn write(&self, auditor: &Auditor, key: &Key, count: u64) -> bool {
        let forge =
            Principal { credential_id: key.endpoint.to_string(), ..Principal::service(key.organization, "webhook") };
        let outcome =
            [Outcome::Ok, Outcome::Refused, Outcome::Error].into_iter().find(|one| one.as_str() == key.outcome);
        let tallied = Tallied {
            protocol: Protocol::Webhook,
            action: ACTION,
            outcome: outcome.unwrap_or(Outcome::Error),
            code: key.code,
            count,
            about: Some(key.source),
        };
        auditor.tallied(&Arc::new(forge), &tallied, RequestId::at(self.clock.now())).await.is_ok()
    }
}

async fn note(
    store: &Store,
    organization: OrganizationId,
    endpoint: WebhookId,
    problem: &str,
) -> Result<(), StoreError> {
    let mut tx = store.begin_change(&Principal::service(organization, "webhook")).await?;
    tx.note_refused_delivery(endpoint, problem).await?;
    tx.commit().await
}

fn minute_of(at: OffsetDateTime) -> OffsetDateTime {
    at.replace_second(0).and_then(|at| at.replace_nanosecond(0)).unwrap_or(at)
}
