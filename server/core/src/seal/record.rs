//! What a seal keeps of each leaf, beside the root.
//!
//! A root cannot say which leaf changed, and plain hashes of leaves, which could, are recomputed by whoever edits the
//! row. So each leaf is recorded under a key that is not in the database.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;
use uuid::Uuid;

use super::{Hash, RowKind};
use crate::ids::{EventId, OrganizationId};

const MAC_BYTES: usize = 16;

/// Length of a record: kind, event id, MAC.
pub const RECORD_BYTES: usize = 1 + 16 + MAC_BYTES;

/// Of one leaf: which row it is of, and what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Which table the row is in.
    pub kind: RowKind,
    /// The row's id.
    pub event_id: EventId,
    mac: [u8; MAC_BYTES],
}

impl Record {
    /// Appends it to `bytes`.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        bytes.push(self.kind.byte());
        bytes.extend_from_slice(self.event_id.uuid().as_bytes());
        bytes.extend_from_slice(&self.mac);
    }

    /// Every record in `bytes`. What is none (another kind, a rest that is too short) is nothing in its place.
    pub fn read_all(bytes: &[u8]) -> Vec<Option<Self>> {
        bytes.chunks(RECORD_BYTES).map(Self::read).collect()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let (id, mac) = rest.split_at_checked(16)?;
        Some(Self {
            kind: RowKind::from_byte(*kind)?,
            event_id: EventId::from_uuid(Uuid::from_slice(id).ok()?),
            mac: mac.try_into().ok()?,
        })
    }
}

/// Makes and checks records.
#[derive(Clone)]
pub struct RecordKey([u8; 32]);

impl std::fmt::Debug for RecordKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RecordKey(…)")
    }
}

impl RecordKey {
    /// From 32 secret bytes.
    pub const fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// The record of the leaf at a position of a seal.
    pub fn record(
        &self,
        organization: OrganizationId,
        number: u64,
        position: u64,
        (kind, event_id): (RowKind, EventId),
        leaf: Hash,
    ) -> Record {
        // A key shorter than SHA-256's block is padded with zeros (RFC 2104): done here, it cannot fail.
        let mut block = [0_u8; 64];
        block[..self.0.len()].copy_from_slice(&self.0);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        // Every part has its fixed length.
        mac.update(organization.uuid().as_bytes());
        mac.update(&number.to_be_bytes());
        mac.update(&position.to_be_bytes());
        mac.update(&[kind.byte()]);
        mac.update(event_id.uuid().as_bytes());
        mac.update(&leaf.0);
        let full = mac.finalize().into_bytes();
        let mut short = [0; MAC_BYTES];
        short.copy_from_slice(&full[..MAC_BYTES]);
        Record { kind, event_id, mac: short }
    }

    /// Whether a record is the one of that leaf at that position.
    pub(super) fn made(
        &self,
        record: &Record,
        organization: OrganizationId,
        number: u64,
        position: u64,
        leaf: Hash,
    ) -> bool {
        let made = self.record(organization, number, position, (record.kind, record.event_id), leaf);
        bool::from(made.mac.ct_eq(&record.mac))
    }
}
