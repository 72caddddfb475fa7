//! All files together: from facts of single files to what a snapshot carries.

use std::collections::{BTreeSet, HashSet};
use std::io;

use sync_core::graph::{Client, FileFacts, NotCanonical};

use crate::bind::{Linked, bind};
use crate::catalog::Catalog;
use crate::manifests::Manifests;
use crate::names;
use crate::parse::ParsedFile;
use crate::pins::Pins;
use crate::snapshot::MAX_LINE;
use crate::walk::SourceEntry;

/// Room for what a line says beside facts: its kind.
const LINE_FRAME: usize = 64;
/// Most bytes of clients, which stand together in the one line of the header.
pub(crate) const CLIENTS_BYTES: usize = MAX_LINE - (4 << 20);

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
    /// Files that make vendor clients beyond what a header holds: those are not among [`Analysis::clients`], and no call
    /// site names them.
    pub clients_cut: Vec<String>,
    /// Files with names longer than facts carry; they are shortened.
    pub names_cut: Vec<String>,
    /// Files whose facts are more than a line of a snapshot holds; they are not among [`Analysis::files`].
    pub too_large: Vec<String>,
}

/// Links and binds. The same project gives the same answer, whatever order its parts were found in.
pub fn analyze(project: &Project<'_>) -> Result<Analysis, NotCanonical> {
    let (linked, clients) = bind(project);
    let (clients, left_out) = fitting(clients);
    let mut analysis = Analysis { clients, ..Analysis::default() };
    let paths: BTreeSet<&str> = left_out.iter().map(constructed_in).collect();
    analysis.clients_cut = paths.into_iter().map(str::to_owned).collect();
    let left_out: HashSet<&str> = left_out.iter().map(|client| client.id.as_str()).collect();
    for (file, mut linked) in project.files.iter().zip(linked) {
        if linked.cut {
            analysis.cut.push(file.0.path.clone());
        }
        if !left_out.is_empty() {
            for site in &mut linked.call_sites {
                site.client.take_if(|client| left_out.contains(client.as_str()));
            }
        }
        let mut facts = facts(file, linked);
        if names::shorten_all(&mut facts) {
            analysis.names_cut.push(facts.path.clone());
        }
        let facts = facts.seal()?;
        if fits(&facts) {
            analysis.files.push(facts);
        } else {
            analysis.too_large.push(facts.path);
        }
    }
    Ok(analysis)
}

/// The first of the clients that fit a header together, and the others.
fn fitting(mut clients: Vec<Client>) -> (Vec<Client>, Vec<Client>) {
    let mut room = CLIENTS_BYTES;
    let too_many = clients.iter().position(|client| {
        let bytes = serde_json::to_vec(client).map_or(usize::MAX, |json| json.len() + 1);
        match room.checked_sub(bytes) {
            Some(left) => {
                room = left;
                false
            }
            None => true,
        }
    });
    let left_out = too_many.map_or_else(Vec::new, |at| clients.split_off(at));
    (clients, left_out)
}

/// The file that makes a client.
fn constructed_in(client: &Client) -> &str {
    let at = &client.constructed_at;
    at.rsplitn(3, '#').last().unwrap_or(at)
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

fn facts((entry, parsed): &(SourceEntry, ParsedFile), linked: Linked) -> FileFacts {
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
