//! Time as an argument. The system clock lives in the composition root; rules and SQL only ever see an instant.

use std::sync::Mutex;

use time::{Duration, OffsetDateTime};

/// Says what time it is.
pub trait Clock: Send + Sync + 'static {
    /// The present instant, UTC.
    fn now(&self) -> OffsetDateTime;
}

/// A clock that moves only when told to, for tests.
#[derive(Debug)]
pub struct MockClock(Mutex<OffsetDateTime>);

impl MockClock {
    /// A clock standing at `start`.
    pub const fn at(start: OffsetDateTime) -> Self {
        Self(Mutex::new(start))
    }

    /// Moves the clock, backwards too.
    pub fn advance(&self, by: Duration) {
        let mut now = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *now += by;
    }

    /// Puts the clock at an instant.
    pub fn set(&self, to: OffsetDateTime) {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = to;
    }
}

impl Clock for MockClock {
    fn now(&self) -> OffsetDateTime {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// RFC 3339 in UTC with three decimals, the one form in which instants leave Sync: `2026-11-30T19:04:55.000Z`.
pub fn rfc3339_millis(instant: OffsetDateTime) -> String {
    let utc = instant.to_offset(time::UtcOffset::UTC);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        utc.year(),
        u8::from(utc.month()),
        utc.day(),
        utc.hour(),
        utc.minute(),
        utc.second(),
        utc.millisecond()
    )
}

/// `#[serde(with = "sync_core::clock::millis")]` for an instant in outward JSON.
pub mod millis {
    use serde::{Deserialize, Deserializer, Serializer};
    use time::OffsetDateTime;
    use time::format_description::well_known::Rfc3339;

    /// Writes the instant with three decimals.
    pub fn serialize<S: Serializer>(instant: &OffsetDateTime, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::rfc3339_millis(*instant))
    }

    /// Reads any RFC 3339 instant.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<OffsetDateTime, D::Error> {
        let text = String::deserialize(deserializer)?;
        OffsetDateTime::parse(&text, &Rfc3339).map_err(serde::de::Error::custom)
    }

    /// The same for an instant that may be absent.
    pub mod option {
        use serde::{Deserialize, Deserializer, Serializer};
        use time::OffsetDateTime;
        use time::format_description::well_known::Rfc3339;

        /// Writes the instant with three decimals, or null.
        pub fn serialize<S: Serializer>(instant: &Option<OffsetDateTime>, serializer: S) -> Result<S::Ok, S::Error> {
            match instant {
                Some(instant) => super::serialize(instant, serializer),
                None => serializer.serialize_none(),
            }
        }

        /// Reads any RFC 3339 instant, or null.
        pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<OffsetDateTime>, D::Error> {
            Option::<String>::deserialize(deserializer)?
                .map(|text| OffsetDateTime::parse(&text, &Rfc3339).map_err(serde::de::Error::custom))
                .transpose()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_leave_with_three_decimals() {
        let instant = OffsetDateTime::UNIX_EPOCH + Duration::milliseconds(7);
        assert_eq!(rfc3339_millis(instant), "1970-01-01T00:00:00.007Z");
        let clock = MockClock::at(instant);
        clock.advance(Duration::SECOND);
        assert_eq!(rfc3339_millis(clock.now()), "1970-01-01T00:00:01.007Z");
    }
}
