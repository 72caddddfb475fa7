//! Requests that belong to no organization: counted a minute and address prefix, in memory, bounded, and added to the
//! store every few seconds, so that a flood of them costs neither rows nor statements.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use sync_core::clock::Clock;
use sync_store::{Protocol, Refusal, Store, StoreError};
use time::{Duration, OffsetDateTime};

/// The most distinct counters kept between two flushes; the rest is counted under [`OTHER`].
const MAX_COUNTERS: usize = 1000;

/// The address prefix under which is counted what has no counter of its own.
const OTHER: &str = "other";

/// How long counted refusals are kept in the store: they hold address prefixes, and tell of an attack for a while.
const KEPT: Duration = Duration::days(30);

/// How often older ones are looked for.
const FORGET_EVERY: Duration = Duration::hours(1);

type Key = (OffsetDateTime, String, &'static str);

/// Counts refusals without an organization.
#[derive(Clone)]
pub struct Refusals {
    clock: Arc<dyn Clock>,
    counters: Arc<Mutex<HashMap<Key, (Protocol, u64)>>>,
    /// When older ones were last removed from the store.
    forgotten_at: Arc<Mutex<Option<OffsetDateTime>>>,
}

impl Refusals {
    /// Nothing counted yet.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, counters: Arc::default(), forgotten_at: Arc::default() }
    }

    /// Counts one; `code` says why it was refused.
    pub fn count(&self, protocol: Protocol, client: Option<IpAddr>, code: &'static str) {
        let now = self.clock.now();
        let minute = now.replace_second(0).and_then(|at| at.replace_nanosecond(0)).unwrap_or(now);
        self.add([((minute, client.map_or_else(|| OTHER.to_owned(), prefix), code), (protocol, 1))]);
    }

    /// Adds counts, within the bound: what has no counter of its own is counted under [`OTHER`], and where even that
    /// would be a new counter (the store is away for many minutes), in the earliest minute there is.
    fn add(&self, counts: impl IntoIterator<Item = (Key, (Protocol, u64))>) {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        for (mut key, (protocol, count)) in counts {
            if counters.len() >= MAX_COUNTERS && !counters.contains_key(&key) {
                OTHER.clone_into(&mut key.1);
            }
            if counters.len() >= 2 * MAX_COUNTERS
                && !counters.contains_key(&key)
                && let Some(earliest) = counters.keys().map(|(minute, ..)| *minute).min()
            {
                key.0 = earliest;
            }
            counters.entry(key).or_insert((protocol, 0)).1 += count;
        }
    }

    /// Adds what was counted to the store, and removes from it what is older than 30 days. Where adding fails, the
    /// counts stay for the next time.
    pub async fn flush(&self, store: &Store) {
        self.write(store).await;
        if let Err(error) = self.forget(store).await {
            tracing::warn!(%error, "old counted refusals could not be removed; it is tried again");
        }
    }

    async fn forget(&self, store: &Store) -> Result<(), StoreError> {
        let now = self.clock.now();
        let last = *self.forgotten_at.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| now - last < FORGET_EVERY) {
            return Ok(());
        }
        let mut tx = store.system("refusals").await?;
        tx.forget_refusals(now - KEPT).await?;
        tx.commit().await?;
        *self.forgotten_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
        Ok(())
    }

    async fn write(&self, store: &Store) {
        let taken = std::mem::take(&mut *self.counters.lock().unwrap_or_else(PoisonError::into_inner));
        if taken.is_empty() {
            return;
        }
        let added = async {
            let mut tx = store.system("refusals").await?;
            for ((time, address_prefix, code), (protocol, count)) in &taken {
                let refusal = Refusal {
                    time: *time,
                    address_prefix: address_prefix.clone(),
                    protocol: *protocol,
                    code: (*code).to_owned(),
                    count: *count,
                };
                tx.count_refusal(&refusal).await?;
            }
            tx.commit().await
        };
        if let Err(error) = added.await {
            tracing::warn!(%error, "counted refusals could not be added to the store; they are kept");
            self.add(taken);
        }
    }
}

/// The /24 or /48 an address belongs to.
pub fn prefix(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            format!("{}/24", Ipv4Addr::new(a, b, c, 0))
        }
        IpAddr::V6(v6) => {
            let [a, b, c, ..] = v6.segments();
            format!("{}/48", Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use sync_core::clock::MockClock;

    use super::*;

    #[test]
    fn counters_are_by_prefix_and_bounded() {
        let refusals = Refusals::new(Arc::new(MockClock::at(OffsetDateTime::UNIX_EPOCH)));
        for last in 0..=255 {
            refusals.count(Protocol::Mcp, Some(Ipv4Addr::new(192, 0, 2, last).into()), "bad_token");
        }
        assert_eq!(refusals.counters.lock().unwrap().len(), 1);
        for at in 0..5_000_u32 {
            refusals.count(Protocol::Mcp, Some(Ipv4Addr::from(at << 8).into()), "bad_token");
        }
        let counters = refusals.counters.lock().unwrap();
        assert!(counters.len() <= MAX_COUNTERS + 1);
        assert_eq!(counters.values().map(|(_, count)| count).sum::<u64>(), 256 + 5_000);
        drop(counters);
        // Counts come back from a store that stays away, while others are made.
        let start = OffsetDateTime::UNIX_EPOCH;
        for minute in 1..=600_i64 {
            let at = start + time::Duration::minutes(minute);
            refusals.add((0..100_u32).map(|n| ((at, format!("{n}"), "bad_token"), (Protocol::Mcp, 1))));
            refusals.add([((at, OTHER.to_owned(), "no_credential"), (Protocol::Mcp, 1))]);
        }
        refusals.add(
            (0..5_000_i64)
                .map(|n| ((start + time::Duration::minutes(n), OTHER.to_owned(), "bad_jwt"), (Protocol::Mcp, 1))),
        );
        let counters = refusals.counters.lock().unwrap();
        assert!(counters.len() <= 2 * MAX_COUNTERS + 3, "{}", counters.len());
        assert_eq!(counters.values().map(|(_, count)| count).sum::<u64>(), 256 + 5_000 + 600 * 101 + 5_000);
        assert_eq!(prefix("::ffff:192.0.2.9".parse().unwrap()), "192.0.2.0/24");
        assert_eq!(prefix("2001:db8:1:2::9".parse().unwrap()), "2001:db8:1::/48");
    }
}
