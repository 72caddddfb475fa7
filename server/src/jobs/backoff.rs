//! How long a job waits between its tries.

use sha2::{Digest as _, Sha256};
use sync_core::ids::JobId;
use time::Duration;

/// After how many tries a job is given up.
pub const MAX_ATTEMPTS: u32 = 10;

/// After the first try; each further one doubles it.
const FIRST: Duration = Duration::seconds(5);

/// The longest.
const LONGEST: Duration = Duration::hours(1);

/// How long to wait after that try (from 1): twice as long each time, up to a quarter more or less, so that jobs that
/// failed together do not come back together. The job's id is the source of chance: it is random, and the wait of a try
/// is the same whoever works it out.
pub fn after(job: JobId, attempt: u32) -> Duration {
    let doubled = FIRST * 2_i32.saturating_pow(attempt.saturating_sub(1).min(16));
    let whole = doubled.min(LONGEST).whole_milliseconds();
    let mut hasher = Sha256::new();
    hasher.update(job.uuid().as_bytes());
    hasher.update(attempt.to_be_bytes());
    let chance = i128::from(hasher.finalize()[0]);
    // From 3/4 of it to 5/4, in 256 steps.
    let milliseconds = whole * 3 / 4 + whole * chance / 510;
    Duration::milliseconds(i64::try_from(milliseconds).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use time::OffsetDateTime;

    use super::*;

    #[test]
    fn waits_double_stay_near_and_end_at_an_hour() {
        let job = JobId::at(OffsetDateTime::UNIX_EPOCH);
        let mut expected = 5.0;
        for attempt in 1..=40 {
            let wait = after(job, attempt);
            assert!((wait.as_seconds_f64() / expected - 1.0).abs() <= 0.2501, "{attempt}: {wait}");
            assert_eq!(wait, after(job, attempt));
            expected = (expected * 2.0_f64).min(3600.0);
        }
    }

    #[test]
    fn jobs_that_failed_together_come_back_one_by_one() {
        let waits: std::collections::BTreeSet<_> =
            (0..100).map(|_| after(JobId::at(OffsetDateTime::UNIX_EPOCH), 5)).collect();
        assert!(waits.len() > 50, "{}", waits.len());
    }
}
