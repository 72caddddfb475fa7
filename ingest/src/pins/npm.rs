//! `package-lock.json` and `npm-shrinkwrap.json`, versions 1 to 3.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::keep::{Entries, Keep, Listed};
use super::{Locked, locked_version};

/// What is installed where, as npm writes it.
#[derive(Debug)]
pub(super) struct NpmLock {
    /// Versions 2 and 3: by installed path, such as `apps/web/node_modules/stripe`.
    packages: Listed<Installed>,
    /// Version 1: by name.
    dependencies: Listed<Installed>,
}

#[derive(Debug, Deserialize)]
struct Installed {
    #[serde(default)]
    version: Option<String>,
    /// The package's own name, where it is installed under another.
    #[serde(default)]
    name: Option<String>,
    /// A folder of the repository.
    #[serde(default)]
    link: bool,
}

impl NpmLock {
    pub(super) fn read(bytes: &[u8], keep: &Keep<'_>) -> Result<Self, String> {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let mut json = serde_json::Deserializer::from_slice(bytes);
        let lock = Whole(keep).deserialize(&mut json).map_err(|error| error.to_string())?;
        json.end().map_err(|error| error.to_string())?;
        Ok(lock)
    }

    /// What an import in `folder` (as seen from the lockfile) of `package` gets: node looks into the `node_modules` of
    /// each folder upward.
    pub(super) fn find(&self, folder: &str, package: &str) -> Option<Locked> {
        if self.packages.is_empty {
            return Some(self.dependencies.wanted.get(package)?.locked(package));
        }
        let mut folder = folder;
        loop {
            let path = if folder.is_empty() {
                format!("node_modules/{package}")
            } else {
                format!("{folder}/node_modules/{package}")
            };
            if let Some(installed) = self.packages.wanted.get(&path) {
                return Some(installed.locked(package));
            }
            if folder.is_empty() {
                return None;
            }
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }
}

impl Installed {
    fn locked(&self, package: &str) -> Locked {
        let is_another = self.name.as_deref().is_some_and(|name| name != package);
        match &self.version {
            Some(version) if !self.link && !is_another => locked_version(version),
            _ => Locked::Foreign,
        }
    }
}

/// Reads a lockfile.
struct Whole<'k, 'w>(&'k Keep<'w>);

impl<'de> DeserializeSeed<'de> for Whole<'_, '_> {
    type Value = NpmLock;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<NpmLock, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Whole<'_, '_> {
    type Value = NpmLock;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NpmLock, A::Error> {
        let (mut packages, mut dependencies) = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "packages" if packages.is_none() => {
                    packages = Some(map.next_value_seed(Entries::of(self.0, is_wanted_at))?);
                }
                "dependencies" if dependencies.is_none() => {
                    dependencies = Some(map.next_value_seed(Entries::of(self.0, Keep::is_wanted))?);
                }
                "packages" | "dependencies" => return Err(A::Error::custom(format!("`{key}` is there twice"))),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(NpmLock { packages: packages.unwrap_or_default(), dependencies: dependencies.unwrap_or_default() })
    }
}

/// Whether the package of an installed path is wanted: `stripe` of `apps/web/node_modules/stripe`.
fn is_wanted_at(keep: &Keep<'_>, path: &str) -> bool {
    path.rsplit_once("node_modules/").is_some_and(|(_, package)| keep.is_wanted(package))
}
