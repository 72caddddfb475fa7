//! `bun.lock`, the text form. The binary `bun.lockb` is not documented, and not read.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::{Locked, locked_version};
use crate::jsonc;

/// Why a `bun.lockb` pins nothing, and what to do about it.
pub(super) const BINARY: &str =
    "it is bun's binary form; `bun install --save-text-lockfile` writes bun.lock, which is read";

/// What is installed where, as bun writes it.
#[derive(Debug, serde::Deserialize)]
pub(super) struct BunLock {
    /// By folder, the root by nothing.
    #[serde(default)]
    workspaces: HashMap<String, Workspace>,
    /// By the names that lead there: `stripe`, or `@acme/web/stripe` where that workspace has one of its own.
    #[serde(default)]
    packages: HashMap<String, Resolution>,
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
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // Serde would take a list for the fields in their order.
        if text.trim_start().starts_with('[') {
            return Err("it is not a JSON object".to_owned());
        }
        jsonc::parse(text).map_err(|error| error.to_string())
    }

    /// What an import in `folder` (as seen from the lockfile) of `package` gets: the workspace's own, else the root's.
    pub(super) fn find(&self, folder: &str, package: &str) -> Option<Locked> {
        let mut folder = folder;
        loop {
            let name = self.workspaces.get(folder).and_then(|workspace| workspace.name.as_deref());
            if let Some(own) = name.and_then(|name| self.packages.get(&format!("{name}/{package}"))) {
                return Some(own.locked(package));
            }
            if folder.is_empty() {
                return Some(self.packages.get(package)?.locked(package));
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
            ("bun.lock", "[]", "not a JSON object"),
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
