//! The files that say what a repository depends on and how its modules are found.

use std::collections::BTreeMap;

/// Manifests and lockfiles by repository-relative path: `package.json`, `tsconfig*.json`, `jsconfig.json`,
/// `pnpm-workspace.yaml`, `pyproject.toml`, `setup.cfg`, `go.mod`, `Cargo.toml`, and the lockfiles of [`LOCKFILES`].
#[derive(Debug, Clone, Default)]
pub struct Manifests {
    /// Bytes by path.
    pub files: BTreeMap<String, Vec<u8>>,
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
