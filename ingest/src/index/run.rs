//! From the files of a tree to what is found of them, with what a cache has kept.

use super::{IndexError, IndexOptions, Progress};
use crate::analyze::{Analysis, Before, Project, Source, analyze};
use crate::cache::{Cache, Last, Lines};
use crate::catalog::Catalog;
use crate::link;
use crate::manifests::Manifests;
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
    pub(super) manifests: &'a Manifests,
    pub(super) cache: Option<&'a Cache>,
    pub(super) progress: &'a dyn Progress,
}

/// What was found.
pub(super) struct Made {
    /// Files with facts, ascending by path.
    pub(super) entries: Vec<SourceEntry>,
    /// What was found of each.
    pub(super) analysis: Analysis,
    /// Lines that the last index made.
    pub(super) lines: Option<Lines>,
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
    pub(super) fn make(&self, last: Option<Last>, report: &mut Report) -> Result<Made, IndexError> {
        if let Some(last) = last.filter(|last| last.is_with(self.manifests))
            && let Some((made, told)) = self.attempt(Some(last))?
        {
            return Ok(told.tell(report, made));
        }
        // Nothing was kept, or not all that is needed: now every file has its facts before they are asked for.
        let (made, told) = self.attempt(None)?.ok_or(PoolError::Worker)?;
        Ok(told.tell(report, made))
    }

    /// Nothing where facts are lost of which the last index says that the cache has them.
    fn attempt(&self, last: Option<Last>) -> Result<Option<(Made, Told)>, IndexError> {
        // Lockfiles can be large; they are read while the children parse.
        let (pinned, outcomes) = std::thread::scope(|scope| {
            let pinned = scope.spawn(|| (Pins::read(self.manifests), link::problems(self.manifests)));
            let options = self.options;
            let kept = (self.cache, last.as_ref());
            let outcomes =
                pool::parse_files(&options.parse, options.parsers, self.tree, self.candidates, kept, self.progress);
            (pinned.join(), outcomes)
        });
        let pool::Outcomes { outcomes, parsed, cached } = outcomes?;
        let ((pins, mut problems), more_problems) = pinned.map_err(|_| PoolError::Worker)?;
        problems.extend(more_problems);
        let mut told = Told { problems, ..Told::default() };
        let mut files = Vec::new();
        for (candidate, outcome) in self.candidates.iter().zip(outcomes) {
            match outcome {
                Outcome::Parsed(entry, facts) => files.push(Source::parsed(entry, facts)),
                Outcome::Kept(entry) => files.push(Source::kept(entry)),
                Outcome::Skipped(reason) => told.skipped.push((reason, candidate.path.clone())),
                Outcome::Failed(reason) => told.failed.push((reason, candidate.path.clone())),
            }
        }
        let found = last.map(|last| last.found(files.iter().map(|source| &source.entry)));
        let (before, lines) = match found.transpose() {
            Ok(Some((before, lines))) => (before, Some(lines)),
            Ok(None) => (Before::default(), None),
            Err(_) => return Ok(None),
        };
        let same_paths = before.has_same_paths();
        let recall = |entry: &SourceEntry| pool::recall(self.cache?, entry);
        let project = Project::with_recall(&files, self.manifests, &pins, self.catalog, &recall);
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
        Ok(Some((Made { entries, analysis, lines, parsed, cached, bound, is_last }, told)))
    }
}

/// What the report is told of a run.
#[derive(Default)]
struct Told {
    skipped: Vec<(Reason, String)>,
    failed: Vec<(Reason, String)>,
    problems: Vec<Problem>,
}

impl Told {
    fn tell(self, report: &mut Report, made: Made) -> Made {
        for (reason, path) in self.skipped {
            report.skip(reason, &path);
        }
        for (reason, path) in self.failed {
            report.fail(reason, &path);
        }
        for problem in self.problems {
            tracing::warn!(path = problem.path, detail = problem.detail, "a manifest is not read, or not as a whole");
            report.note(problem.reason, &problem.path);
        }
        made
    }
}
