//! Making an endpoint, giving it another secret, and what to choose at the forge.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::ExposeSecret as _;
use sync_core::ids::{RepositoryId, WebhookId};
use sync_store::{Forge, SecretPurpose, StoreError, Tx, previous_secret_name};
use time::{Duration, OffsetDateTime};

use crate::identity::random_secret;
use crate::secrets::{KeyRing, SecretError};

/// For how long the secret before the present one is taken.
pub const OVERLAP: Duration = Duration::hours(24);

/// What secrets begin with. Followed by 32 bytes in base 64, as Standard Webhooks have it: GitLab takes it as a signing
/// token too.
pub const SECRET_PREFIX: &str = "whsec_";

const PURPOSE: SecretPurpose = SecretPurpose::WebhookSecret;

/// Why an endpoint cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its secret cannot be made or encrypted.
    #[error(transparent)]
    Secret(#[from] SecretError),
}

/// Makes the endpoint of a source, or gives the one that is there another secret; gives the secret, which is kept encrypted
/// and shown to nobody again. The one before is taken for [`OVERLAP`] more.
pub async fn make_or_rotate(
    tx: &mut Tx,
    ring: &KeyRing,
    source: RepositoryId,
    forge: Forge,
    now: OffsetDateTime,
) -> Result<String, SetupError> {
    let organization = tx.organization();
    let known = tx.webhook_of(source).await?.map(|endpoint| endpoint.id);
    let id = known.unwrap_or_else(|| WebhookId::at(now));
    let name = id.to_string();
    let mut previous_until = None;
    if let Some(sealed) = tx.secret(PURPOSE, &name).await? {
        // Where it is kept is authenticated with it. One that no key opens checks no delivery any more either.
        if let Ok(secret) = ring.open(organization, PURPOSE, &name, &sealed) {
            let place = previous_secret_name(id);
            let moved = ring.seal(organization, PURPOSE, &place, secret.expose_secret())?;
            tx.put_secret(PURPOSE, &place, &moved, now).await?;
            previous_until = Some(now + OVERLAP);
        }
    }
    let random = random_secret().map_err(|_| SecretError::Failed("no random bytes"))?;
    let secret = format!("{SECRET_PREFIX}{}", STANDARD.encode(random));
    let sealed = ring.seal(organization, PURPOSE, &name, secret.as_bytes())?;
    tx.put_webhook(id, source, forge, previous_until, now).await?;
    tx.put_secret(PURPOSE, &name, &sealed, now).await?;
    Ok(secret)
}

/// What to choose at a forge.
#[derive(Debug, Clone, Copy)]
pub struct AtTheForge {
    /// Its events, as it calls them.
    pub events: &'static [&'static str],
    /// Where to enter all of it.
    pub next_step: &'static str,
}

/// What to choose at that forge.
pub const fn at_the_forge(forge: Forge) -> AtTheForge {
    match forge {
        Forge::Github => AtTheForge {
            events: &["push", "repository"],
            next_step: "In the repository's Settings, Webhooks, Add webhook: enter the URL, application/json, the secret, and the events Pushes and Repositories. GitHub sends a ping at once.",
        },
        Forge::Gitlab => AtTheForge {
            events: &["Push events"],
            next_step: "In the project's Settings, Webhooks: enter the URL, the secret as the secret token (or as the signing token, where there is one), and choose Push events.",
        },
        Forge::Gitea | Forge::Forgejo => AtTheForge {
            events: &["push", "delete", "repository"],
            next_step: "In the repository's Settings, Webhooks: enter the URL, POST, application/json, the secret, and the events Push, Delete and Repository.",
        },
        Forge::Bitbucket => AtTheForge {
            events: &["repo:push", "repo:updated"],
            next_step: "In the repository's settings, Webhooks: enter the URL, the secret, and the triggers Push and Updated.",
        },
    }
}
