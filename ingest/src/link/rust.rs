//! Where a path of Rust leads: a module is a file below the file that declares it, a crate is what its manifest says.

use std::collections::{BTreeMap, HashMap};

use toml::Table;

/// The crates of a repository.
pub(super) struct Crates {
    /// Folders with a `Cargo.toml`, each with what it says.
    crates: BTreeMap<String, Manifest>,
    /// The root files of libraries by the names of their crates; nothing where two have one name.
    libraries: HashMap<String, Option<String>>,
}

/// What a manifest says.
#[derive(Debug, Default)]
struct Manifest {
    /// The root of its library.
    library: String,
    /// Dependencies as code names them, with the crate that each is; nothing for those out of a registry.
    dependencies: HashMap<String, Option<String>>,
}

impl Crates {
    pub(super) fn read(manifests: &BTreeMap<String, Vec<u8>>) -> Self {
        let mut all = Self { crates: BTreeMap::new(), libraries: HashMap::new() };
        for (path, bytes) in manifests.iter().filter(|(path, _)| name(path) == "Cargo.toml") {
            let Ok(table) = String::from_utf8_lossy(bytes).parse::<Table>() else { continue };
            let folder = folder(path);
            let library = table.get("lib");
            let text = |key: &str| library.and_then(|it| it.get(key)?.as_str());
            let root = joined(folder, text("path").unwrap_or("src/lib.rs"));
            let package = table.get("package").and_then(|package| package.get("name")?.as_str());
            if let Some(name) = text("name").or(package) {
                let known = all.libraries.entry(name.replace('-', "_"));
                known.and_modify(|known| *known = None).or_insert(Some(root.clone()));
            }
            let mut manifest = Manifest { library: root, dependencies: HashMap::new() };
            for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
                for (key, value) in table.get(section).and_then(toml::Value::as_table).into_iter().flatten() {
                    let is_here = value.get("path").is_some() || value.get("workspace").is_some();
                    let package = value.get("package").and_then(toml::Value::as_str).unwrap_or(key);
                    let package = is_here.then(|| package.replace('-', "_"));
                    manifest.dependencies.insert(key.replace('-', "_"), package);
                }
            }
            all.crates.insert(folder.to_owned(), manifest);
        }
        all
    }

    /// The file of a module.
    pub(super) fn find(&self, files: &HashMap<String, u32>, from: &str, specifier: &str) -> Option<u32> {
        let mut names = specifier.split("::").peekable();
        let home = self.home(from);
        let (mut file, mut below) = match *names.peek()? {
            "crate" => {
                names.next();
                let root = self.root(files, from)?;
                let below = folder(&root).to_owned();
                (root, below)
            }
            "self" => {
                names.next();
                (from.to_owned(), self.below(from))
            }
            "super" => {
                let mut at = (from.to_owned(), self.below(from));
                while names.next_if_eq(&"super").is_some() {
                    at = self.parent(files, from, &at.1)?;
                }
                at
            }
            // A module whose file an attribute says, from the folder of the file that declares it.
            first if first.starts_with('"') => {
                names.next();
                let file = super::relative(from, &format!("./{}", first.trim_matches('"')))?;
                let below = folder(&file).to_owned();
                (file, below)
            }
            first => match self.library(home, first) {
                Some(root) => {
                    names.next();
                    let below = folder(&root).to_owned();
                    (root, below)
                }
                // A module that the file declares.
                None => (from.to_owned(), self.below(from)),
            },
        };
        for name in names {
            below = joined(&below, name);
            file =
                [format!("{below}.rs"), format!("{below}/mod.rs")].into_iter().find(|path| files.contains_key(path))?;
        }
        files.get(&file).copied()
    }

    /// The folder of the manifest above a file.
    fn home<'f>(&self, from: &'f str) -> &'f str {
        let mut at = folder(from);
        while !at.is_empty() && !self.crates.contains_key(at) {
            at = folder(at);
        }
        at
    }

    /// The library that a crate of this name is to a file's crate.
    fn library(&self, home: &str, name: &str) -> Option<String> {
        let manifest = self.crates.get(home)?;
        let known = |name: &str| self.libraries.get(name).cloned().flatten();
        match manifest.dependencies.get(name) {
            Some(package) => known(package.as_deref()?),
            // Its own library, for programs and tests beside it.
            None => known(name).filter(|root| *root == manifest.library),
        }
    }

    /// The root of the crate that a file is a part of.
    fn root(&self, files: &HashMap<String, u32>, from: &str) -> Option<String> {
        let home = self.home(from);
        if self.is_root(from) {
            return Some(from.to_owned());
        }
        let manifest = self.crates.get(home)?;
        let inside = from.strip_prefix(home)?.trim_start_matches('/');
        // `src/bin/tool/part.rs`, `tests/suite/part.rs`
        let program = ["src/bin/", "tests/", "examples/", "benches/"].into_iter().find_map(|start| {
            let name = inside.strip_prefix(start)?.split('/').next()?;
            Some(joined(home, &format!("{start}{name}/main.rs")))
        });
        let roots = match program {
            Some(program) => vec![program],
            None => vec![manifest.library.clone(), joined(home, "src/main.rs")],
        };
        roots.into_iter().find(|root| files.contains_key(root))
    }

    /// Whether a file is the root of a crate.
    fn is_root(&self, path: &str) -> bool {
        let home = self.home(path);
        let inside = path.strip_prefix(home).unwrap_or(path).trim_start_matches('/');
        let parts: Vec<&str> = inside.split('/').collect();
        let is_library = self.crates.get(home).is_some_and(|manifest| manifest.library == path);
        is_library
            || matches!(parts.as_slice(), ["build.rs" | "main.rs"] | ["src", "lib.rs" | "main.rs"])
            || matches!(parts.as_slice(), ["src", "bin", _] | ["tests" | "examples" | "benches", _])
            || matches!(
                parts.as_slice(),
                ["src", "bin", _, "main.rs"] | ["tests" | "examples" | "benches", _, "main.rs"]
            )
    }

    /// The folder in which the modules of a file are.
    fn below(&self, path: &str) -> String {
        let folder = folder(path);
        match name(path) {
            "mod.rs" => folder.to_owned(),
            _ if self.is_root(path) => folder.to_owned(),
            name => joined(folder, name.strip_suffix(".rs").unwrap_or(name)),
        }
    }

    /// The module above the one whose modules are in a folder.
    fn parent(&self, files: &HashMap<String, u32>, from: &str, below: &str) -> Option<(String, String)> {
        let above = folder(below).to_owned();
        let root = self.root(files, from)?;
        if above == folder(&root) {
            return Some((root, above));
        }
        let file =
            [format!("{above}.rs"), format!("{above}/mod.rs")].into_iter().find(|path| files.contains_key(path))?;
        Some((file, above))
    }
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn joined(folder: &str, path: &str) -> String {
    let path = path.trim_start_matches("./");
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_through_modules_crates_and_renamed_dependencies() {
        let paths = [
            "Cargo.toml",
            "app/src/main.rs",
            "app/src/a.rs",
            "app/src/a/b/mod.rs",
            "app/src/a/c.rs",
            "app/src/bin/tool.rs",
            "app/tests/it.rs",
            "core-lib/source/root.rs",
            "core-lib/source/x.rs",
        ];
        let manifests = [
            ("Cargo.toml", "[workspace]\nmembers = [\"app\"]"),
            (
                "app/Cargo.toml",
                "[package]\nname = \"app\"\n[dependencies]\nc2 = { package = \"core-lib\", path = \"../core-lib\" }\nother = \"1\"",
            ),
            ("core-lib/Cargo.toml", "[package]\nname = \"core-lib\"\n[lib]\npath = \"source/root.rs\""),
        ];
        let manifests = manifests.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
        let files: HashMap<String, u32> = paths.iter().zip(0..).map(|(path, at)| ((*path).to_owned(), at)).collect();
        let crates = Crates::read(&manifests);
        let find = |from: &str, path: &str| crates.find(&files, from, path).map(|at| paths[at as usize]);
        assert_eq!(find("app/src/a.rs", "crate"), Some("app/src/main.rs"));
        assert_eq!(find("app/src/a.rs", "crate::a::b"), Some("app/src/a/b/mod.rs"));
        assert_eq!(find("app/src/a/b/mod.rs", "super::c"), Some("app/src/a/c.rs"));
        assert_eq!(find("app/src/a/b/mod.rs", "super::super::a"), Some("app/src/a.rs"));
        assert_eq!(find("app/src/a/c.rs", "super"), Some("app/src/a.rs"));
        assert_eq!(find("app/src/a.rs", "self::c"), Some("app/src/a/c.rs"));
        assert_eq!(find("app/src/a.rs", "c"), Some("app/src/a/c.rs"));
        assert_eq!(find("app/src/a.rs", "c2::x"), Some("core-lib/source/x.rs"));
        assert_eq!(find("core-lib/source/x.rs", "crate"), Some("core-lib/source/root.rs"));
        assert_eq!(find("app/src/bin/tool.rs", "crate"), Some("app/src/bin/tool.rs"));
        assert_eq!(find("app/tests/it.rs", "crate"), Some("app/tests/it.rs"));
        for path in ["core_lib", "other", "std::fs", "crate::missing", "super::super::super"] {
            assert_eq!(find("app/src/a.rs", path), None, "{path}");
        }
    }
}
