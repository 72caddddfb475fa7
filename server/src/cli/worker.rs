//! `syncd worker`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sync_core::clock::Clock;
use sync_store::{Maintenance, PoolOptions, Store};

use super::Failure;
use crate::audit::maintain::{self, Maintainer};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::jobs::AllJobs;
use crate::jobs::caches::Caches;
use crate::jobs::egress::{Egress, EgressPolicy};
use crate::jobs::mirrors::Mirrors;
use crate::jobs::place::{LocalSources, WorkerFolders};
use crate::jobs::reindex::{Reindex, Told};
use crate::jobs::remote::RemoteAccess;
use crate::jobs::sweep::Sweep;
use crate::jobs::worker::{Worker, WorkerOptions};
use crate::shutdown::Shutdown;

/// For the care of the audit log, where one round is made after the other.
const MAINTENANCE_CONNECTIONS: u32 = 2;

/// For what a worker does beside its jobs: take, keep leases, hear of new ones, look at heads.
const CONNECTIONS_BESIDE: u32 = 4;

/// Works until SIGTERM or Ctrl-C. `executable` knows the commands `fetch` and `index`.
pub(super) async fn run(config: Config, executable: PathBuf) -> Result<(), Failure> {
    crate::log::init(&config)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    // Either is enough: jobs may be worked off where the key that seals the log is not, and the other way round.
    let works = config.database_url().is_ok() && config.worker_slots > 0;
    let maintainer = match config.maintenance_database_url() {
        Err(_) if works => None,
        Err(missing) => return Err(missing.into()),
        Ok(url) => Some(maintainer(&config, url, clock.clone()).await?),
    };
    let jobs = if works { Some(jobs(&config, executable, clock).await?) } else { None };
    if jobs.is_none() {
        tracing::warn!("no jobs are worked off; next: set SYNC_DATABASE_URL and worker_slots");
    }
    if maintainer.is_none() {
        tracing::warn!(
            "the audit log is not looked after here; next: set SYNC_MAINTENANCE_DATABASE_URL and SYNC_SEAL_KEY"
        );
    }
    let shutdown = Shutdown::at_signal()
        .map_err(|error| Failure::failed(format!("signals cannot be handled: {error}"), "report it"))?;
    tracing::info!(slots = config.worker_slots, "working");
    let maintaining = async {
        if let Some(maintainer) = maintainer {
            maintainer.run(shutdown.clone()).await;
        }
    };
    let working = async {
        if let Some((worker, sweep)) = jobs {
            let store = sweep.store.clone();
            tokio::join!(worker.run(shutdown.clone()), sweep.run(shutdown.clone()));
            store.close().await;
        }
    };
    tokio::join!(maintaining, working);
    Ok(())
}

async fn maintainer(config: &Config, url: &str, clock: Arc<dyn Clock>) -> Result<Maintainer, Failure> {
    let options = PoolOptions { max_connections: MAINTENANCE_CONNECTIONS, ..PoolOptions::default() };
    let keys = maintain::keys(config)?;
    let heads = maintain::heads(config)?;
    let maintenance = Maintenance::connect(url, options).await?;
    if !heads.go_somewhere() {
        tracing::warn!(
            "signed heads of the audit log stay in the database, where its owner can remove the newest of them unseen; \
             next: set audit_heads_file or audit_heads_url"
        );
    }
    tracing::info!(key_id = keys.current().id(), "looking after the audit log");
    Ok(Maintainer::new(maintenance, keys, heads, maintain::kept(config), clock))
}

async fn jobs(config: &Config, executable: PathBuf, clock: Arc<dyn Clock>) -> Result<(Worker, Sweep), Failure> {
    let slots = u32::try_from(config.worker_slots).unwrap_or(u32::MAX);
    let options = PoolOptions { max_connections: slots.saturating_add(CONNECTIONS_BESIDE), ..PoolOptions::default() };
    let store = Store::connect(config.database_url()?, options).await?;
    let root = &config.worker_data_dir;
    let folders = WorkerFolders::below(root).map_err(|error| {
        Failure::failed(
            format!("the folder {} cannot be used: {error}", root.display()),
            "set worker_data_dir to one that this user may write",
        )
    })?;
    let egress = Egress::start(EgressPolicy {
        private_hosts: config.private_source_hosts.iter().cloned().collect(),
        ..EgressPolicy::default()
    });
    let egress = egress.await.map_err(|error| {
        Failure::failed(format!("the proxy of fetches cannot be started: {error}"), "check this user's limits")
    })?;
    let remotes = RemoteAccess {
        executable: executable.clone(),
        egress: Arc::new(egress),
        mirrors: Mirrors::new(folders.mirrors(), config.mirror_quota()),
        keys: RemoteAccess::keys(config)
            .map_err(|error| Failure::failed(error.to_string(), "check SYNC_SECRET_KEY"))?,
        last_fetch_will_do: false,
    };
    let caches = Caches::new(folders.caches(), config.cache_quota());
    let local = LocalSources {
        allowed: config.local_sources,
        builtin: None,
        private_hosts: config.private_source_hosts.iter().cloned().collect(),
    };
    let sweep = Sweep {
        store: store.clone(),
        clock: clock.clone(),
        remotes: Arc::new(remotes.clone()),
        local: local.clone(),
        every: config.sweep_every(),
        folders: folders.clone(),
        caches: caches.clone(),
    };
    let reindex = Reindex { executable, caches, spool: folders.spool(), remotes, local, told: Arc::new(log) };
    let options =
        WorkerOptions { slots: config.worker_slots, listen: true, grace: Duration::from_secs(config.shutdown_grace_s) };
    Ok((Worker::new(store, clock, Arc::new(AllJobs { reindex }), options), sweep))
}

fn log(told: Told<'_>) {
    match told {
        Told::Fetching(url) => tracing::info!(url, "fetching"),
        Told::LastFetch(reason) => tracing::warn!(reason, "what was fetched before is indexed"),
        Told::Indexing(repository) => tracing::info!(repository, "indexing"),
        Told::Unchanged => tracing::info!("nothing changed"),
        Told::Indexed(index) => {
            let commit = index.commit.as_deref().unwrap_or("none");
            tracing::info!(reference = index.ref_name, commit, files = index.counts.files, "indexed");
        }
    }
}
