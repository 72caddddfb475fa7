//! All files together: from facts of single files to what a snapshot carries.
//!
//! What an earlier index found of a file is kept as long as nothing changed that was read for it ([`Before`]); what is
//! found anew is what would be found without.

mod before;
mod project;

use std::collections::{BTreeSet, HashSet};

use serde::{Deserialize, Serialize};
use sync_core::graph::{Client, FileFacts, NotCanonical};

use crate::bind::{Binder, Bound, Linked, MOST_OF_AN_INDEX, Survey, Surveyed, united};
use crate::link::{Links, Modules, specifiers};
use crate::names;
use crate::parse::Stamps;
use crate::snapshot::{FileLine, MAX_LINE, WriteError};
use before::Changes;

pub(crate) use before::{Before, Kept, Place};
pub use project::{Project, Source};

/// Most bytes of clients, which stand together in the one line of the header.
pub(crate) const CLIENTS_BYTES: usize = MAX_LINE - (4 << 20);

/// What a snapshot carries.
#[derive(Debug, Default)]
pub(crate) struct Analysis {
    /// What was found of each file of the project, in its order.
    pub(crate) files: Vec<Found>,
    /// Vendor clients, ascending by id.
    pub(crate) clients: Vec<Client>,
    /// Files that make vendor clients beyond what a header holds: those are not among the clients, and no call site
    /// names them.
    pub(crate) clients_cut: BTreeSet<String>,
}

/// What was found of a file.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) analyzed: Analyzed,
    pub(crate) line: Line,
    /// Whether an earlier index found it.
    pub(crate) kept: bool,
}

/// What was found of a file beside its line. Positions are those of its project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Analyzed {
    pub(crate) stamps: Stamps,
    pub(crate) links: Links,
    pub(crate) survey: Survey,
    pub(crate) bound: Bound,
    /// Whether names are longer than facts carry; they are shortened.
    pub(crate) names_cut: bool,
}

/// The line of a file in the snapshot.
#[derive(Debug)]
pub(crate) enum Line {
    /// Made now.
    New(FileLine),
    /// As an earlier index made it.
    Kept(Place),
    /// There is none: its facts are more than a line holds.
    TooLarge,
}

/// Links and binds. The same project gives the same answer, whatever was kept.
pub(crate) fn analyze(project: &Project<'_>, before: Before) -> Result<Analysis, NotCanonical> {
    let is_first = before.is_empty();
    let mut analysis = analyze_since(project, before, &HashSet::new())?;
    let spent = |found: &Found| found.analyzed.survey.spent + found.analyzed.bound.spent;
    if !is_first && analysis.files.iter().map(spent).sum::<usize>() > MOST_OF_AN_INDEX {
        // Which files are cut depends on all that come before them.
        analysis = analyze_since(project, Before::default(), &HashSet::new())?;
    }
    let left_out = leave_out(&mut analysis.clients, CLIENTS_BYTES);
    if !left_out.is_empty() {
        let ids = left_out.iter().map(|client| client.id.as_str()).collect();
        analysis = analyze_since(project, Before::default(), &ids)?;
        leave_out(&mut analysis.clients, CLIENTS_BYTES);
        analysis.clients_cut = left_out.iter().map(|client| constructed_in(client).to_owned()).collect();
    }
    Ok(analysis)
}

/// Takes away the clients that do not fit `room` bytes with those before them.
fn leave_out(clients: &mut Vec<Client>, mut room: usize) -> Vec<Client> {
    let too_many = clients.iter().position(|client| {
        let bytes = serde_json::to_vec(client).map_or(usize::MAX, |json| json.len() + 1);
        let left = room.checked_sub(bytes);
        room = left.unwrap_or_default();
        left.is_none()
    });
    too_many.map_or_else(Vec::new, |at| clients.split_off(at))
}

/// The file that makes a client.
fn constructed_in(client: &Client) -> &str {
    let at = &client.constructed_at;
    at.rsplitn(3, '#').last().unwrap_or(at)
}

/// `left_out` are ids of clients that no call site names.
fn analyze_since(
    project: &Project<'_>,
    mut before: Before,
    left_out: &HashSet<&str>,
) -> Result<Analysis, NotCanonical> {
    let (links, relinked) = link(project, &mut before);
    let mut files = bind(project, before, &links, &relinked, left_out)?;
    for (found, links) in files.iter_mut().zip(links) {
        found.analyzed.links = links;
    }
    let clients = united(files.iter().flat_map(|found| &found.analyzed.bound.clients).cloned());
    Ok(Analysis { files, clients, clients_cut: BTreeSet::new() })
}

/// What is found of every file, but for its links.
fn bind(
    project: &Project<'_>,
    mut before: Before,
    links: &[Links],
    relinked: &[bool],
    left_out: &HashSet<&str>,
) -> Result<Vec<Found>, NotCanonical> {
    let ids = || (0..project.files.len()).zip(0..);
    let stamps: Vec<Stamps> = ids()
        .map(|(at, _)| before.same_file(at).map_or_else(|| Stamps::of(project.facts(at)), |kept| kept.analyzed.stamps))
        .collect();
    let mut changes = Changes::new(&before, relinked, &stamps);
    let binder = Binder::new(project, links);

    let mut left = MOST_OF_AN_INDEX;
    let mut surveyor = binder.surveyor();
    let mut surveys = Vec::with_capacity(links.len());
    for (at, id) in ids() {
        let kept = before.same_file(at).map(|kept| &kept.analyzed.survey);
        let kept = kept.filter(|kept| changes.leave(&kept.reads, &binder));
        let survey = kept.map_or_else(|| surveyor(id, left), Survey::clone);
        left = left.saturating_sub(survey.spent);
        surveys.push(survey);
    }
    changes.add_surveys(&before, &surveys);
    let surveyed = Surveyed::new(surveys.iter());

    let mut bindery = binder.bindery(&surveyed);
    let mut files = Vec::with_capacity(links.len());
    for (((at, id), stamps), survey) in ids().zip(stamps).zip(surveys) {
        let kept = before.take(at, |reads| changes.leave(reads, &binder));
        let is_kept = kept.is_some();
        let (bound, names_cut, line) = if let Some(kept) = kept {
            (kept.analyzed.bound, kept.analyzed.names_cut, kept.line.map_or(Line::TooLarge, Line::Kept))
        } else {
            let (mut linked, bound) = bindery(id, left);
            for site in &mut linked.call_sites {
                site.client.take_if(|client| left_out.contains(client.as_str()));
            }
            let mut facts = facts(project, at, linked);
            let names_cut = names::shorten_all(&mut facts);
            (bound, names_cut, line(facts)?)
        };
        left = left.saturating_sub(bound.spent);
        let analyzed = Analyzed { stamps, links: Links::default(), survey, bound, names_cut };
        files.push(Found { analyzed, line, kept: is_kept });
    }
    Ok(files)
}

/// Where the specifiers of every file lead, and whether that is elsewhere than before.
fn link(project: &Project<'_>, before: &mut Before) -> (Vec<Links>, Vec<bool>) {
    let mut modules = None;
    let mut resolve = |at: usize, kept: Option<&Links>| {
        let path = project.files[at].entry.path.as_str();
        let modules = modules.get_or_insert_with(|| {
            let paths: Vec<&str> = project.files.iter().map(|source| source.entry.path.as_str()).collect();
            Modules::new(&paths, &project.manifests.files)
        });
        match kept {
            Some(kept) => modules.links(path, kept.specifiers()),
            None => modules.links(path, specifiers(project.facts(at))),
        }
    };
    (0..project.files.len())
        .map(|at| {
            let is_same = before.same_file(at).is_some();
            let same_paths = before.has_same_paths();
            let Some(then) = before.take_links(at) else { return (resolve(at, None), true) };
            if is_same && same_paths {
                return (then, false);
            }
            // A change of a file is seldom one of its imports.
            let known = if is_same || !same_paths { None } else { then.of(specifiers(project.facts(at))) };
            let links = known.unwrap_or_else(|| resolve(at, is_same.then_some(&then)));
            let elsewhere = links != then;
            (links, elsewhere)
        })
        .unzip()
}

/// The line that a snapshot has of facts.
fn line(facts: FileFacts) -> Result<Line, NotCanonical> {
    let facts = facts.seal()?;
    match FileLine::new(&facts) {
        Ok(line) => Ok(Line::New(line)),
        Err(WriteError::LineTooLong { .. }) => Ok(Line::TooLarge),
        Err(error) => Err(NotCanonical::new(&facts.path, &error)),
    }
}

fn facts(project: &Project<'_>, at: usize, linked: Linked) -> FileFacts {
    let (entry, parsed) = (&project.files[at].entry, project.facts(at));
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
    fn clients_beyond_a_header_are_left_out_from_the_first_that_does_not_fit() {
        let client = |n: usize| Client {
            id: format!("{n:016x}"),
            vendor: "stripe".to_owned(),
            package: Some("stripe".to_owned()),
            sdk_version: None,
            sdk_version_source: "unknown".to_owned(),
            api_version: None,
            api_version_source: "unknown".to_owned(),
            constructed_at: format!("src/a#{n}.ts#client#{n}"),
            envelope: None,
        };
        let clients: Vec<Client> = (0..100_000).map(client).collect();
        let each = serde_json::to_vec(&client(100)).unwrap().len() + 1;
        for (room, fewest, most) in [(each * 500, 500, 510), (CLIENTS_BYTES, 40_000, 99_999)] {
            let mut kept = clients.clone();
            let left_out = leave_out(&mut kept, room);
            assert!((fewest..=most).contains(&kept.len()), "{}", kept.len());
            assert!(serde_json::to_vec(&kept).unwrap().len() <= room + 2);
            assert_eq!(constructed_in(&left_out[0]), format!("src/a#{}.ts", kept.len()));
            assert_eq!([kept, left_out].concat(), clients);
        }
        let mut few = clients[..10].to_vec();
        assert_eq!(leave_out(&mut few, CLIENTS_BYTES), []);
        assert_eq!(few, clients[..10]);
    }
}
