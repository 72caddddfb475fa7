//! `bun.lock`, the text form. The binary `bun.lockb` is not documented, and not read.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::keep::{Entries, Keep, Listed};
use super::{Locked, locked_version};
use crate::jsonc;

/// Why a `bun.lockb` pins nothing, and what to do about it.
pub(super) const BINARY: &str =
    "it is bun's binary form; `bun install --save-text-lockfile` writes bun.lock, which is read";

/// What is installed where, as bun writes it.
#[derive(Debug)]
pub(super) struct BunLock {
    /// By folder, the root by nothing.
    workspaces: Listed<Workspace>,
    /// By the names that lead there: `stripe`, or `@acme/web/stripe` where that workspace has one of its own.
    packages: Listed<Resolution>,
}

#[derive(Debug, serde::Deserialize)]
struct Workspace {
    #[serde(default)]
    name: Option<String>,
}

/// `stripe@14.2.0`, `ui@workspace:packages/ui`: the first of what bun lists for a package.
#[derive(Debug)]
struct Resolution(String);

impl BunLock {
    pub(super) fn read(bytes: &[u8], keep: &Keep<'_>) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let room = keep.room().get();
        jsonc::parse_with(text, |json| {
            keep.room().set(room);
            Whole(keep).deserialize(json)
        })
        .map_err(|error| error.to_string())
    }

    /// What an import in `folder` (as seen from the lockfile) of `package` gets: the workspace's own, else the root's.
    pub(super) fn find(&self, folder: &str, package: &str) -> Option<Locked> {
        let packages = &self.packages.wanted;
        let mut folder = folder;
        loop {
            let name = self.workspaces.wanted.get(folder).and_then(|workspace| workspace.name.as_deref());
            if let Some(own) = name.and_then(|name| packages.get(&format!("{name}/{package}"))) {
                return Some(own.locked(package));
            }
            if folder.is_empty() {
                return Some(packages.get(package)?.locked(package));
            }
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }
}

impl Resolution {
    fn locked(&self, package: &str) -> Locked {
        match self.0.strip_prefix(package).and_then(|rest| rest.strip_prefix('@')) {
            Some(version) => locked_version(version),
            None => Locked::Foreign,
        }
    }
}

impl<'de> Deserialize<'de> for Resolution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct First;

        impl<'de> Visitor<'de> for First {
            type Value = Resolution;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list that starts with a package and its version")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Resolution, A::Error> {
                let first = list.next_element()?.unwrap_or_default();
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Resolution(first))
            }
        }

        deserializer.deserialize_seq(First)
    }
}

/// Reads a lockfile.
#[derive(Clone, Copy)]
struct Whole<'k, 'w>(&'k Keep<'w>);

impl<'de> DeserializeSeed<'de> for Whole<'_, '_> {
    type Value = BunLock;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<BunLock, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Whole<'_, '_> {
    type Value = BunLock;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<BunLock, A::Error> {
        let (mut workspaces, mut packages) = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "workspaces" if workspaces.is_none() => {
                    workspaces = Some(map.next_value_seed(Entries::of(self.0, |_, _| true))?);
                }
                "packages" if packages.is_none() => {
                    packages = Some(map.next_value_seed(Entries::of(self.0, is_wanted_at))?);
                }
                "workspaces" | "packages" => return Err(A::Error::custom(format!("`{key}` is there twice"))),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(BunLock { workspaces: workspaces.unwrap_or_default(), packages: packages.unwrap_or_default() })
    }
}

/// Whether the package of a key is wanted: `stripe` of `@acme/web/stripe`, `@acme/ui` of `web/@acme/ui`.
fn is_wanted_at(keep: &Keep<'_>, key: &str) -> bool {
    let Some(slash) = key.rfind('/') else { return keep.is_wanted(key) };
    let scope = key[..slash].rfind('/').map_or(0, |before| before + 1);
    keep.is_wanted(if key[scope..].starts_with('@') { &key[scope..] } else { &key[slash + 1..] })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{UNKNOWN, pinned, read};

    const LOCK: &str = r#"{
  "lockfileVersion": 1,
  "workspaces": {
    "": { "name": "acme", "dependencies": { "stripe": "^14.0.0", }, },
    "apps/web": { "name": "@acme/web", "dependencies": { "stripe": "^12.0.0", }, },
    "apps/api": { "name": "@acme/api", "dependencies": { "stripe": "^14.0.0", }, },
  },
  "packages": {
    // The workspace itself.
    "@acme/web": ["@acme/web@workspace:apps/web"],
    "@octokit/core": ["@octokit/core@5.1.0", "", { "dependencies": { "a": "^1", }, }, "sha512-a=="],
    "forked": ["forked@github:acme/forked#abc", {}, "abc"],
    "old-stripe": ["stripe@8.222.0", "", {}, "sha512-b=="],
    "stripe": ["stripe@14.25.0", "", {}, "sha512-c=="],
    "@acme/web/stripe": ["stripe@12.18.0", "", {}, "sha512-d=="],
    "qs/stripe": ["stripe@1.0.0", "", {}, "sha512-e=="],
  },
}
"#;

    #[test]
    fn a_workspace_gets_its_own_or_the_roots() {
        let manifest = r#"{"dependencies":{"stripe":"^14.0.0"}}"#;
        let (pins, problems) = read(&[("bun.lock", LOCK), ("bun.lockb", "\u{1}"), ("package.json", manifest)]);
        assert_eq!(problems, []);
        for (path, package, expected) in [
            ("a.ts", "stripe", pinned("14.25.0", "lockfile")),
            ("apps/web/src/a.ts", "stripe", pinned("12.18.0", "lockfile")),
            ("apps/api/src/a.ts", "stripe", pinned("14.25.0", "lockfile")),
            ("apps/webshop/a.ts", "stripe", pinned("14.25.0", "lockfile")),
            ("apps/web/a.ts", "@octokit/core/types", pinned("5.1.0", "lockfile")),
            ("a.ts", "@acme/web", UNKNOWN),
            ("a.ts", "forked", UNKNOWN),
            ("a.ts", "old-stripe", UNKNOWN),
            ("a.ts", "absent", UNKNOWN),
        ] {
            assert_eq!(pins.sdk_version(path, package), expected, "{path} {package}");
        }
    }

    #[test]
    fn what_cannot_be_read_says_why_and_pins_nothing() {
        let deep = format!("{{\"packages\":{{\"a\":{}", "[".repeat(1_000_000));
        for (name, text, part) in [
            ("bun.lockb", "#!/usr/bin/env bun\nbun-lockfile-format-v0\n", "--save-text-lockfile"),
            ("bun.lock", "{", "EOF"),
            ("bun.lock", "[]", "expected a JSON object"),
            ("bun.lock", r#"{"packages":{"a":"a@1.0.0"}}"#, "a list that starts with a package"),
            ("bun.lock", &deep, ""),
        ] {
            let manifest = r#"{"dependencies":{"stripe":"^2"}}"#;
            let (pins, problems) = read(&[(name, text), ("package.json", manifest)]);
            assert_eq!((problems.len(), problems[0].reason), (1, crate::reason::Reason::LockfileUnreadable), "{name}");
            assert_eq!(problems[0].path, name);
            assert!(problems[0].detail.contains(part), "{}", problems[0].detail);
            assert_eq!(pins.sdk_version("a.ts", "stripe"), pinned("^2", "manifest_range"));
        }
    }
}
