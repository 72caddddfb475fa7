//! Where each call's receiver comes from, and which operation of a vendor it therefore reaches.

mod body;
pub(crate) use bounds::limits;
mod bounds;
mod callbacks;
mod callers;
mod changes;
mod clients;
mod edges;
mod eval;
mod http;
mod keys;
mod libraries;
mod made;
mod members;
mod operation;
mod parameters;
mod pinned;
mod query;
mod results;
mod sites;
#[cfg(test)]
mod tests;
mod text;
mod types;
mod value;
mod world;
mod written;

use sync_core::graph::{CallSite, Client, Edge, Export, Import, Unresolved};

use crate::analyze::Project;
use crate::parse::ExportValue;
use eval::Evaluator;
use world::World;

/// What all files together say of one of them.
#[derive(Debug, Default)]
pub(crate) struct Linked {
    pub(crate) imports: Vec<Import>,
    pub(crate) exports: Vec<Export>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) unresolved: Vec<Unresolved>,
    pub(crate) call_sites: Vec<CallSite>,
    /// Whether it takes more to follow than is looked at, so that call sites may be missing.
    pub(crate) cut: bool,
}

/// Links and binds every file, in the order of the project, and finds the clients.
pub(crate) fn bind(project: &Project<'_>) -> (Vec<Linked>, Vec<Client>) {
    let world = World::new(project);
    let mut evaluator = Evaluator::new(&world, project.catalog, project.pins);
    let wrappers = evaluator.survey();
    let mut all = Vec::with_capacity(world.files.len());
    for (id, file) in (0..).zip(&world.files) {
        evaluator.begin_file();
        let call_sites = evaluator.call_sites(id, &wrappers);
        let (edges, unresolved) = evaluator.edges(id);
        let target = |name| file.targets.get(&name).map(|target: &u32| world.file(*target).path.to_owned());
        let text = |name| file.parsed.name(name).to_owned();
        let imports = file.parsed.imports.iter().map(|import| Import {
            specifier: text(import.specifier),
            target: target(import.specifier),
            names: import.names.iter().map(|name| text(*name)).collect(),
        });
        let exports = file.parsed.exports.iter().map(|export| Export {
            name: text(export.name),
            local: export.local.map(text),
            target: match export.value {
                ExportValue::From { specifier, .. } => target(specifier),
                _ => None,
            },
        });
        let (imports, exports) = (imports.collect(), exports.collect());
        all.push(Linked { imports, exports, edges, unresolved, call_sites, cut: evaluator.is_file_spent() });
    }
    (all, evaluator.clients.finish())
}
