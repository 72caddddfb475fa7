//! The care of the audit log: what `syncd worker` does for it, once a minute.

use std::sync::Arc;
use std::time::Duration as StdDuration;

use sync_core::clock::Clock;
use sync_core::ids::OrganizationId;
use sync_store::{Maintenance, StoreError};
use time::{Duration, OffsetDateTime};

use super::heads::Heads;
use super::seal_key::SealKeys;
use super::sealing::{prune, seal};
use crate::config::{Config, ConfigError};
use crate::shutdown::Shutdown;

/// How often a round is made.
pub const EVERY: StdDuration = StdDuration::from_mins(1);

/// After how long a call without an outcome is one that never ended. Nothing that writes ahead may take longer.
pub const OPEN_FOR: Duration = Duration::minutes(5);

/// Partitions are made for the month of the clock and as many after it.
const MONTHS_AHEAD: u32 = 3;

/// How often partitions and retention are looked after.
const HOUSEKEEPING_EVERY: Duration = Duration::hours(1);

/// Looks after the audit log of every organization.
pub struct Maintainer {
    maintenance: Maintenance,
    keys: SealKeys,
    heads: Heads,
    /// How long sealed rows are kept; nothing for ever.
    kept: Option<Duration>,
    clock: Arc<dyn Clock>,
    kept_house_at: Option<OffsetDateTime>,
}

impl Maintainer {
    /// Over the maintenance role's database.
    pub fn new(
        maintenance: Maintenance,
        keys: SealKeys,
        heads: Heads,
        kept: Option<Duration>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { maintenance, keys, heads, kept, clock, kept_house_at: None }
    }

    /// Makes rounds until the end of the process, and a last one then, so that little is left unsealed.
    pub async fn run(mut self, shutdown: Shutdown) {
        let mut ending = false;
        loop {
            self.round().await;
            if ending {
                break;
            }
            tokio::select! {
                () = tokio::time::sleep(EVERY) => {}
                () = shutdown.begun() => ending = true,
            }
        }
        self.maintenance.close().await;
    }

    /// One round over every organization. What fails is logged and is tried again in the next one; it keeps nothing else
    /// from being done.
    pub async fn round(&mut self) {
        let now = self.clock.now();
        let organizations = match self.maintenance.organizations().await {
            Ok(organizations) => organizations,
            Err(error) => {
                tracing::error!(%error, "the audit log is not being sealed: organizations cannot be listed");
                return;
            }
        };
        let keep_house = self.kept_house_at.is_none_or(|at| now - at >= HOUSEKEEPING_EVERY);
        let mut kept_house = true;
        for organization in organizations {
            self.look_after(organization, now).await;
            if keep_house && let Some(kept) = self.kept {
                match prune(&self.maintenance, &self.keys, organization, now, kept).await {
                    Ok(0) => {}
                    Ok(rows) => tracing::info!(%organization, rows, "old audit rows were removed"),
                    Err(error) => {
                        kept_house = false;
                        tracing::error!(%error, %organization, "old audit rows could not be removed");
                    }
                }
            }
        }
        if keep_house {
            match self.partitions(now).await {
                Ok(()) if kept_house => self.kept_house_at = Some(now),
                Ok(()) => {}
                Err(error) => tracing::warn!(%error, "partitions of the audit log could not be changed yet"),
            }
        }
    }

    async fn look_after(&self, organization: OrganizationId, now: OffsetDateTime) {
        match self.close_open_events(organization, now).await {
            Ok(0) => {}
            Ok(events) => tracing::warn!(%organization, events, "calls never ended; their outcome is `timeout`"),
            Err(error) => tracing::error!(%error, %organization, "calls that never ended could not be closed"),
        }
        match seal(&self.maintenance, &self.keys, organization, now).await {
            Ok(sealed) => tracing::debug!(%organization, seals = sealed.seals, rows = sealed.rows, "sealed"),
            Err(error) => tracing::error!(%error, %organization, "the audit log could not be sealed"),
        }
        if let Err(error) = self.heads.deliver(&self.maintenance, &self.keys, organization, now).await {
            tracing::error!(%error, %organization, "heads of the audit log have not left the database");
        }
    }

    async fn close_open_events(&self, organization: OrganizationId, now: OffsetDateTime) -> Result<u64, StoreError> {
        let mut all = 0;
        loop {
            let mut tx = self.maintenance.begin(organization).await?;
            let closed = tx.close_open_events(now - OPEN_FOR, now).await?;
            tx.commit().await?;
            all += closed;
            if closed == 0 {
                return Ok(all);
            }
        }
    }

    async fn partitions(&self, now: OffsetDateTime) -> Result<(), StoreError> {
        let made = self.maintenance.ensure_partitions(now.date(), MONTHS_AHEAD + 1).await?;
        let dropped = match self.kept {
            // A seal is younger than its rows: a partition of that age may hold rows still, and is then left alone.
            Some(kept) => self.maintenance.drop_partitions((now - kept).date()).await?,
            None => 0,
        };
        if made + dropped > 0 {
            tracing::info!(made, dropped, "partitions of the audit log");
        }
        Ok(())
    }
}

/// The configured keys.
pub fn keys(config: &Config) -> Result<SealKeys, ConfigError> {
    SealKeys::derive(config.seal_key()?, config.previous_seal_keys()).map_err(|error| ConfigError::Bad {
        key: "seal_key".to_owned(),
        origin: "configuration".to_owned(),
        reason: error.to_string(),
    })
}

/// The configured places of heads.
pub fn heads(config: &Config) -> Result<Heads, ConfigError> {
    Heads::new(config.audit_heads_file.clone(), config.audit_heads_url.clone()).map_err(|reason| ConfigError::Bad {
        key: "audit_heads_url".to_owned(),
        origin: "configuration".to_owned(),
        reason,
    })
}

/// How long sealed rows are kept.
pub fn kept(config: &Config) -> Option<Duration> {
    (config.audit_retention_days > 0).then(|| Duration::days(config.audit_retention_days.into()))
}
