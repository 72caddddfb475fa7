//! The files that say what a repository depends on and how its modules are found.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::tree::{Content, Node, Tree};
use crate::walk::MANIFESTS_BYTES;

/// Manifests and lockfiles by repository-relative path: `package.json`, `tsconfig*.json`, `jsconfig.json`,
/// `pnpm-workspace.yaml`, `pyproject.toml`, `setup.cfg`, `go.mod`, `Cargo.toml`, and the lockfiles of [`LOCKFILES`].
#[derive(Debug, Clone, Default)]
pub struct Manifests {
    /// Bytes by path.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// Manifests as a walk finds them, ascending by path.
#[derive(Debug, Default)]
pub struct Listing(Vec<Listed>);

/// A manifest of a tree.
#[derive(Debug)]
struct Listed {
    id: Id,
    node: Node,
    /// Nothing where an earlier run has read the same content.
    bytes: Option<Vec<u8>>,
}

/// What a manifest is known by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Id {
    pub(crate) path: String,
    /// Git blob id of its bytes, in hexadecimal.
    pub(crate) content_hash: String,
}

impl Listing {
    /// Adds a manifest that was read.
    pub(crate) fn push(&mut self, path: String, node: Node, content: Content) {
        let id = Id { path, content_hash: content.hash };
        self.0.push(Listed { id, node, bytes: Some(content.bytes) });
    }

    /// Adds a manifest that an earlier run has read.
    pub(crate) fn push_known(&mut self, path: String, node: Node, content_hash: String) {
        self.0.push(Listed { id: Id { path, content_hash }, node, bytes: None });
    }

    pub(crate) fn sort(&mut self) {
        self.0.sort_by(|a, b| a.id.path.cmp(&b.id.path));
    }

    /// What each is known by.
    pub(crate) fn ids(&self) -> Vec<Id> {
        self.0.iter().map(|listed| listed.id.clone()).collect()
    }

    /// Their bytes, and the paths of those that cannot be read.
    pub fn read(self, tree: &Tree) -> (Manifests, Vec<String>) {
        let mut reader = None;
        let (mut manifests, mut unreadable) = (Manifests::default(), Vec::new());
        for Listed { id, node, bytes } in self.0 {
            let bytes = bytes.or_else(|| {
                let reader = reader.get_or_insert_with(|| tree.reader());
                reader.read(&id.path, &node, MANIFESTS_BYTES).ok().map(|content| content.bytes)
            });
            match bytes {
                Some(bytes) => drop(manifests.files.insert(id.path, bytes)),
                None => unreadable.push(id.path),
            }
        }
        (manifests, unreadable)
    }
}

/// Lockfiles, the one that counts first where a folder has several. Bun's binary form is not
/// read, but says where a dependency tree ends: below it, a lockfile further up says nothing.
pub const LOCKFILES: [&str; 6] =
    ["npm-shrinkwrap.json", "pnpm-lock.yaml", "package-lock.json", "yarn.lock", "bun.lock", "bun.lockb"];

/// Largest manifest that is read, in bytes.
pub(crate) const MANIFEST_BYTES: u64 = 1 << 20;
/// Largest lockfile that is read, in bytes.
pub(crate) const LOCKFILE_BYTES: u64 = 32 << 20;

/// How many bytes a file of this name may have to be read as a manifest; nothing for other files.
pub fn size_limit(name: &str) -> Option<u64> {
    if LOCKFILES.contains(&name) {
        return Some(LOCKFILE_BYTES);
    }
    let is_tsconfig = name.strip_suffix(".json").is_some_and(|stem| stem.starts_with("tsconfig"));
    let is_manifest = matches!(
        name,
        "package.json"
            | "jsconfig.json"
            | "pnpm-workspace.yaml"
            | "pyproject.toml"
            | "setup.cfg"
            | "go.mod"
            | "Cargo.toml"
    );
    (is_tsconfig || is_manifest).then_some(MANIFEST_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_are_told_by_their_name() {
        assert_eq!(size_limit("tsconfig.base.json"), Some(MANIFEST_BYTES));
        assert_eq!(size_limit("pnpm-lock.yaml"), Some(LOCKFILE_BYTES));
        assert_eq!(size_limit("tsconfig.ts"), None);
        assert_eq!(size_limit("my-package.json"), None);
    }
}
