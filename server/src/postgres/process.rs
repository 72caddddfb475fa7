//! The server process: started from a thread that lives as long as it does, and gone when this process is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::PostgresError;
use super::account::Account;
use super::binaries::Binaries;

/// How often a state that no event announces is looked at.
const POLL: Duration = Duration::from_millis(5);

/// How long a fast shutdown may take before it becomes an immediate one; the next start then recovers.
const SHUTDOWN: Duration = Duration::from_secs(10);

/// What a server is started with.
pub(super) struct Start<'a> {
    pub(super) binaries: &'a Binaries,
    pub(super) account: &'a Account,
    pub(super) cluster: &'a Path,
    pub(super) socket_dir: &'a Path,
    pub(super) log: &'a Path,
    pub(super) arguments: Vec<String>,
    pub(super) patience: Duration,
}

/// A running server.
#[derive(Debug)]
pub(super) struct Server {
    stop: Option<mpsc::Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts the server and waits until it answers.
    pub(super) fn start(start: &Start<'_>) -> Result<Self, PostgresError> {
        let program = start.binaries.dir.join("postgres");
        let log = fs::File::create(start.log).map_err(|e| PostgresError::io("writing", start.log, &e))?;
        start.account.own(start.log)?;
        let mut command = start.account.command(&program);
        command.arg("-D").arg(start.cluster).arg("-k").arg(start.socket_dir).args(["-c", "listen_addresses="]);
        command
            .args(&start.arguments)
            .current_dir(start.cluster)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        die_with_parent(&mut command, Signal::SIGINT);

        let (spawned, was_spawned) = mpsc::channel();
        let (stop, stopped) = mpsc::channel();
        let pid_file = start.cluster.join("postmaster.pid");
        let patience = start.patience;
        // The kernel sends the death signal when the thread that spawned the child ends, so that thread stays.
        let keeper = thread::Builder::new()
            .name("postgres".to_owned())
            .spawn(move || keep(command, &pid_file, patience, &spawned, &stopped))
            .map_err(|e| PostgresError::io("starting", &program, &e))?;
        let server = Self { stop: Some(stop), keeper: Some(keeper) };
        match was_spawned.recv() {
            Ok(Started::Ready) => Ok(server),
            Ok(Started::Failed(error)) => Err(PostgresError::io("starting", &program, &error)),
            Ok(Started::Ended(status)) => Err(PostgresError::new(
                format!("Postgres ended at its start ({status}): {}", last_words(start.log)),
                format!("see `{}`", start.log.display()),
            )),
            Ok(Started::Slow) | Err(_) => Err(PostgresError::new(
                format!("Postgres did not answer within {} s", patience.as_secs()),
                format!("see `{}`", start.log.display()),
            )),
        }
    }

    /// Asks the server to end and waits until it has.
    pub(super) fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(keeper) = self.keeper.take()
            && keeper.join().is_err()
        {
            tracing::error!("the thread that keeps the private Postgres failed");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

enum Started {
    Ready,
    Failed(io::Error),
    Ended(ExitStatus),
    Slow,
}

/// The life of the keeper: start, tell, wait for the word to stop, stop.
fn keep(
    mut command: Command,
    pid_file: &Path,
    patience: Duration,
    started: &mpsc::Sender<Started>,
    stopped: &mpsc::Receiver<()>,
) {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let _ = started.send(Started::Failed(error));
            return;
        }
    };
    let outcome = await_ready(&mut child, pid_file, patience);
    let ready = matches!(outcome, Started::Ready);
    if started.send(outcome).is_ok() && ready {
        // Nothing is ever sent: it returns when the other end is dropped.
        let _ = stopped.recv();
    }
    end(&mut child);
}

fn await_ready(child: &mut Child, pid_file: &Path, patience: Duration) -> Started {
    let deadline = Instant::now() + patience;
    loop {
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => return Started::Ended(status),
            Err(error) => return Started::Failed(error),
        }
        if is_ready(pid_file, child.id()) {
            return Started::Ready;
        }
        if Instant::now() > deadline {
            return Started::Slow;
        }
        thread::sleep(POLL);
    }
}

/// Line 1 of `postmaster.pid` is the process, line 8 its state.
fn is_ready(pid_file: &Path, pid: u32) -> bool {
    let Ok(text) = fs::read_to_string(pid_file) else { return false };
    let mut lines = text.lines();
    lines.next().is_some_and(|line| line.trim() == pid.to_string())
        && lines.nth(6).is_some_and(|state| state.trim() == "ready")
}

fn end(child: &mut Child) {
    signal(child, Signal::SIGINT);
    let deadline = Instant::now() + SHUTDOWN;
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() > deadline {
            signal(child, Signal::SIGQUIT);
            break;
        }
        thread::sleep(POLL);
    }
    if let Err(error) = child.wait() {
        tracing::error!(%error, "the private Postgres could not be waited for");
    }
}

fn signal(child: &Child, signal: Signal) {
    let Ok(pid) = i32::try_from(child.id()) else { return };
    // Already gone is as good.
    let _ = kill(Pid::from_raw(pid), signal);
}

/// After this process was killed its server gets SIGINT and takes a moment to end; whoever comes next waits for it.
pub(super) fn wait_for_leftover(cluster: &Path, patience: Duration) -> Result<(), PostgresError> {
    let pid_file = cluster.join("postmaster.pid");
    let deadline = Instant::now() + patience;
    while let Some(pid) = running_server(&pid_file) {
        if Instant::now() > deadline {
            return Err(PostgresError::new(
                format!("a Postgres (process {pid}) still runs on `{}`", cluster.display()),
                "end that process, or start on another data directory",
            ));
        }
        thread::sleep(POLL);
    }
    // The number may meanwhile be another process's; Postgres itself would then believe that it still runs.
    match fs::remove_file(&pid_file) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(PostgresError::io("clearing", &pid_file, &e)),
        _ => Ok(()),
    }
}

fn running_server(pid_file: &Path) -> Option<i32> {
    let text = fs::read_to_string(pid_file).ok()?;
    let pid: i32 = text.lines().next()?.trim().parse().ok()?;
    let alive = match kill(Pid::from_raw(pid), None) {
        Ok(()) | Err(nix::errno::Errno::EPERM) => true,
        Err(_) => false,
    };
    (alive && is_postgres(pid)).then_some(pid)
}

/// Where the kernel tells names of processes, a number that went to another program is not taken for the server.
fn is_postgres(pid: i32) -> bool {
    let name: PathBuf = format!("/proc/{pid}/comm").into();
    match fs::read_to_string(name) {
        Ok(name) => name.trim() == "postgres",
        Err(_) => !Path::new("/proc/self/comm").exists(),
    }
}

/// A group of its own, so that Ctrl-C reaches this process only and it stops the server when its own work is done; and
/// this signal from the kernel when the parent is gone, however that happened.
pub(super) fn die_with_parent(command: &mut Command, signal: Signal) {
    use std::os::unix::process::CommandExt as _;

    command.process_group(0);
    #[cfg(target_os = "linux")]
    {
        let parent = nix::unistd::getpid();
        #[expect(
            unsafe_code,
            reason = "pre_exec has no safe form; the closure makes two system calls and allocates nothing"
        )]
        // SAFETY: between fork and exec only prctl and getppid are called, both of which are async-signal-safe.
        unsafe {
            command.pre_exec(move || {
                nix::sys::prctl::set_pdeathsig(signal)?;
                // The parent may have died before the kernel was told.
                if nix::unistd::getppid() == parent { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
            });
        }
    }
}

fn last_words(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    sync_core::text::shown(&lines[lines.len().saturating_sub(3)..].join(" | "), 500)
}
