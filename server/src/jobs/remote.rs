//! Remotes as the worker sees them: their heads, and what of them is brought into a mirror on its disk.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use secrecy::ExposeSecret as _;
use sync_core::ids::{OrganizationId, RepositoryId};
use sync_core::principal::Principal;
use sync_core::text::shown;
use sync_ingest::git::{Credential, FaultCode, FetchLimits, Fetched, Head, Held, RemoteUrl, last_head};
use sync_store::{Repository, SecretPurpose, Store};

use super::egress::Egress;
use super::fetch_child::{self, FetchError, FetchOrder};
use super::mirrors::Mirrors;
use super::run::{Fault, Problem, Run};
use super::sweep::Remotes;
use crate::config::Config;
use crate::secrets::{KeyRing, SecretError};

/// The user that goes with a credential that is a token alone; forges take any.
const TOKEN_USER: &str = "sync";

/// What remotes are reached with.
#[derive(Clone)]
pub struct RemoteAccess {
    /// The executable that knows the command `fetch`.
    pub executable: PathBuf,
    /// The one way out.
    pub egress: Arc<Egress>,
    /// Where what was fetched is.
    pub mirrors: Mirrors,
    /// Opens credentials.
    pub keys: Option<Arc<KeyRing>>,
    /// Whether, where a remote does not answer, what was fetched from it before will do.
    pub last_fetch_will_do: bool,
}

/// A commit in a mirror.
pub(super) struct Mirrored {
    /// The bare repository.
    pub(super) repository: PathBuf,
    /// The ref's head.
    pub(super) head: Head,
    /// Keeps it while it is read.
    pub(super) held: Held,
    /// Why this is what was fetched before.
    pub(super) stale: Option<String>,
}

impl RemoteAccess {
    /// What opens credentials, as configured; a worker without it still fetches what is public.
    pub fn keys(config: &Config) -> Result<Option<Arc<KeyRing>>, SecretError> {
        let Ok(current) = config.secret_key() else { return Ok(None) };
        Ok(Some(Arc::new(KeyRing::derive(current, config.previous_secret_keys())?)))
    }

    /// Brings the head of a ref into the source's mirror, with what is new; with `fresh` everything.
    pub(super) async fn bring(&self, run: &Run, url: &RemoteUrl, asked: &str, fresh: bool) -> Result<Mirrored, Fault> {
        let (organization, repository) = (run.ticket.organization, &run.repository);
        let mirror = self.mirrors.folder(organization, repository.id);
        let credential = self.credential(&run.store, organization, repository.id).await?;
        let refs = [asked.to_owned()];
        let order = self.order(url, &refs, credential);
        let (path, head, stale) = match fetch_child::run(&self.egress, &order, &mirror, fresh).await {
            Ok(fetched) => {
                let (path, head) = found(url, asked, fetched)?;
                (path, head, None)
            }
            Err(error) => match last_head(&mirror, asked).filter(|_| self.last_fetch_will_do) {
                Some((path, head)) => (path, head, Some(error.to_string())),
                None => return Err(fault(&error, run.ticket.attempt)),
            },
        };
        let in_use = Mirrors::hold(&path).ok().flatten().ok_or_else(|| {
            Fault::Passing(Problem::new(
                "disk",
                "the mirror is gone before it was read",
                "nothing: it is fetched again",
            ))
        })?;
        Ok(Mirrored { repository: path, head, held: in_use, stale })
    }

    fn order<'a>(&'a self, url: &'a RemoteUrl, refs: &'a [String], credential: Option<Credential>) -> FetchOrder<'a> {
        FetchOrder { executable: &self.executable, url, refs, credential, limits: FetchLimits::default() }
    }

    /// The source's credential, opened.
    async fn credential(
        &self,
        store: &Store,
        organization: OrganizationId,
        repository: RepositoryId,
    ) -> Result<Option<Credential>, Fault> {
        let name = repository.to_string();
        let mut tx = store.begin(&Principal::service(organization, "fetch")).await?;
        let sealed = tx.secret(SecretPurpose::RepositoryCredential, &name).await?;
        tx.commit().await?;
        let Some(sealed) = sealed else { return Ok(None) };
        let passing = |reason: String, next: &str| Fault::Passing(Problem::new("credential_sealed", reason, next));
        let Some(keys) = &self.keys else {
            let reason = "the worker has no key to open the credential of the source with".to_owned();
            return Err(passing(reason, "have the operator set SYNC_SECRET_KEY for the worker too"));
        };
        let opened = keys
            .open(organization, SecretPurpose::RepositoryCredential, &name, &sealed)
            .map_err(|error| passing(error.to_string(), "set the credential of the source again"))?;
        let text = String::from_utf8_lossy(opened.expose_secret());
        let (user, secret) = text.split_once(':').unwrap_or((TOKEN_USER, &text));
        Ok(Some(Credential { user: user.to_owned(), secret: secret.to_owned() }))
    }
}

#[async_trait]
impl Remotes for RemoteAccess {
    async fn heads(
        &self,
        store: &Store,
        organization: OrganizationId,
        repository: &Repository,
        url: &RemoteUrl,
        refs: &[String],
    ) -> Result<Fetched, Fault> {
        let credential = self.credential(store, organization, repository.id).await?;
        let order = self.order(url, refs, credential);
        fetch_child::heads(&self.egress, &order).await.map_err(|error| fault(&error, 1))
    }

    async fn forget(&self, organization: OrganizationId, repository: RepositoryId) -> std::io::Result<bool> {
        let mirrors = self.mirrors.clone();
        let erased = tokio::task::spawn_blocking(move || mirrors.erase(organization, repository)).await;
        erased.unwrap_or_else(|error| Err(std::io::Error::other(error)))
    }
}

fn found(url: &RemoteUrl, asked: &str, fetched: Fetched) -> Result<(PathBuf, Head), Fault> {
    let lasting = |code, reason: String, next: &str| Err(Fault::Lasting(Problem::new(code, reason, next)));
    if fetched.empty {
        return lasting("empty", format!("`{url}` has no commit yet"), "push one");
    }
    match (fetched.repository, fetched.heads.into_iter().next()) {
        (Some(repository), Some(head)) => Ok((repository, head)),
        _ => lasting(
            "ref_not_found",
            format!("`{url}` has no `{}`", shown(asked, 100)),
            "give a branch, a tag, or all 40 digits of a commit id",
        ),
    }
}

fn fault(error: &FetchError, attempt: u32) -> Fault {
    let code = match error {
        FetchError::Child(_) => "fetch_failed",
        FetchError::Fault(fault) => match fault.code {
            FaultCode::Refused => "refused",
            FaultCode::CredentialWanted => "credential_wanted",
            FaultCode::CredentialRefused => "credential_refused",
            FaultCode::NotFound => "not_found",
            FaultCode::AddressRefused => "address_refused",
            FaultCode::Unreachable => "unreachable",
            FaultCode::Protocol => "protocol",
            FaultCode::TooLarge => "too_large",
            FaultCode::Timeout => "timeout",
            FaultCode::Disk => "disk",
        },
    };
    let problem = Problem::new(code, error.to_string(), error.next_step());
    // Forges refuse a good credential now and then, so it is shown twice.
    if error.heals() || (code == "credential_refused" && attempt < 2) {
        Fault::Passing(problem)
    } else {
        Fault::Lasting(problem)
    }
}
