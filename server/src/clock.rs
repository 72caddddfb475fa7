//! The system clock: the one place of the service that reads it.

use sync_core::clock::Clock;
use time::OffsetDateTime;

/// The machine's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is given")]
    fn now(&self) -> OffsetDateTime {
        OffsetDateTime::now_utc()
    }
}
