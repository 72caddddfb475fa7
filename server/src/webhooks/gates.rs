//! One delivery of an endpoint is acted on at a time. They would wait for each other anyway, at the endpoint's row, and
//! each would hold a connection meanwhile: a burst to one repository would take them all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use sync_core::ids::{OrganizationId, WebhookId};
use tokio::sync::OwnedMutexGuard;

/// From how many endpoints on those are looked for that nobody waits at.
const MANY: usize = 1_000;

type Gate = tokio::sync::Mutex<()>;

/// The gates of endpoints that are being delivered to.
#[derive(Default)]
pub struct Gates(Mutex<HashMap<(OrganizationId, WebhookId), Weak<Gate>>>);

impl Gates {
    /// Waits for the turn at an endpoint, first come first served; the turn ends with what is given.
    pub async fn turn(&self, organization: OrganizationId, endpoint: WebhookId) -> OwnedMutexGuard<()> {
        self.of(organization, endpoint).lock_owned().await
    }

    fn of(&self, organization: OrganizationId, endpoint: WebhookId) -> Arc<Gate> {
        let mut gates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = gates.get(&(organization, endpoint)).and_then(Weak::upgrade) {
            return gate;
        }
        if gates.len() >= MANY {
            gates.retain(|_, gate| gate.strong_count() > 0);
        }
        let gate = Arc::new(Gate::default());
        gates.insert((organization, endpoint), Arc::downgrade(&gate));
        gate
    }
}

#[cfg(test)]
mod tests {
    use time::OffsetDateTime;

    use super::*;

    #[tokio::test]
    async fn one_has_the_turn_at_an_endpoint_and_others_are_not_concerned() {
        let gates = Gates::default();
        let now = OffsetDateTime::UNIX_EPOCH;
        let (organization, endpoint) = (OrganizationId::at(now), WebhookId::at(now));
        let first = gates.turn(organization, endpoint).await;
        assert!(gates.of(organization, endpoint).try_lock().is_err());
        drop(gates.turn(organization, WebhookId::at(now)).await);
        drop(first);
        assert!(gates.of(organization, endpoint).try_lock().is_ok());
    }

    #[test]
    fn gates_that_nobody_waits_at_are_forgotten() {
        let gates = Gates::default();
        let organization = OrganizationId::at(OffsetDateTime::UNIX_EPOCH);
        for _ in 0..3 * MANY {
            gates.of(organization, WebhookId::at(OffsetDateTime::UNIX_EPOCH));
        }
        assert!(gates.0.lock().unwrap().len() <= MANY);
    }
}
