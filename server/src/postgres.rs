//! A private Postgres for `syncd dev` and the tests: the machine's own binaries, one data directory, no TCP port.
//!
//! Its socket lies in a folder that only one account can enter, so roles log in without a password. That is right for
//! one machine and one user, and the reason why nothing but `dev` and the tests may use it.

mod account;
mod binaries;
mod process;

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use account::Account;
use binaries::Binaries;
use process::Server;

/// How the private server runs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Whether a commit survives a power cut. Tests say no and are faster.
    pub durable: bool,
    /// Most connections.
    pub max_connections: u16,
    /// Where the binaries are. Absent: `SYNC_PG_BIN`, else the newest that this machine has.
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

impl PostgresError {
    fn new(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { what: what.into(), next: next.into() }
    }

    fn io(doing: &str, path: &Path, error: &io::Error) -> Self {
        Self::new(format!("{doing} `{}` failed: {error}", path.display()), "make the folder writable or choose another")
    }
}

/// Sockets have at most 107 bytes of path; `/.s.PGSQL.5432.lock` comes behind the folder's.
const MAX_SOCKET_DIR: usize = 80;

/// How often, and how far apart, it is tried to clear what a killed first start left.
const CLEARINGS: u32 = 40;
const CLEARING_WAIT: Duration = Duration::from_millis(50);

/// How long a server that its process left behind may take to go, and one that recovers to come up.
const PATIENCE: Duration = Duration::from_mins(1);

/// A private Postgres that runs until this is dropped, or until the process dies, however it does.
#[derive(Debug)]
pub struct EmbeddedPostgres {
    socket_dir: PathBuf,
    version: String,
    // Dropped in this order: the server is gone before the folder may be used by another.
    server: Server,
    _lock: File,
}

impl EmbeddedPostgres {
    /// Starts a server on `data_dir`, made at first use. Blocks until it answers (0.6 s the first time, 50 ms later).
    pub fn start(data_dir: &Path, settings: &Settings) -> Result<Self, PostgresError> {
        let account = Account::choose()?;
        make_private(data_dir, &account)?;
        let data_dir = &fs::canonicalize(data_dir).map_err(|e| PostgresError::io("opening", data_dir, &e))?;
        let lock = lock(data_dir)?;
        let cluster = data_dir.join("data");
        let binaries = Binaries::find(settings.binaries.as_deref(), major_of(&cluster).as_deref())?;
        account.check_reaches(data_dir)?;
        account.check_reaches(&binaries.dir)?;
        process::wait_for_leftover(&cluster, PATIENCE)?;
        if !cluster.join("PG_VERSION").exists() {
            initialize(data_dir, &cluster, &binaries, &account, settings)?;
        }
        let socket_dir = socket_dir(data_dir);
        make_private(&socket_dir, &account)?;
        let server = Server::start(&process::Start {
            binaries: &binaries,
            account: &account,
            cluster: &cluster,
            socket_dir: &socket_dir,
            log: &data_dir.join("postgres.log"),
            arguments: arguments(settings),
            patience: PATIENCE,
        })?;
        tracing::debug!(version = %binaries.version, binaries = %binaries.dir.display(), "private Postgres is up");
        Ok(Self { socket_dir, version: binaries.version, server, _lock: lock })
    }

    /// Address of a database for a role; no password, since only this user reaches the socket.
    pub fn url(&self, role: &str, database: &str) -> String {
        url(&self.socket_dir, role, database)
    }

    /// Address for the superuser, who only makes roles and databases: see [`sync_store::create_database`].
    pub fn superuser_url(&self) -> String {
        self.url("postgres", "postgres")
    }

    /// Version of the server, as its binary says it.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Stops the server and waits until it is gone; dropping does the same.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for EmbeddedPostgres {
    fn drop(&mut self) {
        self.server.stop();
        // Its socket went with the server; another start makes the folder anew.
        if let Err(error) = fs::remove_dir_all(&self.socket_dir) {
            tracing::debug!(%error, "the socket folder of the private Postgres stays behind");
        }
    }
}

fn arguments(settings: &Settings) -> Vec<String> {
    let mut set = vec![
        format!("max_connections={}", settings.max_connections),
        "unix_socket_permissions=0700".to_owned(),
        "shared_buffers=64MB".to_owned(),
        "timezone=UTC".to_owned(),
        "log_timezone=UTC".to_owned(),
        // Statements here are short; compiling them costs more than it saves.
        "jit=off".to_owned(),
    ];
    if !settings.durable {
        set.extend(
            ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off"].map(str::to_owned),
        );
    }
    set.into_iter().flat_map(|setting| ["-c".to_owned(), setting]).collect()
}

/// A folder that only the server's account can enter.
fn make_private(dir: &Path, account: &Account) -> Result<(), PostgresError> {
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent).map_err(|e| PostgresError::io("making", parent, &e))?;
    }
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => account.own(dir)?,
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(e) => return Err(PostgresError::io("making", dir, &e)),
    }
    // Not followed: in a shared folder the name may be somebody else's link.
    let found = fs::symlink_metadata(dir).map_err(|e| PostgresError::io("opening", dir, &e))?;
    if !found.is_dir() {
        return Err(PostgresError::new(format!("`{}` is not a folder", dir.display()), "remove it or choose another"));
    }
    if found.uid() != account.uid() {
        let empty = fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
        if !(empty && account.drops()) {
            return Err(PostgresError::new(
                format!("`{}` belongs to another account (uid {})", dir.display(), found.uid()),
                "choose another folder, or run as the account that made it",
            ));
        }
        account.own(dir)?;
    }
    if found.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700))
            .map_err(|e| PostgresError::io("closing", dir, &e))?;
    }
    Ok(())
}

/// One start at a time on a data directory. The folder itself is locked, so that no file stays behind.
fn lock(data_dir: &Path) -> Result<File, PostgresError> {
    let dir = File::open(data_dir).map_err(|e| PostgresError::io("opening", data_dir, &e))?;
    dir.try_lock().map_err(|_| {
        PostgresError::new(
            format!("the data directory `{}` is in use by another process", data_dir.display()),
            "stop the other `syncd dev`, or give this one another --data-dir",
        )
    })?;
    Ok(dir)
}

fn major_of(cluster: &Path) -> Option<String> {
    Some(fs::read_to_string(cluster.join("PG_VERSION")).ok()?.trim().to_owned())
}

/// Makes the cluster beside its place and moves it there whole, so that an interrupted first start leaves nothing that
/// a later one could take for a database.
fn initialize(
    data_dir: &Path,
    cluster: &Path,
    binaries: &Binaries,
    account: &Account,
    settings: &Settings,
) -> Result<(), PostgresError> {
    let unfinished = data_dir.join("data.unfinished");
    for leftover in [&unfinished, &cluster.to_path_buf()] {
        clear(leftover).map_err(|e| PostgresError::io("clearing", leftover, &e))?;
    }
    let mut command = account.command(&binaries.dir.join("initdb"));
    command.arg("-D").arg(&unfinished).args(["-U", "postgres", "-E", "UTF8", "--locale=C", "-A", "trust"]);
    command.arg("--no-instructions").current_dir(data_dir);
    if !settings.durable {
        command.arg("--no-sync");
    }
    // Killed outright: what it would clear up by path may by then be its successor's.
    process::die_with_parent(&mut command, nix::sys::signal::Signal::SIGKILL);
    let output = command.output().map_err(|e| PostgresError::io("running", &binaries.dir.join("initdb"), &e))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(PostgresError::new(
            format!("initdb failed: {}", sync_core::text::shown(said.trim(), 500)),
            "see what it says of the folder, its owner and its space",
        ));
    }
    fs::rename(&unfinished, cluster).map_err(|e| PostgresError::io("moving", &unfinished, &e))
}

/// Removes a folder. What a killed first start had running ends by itself, but may still be writing into it.
fn clear(leftover: &Path) -> io::Result<()> {
    for _ in 0..CLEARINGS {
        match fs::remove_dir_all(leftover) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => std::thread::sleep(CLEARING_WAIT),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ if leftover.exists() => std::thread::sleep(CLEARING_WAIT),
            _ => return Ok(()),
        }
    }
    fs::remove_dir_all(leftover)
}

/// Address of a database of the server that runs on a data directory, for a role; none where none runs. For whoever did
/// not start it.
pub fn url_of(data_dir: &Path, role: &str, database: &str) -> Option<String> {
    let socket_dir = socket_dir(data_dir);
    socket_dir.exists().then(|| url(&socket_dir, role, database))
}

/// What every address of the server on a data directory holds.
pub fn host_of(data_dir: &Path) -> String {
    format!("host={}", encoded(&socket_dir(data_dir)))
}

fn url(socket_dir: &Path, role: &str, database: &str) -> String {
    format!("postgres://{role}@localhost/{database}?host={}", encoded(socket_dir))
}

/// In the data directory, where nothing is left behind after a crash that the next start would not reuse; where that
/// is too long for a socket, a folder of the system's for temporary files, named after the data directory.
fn socket_dir(data_dir: &Path) -> PathBuf {
    let inside = data_dir.join("socket");
    if inside.as_os_str().len() <= MAX_SOCKET_DIR {
        return inside;
    }
    let digest = hex::encode(&Sha256::digest(data_dir.as_os_str().as_encoded_bytes())[..8]);
    let name = format!("sync-pg-{digest}");
    let temporary = std::env::temp_dir().join(&name);
    if temporary.as_os_str().len() <= MAX_SOCKET_DIR { temporary } else { Path::new("/tmp").join(name) }
}

/// As a value in an address.
fn encoded(path: &Path) -> String {
    url::form_urlencoded::byte_serialize(path.as_os_str().as_encoded_bytes()).collect::<String>().replace('+', "%20")
}

#[cfg(test)]
mod tests;
