//! What a delivery says, as far as it matters here. Of a body nothing else is read; what a forge adds to it is passed over.

mod bitbucket;
mod gitea;
mod github;
mod gitlab;

use http::{HeaderMap, HeaderName};
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use sync_core::text::shown;
use sync_store::Forge;

use super::signature::Verified;

/// The most things that are taken from one delivery: Bitbucket says at most five, and then that it left some out.
const MOST: usize = 20;

/// A delivery, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// What the forge calls it: `push`, `ping`.
    pub event: String,
    /// The path of the repository that it is about, as the forge has it: `acme/billing`.
    pub path: Option<String>,
    /// What happened.
    pub said: Vec<Said>,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Something was pushed to a branch.
    Pushed(String),
    /// More was pushed than the forge says: any branch may have moved.
    PushedMore,
    /// A branch is gone.
    BranchDeleted(String),
    /// The repository has another address.
    Moved {
        /// Its path before, where the forge says it.
        from: Option<String>,
        /// Its path now.
        to: String,
    },
    /// The repository is gone.
    Deleted,
    /// Somebody tries whether anybody is there.
    Ping,
    /// Nothing that matters here, and why.
    Nothing(&'static str),
}

/// A delivery that is signed and cannot be read all the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(pub &'static str);

/// Why a body is not JSON.
pub const NOT_JSON: &str = "the body of a delivery is not the JSON that its forge sends; next: choose application/json as the content type of the webhook";

/// Why a delivery is not understood.
const NO_EVENT: &str =
    "a delivery has no header that says its event; next: check that the webhook's address names the right forge";

/// Understands a delivery.
pub fn read(forge: Forge, headers: &HeaderMap, body: &Verified) -> Result<Delivery, Unreadable> {
    let mut delivery = match forge {
        Forge::Github => github::read(text(headers, &github::EVENT)?, body),
        Forge::Gitlab => gitlab::read(text(headers, &gitlab::EVENT)?, body),
        Forge::Gitea => gitea::read(text(headers, &gitea::GITEA_EVENT)?, body),
        Forge::Forgejo => {
            let named = text(headers, &gitea::FORGEJO_EVENT).or_else(|_| text(headers, &gitea::GITEA_EVENT));
            gitea::read(named?, body)
        }
        Forge::Bitbucket => bitbucket::read(text(headers, &bitbucket::EVENT)?, body),
    }?;
    delivery.said.truncate(MOST);
    Ok(delivery)
}

/// By what a delivery is known when it comes again: the id that its forge gives it and its body. Ids are not signed; with
/// the body among it, none can be taken away from another delivery.
pub fn key(forge: Forge, headers: &HeaderMap, body: &Verified) -> [u8; 32] {
    let names: &[&str] = match forge {
        Forge::Github => &["x-github-delivery"],
        Forge::Gitlab => &["idempotency-key", "webhook-id", "x-gitlab-event-uuid"],
        Forge::Gitea => &["x-gitea-delivery"],
        Forge::Forgejo => &["x-forgejo-delivery", "x-gitea-delivery"],
        Forge::Bitbucket => &["x-request-uuid", "x-request-id"],
    };
    let id = names.iter().find_map(|name| headers.get(*name)).map(http::HeaderValue::as_bytes).unwrap_or_default();
    let mut hasher = Sha256::new();
    for part in [forge.as_str().as_bytes(), id, body.body()] {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<&'h str, Unreadable> {
    headers.get(name).and_then(|value| value.to_str().ok()).ok_or(Unreadable(NO_EVENT))
}

fn json<T: DeserializeOwned>(body: &Verified) -> Result<T, Unreadable> {
    serde_json::from_slice(body.body()).map_err(|_| Unreadable(NOT_JSON))
}

fn delivery(event: &str, path: Option<String>, said: Said) -> Delivery {
    Delivery { event: shown(event, 100), path, said: vec![said] }
}

/// What a push to a full ref name says; `after` is the commit that it ends at.
fn pushed(full_name: &str, after: Option<&str>, deleted: bool) -> Said {
    let Some(branch) = full_name.strip_prefix("refs/heads/") else {
        return OTHER_REF;
    };
    let gone = deleted || after.is_some_and(|after| !after.is_empty() && after.bytes().all(|b| b == b'0'));
    if gone { Said::BranchDeleted(branch.to_owned()) } else { Said::Pushed(branch.to_owned()) }
}

/// What moved is no branch.
const OTHER_REF: Said = Said::Nothing("only branches are followed, and this is a tag or another ref");

/// Events that nobody subscribed to on purpose.
const OTHER_EVENT: Said = Said::Nothing("only pushes and what happens to the repository itself matter");

#[cfg(test)]
mod tests;
