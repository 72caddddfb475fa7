//! How much each organization uses: counted in memory, and added to the store every few seconds and at the end.
//!
//! A row that every request of an organization writes would make its requests wait for each other, so that none is
//! written on the way of a request. What a killed process had not added yet is lost, a few seconds of counts; what the
//! audit log holds is exact, and is what a dispute is settled by.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sync_core::clock::Clock;
use sync_core::ids::OrganizationId;
use sync_core::principal::Principal;
use sync_store::{Store, StoreError};
use time::{Date, OffsetDateTime, UtcOffset};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counted {
    /// A request of a known principal, whatever came of it.
    Request,
    /// A call of a tool.
    ToolCall,
}

impl Counted {
    /// The word in rows and answers; words only grow.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "requests",
            Self::ToolCall => "tool_calls",
        }
    }
}

/// Counts of what was used. There are two for an organization that asks, and only known organizations ask.
#[derive(Clone)]
pub struct Usage {
    clock: Arc<dyn Clock>,
    counts: Arc<Mutex<Counts>>,
}

type Counts = HashMap<OrganizationId, HashMap<(Date, Counted), u64>>;

impl Usage {
    /// Nothing counted yet.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, counts: Arc::default() }
    }

    /// Counts one.
    pub fn count(&self, organization: OrganizationId, what: Counted) {
        self.add(organization, [((month_of(self.clock.now()), what), 1)]);
    }

    /// Adds what was counted to the store. Where that fails, the counts stay for the next time.
    pub async fn flush(&self, store: &Store) {
        let taken = std::mem::take(&mut *self.counts.lock().unwrap_or_else(PoisonError::into_inner));
        for (organization, counts) in taken {
            if let Err(error) = write(store, organization, &counts).await {
                tracing::warn!(%error, %organization, "counts of use could not be added to the store; they are kept");
                self.add(organization, counts);
            }
        }
    }

    fn add(&self, organization: OrganizationId, counts: impl IntoIterator<Item = ((Date, Counted), u64)>) {
        let mut all = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.entry(organization).or_default();
        for (key, count) in counts {
            *known.entry(key).or_default() += count;
        }
    }
}

/// The first day of an instant's month, UTC.
pub fn month_of(instant: OffsetDateTime) -> Date {
    let date = instant.to_offset(UtcOffset::UTC).date();
    date.replace_day(1).unwrap_or(date)
}

async fn write(
    store: &Store,
    organization: OrganizationId,
    counts: &HashMap<(Date, Counted), u64>,
) -> Result<(), StoreError> {
    // READ COMMITTED: other processes add to the same rows.
    let mut tx = store.begin_write(&Principal::service(organization, "usage")).await?;
    for ((month, what), count) in counts {
        tx.add_usage(*month, what.as_str(), *count).await?;
    }
    tx.commit().await
}

#[cfg(test)]
mod tests {
    use time::macros::{date, datetime};

    use super::*;

    #[test]
    fn months_begin_at_midnight_utc() {
        assert_eq!(month_of(datetime!(2026-11-30 23:59:59 UTC)), date!(2026 - 11 - 01));
        assert_eq!(month_of(datetime!(2026-12-01 00:30:00 +01:00)), date!(2026 - 11 - 01));
    }
}
