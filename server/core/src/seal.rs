//! How the audit log is sealed, and how a sealed log is examined. Pure rules: reading rows, signing and storing seals is
//! elsewhere.
//!
//! A seal covers every row of one organization that transactions of a range wrote. Each row becomes a leaf
//! ([`Row::leaf`]), the leaves a tree ([`tree`], as RFC 6962 has it), its root a [`Head`] that names the head before it
//! and is signed. Signed heads leave the database, so that nobody who holds the tables can make another history that
//! fits them.
//!
//! The root says *that* something changed. To say *what*, a seal also keeps one [`Record`] a leaf, under a key that the
//! tables' owner has not: [`examine`] names the row.

mod examine;
mod record;
mod row;
pub mod tree;

#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;

pub use examine::{Finding, examine, examine_chain};
pub use record::{RECORD_BYTES, Record, RecordKey};
pub use row::{Row, RowKey, RowKind};

use crate::ids::OrganizationId;

/// SHA-256 over something; 64 hexadecimal digits outwardly.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// What the first head names as the one before it.
    pub const ZERO: Self = Self([0; 32]);

    /// Of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Hash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut bytes = [0; 32];
        hex::decode_to_slice(&text, &mut bytes)
            .map_err(|_| serde::de::Error::custom("a hash is 64 hexadecimal digits"))?;
        Ok(Self(bytes))
    }
}

/// What a seal says: which rows there are of an organization between two transaction ids, and which head was before.
///
/// Its signed text is its canonical JSON (RFC 8785): names in the order of the alphabet, no white space. All values are
/// ASCII text and small whole numbers, so that `sort_keys` of any JSON library gives the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Version of this form.
    pub format: u32,
    /// The first transaction id that it covers.
    #[serde(with = "decimal")]
    pub from_xid: u64,
    /// Which key signed it.
    pub key_id: String,
    /// Tells it from other things that the same key signs.
    pub kind: HeadKind,
    /// 1, 2, 3 … within the organization.
    pub number: u64,
    /// Whose rows.
    pub organization: OrganizationId,
    /// [`Head::hash`] of the head before; [`Hash::ZERO`] in the first.
    pub previous: Hash,
    /// Of the tree over the rows' leaves.
    pub root: Hash,
    /// How many rows.
    pub rows: u64,
    /// When it was made.
    #[serde(with = "crate::clock::millis")]
    pub time: OffsetDateTime,
    /// The first transaction id that it does not cover any more.
    #[serde(with = "decimal")]
    pub to_xid: u64,
}

/// Says of a signed text that it is a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeadKind {
    /// The head of a seal.
    AuditSeal,
}

/// The version of [`Head`] and [`Pruning`].
pub const FORMAT: u32 = 1;

impl Head {
    /// The bytes that are signed.
    pub fn statement(&self) -> Vec<u8> {
        canonical(self)
    }

    /// What the next head names as the one before it.
    pub fn hash(&self) -> Hash {
        Hash::of(&self.statement())
    }
}

/// A head with its signature: what leaves the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedHead {
    /// What was signed.
    #[serde(flatten)]
    pub head: Head,
    /// Over [`Head::statement`].
    pub signature: Signature,
}

/// A pruning with its signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedPruning {
    /// What was signed.
    #[serde(flatten)]
    pub pruning: Pruning,
    /// Over [`Pruning::statement`].
    pub signature: Signature,
}

/// An Ed25519 signature; 128 hexadecimal digits outwardly.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature(pub [u8; 64]);

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl Serialize for Signature {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(self.0))
    }
}

impl<'de> Deserialize<'de> for Signature {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut bytes = [0; 64];
        hex::decode_to_slice(&text, &mut bytes)
            .map_err(|_| serde::de::Error::custom("a signature is 128 hexadecimal digits"))?;
        Ok(Self(bytes))
    }
}

/// Says that the rows of the first seals were removed because they were kept as long as was wanted. Signed as heads are:
/// who removes rows without the key cannot say so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pruning {
    /// Version of this form.
    pub format: u32,
    /// Which key signed it.
    pub key_id: String,
    /// Tells it from other things that the same key signs.
    pub kind: PruningKind,
    /// Whose rows.
    pub organization: OrganizationId,
    /// Number of the last seal whose rows are gone.
    pub through: u64,
    /// When it was decided.
    #[serde(with = "crate::clock::millis")]
    pub time: OffsetDateTime,
}

/// Says of a signed text that it is about rows that were removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PruningKind {
    /// Rows that were kept as long as was wanted.
    AuditPruning,
}

impl Pruning {
    /// The bytes that are signed.
    pub fn statement(&self) -> Vec<u8> {
        canonical(self)
    }
}

/// Canonical JSON of a type whose fields stand in the order of the alphabet and hold ASCII text and whole numbers.
fn canonical(value: &impl Serialize) -> Vec<u8> {
    // Neither maps with other keys than text nor types that refuse to be written are among them: this cannot fail, and
    // if it did, an empty text would verify nowhere.
    serde_json::to_vec(value).unwrap_or_default()
}

/// 64-bit numbers are text in JSON, as many readers know numbers up to 2^53 only.
mod decimal {
    use serde::{Deserialize as _, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub(super) fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
