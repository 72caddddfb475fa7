//! Secrets at rest: credentials of repositories and secrets of webhooks, encrypted with AES-256-GCM by a ring of keys.
//!
//! The keys are derived from SYNC_SECRET_KEY, which encrypts, and from SYNC_PREVIOUS_SECRET_KEYS, which only open what
//! was encrypted before; `syncd secrets rotate` encrypts everything anew with the first, after which the others can go.
//! Organization, purpose and name are authenticated with each secret: a row that is copied elsewhere does not open.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use secrecy::ExposeSecret as _;
use secrecy::SecretSlice;
use sha2::{Digest as _, Sha256};
use sync_core::ids::OrganizationId;
use sync_store::{SealedSecret, SecretPurpose};

use crate::keys::mac;

/// The longest secret, in bytes.
pub const MAX_SECRET_BYTES: usize = 64 * 1024;

/// The keys that secrets are encrypted with.
pub struct KeyRing {
    /// The first one encrypts; each opens what it encrypted.
    keys: Vec<Key>,
}

struct Key {
    id: String,
    key: LessSafeKey,
}

/// Why a secret cannot be encrypted or opened. Says nothing of the secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// None of the keys is the one it was encrypted with.
    #[error(
        "a secret is encrypted with the key {0}, which is not among the keys; next: put the earlier value of SYNC_SECRET_KEY into SYNC_PREVIOUS_SECRET_KEYS"
    )]
    UnknownKey(String),
    /// It is not the secret that was stored there.
    #[error("a stored secret was altered or moved; next: set it again")]
    Altered,
    /// It is too long to be one.
    #[error("a secret of more than {MAX_SECRET_BYTES} bytes is not taken; next: check what was given")]
    TooLong,
    /// The operating system or the library fails.
    #[error("no secret can be encrypted here: {0}; next: report it")]
    Failed(&'static str),
}

impl std::fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.keys.iter().map(|key| &key.id)).finish()
    }
}

impl KeyRing {
    /// Of the configured secret, which encrypts, and of those before it.
    pub fn derive<'a>(current: &'a [u8], previous: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, SecretError> {
        let secrets = std::iter::once(current).chain(previous);
        let keys = secrets.map(Key::derive).collect::<Result<_, _>>()?;
        Ok(Self { keys })
    }

    /// The id of the key that encrypts: 16 hexadecimal digits.
    pub fn current_id(&self) -> &str {
        self.keys.first().map_or("", |key| key.id.as_str())
    }

    /// Encrypts a secret for its one place.
    pub fn seal(
        &self,
        organization: OrganizationId,
        purpose: SecretPurpose,
        name: &str,
        secret: &[u8],
    ) -> Result<SealedSecret, SecretError> {
        if secret.len() > MAX_SECRET_BYTES {
            return Err(SecretError::TooLong);
        }
        let key = self.keys.first().ok_or(SecretError::Failed("there is no key"))?;
        let mut nonce = [0; NONCE_LEN];
        aws_lc_rs::rand::fill(&mut nonce).map_err(|_| SecretError::Failed("no random bytes"))?;
        let mut ciphertext = secret.to_vec();
        key.key
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(place(organization, purpose, name)),
                &mut ciphertext,
            )
            .map_err(|_| SecretError::Failed("the cipher refuses"))?;
        Ok(SealedSecret { key_id: key.id.clone(), nonce, ciphertext })
    }

    /// Opens a secret that was encrypted for that place.
    pub fn open(
        &self,
        organization: OrganizationId,
        purpose: SecretPurpose,
        name: &str,
        sealed: &SealedSecret,
    ) -> Result<SecretSlice<u8>, SecretError> {
        let key = self.keys.iter().find(|key| key.id == sealed.key_id);
        let key = key.ok_or_else(|| SecretError::UnknownKey(sync_core::text::shown(&sealed.key_id, 16)))?;
        let mut bytes = sealed.ciphertext.clone();
        let length = key
            .key
            .open_in_place(
                Nonce::assume_unique_for_key(sealed.nonce),
                Aad::from(place(organization, purpose, name)),
                &mut bytes,
            )
            .map_err(|_| SecretError::Altered)?
            .len();
        bytes.truncate(length);
        Ok(SecretSlice::from(bytes))
    }

    /// The same secret, encrypted with the key in force.
    pub fn reseal(
        &self,
        organization: OrganizationId,
        purpose: SecretPurpose,
        name: &str,
        sealed: &SealedSecret,
    ) -> Result<SealedSecret, SecretError> {
        let secret = self.open(organization, purpose, name, sealed)?;
        self.seal(organization, purpose, name, secret.expose_secret())
    }
}

impl Key {
    fn derive(secret: &[u8]) -> Result<Self, SecretError> {
        let root: [u8; 32] = Sha256::digest(secret).into();
        let bytes = mac(&root, &[b"secrets-at-rest"]);
        let key = UnboundKey::new(&AES_256_GCM, &bytes).map_err(|_| SecretError::Failed("the cipher takes no key"))?;
        // The id names the key in rows and tells nothing of it.
        let id = hex::encode(&mac(&bytes, &[b"key-id"])[..8]);
        Ok(Self { id, key: LessSafeKey::new(key) })
    }
}

/// What is authenticated with a secret: where it belongs, each part with its length.
fn place(organization: OrganizationId, purpose: SecretPurpose, name: &str) -> Vec<u8> {
    let mut bytes = organization.uuid().as_bytes().to_vec();
    for part in [purpose.as_str(), name] {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use time::OffsetDateTime;

    use super::*;

    const OLD: &[u8] = b"the first key of the operator, 32 bytes";
    const NEW: &[u8] = b"the second key of the operator, 32 bytes";
    const PURPOSE: SecretPurpose = SecretPurpose::WebhookSecret;

    fn organization() -> OrganizationId {
        OrganizationId::at(OffsetDateTime::UNIX_EPOCH)
    }

    #[test]
    fn a_secret_opens_in_its_place_only_and_unaltered_only() {
        let (ring, here) = (KeyRing::derive(OLD, []).unwrap(), organization());
        let sealed = ring.seal(here, PURPOSE, "end_1", b"whsec").unwrap();
        assert_eq!(ring.open(here, PURPOSE, "end_1", &sealed).unwrap().expose_secret(), b"whsec");
        assert!(!sealed.ciphertext.windows(5).any(|window| window == b"whsec"));
        assert_ne!(ring.seal(here, PURPOSE, "end_1", b"whsec").unwrap().ciphertext, sealed.ciphertext);

        let other = OrganizationId::at(OffsetDateTime::UNIX_EPOCH + time::Duration::DAY);
        let opened = |organization, purpose, name, sealed: &SealedSecret| {
            ring.open(organization, purpose, name, sealed).map(|_| ()).unwrap_err()
        };
        assert_eq!(opened(other, PURPOSE, "end_1", &sealed), SecretError::Altered);
        assert_eq!(opened(here, SecretPurpose::RepositoryCredential, "end_1", &sealed), SecretError::Altered);
        assert_eq!(opened(here, PURPOSE, "end_2", &sealed), SecretError::Altered);
        for at in 0..sealed.ciphertext.len() {
            let mut altered = sealed.clone();
            altered.ciphertext[at] ^= 1;
            assert_eq!(opened(here, PURPOSE, "end_1", &altered), SecretError::Altered);
        }
        assert_eq!(ring.seal(here, PURPOSE, "x", &vec![0; MAX_SECRET_BYTES + 1]).unwrap_err(), SecretError::TooLong);
    }

    #[test]
    fn a_new_key_encrypts_and_the_ones_before_it_open() {
        let here = organization();
        let old = KeyRing::derive(OLD, []).unwrap();
        let sealed = old.seal(here, PURPOSE, "end_1", b"whsec").unwrap();
        let both = KeyRing::derive(NEW, [OLD]).unwrap();
        let renewed = both.reseal(here, PURPOSE, "end_1", &sealed).unwrap();
        assert_eq!((sealed.key_id.as_str(), renewed.key_id.as_str()), (old.current_id(), both.current_id()));
        assert_ne!(old.current_id(), both.current_id());
        let new = KeyRing::derive(NEW, []).unwrap();
        assert_eq!(new.open(here, PURPOSE, "end_1", &renewed).unwrap().expose_secret(), b"whsec");
        let told = new.open(here, PURPOSE, "end_1", &sealed).unwrap_err();
        assert_eq!(told, SecretError::UnknownKey(sealed.key_id));
        assert!(told.to_string().contains("SYNC_PREVIOUS_SECRET_KEYS"));
        assert!(!format!("{both:?}").contains("operator"));
    }
}
