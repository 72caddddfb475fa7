//! The vendor files of this build, taken apart by `build.rs`.

/// A vendor file.
pub(super) struct File {
    pub(super) name: &'static str,
    /// JSON of everything but its operations and routes.
    pub(super) head: &'static str,
    pub(super) packages: &'static [Operations],
    /// As [`super::parts::lines`] writes them.
    pub(super) routes: &'static str,
}

/// What the chains of a package request.
pub(super) struct Operations {
    pub(super) commands: &'static [&'static str],
    /// As [`super::parts::lines`] writes them.
    pub(super) lines: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/catalog.rs"));
