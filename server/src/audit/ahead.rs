//! Calls with outside effects: written down before they begin, and their outcome after.
//!
//! What was sent or done cannot be rolled back with a transaction, so that the row comes first. An event whose process
//! dies before its outcome is written becomes a `timeout`: see [`super::maintain`].

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sync_core::ids::{EventId, RepositoryId, RequestId};
use sync_core::principal::Principal;
use sync_store::{AuditOutcome, Outcome, Store, StoreError};
use time::OffsetDateTime;
use tokio::time::Instant;

use super::{Asker, Auditor, Failure, Unrecorded};

/// The longest that such a call may take. Later its event is taken for one that never ended.
pub const LONGEST: Duration = Duration::from_mins(4);

/// How long is waited before the outcome is tried again.
const PAUSES: [Duration; 3] = [Duration::from_millis(250), Duration::from_millis(750), Duration::from_millis(1750)];

/// A call that is written down and under way.
#[must_use = "without an outcome it is taken for a call that never ended"]
pub struct Ahead {
    store: Store,
    principal: Arc<Principal>,
    request_id: RequestId,
    event_id: EventId,
    time: OffsetDateTime,
    began: Instant,
}

impl Auditor {
    /// Writes down that a call with outside effects begins; returns once that is committed. `about` is the repository
    /// that it is about. Where it cannot be written down, the call must not begin, and what to say comes back.
    pub async fn ahead<E: Failure>(
        &self,
        asker: &Asker,
        question: impl Into<Option<&'static str>>,
        arguments: &Value,
        about: Option<(RepositoryId, String)>,
    ) -> Result<Ahead, E> {
        let mut event = self.event(asker, question.into(), Some(arguments));
        event.repository = about;
        self.commit(asker, &event).await.map_err(|Unrecorded| E::unavailable())?;
        Ok(Ahead {
            store: self.store.clone(),
            principal: asker.principal.clone(),
            request_id: asker.request_id,
            event_id: event.event_id,
            time: event.time,
            began: asker.began,
        })
    }
}

impl Ahead {
    /// By when the call has to have ended.
    pub fn deadline(&self) -> Instant {
        self.began + LONGEST
    }

    /// Writes down how the call ended. Where the store is away for a moment it is tried again; where that does not help,
    /// the event becomes a `timeout`.
    pub async fn finish(self, outcome: Outcome, code: Option<&str>, rows: Option<u64>) -> Result<(), Unrecorded> {
        let ended = AuditOutcome {
            event_id: self.event_id,
            time: self.time,
            outcome,
            code: code.map(str::to_owned),
            rows,
            duration: self.began.elapsed(),
        };
        let mut pauses = PAUSES.into_iter();
        loop {
            match self.write(&ended).await {
                // Another hand wrote one: it was taken for a call that never ended.
                Ok(()) | Err(StoreError::Conflict(_)) => return Ok(()),
                Err(error) => {
                    let Some(pause) = pauses.next().filter(|_| error.is_unavailable()) else {
                        tracing::error!(%error, request_id = %self.request_id, "an outcome could not be written down");
                        return Err(Unrecorded);
                    };
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }

    async fn write(&self, ended: &AuditOutcome) -> Result<(), StoreError> {
        let mut tx = self.store.begin(&self.principal).await?;
        tx.record_outcome(ended).await?;
        tx.commit().await
    }
}
