//! The repository as the module resolver sees it: paths and manifests in memory, never the disk.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use super::configs::Configs;
use super::exports;
use super::workspace::Workspace;
use oxc_resolver::{FileMetadata, FileSystem, ResolveError};

/// A file system of paths that exist and manifests that can be read.
///
/// Paths are repository-relative behind a leading `/`. Below `/node_modules/<name>` each package of the repository is
/// found in its own folder, as an installer would have linked it. Nothing outside can be named: `..` ends at the root.
#[derive(Debug, Default)]
pub(super) struct Tree {
    files: HashSet<String>,
    folders: HashSet<String>,
    texts: HashMap<String, String>,
    links: BTreeMap<String, String>,
}

impl Tree {
    /// Builds the tree of a repository.
    pub(super) fn new<'p>(
        sources: impl Iterator<Item = &'p str>,
        manifests: &'p BTreeMap<String, Vec<u8>>,
        workspace: &Workspace,
    ) -> Self {
        let mut tree = Self::default();
        for path in sources.chain(manifests.keys().map(String::as_str)) {
            tree.add(path);
        }
        tree.folders.insert("/node_modules".to_owned());
        for package in workspace.packages() {
            let link = format!("/node_modules/{}", package.name);
            if let Some((scope, _)) = link.rsplit_once('/') {
                tree.folders.insert(scope.to_owned());
            }
            tree.links.insert(link, format!("/{}", package.folder));
        }
        for (path, bytes) in manifests {
            if path == "package.json" || path.ends_with("/package.json") {
                tree.texts.insert(format!("/{path}"), exports::decided(&String::from_utf8_lossy(bytes)));
            }
        }
        for (path, text) in tree.configs(manifests).texts {
            if let Some(folder) = path.strip_suffix("jsconfig.json") {
                // The resolver looks for `tsconfig.json` only.
                let alias = format!("/{folder}tsconfig.json");
                if tree.files.insert(alias.clone()) {
                    tree.texts.insert(alias, text.clone());
                }
            }
            tree.texts.insert(format!("/{path}"), text);
        }
        tree
    }

    fn add(&mut self, path: &str) {
        let path = format!("/{path}");
        let mut at = path.as_str();
        while let Some((folder, _)) = at.rsplit_once('/') {
            let folder = if folder.is_empty() { "/" } else { folder };
            if !self.folders.insert(folder.to_owned()) || folder == "/" {
                break;
            }
            at = folder;
        }
        self.files.insert(path);
    }

    /// The compiler configurations among the manifests.
    pub(super) fn configs(&self, manifests: &BTreeMap<String, Vec<u8>>) -> Configs {
        Configs::read(manifests, &|path| {
            let real = self.real(Path::new(path));
            self.files.contains(&real).then_some(real)
        })
    }

    /// The path that a path stands for: normal, and out of `node_modules` where that leads to a package of here.
    pub(super) fn real(&self, path: &Path) -> String {
        let mut parts: Vec<&str> = Vec::new();
        let text = path.to_string_lossy();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop();
                }
                part => parts.push(part),
            }
        }
        let path = format!("/{}", parts.join("/"));
        let Some(at) = path.rfind("/node_modules/") else { return path };
        let inside = &path[at..];
        let name_end = {
            let rest = &inside["/node_modules/".len()..];
            let mut ends = rest.match_indices('/').map(|(at, _)| at + "/node_modules/".len());
            if rest.starts_with('@') { ends.nth(1) } else { ends.next() }
        };
        let (link, rest) = inside.split_at(name_end.unwrap_or(inside.len()));
        match self.links.get(link) {
            Some(folder) => format!("{}{rest}", folder.trim_end_matches('/')),
            None => path,
        }
    }
}

fn missing(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, path.display().to_string())
}

impl FileSystem for Tree {
    fn new() -> Self {
        Self::default()
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.read_to_string(path).map(String::into_bytes)
    }

    fn read_to_string(&self, path: &Path) -> io::Result<String> {
        let real = self.real(path);
        match self.texts.get(&real) {
            Some(text) => Ok(text.clone()),
            None if self.files.contains(&real) => Ok(String::new()),
            None => Err(missing(path)),
        }
    }

    fn metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        let real = self.real(path);
        if self.files.contains(&real) {
            Ok(FileMetadata::new(true, false, false))
        } else if self.folders.contains(&real) {
            Ok(FileMetadata::new(false, true, false))
        } else {
            Err(missing(path))
        }
    }

    fn symlink_metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        self.metadata(path)
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf, ResolveError> {
        Err(ResolveError::from(missing(path)))
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(PathBuf::from(self.real(path)))
    }
}
