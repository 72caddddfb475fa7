//! Registering a source: what may be registered, and what follows from it, wherever it is asked.

use serde_json::Value;
use sync_core::ids::{JobId, RepositoryId};
use sync_ingest::git::{RemoteUrl, repository_name};
use sync_store::{
    Enqueued, Forge, Gate, JobCause, JobKind, NewJob, NewRepository, Repository, SourceSettings, StoreError, Tx,
};
use time::OffsetDateTime;
use url::Url;

use super::names;
use crate::config::Config;
use crate::jobs::place::HEAD;

/// A source as it is asked for.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Where it is cloned from.
    pub clone_url: String,
    /// What it is called; absent: as its address ends.
    pub name: Option<String>,
    /// Whose forge it lies at; absent: as far as the address says it.
    pub forge: Option<Forge>,
    /// The branch that answers; absent: the remote's.
    pub default_branch: Option<String>,
    /// Patterns of further branches.
    pub tracked_refs: Vec<String>,
    /// Whether it is indexed at all.
    pub gate: Gate,
}

/// What of it cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{argument}` cannot be taken: {reason}")]
pub struct Unfit {
    /// Which argument.
    pub argument: &'static str,
    /// Why not.
    pub reason: String,
    /// What to do.
    pub next_step: String,
}

/// A source that may be registered.
#[derive(Debug, Clone)]
pub struct Fit {
    url: RemoteUrl,
    name: String,
    forge: Option<Forge>,
    default_branch: String,
    settings: SourceSettings,
}

impl Wanted {
    /// Checks all of it, without asking anybody.
    pub fn check(self, config: &Config) -> Result<Fit, Unfit> {
        let url = admitted(&self.clone_url, config)?;
        let name = self.name.unwrap_or_else(|| repository_name(&url));
        if !names::is_repository(&name) {
            return Err(Unfit {
                argument: "name",
                reason: "names are lower-case letters, digits, `.`, `_` and `-`, in parts with a `/` between, at most \
                         100 characters"
                    .to_owned(),
                next_step: "Give a name such as acme/billing.".to_owned(),
            });
        }
        // Its first run asks the remote what that is, and says it from then on.
        let default_branch = self.default_branch.unwrap_or_else(|| HEAD.to_owned());
        check_ref("default_branch", &default_branch)?;
        let settings = SourceSettings { tracked_refs: patterns(self.tracked_refs)?, gate: self.gate };
        let forge = self.forge.or_else(|| forge_of(&url));
        Ok(Fit { url, name, forge, default_branch, settings })
    }
}

/// The address, where it may be fetched from.
pub fn admitted(clone_url: &str, config: &Config) -> Result<RemoteUrl, Unfit> {
    let hosts = config.private_source_hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
    // Who is the only user of the service may have folders of the machine as sources; no other host becomes one by that.
    let local = config.local_sources && clone_url.starts_with("file:");
    let url = if local { RemoteUrl::local(clone_url) } else { RemoteUrl::admitted(clone_url, &hosts) };
    url.map_err(|error| Unfit {
        argument: "clone_url",
        reason: error.to_string(),
        next_step: format!("Please {}.", error.next_step()),
    })
}

/// Whether two addresses are of one host, by one scheme and port.
pub fn same_host(one: &str, other: &str) -> bool {
    let parsed = (Url::parse(one), Url::parse(other));
    matches!(parsed, (Ok(one), Ok(other)) if one.origin().is_tuple() && one.origin() == other.origin())
}

/// Whether it is the name of a ref.
pub fn check_ref(argument: &'static str, name: &str) -> Result<(), Unfit> {
    if names::is_ref(name) {
        return Ok(());
    }
    Err(Unfit {
        argument,
        reason: "it is not the name of a ref".to_owned(),
        next_step: "Give a branch such as main, or the full name of a ref such as refs/pull/7/head.".to_owned(),
    })
}

/// The patterns, each once, where they may be followed.
pub fn patterns(given: Vec<String>) -> Result<Vec<String>, Unfit> {
    let unfit = |reason: String| Unfit {
        argument: "tracked_refs",
        reason,
        next_step: "Give at most 20 patterns such as release/*.".to_owned(),
    };
    if given.len() > names::MAX_PATTERNS {
        return Err(unfit(format!("there are more than {} patterns", names::MAX_PATTERNS)));
    }
    let mut kept: Vec<String> = Vec::new();
    for pattern in given {
        if !names::is_pattern(&pattern) {
            return Err(unfit("one of them is not a pattern of branches".to_owned()));
        }
        if !kept.contains(&pattern) {
            kept.push(pattern);
        }
    }
    Ok(kept)
}

/// Whose forge a public host is.
fn forge_of(url: &RemoteUrl) -> Option<Forge> {
    let host = Url::parse(url.as_str()).ok()?.host_str().map(str::to_owned)?;
    match host.trim_end_matches('.') {
        "github.com" => Some(Forge::Github),
        "gitlab.com" => Some(Forge::Gitlab),
        "bitbucket.org" => Some(Forge::Bitbucket),
        "codeberg.org" => Some(Forge::Forgejo),
        "gitea.com" => Some(Forge::Gitea),
        _ => None,
    }
}

impl Fit {
    /// Registers it, with whose word it is that its code may be fetched, and asks for its first index unless its gate is
    /// off: then nothing is fetched, and its snapshots are uploaded. Within the transaction, who asks reads it, and no
    /// longer: see [`Tx::grant`].
    pub async fn register(
        &self,
        tx: &mut Tx,
        consented_by: Option<&str>,
        now: OffsetDateTime,
    ) -> Result<(Repository, Option<Enqueued>), StoreError> {
        let new = NewRepository {
            id: RepositoryId::at(now),
            name: &self.name,
            provider: self.forge.map(Forge::as_str),
            clone_url: Some(self.url.as_str()),
            default_branch: &self.default_branch,
        };
        let source = tx.register_repository(&new, now).await?;
        tx.set_source_settings(source.id, &self.settings).await?;
        if let Some(consented_by) = consented_by {
            tx.set_egress_consent(source.id, Some(consented_by), now).await?;
        }
        let job = match self.settings.gate {
            Gate::Off => None,
            Gate::Auto | Gate::On => {
                Some(enqueue(tx, source.id, JobKind::Reindex, None, JobCause::Registration, now).await?)
            }
        };
        let source =
            tx.repository(source.id).await?.ok_or_else(|| StoreError::NotFound("the new source".to_owned()))?;
        Ok((source, job))
    }
}

/// Asks for a job of a source, to be run as soon as may be.
pub async fn enqueue(
    tx: &mut Tx,
    source: RepositoryId,
    kind: JobKind,
    ref_name: Option<&str>,
    cause: JobCause,
    now: OffsetDateTime,
) -> Result<Enqueued, StoreError> {
    let job =
        NewJob { id: JobId::at(now), repository: source, kind, ref_name, cause, payload: &Value::Null, run_at: now };
    tx.enqueue(&job, now).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        let listed = [("SYNC_PRIVATE_SOURCE_HOSTS".to_owned(), r#"["Git.corp"]"#.to_owned())];
        Config::load(None, listed).unwrap()
    }

    #[test]
    fn folders_of_the_machine_are_sources_only_where_the_operator_says_so() {
        let folder = || Wanted { name: Some("a".to_owned()), ..wanted("file:///srv/git/a.git") };
        assert!(folder().check(&config()).is_err());
        let alone = [("SYNC_LOCAL_SOURCES".to_owned(), "true".to_owned())];
        let alone = Config::load(None, alone).unwrap();
        assert!(folder().check(&alone).is_ok());
        assert!(wanted("https://10.0.0.1/a").check(&alone).is_err());
    }

    fn wanted(clone_url: &str) -> Wanted {
        Wanted { clone_url: clone_url.to_owned(), ..Wanted::default() }
    }

    #[test]
    fn the_address_says_the_name_and_the_forge_where_nobody_does() {
        let fit = wanted("https://github.com/Acme/Billing.git").check(&config()).unwrap();
        assert_eq!(
            (fit.name.as_str(), fit.forge, fit.default_branch.as_str()),
            ("acme/billing", Some(Forge::Github), "HEAD")
        );
        let fit = Wanted {
            name: Some("pay".to_owned()),
            forge: Some(Forge::Forgejo),
            default_branch: Some("trunk".to_owned()),
            tracked_refs: vec!["release/*".to_owned(), "release/*".to_owned()],
            ..wanted("https://git.corp/acme/billing")
        };
        let fit = fit.check(&config()).unwrap();
        assert_eq!((fit.name.as_str(), fit.forge, fit.default_branch.as_str()), ("pay", Some(Forge::Forgejo), "trunk"));
        assert_eq!(fit.settings.tracked_refs, ["release/*"]);
        assert_eq!(wanted("https://git.corp/a").check(&config()).unwrap().forge, None);
    }

    #[test]
    fn one_host_is_one_scheme_name_and_port() {
        assert!(same_host("https://git.corp/a", "https://GIT.corp:443/b"));
        for other in
            ["https://git.corp:8443/a", "https://git.corp.evil/a", "http://git.corp/a", "nonsense", "file:///a"]
        {
            assert!(!same_host("https://git.corp/a", other), "{other}");
        }
        assert!(!same_host("file:///a", "file:///a"), "a folder has no host");
    }

    #[test]
    fn what_cannot_be_taken_is_named_with_the_reason() {
        let unfit = |wanted: Wanted| wanted.check(&config()).unwrap_err();
        for address in
            ["http://github.com/a/b", "https://10.0.0.1/a", "https://u:p4ss@github.com/a", "ssh://git.corp/a"]
        {
            let told = unfit(wanted(address));
            assert_eq!(told.argument, "clone_url");
            assert!(!format!("{told}{}", told.next_step).contains("p4ss"), "{told}");
        }
        let good = || wanted("https://github.com/acme/billing");
        assert_eq!(unfit(Wanted { name: Some("Acme".to_owned()), ..good() }).argument, "name");
        assert_eq!(unfit(Wanted { default_branch: Some("-x".to_owned()), ..good() }).argument, "default_branch");
        assert_eq!(unfit(Wanted { tracked_refs: vec!["a b".to_owned()], ..good() }).argument, "tracked_refs");
        let many = (0..21).map(|n| format!("r{n}")).collect();
        assert_eq!(unfit(Wanted { tracked_refs: many, ..good() }).argument, "tracked_refs");
    }
}
