//! `package.json` and the catalogs of `pnpm-workspace.yaml`.

use std::collections::BTreeMap;

use super::keep::Keep;
use super::pnpm;

/// Sections of a manifest that bring a package, the one that counts first.
const SECTIONS: [&str; 4] = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];

/// What a `package.json` asks for.
#[derive(Debug, Default)]
pub(super) struct PackageManifest {
    ranges: BTreeMap<String, String>,
    /// Of `resolutions`: what a root manifest makes every package of its repository get, by name.
    forced: BTreeMap<String, String>,
    /// `npm`, `pnpm`, `yarn` or `bun`, where the manifest says it.
    pub(super) package_manager: Option<String>,
}

impl PackageManifest {
    pub(super) fn read(bytes: &[u8], keep: &Keep<'_>) -> Result<Self, String> {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let manifest: serde_json::Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let mut ranges = BTreeMap::new();
        for section in SECTIONS {
            for (name, range) in manifest.get(section).and_then(serde_json::Value::as_object).into_iter().flatten() {
                if let Some(range) = range.as_str().filter(|_| keep.is_wanted(name)) {
                    ranges.entry(name.clone()).or_insert_with(|| range.to_owned());
                }
            }
        }
        let mut forced = BTreeMap::new();
        for (name, range) in manifest.get("resolutions").and_then(serde_json::Value::as_object).into_iter().flatten() {
            let name = name.strip_prefix("**/").unwrap_or(name);
            if let Some(range) = range.as_str().filter(|_| keep.is_wanted(name)) {
                forced.insert(name.to_owned(), range.to_owned());
            }
        }
        let package_manager = manifest.get("packageManager").and_then(serde_json::Value::as_str);
        let package_manager =
            package_manager.map(|text| text.split_once('@').map_or(text, |(name, _)| name).to_owned());
        Ok(Self { ranges, forced, package_manager })
    }

    /// The range of a package, as written.
    pub(super) fn range(&self, package: &str) -> Option<&str> {
        self.ranges.get(package).map(String::as_str)
    }

    /// The range that `resolutions` force for a package.
    pub(super) fn forced(&self, package: &str) -> Option<&str> {
        self.forced.get(package).map(String::as_str)
    }
}

/// Ranges that several manifests of a pnpm workspace share, by catalog.
#[derive(Debug, Default)]
pub(super) struct Catalogs(BTreeMap<String, BTreeMap<String, String>>);

impl Catalogs {
    pub(super) fn read(bytes: &[u8], keep: &Keep<'_>) -> Result<Self, String> {
        let document = pnpm::parse_sections(bytes, &["catalog", "catalogs"], keep)?;
        let ranges = |value: &serde_yaml_ng::Value| -> Result<BTreeMap<String, String>, String> {
            let entries = value.as_mapping().into_iter().flatten();
            let entries = entries.filter_map(|(name, range)| Some((name.as_str()?, range.as_str()?)));
            let wanted = entries.filter(|(name, _)| keep.is_wanted(name));
            wanted.map(|(name, range)| keep.one_more().map(|()| (name.to_owned(), range.to_owned()))).collect()
        };
        let mut catalogs = BTreeMap::new();
        for (name, catalog) in document.get("catalogs").and_then(|named| named.as_mapping()).into_iter().flatten() {
            if let Some(name) = name.as_str() {
                catalogs.insert(name.to_owned(), ranges(catalog)?);
            }
        }
        if let Some(default) = document.get("catalog") {
            catalogs.insert("default".to_owned(), ranges(default)?);
        }
        Ok(Self(catalogs))
    }

    /// The range of a package in a catalog; the empty name is the default's.
    pub(super) fn range(&self, catalog: &str, package: &str) -> Option<&str> {
        let catalog = if catalog.is_empty() { "default" } else { catalog };
        self.0.get(catalog)?.get(package).map(String::as_str)
    }
}
