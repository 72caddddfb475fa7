//! All files together: from facts of single files to what a snapshot carries.
//!
//! What an earlier index found of a file is kept as long as nothing changed that was read for it ([`Before`]); what is
//! found anew is what would be found without.

mod before;
mod project;
mod share;
mod table;

use std::collections::{BTreeSet, HashSet};
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};
use sync_core::graph::{Client, FileFacts, NotCanonical};

use crate::bind::{
    Binder, Bound, Linked, MOST_OF_A_FILE, MOST_OF_AN_INDEX, Reads, Surface, Survey, Surveyed, Ways, united,
};
use crate::link::{Links, Modules, specifiers};
use crate::names;
use crate::parse::Stamps;
use crate::pieces::Piece;
use crate::snapshot::{FileLine, MAX_LINE, WriteError};
use before::Changes;

pub(crate) use before::{Before, Kept, Place};
pub(crate) use project::{Declared, KeptManifests};
pub use project::{Project, Source};
pub(crate) use share::STACK;
pub(crate) use table::Table;

/// Most bytes of clients, which stand together in the one line of the header.
pub(crate) const CLIENTS_BYTES: usize = MAX_LINE - (4 << 20);

/// What a snapshot carries.
#[derive(Debug, Default)]
pub(crate) struct Analysis<'l> {
    /// What was found of each file of the project, in its order.
    pub(crate) files: Vec<Found<'l>>,
    /// Vendor clients, ascending by id.
    pub(crate) clients: Vec<Client>,
    /// Files that make vendor clients beyond what a header holds: those are not among the clients, and no call site
    /// names them.
    pub(crate) clients_cut: BTreeSet<String>,
}

/// What was found of a file.
#[derive(Debug)]
pub(crate) struct Found<'l> {
    pub(crate) analyzed: Analyzed<'l>,
    pub(crate) line: Line,
    /// Whether an earlier index found it.
    pub(crate) kept: bool,
}

/// What was found of a file beside its line. Positions are those of its project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Analyzed<'l> {
    pub(crate) stamps: Stamps,
    /// Its [`Links`].
    #[serde(borrow)]
    pub(crate) links: Piece<'l>,
    /// Its [`Surface`].
    #[serde(borrow)]
    pub(crate) surface: Piece<'l>,
    #[serde(borrow)]
    pub(crate) survey: Survey<'l>,
    #[serde(borrow)]
    pub(crate) bound: Bound<'l>,
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
pub(crate) fn analyze<'l>(project: &Project<'_>, before: Before<'l>) -> Result<Analysis<'l>, NotCanonical> {
    let mut analysis = analyze_since(project, before, project.threads, &HashSet::new())?;
    let spent = analysis.files.iter().flat_map(|found| [found.analyzed.survey.spent, found.analyzed.bound.spent]);
    if spent.fold(0, usize::saturating_add) > MOST_OF_AN_INDEX - MOST_OF_A_FILE {
        // Which files are cut depends on all that come before them.
        analysis = analyze_since(project, Before::default(), NonZeroUsize::MIN, &HashSet::new())?;
    }
    let left_out = leave_out(&mut analysis.clients, CLIENTS_BYTES);
    if !left_out.is_empty() {
        let ids = left_out.iter().map(|client| client.id.as_str()).collect();
        analysis = analyze_since(project, Before::default(), NonZeroUsize::MIN, &ids)?;
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
fn analyze_since<'l>(
    project: &Project<'_>,
    before: Before<'l>,
    threads: NonZeroUsize,
    left_out: &HashSet<&str>,
) -> Result<Analysis<'l>, NotCanonical> {
    let (links, relinked) = link(project, &before);
    let surfaces = surfaces(project, &before);
    let mut files = bind(project, before, (&links, &relinked), &surfaces, (threads, left_out))?;
    for ((found, links), surface) in files.iter_mut().zip(links.into_pieces()).zip(surfaces.into_pieces()) {
        found.analyzed.links = links;
        found.analyzed.surface = surface;
    }
    let clients = files.iter().flat_map(|found| {
        found.analyzed.bound.clients().unwrap_or_else(|| {
            project.lose();
            Vec::new()
        })
    });
    let clients = united(clients);
    Ok(Analysis { files, clients, clients_cut: BTreeSet::new() })
}

/// What is found of every file, but for its links and its surface.
fn bind<'l>(
    project: &Project<'_>,
    mut before: Before<'l>,
    (links, relinked): (&Table<'_, Links>, &[bool]),
    surfaces: &Table<'_, Surface>,
    (threads, left_out): (NonZeroUsize, &HashSet<&str>),
) -> Result<Vec<Found<'l>>, NotCanonical> {
    let ids = || (0..project.files.len()).zip(0..);
    let stamps: Vec<Stamps> = ids()
        .map(|(at, _)| before.same_file(at).map_or_else(|| Stamps::of(project.facts(at)), |kept| kept.analyzed.stamps))
        .collect();
    let former = before::former(project, &before, &stamps);
    let mut changes = Changes::new(project, &before, (links, relinked), &stamps, &former);
    let binder = Binder::new(project, links, surfaces);

    // Those that are made anew; the others are as they were.
    let mut surveys: Vec<Option<Survey<'static>>> = vec![None; project.files.len()];
    let again = differing(project.files.len(), &before, &changes, &binder, |kept| &kept.survey.reads);
    let made = share::share(threads, &again, |files| {
        let binder = Binder::new(project, links, surfaces);
        let (mut surveyor, mut left) = (binder.surveyor(), MOST_OF_AN_INDEX);
        let survey = |id| {
            let survey = surveyor(id, left);
            left = left.saturating_sub(survey.spent);
            (id, survey)
        };
        files.map(survey).collect()
    });
    for (id, survey) in made {
        surveys[id as usize] = Some(survey);
    }
    let nothing = Survey::default();
    let surveyed = {
        let all = surveys.iter().enumerate().map(|(at, survey)| {
            survey.as_ref().or_else(|| before.file(at).map(|kept| &kept.analyzed.survey)).unwrap_or(&nothing)
        });
        let ways = Ways::of(all.clone().map(Some)).unwrap_or_else(|| {
            project.lose();
            Vec::new()
        });
        changes.add_surveys(project, &before, &surveys, &ways);
        Surveyed::new(&all, &ways)
    };

    let spent = surveys.iter().flatten().map(|survey| survey.spent).fold(0, usize::saturating_add);
    let again = differing(project.files.len(), &before, &changes, &binder, |kept| &kept.bound.reads);
    let made = share::share(threads, &again, |files| {
        let binder = Binder::new(project, links, surfaces);
        let (mut bindery, mut left) = (binder.bindery(&surveyed), MOST_OF_AN_INDEX.saturating_sub(spent));
        let bind = |id| {
            let (mut linked, bound) = bindery(id, left);
            left = left.saturating_sub(bound.spent);
            for site in &mut linked.call_sites {
                site.client.take_if(|client| left_out.contains(client.as_str()));
            }
            let mut facts = facts(project, id as usize, linked);
            let names_cut = names::shorten_all(&mut facts);
            (id, line(facts).map(|line| (bound, names_cut, line)))
        };
        files.map(bind).collect()
    });
    let mut bound: Vec<_> = ids().map(|_| None).collect();
    for (id, made) in made {
        bound[id as usize] = Some(made);
    }
    let mut files = Vec::with_capacity(project.files.len());
    for ((((at, _), stamps), survey), bound) in ids().zip(stamps).zip(surveys).zip(bound) {
        let then = before.take(at).map(|Kept { analyzed, line, .. }| (analyzed, line));
        let (then_survey, then_bound) = then
            .map(|(then, line)| (then.survey, (then.bound, then.names_cut, line.map_or(Line::TooLarge, Line::Kept))))
            .unzip();
        let kept = bound.is_none();
        // Whatever was not kept is bound.
        let Some((bound, names_cut, line)) = bound.transpose()?.or(then_bound) else { continue };
        let survey = survey.or(then_survey).unwrap_or_default();
        let analyzed =
            Analyzed { stamps, links: Piece::default(), surface: Piece::default(), survey, bound, names_cut };
        files.push(Found { analyzed, line, kept });
    }
    Ok(files)
}

/// The files that are new, or of which something was read that is no longer what it was.
fn differing<'l>(
    files: usize,
    before: &Before<'l>,
    changes: &Changes<'_>,
    binder: &Binder<'_>,
    reads: impl for<'k> Fn(&'k Analyzed<'l>) -> &'k Reads<'l>,
) -> Vec<u32> {
    let holds = |at| before.same_file(at).is_some_and(|kept| changes.leave(reads(&kept.analyzed), binder));
    (0..files).zip(0..).filter(|(at, _)| !holds(*at)).map(|(_, id)| id).collect()
}

/// Where the specifiers of every file lead, and whether that is elsewhere than before.
fn link<'l>(project: &Project<'_>, before: &Before<'l>) -> (Table<'l, Links>, Vec<bool>) {
    let mut modules = None;
    let mut resolve = |at: usize, kept: Option<&Links>| {
        let path = project.files[at].entry.path.as_str();
        let modules = modules.get_or_insert_with(|| {
            let paths: Vec<&str> = project.files.iter().map(|source| source.entry.path.as_str()).collect();
            Modules::new(&paths, &project.manifests().files)
        });
        match kept {
            Some(kept) => modules.links(path, kept.specifiers()),
            None => modules.links(path, specifiers(project.facts(at))),
        }
    };
    let same_paths = before.has_same_paths();
    let mut table = Table::new(project.files.len());
    let mut relinked = Vec::with_capacity(project.files.len());
    for at in 0..project.files.len() {
        let is_same = before.same_file(at).is_some();
        let Some(piece) = before.links(at) else {
            table.push(resolve(at, None));
            relinked.push(true);
            continue;
        };
        if is_same && same_paths {
            table.keep(piece.clone());
            relinked.push(false);
            continue;
        }
        let then: Links = piece.get().unwrap_or_else(|| {
            project.lose();
            Links::default()
        });
        // A change of a file is seldom one of its imports.
        let known = if is_same || !same_paths { None } else { then.of(specifiers(project.facts(at))) };
        let links = known.unwrap_or_else(|| resolve(at, is_same.then_some(&then)));
        relinked.push(links != then);
        table.push(links);
    }
    (table, relinked)
}

/// What every file exports.
fn surfaces<'l>(project: &Project<'_>, before: &Before<'l>) -> Table<'l, Surface> {
    let mut table = Table::new(project.files.len());
    for at in 0..project.files.len() {
        match before.same_file(at) {
            Some(kept) => table.keep(kept.analyzed.surface.clone()),
            None => table.push(Surface::of(project.facts(at))),
        }
    }
    table
}

/// The line that a snapshot has of facts.
fn line(facts: FileFacts) -> Result<Line, NotCanonical> {
    let facts = facts.seal()?;
    match FileLine::new(&facts) {
        Ok(line) => Ok(Line::New(line)),
        Err(WriteError::LineTooLong { .. } | WriteError::OutOfBounds { .. }) => Ok(Line::TooLarge),
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
