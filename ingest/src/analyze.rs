//! All files together: from facts of single files to what a snapshot carries.

use sync_core::graph::{Client, FileFacts, NotCanonical};

use crate::bind::{Linked, bind};
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

/// Links and binds. The same project gives the same answer, whatever order its parts were found in.
pub fn analyze(project: &Project<'_>) -> Result<Analysis, NotCanonical> {
    let (linked, clients) = bind(project);
    let files = project.files.iter().zip(linked).map(|(file, linked)| facts(file, linked)).collect::<Result<_, _>>()?;
    Ok(Analysis { files, clients })
}

fn facts((entry, parsed): &(SourceEntry, ParsedFile), linked: Linked) -> Result<FileFacts, NotCanonical> {
    FileFacts {
        path: entry.path.clone(),
        content_hash: entry.content_hash.clone(),
        facts_hash: String::new(),
        language: entry.language.as_str().to_owned(),
        parser: parsed.parser.as_str().to_owned(),
        bytes: entry.bytes,
        lines: parsed.lines,
        symbols: parsed.symbols.clone(),
        imports: linked.imports,
        exports: linked.exports,
        edges: linked.edges,
        unresolved: linked.unresolved,
        call_sites: linked.call_sites,
    }
    .seal()
}
