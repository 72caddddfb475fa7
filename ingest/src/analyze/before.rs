//! What an earlier index found, and how much of it still holds.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::{Analyzed, Project};
use crate::bind::{Binder, Reads, Survey, Ways, leading};
use crate::language::Language;
use crate::link::Links;
use crate::parse::{FunctionId, Stamps};
use crate::pieces::{Numbers, Piece};
use crate::snapshot::LineCounts;
use crate::walk::SourceEntry;

/// The position of a file that is gone. No file of a project has it.
const GONE: u32 = u32::MAX;

/// What an index found of one file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Kept<'l, A = Analyzed<'l>> {
    pub(crate) path: &'l str,
    pub(crate) language: Language,
    pub(crate) content_hash: &'l str,
    pub(crate) bytes: u64,
    /// What was found beside its line; a reference to it where that is written.
    pub(crate) analyzed: A,
    /// Nothing where the facts are more than a line holds.
    pub(crate) line: Option<Place>,
}

/// Where the line of a file is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) length: u32,
    pub(crate) counts: LineCounts,
}

impl Kept<'_> {
    fn is_of(&self, entry: &SourceEntry) -> bool {
        self.content_hash == entry.content_hash && self.language == entry.language
    }

    /// The same with other positions.
    fn moved(&mut self, to: impl Fn(u32) -> u32) {
        let Analyzed { stamps: _, links, surface: _, survey, bound, names_cut: _ } = &mut self.analyzed;
        links.change(|links: &mut Links| links.moved(&to));
        survey.moved(&to);
        bound.reads.moved(&to);
    }
}

/// What an earlier index found of the files of a project.
#[derive(Debug, Default)]
pub(crate) struct Before<'l> {
    /// By position in the project; nothing where it has no file of that path.
    files: Vec<Option<Kept<'l>>>,
    /// Whether its content is still the same, by position.
    same: Vec<bool>,
    /// Functions that were called by files that are gone.
    orphans: FxHashSet<(u32, FunctionId)>,
    /// Whether the project has the same paths as it had.
    same_paths: bool,
}

impl<'l> Before<'l> {
    /// What was kept, for a project of these files. The manifests have to be the same.
    pub(crate) fn new<'f>(kept: Vec<Kept<'l>>, files: impl ExactSizeIterator<Item = &'f SourceEntry> + Clone) -> Self {
        let same_paths = kept.len() == files.len() && kept.iter().zip(files.clone()).all(|(a, b)| a.path == b.path);
        let mut before = Self { same_paths, ..Self::default() };
        if same_paths {
            before.same = kept.iter().zip(files).map(|(kept, entry)| kept.is_of(entry)).collect();
            before.files = kept.into_iter().map(Some).collect();
            return before;
        }
        let mut positions = vec![GONE; kept.len()];
        let mut old = kept.iter().zip(0..).peekable();
        for (entry, new) in files.clone().zip(0..) {
            while old.next_if(|(kept, _)| *kept.path < *entry.path).is_some() {}
            if let Some((_, at)) = old.next_if(|(kept, _)| kept.path == entry.path) {
                positions[at] = new;
            }
        }
        let to = |old: u32| positions.get(old as usize).copied().unwrap_or(GONE);
        before.files.resize_with(files.len(), || None);
        for (mut kept, new) in kept.into_iter().zip(&positions) {
            kept.moved(to);
            if let Some(place) = before.files.get_mut(*new as usize) {
                *place = Some(kept);
                continue;
            }
            let survey = &kept.analyzed.survey;
            before.orphans.extend(survey.calls.iter().map(|[file, function, _]| (file, function)));
            before.orphans.extend(survey.passed.iter().map(|[file, function, ..]| (file, function)));
        }
        let is_same = |(kept, entry): (&Option<Kept<'_>>, _)| kept.as_ref().is_some_and(|kept| kept.is_of(entry));
        before.same = before.files.iter().zip(files).map(is_same).collect();
        before
    }

    /// What was found of the file at a position, whatever its content is now.
    pub(super) fn file(&self, at: usize) -> Option<&Kept<'l>> {
        self.files.get(at)?.as_ref()
    }

    /// What was found of the file at a position, if it is still the same file.
    pub(crate) fn same_file(&self, at: usize) -> Option<&Kept<'l>> {
        self.file(at).filter(|_| self.same[at])
    }

    /// Where the specifiers of the file at a position led.
    pub(super) fn links(&self, at: usize) -> Option<&Piece<'l>> {
        Some(&self.file(at)?.analyzed.links)
    }

    /// What was found of the file at a position, whatever its content is now.
    pub(super) fn take(&mut self, at: usize) -> Option<Kept<'l>> {
        self.files.get_mut(at)?.take()
    }

    /// Whether the project has the same paths as it had.
    pub(crate) const fn has_same_paths(&self) -> bool {
        self.same_paths
    }
}

/// Which of what was read for a file is no longer what it was.
#[derive(Debug)]
pub(super) struct Changes {
    whole: Vec<bool>,
    surfaces: Vec<bool>,
    callers: FxHashSet<(u32, FunctionId)>,
}

impl Changes {
    /// Compares the files as others see them; `relinked` are those whose specifiers lead elsewhere.
    pub(super) fn new(before: &Before<'_>, relinked: &[bool], stamps: &[Stamps]) -> Self {
        let changed = |(at, stamps): (usize, &Stamps), stamp: fn(&Stamps) -> u64| {
            relinked[at] || before.file(at).is_none_or(|kept| stamp(&kept.analyzed.stamps) != stamp(stamps))
        };
        let all = || stamps.iter().enumerate();
        Self {
            surfaces: all().map(|file| changed(file, |stamps| stamps.surface)).collect(),
            whole: all().map(|file| changed(file, |stamps| stamps.whole)).collect(),
            callers: before.orphans.clone(),
        }
    }

    /// Compares what surveys found: `surveys` has those that were made anew, `ways` those of all files.
    pub(super) fn add_surveys(
        &mut self,
        project: &Project<'_>,
        before: &Before<'_>,
        surveys: &[Option<Survey<'_>>],
        ways: &[(u32, Ways)],
    ) {
        let mut ways_changed = !before.same_paths;
        for (at, now) in surveys.iter().enumerate() {
            let Some(now) = now else { continue };
            let then = before.file(at).map(|kept| &kept.analyzed.survey);
            if then.is_some_and(|then| then.ways != now.ways) {
                self.whole[at] = true;
                ways_changed = true;
            }
            self.callers.extend(otherwise(then.map(|then| &then.calls), &now.calls));
            self.callers.extend(otherwise(then.map(|then| &then.passed), &now.passed));
        }
        if ways_changed {
            // Whoever calls a function has read its file.
            let then = before.files.iter().map(|kept| kept.as_ref().map(|kept| &kept.analyzed.survey));
            let Some(then) = Ways::of(then) else {
                project.lose();
                return;
            };
            let (then, now) = (leading(&then), leading(ways));
            for (file, function) in then.keys().chain(now.keys()) {
                if then.get(&(*file, *function)) != now.get(&(*file, *function))
                    && let Some(changed) = self.whole.get_mut(*file as usize)
                {
                    *changed = true;
                }
            }
        }
    }

    /// Whether all that was read is still what it was.
    pub(super) fn leave(&self, reads: &Reads<'_>, binder: &Binder<'_>) -> bool {
        let left = |changed: &[bool], files: &Numbers<'_, 1>| {
            files.iter().all(|[file]| changed.get(file as usize).is_some_and(|changed| !changed))
        };
        left(&self.whole, &reads.whole)
            && reads.callers.iter().all(|[file, function]| !self.callers.contains(&(file, function)))
            // A file between here and there that gained a name still leads to the others.
            && (left(&self.surfaces, &reads.surfaces) || binder.still_defines(reads))
    }
}

/// The functions of which one list says something else than the other.
fn otherwise<const N: usize>(then: Option<&Numbers<'_, N>>, now: &Numbers<'_, N>) -> Vec<(u32, FunctionId)> {
    let nothing = Numbers::default();
    let then = then.unwrap_or(&nothing);
    if then == now {
        return Vec::new();
    }
    let (then, now) = (by_function(then), by_function(now));
    let differ = |function: &&_| then.get(*function) != now.get(*function);
    then.keys().chain(now.keys()).filter(differ).copied().collect()
}

/// What is said of each function, behind its file and itself.
fn by_function<const N: usize>(all: &Numbers<'_, N>) -> FxHashMap<(u32, FunctionId), Vec<[u32; N]>> {
    let mut functions: FxHashMap<_, Vec<_>> = FxHashMap::default();
    for said in all.iter() {
        if let [file, function, ..] = said[..] {
            functions.entry((file, function)).or_default().push(said);
        }
    }
    functions
}
