//! `syncd dev`: everything on one machine, without configuration.
//!
//! What is kept lies in one folder ([`DataDir`]); what runs is this process, a private Postgres and, while indexing, a
//! child. All of it ends with this process, however that ends, and the next start goes on from what is there.

mod announce;
mod attach;
mod data_dir;
mod database;
mod error;
mod feed;
mod fixture;
mod owner;
mod progress;
mod repository;
mod settings;
mod source;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use secrecy::ExposeSecret as _;
use sync_core::clock::Clock;
use sync_store::Store;

pub use announce::Announcement;
pub use attach::attach;
pub use data_dir::{DataDir, default_root};
pub use error::DevError;

use crate::app::App;
use crate::audit::maintain::{self, Maintainer};
use crate::clock::SystemClock;
use crate::config::{Config, ConfigError};
use crate::http::serve;
use crate::jobs::remote::RemoteAccess;
use crate::jobs::sweep::Sweep;
use crate::jobs::worker::Worker;
use crate::shutdown::Shutdown;
use database::Database;
use owner::Owner;
use progress::Progress;
use repository::Indexed;
use source::Source;

/// Everything on this machine: a private Postgres, one repository, a signed feed, and an MCP server that answers.
///
/// Example: syncd dev --repo ../billing
#[derive(Debug, Clone, Args)]
pub struct DevArgs {
    /// The repository to index: a path (bare or not) or an https URL. Absent: a small one that is built in.
    #[arg(long, value_name = "PATH_OR_URL")]
    pub repo: Option<String>,
    /// Which branch, tag or commit of it. Absent: what its HEAD names.
    #[arg(long, requires = "repo")]
    pub rev: Option<String>,
    /// Where everything is kept. Absent: `sync/dev` in the user's data folder; for root /var/lib/sync/dev.
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Address to listen on. Absent: the configured one, 127.0.0.1:8787.
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
    /// Print one line of JSON instead of what to paste.
    #[arg(long)]
    pub json: bool,
}

/// Runs until Ctrl-C or SIGTERM. `executable` knows the commands `fetch` and `index`; `environment` is that of the
/// process, and overrides the file `config`. Call it from the main thread: the database server ends with the thread that starts it.
pub fn run(
    args: &DevArgs,
    executable: PathBuf,
    config: Option<PathBuf>,
    environment: Vec<(String, String)>,
) -> Result<(), DevError> {
    let progress = Progress::begin();
    let source = Source::parse(args.repo.as_deref())?;
    let mut settings = settings::Settings::new(args, config, environment);
    let config = settings.config()?;
    crate::log::init(&config).map_err(|error| DevError::said(&error.to_string()))?;
    // Before anything else is made: a port that is taken should cost nothing.
    let data = Arc::new(DataDir::open(&settings.data_root()?)?);
    let listener = listen(config.listen)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| DevError::failed(format!("no threads can be started: {error}"), "raise this user's limits"))?;
    let shutdown = runtime.block_on(async { Shutdown::at_signal() }).map_err(|error| {
        DevError::failed(format!("signals cannot be handled: {error}"), "this is a fault of Sync; report it")
    })?;
    // Said only now: whoever reads it may end the start, also where this process was told to ignore Ctrl-C.
    progress.say(&format!("everything is kept in {}", data.path("").display()));
    let database = Database::open(&settings, &data)?;
    settings.complete(&data, &database)?;
    if let Ok(address) = listener.local_addr() {
        data.keep_secret(settings::LISTEN_FILE, &address.to_string())?;
    }
    let start = Start {
        args,
        settings: &settings,
        source: &source,
        executable,
        data: data.clone(),
        database: &database,
        clock: Arc::new(SystemClock),
        progress,
    };
    let result = runtime.block_on(async {
        let ready = tokio::select! {
            // What was begun and not committed never happened, so a start may be left anywhere.
            () = shutdown.begun() => return Ok(()),
            ready = start.prepare() => ready?,
        };
        start.serve(ready, listener, shutdown).await
    });
    drop(runtime);
    database.stop();
    progress.say("stopped");
    result
}

/// Takes the port.
fn listen(address: SocketAddr) -> Result<TcpListener, DevError> {
    let refuse = |error: &io::Error| {
        DevError::refused(
            format!("{address} cannot be listened on: {error}"),
            "stop what listens there, or name another address with --listen (port 0: any free one)",
        )
    };
    let listener = TcpListener::bind(address).map_err(|error| refuse(&error))?;
    listener.set_nonblocking(true).map_err(|error| refuse(&error))?;
    Ok(listener)
}

/// One start: what was asked for and what it stands on.
struct Start<'a> {
    args: &'a DevArgs,
    settings: &'a settings::Settings,
    source: &'a Source,
    executable: PathBuf,
    data: Arc<DataDir>,
    database: &'a Database,
    clock: Arc<dyn Clock>,
    progress: Progress,
}

/// What can be asked.
struct Ready {
    store: Store,
    owner: Owner,
    indexed: Indexed,
    worker: Worker,
    sweep: Sweep,
}

impl Start<'_> {
    /// From an empty or an old folder to an index that can be asked.
    async fn prepare(&self) -> Result<Ready, DevError> {
        let store = self.database.prepare(self.clock.now()).await?;
        self.progress.say("the database answers");
        let owner = owner::ensure(&store, &self.data, self.clock.now()).await?;
        let config = self.settings.config()?;
        let remotes = self.remotes(&config).await?;
        // To start without a network, the last fetch will do; from then on a fetch that fails is told as such.
        let at_start = RemoteAccess { last_fetch_will_do: true, ..remotes.clone() };
        let (starting, _) = self.worker(store.clone(), &config, at_start)?;
        let ((), indexed) = tokio::try_join!(
            async {
                feed::refresh(&store, &self.data, self.clock.now()).await?.tell(self.progress);
                Ok(())
            },
            self.index(&store, &owner.principal, &starting),
        )?;
        let (worker, sweep) = self.worker(store.clone(), &config, remotes)?;
        Ok(Ready { store, owner, indexed, worker, sweep })
    }

    async fn serve(&self, ready: Ready, listener: TcpListener, shutdown: Shutdown) -> Result<(), DevError> {
        let failed = |error: &dyn std::fmt::Display| DevError::said(&error.to_string());
        let listener = tokio::net::TcpListener::from_std(listener).map_err(|error| failed(&error))?;
        let mut config = self.settings.config()?;
        config.bound_to(listener.local_addr().map_err(|error| failed(&error))?);
        let Ready { store, owner, indexed, worker, sweep } = ready;
        let serving = self.database.serve(config.database_connections).await?;
        let maintainer = self.maintainer(&config).await?;
        let app = App::in_process(config, serving.clone(), self.clock.clone()).map_err(|error| failed(&error))?;
        let announcement = Announcement {
            mcp_url: format!("{}/mcp", app.public_url),
            api_url: app.public_url.clone(),
            otlp_http_url: None,
            otlp_grpc_url: None,
            token: owner.token,
            organization: owner::ORGANIZATION.to_owned(),
            repository: indexed.repository,
            database_url: self.database.service_url.expose_secret().to_owned(),
            owner_database_url: self.database.owner_url.expose_secret().to_owned(),
        };
        let administer = self.administer();
        // The listener took the port long ago: who connects from now on waits a moment at most.
        self.progress.say("ready");
        announce::print(&announcement, self.args.json, indexed.among_others, &administer).map_err(|error| {
            DevError::failed(format!("stdout cannot be written: {error}"), "connect it and start again")
        })?;
        let renewing =
            tokio::spawn(feed::keep_fresh(store.clone(), self.data.clone(), self.clock.clone(), self.progress));
        let maintaining = maintainer.map(|maintainer| tokio::spawn(maintainer.run(shutdown.clone())));
        let working = tokio::spawn(worker.run(shutdown.clone()));
        let sweeping = tokio::spawn(sweep.run(shutdown.clone()));
        let served = serve(app, listener, shutdown).await;
        renewing.abort();
        working.await.map_err(|error| failed(&error))?;
        sweeping.await.map_err(|error| failed(&error))?;
        if let Some(maintaining) = maintaining {
            maintaining.await.map_err(|error| failed(&error))?;
        }
        serving.close().await;
        store.close().await;
        served.map_err(|error| failed(&error))
    }

    /// How the other commands are called on what this one started.
    fn administer(&self) -> String {
        let executable = self.executable.display();
        match &self.args.data_dir {
            Some(_) => format!("{executable} --dev={}", self.data.path("").display()),
            None => format!("{executable} --dev"),
        }
    }

    /// What looks after the audit log, as `syncd worker` does elsewhere.
    async fn maintainer(&self, config: &Config) -> Result<Option<Maintainer>, DevError> {
        let said = |error: ConfigError| DevError::said(&error.to_string());
        let Some(maintenance) = self.database.maintain().await? else {
            self.progress.say("the audit log is not sealed: SYNC_MAINTENANCE_DATABASE_URL is not set");
            return Ok(None);
        };
        let (keys, heads) = (maintain::keys(config).map_err(said)?, maintain::heads(config).map_err(said)?);
        Ok(Some(Maintainer::new(maintenance, keys, heads, maintain::kept(config), self.clock.clone())))
    }
}
