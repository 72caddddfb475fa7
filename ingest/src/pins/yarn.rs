//! `yarn.lock`, of yarn 1 and of later ones.
//!
//! Both write the same form of lines, later ones so that it is YAML too: what was asked for (`stripe@^14.0.0`, or
//! `stripe@npm:^14.0.0`) stands at the margin, the version it got two columns in. Nothing else is needed, so nothing
//! else is read, and no depth or number of what is nested in an entry matters.

use std::collections::{BTreeSet, HashMap};

use super::keep::Keep;
use super::range::satisfies;
use super::{Locked, locked_version};

/// More versions of one package than a repository has; where there are more, only what was asked for decides.
const MAX_VERSIONS: usize = 64;

/// What each range that somebody asked for got.
#[derive(Debug, Default)]
pub(super) struct YarnLock(HashMap<String, Package>);

#[derive(Debug, Default)]
struct Package {
    /// By range, without the `npm:` that later versions of yarn put before it.
    asked: HashMap<String, Locked>,
    versions: BTreeSet<String>,
}

/// What a range in a manifest or lockfile is of.
enum Asked<'r> {
    /// A range of the package's own versions.
    Range(&'r str),
    /// The package's own, by a way of saying it that may differ between manifest and lockfile.
    Indirect,
    /// Another package, or one that is not the registry's.
    Foreign,
}

impl YarnLock {
    pub(super) fn read(bytes: &[u8], keep: &Keep<'_>) -> Result<Self, String> {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
        let mut lock = Self::default();
        // The first version counts, so that no entry is gone through twice.
        let mut entry: Option<&str> = None;
        let mut versioned = false;
        // A key of more than 1,024 characters stands behind `? `, and its colon on a line of its own.
        let mut long = false;
        for (index, line) in text.lines().enumerate() {
            let line = line.trim_end();
            if line.is_empty() || line.trim_start().starts_with('#') || line == "---" {
                continue;
            }
            if let Some(inner) = line.strip_prefix(' ') {
                let asked = entry.ok_or_else(|| format!("line {} belongs to no entry", index + 1))?;
                if let Some(version) = inner.strip_prefix(' ').and_then(version)
                    && !std::mem::replace(&mut versioned, true)
                {
                    lock.add(asked, version, keep)?;
                }
            } else if long && line == ":" {
                long = false;
            } else if let Some(key) = line.strip_prefix("? ") {
                (entry, long, versioned) = (Some(key), true, false);
            } else if let Some(key) = line.strip_suffix(':') {
                (entry, versioned) = (Some(key), false);
            } else {
                return Err(format!("line {} is neither an entry nor part of one", index + 1));
            }
        }
        Ok(lock)
    }

    fn add(&mut self, key: &str, version: &str, keep: &Keep<'_>) -> Result<(), String> {
        for descriptor in descriptors(key) {
            let Some(at) = descriptor.char_indices().skip(1).find_map(|(at, c)| (c == '@').then_some(at)) else {
                continue;
            };
            let (name, written) = (&descriptor[..at], &descriptor[at + 1..]);
            if !keep.is_wanted(name) {
                continue;
            }
            keep.one_more()?;
            let package = self.0.entry(name.to_owned()).or_default();
            let (range, locked) = match Asked::of(name, written) {
                Asked::Range(range) => (range, locked_version(version)),
                Asked::Indirect => (written, locked_version(version)),
                Asked::Foreign => (written, Locked::Foreign),
            };
            if let Locked::Version(version) = &locked
                && package.versions.len() <= MAX_VERSIONS
            {
                package.versions.insert(version.clone());
            }
            package.asked.insert(range.to_owned(), locked);
        }
        Ok(())
    }

    /// What the range got with which a workspace asks for `package`. Where the lockfile does not have that very range
    /// (peers, catalogs), or nobody is known to ask, it is the only version that can be meant, if there is only one.
    pub(super) fn find(&self, package: &str, range: Option<&str>) -> Option<Locked> {
        let locked = self.0.get(package);
        let mut wanted = None;
        if let Some(written) = range {
            let asked = Asked::of(package, written);
            let key = if let Asked::Range(range) = asked { range } else { written };
            if let Some(found) = locked.and_then(|locked| locked.asked.get(key)) {
                return Some(found.clone());
            }
            match asked {
                Asked::Range(range) => wanted = Some(range),
                Asked::Indirect => {}
                Asked::Foreign => return Some(Locked::Foreign),
            }
        }
        let versions = &locked?.versions;
        if versions.len() > MAX_VERSIONS {
            return None;
        }
        let fits = |version: &&String| {
            wanted.is_none_or(|range| version.parse().is_ok_and(|version| satisfies(range, &version) != Some(false)))
        };
        let mut fitting = versions.iter().filter(fits);
        let only = fitting.next()?;
        fitting.next().is_none().then(|| Locked::Version(only.clone()))
    }
}

impl<'r> Asked<'r> {
    fn of(package: &str, range: &'r str) -> Self {
        let plain = range.strip_prefix("npm:").unwrap_or(range);
        if plain.starts_with("catalog:") {
            return Self::Indirect;
        }
        if let Some(patched) = plain.strip_prefix("patch:") {
            let own = patched.strip_prefix(package).is_some_and(|rest| rest.starts_with('@'));
            return if own { Self::Indirect } else { Self::Foreign };
        }
        if range.starts_with("npm:")
            && let Some((name, behind)) = plain.rsplit_once('@').filter(|(name, _)| !name.is_empty())
        {
            return if name == package { Self::Range(behind) } else { Self::Foreign };
        }
        if plain.contains([':', '/']) { Self::Foreign } else { Self::Range(plain) }
    }
}

/// The version of an entry's line `version "1.2.3"`, `version: 1.2.3` or `version: "1.2.3"`.
fn version(line: &str) -> Option<&str> {
    let value = line.strip_prefix("version")?;
    let value = value.strip_prefix(':').unwrap_or(value).strip_prefix(' ')?;
    Some(value.trim_matches('"'))
}

/// `a@^1, "@b/c@^2"` of yarn 1, `"a@npm:^1, a@npm:^2"` of later ones. Neither can have a quote in it.
fn descriptors(key: &str) -> impl Iterator<Item = &str> {
    key.split(", ").map(|descriptor| descriptor.trim_matches('"')).filter(|descriptor| !descriptor.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{UNKNOWN, pinned, read};

    const CLASSIC: &str = r#"# THIS IS AN AUTOGENERATED FILE. DO NOT EDIT THIS FILE DIRECTLY.
# yarn lockfile v1


"@octokit/core@^5.0.0", "@octokit/core@^5.0.2":
  version "5.1.0"
  resolved "https://registry.example/core-5.1.0.tgz#abc"
  dependencies:
    version "9.9.9"

stripe@^12.0.0:
  version "12.18.0"

stripe@^14.0.0, stripe@^14.1.0:
  version "14.25.0"

"old-stripe@npm:stripe@^8.0.0":
  version "8.222.0"

"same@npm:same@^2":
  version "2.0.1"

"forked@github:acme/forked#main":
  version "1.0.0"

"spaced@>= 1.0.0 < 2":
  version "1.4.0"
"#;

    #[test]
    fn the_importing_workspaces_range_decides_in_yarn_1() {
        let (pins, problems) = read(&[
            ("yarn.lock", &CLASSIC.replace('\n', "\r\n")),
            (
                "package.json",
                r#"{"workspaces":["apps/*"],"dependencies":{"stripe":"^14.1.0","old-stripe":"npm:stripe@^8.0.0",
                "same":"npm:same@^2","forked":"github:acme/forked#main","spaced":">= 1.0.0 < 2","ui":"file:./ui"}}"#,
            ),
            ("apps/web/package.json", r#"{"dependencies":{"stripe":"^12.0.0","@octokit/core":"^5.0.2"}}"#),
            ("apps/peer/package.json", r#"{"peerDependencies":{"stripe":"^14 || ^15","@octokit/core":"*"}}"#),
            ("apps/both/package.json", r#"{"peerDependencies":{"stripe":">=12"}}"#),
            ("examples/package.json", r#"{"dependencies":{"stripe":"^11.0.0"}}"#),
        ]);
        assert_eq!(problems, []);
        for (path, package, expected) in [
            ("src/a.ts", "stripe", pinned("14.25.0", "lockfile")),
            ("apps/web/src/a.ts", "stripe/lib", pinned("12.18.0", "lockfile")),
            ("apps/web/a.ts", "@octokit/core", pinned("5.1.0", "lockfile")),
            ("apps/peer/a.ts", "stripe", pinned("14.25.0", "lockfile")),
            ("apps/peer/a.ts", "@octokit/core", pinned("5.1.0", "lockfile")),
            ("apps/both/a.ts", "stripe", pinned(">=12", "manifest_range")),
            ("examples/a.ts", "stripe", pinned("^11.0.0", "manifest_range")),
            ("a.ts", "@octokit/core", pinned("5.1.0", "lockfile")),
            ("a.ts", "old-stripe", UNKNOWN),
            ("a.ts", "same", pinned("2.0.1", "lockfile")),
            ("a.ts", "forked", UNKNOWN),
            ("a.ts", "spaced", pinned("1.4.0", "lockfile")),
            ("a.ts", "ui", UNKNOWN),
            ("a.ts", "absent", UNKNOWN),
        ] {
            assert_eq!(pins.sdk_version(path, package), expected, "{path} {package}");
        }
    }

    const BERRY: &str = r#"# This file is generated by running "yarn install" inside your project.

__metadata:
  version: 8
  cacheKey: 10c0

"@acme/web@workspace:apps/web":
  version: 0.0.0-use.local
  resolution: "@acme/web@workspace:apps/web"
  dependencies:
    stripe: "npm:^12.0.0"
  languageName: unknown
  linkType: soft

"old-stripe@npm:stripe@^8.0.0":
  version: 8.222.0
  resolution: "stripe@npm:8.222.0"

"openai@patch:openai@npm%3A4.20.0#~/.yarn/patches/openai.patch":
  version: 4.20.0
  resolution: "openai@patch:openai@npm%3A4.20.0#~/.yarn/patches/openai.patch::version=4.20.0&hash=aa"

? "resend@npm:^3.0.0, resend@npm:^3.1.0"
:
  version: 3.2.0
  resolution: "resend@npm:3.2.0"

"stripe@npm:^12.0.0":
  version: 12.18.0
  resolution: "stripe@npm:12.18.0"

"stripe@npm:^14.0.0, stripe@npm:^14.1.0":
  version: 14.25.0
  resolution: "stripe@npm:14.25.0"

"twilio@npm:5.0.0":
  version: 5.0.0
  resolution: "twilio@npm:5.0.0"
"#;

    #[test]
    fn later_yarns_are_read_alike() {
        let (pins, problems) = read(&[
            ("yarn.lock", BERRY),
            (
                "package.json",
                r#"{"dependencies":{"stripe":"^14.0.0","resend":"^3.1.0","@acme/web":"workspace:^","twilio":"^4.0.0",
                "openai":"patch:openai@npm%3A4.20.0#~/.yarn/patches/openai.patch","old-stripe":"npm:stripe@^8.0.0"},
                "resolutions":{"twilio":"5.0.0"}}"#,
            ),
            ("apps/web/package.json", r#"{"dependencies":{"stripe":"^12.0.0","resend":"catalog:"}}"#),
            ("apps/api/package.json", r#"{"dependencies":{"stripe":"catalog:","twilio":"^4.0.0"}}"#),
        ]);
        assert_eq!(problems, []);
        for (path, package, expected) in [
            ("a.ts", "stripe", pinned("14.25.0", "lockfile")),
            ("apps/web/a.ts", "stripe", pinned("12.18.0", "lockfile")),
            ("a.ts", "resend", pinned("3.2.0", "lockfile")),
            ("apps/web/a.ts", "resend", pinned("3.2.0", "lockfile")),
            ("apps/api/a.ts", "stripe", UNKNOWN),
            ("apps/api/a.ts", "twilio", pinned("5.0.0", "lockfile")),
            ("a.ts", "@acme/web", UNKNOWN),
            ("a.ts", "openai", pinned("4.20.0", "lockfile")),
            ("a.ts", "old-stripe", UNKNOWN),
        ] {
            assert_eq!(pins.sdk_version(path, package), expected, "{path} {package}");
        }
    }

    #[test]
    fn damaged_ones_name_the_line() {
        for (text, expected) in [
            ("  version \"1.0.0\"\n", "line 1 belongs to no entry"),
            ("a@1:\n  version \"1.0.0\"\n<<<<<<< HEAD\n", "line 3 is neither an entry nor part of one"),
            ("\u{0}", "line 1 is neither an entry nor part of one"),
        ] {
            let (pins, problems) = read(&[("yarn.lock", text), ("package.json", r#"{"dependencies":{"a":"^1"}}"#)]);
            assert_eq!(problems[0].detail, expected);
            assert_eq!((problems.len(), problems[0].reason), (1, crate::reason::Reason::LockfileUnreadable));
            assert_eq!(pins.sdk_version("a.ts", "a"), pinned("^1", "manifest_range"));
        }
    }

    #[test]
    fn deep_and_many_end_well() {
        let deep = (0..5_000).map(|depth| format!("{}x:\n", " ".repeat(depth + 2))).collect::<Vec<_>>().concat();
        let many = (0..50_000).map(|at| format!("a@^{at}:\n  version \"{at}.0.0\"\n")).collect::<Vec<_>>().concat();
        let versions = "  version \"1.0.0\"\n".repeat(100_000);
        let wide = format!("{}:\n{versions}", vec!["b@^1"; 100_000].join(", "));
        let (pins, problems) = read(&[("yarn.lock", &format!("c@1:\n{deep}{many}{wide}"))]);
        assert_eq!(problems, []);
        assert_eq!(pins.sdk_version("a.ts", "a"), UNKNOWN);
        assert_eq!(pins.sdk_version("a.ts", "b"), pinned("1.0.0", "lockfile"));
    }
}
