//! Which version of a package an importing file gets: from the lockfile, else from the manifest's range.
//!
//! Lockfiles of npm, pnpm, yarn and bun are read, but for bun's binary form. What an unread one governs is taken from
//! the manifest, and said to be a range.

mod bun;
#[cfg(test)]
mod hostile;
mod keep;
mod manifest;
mod npm;
mod pnpm;
mod range;
mod yarn;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use crate::manifests::{LOCKFILES, Manifests};
use crate::reason::Reason;
use bun::BunLock;
use keep::Keep;
pub(crate) use keep::limits;
use manifest::{Catalogs, PackageManifest};
use npm::NpmLock;
use pnpm::PnpmLock;
use yarn::YarnLock;

/// Longest version or range that is believed to be one, in bytes.
const MAX_VERSION: usize = 256;

/// What the manifests and lockfiles of a repository pin. Folders are named without a slash at their end, the root by
/// nothing.
#[derive(Debug, Default)]
pub struct Pins {
    packages: BTreeMap<String, PackageManifest>,
    locks: BTreeMap<String, Lock>,
    catalogs: BTreeMap<String, Catalogs>,
}

/// The version an importing file gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    /// The version, or the range as written where only a manifest says it.
    pub version: Option<String>,
    /// `lockfile`, `manifest_range` or `unknown`.
    pub source: &'static str,
}

/// A manifest or lockfile that could not be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Which.
    pub path: String,
    /// Which of the reasons for it.
    pub reason: Reason,
    /// Why, in words.
    pub detail: String,
}

/// The lockfile of a folder.
#[derive(Debug)]
enum Lock {
    Npm(NpmLock),
    Pnpm(PnpmLock),
    Yarn(YarnLock),
    Bun(BunLock),
    /// Binary or damaged: it still ends the search for a lockfile.
    Unread,
}

/// What a lockfile says of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Locked {
    Version(String),
    /// A package of the repository itself, a git address, or another package under this name.
    Foreign,
}

impl Pins {
    /// What the manifests and lockfiles pin of a catalog's packages.
    pub fn of(manifests: &Manifests, catalog: &Catalog) -> (Self, Vec<Problem>) {
        let wanted = catalog.pinned();
        Self::read(manifests, &|package| wanted.contains(package))
    }

    /// Reads every manifest and lockfile; what cannot be read is a problem and pins nothing. Of packages that are not
    /// wanted nothing is kept, and nothing is known.
    pub fn read(manifests: &Manifests, is_wanted: &dyn Fn(&str) -> bool) -> (Self, Vec<Problem>) {
        let keep = Keep::new(is_wanted);
        let mut pins = Self::default();
        let mut problems = Vec::new();
        for (path, bytes) in &manifests.files {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            let mut problem = |reason, detail| problems.push(Problem { path: path.clone(), reason, detail });
            match name {
                "package.json" => match PackageManifest::read(bytes, &keep) {
                    Ok(manifest) => {
                        pins.packages.insert(folder.to_owned(), manifest);
                    }
                    Err(detail) => problem(Reason::ManifestUnreadable, detail),
                },
                "pnpm-workspace.yaml" => match Catalogs::read(bytes, &keep) {
                    Ok(catalogs) => {
                        pins.catalogs.insert(folder.to_owned(), catalogs);
                    }
                    Err(detail) if keep.was_cut() => problem(Reason::ManifestCut, detail),
                    Err(detail) => problem(Reason::ManifestUnreadable, detail),
                },
                _ => {}
            }
        }
        for path in manifests.files.keys() {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            if LOCKFILES.contains(&name) && !pins.locks.contains_key(folder) {
                let (name, bytes) = pins.lockfile_of(folder, manifests);
                let lock = match name {
                    "pnpm-lock.yaml" => PnpmLock::read(bytes, &keep).map(Lock::Pnpm),
                    "package-lock.json" | "npm-shrinkwrap.json" => NpmLock::read(bytes, &keep).map(Lock::Npm),
                    "yarn.lock" => YarnLock::read(bytes, &keep).map(Lock::Yarn),
                    "bun.lock" => BunLock::read(bytes, &keep).map(Lock::Bun),
                    _ => Err(bun::BINARY.to_owned()),
                };
                let lock = lock.unwrap_or_else(|detail| {
                    let reason = if keep.was_cut() { Reason::LockfileCut } else { Reason::LockfileUnreadable };
                    problems.push(Problem { path: join(folder, name), reason, detail });
                    Lock::Unread
                });
                pins.locks.insert(folder.to_owned(), lock);
            }
        }
        (pins, problems)
    }

    /// The version of `package` (a name, or a specifier inside it) that an import in `importing_path` gets.
    pub fn sdk_version(&self, importing_path: &str, package: &str) -> Pinned {
        let package = package_name(package);
        let unknown = Pinned { version: None, source: "unknown" };
        for folder in folders_upward(importing_path) {
            let locked = match self.locks.get(folder) {
                None => continue,
                Some(Lock::Unread) => break,
                Some(Lock::Npm(lock)) => lock.find(inside(importing_path, folder), package),
                Some(Lock::Pnpm(lock)) => lock.find(inside(importing_path, folder), package),
                Some(Lock::Bun(lock)) => lock.find(inside(importing_path, folder), package),
                Some(Lock::Yarn(lock)) => match lock.find(package, self.asked(importing_path, folder, package)) {
                    // It lists all that its manifests ask for, wherever that is installed.
                    None => break,
                    found => found,
                },
            };
            match locked {
                Some(Locked::Version(version)) => return Pinned { version: Some(version), source: "lockfile" },
                Some(Locked::Foreign) => return unknown,
                None => {}
            }
        }
        for folder in folders_upward(importing_path) {
            let Some(range) = self.packages.get(folder).and_then(|manifest| manifest.range(package)) else { continue };
            return match self.plain_range(folder, package, range) {
                Some(range) => Pinned { version: Some(range), source: "manifest_range" },
                None => unknown,
            };
        }
        unknown
    }

    /// Whether the project that a file is in says that it depends on `package`.
    pub fn depends(&self, path: &str, package: &str) -> bool {
        folders_upward(path).any(|folder| self.packages.get(folder).is_some_and(|it| it.range(package).is_some()))
    }

    /// The range with which a file asks the lockfile of `folder`: what the repository forces on all its packages, else
    /// what the nearest manifest says.
    fn asked(&self, importing_path: &str, folder: &str, package: &str) -> Option<&str> {
        let forced = self.packages.get(folder).and_then(|manifest| manifest.forced(package));
        let folders = folders_upward(importing_path).take_while(|above| above.len() >= folder.len());
        let mut said = folders.filter_map(|above| self.packages.get(above)?.range(package));
        forced.or_else(|| said.next())
    }

    /// The range itself, behind what pnpm and npm may write around it; nothing where it is no registry version.
    fn plain_range(&self, folder: &str, package: &str, range: &str) -> Option<String> {
        if let Some(catalog) = range.strip_prefix("catalog:") {
            let catalogs = folders_upward(&join(folder, "package.json")).find_map(|above| self.catalogs.get(above))?;
            return catalogs.range(catalog, package).filter(|range| range.len() <= MAX_VERSION).map(str::to_owned);
        }
        if let Some(alias) = range.strip_prefix("npm:") {
            let (name, range) = alias.rsplit_once('@').filter(|(name, _)| !name.is_empty())?;
            return (name == package && range.len() <= MAX_VERSION).then(|| range.to_owned());
        }
        let is_address = range.contains(':') || range.contains('/');
        (!is_address && range.len() <= MAX_VERSION).then(|| range.to_owned())
    }

    /// The lockfile that counts in a folder: the manifest's package manager decides where there are several.
    fn lockfile_of<'m>(&self, folder: &str, manifests: &'m Manifests) -> (&'static str, &'m [u8]) {
        let present = || {
            LOCKFILES
                .iter()
                .filter_map(|name| manifests.files.get(&join(folder, name)).map(|bytes| (*name, bytes.as_slice())))
        };
        let manager = self.packages.get(folder).and_then(|manifest| manifest.package_manager.as_deref());
        let preferred = present().find(|(name, _)| match manager {
            Some("npm") => matches!(*name, "npm-shrinkwrap.json" | "package-lock.json"),
            Some("pnpm") => *name == "pnpm-lock.yaml",
            Some("yarn") => *name == "yarn.lock",
            Some("bun") => name.starts_with("bun."),
            _ => false,
        });
        preferred.or_else(|| present().next()).unwrap_or(("", &[]))
    }
}

/// A version that a lockfile names, if it is one of the registry's.
fn locked_version(text: &str) -> Locked {
    match semver::Version::parse(text) {
        Ok(_) if text.len() <= MAX_VERSION => Locked::Version(text.to_owned()),
        _ => Locked::Foreign,
    }
}

/// `@scope/name` or `name` of a specifier.
fn package_name(specifier: &str) -> &str {
    let slashes = usize::from(specifier.starts_with('@'));
    match specifier.match_indices('/').nth(slashes) {
        Some((at, _)) => &specifier[..at],
        None => specifier,
    }
}

/// The folders around a path, the innermost first, the root last.
fn folders_upward(path: &str) -> impl Iterator<Item = &str> {
    let parent = |path: &str| path.rfind('/').unwrap_or(0);
    std::iter::successors(Some(&path[..parent(path)]), move |folder| {
        (!folder.is_empty()).then(|| &folder[..parent(folder)])
    })
}

/// The folder of a path, as seen from a folder above.
fn inside<'p>(path: &'p str, folder: &str) -> &'p str {
    let own = &path[..path.rfind('/').unwrap_or(0)];
    own.strip_prefix(folder).unwrap_or(own).trim_start_matches('/')
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn read(files: &[(&str, &str)]) -> (Pins, Vec<Problem>) {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
        Pins::read(&Manifests { files }, &|_| true)
    }

    pub(super) fn pinned(version: &str, source: &'static str) -> Pinned {
        Pinned { version: Some(version.to_owned()), source }
    }

    pub(super) const UNKNOWN: Pinned = Pinned { version: None, source: "unknown" };

    #[test]
    fn npm_finds_what_node_would_find() {
        let (pins, problems) = read(&[
            ("package.json", r#"{"dependencies":{"stripe":"^14.0.0"}}"#),
            (
                "package-lock.json",
                r#"{"lockfileVersion":3,"packages":{"":{"name":"root"},
                "node_modules/stripe":{"version":"14.2.0"},
                "apps/web/node_modules/stripe":{"version":"12.0.0"},
                "node_modules/@acme/ui":{"resolved":"packages/ui","link":true},
                "node_modules/old":{"name":"stripe","version":"8.0.0"},
                "node_modules/git":{"version":"git+ssh://git@example.com/a.git#1"}}}"#,
            ),
        ]);
        assert_eq!(problems, []);
        assert_eq!(pins.sdk_version("src/a.ts", "stripe"), pinned("14.2.0", "lockfile"));
        assert_eq!(pins.sdk_version("a.ts", "stripe/lib/x"), pinned("14.2.0", "lockfile"));
        assert_eq!(pins.sdk_version("apps/web/src/deep/a.ts", "stripe"), pinned("12.0.0", "lockfile"));
        assert_eq!(pins.sdk_version("apps/webshop/a.ts", "stripe"), pinned("14.2.0", "lockfile"));
        assert_eq!(pins.sdk_version("a.ts", "@acme/ui"), UNKNOWN);
        assert_eq!(pins.sdk_version("a.ts", "old"), UNKNOWN, "another package under this name");
        assert_eq!(pins.sdk_version("a.ts", "git"), UNKNOWN);
        assert_eq!(pins.sdk_version("a.ts", "absent"), UNKNOWN);
    }

    #[test]
    fn npm_version_1_lists_dependencies() {
        let (pins, problems) = read(&[(
            "package-lock.json",
            r#"{"lockfileVersion":1,"dependencies":{"stripe":{"version":"8.1.0","dependencies":{"x":{"version":"1.0.0"}}},
            "alias":{"version":"npm:stripe@9.0.0"}}}"#,
        )]);
        assert_eq!(problems, []);
        assert_eq!(pins.sdk_version("a.ts", "stripe"), pinned("8.1.0", "lockfile"));
        assert_eq!(pins.sdk_version("a.ts", "x"), UNKNOWN, "it is not the repository's own");
        assert_eq!(pins.sdk_version("a.ts", "alias"), UNKNOWN);
    }

    #[test]
    fn a_shrinkwrap_counts_before_a_lockfile_and_the_package_manager_decides() {
        let lock = |version: &str| format!(r#"{{"packages":{{"node_modules/stripe":{{"version":"{version}"}}}}}}"#);
        let (one, two) = (lock("1.0.0"), lock("2.0.0"));
        let pnpm = "lockfileVersion: '9.0'\nimporters:\n  .:\n    dependencies:\n      stripe:\n        specifier: ^3\n        version: 3.0.0\n";
        let (pins, _) = read(&[("package-lock.json", &one), ("npm-shrinkwrap.json", &two)]);
        assert_eq!(pins.sdk_version("a.ts", "stripe"), pinned("2.0.0", "lockfile"));
        let (pins, _) = read(&[("package-lock.json", &one), ("pnpm-lock.yaml", pnpm)]);
        assert_eq!(pins.sdk_version("a.ts", "stripe"), pinned("3.0.0", "lockfile"));
        let npm = r#"{"packageManager":"npm@10.0.0"}"#;
        let (pins, _) = read(&[("package-lock.json", &one), ("pnpm-lock.yaml", pnpm), ("package.json", npm)]);
        assert_eq!(pins.sdk_version("a.ts", "stripe"), pinned("1.0.0", "lockfile"));
    }

    #[test]
    fn pnpm_versions_5_6_and_9_are_read() {
        let v5 = "lockfileVersion: 5.4\nspecifiers:\n  stripe: ^8.0.0\ndependencies:\n  stripe: 8.0.0_typescript@4.9.5\n  '@octokit/core': 4.0.0\n  alias: /stripe/7.0.0\npackages:\n  /stripe/8.0.0:\n    resolution: {integrity: sha512-x}\n";
        let v5_workspace = "lockfileVersion: 5.3\nimporters:\n  .:\n    specifiers: {}\n  apps/web:\n    specifiers:\n      stripe: ^9\n    devDependencies:\n      stripe: 9.1.0\n      '@acme/ui': link:../../packages/ui\n";
        let v6 = "lockfileVersion: '6.0'\nsettings:\n  autoInstallPeers: true\ndependencies:\n  stripe:\n    specifier: ^10\n    version: 10.0.0(@types/node@18.0.0)\npackages:\n";
        let v9 = "lockfileVersion: '9.0'\n\nimporters:\n\n  .:\n    dependencies:\n      stripe:\n        specifier: 'catalog:'\n        version: 17.5.0\n      renamed:\n        specifier: npm:stripe@1\n        version: stripe@1.0.0\n      same:\n        specifier: npm:same@2\n        version: same@2.0.0(x@1.0.0)\n\n  packages/api:\n    dependencies:\n      stripe:\n        specifier: ^16\n        version: 16.0.0\n\npackages:\n\n  stripe@17.5.0:\n    resolution: {integrity: x}\n";
        let (pins, problems) = read(&[
            ("five/pnpm-lock.yaml", v5),
            ("fivew/pnpm-lock.yaml", v5_workspace),
            ("six/pnpm-lock.yaml", v6),
            ("nine/pnpm-lock.yaml", v9),
        ]);
        assert_eq!(problems, []);
        for (path, package, expected) in [
            ("five/src/a.ts", "stripe", pinned("8.0.0", "lockfile")),
            ("five/a.ts", "@octokit/core", pinned("4.0.0", "lockfile")),
            ("five/a.ts", "alias", UNKNOWN),
            ("fivew/apps/web/a.ts", "stripe", pinned("9.1.0", "lockfile")),
            ("fivew/apps/web/a.ts", "@acme/ui", UNKNOWN),
            ("fivew/a.ts", "stripe", UNKNOWN),
            ("six/a.ts", "stripe", pinned("10.0.0", "lockfile")),
            ("nine/src/a.ts", "stripe", pinned("17.5.0", "lockfile")),
            ("nine/packages/api/src/a.ts", "stripe", pinned("16.0.0", "lockfile")),
            ("nine/a.ts", "renamed", UNKNOWN),
            ("nine/a.ts", "same", pinned("2.0.0", "lockfile")),
        ] {
            assert_eq!(pins.sdk_version(path, package), expected, "{path} {package}");
        }
    }

    #[test]
    fn without_a_lockfile_the_manifests_range_is_said_to_be_one() {
        let (pins, problems) = read(&[
            ("package.json", "\u{feff}{\"dependencies\":{\"stripe\":\"^14\",\"openai\":\"^1\"}}"),
            (
                "pnpm-workspace.yaml",
                "packages: ['apps/*']\ncatalog:\n  resend: ^3.0.0\ncatalogs:\n  old:\n    resend: ^2.0.0\n",
            ),
            (
                "apps/web/package.json",
                r#"{"devDependencies":{"stripe":"^13","resend":"catalog:","a":"npm:b@^1","b":"npm:b@^2","c":"workspace:*"}}"#,
            ),
            ("apps/old/package.json", r#"{"peerDependencies":{"resend":"catalog:old","x":"github:a/b"}}"#),
            ("other/package.json", r#"{"dependencies":{"stripe":"^11"}}"#),
            ("other/yarn.lock", "# yarn lockfile v1\n"),
        ]);
        assert_eq!(problems, []);
        for (path, package, expected) in [
            ("src/a.ts", "stripe", pinned("^14", "manifest_range")),
            ("apps/web/a.ts", "stripe", pinned("^13", "manifest_range")),
            ("apps/web/a.ts", "openai", pinned("^1", "manifest_range")),
            ("apps/web/a.ts", "resend", pinned("^3.0.0", "manifest_range")),
            ("apps/old/a.ts", "resend", pinned("^2.0.0", "manifest_range")),
            ("apps/web/a.ts", "a", UNKNOWN),
            ("apps/web/a.ts", "b", pinned("^2", "manifest_range")),
            ("apps/web/a.ts", "c", UNKNOWN),
            ("apps/old/a.ts", "x", UNKNOWN),
            ("other/a.ts", "stripe", pinned("^11", "manifest_range")),
        ] {
            assert_eq!(pins.sdk_version(path, package), expected, "{path} {package}");
        }
    }

    #[test]
    fn a_lockfile_that_is_not_read_ends_the_search_for_one() {
        let (pins, _) = read(&[
            ("package-lock.json", r#"{"packages":{"node_modules/stripe":{"version":"1.0.0"}}}"#),
            ("other/yarn.lock", ""),
            ("other/package.json", r#"{"dependencies":{"stripe":"^2"}}"#),
        ]);
        assert_eq!(pins.sdk_version("other/a.ts", "stripe"), pinned("^2", "manifest_range"));
    }

    #[test]
    fn hostile_files_are_problems_and_pin_nothing() {
        let nested_json = format!("{{\"packages\":{}", "[".repeat(100_000));
        let nested_yaml = format!("importers: {}", "[".repeat(1_000_000));
        let bomb = "a: &a [x, x]\nimporters: [*a, *a]\n";
        for (name, text) in [
            ("package-lock.json", nested_json.as_str()),
            ("package-lock.json", "{"),
            ("yarn.lock", "{"),
            ("package-lock.json", "[]"),
            ("pnpm-lock.yaml", nested_yaml.as_str()),
            ("pnpm-lock.yaml", bomb),
            ("pnpm-lock.yaml", "importers: &x\n  .: *x\n"),
            ("pnpm-lock.yaml", "\u{0}"),
            ("pnpm-lock.yaml", "lockfileVersion: '9.0'\nimporters: 3\n"),
        ] {
            let manifest = r#"{"dependencies":{"stripe":"^2"}}"#;
            let (pins, problems) = read(&[(name, text), ("package.json", manifest)]);
            assert_eq!(problems.len(), 1, "{name}: {}", &text[..text.len().min(40)]);
            assert_eq!((problems[0].path.as_str(), problems[0].reason), (name, Reason::LockfileUnreadable));
            assert!(!problems[0].detail.is_empty());
            assert_eq!(pins.sdk_version("a.ts", "stripe"), pinned("^2", "manifest_range"));
        }
    }
}
