//! The sweep: compares the heads of remotes with what is indexed, so that a push whose delivery was lost is found too;
//! and forgets what is over.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration as StdDuration;

use async_trait::async_trait;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use sync_core::clock::Clock;
use sync_core::ids::{JobId, OrganizationId, RepositoryId};
use sync_core::principal::Principal;
use sync_ingest::git::{Fetched, RemoteUrl};
use sync_store::{
    Job, JobCause, JobKind, JobState, NewJob, OrganizationState, RefOrigin, RefRow, Repository, Store, StoreError,
};
use time::{Duration, OffsetDateTime};

use super::caches::Caches;
use super::place::{HEAD, LocalSources, Place, WorkerFolders};
use super::run::Fault;
use crate::shutdown::Shutdown;
use crate::sources::refresh::may_refresh;

/// How long jobs that ended are kept.
const JOBS_KEPT: Duration = Duration::days(30);

/// How long deliveries of webhooks are known.
const DELIVERIES_KEPT: Duration = Duration::days(7);

/// How long the head at which a job was given up is not tried again.
const GIVEN_UP_FOR: Duration = Duration::hours(6);

/// How many rows are forgotten, and how many sources of an organization looked at, in one go.
const AT_ONCE: u32 = 500;
const SOURCES_AT_ONCE: usize = 20;

/// How many of the last jobs of a source are looked through for one that was given up.
const JOBS_LOOKED_AT: u32 = 50;

/// Says what heads a remote has.
#[async_trait]
pub trait Remotes: Send + Sync + 'static {
    /// What of these refs (names and patterns, as a fetch takes them) is there, without bringing anything.
    async fn heads(
        &self,
        store: &Store,
        organization: OrganizationId,
        repository: &Repository,
        url: &RemoteUrl,
        refs: &[String],
    ) -> Result<Fetched, Fault>;

    /// Removes what was brought of a source that is gone; whether nothing of it is used still.
    async fn forget(&self, organization: OrganizationId, repository: RepositoryId) -> std::io::Result<bool>;
}

/// Looks at remotes, and keeps house.
pub struct Sweep {
    /// The database.
    pub store: Store,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Who looks.
    pub remotes: Arc<dyn Remotes>,
    /// What is allowed of sources on this machine.
    pub local: LocalSources,
    /// How often each source is looked at; none: never.
    pub every: Option<Duration>,
    /// What this worker keeps on its disk.
    pub folders: WorkerFolders,
    /// What it knows of files.
    pub caches: Caches,
}

impl Sweep {
    /// Makes rounds until the end of the process begins.
    pub async fn run(self, shutdown: Shutdown) {
        let every = self.every.unwrap_or(Duration::HOUR).whole_seconds().unsigned_abs();
        let round = StdDuration::from_secs((every / 10).clamp(1, 60));
        loop {
            tokio::select! {
                () = self.round() => {}
                () = shutdown.begun() => return,
            }
            tokio::select! {
                () = tokio::time::sleep(round) => {}
                () = shutdown.begun() => return,
            }
        }
    }

    /// One round over every organization. What fails is logged and tried again in the next one.
    pub async fn round(&self) {
        let organizations = match self.organizations().await {
            Ok(organizations) => organizations,
            Err(error) => return tracing::warn!(%error, "no remote is looked at: organizations cannot be listed"),
        };
        for organization in organizations {
            if let Err(error) = self.keep_house(organization).await {
                tracing::warn!(%error, %organization, "what is over could not be forgotten");
            }
            if self.every.is_some()
                && let Err(error) = self.look_at_sources(organization).await
            {
                tracing::warn!(%error, %organization, "its remotes could not be looked at");
            }
        }
        if let Err(error) = self.forget_folders().await {
            tracing::warn!(%error, "folders of sources that are gone could not be removed");
        }
    }

    /// Removes what is kept on this worker's disk of sources that another one erased.
    async fn forget_folders(&self) -> Result<(), StoreError> {
        let mut by_organization: BTreeMap<OrganizationId, Vec<RepositoryId>> = BTreeMap::new();
        let folders = self.folders.clone();
        // What cannot be listed is looked at with the next round.
        let kept = tokio::task::spawn_blocking(move || folders.kept()).await.unwrap_or_default();
        for (organization, repository) in kept {
            by_organization.entry(organization).or_default().push(repository);
        }
        for (organization, kept) in by_organization {
            let mut tx = self.store.begin(&Principal::service(organization, "sweep")).await?;
            let known = tx.known_repositories(&kept).await?;
            tx.commit().await?;
            for gone in kept.into_iter().filter(|repository| !known.contains(repository)) {
                self.forget_folder(organization, gone).await;
            }
        }
        Ok(())
    }

    async fn forget_folder(&self, organization: OrganizationId, repository: RepositoryId) {
        let caches = self.caches.clone();
        let cache = tokio::task::spawn_blocking(move || caches.erase(organization, repository)).await;
        let cache = cache.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        match (cache, self.remotes.forget(organization, repository).await) {
            (Ok(()), Ok(true)) => {
                tracing::info!(%organization, %repository, "what was kept of an erased source is removed");
            }
            (Ok(()), Ok(false)) => {}
            (Err(error), _) | (_, Err(error)) => {
                tracing::warn!(%error, %organization, %repository, "what is kept of an erased source could not be removed");
            }
        }
    }

    async fn organizations(&self) -> Result<Vec<OrganizationId>, StoreError> {
        let mut tx = self.store.system("sweep").await?;
        let known = tx.organizations().await?;
        tx.commit().await?;
        Ok(known.into_iter().filter(|known| known.state == OrganizationState::Active).map(|known| known.id).collect())
    }

    async fn keep_house(&self, organization: OrganizationId) -> Result<(), StoreError> {
        let (principal, now) = (Principal::service(organization, "sweep"), self.clock.now());
        let mut tx = self.store.begin_change(&principal).await?;
        tx.forget_jobs(now - JOBS_KEPT, AT_ONCE).await?;
        tx.forget_deliveries(now - DELIVERIES_KEPT, AT_ONCE).await?;
        let expired = tx.expired_refs(now, AT_ONCE).await?;
        tx.commit().await?;
        for (repository, name) in expired {
            let mut tx = self.store.begin_write(&principal).await?;
            tx.drop_ref(repository, &name).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    async fn look_at_sources(&self, organization: OrganizationId) -> Result<(), StoreError> {
        let principal = Principal::service(organization, "sweep");
        let Some(every) = self.every else { return Ok(()) };
        for _ in 0..SOURCES_AT_ONCE {
            let now = self.clock.now();
            let mut tx = self.store.begin_change(&principal).await?;
            let Some(repository) = tx.source_to_sweep(now).await? else { return Ok(()) };
            // Before it is looked at: another worker does not, and a remote that hangs is not asked all the time.
            tx.set_sweep_at(repository.id, now + jittered(every, repository.id, now)).await?;
            let refs = tx.refs(repository.id).await?;
            let jobs = tx.jobs_of(repository.id, JOBS_LOOKED_AT).await?;
            tx.commit().await?;
            // One that may not be fetched is left alone, and its remote not asked either: its last job says why.
            if may_refresh(&repository).is_err() {
                continue;
            }
            let Ok(Place::Remote(url)) = Place::of(&repository, &self.local) else { continue };
            match self.remotes.heads(&self.store, organization, &repository, &url, &asked(&repository, &refs)).await {
                Ok(found) => self.compare(&principal, &repository, &refs, &jobs, &found).await?,
                Err(Fault::Passing(problem) | Fault::Lasting(problem)) => {
                    tracing::info!(
                        repository = repository.name,
                        reason = problem.reason,
                        "its remote could not be looked at"
                    );
                }
                Err(Fault::LeaseLost) => {}
            }
        }
        Ok(())
    }

    /// Asks for what is not indexed as the remote has it, and drops what it has no more.
    async fn compare(
        &self,
        principal: &Principal,
        repository: &Repository,
        refs: &[RefRow],
        jobs: &[Job],
        found: &Fetched,
    ) -> Result<(), StoreError> {
        let now = self.clock.now();
        let indexed: BTreeMap<&str, Option<&str>> =
            refs.iter().map(|row| (row.name.as_str(), row.commit.as_deref())).collect();
        let mut tx = self.store.begin_change(principal).await?;
        for head in &found.heads {
            let name = match (&head.branch, head.asked.as_str()) {
                (Some(branch), _) => branch.as_str(),
                (None, asked) => asked,
            };
            if head.asked == HEAD && name != repository.default_branch {
                tx.set_default_branch(repository.id, name).await?;
            }
            let is_indexed = indexed.get(name).is_some_and(|commit| *commit == Some(head.commit.as_str()));
            if is_indexed || was_given_up(jobs, name, &head.commit, now) {
                continue;
            }
            if indexed.contains_key(name) {
                tx.set_head_commit(repository.id, name, &head.commit).await?;
            }
            let payload = json!({"head": head.commit});
            let new = NewJob {
                id: JobId::at(now),
                repository: repository.id,
                kind: JobKind::Reindex,
                ref_name: Some(name),
                cause: JobCause::Sweep,
                payload: &payload,
                run_at: now,
            };
            tx.enqueue(&new, now).await?;
        }
        tx.commit().await?;
        // A branch that a pattern brought is not asked for by its name: it is gone where the pattern does not find it.
        let there = |row: &RefRow| found.heads.iter().any(|head| head.branch.as_ref() == Some(&row.name));
        for row in refs.iter().filter(|row| row.name != repository.default_branch) {
            let gone = match row.origin {
                RefOrigin::Tracked => !there(row),
                RefOrigin::Requested => found.missing.contains(&row.name),
                RefOrigin::Default | RefOrigin::Uploaded => false,
            };
            if gone {
                let mut tx = self.store.begin_write(principal).await?;
                tx.drop_ref(repository.id, &row.name).await?;
                tx.commit().await?;
            }
        }
        Ok(())
    }
}

/// What of a remote matters.
fn asked(repository: &Repository, refs: &[RefRow]) -> Vec<String> {
    let requested = refs.iter().filter(|row| row.origin == RefOrigin::Requested).map(|row| row.name.clone());
    std::iter::once(HEAD.to_owned()).chain(repository.settings.tracked_refs.iter().cloned()).chain(requested).collect()
}

/// Whether the last job of a ref was given up at that very commit a short while ago: ten more tries would help nobody.
fn was_given_up(jobs: &[Job], ref_name: &str, commit: &str, now: OffsetDateTime) -> bool {
    let last = jobs.iter().find(|job| job.ref_name.as_deref() == Some(ref_name));
    last.is_some_and(|job| {
        job.state == JobState::Dead
            && job.payload["head"] == json!(commit)
            && job.ended_at.is_some_and(|ended| now - ended < GIVEN_UP_FOR)
    })
}

/// A quarter more or less, another one each time, so that sources that were registered together are looked at apart.
fn jittered(every: Duration, repository: RepositoryId, now: OffsetDateTime) -> Duration {
    let mut hasher = Sha256::new();
    hasher.update(repository.uuid().as_bytes());
    hasher.update(now.unix_timestamp().to_be_bytes());
    let chance = i32::from(hasher.finalize()[0]);
    every * 3 / 4 + every * chance / 510
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_stay_near_what_is_configured() {
        let now = OffsetDateTime::UNIX_EPOCH;
        for _ in 0..100 {
            let next = jittered(Duration::minutes(15), RepositoryId::at(now), now);
            assert!((next - Duration::minutes(15)).abs() <= Duration::seconds(226), "{next}");
        }
    }
}
