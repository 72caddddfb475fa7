//! `syncd index` as a child: source code is read in another process, and what comes back is believed line by line.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sync_ingest::snapshot::{Limits, Reader, Record, SnapshotError};
use sync_store::SnapshotFacts;
use tokio::sync::oneshot;

/// Longest index, by the wall.
const WALL: Duration = Duration::from_secs(300);

/// Most bytes of a child's complaints that are kept.
const MAX_STDERR: u64 = 16 << 10;

/// What to index.
#[derive(Debug, Clone)]
pub struct IndexRequest {
    /// The executable that knows the command `index`: always explicit, since tests have one of their own.
    pub executable: PathBuf,
    /// A git repository or a plain folder.
    pub path: PathBuf,
    /// What to read of a git repository.
    pub rev: Option<String>,
    /// Ref name for the header.
    pub ref_name: Option<String>,
    /// `on` or `auto`.
    pub gate: &'static str,
}

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum IndexChildError {
    /// The child could not be started or read.
    #[error("the indexer could not be run: {0}")]
    Start(#[source] io::Error),
    /// It took too long.
    #[error("the index took longer than {} s and was stopped", WALL.as_secs())]
    Time,
    /// The gate refused the path.
    #[error("{what}")]
    Refused {
        /// As the child said it.
        what: String,
        /// What it said to do.
        next: String,
    },
    /// The child failed.
    #[error("{what}")]
    Failed {
        /// As the child said it.
        what: String,
        /// What it said to do.
        next: String,
    },
    /// The child wrote something that is no sound snapshot.
    #[error("the indexer wrote a snapshot that is refused: {0}")]
    Snapshot(#[from] SnapshotError),
}

/// Runs the child and reads its snapshot. Dropping the future kills the child.
pub async fn run(request: &IndexRequest) -> Result<SnapshotFacts, IndexChildError> {
    let running = Running::default();
    let killed_on_drop = KillOnDrop(running.clone());
    let (done, result) = oneshot::channel();
    let request = request.clone();
    // A thread of its own, which outlives the child: the signal that a child gets when its parent dies is sent when
    // the *thread* that started it ends.
    std::thread::Builder::new()
        .name("index-child".to_owned())
        .spawn(move || {
            // Nobody listens any more when the future was dropped; the child is then dead too.
            let _ = done.send(start_and_read(&request, &running));
        })
        .map_err(IndexChildError::Start)?;
    let read = tokio::time::timeout(WALL, result).await;
    drop(killed_on_drop);
    read.map_err(|_| IndexChildError::Time)?
        .unwrap_or_else(|_| Err(IndexChildError::Start(io::Error::other("its thread ended early"))))
}

type Running = Arc<Mutex<Option<Child>>>;

struct KillOnDrop(Running);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        kill(&self.0);
    }
}

fn kill(running: &Running) {
    if let Some(child) = running.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        // It fails only for a child that has ended.
        let _ = child.kill();
    }
}

/// Waits for the end without holding the lock meanwhile, so that a kill never waits for what it is to end.
fn wait(running: &Running) -> io::Result<ExitStatus> {
    loop {
        let mut held = running.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(child) = held.as_mut() else { return Err(io::Error::other("it is gone")) };
        if let Some(status) = child.try_wait()? {
            *held = None;
            return Ok(status);
        }
        drop(held);
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn start_and_read(request: &IndexRequest, running: &Running) -> Result<SnapshotFacts, IndexChildError> {
    let mut child = command(request).spawn().map_err(IndexChildError::Start)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    *running.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
    let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
        return Err(IndexChildError::Start(io::Error::other("its output is not connected")));
    };
    let complaints = std::thread::spawn(move || bounded(stderr));
    let snapshot = read_snapshot(stdout);
    if snapshot.is_err() {
        // It may still be writing what nobody reads.
        kill(running);
    }
    let status = wait(running).map_err(IndexChildError::Start)?;
    let complaints = complaints.join().unwrap_or_default();
    // What the child says of itself comes before what its cut output looks like.
    if !status.success() && !complaints.is_empty() {
        return Err(said(status, &complaints));
    }
    let snapshot = snapshot?;
    if status.success() { Ok(snapshot) } else { Err(said(status, &complaints)) }
}

fn command(request: &IndexRequest) -> Command {
    let mut command = Command::new(&request.executable);
    command.arg("index").arg(&request.path).args(["--gate", request.gate]);
    if let Some(rev) = &request.rev {
        command.arg(format!("--rev={rev}"));
    }
    if let Some(ref_name) = &request.ref_name {
        command.arg(format!("--ref={ref_name}"));
    }
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    die_with_parent(&mut command);
    command
}

/// Has the kernel kill the child when the thread that starts it ends, however it ends.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "pre_exec runs between fork and exec; prctl is async-signal-safe")]
fn die_with_parent(command: &mut Command) {
    // SAFETY: the closure calls one async-signal-safe function and allocates nothing.
    unsafe {
        command.pre_exec(|| {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0 {
                Ok(())
            } else {
                Err(io::Error::last_os_error())
            }
        });
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent(_command: &mut Command) {}

fn read_snapshot(from: impl Read) -> Result<SnapshotFacts, SnapshotError> {
    let mut reader = Reader::new(from, Limits::default())?;
    let mut snapshot = SnapshotFacts { header: reader.header().clone(), skipped: Vec::new(), files: Vec::new() };
    while let Some(record) = reader.next_record()? {
        match record {
            Record::Skipped(skipped) => snapshot.skipped.push(skipped),
            Record::File(facts) => snapshot.files.push(*facts),
        }
    }
    Ok(snapshot)
}

/// Reads to the end so that the child never blocks, and keeps the beginning.
fn bounded(mut from: impl Read) -> String {
    let mut kept = Vec::new();
    // What a dying child still had to say is best effort.
    let _ = (&mut from).take(MAX_STDERR).read_to_end(&mut kept);
    let _ = io::copy(&mut from, &mut io::sink());
    String::from_utf8_lossy(&kept).into_owned()
}

/// Takes `error: what; next: next` apart.
fn said(status: ExitStatus, complaints: &str) -> IndexChildError {
    let line = complaints.lines().rev().find_map(|line| line.strip_prefix("error: "));
    let (what, next) = match line.and_then(|line| line.split_once("; next: ")) {
        Some((what, next)) => (what.to_owned(), next.to_owned()),
        None => (format!("the indexer ended with {status}"), "run `syncd index` on the path by itself".to_owned()),
    };
    if status.code() == Some(3) {
        IndexChildError::Refused { what, next }
    } else {
        IndexChildError::Failed { what, next }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A request whose executable is a script.
    fn scripted(folder: &tempfile::TempDir, script: &str) -> IndexRequest {
        let executable = folder.path().join("indexer");
        std::fs::write(&executable, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&executable, std::fs::Permissions::from_mode(0o700)).unwrap();
        IndexRequest { executable, path: "/repository".into(), rev: None, ref_name: None, gate: "auto" }
    }

    #[tokio::test]
    async fn a_refusal_and_a_failure_keep_their_words() {
        let folder = tempfile::tempdir().unwrap();
        let request = scripted(&folder, "echo 'error: it is a home folder; next: name a repository' >&2; exit 3");
        let refused = run(&request).await.unwrap_err();
        assert!(
            matches!(&refused, IndexChildError::Refused { what, next }
                if what == "it is a home folder" && next == "name a repository"),
            "{refused:?}"
        );
        let request = scripted(&folder, "echo 'half a snapshot'; kill -9 $$");
        let failed = run(&request).await.unwrap_err().to_string();
        assert!(failed.contains("line 1"), "{failed}");
        let request = scripted(&folder, "exit 1");
        assert!(run(&request).await.is_err());
    }

    #[tokio::test]
    async fn a_dropped_future_kills_the_child() {
        let folder = tempfile::tempdir().unwrap();
        let (pid_file, begun) = (folder.path().join("pid"), folder.path().join("begun"));
        nix::unistd::mkfifo(&begun, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let script = format!("echo $$ > {}; echo > {}; exec sleep 600", pid_file.display(), begun.display());
        let request = scripted(&folder, &script);
        let task = tokio::spawn(async move { run(&request).await });
        // Opening the pipe waits until the child writes to it.
        tokio::task::spawn_blocking(move || std::fs::read(begun)).await.unwrap().unwrap();
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        let pid = nix::unistd::Pid::from_raw(std::fs::read_to_string(pid_file).unwrap().trim().parse().unwrap());
        while nix::sys::signal::kill(pid, None).is_ok() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn an_executable_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut request = scripted(&folder, "");
        request.executable = folder.path().join("missing");
        assert!(matches!(run(&request).await, Err(IndexChildError::Start(_))));
    }
}
