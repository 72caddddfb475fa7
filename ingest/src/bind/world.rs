//! All files of a project with their imports resolved, and exports followed through any chain of re-exports.

use std::collections::{HashMap, HashSet};

use sync_core::graph::Symbol;

use super::value::FileId;
use crate::analyze::Project;
use crate::link::Modules;
use crate::parse::{ExportValue, Name, ParsedFile, SymbolIndex};

/// Re-exports of re-exports, followed this far.
const LONGEST_CHAIN: usize = 64;

/// A file among others.
pub(super) struct File<'p> {
    pub(super) path: &'p str,
    pub(super) parsed: &'p ParsedFile,
    /// Files that its specifiers lead to.
    pub(super) targets: HashMap<Name, FileId>,
    /// Specifiers that name a package which the repository publishes, or its built entry, with what others import.
    pub(super) published: HashMap<Name, String>,
    exports: HashMap<&'p str, Vec<usize>>,
    pub(super) is_test: bool,
}

/// Where an exported name is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Definition {
    pub(super) file: FileId,
    /// Position among that file's exports.
    pub(super) export: usize,
}

/// All files.
pub(super) struct World<'p> {
    pub(super) files: Vec<File<'p>>,
}

impl<'p> World<'p> {
    /// Resolves every import of a project.
    pub(super) fn new(project: &Project<'p>) -> Self {
        let paths: Vec<&str> = project.files.iter().map(|(entry, _)| entry.path.as_str()).collect();
        let mut modules = Modules::new(&paths, &project.manifests.files);
        let files = project
            .files
            .iter()
            .map(|(entry, parsed)| {
                let mut targets = HashMap::new();
                let mut published = HashMap::new();
                for import in &parsed.imports {
                    if let Some(own) = modules.published(&entry.path, parsed.name(import.specifier)) {
                        published.insert(import.specifier, own);
                    }
                    if let Some(target) = modules.resolve(&entry.path, parsed.name(import.specifier)) {
                        targets.insert(import.specifier, target);
                    }
                }
                for mock in &parsed.mocks {
                    if let Some(target) = modules.resolve(&entry.path, parsed.name(*mock)) {
                        targets.insert(*mock, target);
                    }
                }
                let mut exports: HashMap<&str, Vec<usize>> = HashMap::new();
                for (at, export) in parsed.exports.iter().enumerate() {
                    exports.entry(parsed.name(export.name)).or_default().push(at);
                }
                File { path: &entry.path, parsed, targets, published, exports, is_test: is_test(&entry.path) }
            })
            .collect();
        Self { files }
    }

    pub(super) fn file(&self, id: FileId) -> &File<'p> {
        &self.files[id as usize]
    }

    /// `path#qualified#ordinal` of a symbol; of the file itself where there is none.
    pub(super) fn target(&self, file: FileId, symbol: Option<SymbolIndex>) -> String {
        let file = self.file(file);
        match symbol.and_then(|symbol| file.parsed.symbols.get(symbol as usize)) {
            Some(symbol) => format!("{}#{}#{}", file.path, symbol.qualified, symbol.ordinal),
            None => format!("{}##0", file.path),
        }
    }

    pub(super) fn symbol(&self, file: FileId, symbol: Option<SymbolIndex>) -> Option<&Symbol> {
        self.file(file).parsed.symbols.get(symbol? as usize)
    }

    /// Where a name that a file exports is defined: in the file itself, or behind re-exports. What leads to a package
    /// is defined where it is re-exported. `None` where it is missing, or where two stars disagree.
    pub(super) fn definition(&self, file: FileId, name: &str) -> Option<Definition> {
        self.search(file, name, &mut HashSet::new(), 0)
    }

    fn search(
        &self,
        file: FileId,
        name: &str,
        visited: &mut HashSet<(FileId, String)>,
        depth: usize,
    ) -> Option<Definition> {
        if depth > LONGEST_CHAIN || !visited.insert((file, name.to_owned())) {
            return None;
        }
        let here = self.file(file);
        // Of a name that is assigned several times the first says what it is.
        if let Some(at) = here.exports.get(name).and_then(|exports| exports.first()) {
            let export = &here.parsed.exports[*at];
            if let ExportValue::From { specifier, name: there } = export.value
                && let Some(target) = here.targets.get(&specifier)
                && here.parsed.name(there) != "*"
            {
                return self.search(*target, here.parsed.name(there), visited, depth + 1);
            }
            return Some(Definition { file, export: *at });
        }
        if name == "default" || name == "=" {
            // The default of a CommonJS module is all that it exports.
            let whole = here.exports.get("=").and_then(|exports| exports.first());
            return whole.map(|at| Definition { file, export: *at });
        }
        let mut found: Option<Definition> = None;
        for at in here.exports.get("*").map_or(&[][..], Vec::as_slice) {
            let ExportValue::From { specifier, .. } = here.parsed.exports[*at].value else { continue };
            let Some(target) = here.targets.get(&specifier) else { continue };
            if let Some(definition) = self.search(*target, name, visited, depth + 1) {
                if found.is_some_and(|known| known != definition) {
                    return None;
                }
                found = Some(definition);
            }
        }
        found
    }

    /// Specifiers that a file takes everything from and that lead to packages.
    pub(super) fn starred_packages(&self, file: FileId) -> Vec<Name> {
        let here = self.file(file);
        here.exports
            .get("*")
            .map_or(&[][..], Vec::as_slice)
            .iter()
            .filter_map(|at| match here.parsed.exports[*at].value {
                ExportValue::From { specifier, .. } if !here.targets.contains_key(&specifier) => Some(specifier),
                _ => None,
            })
            .collect()
    }
}

/// Whether a path is of tests, stories, mocks or fixtures.
fn is_test(path: &str) -> bool {
    let mut parts = path.split('/').collect::<Vec<_>>();
    let name = parts.pop().unwrap_or("");
    let folders = ["__tests__", "__mocks__", "__fixtures__", "test", "tests", "e2e", "cypress", "mocks", "fixtures"];
    parts.iter().any(|part| folders.contains(part) || *part == "playwright" || *part == "stories")
        || [".test.", ".spec.", ".stories.", ".mock.", ".e2e.", ".cy."].iter().any(|mark| name.contains(mark))
        || name.starts_with("test.")
}

#[cfg(test)]
mod tests {
    use super::is_test;

    #[test]
    fn tests_stories_mocks_and_fixtures_are_told_by_their_path() {
        for path in ["a/b.test.ts", "tests/a.ts", "src/__mocks__/stripe.ts", "x.stories.tsx", "test.js"] {
            assert!(is_test(path), "{path}");
        }
        for path in ["src/latest.ts", "contest/a.ts", "src/testing-library.ts", "attest.js"] {
            assert!(!is_test(path), "{path}");
        }
    }
}
