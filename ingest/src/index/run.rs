//! From the files of a tree to what is found of them, with what a cache has kept.

use std::sync::OnceLock;

use super::write::Files;
use super::{IndexError, IndexOptions, Progress};
use crate::analyze::{Analysis, Before, Declared, KeptManifests, Project, Source, analyze};
use crate::cache::{Cache, Last, State};
use crate::catalog::Catalog;
use crate::link;
use crate::manifests::{Id, Manifests};
use crate::pins::{Pins, Problem};
use crate::pool::{self, Outcome, PoolError};
use crate::reason::Reason;
use crate::tree::Tree;
use crate::walk::{Candidate, Report, SourceEntry};

/// What an index is made of.
pub(super) struct Run<'a> {
    pub(super) options: &'a IndexOptions,
    pub(super) tree: &'a Tree,
    pub(super) catalog: &'a Catalog,
    pub(super) candidates: &'a [Candidate],
    /// What the manifests are known by.
    pub(super) manifests: &'a [Id],
    /// Reads them, once; the paths of those that cannot be read are beside them.
    pub(super) read_manifests: &'a (dyn Fn() -> &'a (Manifests, Vec<String>) + Sync),
    pub(super) cache: Option<&'a Cache>,
    pub(super) progress: &'a dyn Progress,
}

/// What was found.
pub(super) struct Made<'l> {
    /// Files with facts, ascending by path.
    pub(super) entries: Vec<SourceEntry>,
    /// What was found of each.
    pub(super) analysis: Analysis<'l>,
    /// What is wrong with the manifests.
    pub(super) problems: Vec<Problem>,
    /// How many files a parser was asked about.
    pub(super) parsed: usize,
    /// How many the cache knew.
    pub(super) cached: usize,
    /// How many were bound.
    pub(super) bound: usize,
    /// Whether the last index found all of it, and nothing else.
    pub(super) is_last: bool,
}

impl Run<'_> {
    /// Reads, parses, links and binds; what was not read goes to the report.
    pub(super) fn make<'l>(
        &self,
        last: Option<(&'l Last, State<'l>)>,
        report: &mut Report,
    ) -> Result<Made<'l>, IndexError> {
        if let Some((last, state)) = last
            && *state.manifests == *self.manifests
            && let Some((made, told)) = self.attempt(Some(state))?
            && Files::of(&made, Some(last)).are_whole()
        {
            return Ok(told.tell(report, made));
        }
        // Nothing was kept, or not all that is needed: now every file has its facts before they are asked for.
        let (made, told) = self.attempt(None)?.ok_or(PoolError::Worker)?;
        Ok(told.tell(report, made))
    }

    /// Nothing where facts are lost of which the last index says that the cache has them.
    fn attempt<'l>(&self, last: Option<State<'l>>) -> Result<Option<(Made<'l>, Told)>, IndexError> {
        // Lockfiles can be large; they are read while the children parse.
        let (read, outcomes) = std::thread::scope(|scope| {
            let read = last.is_none().then(|| {
                scope.spawn(|| {
                    let (manifests, unreadable) = (self.read_manifests)();
                    (manifests, unreadable, Pins::of(manifests, self.catalog), link::problems(manifests))
                })
            });
            let options = self.options;
            let kept = (self.cache, last.as_ref());
            let outcomes =
                pool::parse_files(&options.parse, options.parsers, self.tree, self.candidates, kept, self.progress);
            (read.map(std::thread::ScopedJoinHandle::join), outcomes)
        });
        let pool::Outcomes { outcomes, parsed, cached } = outcomes?;
        let mut told = Told::default();
        let pins = OnceLock::new();
        let (declared, problems) = if let Some(read) = read {
            let (manifests, unreadable, (pinned, mut problems), more) = read.map_err(|_| PoolError::Worker)?;
            problems.extend(more);
            told.failed.extend(unreadable.iter().map(|path| (Reason::Unreadable, path.clone())));
            (Declared::Read(manifests, pins.get_or_init(|| pinned)), problems)
        } else {
            let problems = last.as_ref().map(|last| last.problems.to_vec()).unwrap_or_default();
            (Declared::Kept(self, &pins), problems)
        };
        let mut files = Vec::new();
        for (candidate, outcome) in self.candidates.iter().zip(outcomes) {
            match outcome {
                Outcome::Parsed(entry, facts) => files.push(Source::parsed(entry, facts)),
                Outcome::Kept(entry) => files.push(Source::kept(entry)),
                Outcome::Skipped(reason) => told.skipped.push((reason, candidate.path.clone())),
                Outcome::Failed(reason) => told.failed.push((reason, candidate.path.clone())),
            }
        }
        let before = last.map(|last| Before::new(last.files, files.iter().map(|source| &source.entry)));
        let before = before.unwrap_or_default();
        let same_paths = before.has_same_paths();
        let recall = |entry: &SourceEntry| pool::recall(self.cache?, entry);
        let project = Project::with_recall(&files, declared, self.catalog, &recall, self.options.parsers);
        let analysis = analyze(&project, before)?;
        if !project.is_whole() {
            return Ok(None);
        }
        let bound = analysis.files.iter().filter(|found| !found.kept).count();
        let mut facts = Vec::with_capacity(files.len());
        let mut entries = Vec::with_capacity(files.len());
        for source in files {
            facts.push(source.facts);
            entries.push(source.entry);
        }
        // Nobody waits until millions of small pieces are given back.
        std::thread::spawn(move || drop(facts));
        let is_last = same_paths && bound == 0;
        Ok(Some((Made { entries, analysis, problems, parsed, cached, bound, is_last }, told)))
    }
}

impl KeptManifests for Run<'_> {
    fn manifests(&self) -> Option<&Manifests> {
        let (manifests, unreadable) = (self.read_manifests)();
        unreadable.is_empty().then_some(manifests)
    }
}

/// What the report is told of a run.
#[derive(Default)]
struct Told {
    skipped: Vec<(Reason, String)>,
    failed: Vec<(Reason, String)>,
}

impl Told {
    fn tell<'l>(self, report: &mut Report, made: Made<'l>) -> Made<'l> {
        for (reason, path) in self.skipped {
            report.skip(reason, &path);
        }
        for (reason, path) in self.failed {
            report.fail(reason, &path);
        }
        for problem in &made.problems {
            tracing::warn!(path = problem.path, detail = problem.detail, "a manifest is not read, or not as a whole");
            report.note(problem.reason, &problem.path);
        }
        made
    }
}
