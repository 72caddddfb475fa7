//! All files of a project with their imports resolved, and exports followed through any chain of re-exports.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use sync_core::graph::Symbol;

use super::reads::{self, Noted, Reads};
use super::seek::Sought;
use super::stars::Stars;
use super::surface::Surface;
use super::value::FileId;
use crate::analyze::{Project, Table};
use crate::language::Family;
use crate::link::Links;
use crate::parse::{ClassId, ExportValue, FunctionId, Name, Origin, ParsedFile, SymbolIndex, Type, TypeRoot};

/// Entries of a list that are gone through in the time of a step.
const ENTRIES_OF_A_STEP: usize = 16;

/// The specifier of the package that a file is a part of.
pub(super) const OWN_PACKAGE: &str = ".";

/// A file among others.
pub(super) struct File<'p> {
    pub(super) parsed: &'p ParsedFile,
    pub(super) family: Family,
    /// Files that its specifiers lead to.
    pub(super) targets: FxHashMap<Name, FileId>,
    /// Files that names out of specifiers lead to, where a name can be a module (`from package import module`).
    pub(super) submodules: FxHashMap<(Name, &'p str), FileId>,
    /// The other files of its package, where that is several.
    siblings: Vec<FileId>,
    /// Specifiers that name a package which the repository publishes, or its built entry, with what others import.
    pub(super) published: FxHashMap<Name, &'p str>,
}

/// Where an exported name is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Definition {
    pub(super) file: FileId,
    /// Position among that file's exports.
    pub(super) export: usize,
}

impl Definition {
    /// Gives the file its new position.
    pub(super) fn moved(&mut self, to: impl Fn(FileId) -> FileId) {
        self.file = to(self.file);
    }
}

/// All files. Each is looked up when it is first read, and what one file's answers read is noted.
pub(super) struct World<'p> {
    project: &'p Project<'p>,
    links: &'p Table<'p, Links>,
    surfaces: &'p Table<'p, Surface>,
    stars: Stars,
    /// What looking for names and going through lists took that was not asked for yet.
    steps: Cell<usize>,
    /// Few files are read for a binding that is made anew, and there is a world a thread: what is not read takes little.
    files: Vec<OnceCell<Box<File<'p>>>>,
    tests: Vec<OnceCell<bool>>,
    reads: RefCell<Noted>,
    /// What was looked up, by file and name.
    sought: RefCell<Vec<FxHashMap<String, Rc<Sought>>>>,
}

impl<'p> World<'p> {
    /// The files of a project, with where their specifiers lead and what they export.
    pub(super) fn new(project: &'p Project<'p>, links: &'p Table<'p, Links>, surfaces: &'p Table<'p, Surface>) -> Self {
        let files = project.files.iter().map(|_| OnceCell::new()).collect();
        let tests = vec![OnceCell::new(); project.files.len()];
        let sought = project.files.iter().map(|_| FxHashMap::default()).collect();
        let reads = RefCell::new(Noted::new(project.files.len()));
        let stars = Stars::new(project.files.len());
        let sought = RefCell::new(sought);
        Self { project, links, surfaces, stars, steps: Cell::new(0), files, tests, reads, sought }
    }

    /// Notes that it was asked who calls a function.
    pub(super) fn note_callers(&self, file: FileId, function: FunctionId) {
        self.reads.borrow_mut().callers((file, function));
    }

    /// Notes reads of one file's answers from here on.
    pub(super) fn begin_reads(&self) {
        self.reads.borrow_mut().clear();
        self.steps.set(0);
    }

    /// A list of so many entries is gone through: where that is done for each name in it, it is most of what there is
    /// to do.
    pub(super) fn go_through(&self, entries: usize) {
        self.steps.set(self.steps.get().saturating_add(entries / ENTRIES_OF_A_STEP));
    }

    /// What looking for names took since this was last asked for.
    pub(super) fn take_steps(&self) -> usize {
        self.steps.take()
    }

    /// What is known of files that take everything from others.
    pub(super) const fn stars(&self) -> &Stars {
        &self.stars
    }

    /// Which files were read since.
    pub(super) fn reads(&self) -> Reads<'static> {
        self.reads.borrow().reads()
    }

    /// A file, to read of it what others see: that which its exports and its calls of other files lead to by ids, and
    /// what tables keep by these. [`Versions`](super::versions::Versions) says whether that has changed.
    pub(super) fn file(&self, id: FileId) -> &File<'p> {
        self.reads.borrow_mut().seen(id);
        self.unnoted(id)
    }

    /// A file, to go through a list of its facts: all of its calls, say.
    pub(super) fn whole_file(&self, id: FileId) -> &File<'p> {
        self.reads.borrow_mut().whole(id);
        self.unnoted(id)
    }

    /// Where a file is; that depends on nothing in it.
    pub(super) fn path(&self, id: FileId) -> &'p str {
        &self.project.files[id as usize].entry.path
    }

    /// Whether a file is of tests, stories, mocks or fixtures.
    pub(super) fn is_test(&self, id: FileId) -> bool {
        *self.tests[id as usize].get_or_init(|| is_test(self.path(id)))
    }

    fn unnoted(&self, id: FileId) -> &File<'p> {
        let at = id as usize;
        self.files[at].get_or_init(|| {
            let parsed = self.project.facts(at);
            let links = self.links.of(self.project, at);
            let mut targets = FxHashMap::default();
            let mut published = FxHashMap::default();
            let imported = parsed.imports.iter().map(|import| import.specifier);
            for specifier in imported.chain(parsed.mocks.iter().copied()) {
                let Some(link) = links.get(parsed.name(specifier)) else { continue };
                if let Some(own) = &link.published {
                    published.insert(specifier, own.as_str());
                }
                if let Some(target) = self.led(link.target) {
                    targets.insert(specifier, target);
                }
            }
            let mut submodules = FxHashMap::default();
            for import in &parsed.imports {
                for (name, module) in import.names.iter().zip(&import.modules) {
                    let link = links.get(parsed.name(*module));
                    if let Some(target) = self.led(link.and_then(|link| link.target)) {
                        submodules.insert((import.specifier, parsed.name(*name)), target);
                    }
                }
            }
            let family = self.project.files[at].entry.language.family();
            let siblings = self.siblings(id).collect();
            Box::new(File { parsed, family, targets, submodules, siblings, published })
        })
    }

    /// What a file exports, without a note.
    pub(super) fn surface(&self, id: FileId) -> &'p Surface {
        self.surfaces.of(self.project, id as usize)
    }

    /// The file that a specifier of a file leads to, without a note.
    pub(super) fn target_of(&self, id: FileId, specifier: &str) -> Option<FileId> {
        self.led(self.links.of(self.project, id as usize).get(specifier)?.target)
    }

    /// The modules that a file takes everything from, without a note.
    pub(super) fn starred(&self, id: FileId) -> impl Iterator<Item = FileId> {
        let taken = self.surface(id).named("*").iter().filter_map(|export| export.from.as_ref());
        taken.filter_map(move |taken| self.target_of(id, &taken.specifier))
    }

    /// A file of the project to which a link leads; what was kept of links may be of another project.
    fn led(&self, target: Option<FileId>) -> Option<FileId> {
        target.filter(|target| {
            let is_there = (*target as usize) < self.files.len();
            if !is_there {
                self.project.lose();
            }
            is_there
        })
    }

    /// The other files that may be of the package of a file, without a note.
    pub(super) fn siblings(&self, id: FileId) -> impl Iterator<Item = FileId> {
        let own = self.links.of(self.project, id as usize).get(OWN_PACKAGE);
        let members = own.into_iter().flat_map(|link| link.members.iter().copied());
        members.filter(move |other| *other != id && self.led(Some(*other)).is_some())
    }

    /// The other files of a file's package: those of tests only for tests.
    pub(super) fn package_of(&self, file: FileId) -> Vec<FileId> {
        let own = &self.surface(file).package;
        let is_test = |file: FileId| self.path(file).ends_with("_test.go");
        self.siblings(file)
            .filter(|other| {
                if is_test(*other) && !is_test(file) {
                    return false;
                }
                self.surface(*other).package == *own || (!is_test(file) && !is_test(*other))
            })
            .collect()
    }

    /// What an export is.
    pub(super) fn export(&self, definition: Definition) -> ExportValue {
        let export = self.file(definition.file).parsed.exports.get(definition.export);
        export.map_or(ExportValue::Unknown, |export| export.value.clone())
    }

    /// Whether two files are of one package.
    pub(super) fn is_one_package(&self, one: FileId, other: FileId) -> bool {
        one == other || self.file(one).siblings.contains(&other)
    }

    /// The class that a class is a part of: methods may stand in another file than their type.
    pub(super) fn whole(&self, file: FileId, class: ClassId) -> (FileId, ClassId) {
        let here = self.file(file).parsed;
        let part = here.extensions.iter().find(|(part, _)| *part == class);
        let Some(Type::Reference(TypeRoot::Binding(binding), ..)) =
            part.and_then(|(_, ty)| here.types.get(*ty as usize))
        else {
            return (file, class);
        };
        let Some(Origin::Import { specifier, name }) =
            here.bindings.get(*binding as usize).map(|binding| &binding.origin)
        else {
            return (file, class);
        };
        let target = self.file(file).targets.get(specifier);
        let definition = target.and_then(|target| self.definition(*target, here.name(*name)));
        let Some(definition) = definition else { return (file, class) };
        let there = self.file(definition.file).parsed;
        match self.export(definition) {
            ExportValue::Binding(binding) => match there.bindings.get(binding as usize).map(|it| &it.origin) {
                Some(Origin::Class(class)) => (definition.file, *class),
                _ => (file, class),
            },
            _ => (file, class),
        }
    }

    /// The parts of a class in other files of its package.
    pub(super) fn parts(&self, file: FileId, class: ClassId) -> Vec<(FileId, ClassId)> {
        let symbol = self.file(file).parsed.classes.get(class as usize).and_then(|it| it.symbol);
        let Some(name) = self.symbol(file, symbol).map(|symbol| symbol.name.clone()) else { return Vec::new() };
        let mut parts = Vec::new();
        for other in &self.file(file).siblings {
            self.reads.borrow_mut().whole(*other);
        }
        for other in self.package_of(file) {
            let there = self.file(other).parsed;
            for (part, ty) in &there.extensions {
                if let Some(Type::Reference(TypeRoot::Binding(binding), ..)) = there.types.get(*ty as usize)
                    && there.bindings.get(*binding as usize).is_some_and(|it| there.name(it.name) == name)
                {
                    parts.push((other, *part));
                }
            }
        }
        parts
    }

    /// `path#qualified#ordinal` of a symbol; of the file itself where there is none.
    pub(super) fn target(&self, file: FileId, symbol: Option<SymbolIndex>) -> String {
        let path = self.path(file);
        match self.symbol(file, symbol) {
            Some(symbol) => format!("{path}#{}#{}", symbol.qualified, symbol.ordinal),
            None => format!("{path}##0"),
        }
    }

    pub(super) fn symbol(&self, file: FileId, symbol: Option<SymbolIndex>) -> Option<&Symbol> {
        self.file(file).parsed.symbols.get(symbol? as usize)
    }

    /// Where a name that a file exports is defined: in the file itself, or behind re-exports. What leads to a package
    /// is defined where it is re-exported. `None` where it is missing, or where two stars disagree.
    pub(super) fn definition(&self, file: FileId, name: &str) -> Option<Definition> {
        let sought = self.sought(file, name);
        let mut reads = self.reads.borrow_mut();
        let own = self.surface(file).named(name).first().map(|export| Definition { file, export: export.at });
        if sought.is_own(file) && sought.found == own {
            reads.seen(file);
        } else {
            for file in &sought.surfaces {
                reads.surface(*file);
            }
            for file in &sought.stars {
                reads.stars(*file);
            }
            let steps = reads.definition(file, name, sought.found, sought.steps);
            self.steps.set(self.steps.get().saturating_add(steps));
        }
        sought.found
    }

    /// Whether every name that was looked up is still defined where it was, and as far away: what a file costs is a part
    /// of what is found of it, since at a limit it is cut.
    pub(super) fn still_defines(&self, reads: &Reads<'_>) -> bool {
        let Some(sought) = reads.definitions.get::<reads::Sought>() else {
            self.project.lose();
            return false;
        };
        let mut steps = 0_usize;
        let is_same = sought.iter().all(|(file, name, found)| {
            (*file as usize) < self.files.len() && {
                let now = self.sought(*file, name);
                steps = steps.saturating_add(now.steps);
                now.found == *found
            }
        });
        is_same && steps == reads.steps
    }

    /// Whether a module that a file takes everything from, or itself, exports something else than when the last index was
    /// made; `changed` says that of each file, and is the same at each call.
    pub(super) fn stars_changed(&self, file: FileId, changed: &[bool]) -> bool {
        self.stars.has_changed(self, file, changed)
    }

    fn sought(&self, file: FileId, name: &str) -> Rc<Sought> {
        if let Some(known) = self.sought.borrow()[file as usize].get(name) {
            return Rc::clone(known);
        }
        let sought = Rc::new(Sought::new(self, file, name));
        self.sought.borrow_mut()[file as usize].insert(name.to_owned(), Rc::clone(&sought));
        sought
    }

    /// Specifiers that a file takes everything from and that lead to packages.
    pub(super) fn starred_packages(&self, file: FileId) -> Vec<Name> {
        let here = self.file(file);
        let stars = self.surface(file).named("*").iter().filter_map(|export| here.parsed.exports.get(export.at));
        let taken = stars.filter_map(|export| match export.value {
            ExportValue::From { specifier, .. } => Some(specifier),
            _ => None,
        });
        let mut taken: Vec<Name> = taken.collect();
        // What else the file exports has no part in it: who asks here has not read that.
        self.go_through(taken.len());
        taken.retain(|specifier| !here.targets.contains_key(specifier));
        taken
    }
}

/// Whether a path is of tests, stories, mocks or fixtures.
fn is_test(path: &str) -> bool {
    let mut parts = path.split('/').collect::<Vec<_>>();
    let name = parts.pop().unwrap_or("");
    let folders = ["__tests__", "__mocks__", "__fixtures__", "test", "tests", "e2e", "cypress", "mocks", "fixtures"];
    // Below a router that goes by files, a folder is a part of an address.
    if ["route.", "page.", "layout."].iter().any(|file| name.starts_with(file))
        && let Some(router) = parts.iter().position(|part| matches!(*part, "app" | "pages" | "routes"))
    {
        parts.truncate(router);
    }
    parts.iter().any(|part| folders.contains(part) || *part == "playwright" || *part == "stories")
        || [".test.", ".spec.", ".stories.", ".mock.", ".e2e.", ".cy."].iter().any(|mark| name.contains(mark))
        || name.starts_with("test.")
        || is_named_as_test(name)
}

/// `test_*.py`, `*_test.py`, `conftest.py`, `*_test.go`.
fn is_named_as_test(name: &str) -> bool {
    match name.rsplit_once('.') {
        Some((stem, "go")) => stem.ends_with("_test"),
        Some((stem, "py")) => {
            stem.starts_with("test_") || stem.ends_with("_test") || matches!(stem, "tests" | "conftest")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_test;

    #[test]
    fn tests_stories_mocks_and_fixtures_are_told_by_their_path() {
        for path in [
            "a/b.test.ts",
            "tests/a.ts",
            "src/__mocks__/stripe.ts",
            "x.stories.tsx",
            "test.js",
            "a/test_b.py",
            "b_test.py",
        ] {
            assert!(is_test(path), "{path}");
        }
        for path in [
            "src/app/api/send/test/route.ts",
            "src/latest.ts",
            "contest/a.ts",
            "src/testing-library.ts",
            "attest.js",
            "latest.py",
            "contest_a.py",
        ] {
            assert!(!is_test(path), "{path}");
        }
    }
}
