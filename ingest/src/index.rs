//! A whole index: walk, parse, link, bind, write.

mod run;
mod write;

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use sync_core::graph::{End, Header, NotCanonical, PartialReason, SNAPSHOT_FORMAT};
use sync_core::text::shown;

use crate::analyze::{Line, STACK};
use crate::cache::{Cache, Last};
use crate::catalog::{Catalog, CatalogError};
use crate::gate::{Gate, Refusal};
use crate::pool::{ParseCommand, PoolError};
use crate::reason::Reason;
use crate::snapshot::{ANALYZER, WriteError};
use crate::tree::{OpenError, Tree};
use crate::walk::{self, Limits, Walked};
use run::Run;
use write::Files;

/// What to index and how.
#[derive(Debug, Clone)]
pub struct IndexOptions {
    /// A git repository, bare or with a work tree, or a plain folder.
    pub path: PathBuf,
    /// What to read of a git repository; `HEAD` by default.
    pub rev: Option<String>,
    /// Ref name for the header; by default the branch that `HEAD` names.
    pub ref_name: Option<String>,
    /// Repository name for the header.
    pub repository: Option<String>,
    /// The gate.
    pub gate: Gate,
    /// The home folder of whoever runs this, which the gate keeps from being indexed.
    pub home: Option<PathBuf>,
    /// A folder of catalog files instead of the embedded catalog.
    pub catalog: Option<PathBuf>,
    /// Folder in which the facts of files are kept from one index to the next.
    pub cache: Option<PathBuf>,
    /// How a parse child is started.
    pub parse: ParseCommand,
    /// How many parse children.
    pub parsers: NonZeroUsize,
    /// How much of the tree is read.
    pub limits: Limits,
}

/// What was indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSummary {
    /// Commit id, of a git repository.
    pub commit: Option<String>,
    /// As in the header.
    pub ref_name: Option<String>,
    /// Whether something that should have been read was not.
    pub partial: bool,
    /// Why, counted.
    pub partial_reasons: Vec<PartialReason>,
    /// Files that were given to a parser.
    pub parsed: usize,
    /// Files of which the cache knew what a parser would say.
    pub cached: usize,
    /// Files whose calls were looked at, since the cache did not know what would be found of them.
    pub bound: usize,
    /// What kept the cache from being used or written.
    pub cache_problem: Option<String>,
    /// Counts and digest of the snapshot.
    pub end: End,
}

/// Told how far an index is.
pub trait Progress: Sync {
    /// The walk found so many source files.
    fn found(&self, files: usize);
    /// So many of them are parsed.
    fn parsed(&self, files: usize);
}

/// Tells nobody.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn found(&self, _files: usize) {}
    fn parsed(&self, _files: usize) {}
}

/// An index that was not made.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The gate refused.
    #[error("`{path}` is not indexed: {refusal}")]
    Refused {
        /// What was given.
        path: String,
        /// Why.
        refusal: Refusal,
    },
    /// The path cannot be read at all.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The catalog is damaged.
    #[error("the catalog cannot be used: {0}")]
    Catalog(String),
    /// No parse children.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// Facts that cannot be written down: a bug.
    #[error(transparent)]
    Facts(#[from] NotCanonical),
    /// The snapshot could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl IndexError {
    /// What to do about it.
    pub const fn next_step(&self) -> &'static str {
        match self {
            Self::Refused { refusal, .. } => refusal.next_step(),
            Self::Open(error) => error.next_step(),
            Self::Catalog(_) => "correct the catalog folder, or leave out `--catalog` for the embedded one",
            Self::Pool(_) => "check that this executable can be run again (its path, its permissions, free memory)",
            Self::Facts(_) => "report it with the file's name; leave the file out with an ignore rule meanwhile",
            Self::Write(_) => "check free space and permissions of the output, then run again",
        }
    }
}

/// Indexes a tree and writes its snapshot. The same tree, catalog and options give the same bytes,
/// whatever the cache holds.
pub fn index(options: &IndexOptions, out: &mut dyn Write, progress: &dyn Progress) -> Result<IndexSummary, IndexError> {
    let refused = |refusal| IndexError::Refused { path: shown(&options.path.to_string_lossy(), 200), refusal };
    refuse_early(options).map_or(Ok(()), |refusal| Err(refused(refusal)))?;
    // What is kept is read while the catalog is, and while git is opened and walked.
    let (catalog, tree, last) = std::thread::scope(|scope| {
        let last = options.cache.as_deref().map(|folder| scope.spawn(|| Last::read(folder)));
        let tree = scope.spawn(|| Tree::open(&options.path, options.rev.as_deref()));
        let catalog = load_catalog(options.catalog.as_deref());
        (catalog, tree.join(), last.and_then(|last| last.join().ok().flatten()))
    });
    let catalog = catalog?;
    let catalog = catalog.get();
    let tree = tree.map_err(|_| PoolError::Worker)??;
    if let (Gate::Auto, Tree::Folder(folder)) = (options.gate, &tree) {
        return Err(refused(if folder.count_repositories() > 1 { Refusal::SeveralRepos } else { Refusal::NoGitRepo }));
    }
    let (cache, state, walked) = std::thread::scope(|scope| {
        let cache = options.cache.as_deref().map(|folder| scope.spawn(|| Cache::open(folder)));
        let state = last.as_ref().and_then(|last| Some((last, last.state(catalog.version())?)));
        let known = state.as_ref().map(|(_, state)| state.known()).unwrap_or_default();
        let walked = walk::walk_again(&tree, options.limits, &known);
        (cache.map(std::thread::ScopedJoinHandle::join), state, walked)
    });
    let cache = cache.transpose().map_err(|_| PoolError::Worker)?;
    let Walked { candidates, manifests, mut report, sizes, tree_too_large } = walked;
    if tree_too_large && options.gate == Gate::Auto {
        return Err(refused(Refusal::TooLarge));
    }
    progress.found(candidates.len());
    let cached = cache.as_ref();
    let ids = manifests.ids();
    let read = LazyLock::new(|| manifests.read(&tree));
    let run = Run {
        options,
        tree: &tree,
        catalog,
        candidates: &candidates,
        manifests: &ids,
        read_manifests: &|| &read,
        cache: cached,
        progress,
    };
    let made = with_stack(|| run.make(state, &mut report))??;
    for (entry, found) in made.entries.iter().zip(&made.analysis.files) {
        if found.analyzed.bound.cut {
            report.note(Reason::AnalysisCut, &entry.path);
        }
        if found.analyzed.names_cut {
            report.note(Reason::NameTooLong, &entry.path);
        }
        if matches!(found.line, Line::TooLarge) {
            report.fail(Reason::FactsTooLarge, &entry.path);
        }
    }

    for path in &made.analysis.clients_cut {
        report.note(Reason::ClientsCut, path);
    }

    let (skipped, partial_reasons) = report.into_parts(&options.limits);
    let (commit, branch) = match &tree {
        Tree::Commit(commit) => (Some(commit.id()), commit.branch()),
        Tree::Folder(_) => (None, None),
    };
    let header = Header {
        format: SNAPSHOT_FORMAT,
        analyzer: ANALYZER.to_owned(),
        catalog: catalog.version().to_owned(),
        repository: options.repository.clone(),
        ref_name: options.ref_name.clone().or_else(|| branch.map(str::to_owned)),
        commit,
        gate: options.gate.as_str().to_owned(),
        clients: made.analysis.clients.clone(),
        partial: !partial_reasons.is_empty(),
        partial_reasons,
    };
    // Where clients are left out, the lines depend on which.
    let is_to_keep = !made.is_last && made.analysis.clients_cut.is_empty();
    let files = Files::of(&made, last.as_ref());
    let end = std::thread::scope(|scope| {
        if let Some(cache) = cached.filter(|_| is_to_keep) {
            let tree = (ids.as_slice(), made.problems.as_slice(), &sizes);
            scope.spawn(move || cache.keep(catalog.version(), tree, |with| files.keep(with)));
        }
        files.write(out, &header, &skipped)
    })?;
    Ok(IndexSummary {
        commit: header.commit,
        ref_name: header.ref_name,
        partial: header.partial,
        partial_reasons: header.partial_reasons,
        parsed: made.parsed,
        cached: made.cached,
        bound: made.bound,
        cache_problem: cache.and_then(Cache::finish),
        end,
    })
}

/// Runs on a thread with room for values in values, which are followed far, but not without end.
fn with_stack<T: Send>(run: impl FnOnce() -> T + Send) -> Result<T, PoolError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("index".to_owned()).stack_size(STACK);
        let thread = thread.spawn_scoped(scope, run).map_err(|_| PoolError::Worker)?;
        thread.join().map_err(|_| PoolError::Worker)
    })
}

/// What is refused before anything is opened.
fn refuse_early(options: &IndexOptions) -> Option<Refusal> {
    if options.gate == Gate::Off {
        return Some(Refusal::Disabled);
    }
    let home = std::fs::canonicalize(options.home.as_ref()?).ok()?;
    let path = std::fs::canonicalize(&options.path).ok()?;
    home.starts_with(path).then_some(Refusal::HomeFolder)
}

enum CatalogChoice {
    Embedded(&'static Catalog),
    Loaded(Box<Catalog>),
}

impl CatalogChoice {
    fn get(&self) -> &Catalog {
        match self {
            Self::Embedded(catalog) => catalog,
            Self::Loaded(catalog) => catalog,
        }
    }
}

/// What an index of these options would be of: `COMMIT,ANALYZER,CATALOG`. Two indexes of the same are the same, unless
/// one was cut short. Nothing for a plain folder, whose content only an index tells.
pub fn identity(options: &IndexOptions) -> Result<Option<String>, IndexError> {
    let Tree::Commit(commit) = Tree::open(&options.path, options.rev.as_deref())? else { return Ok(None) };
    let catalog = load_catalog(options.catalog.as_deref())?;
    Ok(Some(format!("{},{ANALYZER},{}", commit.id(), catalog.get().version())))
}

fn load_catalog(folder: Option<&Path>) -> Result<CatalogChoice, IndexError> {
    let failed = |error: &CatalogError| IndexError::Catalog(error.to_string());
    match folder {
        None => Catalog::embedded().map(CatalogChoice::Embedded).map_err(failed),
        Some(folder) => Catalog::load(folder)
            .map(|catalog| CatalogChoice::Loaded(Box::new(catalog)))
            .map_err(|error| failed(&error)),
    }
}
