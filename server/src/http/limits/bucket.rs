//! Bounded tables of rate limits: the generic cell rate algorithm, one number a key.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use time::OffsetDateTime;

/// Within which time a quota may be used up, in nanoseconds.
const WINDOW_NS: i128 = 60 * NS;
const NS: i128 = 1_000_000_000;

/// How often a full table is looked through for keys that are as good as new.
const SWEEP_EVERY_NS: i128 = NS;

/// How a key stands after one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standing {
    /// Requests a minute.
    pub quota: u32,
    /// Requests that would be let through now.
    pub remaining: u64,
    /// Until the whole quota is there again, in seconds, rounded up.
    pub reset_s: u64,
    /// When to come back, in seconds, rounded up; nothing where this request was let through.
    pub retry_after_s: Option<u64>,
}

/// Keys and how much of their quota each has used. However many keys are tried, it holds at most `most`; what finds no
/// place shares one.
pub(super) struct Buckets<K> {
    most: usize,
    used: Mutex<Used<K>>,
}

struct Used<K> {
    /// When each key's quota will be whole again. One that is, is not needed.
    whole_at: HashMap<K, i128>,
    /// The same of all keys without a place.
    others: i128,
    swept_at: i128,
}

impl<K: Eq + Hash + Clone> Buckets<K> {
    /// A table of at most `most` keys.
    pub(super) fn new(most: usize) -> Self {
        let used = Used { whole_at: HashMap::new(), others: i128::MIN, swept_at: i128::MIN };
        Self { most, used: Mutex::new(used) }
    }

    /// Takes one request of a minute's `quota` from the key, where there is one left.
    pub(super) fn spend(&self, key: &K, quota: u32, now: OffsetDateTime) -> Standing {
        self.look(key, quota, now, true)
    }

    /// How the key would stand, with nothing taken.
    pub(super) fn peek(&self, key: &K, quota: u32, now: OffsetDateTime) -> Standing {
        self.look(key, quota, now, false)
    }

    fn look(&self, key: &K, quota: u32, now: OffsetDateTime, spend: bool) -> Standing {
        let now = now.unix_timestamp_nanos();
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if spend && !used.whole_at.contains_key(key) {
            used.make_room(self.most, now);
        }
        let placed = used.whole_at.contains_key(key) || used.whole_at.len() < self.most;
        let stored = if placed { used.whole_at.get(key).copied().unwrap_or(now) } else { used.others };
        // Never further ahead than a whole window, and kept so: a clock that was put back would keep a key out for as long.
        let whole_at = stored.clamp(now, now + WINDOW_NS);
        if stored > whole_at {
            if placed {
                used.whole_at.insert(key.clone(), whole_at);
            } else {
                used.others = whole_at;
            }
        }
        let each = WINDOW_NS / i128::from(quota.max(1));
        let after = whole_at + each;
        let over = after - (now + WINDOW_NS);
        let passes = over <= 0;
        let settled = if passes && spend { after } else { whole_at };
        if spend && passes {
            if placed {
                used.whole_at.insert(key.clone(), after);
            } else {
                used.others = after;
            }
        }
        Standing {
            quota,
            remaining: u64::try_from((now + WINDOW_NS - settled) / each).unwrap_or(0),
            reset_s: seconds(settled - now),
            retry_after_s: (!passes).then(|| seconds(over).max(1)),
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.used.lock().unwrap().whole_at.len()
    }
}

impl<K: Eq + Hash> Used<K> {
    /// Forgets keys whose quota is whole, where the table is full; now and then only, since that looks at all of it.
    fn make_room(&mut self, most: usize, now: i128) {
        if self.whole_at.len() >= most && now - SWEEP_EVERY_NS >= self.swept_at {
            self.whole_at.retain(|_, whole_at| *whole_at > now);
            self.swept_at = now;
        }
    }
}

fn seconds(ns: i128) -> u64 {
    u64::try_from((ns + NS - 1).div_euclid(NS)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use time::Duration;

    use super::*;

    const START: OffsetDateTime = OffsetDateTime::UNIX_EPOCH;

    #[test]
    fn a_quota_can_be_used_at_once_and_comes_back_evenly() {
        let buckets = Buckets::new(10);
        for left in (0..60).rev() {
            let standing = buckets.spend(&"a", 60, START);
            assert_eq!((standing.remaining, standing.retry_after_s), (left, None));
        }
        let over = buckets.spend(&"a", 60, START);
        assert_eq!((over.remaining, over.reset_s, over.retry_after_s), (0, 60, Some(1)));
        assert_eq!(buckets.spend(&"b", 60, START).remaining, 59, "another key is not concerned");
        let later = START + Duration::SECOND;
        assert_eq!(buckets.peek(&"a", 60, later).retry_after_s, None);
        assert_eq!(buckets.spend(&"a", 60, later).retry_after_s, None);
        assert_eq!(buckets.spend(&"a", 60, later).retry_after_s, Some(1));
        assert_eq!(buckets.spend(&"a", 60, later + Duration::MINUTE).remaining, 59);
    }

    #[test]
    fn a_clock_that_is_put_back_keeps_nobody_out_for_longer_than_a_window() {
        let buckets = Buckets::new(10);
        let quota = 2;
        for _ in 0..2 {
            buckets.spend(&"a", quota, START + Duration::DAY);
        }
        assert_eq!(buckets.spend(&"a", quota, START).retry_after_s, Some(30));
        assert_eq!(buckets.spend(&"a", quota, START + Duration::MINUTE).retry_after_s, None);
    }

    #[test]
    fn a_million_keys_take_no_more_than_their_places() {
        let buckets = Buckets::new(1_000);
        let mut refused = 0;
        for key in 0..1_000_000_u32 {
            refused += u32::from(buckets.spend(&key, 100, START).retry_after_s.is_some());
        }
        assert_eq!(buckets.len(), 1_000);
        // Those without a place share one quota.
        assert_eq!(refused, 1_000_000 - 1_000 - 100);
        // Once the first ones are whole again, there is room.
        assert_eq!(buckets.spend(&7_000_000, 100, START + Duration::MINUTE).remaining, 99);
        assert_eq!(buckets.len(), 1);
    }
}
