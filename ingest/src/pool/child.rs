//! One parse child, as the index sees it: frames in and out without ever blocking on it, and a clock on every file.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use sync_core::text::shown;

use super::wire::{self, HELLO, MAX_REPLY};
use super::{ParseCommand, PoolError};
use crate::limits::FILE_TIME;
use crate::reason::Reason;

/// How long a child may take to say hello.
const START_TIME: Duration = Duration::from_secs(20);
/// When the processor time of a slow file begins to be counted, and how often it is looked at.
const LOOK_TIME: Duration = Duration::from_millis(250);
/// A child ends itself when a file has had its time; one that has not by then is ended.
const CHILD_CPU: Duration = FILE_TIME.saturating_add(Duration::from_secs(1));
/// How long a file may take in any case, on a machine so busy that the child hardly runs.
const STARVED_TIME: Duration = Duration::from_mins(1);
/// How long a child that has closed its output may take to end.
const END_TIME: Duration = Duration::from_secs(1);
/// How much of a child's last words is kept.
const LAST_WORDS: usize = 4096;

/// A running child and how many files it was given and has not answered.
pub(super) struct Child {
    process: std::process::Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
    outgoing: Vec<u8>,
    sent: usize,
    arrived: Vec<u8>,
    said: Vec<u8>,
    asked: usize,
    since: Instant,
    cpu_before: Option<Duration>,
}

/// What became of the oldest file that the child was given.
pub(super) enum Answer {
    /// The child's reply.
    Reply(Vec<u8>),
    /// It killed the child, and why: `parse_timeout`, `parse_memory`, `parse_overflow` or `parse_crash`.
    Died(Reason),
}

impl Child {
    /// Starts a child with an empty environment and waits until it says hello.
    pub(super) fn start(command: &ParseCommand) -> Result<Self, PoolError> {
        let failed = |reason: String| PoolError::Start { executable: command.executable.clone(), reason };
        let mut process = Command::new(&command.executable)
            .args(&command.args)
            .env_clear()
            // Every arena of the allocator reserves address space, which the child's limit counts.
            .env("MALLOC_ARENA_MAX", "1")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (process.stdin.take(), process.stdout.take(), process.stderr.take())
        else {
            return Err(failed("it has no pipes".to_owned()));
        };
        for fd in [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()] {
            fcntl(fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).map_err(|error| failed(error.to_string()))?;
        }
        let mut child = Self {
            process,
            stdin,
            stdout,
            stderr,
            outgoing: Vec::new(),
            sent: 0,
            arrived: Vec::new(),
            said: Vec::new(),
            asked: 0,
            since: Instant::now(),
            cpu_before: None,
        };
        let deadline = child.since + START_TIME;
        loop {
            match wire::split_frame(&mut child.arrived, MAX_REPLY) {
                Ok(Some(hello)) if hello == HELLO => return Ok(child),
                Ok(None) => {}
                _ => return Err(failed("it is not a parse child of this version".to_owned())),
            }
            if Instant::now() >= deadline {
                return Err(failed(format!("it said nothing within {} s", START_TIME.as_secs())));
            }
            if !child.pump(deadline) {
                child.end();
                child.drain_last_words();
                let words = shown(String::from_utf8_lossy(&child.said).trim(), 200);
                return Err(failed(if words.is_empty() { "it ended at once".to_owned() } else { words }));
            }
        }
    }

    /// Gives it a file; the frame goes out while answers are waited for.
    pub(super) fn ask(&mut self, frame: &[u8]) {
        if self.asked == 0 {
            self.restart_clock();
        }
        self.asked += 1;
        self.outgoing.drain(..self.sent);
        self.sent = 0;
        self.outgoing.extend_from_slice(frame);
    }

    /// Waits for what becomes of the oldest file. After [`Answer::Died`] the child is gone.
    pub(super) fn answer(&mut self) -> Option<Answer> {
        if self.asked == 0 {
            return None;
        }
        let mut deadline = self.since + LOOK_TIME;
        loop {
            match wire::split_frame(&mut self.arrived, MAX_REPLY) {
                Ok(Some(reply)) => {
                    self.asked -= 1;
                    self.restart_clock();
                    return Some(Answer::Reply(reply));
                }
                Ok(None) => {}
                Err(_) => {
                    self.kill();
                    return Some(Answer::Died(Reason::ParseCrash));
                }
            }
            if Instant::now() >= deadline {
                if self.is_overdue() {
                    self.kill();
                    return Some(Answer::Died(Reason::ParseTimeout));
                }
                deadline = Instant::now() + LOOK_TIME;
            }
            if !self.pump(deadline) {
                return Some(Answer::Died(self.cause_of_death()));
            }
        }
    }

    fn restart_clock(&mut self) {
        self.since = Instant::now();
        self.cpu_before = None;
    }

    /// Whether the oldest file has had its time. The first look, taken early and only at files that are slow, begins
    /// the count of processor time.
    fn is_overdue(&mut self) -> bool {
        let now = cpu_time(self.process.id());
        if self.cpu_before.is_none() {
            self.cpu_before = now;
        }
        let used = now.zip(self.cpu_before).map(|(now, before)| now.saturating_sub(before));
        // Where the kernel does not say, the child's own limit has to do.
        self.since.elapsed() >= STARVED_TIME || used.is_some_and(|used| used >= CHILD_CPU)
    }

    /// Moves bytes until something arrived or the deadline passed; false when the child has closed its output.
    fn pump(&mut self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left.as_millis().max(1)).unwrap_or(PollTimeout::MAX);
        let mut fds = vec![
            PollFd::new(self.stdout.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.stderr.as_fd(), PollFlags::POLLIN),
        ];
        if self.sent < self.outgoing.len() {
            fds.push(PollFd::new(self.stdin.as_fd(), PollFlags::POLLOUT));
        }
        // An interrupted poll is tried again by the caller's loop.
        if poll(&mut fds, timeout).is_err() {
            return true;
        }
        let is_ready = |fd: &PollFd<'_>| fd.any().unwrap_or(true);
        let (readable, speaks) = (is_ready(&fds[0]), is_ready(&fds[1]));
        let writable = fds.get(2).is_some_and(is_ready);
        drop(fds);
        if writable {
            self.send();
        }
        if speaks {
            self.hear();
        }
        !readable || self.receive()
    }

    fn send(&mut self) {
        match self.stdin.write(&self.outgoing[self.sent..]) {
            Ok(n) => self.sent += n,
            Err(error) if is_momentary(&error) => {}
            // A child that reads no more is about to close its output too, which says why.
            Err(_) => self.sent = self.outgoing.len(),
        }
    }

    fn receive(&mut self) -> bool {
        let start = self.arrived.len();
        let room = self.wanted().clamp(64 << 10, 4 << 20);
        self.arrived.resize(start + room, 0);
        let read = self.stdout.read(&mut self.arrived[start..]);
        self.arrived.truncate(start + read.as_ref().copied().unwrap_or(0));
        match read {
            Ok(0) => false,
            Ok(_) => true,
            Err(error) => is_momentary(&error),
        }
    }

    /// How many bytes of the frame that is arriving are still out.
    fn wanted(&self) -> usize {
        let length = self.arrived.first_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length) as usize);
        (length + 4).saturating_sub(self.arrived.len())
    }

    fn hear(&mut self) {
        let mut words = [0; 1024];
        if let Ok(n) = self.stderr.read(&mut words) {
            self.said.extend_from_slice(&words[..n]);
            let excess = self.said.len().saturating_sub(LAST_WORDS);
            self.said.drain(..excess);
        }
    }

    fn drain_last_words(&mut self) {
        for _ in 0..LAST_WORDS / 1024 {
            self.hear();
        }
    }

    /// The child has closed its output: waits for its end and reads it off the status and its last words.
    fn cause_of_death(&mut self) -> Reason {
        let status = self.end();
        self.drain_last_words();
        let said = String::from_utf8_lossy(&self.said);
        status.map_or(Reason::ParseCrash, |status| cause_of_death(status.signal(), &said))
    }

    /// Its status; nothing where it closed its output and lives on, which is as good as dead.
    fn end(&mut self) -> Option<ExitStatus> {
        let deadline = Instant::now() + END_TIME;
        loop {
            match self.process.try_wait() {
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(1)),
                Ok(Some(status)) => return Some(status),
                _ => {
                    self.kill();
                    return None;
                }
            }
        }
    }

    fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What a child died of: Rust's runtime says so in words where a signal alone is ambiguous (it aborts on a stack
/// overflow and on failed allocation alike).
fn cause_of_death(signal: Option<i32>, said: &str) -> Reason {
    if said.contains("has overflowed its stack") {
        return Reason::ParseOverflow;
    }
    if said.contains("memory allocation of") || said.contains("failed to allocate") {
        return Reason::ParseMemory;
    }
    match signal {
        Some(libc::SIGXCPU) => Reason::ParseTimeout,
        // Not by us: we say why when we kill. The kernel does when memory runs out.
        Some(libc::SIGKILL) => Reason::ParseMemory,
        Some(libc::SIGSEGV) => Reason::ParseOverflow,
        _ => Reason::ParseCrash,
    }
}

fn is_momentary(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Processor time that a process has used, where the kernel says so.
fn cpu_time(pid: u32) -> Option<Duration> {
    /// Ticks of `/proc/*/stat` per second: the same on every architecture that Rust runs on.
    const TICKS_PER_SECOND: u64 = 100;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; what follows it does not. utime and stime are fields 14 and 15.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let ticks = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_death_is_named_by_words_first_and_by_signal_else() {
        let overflow = "\nthread 'parse' has overflowed its stack\nfatal runtime error: stack overflow";
        assert_eq!(cause_of_death(Some(libc::SIGABRT), overflow), Reason::ParseOverflow);
        assert_eq!(cause_of_death(Some(libc::SIGABRT), "memory allocation of 8 bytes failed"), Reason::ParseMemory);
        assert_eq!(cause_of_death(Some(libc::SIGKILL), ""), Reason::ParseMemory);
        assert_eq!(cause_of_death(Some(libc::SIGXCPU), ""), Reason::ParseTimeout);
        assert_eq!(cause_of_death(Some(libc::SIGSEGV), ""), Reason::ParseOverflow);
        assert_eq!(cause_of_death(None, "thread 'parse' panicked at"), Reason::ParseCrash);
    }

    #[test]
    fn a_process_has_used_processor_time() {
        assert!(cpu_time(std::process::id()).is_some());
        assert!(cpu_time(u32::MAX).is_none());
    }
}
