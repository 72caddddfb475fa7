//! Identifiers: one newtype a kind, so that they cannot be mixed, and their outward form `<prefix>_<32 hex digits>`.
//!
//! Ids are UUIDv7, made by whoever holds the clock ([`OrganizationId::at`] and so on). The two derived ids,
//! [`FindingId`] and [`ChangeId`], are hashes of what they name and so the same wherever they are computed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use time::OffsetDateTime;
use uuid::{NoContext, Timestamp, Uuid};

/// A text that is not the outward form of the id it was read as.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a {kind} id; one looks like `{prefix}_` and 32 hexadecimal digits")]
pub struct BadId {
    kind: &'static str,
    prefix: &'static str,
    given: String,
}

macro_rules! uuid_id {
    ($name:ident, $prefix:literal, $kind:literal) => {
        #[doc = concat!("Identifies one ", $kind, "; outwardly `", $prefix, "_…`.")]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// The text before the underscore.
            pub const PREFIX: &'static str = $prefix;

            #[doc = concat!("A new ", $kind, " id, ordered by `now` (UUIDv7).")]
            pub fn at(now: OffsetDateTime) -> Self {
                Self(uuid_v7(now))
            }

            /// Wraps a UUID read from the store.
            pub const fn from_uuid(id: Uuid) -> Self {
                Self(id)
            }

            /// When it was made, to the millisecond; nothing for an id that was made otherwise.
            pub fn made_at(self) -> Option<OffsetDateTime> {
                let (seconds, nanoseconds) = self.0.get_timestamp()?.to_unix();
                let whole = OffsetDateTime::from_unix_timestamp(i64::try_from(seconds).ok()?).ok()?;
                whole.replace_nanosecond(nanoseconds).ok()
            }

            /// The UUID as the store keeps it.
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}_{}", $prefix, self.0.simple())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                parse_prefixed(text, $prefix).map(Self).ok_or_else(|| BadId {
                    kind: $kind,
                    prefix: $prefix,
                    given: crate::text::shown(text, 80),
                })
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

uuid_id!(OrganizationId, "org", "organization");
uuid_id!(PrincipalId, "prn", "principal");
uuid_id!(RepositoryId, "src", "repository (source)");
uuid_id!(IndexId, "idx", "index");
uuid_id!(TokenId, "tok", "token");
uuid_id!(IssuerId, "iss", "issuer");
uuid_id!(EventId, "evt", "audit event");
uuid_id!(RequestId, "req", "request");
uuid_id!(JobId, "job", "job");
uuid_id!(LeaseId, "lse", "lease of a job");
uuid_id!(WebhookId, "whk", "webhook endpoint");

fn uuid_v7(now: OffsetDateTime) -> Uuid {
    let seconds = u64::try_from(now.unix_timestamp()).unwrap_or(0);
    Uuid::new_v7(Timestamp::from_unix(NoContext, seconds, now.nanosecond()))
}

fn parse_prefixed(text: &str, prefix: &str) -> Option<Uuid> {
    let digits = text.strip_prefix(prefix)?.strip_prefix('_')?;
    let canonical = digits.len() == 32 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if canonical { Uuid::try_parse(digits).ok() } else { None }
}

macro_rules! derived_id {
    ($name:ident, $prefix:literal, $kind:literal) => {
        #[doc = concat!("Identifies one ", $kind, " by the hash of what names it; `", $prefix, "_` and 32 hexadecimal digits.")]
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Hashes the parts, each with its length, so that no two lists of parts give the same bytes.
            pub fn of(parts: &[&str]) -> Self {
                Self(format!("{}_{}", $prefix, hash_parts(parts)))
            }

            /// The id as written outside.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                match parse_prefixed(text, $prefix) {
                    Some(_) => Ok(Self(text.to_owned())),
                    None => Err(BadId { kind: $kind, prefix: $prefix, given: crate::text::shown(text, 80) }),
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

derived_id!(FindingId, "fnd", "finding");
derived_id!(ChangeId, "chg", "vendor change");

/// 16 bytes of SHA-256 over the length-prefixed parts, in lower-case hexadecimal.
fn hash_parts(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    hex::encode(&hasher.finalize()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outward_form_round_trips_and_other_kinds_are_refused() {
        let id = RepositoryId::at(OffsetDateTime::UNIX_EPOCH);
        let text = id.to_string();
        assert!(text.starts_with("src_"));
        assert_eq!(text.parse::<RepositoryId>(), Ok(id));
        assert!(text.parse::<IndexId>().is_err());
        assert!(text.to_uppercase().parse::<RepositoryId>().is_err());
        assert!("src_".parse::<RepositoryId>().is_err());
    }

    #[test]
    fn derived_ids_depend_on_where_the_parts_end() {
        assert_ne!(ChangeId::of(&["ab", "c"]), ChangeId::of(&["a", "bc"]));
        assert_eq!(ChangeId::of(&["a"]).to_string().len(), 4 + 32);
    }
}
