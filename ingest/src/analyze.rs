//! All files together: from facts of single files to what a snapshot carries.

use sync_core::graph::{Client, Export, FileFacts, Import, NotCanonical};

use crate::catalog::Catalog;
use crate::manifests::Manifests;
use crate::parse::ParsedFile;
use crate::pins::Pins;
use crate::walk::SourceEntry;

/// Everything an analysis looks at.
#[derive(Clone, Copy)]
pub struct Project<'a> {
    /// Files that were parsed, ascending by path.
    pub files: &'a [(SourceEntry, ParsedFile)],
    /// Manifests and lockfiles.
    pub manifests: &'a Manifests,
    /// Versions that they pin.
    pub pins: &'a Pins,
    /// Vendors.
    pub catalog: &'a Catalog,
}

/// What a snapshot carries.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Analysis {
    /// Sealed facts, ascending by path.
    pub files: Vec<FileFacts>,
    /// Vendor clients, ascending by id.
    pub clients: Vec<Client>,
}

/// Links and binds.
pub fn analyze(project: &Project<'_>) -> Result<Analysis, NotCanonical> {
    let files = project.files.iter().map(|(entry, parsed)| facts(entry, parsed)).collect::<Result<_, _>>()?;
    Ok(Analysis { files, clients: Vec::new() })
}

fn facts(entry: &SourceEntry, parsed: &ParsedFile) -> Result<FileFacts, NotCanonical> {
    FileFacts {
        path: entry.path.clone(),
        content_hash: entry.content_hash.clone(),
        facts_hash: String::new(),
        language: entry.language.as_str().to_owned(),
        parser: parsed.parser.as_str().to_owned(),
        bytes: entry.bytes,
        lines: parsed.lines,
        symbols: parsed.symbols.clone(),
        imports: Vec::<Import>::new(),
        exports: Vec::<Export>::new(),
        edges: Vec::new(),
        unresolved: Vec::new(),
        call_sites: Vec::new(),
    }
    .seal()
}
