//! What an analysis looks at.

use std::cell::{OnceCell, RefCell};
use std::fmt;

use crate::catalog::Catalog;
use crate::manifests::Manifests;
use crate::parse::ParsedFile;
use crate::pins::Pins;
use crate::walk::SourceEntry;

/// A source file.
#[derive(Debug)]
pub struct Source {
    /// Which.
    pub entry: SourceEntry,
    pub(crate) facts: OnceCell<Box<ParsedFile>>,
}

impl Source {
    /// A file that was parsed.
    pub fn parsed(entry: SourceEntry, facts: Box<ParsedFile>) -> Self {
        Self { entry, facts: OnceCell::from(facts) }
    }

    /// A file of which the cache has the facts; they are read only if something asks for them.
    pub(crate) const fn kept(entry: SourceEntry) -> Self {
        Self { entry, facts: OnceCell::new() }
    }
}

/// Reads the facts of a file from where they are kept.
type Recall<'a> = dyn Fn(&SourceEntry) -> Option<Box<ParsedFile>> + 'a;

/// Everything an analysis looks at.
pub struct Project<'a> {
    /// Files, ascending by path.
    pub files: &'a [Source],
    /// Manifests and lockfiles.
    pub manifests: &'a Manifests,
    /// Versions that they pin.
    pub pins: &'a Pins,
    /// Vendors.
    pub catalog: &'a Catalog,
    recall: &'a Recall<'a>,
    lost: RefCell<Vec<usize>>,
}

impl<'a> Project<'a> {
    /// Files that were all parsed.
    pub fn new(files: &'a [Source], manifests: &'a Manifests, pins: &'a Pins, catalog: &'a Catalog) -> Self {
        Self::with_recall(files, manifests, pins, catalog, &|_| None)
    }

    /// Files of which some were kept.
    pub(crate) fn with_recall(
        files: &'a [Source],
        manifests: &'a Manifests,
        pins: &'a Pins,
        catalog: &'a Catalog,
        recall: &'a Recall<'a>,
    ) -> Self {
        Self { files, manifests, pins, catalog, recall, lost: RefCell::default() }
    }

    /// The facts of the file at a position. Of a file whose facts are lost they are empty, and the analysis is of no
    /// use: see [`Self::is_whole`].
    pub(crate) fn facts(&self, at: usize) -> &'a ParsedFile {
        let source = &self.files[at];
        source.facts.get_or_init(|| {
            (self.recall)(&source.entry).unwrap_or_else(|| {
                self.lost.borrow_mut().push(at);
                Box::default()
            })
        })
    }

    /// Whether all facts that were asked for were there.
    pub(crate) fn is_whole(&self) -> bool {
        self.lost.borrow().is_empty()
    }
}

impl fmt::Debug for Project<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Project").field("files", &self.files.len()).finish_non_exhaustive()
    }
}
