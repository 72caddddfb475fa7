//! The keys that seal the audit log: of their own, so that neither the service nor the database can make a seal.

use std::sync::Arc;

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use sync_core::seal::{Hash, Head, Pruning, RecordKey, Signature, SignedHead, SignedPruning};

use crate::keys::mac;

/// One key: signs heads and makes records. Derived from a configured secret, and equal wherever that is.
#[derive(Clone)]
pub struct SealKey {
    id: String,
    pair: Arc<Ed25519KeyPair>,
    records: RecordKey,
}

impl std::fmt::Debug for SealKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SealKey({})", self.id)
    }
}

impl SealKey {
    /// From a secret of any length.
    pub fn derive(secret: &[u8]) -> Result<Self, NoSealKey> {
        let root: [u8; 32] = Sha256::digest(secret).into();
        let seed = mac(&root, &[b"audit-seal-signature"]);
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| NoSealKey)?;
        let id = hex::encode(&Hash::of(pair.public_key().as_ref()).0[..8]);
        Ok(Self { id, pair: Arc::new(pair), records: RecordKey::new(mac(&root, &[b"audit-seal-records"])) })
    }

    /// What heads name it by: the first 8 bytes of the public key's SHA-256, as 16 hexadecimal digits.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What anybody may check its signatures with: 32 bytes.
    pub fn public_key(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    /// What it makes records of leaves with.
    pub fn records(&self) -> &RecordKey {
        &self.records
    }

    /// Signs a head that names this key.
    pub fn sign_head(&self, head: Head) -> SignedHead {
        let signature = self.sign(&head.statement());
        SignedHead { head, signature }
    }

    /// Signs a pruning that names this key.
    pub fn sign_pruning(&self, pruning: Pruning) -> SignedPruning {
        let signature = self.sign(&pruning.statement());
        SignedPruning { pruning, signature }
    }

    /// Signs a message as Standard Webhooks wants it: `v1a,` and the signature over id, timestamp and body.
    pub fn sign_webhook(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        let mut signed = format!("{id}.{timestamp}.").into_bytes();
        signed.extend_from_slice(body);
        format!("v1a,{}", STANDARD.encode(self.sign(&signed).0))
    }

    fn sign(&self, bytes: &[u8]) -> Signature {
        let mut signature = [0; 64];
        // An Ed25519 signature has 64 bytes.
        for (to, from) in signature.iter_mut().zip(self.pair.sign(bytes).as_ref()) {
            *to = *from;
        }
        Signature(signature)
    }

    fn verifies(&self, bytes: &[u8], signature: &Signature) -> bool {
        UnparsedPublicKey::new(&ED25519, self.public_key()).verify(bytes, &signature.0).is_ok()
    }
}

/// The library refuses to make a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no key can be made from the secret")]
pub struct NoSealKey;

/// The key that seals, and those that sealed before it.
#[derive(Debug, Clone)]
pub struct SealKeys {
    current: SealKey,
    previous: Vec<SealKey>,
}

/// Why a signature is not good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotSigned {
    /// It names a key that is not configured.
    UnknownKey,
    /// It is not of these bytes by that key.
    Bad,
}

impl SealKeys {
    /// From the configured secrets.
    pub fn derive<'a>(current: &[u8], previous: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, NoSealKey> {
        let previous = previous.into_iter().map(SealKey::derive).collect::<Result<_, _>>()?;
        Ok(Self { current: SealKey::derive(current)?, previous })
    }

    /// The key that seals now.
    pub fn current(&self) -> &SealKey {
        &self.current
    }

    /// Every key, the current one first.
    pub fn all(&self) -> impl Iterator<Item = &SealKey> {
        std::iter::once(&self.current).chain(&self.previous)
    }

    /// The ids of all, the current one first, with commas between them.
    pub fn ids(&self) -> String {
        self.all().map(SealKey::id).collect::<Vec<_>>().join(", ")
    }

    /// The key of an id.
    pub fn find(&self, id: &str) -> Option<&SealKey> {
        self.all().find(|key| key.id == id)
    }

    /// Whether a head is signed by the key that it names.
    pub fn check_head(&self, signed: &SignedHead) -> Result<(), NotSigned> {
        self.check(&signed.head.key_id, &signed.head.statement(), &signed.signature)
    }

    /// Whether a pruning is signed by the key that it names.
    pub fn check_pruning(&self, signed: &SignedPruning) -> Result<(), NotSigned> {
        self.check(&signed.pruning.key_id, &signed.pruning.statement(), &signed.signature)
    }

    fn check(&self, key_id: &str, bytes: &[u8], signature: &Signature) -> Result<(), NotSigned> {
        let key = self.find(key_id).ok_or(NotSigned::UnknownKey)?;
        if key.verifies(bytes, signature) { Ok(()) } else { Err(NotSigned::Bad) }
    }
}

#[cfg(test)]
mod tests {
    use sync_core::ids::OrganizationId;
    use sync_core::seal::{FORMAT, HeadKind};
    use time::OffsetDateTime;

    use super::*;

    fn head(key: &SealKey) -> Head {
        Head {
            format: FORMAT,
            from_xid: 0,
            key_id: key.id().to_owned(),
            kind: HeadKind::AuditSeal,
            number: 1,
            organization: OrganizationId::from_uuid(uuid::Uuid::nil()),
            previous: Hash::ZERO,
            root: Hash::ZERO,
            rows: 0,
            time: OffsetDateTime::UNIX_EPOCH,
            to_xid: 9,
        }
    }

    #[test]
    fn heads_of_earlier_keys_stay_good_and_edited_ones_are_not() {
        let old = SealKeys::derive(b"old", []).unwrap();
        let signed = old.current().sign_head(head(old.current()));
        let rotated = SealKeys::derive(b"new", [&b"old"[..]]).unwrap();
        assert_eq!(rotated.check_head(&signed), Ok(()));
        assert_ne!(rotated.current().id(), signed.head.key_id);
        let mut edited = signed.clone();
        edited.head.rows = 1;
        assert_eq!(rotated.check_head(&edited), Err(NotSigned::Bad));
        assert_eq!(SealKeys::derive(b"new", []).unwrap().check_head(&signed), Err(NotSigned::UnknownKey));
        let mut renamed = signed;
        renamed.head.key_id = rotated.current().id().to_owned();
        assert_eq!(rotated.check_head(&renamed), Err(NotSigned::Bad));
    }

    #[test]
    fn a_key_tells_nothing_of_itself() {
        let key = SealKey::derive(b"secret").unwrap();
        assert_eq!(format!("{key:?}"), format!("SealKey({})", key.id()));
        assert_eq!((key.id().len(), key.public_key().len()), (16, 32));
    }
}
