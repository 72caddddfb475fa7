//! `package-lock.json` and `npm-shrinkwrap.json`, versions 1 to 3.

use std::collections::HashMap;

use serde::Deserialize;

use super::{Locked, locked_version};

/// What is installed where, as npm writes it.
#[derive(Debug, Deserialize)]
pub(super) struct NpmLock {
    /// Versions 2 and 3: by installed path, such as `apps/web/node_modules/stripe`.
    #[serde(default)]
    packages: HashMap<String, Installed>,
    /// Version 1: by name.
    #[serde(default)]
    dependencies: HashMap<String, Installed>,
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
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        // Serde would take a list for the fields in their order.
        if !bytes.trim_ascii_start().starts_with(b"{") {
            return Err("it is not a JSON object".to_owned());
        }
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }

    /// What an import in `folder` (as seen from the lockfile) of `package` gets: node looks into the `node_modules` of
    /// each folder upward.
    pub(super) fn find(&self, folder: &str, package: &str) -> Option<Locked> {
        if self.packages.is_empty() {
            return Some(self.dependencies.get(package)?.locked(package));
        }
        let mut folder = folder;
        loop {
            let path = if folder.is_empty() {
                format!("node_modules/{package}")
            } else {
                format!("{folder}/node_modules/{package}")
            };
            if let Some(installed) = self.packages.get(&path) {
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
