//! All files together: from facts of single files to what a snapshot carries.

use std::io;

use sync_core::graph::{Client, FileFacts, NotCanonical};

use crate::bind::{Linked, bind};
use crate::catalog::Catalog;
use crate::manifests::Manifests;
use crate::parse::ParsedFile;
use crate::pins::Pins;
use crate::snapshot::MAX_LINE;
use crate::walk::SourceEntry;

/// Room for what a line says beside facts: its kind.
const LINE_FRAME: usize = 64;

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
    /// Files that take more to follow than is looked at: some of their call sites may be missing.
    pub cut: Vec<String>,
    /// Files whose facts are more than a line of a snapshot holds; they are not among [`Analysis::files`].
    pub too_large: Vec<String>,
}

/// Links and binds. The same project gives the same answer, whatever order its parts were found in.
pub fn analyze(project: &Project<'_>) -> Result<Analysis, NotCanonical> {
    let (linked, clients) = bind(project);
    let mut analysis = Analysis { clients, ..Analysis::default() };
    for (file, linked) in project.files.iter().zip(linked) {
        if linked.cut {
            analysis.cut.push(file.0.path.clone());
        }
        let facts = facts(file, linked)?;
        if fits(&facts) {
            analysis.files.push(facts);
        } else {
            analysis.too_large.push(facts.path);
        }
    }
    Ok(analysis)
}

/// Whether facts fit a line with what the line has beside them.
fn fits(facts: &FileFacts) -> bool {
    struct Room(usize);
    impl io::Write for Room {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    serde_json::to_writer(Room(MAX_LINE - LINE_FRAME), facts).is_ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_beyond_a_line_cost_their_file_and_not_the_index() {
        let facts = |bytes: usize| FileFacts {
            path: "p".repeat(bytes),
            content_hash: String::new(),
            facts_hash: String::new(),
            language: String::new(),
            parser: String::new(),
            bytes: 0,
            lines: 0,
            symbols: Vec::new(),
            imports: Vec::new(),
            exports: Vec::new(),
            edges: Vec::new(),
            unresolved: Vec::new(),
            call_sites: Vec::new(),
        };
        assert!(fits(&facts(MAX_LINE - 1024)));
        assert!(!fits(&facts(MAX_LINE)));
    }
}
