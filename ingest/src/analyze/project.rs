//! What an analysis looks at.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::catalog::Catalog;
use crate::manifests::Manifests;
use crate::parse::ParsedFile;
use crate::pins::Pins;
use crate::walk::SourceEntry;

static NONE: Manifests = Manifests { files: BTreeMap::new() };

/// A source file.
#[derive(Debug)]
pub struct Source {
    /// Which.
    pub entry: SourceEntry,
    pub(crate) facts: OnceLock<Box<ParsedFile>>,
}

impl Source {
    /// A file that was parsed.
    pub fn parsed(entry: SourceEntry, facts: Box<ParsedFile>) -> Self {
        Self { entry, facts: OnceLock::from(facts) }
    }

    /// A file of which the cache has the facts; they are read only if something asks for them.
    pub(crate) const fn kept(entry: SourceEntry) -> Self {
        Self { entry, facts: OnceLock::new() }
    }
}

/// Reads the facts of a file from where they are kept.
type Recall<'a> = dyn Fn(&SourceEntry) -> Option<Box<ParsedFile>> + Sync + 'a;

/// Everything an analysis looks at.
pub struct Project<'a> {
    /// Files, ascending by path.
    pub files: &'a [Source],
    /// Vendors.
    pub catalog: &'a Catalog,
    declared: Declared<'a>,
    recall: &'a Recall<'a>,
    /// Threads that share the work.
    pub(super) threads: NonZeroUsize,
    is_whole: AtomicBool,
}

/// Manifests and lockfiles, and the versions that they pin.
pub(crate) enum Declared<'a> {
    /// All of them are read.
    Read(&'a Manifests, &'a Pins),
    /// They are as they were, and read only if something asks for them.
    Kept(&'a dyn KeptManifests, &'a OnceLock<Pins>),
}

/// Manifests that are as they were when the last index was made.
pub(crate) trait KeptManifests: Sync {
    /// Reads them; nothing where that is not possible.
    fn manifests(&self) -> Option<&Manifests>;
}

impl<'a> Project<'a> {
    /// Files that were all parsed.
    pub fn new(files: &'a [Source], manifests: &'a Manifests, pins: &'a Pins, catalog: &'a Catalog) -> Self {
        Self::with_recall(files, Declared::Read(manifests, pins), catalog, &|_| None, NonZeroUsize::MIN)
    }

    /// Files of which some were kept.
    pub(crate) fn with_recall(
        files: &'a [Source],
        declared: Declared<'a>,
        catalog: &'a Catalog,
        recall: &'a Recall<'a>,
        threads: NonZeroUsize,
    ) -> Self {
        Self { files, catalog, declared, recall, threads, is_whole: AtomicBool::new(true) }
    }

    /// Manifests and lockfiles.
    pub(crate) fn manifests(&self) -> &Manifests {
        match &self.declared {
            Declared::Read(manifests, _) => manifests,
            Declared::Kept(kept, _) => kept.manifests().unwrap_or_else(|| {
                self.lose();
                &NONE
            }),
        }
    }

    /// Versions that they pin.
    pub(crate) fn pins(&self) -> &Pins {
        match &self.declared {
            Declared::Read(_, pins) => pins,
            Declared::Kept(_, pins) => pins.get_or_init(|| Pins::of(self.manifests(), self.catalog).0),
        }
    }

    /// Something that was kept cannot be read: the analysis is of no use.
    pub(crate) fn lose(&self) {
        self.is_whole.store(false, Ordering::Relaxed);
    }

    /// The facts of the file at a position. Of a file whose facts are lost they are empty, and the analysis is of no
    /// use: see [`Self::is_whole`].
    pub(crate) fn facts(&self, at: usize) -> &'a ParsedFile {
        let source = &self.files[at];
        source.facts.get_or_init(|| {
            (self.recall)(&source.entry).unwrap_or_else(|| {
                self.lose();
                Box::default()
            })
        })
    }

    /// The facts of a file as it was before, where they are still kept.
    pub(super) fn former_facts(&self, entry: &SourceEntry) -> Option<Box<ParsedFile>> {
        (self.recall)(entry)
    }

    /// Whether all that was asked for was there.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Project<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Project").field("files", &self.files.len()).finish_non_exhaustive()
    }
}
