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
}

/// All packages of a repository, by name.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    packages: BTreeMap<String, LocalPackage>,
}

impl Workspace {
    /// Reads every `package.json`. Whether the workspace file lists it does not matter: a name that a package of the
    /// repository has is that package for its siblings. Of two with one name none is taken, since either would be a
    /// guess.
    pub(super) fn read(manifests: &BTreeMap<String, Vec<u8>>) -> Self {
        let mut packages = BTreeMap::new();
        let mut twice = Vec::new();
        for (path, bytes) in manifests {
            let folder = match path.strip_suffix("package.json") {
                Some("") => "",
                Some(folder) if folder.ends_with('/') => folder.trim_end_matches('/'),
                _ => continue,
            };
            let Ok(manifest) = serde_json::from_slice::<Value>(bytes) else { continue };
            let Some(name) = manifest.get("name").and_then(Value::as_str) else { continue };
            if name.is_empty() || name.len() > 214 || name.contains("..") {
                continue;
            }
            let package = LocalPackage {
                name: name.to_owned(),
                folder: folder.to_owned(),
                private: manifest.get("private").and_then(Value::as_bool).unwrap_or(false),
            };
            if packages.insert(name.to_owned(), package).is_some() {
                twice.push(name.to_owned());
            }
        }
        for name in twice {
            packages.remove(&name);
        }
        Self { packages }
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
