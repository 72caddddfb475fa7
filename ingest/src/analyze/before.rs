//! What an earlier index found, and how much of it still holds.

#[cfg(test)]
mod tests;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::{Analyzed, Project, Table};
use crate::bind::{Binder, Reads, Survey, Versions, Ways, leading};
use crate::language::Language;
use crate::link::Links;
use crate::parse::{ExprId, FunctionId, ParsedFile, Stamps};
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

    /// The file, if it is one of this language and content.
    pub(crate) fn same_file(&self, language: Language, content_hash: &str) -> Option<SourceEntry> {
        (self.language == language && self.content_hash == content_hash).then(|| SourceEntry {
            path: self.path.to_owned(),
            language,
            content_hash: content_hash.to_owned(),
            bytes: self.bytes,
        })
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

/// What is needed of a changed file as it was, to compare it with what it is.
#[derive(Debug)]
pub(super) struct Former {
    at: usize,
    facts: Box<ParsedFile>,
    links: Links,
}

/// The changed files of a project as they were, as far as that is still kept.
pub(super) fn former(project: &Project<'_>, before: &Before<'_>, stamps: &[Stamps]) -> Vec<Former> {
    let former = |(at, now): (usize, &Stamps)| {
        let then = before.file(at).filter(|then| {
            !before.same[at] && then.language == project.files[at].entry.language && then.analyzed.stamps != *now
        })?;
        let facts = project.former_facts(&SourceEntry {
            path: then.path.to_owned(),
            language: then.language,
            content_hash: then.content_hash.to_owned(),
            bytes: then.bytes,
        })?;
        Some(Former { at, facts, links: then.analyzed.links.get()? })
    };
    stamps.iter().enumerate().filter_map(former).collect()
}

/// Which of what was read for a file is no longer what it was.
pub(super) struct Changes<'f> {
    whole: Vec<bool>,
    seen: Vec<bool>,
    surfaces: Vec<bool>,
    any_surface: bool,
    callers: FxHashSet<(u32, FunctionId)>,
    /// Both versions of changed files, by position.
    versions: FxHashMap<usize, Versions<'f>>,
}

impl<'f> Changes<'f> {
    /// Compares the files as others see them; `relinked` are those whose specifiers lead elsewhere.
    pub(super) fn new(
        project: &'f Project<'_>,
        before: &Before<'_>,
        (links, relinked): (&'f Table<'_, Links>, &[bool]),
        stamps: &[Stamps],
        former: &'f [Former],
    ) -> Self {
        let differs = |(at, stamps): (usize, &Stamps), stamp: fn(&Stamps) -> u64| {
            relinked[at] || before.file(at).is_none_or(|kept| stamp(&kept.analyzed.stamps) != stamp(stamps))
        };
        let all = || stamps.iter().enumerate();
        let whole: Vec<_> = all().map(|file| differs(file, |stamps| stamps.whole)).collect();
        let surfaces: Vec<_> = all().map(|file| differs(file, |stamps| stamps.surface)).collect();
        let mut changes = Self {
            // A file that is gone is one that its importers no longer lead to.
            any_surface: !before.same_paths || surfaces.contains(&true),
            surfaces,
            seen: whole.clone(),
            whole,
            callers: before.orphans.clone(),
            versions: FxHashMap::default(),
        };
        for Former { at, facts, links: links_then } in former {
            let now = (project.facts(*at), links.of(project, *at));
            let mut versions = Versions::new((facts, links_then), now);
            changes.seen[*at] = !versions.export_the_same();
            changes.versions.insert(*at, versions);
        }
        changes
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
            let mut versions = self.versions.get_mut(&at);
            if let Some(then) = then {
                let is_same = match &mut versions {
                    Some(versions) => versions.have_same_ways(&then.ways, &now.ways).unwrap_or_else(|| {
                        project.lose();
                        false
                    }),
                    None => then.ways == now.ways,
                };
                if !is_same {
                    self.whole[at] = true;
                    self.seen[at] = true;
                    ways_changed = true;
                }
            }
            self.callers.extend(otherwise(then.map(|then| &then.calls), &now.calls, versions.as_deref_mut()));
            self.callers.extend(otherwise(then.map(|then| &then.passed), &now.passed, versions));
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
                    && let Some((whole, seen)) =
                        self.whole.get_mut(*file as usize).zip(self.seen.get_mut(*file as usize))
                {
                    (*whole, *seen) = (true, true);
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
            && left(&self.seen, &reads.seen)
            && reads.callers.iter().all(|[file, function]| !self.callers.contains(&(file, function)))
            // A file between here and there that gained a name still leads to the others.
            && ((left(&self.surfaces, &reads.surfaces) && self.leaves_stars(reads, binder)) || binder.still_defines(reads))
    }

    /// Whether the modules that files take everything from export what they did.
    fn leaves_stars(&self, reads: &Reads<'_>, binder: &Binder<'_>) -> bool {
        !self.any_surface || reads.stars.iter().all(|[file]| !binder.stars_changed(file, &self.surfaces))
    }
}

/// The functions of which a file says something else than it did: lists of calls, each behind the function that it is
/// of. Where both versions of the file are there, the calls are compared, and else their ids.
fn otherwise<const N: usize>(
    then: Option<&Numbers<'_, N>>,
    now: &Numbers<'_, N>,
    mut versions: Option<&mut Versions<'_>>,
) -> Vec<(u32, FunctionId)> {
    let nothing = Numbers::default();
    let then = then.unwrap_or(&nothing);
    if versions.is_none() && then == now {
        return Vec::new();
    }
    let (then, now) = (by_function(then), by_function(now));
    let nobody = Said::default();
    let mut differ = |function: &&_| {
        let (then, now) = (then.get(*function).unwrap_or(&nobody), now.get(*function).unwrap_or(&nobody));
        let is_same = match &mut versions {
            Some(versions) => versions.are_same_calls(&then.calls, &now.calls),
            None => then.calls == now.calls,
        };
        !is_same || then.places != now.places
    };
    let of_now = now.keys().filter(|function| !then.contains_key(*function));
    then.keys().chain(of_now).filter(&mut differ).copied().collect()
}

/// What a file says of one function.
#[derive(Debug, Default)]
struct Said {
    calls: Vec<ExprId>,
    /// The places of the arguments, where it is of those.
    places: Vec<u32>,
}

/// What is said of each function, behind its file and itself.
fn by_function<const N: usize>(all: &Numbers<'_, N>) -> FxHashMap<(u32, FunctionId), Said> {
    let mut functions: FxHashMap<_, Said> = FxHashMap::default();
    for said in all.iter() {
        if let [file, function, call, ref places @ ..] = said[..] {
            let said = functions.entry((file, function)).or_default();
            said.calls.push(call);
            said.places.extend(places);
        }
    }
    functions
}
