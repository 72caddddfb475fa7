//! Which file each import of a repository leads to.

mod configs;
mod exports;
#[cfg(test)]
mod fixtures;
mod go;
mod python;
mod rust;
mod tree;
mod workspace;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use oxc_resolver::{ResolveError, ResolveOptions, ResolverGeneric, TsconfigDiscovery};
use serde::{Deserialize, Serialize};

use crate::language::{Family, Language};
use crate::manifests::Manifests;
use crate::parse::ParsedFile;
use crate::pins::Problem;
use crate::reason::Reason;
use configs::Configs;
pub(crate) use configs::limits;
use python::Packages;
use tree::Tree;
use workspace::{Workspace, bare_path};

/// Where the specifiers of one file lead.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Links(Vec<Link>);

/// Where a specifier leads.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Link {
    /// As written.
    pub(crate) specifier: String,
    /// The file, by its position in the project; nothing for packages and what is missing.
    pub(crate) target: Option<u32>,
    /// What others import for it, where it names a package that the repository publishes, or the built entry of one.
    pub(crate) published: Option<String>,
    /// All files of the module, where that is several.
    pub(crate) members: Vec<u32>,
}

impl Links {
    /// Where a specifier leads, if it is one of the file's.
    pub(crate) fn get(&self, specifier: &str) -> Option<&Link> {
        let at = self.0.binary_search_by(|link| link.specifier.as_str().cmp(specifier)).ok()?;
        self.0.get(at)
    }

    /// All specifiers, ascending.
    pub(crate) fn specifiers(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|link| link.specifier.as_str())
    }

    /// Where these specifiers lead, if all of them are known.
    pub(crate) fn of<'s>(&self, specifiers: impl Iterator<Item = &'s str>) -> Option<Self> {
        specifiers.map(|specifier| self.get(specifier).cloned()).collect::<Option<Vec<_>>>().map(Self::sorted)
    }

    fn sorted(mut links: Vec<Link>) -> Self {
        links.sort_by(|a, b| a.specifier.cmp(&b.specifier));
        links.dedup_by(|a, b| a.specifier == b.specifier);
        Self(links)
    }

    /// Gives each target its new position.
    pub(crate) fn moved(&mut self, to: impl Fn(u32) -> u32) {
        for target in self.0.iter_mut().flat_map(|link| link.target.iter_mut().chain(&mut link.members)) {
            *target = to(*target);
        }
    }
}

/// What a file names as modules: what it imports, and what it replaces by mocks.
pub(crate) fn specifiers(parsed: &ParsedFile) -> impl Iterator<Item = &str> {
    let names =
        parsed.imports.iter().flat_map(|import| std::iter::once(import.specifier).chain(import.modules.clone()));
    let names = names.chain(parsed.mocks.iter().copied());
    names.map(|name| parsed.name(name))
}

/// Endings tried where a specifier has none, the likeliest first.
const EXTENSIONS: [&str; 10] = [".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts", ".json"];

/// Conditions of a package's `exports` and `imports` that hold for an importing file.
const CONDITIONS: [&str; 6] = ["import", "module", "require", "node", "default", "types"];

/// What is wrong with the compiler configurations of a repository.
pub(crate) fn problems(manifests: &Manifests) -> Vec<Problem> {
    let manifests = &manifests.files;
    let Configs { unreadable, cut, .. } =
        Tree::new(std::iter::empty(), manifests, &Workspace::read(manifests)).configs(manifests);
    let told = |reason, detail: &str, path| Problem { path, reason, detail: detail.to_owned() };
    let unreadable = unreadable.into_iter().map(|path| told(Reason::ManifestUnreadable, "it is no JSON object", path));
    let cut = cut.into_iter().map(|path| told(Reason::ManifestCut, "it lists or extends too much", path));
    unreadable.chain(cut).collect()
}

/// Resolves specifiers within one repository, without the disk.
pub(crate) struct Modules {
    workspace: Workspace,
    files: HashMap<String, u32>,
    resolver: ResolverGeneric<Tree>,
    /// The same without compiler configurations, for folders whose configuration cannot be used.
    plain: ResolverGeneric<Tree>,
    links: Tree,
    python: Packages,
    go: go::Modules,
    rust: rust::Crates,
    known: HashMap<String, HashMap<String, Option<u32>>>,
}

impl Modules {
    /// `paths` are the source files, whose positions are what [`Modules::resolve`] answers.
    pub(crate) fn new(paths: &[&str], manifests: &BTreeMap<String, Vec<u8>>) -> Self {
        let workspace = Workspace::read(manifests);
        let tree = || Tree::new(paths.iter().copied(), manifests, &workspace);
        let files = paths.iter().zip(0..).map(|(path, at)| ((*path).to_owned(), at)).collect();
        let resolver = ResolverGeneric::new_with_file_system(tree(), options(Some(TsconfigDiscovery::Auto)));
        let plain = ResolverGeneric::new_with_file_system(tree(), options(None));
        let links = tree();
        let python = Packages::read(paths, manifests);
        let go = go::Modules::read(paths, manifests);
        let rust = rust::Crates::read(manifests);
        Self { files, resolver, plain, links, workspace, python, go, rust, known: HashMap::new() }
    }

    /// Where each of the specifiers of a file leads.
    pub(crate) fn links<'s>(&mut self, from: &str, specifiers: impl Iterator<Item = &'s str>) -> Links {
        let link = |specifier: &str| Link {
            specifier: specifier.to_owned(),
            target: self.resolve(from, specifier),
            published: self.published(from, specifier),
            members: self.members(from, specifier),
        };
        Links::sorted(specifiers.map(link).collect())
    }

    /// The file that a specifier in a file leads to; `None` for packages and what is missing.
    fn resolve(&mut self, from: &str, specifier: &str) -> Option<u32> {
        // What a file of Go or Rust calls its own is not what the next one does.
        let is_own = match Language::of_path(from).map(Language::family) {
            Some(Family::Rust) => true,
            Some(Family::Go) => specifier == ".",
            _ => false,
        };
        let folder = if is_own { from } else { from.rsplit_once('/').map_or("", |(folder, _)| folder) };
        if let Some(found) = self.known.get(folder).and_then(|known| known.get(specifier)) {
            return *found;
        }
        let found = self.find(from, specifier);
        self.known.entry(folder.to_owned()).or_default().insert(specifier.to_owned(), found);
        found
    }

    /// The files of a module that is several.
    fn members(&self, from: &str, specifier: &str) -> Vec<u32> {
        match Language::of_path(from).map(Language::family) {
            Some(Family::Go) if specifier == "." => self.go.package(from).to_vec(),
            _ => Vec::new(),
        }
    }

    /// The package of this repository that a specifier in a file stands for, as others import it: by its name, or by
    /// the path of its built entry, which is not in the tree. `None` for packages that are not published.
    fn published(&self, from: &str, specifier: &str) -> Option<String> {
        if Language::of_path(from)?.family() != Family::Script {
            return None;
        }
        if let Some((package, _)) = self.workspace.named(specifier) {
            return (!package.private).then(|| specifier.to_owned());
        }
        let path = relative(from, specifier)?;
        let package = self.workspace.in_folder(self.workspace.folder_of(&path)?)?;
        let inside = path.strip_prefix(&package.folder)?.trim_start_matches('/');
        let is_entry = package.entries.contains(&bare_path(inside)) && !self.files.contains_key(&path);
        (is_entry && !package.private && is_built(inside)).then(|| package.name.clone())
    }

    fn find(&self, from: &str, specifier: &str) -> Option<u32> {
        if specifier.is_empty() || specifier.starts_with('/') || specifier.contains(['\0', '\n']) {
            return None;
        }
        match Language::of_path(from)?.family() {
            Family::Script => {}
            Family::Python => return self.python.find(&self.files, from, specifier),
            Family::Go => return self.go.find(&self.files, from, specifier),
            Family::Rust => return self.rust.find(&self.files, from, specifier),
        }
        // A configuration speaks of sources alone: a component is to it what its script is.
        let script = if Language::of_path(from).is_some_and(Language::is_component) { ".ts" } else { "" };
        let from = PathBuf::from(format!("/{from}{script}"));
        let found = self
            .resolver
            .resolve_file(&from, specifier)
            .or_else(|_| self.plain.resolve(from.parent().unwrap_or(Path::new("/")), specifier));
        let found = match found {
            Ok(found) => self.file(found.path()),
            Err(error) if is_refusal(&error) => return None,
            Err(_) => None,
        };
        found.or_else(|| self.source_of_built(specifier)).or_else(|| self.source_beside(&from, specifier))
    }

    /// The source behind a path into a folder of built files that is not in the tree (`../lib/index.js`).
    fn source_beside(&self, from: &Path, specifier: &str) -> Option<u32> {
        let path = relative(from.to_str()?.trim_start_matches('/'), specifier)?;
        let folder = self.workspace.folder_of(&path)?;
        let root = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut rest = path.strip_prefix(&root)?;
        if !is_built(rest) {
            return None;
        }
        // `dist/cjs/client.js`
        while is_built(rest) {
            rest = rest.split_once('/').map_or("", |(_, rest)| rest);
        }
        let bare = bare_path(rest);
        let slash = if bare.is_empty() { "" } else { "/" };
        let bases = [format!("{root}src/{bare}"), format!("{root}src/{bare}{slash}index"), format!("{root}{bare}")];
        bases.iter().find_map(|base| {
            EXTENSIONS.iter().find_map(|extension| self.files.get(&format!("{base}{extension}")).copied())
        })
    }

    fn file(&self, path: &Path) -> Option<u32> {
        self.files.get(self.links.real(path).trim_start_matches('/')).copied()
    }

    /// A package of the repository whose manifest names built files: they are not in the tree, but their source is.
    fn source_of_built(&self, specifier: &str) -> Option<u32> {
        let (package, rest) = self.workspace.named(specifier)?;
        let root = if package.folder.is_empty() { String::new() } else { format!("{}/", package.folder) };
        let rest = rest.trim_end_matches(".js");
        let bases = if rest.is_empty() {
            vec![format!("{root}src/index"), format!("{root}index"), format!("{root}lib/index")]
        } else {
            let bare = rest.strip_prefix("dist/").unwrap_or(rest);
            vec![
                format!("{root}src/{bare}"),
                format!("{root}src/{bare}/index"),
                format!("{root}{bare}"),
                format!("{root}{bare}/index"),
            ]
        };
        bases.iter().find_map(|base| {
            EXTENSIONS.iter().find_map(|extension| self.files.get(&format!("{base}{extension}")).copied())
        })
    }
}

/// The path that a relative specifier in a file names; `None` for packages and what leaves the repository.
fn relative(from: &str, specifier: &str) -> Option<String> {
    if !specifier.starts_with('.') {
        return None;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in specifier.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Whether a path within a package starts in a folder that compilers and bundlers write to.
fn is_built(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    matches!(first, "lib" | "dist" | "build" | "out" | "es" | "esm" | "cjs" | "output")
}

/// Whether it is a package's manifest that closes the way, whatever files there are.
const fn is_refusal(error: &ResolveError) -> bool {
    matches!(
        error,
        ResolveError::PackagePathNotExported { .. }
            | ResolveError::PackageImportNotDefined(..)
            | ResolveError::InvalidPackageTarget(..)
            | ResolveError::InvalidPackageConfig(_)
            | ResolveError::InvalidModuleSpecifier(..)
    )
}

fn options(tsconfig: Option<TsconfigDiscovery>) -> ResolveOptions {
    let strings = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let alias = |from: &str, to: &[&str]| (from.to_owned(), strings(to));
    ResolveOptions {
        cwd: Some(PathBuf::from("/")),
        tsconfig,
        condition_names: strings(&CONDITIONS),
        extension_alias: vec![
            alias(".js", &[".ts", ".tsx", ".d.ts", ".js", ".jsx"]),
            alias(".jsx", &[".tsx", ".jsx"]),
            alias(".mjs", &[".mts", ".mjs"]),
            alias(".cjs", &[".cts", ".cjs"]),
        ],
        extensions: strings(&EXTENSIONS),
        main_fields: strings(&["source", "module", "main", "types"]),
        symlinks: false,
        node_path: false,
        ..ResolveOptions::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(paths: &[&str], manifests: &[(&str, &str)]) -> Modules {
        let manifests = manifests.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
        Modules::new(paths, &manifests)
    }

    #[test]
    fn relative_imports_take_other_endings_and_index_files() {
        let paths = ["src/a.ts", "src/b.ts", "src/lib/index.tsx", "src/c.mts", "d.jsx"];
        let mut modules = modules(&paths, &[]);
        assert_eq!(modules.resolve("src/a.ts", "./b"), Some(1));
        assert_eq!(modules.resolve("src/a.ts", "./b.js"), Some(1));
        assert_eq!(modules.resolve("src/a.ts", "./lib"), Some(2));
        assert_eq!(modules.resolve("src/a.ts", "./c.mjs"), Some(3));
        assert_eq!(modules.resolve("src/a.ts", "../d"), Some(4));
        assert_eq!(modules.resolve("src/a.ts", "."), None);
        assert_eq!(modules.resolve("src/a.ts", "./missing"), None);
        assert_eq!(modules.resolve("src/a.ts", "stripe"), None);
        assert_eq!(modules.resolve("src/a.ts", "/src/b"), None);
    }

    #[test]
    fn paths_of_the_nearest_configuration_count_even_where_it_extends_what_is_missing() {
        let paths = ["apps/web/page.ts", "apps/web/lib/stripe/index.ts", "packages/x/a.ts"];
        let config = r#"{ // a comment
            "extends": "tsconfig/nextjs.json",
            "compilerOptions": { "baseUrl": ".", "paths": { "@/lib/*": ["lib/*"], }, },
            "references": [{ "path": "../nowhere" }] }"#;
        let mut modules = modules(&paths, &[("apps/web/tsconfig.json", config)]);
        assert_eq!(modules.resolve("apps/web/page.ts", "@/lib/stripe"), Some(1));
        assert_eq!(modules.resolve("packages/x/a.ts", "@/lib/stripe"), None);
    }

    #[test]
    fn configurations_are_extended_and_cannot_leave_the_repository() {
        let paths = ["app/a.ts", "app/src/b.ts"];
        let mut modules = modules(
            &paths,
            &[
                ("tsconfig.base.json", r##"{"compilerOptions":{"paths":{"#/*":["./app/src/*"]}}}"##),
                ("app/tsconfig.json", r#"{"extends":["../tsconfig.base.json","../../../../etc/passwd"]}"#),
            ],
        );
        assert_eq!(modules.resolve("app/a.ts", "#/b"), Some(1));
        assert_eq!(modules.resolve("app/a.ts", "../../../../etc/passwd"), None);
    }

    #[test]
    fn packages_of_the_repository_are_found_by_name_through_their_exports() {
        let paths = [
            "apps/web/a.ts",
            "packages/email/src/index.ts",
            "packages/email/src/resend/index.ts",
            "packages/u/src/index.ts",
        ];
        let mut modules = modules(
            &paths,
            &[
                (
                    "packages/email/package.json",
                    r#"{"name":"@dub/email","exports":{".":{"import":"./src/index.ts"},"./resend":{"import":"./src/resend/index.ts"}}}"#,
                ),
                ("packages/u/package.json", r#"{"name":"@dub/utils","main":"./dist/index.mjs"}"#),
            ],
        );
        assert_eq!(modules.resolve("apps/web/a.ts", "@dub/email"), Some(1));
        assert_eq!(modules.resolve("apps/web/a.ts", "@dub/email/resend"), Some(2));
        assert_eq!(modules.resolve("apps/web/a.ts", "@dub/utils"), Some(3));
        assert_eq!(modules.resolve("apps/web/a.ts", "@dub/other"), None);
    }

    #[test]
    fn built_files_that_are_not_in_the_tree_are_their_source() {
        let paths = ["example/a.mjs", "lib/kept.js", "packages/x/src/b.ts", "packages/x/test/t.ts", "src/index.ts"];
        let manifests = [
            (
                "package.json",
                r#"{"name":"probot","main":"lib/index.js","exports":{".":{"types":"./lib/index.d.ts"},"./b":"./lib/b.js"}}"#,
            ),
            ("packages/x/package.json", r#"{"private":true,"name":"x","main":"dist/index.js"}"#),
        ];
        let mut modules = modules(&paths, &manifests);
        assert_eq!(modules.resolve("example/a.mjs", "../lib/index.js"), Some(4));
        assert_eq!(modules.resolve("example/a.mjs", "../lib"), Some(4));
        assert_eq!(modules.resolve("example/a.mjs", "../lib/kept.js"), Some(1));
        assert_eq!(modules.resolve("example/a.mjs", "../lib/other.js"), None);
        assert_eq!(modules.resolve("packages/x/test/t.ts", "../dist/cjs/b.js"), Some(2));
        assert_eq!(modules.resolve("packages/x/test/t.ts", "../made/b.js"), None);
        let published = |from: &str, specifier: &str| modules.published(from, specifier);
        assert_eq!(published("example/a.mjs", "../lib/index.js").as_deref(), Some("probot"));
        assert_eq!(published("example/a.mjs", "../lib").as_deref(), Some("probot"));
        assert_eq!(published("example/a.mjs", "probot").as_deref(), Some("probot"));
        for (from, specifier) in [
            ("example/a.mjs", "../lib/b.js"),
            ("example/a.mjs", "../src/index.js"),
            ("example/a.mjs", "../../lib"),
            ("packages/x/test/t.ts", "../dist/index.js"),
        ] {
            assert_eq!(published(from, specifier), None, "{specifier}");
        }
    }

    #[test]
    fn a_javascript_configuration_counts_where_there_is_no_other() {
        let mut modules = modules(
            &["a.js", "src/b.js"],
            &[("jsconfig.json", r#"{"compilerOptions":{"baseUrl":".","paths":{"~/*":["src/*"]}}}"#)],
        );
        assert_eq!(modules.resolve("a.js", "~/b"), Some(1));
    }

    #[test]
    fn aliases_count_in_components_and_what_one_asks_first_changes_nothing_for_its_neighbours() {
        let paths = ["src/A.vue", "src/B.svelte", "src/a.ts", "src/lib/c.ts"];
        let config = r#"{"include":["src/**/*.ts","src/**/*.vue"],"compilerOptions":{"paths":{"~/*":["./src/*"]}}}"#;
        for first in 0..3 {
            let mut modules = modules(&paths, &[("tsconfig.json", config)]);
            assert_eq!(modules.resolve(paths[first], "~/lib/c"), Some(3), "{}", paths[first]);
            assert!(paths[..3].iter().all(|path| modules.resolve(path, "~/lib/c") == Some(3)));
        }
    }
}
