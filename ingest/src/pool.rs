//! The parse children: source text is only ever parsed in a process that may die.
//!
//! A parser is never trusted to bound itself. Each child has its own limits ([`crate::limits`]); whatever kills one is
//! recorded at the file it had, a new child takes over, and the other files are none the worse for it.

mod child;
mod cost;
mod recall;
mod serve;
mod wire;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

pub(crate) use cost::limits;
pub use serve::serve;

use crate::analyze::Kept;
use crate::cache::{Cache, Key, State};
use crate::index::Progress;
use crate::parse::ParsedFile;
use crate::reason::Reason;
use crate::tree::{Node, Reader, Tree};
use crate::walk::{self, Candidate, SourceEntry};
use child::{Answer, Child};

/// Files that a child is given at once: the second one waits in the pipe while the first is parsed.
const AHEAD: usize = 2;

/// How a parse child is started: always explicit, since the executable differs by product and in tests.
#[derive(Debug, Clone)]
pub struct ParseCommand {
    /// Absolute path of the executable.
    pub executable: PathBuf,
    /// Its arguments, such as `parse`.
    pub args: Vec<OsString>,
}

/// What became of a file.
#[derive(Debug)]
pub enum Outcome {
    /// Its facts.
    Parsed(SourceEntry, Box<ParsedFile>),
    /// The last index has it, and the cache its facts.
    Kept(SourceEntry),
    /// Its bytes say that it is no source: `binary` or `generated`.
    Skipped(Reason),
    /// It could not be read or parsed, and why: `unreadable`, `too_large`, `parse_error`, `parse_timeout`,
    /// `parse_memory`, `parse_overflow`, `parse_crash` or `parse_cut`.
    Failed(Reason),
}

/// What became of the candidates.
#[derive(Debug)]
pub struct Outcomes {
    /// Of each, in their order.
    pub outcomes: Vec<Outcome>,
    /// How many a child was asked about.
    pub parsed: usize,
    /// How many the cache knew.
    pub cached: usize,
}

/// Children cannot be had at all.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// One does not start.
    #[error("the parse child `{}` does not start: {reason}", executable.display())]
    Start {
        /// What was started.
        executable: PathBuf,
        /// Why.
        reason: String,
    },
    /// A thread of this process is gone.
    #[error("a worker of the pool failed")]
    Worker,
}

/// A child's answer.
#[derive(Serialize, Deserialize)]
struct Said {
    /// What it cost ([`cost`]).
    cost: u32,
    reply: Reply,
}

/// What a child says of a file.
#[derive(Serialize, Deserialize)]
enum Reply {
    Parsed(Box<ParsedFile>),
    Refused,
}

/// Reads and parses the candidates, `workers` at a time. What the cache knows is not parsed, and of a commit not even
/// read; no child is started where it knows everything.
pub(crate) fn parse_files(
    command: &ParseCommand,
    workers: NonZeroUsize,
    tree: &Tree,
    candidates: &[Candidate],
    (cache, last): (Option<&Cache>, Option<&State<'_>>),
    progress: &dyn Progress,
) -> Result<Outcomes, PoolError> {
    let shared = Shared::default();
    let kept =
        last.map(|last| last.of_paths(candidates.iter().map(|candidate| candidate.path.as_str()))).unwrap_or_default();
    let workers = workers.get().min(candidates.len());
    let results = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers)
            .map(|_| {
                scope.spawn(|| {
                    let reader = tree.reader();
                    let worker = Worker { command, candidates, reader, cache, kept: &kept, shared: &shared, progress };
                    let result = worker.run();
                    if result.is_err() {
                        shared.stop.store(true, Ordering::Relaxed);
                    }
                    result
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().map_err(|_| PoolError::Worker)?).collect::<Result<Vec<_>, _>>()
    })?;
    let mut outcomes: Vec<Option<(Outcome, u32)>> = candidates.iter().map(|_| None).collect();
    for (job, outcome, cost) in results.into_iter().flatten() {
        outcomes[job] = Some((outcome, cost));
    }
    let mut outcomes = outcomes.into_iter().collect::<Option<Vec<_>>>().ok_or(PoolError::Worker)?;
    if outcomes.iter().any(|(_, cost)| *cost > 0) {
        // Only now is it worth to look what the others cost.
        for (outcome, known) in &mut outcomes {
            if let Outcome::Kept(entry) = outcome {
                *known = cache.and_then(|cache| recall::cost(&cache.get(&key_of(entry)?)?)).unwrap_or_default();
            }
        }
        cost::cut(&mut outcomes);
    }
    let outcomes = outcomes.into_iter().map(|(outcome, _)| outcome).collect();
    Ok(Outcomes { outcomes, parsed: shared.parsed.into_inner(), cached: shared.cached.into_inner() })
}

#[derive(Default)]
struct Shared {
    next: AtomicUsize,
    done: AtomicUsize,
    parsed: AtomicUsize,
    cached: AtomicUsize,
    /// What all files so far cost.
    spent: AtomicU32,
    stop: AtomicBool,
}

/// One thread with one child at a time; it reads files for its child, so that reading is as parallel as parsing.
struct Worker<'a> {
    command: &'a ParseCommand,
    candidates: &'a [Candidate],
    reader: Reader<'a>,
    cache: Option<&'a Cache>,
    /// What the last index has of the candidates, in their order; empty where there is none.
    kept: &'a [Option<&'a Kept<'a>>],
    shared: &'a Shared,
    progress: &'a dyn Progress,
}

/// Which file, what became of it, and what that cost.
type Priced = (usize, Outcome, u32);

/// A file that was read and is to be sent.
struct Job {
    index: usize,
    entry: SourceEntry,
    key: Option<Key>,
    frame: Vec<u8>,
}

impl Worker<'_> {
    fn run(&self) -> Result<Vec<Priced>, PoolError> {
        let mut outcomes = Vec::new();
        let mut child = None;
        // Files that are with the child, oldest first, and files that a dying child had not begun.
        let mut asked: VecDeque<Job> = VecDeque::new();
        let mut again: VecDeque<Job> = VecDeque::new();
        loop {
            while asked.len() < AHEAD {
                let Some(job) = again.pop_front().or_else(|| self.next_job(&mut outcomes)) else { break };
                let child = match &mut child {
                    Some(child) => child,
                    none => none.insert(Child::start(self.command)?),
                };
                child.ask(&job.frame);
                asked.push_back(job);
            }
            let Some(answer) = child.as_mut().and_then(Child::answer) else { return Ok(outcomes) };
            let Some(job) = asked.pop_front() else { return Err(PoolError::Worker) };
            match answer {
                Answer::Reply(reply) => {
                    let index = job.index;
                    let (outcome, cost) = self.hear(job, &reply);
                    outcomes.push(self.pay(index, outcome, cost));
                }
                Answer::Died(reason) => {
                    outcomes.push(self.pay(job.index, Outcome::Failed(reason), cost::of_death(reason)));
                    again.extend(asked.drain(..));
                    child = None;
                }
            }
            self.shared.parsed.fetch_add(1, Ordering::Relaxed);
            self.count_one();
        }
    }

    /// The next file that is worth sending; what became of those that are not is noted on the way.
    fn next_job(&self, outcomes: &mut Vec<Priced>) -> Option<Job> {
        loop {
            if self.shared.stop.load(Ordering::Relaxed) {
                return None;
            }
            let index = self.shared.next.fetch_add(1, Ordering::Relaxed);
            let candidate = self.candidates.get(index)?;
            // All that was begun comes before this one, so it is left out whatever becomes of the others.
            let loaded = if cost::is_all(self.shared.spent.load(Ordering::Relaxed)) {
                Err((Outcome::Failed(Reason::ParseCut), 0))
            } else {
                self.load(index, candidate)
            };
            match loaded {
                Ok(job) => return Some(job),
                Err((outcome, cost)) => {
                    outcomes.push(self.pay(index, outcome, cost));
                    self.count_one();
                }
            }
        }
    }

    fn pay(&self, index: usize, outcome: Outcome, cost: u32) -> Priced {
        let _ = self.shared.spent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |spent| spent.checked_add(cost));
        (index, outcome, cost)
    }

    fn load(&self, index: usize, candidate: &Candidate) -> Result<Job, (Outcome, u32)> {
        use crate::tree::ReadError;
        let free = |outcome| (outcome, 0);
        // The id of a git object says what is in it.
        if let Node::Object(id) = &candidate.node
            && let Some(outcome) = self.recall(index, candidate, &id.to_hex().to_string())
        {
            return Err(outcome);
        }
        let content = self.reader.read(&candidate.path, &candidate.node, walk::SOURCE_BYTES).map_err(|error| {
            free(Outcome::Failed(match error {
                ReadError::TooLarge(_) => Reason::TooLarge,
                ReadError::Unreadable(_) => Reason::Unreadable,
            }))
        })?;
        if matches!(candidate.node, Node::Path)
            && let Some(outcome) = self.recall(index, candidate, &content.hash)
        {
            return Err(outcome);
        }
        let key = self.cache.and_then(|_| Key::new(&content.hash, &candidate.path, candidate.language));
        if let Some(reason) = walk::refuse_content(&content.bytes) {
            self.keep(key, || recall::skipped(reason));
            return Err(free(Outcome::of_content(reason)));
        }
        let frame = wire::request(&candidate.path, candidate.language, &content.bytes)
            .map_err(|_| free(Outcome::Failed(Reason::TooLarge)))?;
        let entry = SourceEntry {
            path: candidate.path.clone(),
            language: candidate.language,
            content_hash: content.hash,
            bytes: content.bytes.len() as u64,
        };
        Ok(Job { index, entry, key, frame })
    }

    /// What a child said of a file. That is kept; what killed one is not, since it may have been the machine.
    fn hear(&self, job: Job, reply: &[u8]) -> (Outcome, u32) {
        let Ok(Said { cost, reply: said }) = postcard::from_bytes(reply) else {
            return (Outcome::Failed(Reason::ParseCrash), cost::of_death(Reason::ParseCrash));
        };
        self.keep(job.key, || recall::replied(job.entry.bytes, reply));
        (said.outcome(job.entry), cost)
    }

    /// What the cache knows of a candidate.
    fn recall(&self, index: usize, candidate: &Candidate, content_hash: &str) -> Option<(Outcome, u32)> {
        let key = Key::new(content_hash, &candidate.path, candidate.language)?;
        let cache = self.cache?;
        let kept = self.kept.get(index).copied().flatten();
        let known = match kept.and_then(|kept| kept.same_file(candidate.language, content_hash)) {
            Some(entry) => {
                cache.touch(&key);
                (Outcome::Kept(entry), 0)
            }
            None => recall::outcome(&cache.get(&key)?, candidate.path.clone(), candidate.language, content_hash)?,
        };
        self.shared.cached.fetch_add(1, Ordering::Relaxed);
        Some(known)
    }

    fn keep(&self, key: Option<Key>, payload: impl FnOnce() -> Vec<u8>) {
        if let Some((cache, key)) = self.cache.zip(key) {
            cache.put(key, &payload());
        }
    }

    fn count_one(&self) {
        self.progress.parsed(self.shared.done.fetch_add(1, Ordering::Relaxed) + 1);
    }
}

impl Outcome {
    /// Of a file whose bytes say that it is not parsed.
    const fn of_content(reason: Reason) -> Self {
        if reason.about().partial { Self::Failed(reason) } else { Self::Skipped(reason) }
    }
}

impl Reply {
    fn outcome(self, entry: SourceEntry) -> Outcome {
        match self {
            Self::Parsed(parsed) => Outcome::Parsed(entry, parsed),
            Self::Refused => Outcome::Failed(Reason::ParseError),
        }
    }
}

/// What a payload of the cache says of a file.
#[cfg(any(test, fuzzing))]
pub(crate) fn recall_for_fuzzing(payload: &[u8]) -> Option<Outcome> {
    recall::cost(payload);
    Some(recall::outcome(payload, "a.ts".to_owned(), crate::language::Language::TypeScript, &"0".repeat(40))?.0)
}

fn key_of(entry: &SourceEntry) -> Option<Key> {
    Key::new(&entry.content_hash, &entry.path, entry.language)
}

/// The facts of a file that the cache has.
pub(crate) fn recall(cache: &Cache, entry: &SourceEntry) -> Option<Box<ParsedFile>> {
    let payload = cache.get(&key_of(entry)?)?;
    match recall::outcome(&payload, entry.path.clone(), entry.language, &entry.content_hash)?.0 {
        Outcome::Parsed(_, facts) => Some(facts),
        Outcome::Kept(_) | Outcome::Skipped(_) | Outcome::Failed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A child that is a shell script; it starts with the right greeting.
    fn script(then: &str) -> ParseCommand {
        let length = wire::HELLO.len();
        let hello = String::from_utf8_lossy(wire::HELLO);
        let text = format!("printf '\\{length:o}\\0\\0\\0{hello}'; {then}");
        ParseCommand { executable: "/bin/sh".into(), args: vec!["-c".into(), text.into()] }
    }

    /// What becomes of a file.
    fn outcomes(command: &ParseCommand) -> Result<Vec<&'static str>, PoolError> {
        outcomes_of(1, command, NonZeroUsize::MIN)
    }

    /// What becomes of so many files.
    fn outcomes_of(
        files: usize,
        command: &ParseCommand,
        workers: NonZeroUsize,
    ) -> Result<Vec<&'static str>, PoolError> {
        let folder = tempfile::tempdir().unwrap();
        for at in 0..files {
            std::fs::write(folder.path().join(format!("{at:03}.ts")), "export {}").unwrap();
        }
        let tree = Tree::open(folder.path(), None).unwrap();
        let walked = walk::walk(&tree, walk::Limits::default());
        let outcomes = parse_files(command, workers, &tree, &walked.candidates, (None, None), &crate::index::Silent)?;
        Ok(outcomes
            .outcomes
            .into_iter()
            .map(|outcome| match outcome {
                Outcome::Parsed(..) | Outcome::Kept(_) => "parsed",
                Outcome::Skipped(reason) | Outcome::Failed(reason) => reason.as_str(),
            })
            .collect())
    }

    #[test]
    fn every_death_of_a_child_is_recorded_at_the_file_it_had() {
        for (then, expected) in [
            ("echo 'thread parse has overflowed its stack' >&2; kill -ABRT $$", "parse_overflow"),
            ("echo 'memory allocation of 9 bytes failed' >&2; kill -ABRT $$", "parse_memory"),
            ("kill -SEGV $$", "parse_overflow"),
            ("kill -KILL $$", "parse_memory"),
            ("kill -XCPU $$", "parse_timeout"),
            ("exit 101", "parse_crash"),
            ("exec >&-; while :; do :; done", "parse_crash"),
            ("printf '\\377\\377\\377\\377'; while :; do :; done", "parse_crash"),
            ("printf '\\3\\0\\0\\0abc'; printf '\\3\\0\\0\\0abc'; while :; do :; done", "parse_crash"),
            ("yes >&2 & while :; do :; done", "parse_timeout"),
        ] {
            assert_eq!(outcomes(&script(then)).unwrap(), [expected], "{then}");
        }
    }

    #[test]
    fn files_behind_too_many_that_end_their_parsers_are_left_out_however_many_parse() {
        let command = script("kill -XCPU $$");
        let expected = [vec!["parse_timeout"; 120], vec!["parse_cut"; 30]].concat();
        for workers in [1, 3] {
            let workers = NonZeroUsize::new(workers).unwrap();
            assert_eq!(outcomes_of(150, &command, workers).unwrap(), expected, "{workers}");
        }
    }

    #[test]
    fn a_child_that_does_not_start_is_an_error_that_says_why() {
        let sh = |text: &str| ParseCommand { executable: "/bin/sh".into(), args: vec!["-c".into(), text.into()] };
        for (command, expected) in [
            (ParseCommand { executable: "/nonexistent".into(), args: vec![] }, "No such file"),
            (sh("exit 0"), "it ended at once"),
            (sh("echo out of luck >&2; exit 1"), "out of luck"),
            (sh("printf '\\3\\0\\0\\0abc'; read x"), "not a parse child of this version"),
            (sh("echo usage; read x"), "not a parse child of this version"),
        ] {
            let error = outcomes(&command).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn no_child_is_started_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::open(folder.path(), None).unwrap();
        let command = ParseCommand { executable: "/nonexistent".into(), args: vec![] };
        let none = parse_files(&command, NonZeroUsize::MIN, &tree, &[], (None, None), &crate::index::Silent).unwrap();
        assert!(none.outcomes.is_empty());
    }
}
