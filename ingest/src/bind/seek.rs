//! Exported names, followed through any chain of re-exports.

use rustc_hash::FxHashSet;

use super::stars::With;
use super::value::FileId;
use super::world::{Definition, World};

/// Modules taken as a whole in the way of names taken one by one, and so on, followed this far.
const DEEPEST: usize = 64;

/// What came of looking for a name.
#[derive(Debug)]
pub(super) struct Sought {
    pub(super) found: Option<Definition>,
    /// The files whose exports were looked at, ascending.
    pub(super) surfaces: Vec<FileId>,
    /// The files of which also all modules were looked at that they take everything from, ascending.
    pub(super) stars: Vec<FileId>,
    /// The steps that it takes, whatever was known before.
    pub(super) steps: usize,
}

impl Sought {
    /// Looks for a name that a file exports.
    pub(super) fn new(world: &World<'_>, file: FileId, name: &str) -> Self {
        let mut search =
            Search { world, visited: FxHashSet::default(), surfaces: Vec::new(), stars: Vec::new(), steps: 0 };
        let found = search.run(file, name, 0);
        let Search { mut surfaces, mut stars, steps, .. } = search;
        for files in [&mut surfaces, &mut stars] {
            files.sort_unstable();
            files.dedup();
        }
        Self { found, surfaces, stars, steps }
    }

    /// Whether nothing but the file itself was looked at, and had it.
    pub(super) fn is_own(&self, file: FileId) -> bool {
        self.found.is_some() && self.surfaces == [file] && self.stars.is_empty()
    }
}

struct Search<'w, 'p> {
    world: &'w World<'p>,
    visited: FxHashSet<(FileId, &'w str)>,
    surfaces: Vec<FileId>,
    stars: Vec<FileId>,
    steps: usize,
}

impl<'w> Search<'w, '_> {
    /// Where a name of a file is defined. What was visited before is found where that began.
    fn run(&mut self, mut file: FileId, mut name: &'w str, depth: usize) -> Option<Definition> {
        // A name that leads nowhere is defined by the last file that takes it from what may be a module.
        let mut module_here = None;
        while self.visited.insert((file, name)) {
            self.steps += 1;
            self.surfaces.push(file);
            let here = self.world.surface(file);
            // Of a name that is assigned several times the first says what it is.
            let Some(export) = here.named(name).first() else {
                let found = self.taken_as_whole(file, name, depth);
                return found.or(module_here);
            };
            let definition = Definition { file, export: export.at };
            let Some(taken) = export.from.as_ref().filter(|taken| taken.name != "*") else { return Some(definition) };
            let Some(target) = self.world.target_of(file, &taken.specifier) else { return Some(definition) };
            if taken.module.as_deref().is_some_and(|module| self.world.target_of(file, module).is_some()) {
                module_here = Some(definition);
            }
            (file, name) = (target, &taken.name);
        }
        module_here
    }

    /// A name that a file does not say itself: of another file of its package, or of a module of which it takes all.
    fn taken_as_whole(&mut self, file: FileId, name: &'w str, depth: usize) -> Option<Definition> {
        let here = self.world.surface(file);
        if name == "default" || name == "=" {
            // The default of a CommonJS module is all that it exports.
            return here.named("=").first().map(|export| Definition { file, export: export.at });
        }
        let mut found = self.of_package(file, name)?;
        if here.named("*").is_empty() || depth > DEEPEST {
            return found;
        }
        self.stars.push(file);
        let (with, steps) = self.world.stars().with(self.world, file, name);
        self.steps += steps;
        let modules = match with {
            With::Nothing => Vec::new(),
            With::Only(module) if module == file => Vec::new(),
            With::Only(module) => vec![module],
            With::Unknown => self.modules_with(file, name),
        };
        for module in modules {
            let there = if self.world.surface(module).named(name).is_empty() {
                self.of_package(module, name)?
            } else {
                self.run(module, name, depth + 1)
            };
            if let Some(definition) = there {
                // Of names that two modules have none is exported.
                if found.is_some_and(|known| known != definition) {
                    return None;
                }
                found = Some(definition);
            }
        }
        found
    }

    /// A name of another file of a package. Nothing at all where several have it: of files for several systems nobody
    /// knows here which one counts.
    #[expect(clippy::option_option, reason = "several are something else than none, and end the search")]
    fn of_package(&mut self, file: FileId, name: &str) -> Option<Option<Definition>> {
        let mut found = None;
        // Which of them are of the package, they say themselves.
        self.surfaces.extend(self.world.siblings(file));
        for other in self.world.package_of(file) {
            if let Some(export) = self.world.surface(other).named(name).first()
                && found.replace(Definition { file: other, export: export.at }).is_some()
            {
                return None;
            }
        }
        Some(found)
    }

    /// The modules that have a name, of those that a file takes everything from and no module with that name hides.
    fn modules_with(&mut self, file: FileId, name: &'w str) -> Vec<FileId> {
        let mut modules = Vec::new();
        let mut open: Vec<FileId> = self.world.starred(file).collect();
        while let Some(module) = open.pop() {
            self.steps += 1;
            let has_it = |part: FileId| !self.world.surface(part).named(name).is_empty();
            if has_it(module) {
                modules.push(module);
            } else if self.visited.insert((module, name)) {
                if self.world.siblings(module).any(has_it) {
                    modules.push(module);
                }
                open.extend(self.world.starred(module));
            }
        }
        modules
    }
}
