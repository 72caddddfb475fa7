//! The one Postgres of a test process, and the template that every test's database is a copy of.
//!
//! In this order: `TEST_DATABASE_URL` (a role that may make roles and databases), the machine's binaries or those of
//! `SYNC_PG_BIN`, and with the feature `containers` a container where an engine answers. Which one is said on stderr.

use std::process::id as process_id;
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::{Context as _, Result};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use sync_server::postgres::{EmbeddedPostgres, Settings};
use sync_store::Passwords;
use tokio::runtime::Runtime;
use url::Url;

use crate::NOW;

/// The owner's and the application role's password, where the server asks for one. Only ever a test's.
const PASSWORD: &str = "sync-tests";

/// The server's address for the superuser, and the template's name.
pub(crate) struct Cluster {
    superuser: Url,
    template: String,
}

static CLUSTER: OnceLock<Cluster> = OnceLock::new();

/// What this process started and must end. A static is never dropped, so the end of the process does it.
static STARTED: Mutex<Option<Started>> = Mutex::new(None);

struct Started {
    server: Option<(EmbeddedPostgres, tempfile::TempDir)>,
    #[cfg(feature = "containers")]
    container: Option<containers::Container>,
}

/// Starts the cluster at first use and migrates the template; later calls give the same one.
pub(crate) fn cluster() -> &'static Cluster {
    CLUSTER.get_or_init(|| {
        on_another_thread(Cluster::start).unwrap_or_else(|error| panic!("the tests have no Postgres: {error:#}"))
    })
}

impl Cluster {
    fn start() -> Result<Self> {
        let (superuser, said) = server()?;
        say(&format!("tests: Postgres from {said}"));
        let cluster = Self { superuser, template: format!("sync_test_template_{}", process_id()) };
        block_on(cluster.make_template()).context("migrating the template database")?;
        Ok(cluster)
    }

    async fn make_template(&self) -> Result<()> {
        let superuser = self.superuser.as_str();
        self.drop_database(&self.template).await?;
        sync_store::create_database(superuser, "sync_owner", &self.template).await?;
        let mut connection = PgConnection::connect(superuser).await?;
        connection.execute(AssertSqlSafe(format!("ALTER ROLE sync_owner PASSWORD '{PASSWORD}'"))).await?;
        connection.close().await?;
        let passwords = Passwords { app: Some(PASSWORD), maintainer: Some(PASSWORD) };
        sync_store::migrate(&self.url_for("sync_owner", &self.template), passwords, NOW).await?;
        Ok(())
    }

    /// A copy of the template.
    pub(crate) async fn create_database(&self, name: &str) -> Result<()> {
        let mut connection = PgConnection::connect(self.superuser.as_str()).await?;
        connection
            .execute(AssertSqlSafe(format!(
                "CREATE DATABASE {name} OWNER sync_owner TEMPLATE {} STRATEGY FILE_COPY",
                self.template
            )))
            .await?;
        connection.close().await?;
        Ok(())
    }

    pub(crate) async fn drop_database(&self, name: &str) -> Result<()> {
        let mut connection = PgConnection::connect(self.superuser.as_str()).await?;
        connection.execute(AssertSqlSafe(format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))).await?;
        connection.close().await?;
        Ok(())
    }

    /// Address of a database for `sync_owner`, `sync_app` or `sync_maintainer`.
    pub(crate) fn url_for(&self, role: &str, database: &str) -> String {
        let mut url = self.superuser.clone();
        url.set_path(database);
        // These fail only for addresses without a host, which ours all have.
        let set = url.set_username(role).and_then(|()| url.set_password(Some(PASSWORD)));
        debug_assert!(set.is_ok());
        url.into()
    }

    /// Address of a database for the superuser, who sees through row security.
    pub(crate) fn superuser_url(&self, database: &str) -> String {
        let mut url = self.superuser.clone();
        url.set_path(database);
        url.into()
    }
}

fn server() -> Result<(Url, String)> {
    if let Ok(given) = std::env::var("TEST_DATABASE_URL") {
        let url = given.parse().context("TEST_DATABASE_URL is no address; next: postgres://superuser@host/postgres")?;
        return Ok((url, "TEST_DATABASE_URL".to_owned()));
    }
    let dir = tempfile::Builder::new().prefix("sync-tests-").tempdir()?;
    // Root's server runs as another account, which must be able to pass.
    std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    // For figures that hold where data does: benches ask for it.
    let durable = std::env::var_os("TEST_DATABASE_DURABLE").is_some();
    let settings = Settings { durable, max_connections: 200, binaries: None };
    match EmbeddedPostgres::start(&dir.path().join("pg"), &settings) {
        Ok(server) => {
            let url = server.superuser_url().parse()?;
            let said = format!("this machine's binaries, version {}", server.version());
            remember(Started {
                server: Some((server, dir)),
                #[cfg(feature = "containers")]
                container: None,
            });
            Ok((url, said))
        }
        #[cfg(feature = "containers")]
        Err(error) => {
            let (container, url) =
                containers::Container::start().with_context(|| format!("no container, and {error}"))?;
            remember(Started { server: None, container: Some(container) });
            Ok((url, "a container".to_owned()))
        }
        #[cfg(not(feature = "containers"))]
        Err(error) => Err(error.into()),
    }
}

fn remember(started: Started) {
    *STARTED.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
    #[expect(unsafe_code, reason = "the test runner ends the process without dropping statics; this is the one hook")]
    // SAFETY: the function takes no arguments, unwinds nowhere and touches only a static with a constant initializer.
    let registered = unsafe { libc::atexit(end) };
    assert_eq!(registered, 0, "the end of the process cannot be hooked");
}

extern "C" fn end() {
    let started = STARTED.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(started) = started else { return };
    if let Some((server, dir)) = started.server {
        server.stop();
        drop(dir);
    }
    #[cfg(feature = "containers")]
    if let Some(container) = started.container {
        container.stop();
    }
}

/// Tests run on runtimes of their own, in which one may not block on another.
pub(crate) fn on_another_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| match scope.spawn(work).join() {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    runtime().block_on(work)
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap_or_else(|error| panic!("no runtime: {error}"))
}

#[expect(clippy::print_stderr, reason = "which Postgres the tests use is part of their output")]
fn say(what: &str) {
    eprintln!("{what}");
}

#[cfg(feature = "containers")]
mod containers {
    use anyhow::Result;
    use testcontainers::core::{IntoContainerPort as _, WaitFor};
    use testcontainers::runners::AsyncRunner as _;
    use testcontainers::{ContainerAsync, GenericImage, ImageExt as _};
    use tokio::runtime::Runtime;
    use url::Url;

    /// A running container, with the runtime that its connection to the engine lives on.
    pub(super) struct Container {
        container: ContainerAsync<GenericImage>,
        runtime: Runtime,
    }

    impl Container {
        pub(super) fn start() -> Result<(Self, Url)> {
            let runtime = super::runtime();
            let (container, url) = runtime.block_on(run())?;
            Ok((Self { container, runtime }, url))
        }

        pub(super) fn stop(self) {
            // A container that cannot be removed is the engine's to report; the tests are over.
            let _ = self.runtime.block_on(self.container.rm());
        }
    }

    async fn run() -> Result<(ContainerAsync<GenericImage>, Url)> {
        // The image says so twice: the first server only prepares the cluster.
        let ready = || WaitFor::message_on_stderr("database system is ready to accept connections");
        let container = GenericImage::new("postgres", "17-alpine")
            .with_exposed_port(5432.tcp())
            .with_wait_for(ready())
            .with_wait_for(ready())
            .with_env_var("POSTGRES_PASSWORD", super::PASSWORD)
            .with_cmd(["-c", "fsync=off", "-c", "max_connections=200"])
            .start()
            .await?;
        let url = format!(
            "postgres://postgres:{}@{}:{}/postgres",
            super::PASSWORD,
            container.get_host().await?,
            container.get_host_port_ipv4(5432.tcp()).await?
        );
        Ok((container, url.parse()?))
    }
}
