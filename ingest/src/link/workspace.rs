//! The packages that a repository is made of.

use std::collections::BTreeMap;

use serde_json::Value;

/// A package of the repository.
#[derive(Debug, Clone)]
pub(super) struct LocalPackage {
    /// Name in its manifest.
    pub(super) name: String,
    /// Its folder, repository-relative; empty for the root.
    pub(super) folder: String,
    /// Whether it says that it is not for others.
    pub(super) private: bool,
    /// The files that its name stands for, without their endings, relative to its folder.
    pub(super) entries: Vec<String>,
}

/// All packages of a repository, by name.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    packages: BTreeMap<String, LocalPackage>,
    /// Names by folder; empty for packages without one, or with one that several have.
    folders: BTreeMap<String, String>,
}

impl Workspace {
    /// Reads every `package.json`. Whether the workspace file lists it does not matter: a name that a package of the
    /// repository has is that package for its siblings. Of two with one name none is taken, since either would be a
    /// guess.
    pub(super) fn read(manifests: &BTreeMap<String, Vec<u8>>) -> Self {
        let mut packages = BTreeMap::new();
        let mut folders = BTreeMap::new();
        let mut twice = Vec::new();
        for (path, bytes) in manifests {
            let folder = match path.strip_suffix("package.json") {
                Some("") => "",
                Some(folder) if folder.ends_with('/') => folder.trim_end_matches('/'),
                _ => continue,
            };
            folders.insert(folder.to_owned(), String::new());
            let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
            let Ok(manifest) = serde_json::from_slice::<Value>(bytes) else { continue };
            let Some(name) = manifest.get("name").and_then(Value::as_str) else { continue };
            if name.is_empty() || name.len() > 214 || name.contains("..") {
                continue;
            }
            let package = LocalPackage {
                name: name.to_owned(),
                folder: folder.to_owned(),
                private: manifest.get("private").and_then(Value::as_bool).unwrap_or(false),
                entries: entries(&manifest),
            };
            folders.insert(folder.to_owned(), name.to_owned());
            if packages.insert(name.to_owned(), package).is_some() {
                twice.push(name.to_owned());
            }
        }
        for name in twice {
            packages.remove(&name);
        }
        Self { packages, folders }
    }

    /// The folder of the innermost package that a path is in.
    pub(super) fn folder_of<'s>(&self, path: &'s str) -> Option<&'s str> {
        let mut at = path;
        while let Some((folder, _)) = at.rsplit_once('/') {
            if self.folders.contains_key(folder) {
                return Some(folder);
            }
            at = folder;
        }
        self.folders.contains_key("").then_some("")
    }

    /// The package in a folder.
    pub(super) fn in_folder(&self, folder: &str) -> Option<&LocalPackage> {
        self.packages.get(self.folders.get(folder)?).filter(|package| package.folder == folder)
    }

    pub(super) fn packages(&self) -> impl Iterator<Item = &LocalPackage> {
        self.packages.values()
    }

    /// The package that a bare specifier names, and what is behind the name.
    pub(super) fn named<'s>(&self, specifier: &'s str) -> Option<(&LocalPackage, &'s str)> {
        let mut ends = specifier.match_indices('/').map(|(at, _)| at);
        let end = if specifier.starts_with('@') { ends.nth(1) } else { ends.next() }.unwrap_or(specifier.len());
        let package = self.packages.get(&specifier[..end])?;
        Some((package, specifier[end..].trim_start_matches('/')))
    }
}

/// The files that a manifest makes of a package's bare name.
fn entries(manifest: &Value) -> Vec<String> {
    let mut entries = Vec::new();
    for key in ["main", "module", "types", "typings"] {
        entries.extend(manifest.get(key).and_then(Value::as_str).map(bare_path));
    }
    if let Some(exports) = manifest.get("exports") {
        leaves(exports.get(".").unwrap_or(exports), 0, &mut entries);
    }
    entries.sort();
    entries.dedup();
    entries
}

fn leaves(value: &Value, depth: u32, out: &mut Vec<String>) {
    match value {
        Value::String(path) => out.push(bare_path(path)),
        Value::Object(conditions) if depth < 4 => {
            for (name, value) in conditions {
                // `"./feature"` is not the bare name.
                if !name.starts_with('.') {
                    leaves(value, depth + 1, out);
                }
            }
        }
        _ => {}
    }
}

/// A path as `import` may shorten it: without `./`, an ending of code, or `/index`.
pub(super) fn bare_path(path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    let path = [".d.ts", ".d.mts", ".d.cts", ".js", ".mjs", ".cjs"]
        .iter()
        .find_map(|ending| path.strip_suffix(ending))
        .unwrap_or(path)
        .trim_end_matches('/');
    path.strip_suffix("/index").unwrap_or(path).to_owned()
}
