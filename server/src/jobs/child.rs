//! A command of our own as a child process, which ends with whoever asked for it.

use std::io::{self, Read, Write as _};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

/// Most bytes of a child's complaints that are kept.
const MAX_STDERR: u64 = 16 << 10;

/// The exit code by which our commands say that what was asked is refused.
const REFUSED: i32 = 3;

/// Why a child gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// It could not be started or waited for.
    #[error("{name} could not be run: {reason}")]
    Start {
        /// What it does.
        name: &'static str,
        /// What the system says.
        reason: io::Error,
    },
    /// It took too long.
    #[error("{name} took longer than {} s and was stopped", limit.as_secs())]
    Time {
        /// What it does.
        name: &'static str,
        /// How long it had.
        limit: Duration,
    },
    /// It refused what was asked.
    #[error("{what}")]
    Refused {
        /// As it said.
        what: String,
        /// What it said to do.
        next: String,
    },
    /// It failed.
    #[error("{what}")]
    Failed {
        /// As it said.
        what: String,
        /// What it said to do.
        next: String,
    },
}

/// A command of `executable` with an empty environment, for [`run`].
pub(super) fn command(executable: &Path, name: &str) -> Command {
    let mut command = Command::new(executable);
    command.arg(name).env_clear();
    command
}

/// Runs the child with `read` on its output, and gives what that read once the child has ended well. Dropping the
/// future kills the child. `name` says in errors what it does.
pub(super) async fn run<T: Send + 'static>(
    name: &'static str,
    command: Command,
    limit: Duration,
    read: impl FnOnce(ChildStdout) -> T + Send + 'static,
) -> Result<T, ChildError> {
    run_with(name, command, Vec::new(), limit, read).await
}

/// As [`run`], with `input` on the child's stdin: what others may not see in a list of processes.
pub(super) async fn run_with<T: Send + 'static>(
    name: &'static str,
    mut command: Command,
    input: Vec<u8>,
    limit: Duration,
    read: impl FnOnce(ChildStdout) -> T + Send + 'static,
) -> Result<T, ChildError> {
    let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    die_with_parent(&mut command);
    let start = |reason| ChildError::Start { name, reason };
    let running = Running::default();
    let killed_on_drop = KillOnDrop(running.clone());
    let (done, result) = oneshot::channel();
    // A thread of its own, which outlives the child: the signal that a child gets when its parent dies is sent when
    // the *thread* that started it ends.
    std::thread::Builder::new()
        .name("child".to_owned())
        .spawn(move || {
            // Nobody listens any more when the future was dropped; the child is then dead too.
            let _ = done.send(start_and_read(&mut command, input, &running, read));
        })
        .map_err(start)?;
    let ended = tokio::time::timeout(limit, result).await;
    drop(killed_on_drop);
    let ended = ended.map_err(|_| ChildError::Time { name, limit })?;
    let (read, status, complaints) =
        ended.unwrap_or_else(|_| Err(io::Error::other("its thread ended early"))).map_err(start)?;
    if !status.success() {
        return Err(said(name, status, &complaints));
    }
    // What this system does not keep a child from: the operator should know it.
    for note in complaints.lines().filter_map(|line| line.strip_prefix("note: ")) {
        tracing::warn!(child = name, note);
    }
    Ok(read)
}

type Running = Arc<Mutex<Option<Child>>>;

struct KillOnDrop(Running);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if let Some(child) = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            // It fails only for a child that has ended.
            let _ = child.kill();
        }
    }
}

fn start_and_read<T>(
    command: &mut Command,
    input: Vec<u8>,
    running: &Running,
    read: impl FnOnce(ChildStdout) -> T,
) -> io::Result<(T, ExitStatus, String)> {
    let mut child = command.spawn()?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    *running.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
    let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
        return Err(io::Error::other("its output is not connected"));
    };
    let complaints = std::thread::spawn(move || bounded(stderr));
    if let Some(mut stdin) = stdin {
        // A child that does not want it says so when it ends.
        std::thread::spawn(move || stdin.write_all(&input));
    }
    // A reader that stops early closes the pipe, and the child ends at its next write.
    let read = read(stdout);
    let status = wait(running)?;
    Ok((read, status, complaints.join().unwrap_or_default()))
}

/// Waits for the end without holding the lock meanwhile, so that a kill never waits for what it is to end.
fn wait(running: &Running) -> io::Result<ExitStatus> {
    let gone = || io::Error::other("it is gone");
    let held = || running.lock().unwrap_or_else(PoisonError::into_inner);
    let id = held().as_ref().ok_or_else(gone)?.id();
    until_ended(id)?;
    let mut held = held();
    let status = held.as_mut().ok_or_else(gone)?.wait()?;
    *held = None;
    Ok(status)
}

/// Waits until a child of ours has ended, and leaves it to be asked how: so long its number is no other process's, and
/// who kills it meanwhile hits nobody else.
#[expect(unsafe_code, reason = "no safe function waits without taking the status")]
fn until_ended(id: u32) -> io::Result<()> {
    loop {
        // SAFETY: all bits zero are a valid `siginfo_t`, which is plain data that the call only writes to.
        let mut ended: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: `ended` lives as long as the call.
        let done = unsafe { libc::waitid(libc::P_PID, id, &raw mut ended, libc::WEXITED | libc::WNOWAIT) };
        if done == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// How much less than the service itself a child is given of a machine that is busy: who asks goes before who indexes.
#[cfg(target_os = "linux")]
const NICENESS: libc::c_int = 10;

/// Has the kernel kill the child when the thread that starts it ends, however it ends, and serve it after others.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "pre_exec runs between fork and exec; prctl and setpriority are async-signal-safe")]
fn die_with_parent(command: &mut Command) {
    // SAFETY: the closure calls async-signal-safe functions and allocates nothing.
    unsafe {
        command.pre_exec(|| {
            // One that is served later already stays so, which the kernel says as an error.
            libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS);
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

/// Reads to the end so that the child never blocks, and keeps the beginning.
fn bounded(mut from: impl Read) -> String {
    let mut kept = Vec::new();
    // What a dying child still had to say is best effort.
    let _ = (&mut from).take(MAX_STDERR).read_to_end(&mut kept);
    let _ = io::copy(&mut from, &mut io::sink());
    String::from_utf8_lossy(&kept).into_owned()
}

/// Takes `error: what; next: next` apart.
fn said(name: &str, status: ExitStatus, complaints: &str) -> ChildError {
    let line = complaints.lines().rev().find_map(|line| line.strip_prefix("error: "));
    let (what, next) = match line.and_then(|line| line.split_once("; next: ")) {
        Some((what, next)) => (what.to_owned(), next.to_owned()),
        None => (format!("{name} ended with {status}"), "check the system's log for why it was killed".to_owned()),
    };
    if status.code() == Some(REFUSED) { ChildError::Refused { what, next } } else { ChildError::Failed { what, next } }
}

#[cfg(test)]
pub(super) mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    /// An executable that is a shell script.
    pub(crate) fn scripted(folder: &tempfile::TempDir, script: &str) -> PathBuf {
        let executable = folder.path().join("executable");
        std::fs::write(&executable, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&executable, std::fs::Permissions::from_mode(0o700)).unwrap();
        executable
    }

    async fn run_script(script: &str) -> Result<String, ChildError> {
        let folder = tempfile::tempdir().unwrap();
        let executable = scripted(&folder, script);
        run("the script", command(&executable, "index"), Duration::from_mins(1), |out| {
            std::io::read_to_string(out).unwrap()
        })
        .await
    }

    #[tokio::test]
    async fn output_refusal_and_failure_keep_their_words() {
        assert_eq!(run_script("echo $1").await.unwrap(), "index\n");
        let refused = run_script("echo 'error: it is a home folder; next: name a repository' >&2; exit 3").await;
        assert!(
            matches!(&refused, Err(ChildError::Refused { what, next })
                if what == "it is a home folder" && next == "name a repository"),
            "{refused:?}"
        );
        let killed = run_script("echo half; kill -9 $$").await.unwrap_err().to_string();
        assert!(killed.contains("the script ended with signal: 9"), "{killed}");
        let missing = run("it", command(Path::new("/nowhere/at/all"), "index"), Duration::from_mins(1), drop).await;
        assert!(matches!(missing, Err(ChildError::Start { .. })), "{missing:?}");
    }

    #[tokio::test]
    async fn a_dropped_future_kills_the_child() {
        let folder = tempfile::tempdir().unwrap();
        let (pid_file, begun) = (folder.path().join("pid"), folder.path().join("begun"));
        nix::unistd::mkfifo(&begun, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let script = format!("echo $$ > {}; echo > {}; exec /bin/sleep 600", pid_file.display(), begun.display());
        let command = command(&scripted(&folder, &script), "index");
        let task = tokio::spawn(run("the script", command, Duration::from_mins(10), drop));
        // Opening the pipe waits until the child writes to it.
        tokio::task::spawn_blocking(move || std::fs::read(begun)).await.unwrap().unwrap();
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        let pid = nix::unistd::Pid::from_raw(std::fs::read_to_string(pid_file).unwrap().trim().parse().unwrap());
        while nix::sys::signal::kill(pid, None).is_ok() {
            tokio::task::yield_now().await;
        }
    }
}
