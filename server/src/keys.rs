//! Keys derived from the one configured secret, each for one purpose.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use sync_core::cursor::CursorKey;
use sync_core::ids::OrganizationId;

/// What is derived from `secret_key`. Equal on every replica that has the same secret.
#[derive(Clone)]
pub struct Keys {
    root: [u8; 32],
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys(…)")
    }
}

impl Keys {
    /// From the configured secret, of any length.
    pub fn derive(secret: &[u8]) -> Self {
        Self { root: Sha256::digest(secret).into() }
    }

    /// Seals page cursors.
    pub fn cursors(&self) -> CursorKey {
        CursorKey::new(mac(&self.root, &[b"cursors"]))
    }

    /// Digests arguments in the audit log of one organization: the same value gives the same digest within it, and
    /// another one elsewhere.
    pub fn audit_digest(&self, organization: OrganizationId, canonical: &[u8]) -> [u8; 32] {
        let key = mac(&self.root, &[b"audit-arguments", organization.uuid().as_bytes()]);
        mac(&key, &[canonical])
    }
}

/// HMAC-SHA256 over the parts, each with its length.
pub(crate) fn mac(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    // A key shorter than SHA-256's block is padded with zeros (RFC 2104): done here, it cannot fail.
    let mut block = [0_u8; 64];
    block[..key.len()].copy_from_slice(key);
    let mut mac = Hmac::<Sha256>::new(&block.into());
    for part in parts {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use time::OffsetDateTime;

    use super::*;

    #[test]
    fn digests_agree_within_an_organization_only() {
        let keys = Keys::derive(b"secret");
        let (here, there) = (
            OrganizationId::at(OffsetDateTime::UNIX_EPOCH),
            OrganizationId::at(OffsetDateTime::UNIX_EPOCH + time::Duration::DAY),
        );
        assert_eq!(keys.audit_digest(here, b"{}"), Keys::derive(b"secret").audit_digest(here, b"{}"));
        assert_ne!(keys.audit_digest(here, b"{}"), keys.audit_digest(there, b"{}"));
        assert_ne!(keys.audit_digest(here, b"{}"), keys.audit_digest(here, b"[]"));
        assert_ne!(keys.audit_digest(here, b"{}"), Keys::derive(b"other").audit_digest(here, b"{}"));
    }
}
