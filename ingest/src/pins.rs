//! Which version of a package an importing file gets: from the lockfile, else from the manifest's range.

use crate::manifests::Manifests;

/// What the manifests and lockfiles of a repository pin.
#[derive(Debug, Clone, Default)]
pub struct Pins {}

/// The version an importing file gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    /// The version, or the range as written where only a manifest says it.
    pub version: Option<String>,
    /// `lockfile`, `manifest_range` or `unknown`.
    pub source: &'static str,
}

/// A manifest or lockfile that could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Which.
    pub path: String,
    /// `lockfile_unreadable` or `manifest_unreadable`.
    pub reason: &'static str,
    /// Why, in words.
    pub detail: String,
}

impl Pins {
    /// Reads every manifest and lockfile; what cannot be read is a problem and pins nothing.
    pub fn read(_manifests: &Manifests) -> (Self, Vec<Problem>) {
        (Self::default(), Vec::new())
    }

    /// The version of `package` that an import in `importing_path` gets.
    pub fn sdk_version(&self, _importing_path: &str, _package: &str) -> Pinned {
        Pinned { version: None, source: "unknown" }
    }
}
