//! Plans of organizations, as they were at most ten seconds ago: a limit that is asked on every request must not cost a
//! statement each time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sync_core::clock::Clock;
use sync_core::ids::OrganizationId;
use sync_store::{Plan, Store, StoreError};
use time::{Duration, OffsetDateTime};

/// For how long a plan that was read holds.
const HOLDS: Duration = Duration::seconds(10);

/// The most plans that are kept.
const MOST: usize = 10_000;

/// Plans by organization.
pub struct Plans {
    store: Store,
    clock: Arc<dyn Clock>,
    known: Mutex<HashMap<OrganizationId, (Arc<Plan>, OffsetDateTime)>>,
}

impl Plans {
    /// Nothing read yet.
    pub fn new(store: Store, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, known: Mutex::default() }
    }

    /// The plan of an organization of an authenticated principal.
    pub async fn of(&self, organization: OrganizationId) -> Result<Arc<Plan>, StoreError> {
        let now = self.clock.now();
        if let Some((plan, at)) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&organization)
            && (now - *at).abs() < HOLDS
        {
            return Ok(plan.clone());
        }
        let mut tx = self.store.authenticate(organization).await?;
        let plan = Arc::new(tx.plan().await?);
        tx.commit().await?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.retain(|_, (_, at)| (now - *at).abs() < HOLDS);
        }
        if known.len() < MOST {
            known.insert(organization, (plan.clone(), now));
        }
        Ok(plan)
    }
}
