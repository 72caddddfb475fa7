//! What a delivery leads to, in one transaction with the memory of it.
//!
//! Who can sign a delivery can make Sync look at the remote again, and little else: nothing is erased by one, and an address
//! is followed only where that gives nobody anything to read that they could not have registered themselves.

use sync_core::ids::JobId;
use sync_core::text::shown;
use sync_store::{
    JobCause, JobKind, RefOrigin, RefRow, Repository, RepositoryState, SecretPurpose, StoreError, Tx, WebhookEndpoint,
};
use time::OffsetDateTime;
use url::Url;

use super::event::{Delivery, Said};
use crate::config::Config;
use crate::jobs::place::HEAD;
use crate::jobs::refs::is_tracked;
use crate::sources::names::is_ref;
use crate::sources::refresh::{CannotRefresh, may_refresh};
use crate::sources::register::{admitted, enqueue, same_host};

/// What became of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// `queued`, `duplicate`, `ref_expires`, `noted`, `ping` or `ignored`.
    pub outcome: &'static str,
    /// The job that it queued, now or when it came first.
    pub job: Option<JobId>,
    /// Why nothing was queued, or what somebody has to do.
    pub reason: Option<String>,
}

/// Acts on a delivery with a good signature; nothing where its endpoint or its source is gone. Commit what it did.
pub async fn act(
    tx: &mut Tx,
    config: &Config,
    endpoint: &WebhookEndpoint,
    delivery: &Delivery,
    key: &[u8; 32],
    now: OffsetDateTime,
) -> Result<Option<Taken>, StoreError> {
    // Of two that are the same, the second waits here for the first.
    if !tx.lock_webhook(endpoint.id).await? {
        return Ok(None);
    }
    if let Some(job) = tx.webhook_delivery(endpoint.id, key).await? {
        return Ok(Some(Taken { outcome: "duplicate", job: Some(job), reason: None }));
    }
    let Some(source) = tx.repository(endpoint.repository).await? else { return Ok(None) };
    if source.state == RepositoryState::Deleting {
        return Ok(None);
    }
    let mut acting = Acting { tx, config, source, now, jobs: Vec::new(), outcome: None, reason: None };
    for said in &delivery.said {
        acting.on(said, delivery.path.as_deref()).await?;
    }
    let Acting { jobs, outcome, reason, source, .. } = acting;
    let job = jobs.first().copied();
    if let Some(job) = job {
        tx.remember_delivery(endpoint.id, key, job, now).await?;
    }
    let elsewhere = delivery.path.as_deref().filter(|path| !is_about(&source, path)).map(|path| {
        format!(
            "the last delivery is about {}, and not about what this source is cloned from; next: where it was renamed, \
             PATCH /v1/sources/{{source}} with its clone_url, else remove the webhook there",
            shown(path, 200)
        )
    });
    let outcome = if job.is_some() { "queued" } else { outcome.unwrap_or("ignored") };
    let told = reason.clone().filter(|_| outcome == "noted").or(elsewhere);
    tx.note_delivery(endpoint.id, &delivery.event, told.as_deref(), now).await?;
    Ok(Some(Taken { outcome, job, reason: reason.or(told).filter(|_| job.is_none()) }))
}

struct Acting<'a> {
    tx: &'a mut Tx,
    config: &'a Config,
    source: Repository,
    now: OffsetDateTime,
    jobs: Vec<JobId>,
    outcome: Option<&'static str>,
    reason: Option<String>,
}

impl Acting<'_> {
    async fn on(&mut self, said: &Said, path: Option<&str>) -> Result<(), StoreError> {
        let about_it = path.is_some_and(|path| is_about(&self.source, path));
        match said {
            Said::Ping => self.ends("ping", None),
            Said::Nothing(why) => self.ends("ignored", Some((*why).to_owned())),
            Said::PushedMore => return self.reindex(None).await,
            Said::Pushed(branch) => return self.pushed(branch).await,
            Said::BranchDeleted(branch) if about_it => return self.branch_deleted(branch).await,
            Said::Moved { from, to } => return self.moved(from.as_deref(), to).await,
            Said::Deleted if about_it => {
                let reason = "the forge says that the repository was deleted; next: what is indexed still answers; DELETE /v1/sources/{source} erases it";
                self.tx.set_repository_state(self.source.id, RepositoryState::Failed, Some(reason), self.now).await?;
                self.ends("noted", Some(reason.to_owned()));
            }
            Said::BranchDeleted(_) | Said::Deleted => {
                self.ends("ignored", Some("it is about another repository".to_owned()));
            }
        }
        Ok(())
    }

    fn ends(&mut self, outcome: &'static str, reason: Option<String>) {
        self.outcome = Some(outcome);
        self.reason = reason.or_else(|| self.reason.take());
    }

    async fn reindex(&mut self, branch: Option<&str>) -> Result<(), StoreError> {
        if let Err(why) = may_refresh(&self.source) {
            let next = match why {
                CannotRefresh::NotConsented => "PUT /v1/sources/{source}/consent",
                CannotRefresh::Gated => "PATCH /v1/sources/{source} with another gate",
                _ => "GET /v1/sources/{source}",
            };
            self.ends("noted", Some(format!("{why}, so that nothing was queued; next: {next}")));
            return Ok(());
        }
        let source = self.source.id;
        let job = enqueue(self.tx, source, JobKind::Reindex, branch, JobCause::Webhook, self.now).await?;
        self.jobs.push(job.id);
        Ok(())
    }

    async fn pushed(&mut self, branch: &str) -> Result<(), StoreError> {
        let default = &self.source.default_branch;
        if branch == default || default == HEAD {
            return self.reindex(None).await;
        }
        if !is_ref(branch) {
            self.ends("ignored", Some("the branch has a name that is not taken".to_owned()));
            return Ok(());
        }
        let kept = self.tx.refs(self.source.id).await?.into_iter().find(|kept| kept.name == branch);
        let is_kept = |kept: &RefRow| kept.is_kept(self.now);
        if is_tracked(&self.source.settings.tracked_refs, branch) {
            // One that was deleted and is there again is followed again.
            if !kept.as_ref().is_some_and(is_kept) {
                self.tx.keep_ref(self.source.id, branch, RefOrigin::Tracked, None).await?;
            }
            return self.reindex(Some(branch)).await;
        }
        if kept.as_ref().is_some_and(|kept| kept.origin != RefOrigin::Uploaded && is_kept(kept)) {
            return self.reindex(Some(branch)).await;
        }
        self.ends("ignored", Some("the branch is not followed; tracked_refs of the source says which are".to_owned()));
        Ok(())
    }

    async fn branch_deleted(&mut self, branch: &str) -> Result<(), StoreError> {
        if branch == self.source.default_branch {
            let reason = "the forge says that the default branch was deleted; next: PATCH /v1/sources/{source} with the branch that answers now";
            self.ends("noted", Some(reason.to_owned()));
            return Ok(());
        }
        if self.tx.expire_ref(self.source.id, branch, self.now).await? {
            self.ends("ref_expires", None);
        } else {
            self.ends("ignored", Some("the branch is not kept".to_owned()));
        }
        Ok(())
    }

    /// The forge's word is followed where it is about this repository, stays on the host that was consented to, and no
    /// credential is sent there: with one, who may sign deliveries could have anything read that it opens.
    async fn moved(&mut self, from: Option<&str>, to: &str) -> Result<(), StoreError> {
        let Some(known) = self.source.clone_url.clone() else {
            self.ends("ignored", Some("the source has no address".to_owned()));
            return Ok(());
        };
        if is_about(&self.source, to) {
            self.ends("ignored", Some("the source is cloned from there already".to_owned()));
            return Ok(());
        }
        if !from.is_some_and(|from| is_about(&self.source, from)) {
            self.ends("ignored", Some("it is about another repository".to_owned()));
            return Ok(());
        }
        let address = from.and_then(|from| moved_address(&known, from, to));
        let address = address.filter(|to| same_host(&known, to)).and_then(|to| admitted(&to, self.config).ok());
        let name = self.source.id.to_string();
        let credential = self.tx.secret_changed_at(SecretPurpose::RepositoryCredential, &name).await?;
        let (why, next) = match address {
            Some(address) if credential.is_none() => {
                self.tx
                    .set_source_address(self.source.id, self.source.provider.as_deref(), Some(address.as_str()))
                    .await?;
                self.source.clone_url = Some(address.to_string());
                return self.reindex(None).await;
            }
            Some(_) => (
                "a credential is stored for the one before",
                "PATCH /v1/sources/{source} with its clone_url, then PUT its credential",
            ),
            None => (
                "where that is cannot be told from the address that is known, or nothing is fetched from there",
                "PATCH /v1/sources/{source} with its clone_url, or register it as a source of its own where it is on \
                 another host",
            ),
        };
        let to = shown(to, 200);
        let reason = format!(
            "the forge says that the repository is now {to}; it is not followed there, since {why}; next: {next}"
        );
        self.ends("noted", Some(reason));
        Ok(())
    }
}

/// Whether a path that a forge says is the one that the source is cloned from.
fn is_about(source: &Repository, path: &str) -> bool {
    let Some(known) = source.clone_url.as_deref().and_then(|url| Url::parse(url).ok()) else { return true };
    let (known, path) = (bare(known.path()), bare(path));
    !path.is_empty() && (known == path || known.ends_with(&format!("/{path}")))
}

/// A path without what is added to it in addresses, in small letters, since forges do not tell them apart.
fn bare(path: &str) -> String {
    let path = path.trim_matches('/');
    path.strip_suffix(".git").unwrap_or(path).to_lowercase()
}

/// The address with the new path in the place of the old.
fn moved_address(known: &str, from: &str, to: &str) -> Option<String> {
    let mut url = Url::parse(known).ok()?;
    let path = url.path().trim_end_matches('/').to_owned();
    let (path, suffix) = path.strip_suffix(".git").map_or((path.as_str(), ""), |path| (path, ".git"));
    let kept = path.get(..path.len().checked_sub(from.trim_matches('/').len())?)?;
    url.set_path(&format!("{kept}{}{suffix}", to.trim_matches('/')));
    Some(url.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_host_and_what_stands_before_the_path() {
        let moved = |known: &str, to: &str| moved_address(known, "acme/billing", to);
        for (known, to, address) in [
            ("https://github.com/acme/billing.git", "acme/invoices", "https://github.com/acme/invoices.git"),
            ("https://github.com/Acme/Billing", "other/billing", "https://github.com/other/billing"),
            ("https://git.corp:8443/git/acme/billing/", "acme/b", "https://git.corp:8443/git/acme/b"),
            ("https://git.corp/acme/billing", "//evil.example/x", "https://git.corp/evil.example/x"),
            ("https://git.corp/acme/billing", "a/../../x", "https://git.corp/x"),
        ] {
            assert_eq!(moved(known, to).as_deref(), Some(address), "{known} {to}");
        }
        assert_eq!(moved_address("https://git.corp/a", "acme/billing", "b"), None);
    }
}
