//! What a source is fetched with: encrypted where it is stored, and shown to nobody again.

use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret as _, SecretString};
use sync_core::ids::{OrganizationId, RepositoryId};
use sync_store::{Forge, SealedSecret, SecretPurpose};

use crate::secrets::{KeyRing, SecretError};

/// The longest user or secret.
pub const MAX_LENGTH: usize = 4096;

/// The user that forges expect beside a token, where nobody said one.
pub const fn usual_user(forge: Option<Forge>) -> &'static str {
    match forge {
        Some(Forge::Gitlab) => "oauth2",
        Some(Forge::Bitbucket) => "x-token-auth",
        _ => "x-access-token",
    }
}

/// Encrypts a credential for its source, as `user:secret`, which the worker reads.
pub fn seal(
    ring: &KeyRing,
    organization: OrganizationId,
    source: RepositoryId,
    user: &str,
    secret: &SecretString,
) -> Result<SealedSecret, SecretError> {
    let plain = Zeroizing::new(format!("{user}:{}", secret.expose_secret()));
    ring.seal(organization, SecretPurpose::RepositoryCredential, &source.to_string(), plain.as_bytes())
}

/// Whether it can be a user: the colon ends one.
pub fn is_user(text: &str) -> bool {
    is_plain(text) && !text.contains(':')
}

/// Whether a text can stand in the credential of an address: printable, without spaces, and not too long.
pub fn is_plain(text: &str) -> bool {
    (1..=MAX_LENGTH).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}
