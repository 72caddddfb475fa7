//! Where each call's receiver comes from, and which operation of a vendor it therefore reaches.

mod body;
pub(crate) use bounds::limits;
mod bounds;
mod callbacks;
mod called;
mod callers;
mod changes;
mod clients;
mod collections;
mod edges;
mod entries;
mod eval;
mod frameworks;
mod givers;
mod handed;
mod http;
mod imports;
mod keys;
mod libraries;
mod made;
mod members;
mod named;
mod operation;
mod parameters;
mod passes;
mod pinned;
mod proxies;
mod query;
mod readings;
mod reads;
mod relays;
mod replaced;
mod results;
mod seek;
mod sites;
mod stars;
mod subclasses;
mod surface;
#[cfg(test)]
mod tests;
mod text;
mod types;
mod value;
mod versions;
mod word;
mod world;
mod wrapped;
mod written;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use sync_core::graph::{CallSite, Client, Edge, Export, Import, Unresolved};

use crate::analyze::{Project, Table};
use crate::link::Links;
use crate::parse::ExportValue;
use eval::Evaluator;
use value::FileId;
use world::World;

pub(crate) use bounds::{MOST_OF_A_FILE, MOST_OF_AN_INDEX};
pub(crate) use callers::{Survey, Surveyed, Ways, leading};
pub(crate) use clients::united;
pub(crate) use reads::Reads;
pub(crate) use surface::Surface;
pub(crate) use versions::Versions;

/// What all files together say of one of them.
#[derive(Debug, Default)]
pub(crate) struct Linked {
    pub(crate) imports: Vec<Import>,
    pub(crate) exports: Vec<Export>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) unresolved: Vec<Unresolved>,
    pub(crate) call_sites: Vec<CallSite>,
}

/// What binding a file found beside that, and what it read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bound<'l> {
    /// Clients that it constructs or calls something on, as JSON, or nothing where there are none: clients leave out what
    /// they do not have, which only a form with names can read back.
    #[serde(borrow)]
    clients: Cow<'l, str>,
    /// Whether it takes more to follow than is looked at, so that call sites may be missing.
    pub(crate) cut: bool,
    /// What was read for this.
    #[serde(borrow)]
    pub(crate) reads: Reads<'l>,
    /// What it took.
    pub(crate) spent: usize,
}

impl Bound<'_> {
    /// Clients that it constructs or calls something on; nothing where what was kept cannot be read.
    pub(crate) fn clients(&self) -> Option<Vec<Client>> {
        if self.clients.is_empty() { Some(Vec::new()) } else { serde_json::from_str(&self.clients).ok() }
    }
}

/// Binds the files of a project, in two passes: a survey of each, and then each with the surveys of all.
pub(crate) struct Binder<'p> {
    project: &'p Project<'p>,
    world: World<'p>,
}

impl<'p> Binder<'p> {
    /// The files of a project, with where the specifiers of each lead and what it exports.
    pub(crate) fn new(project: &'p Project<'p>, links: &'p Table<'p, Links>, surfaces: &'p Table<'p, Surface>) -> Self {
        Self { project, world: World::new(project, links, surfaces) }
    }

    /// Whether every name that was looked up is still defined where it was.
    pub(crate) fn still_defines(&self, reads: &Reads<'_>) -> bool {
        self.world.still_defines(reads)
    }

    /// Whether a module that a file takes everything from, or itself, exports something else than when the last index was
    /// made; `changed` says that of each file, and is the same at each call.
    pub(crate) fn stars_changed(&self, file: FileId, changed: &[bool]) -> bool {
        self.world.stars_changed(file, changed)
    }

    /// Surveys files, one after the other.
    pub(crate) fn surveyor(&self) -> impl FnMut(FileId, usize) -> Survey<'static> {
        let mut evaluator = Evaluator::new(&self.world, self.project, None);
        move |file, left| evaluator.survey(file, left)
    }

    /// Binds files, one after the other.
    pub(crate) fn bindery<'b>(
        &'b self,
        surveyed: &'b Surveyed,
    ) -> impl FnMut(FileId, usize) -> (Linked, Bound<'static>) + 'b {
        let mut evaluator = Evaluator::new(&self.world, self.project, Some(surveyed));
        move |file, left| evaluator.bind(file, left)
    }
}

impl Evaluator<'_, '_> {
    fn bind(&mut self, id: FileId, left: usize) -> (Linked, Bound<'static>) {
        self.begin_file(left);
        let world = self.world;
        let file = world.whole_file(id);
        let call_sites = self.call_sites(id);
        let (edges, unresolved) = self.edges(id);
        let target = |name| file.targets.get(&name).map(|target: &u32| world.path(*target).to_owned());
        let text = |name| file.parsed.name(name).to_owned();
        let imports = file.parsed.imports.iter().filter(|import| !import.implied).map(|import| Import {
            specifier: text(import.specifier),
            target: target(import.specifier),
            names: import.names.iter().map(|name| text(*name)).collect(),
        });
        let exports = file.parsed.exports.iter().filter(|export| !export.internal).map(|export| Export {
            name: text(export.name),
            local: export.local.map(text),
            target: match export.value {
                ExportValue::From { specifier, .. } => target(specifier),
                _ => None,
            },
        });
        let linked = Linked { imports: imports.collect(), exports: exports.collect(), edges, unresolved, call_sites };
        let clients = self.clients.of_file(id);
        // A client is made of texts alone, and those always have a form as JSON.
        let clients =
            if clients.is_empty() { String::new() } else { serde_json::to_string(&clients).unwrap_or_default() };
        let spent = self.spent_of_file();
        let cut = self.is_file_spent();
        (linked, Bound { clients: clients.into(), cut, reads: world.reads(), spent })
    }
}
