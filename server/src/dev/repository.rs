//! The repository becomes an index: fetched where it is remote, read by a child, stored, and made the one that answers.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use sync_core::ids::RepositoryId;
use sync_core::principal::Principal;
use sync_core::text::shown;
use sync_ingest::git::{FetchLimits, Head, Held, RemoteUrl, last_head};
use sync_ingest::reason::told;
use sync_store::{Index, NewRepository, Repository, RepositoryState, Store, StoreError};

use super::error::DevError;
use super::source::Source;
use super::{Start, fixture};
use crate::jobs::child::ChildError;
use crate::jobs::egress::{Egress, EgressPolicy};
use crate::jobs::fetch_child::{self, FetchOrder};
use crate::jobs::index_child::{self, IndexChildError, IndexRequest, Known};
use crate::jobs::mirrors::Mirrors;
use crate::jobs::reindex;

/// What a ref is called where there is no branch: a detached head, or a plain folder.
const NO_BRANCH: &str = "HEAD";

/// What can be asked now.
pub(super) struct Indexed {
    /// The repository's name.
    pub(super) repository: String,
    /// Whether the organization has further ones, so that a question has to name it.
    pub(super) among_others: bool,
}

/// A repository on this machine.
struct Located {
    path: PathBuf,
    /// What to read of it; by default its `HEAD`.
    rev: Option<String>,
    /// What that is called.
    ref_name: Option<String>,
    /// Keeps a mirror while it is read.
    held: Option<Held>,
}

impl Start<'_> {
    /// Indexes the repository, unless it is indexed as it is.
    pub(super) async fn index(&self, store: &Store, principal: &Principal) -> Result<Indexed, DevError> {
        let Located { path, rev, ref_name, held } = self.locate().await?;
        let (name, registered) = self.registered(store, principal).await?;
        let current = match &registered {
            Some(repository) => current_index(store, principal, repository, self.args.rev.as_deref()).await?,
            None => None,
        };
        let request = IndexRequest {
            executable: self.executable.clone(),
            path,
            rev,
            ref_name,
            cache: Some(self.data.private_folder("caches")?.join(cache_name(self.source.origin().as_deref()))),
            // The built-in one is a plain folder; anything else should be a git repository.
            gate: if *self.source == Source::Fixture { "on" } else { "auto" },
            known: current.as_ref().and_then(known),
        };
        self.progress.say(&format!("indexing {name}"));
        let made = index_child::run(&request).await;
        drop(held);
        let made = match made {
            Ok(made) => made,
            Err(error) => {
                if let Some(repository) = &registered {
                    self.note_failure(store, principal, repository.id, &error).await?;
                }
                return Err(index_failed(error));
            }
        };
        match (made, current) {
            (None, Some(index)) => {
                reindex::confirm(store, principal, &index, self.clock.now()).await?;
                self.progress.say("nothing changed since the last index");
            }
            (None, None) => {
                return Err(DevError::failed("the indexer wrote nothing", "this is a fault of Sync; report it"));
            }
            (Some(snapshot), _) => {
                let ref_name = self.args.rev.as_deref().or(snapshot.header.ref_name.as_deref()).unwrap_or(NO_BRANCH);
                let repository = self.register(store, principal, &name, registered, ref_name).await?;
                let now = self.clock.now();
                let swap = reindex::store_snapshot(store, principal, repository, ref_name, &snapshot, now).await?;
                let counts = swap.index.counts;
                self.progress.say(&format!("indexed {} files with {} call sites", counts.files, counts.call_sites));
                for reason in &swap.index.partial_reasons {
                    self.progress.say(&format!("not all of it: {}", told(reason)));
                }
            }
        }
        let mut tx = store.begin(principal).await?;
        let among_others = tx.count_visible_repositories().await? > 1;
        tx.commit().await?;
        Ok(Indexed { repository: name, among_others })
    }

    /// Keeps why a repository that is known could not be indexed anew; its last index still answers.
    async fn note_failure(
        &self,
        store: &Store,
        principal: &Principal,
        repository: RepositoryId,
        error: &IndexChildError,
    ) -> Result<(), StoreError> {
        let state = match error {
            IndexChildError::Child(ChildError::Refused { .. }) => RepositoryState::Gated,
            _ => RepositoryState::Failed,
        };
        let mut tx = store.begin_write(principal).await?;
        tx.set_repository_state(repository, state, Some(&error.to_string()), self.clock.now()).await?;
        tx.commit().await
    }

    /// Where the repository lies on this machine, and what of it is to be read.
    async fn locate(&self) -> Result<Located, DevError> {
        let here = |path| {
            let (rev, ref_name) = (self.args.rev.clone(), self.args.rev.clone());
            Ok(Located { path, rev, ref_name, held: None })
        };
        match self.source {
            Source::Folder(path) => here(path.clone()),
            Source::Fixture => {
                let folder = self.data.path("fixture");
                fixture::write(&folder).map_err(|error| DevError::data_dir(&folder, &error))?;
                here(folder)
            }
            Source::Remote(url) => {
                let mirror = self.data.private_folder("mirrors")?.join(mirror_name(url.as_str()));
                self.progress.say(&format!("fetching {url}"));
                let asked = self.args.rev.clone().unwrap_or_else(|| "HEAD".to_owned());
                let (path, head) = self.fetched(url, &mirror, &asked).await?;
                let held = Mirrors::hold(&path).map_err(|error| DevError::data_dir(&path, &error))?;
                let ref_name = self.args.rev.clone().or(head.branch);
                Ok(Located { path, rev: Some(head.commit), ref_name, held })
            }
        }
    }

    /// The repository that holds what was asked for. Without a network, the last fetch still answers.
    async fn fetched(&self, url: &RemoteUrl, mirror: &Path, asked: &str) -> Result<(PathBuf, Head), DevError> {
        // Whoever starts this on a machine may name what the machine reaches.
        let policy = EgressPolicy { any_host: true, ..EgressPolicy::default() };
        let egress = Egress::start(policy).await.map_err(|error| {
            DevError::failed(format!("the proxy of fetches cannot be started: {error}"), "check this user's limits")
        })?;
        let (refs, limits) = ([asked.to_owned()], FetchLimits::default());
        let executable = &self.executable;
        let order = FetchOrder { executable, url, refs: &refs, credential: None, limits };
        let failed = match fetch_child::run(&egress, &order, mirror, false).await {
            Ok(fetched) => match (fetched.repository, fetched.heads.into_iter().next()) {
                (Some(repository), Some(head)) => return Ok((repository, head)),
                _ if fetched.empty => {
                    return Err(DevError::failed(format!("`{url}` has no commit yet"), "push one and start again"));
                }
                _ => {
                    let what = format!("`{url}` has no `{}`", shown(asked, 100));
                    return Err(DevError::failed(what, "give a branch, a tag, or all 40 digits of a commit id"));
                }
            },
            Err(error) => error,
        };
        match last_head(mirror, asked) {
            Some(last) => {
                self.progress.say(&format!("using the last fetch: {failed}"));
                Ok(last)
            }
            None => Err(DevError::failed(failed.to_string(), failed.next_step())),
        }
    }

    /// The repository's name and, where it was registered before, its row. Another origin's name is not taken over:
    /// the second repository of a name gets a number.
    async fn registered(&self, store: &Store, principal: &Principal) -> Result<(String, Option<Repository>), DevError> {
        let plain = self.source.name()?;
        let origin = self.source.origin();
        let mut tx = store.begin(principal).await?;
        let mut name = plain.clone();
        for number in 2_u32.. {
            match tx.repository_by_name(&name).await? {
                Some(other) if other.clone_url != origin => name = format!("{plain}-{number}"),
                found => {
                    tx.commit().await?;
                    return Ok((name, found));
                }
            }
        }
        Err(DevError::failed("no name is free for the repository", "start on an empty --data-dir"))
    }

    /// Registers the repository where it is new, and makes the ref the one that answers.
    async fn register(
        &self,
        store: &Store,
        principal: &Principal,
        name: &str,
        registered: Option<Repository>,
        ref_name: &str,
    ) -> Result<RepositoryId, StoreError> {
        let now = self.clock.now();
        let mut tx = store.begin(principal).await?;
        let id = if let Some(repository) = registered {
            if repository.default_branch != ref_name {
                tx.set_default_branch(repository.id, ref_name).await?;
            }
            repository.id
        } else {
            let origin = self.source.origin();
            let new = NewRepository {
                id: RepositoryId::at(now),
                name,
                provider: None,
                clone_url: origin.as_deref(),
                default_branch: ref_name,
            };
            tx.register_repository(&new, now).await?.id
        };
        tx.commit().await?;
        Ok(id)
    }
}

/// One mirror for each address; which they are is in the registry.
fn mirror_name(url: &str) -> String {
    hex::encode(&Sha256::digest(url)[..8])
}

/// One cache for each source: what is known of one's files is not looked up for another.
fn cache_name(origin: Option<&str>) -> String {
    origin.map_or_else(|| "fixture".to_owned(), |origin| hex::encode(&Sha256::digest(origin)[..8]))
}

async fn current_index(
    store: &Store,
    principal: &Principal,
    repository: &Repository,
    rev: Option<&str>,
) -> Result<Option<Index>, StoreError> {
    // Asked for another revision than the one that answers: that one has to be looked at anew.
    if rev.is_some_and(|rev| rev != repository.default_branch) {
        return Ok(None);
    }
    let mut tx = store.begin(principal).await?;
    let index = tx.current_index(repository.id, &repository.default_branch).await?;
    tx.commit().await?;
    Ok(index)
}

/// What the child compares with. A plain folder has no commit, and what was cut short deserves another try.
fn known(index: &Index) -> Option<Known> {
    let commit = index.commit.clone().filter(|_| !index.partial)?;
    Some(Known { commit, analyzer: index.analyzer.clone(), catalog: index.catalog.clone() })
}

fn index_failed(error: IndexChildError) -> DevError {
    match error {
        IndexChildError::Child(error) => child_failed(error),
        IndexChildError::Snapshot(_) => DevError::failed(error.to_string(), "this is a fault of Sync; report it"),
    }
}

fn child_failed(error: ChildError) -> DevError {
    match error {
        ChildError::Refused { what, next } => DevError::refused(what, next),
        ChildError::Failed { what, next } => DevError::failed(what, next),
        ChildError::Start { .. } => DevError::failed(error.to_string(), "check this user's limits on processes"),
        ChildError::Time { .. } => DevError::failed(error.to_string(), "try again, or name a smaller repository"),
    }
}
