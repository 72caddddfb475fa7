//! The issuers that clients are told about before it is known who they are: those of the configuration, and those that
//! the operator wants to be named. An organization's other issuers would tell a stranger who is served here.

use std::sync::Arc;
use std::time::Duration as Wait;

use sync_core::clock::Clock;
use sync_store::{Store, StoreError};
use time::{Duration, OffsetDateTime};
use tokio::sync::Mutex;

/// For how long what was read holds: strangers ask, so that it is seldom read.
const HOLDS: Duration = Duration::seconds(30);

/// How long a stranger waits for it.
const BUDGET: Wait = Wait::from_secs(1);

/// Issuers by name.
pub struct Advertised {
    store: Store,
    clock: Arc<dyn Clock>,
    configured: Vec<String>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    asked_at: Option<OffsetDateTime>,
    issuers: Vec<String>,
}

impl Advertised {
    /// `configured` are named always.
    pub fn new(store: Store, clock: Arc<dyn Clock>, configured: Vec<String>) -> Self {
        Self { store, clock, configured, known: Mutex::default() }
    }

    /// The issuers, each once. Where the store cannot be asked, those that were known.
    pub async fn issuers(&self) -> Vec<String> {
        let now = self.clock.now();
        // Held while the store is asked: strangers wait for one question and do not ask each their own.
        let mut known = self.known.lock().await;
        if known.asked_at.is_none_or(|at| (now - at).abs() >= HOLDS) {
            known.asked_at = Some(now);
            match tokio::time::timeout(BUDGET, self.ask()).await {
                Ok(Ok(issuers)) => known.issuers = issuers,
                Ok(Err(error)) => tracing::warn!(%error, "the advertised issuers could not be read"),
                Err(_elapsed) => tracing::warn!("the advertised issuers were not read in time"),
            }
        }
        let mut all = self.configured.clone();
        all.extend(known.issuers.iter().filter(|issuer| !self.configured.contains(issuer)).cloned());
        all
    }

    async fn ask(&self) -> Result<Vec<String>, StoreError> {
        let mut tx = self.store.system("advertised issuers").await?;
        let issuers = tx.advertised_issuers().await?;
        tx.commit().await?;
        Ok(issuers)
    }
}
