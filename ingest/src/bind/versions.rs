//! Whether a file that changed is still what other files see of it.
//!
//! What is found of another file begins at its own imports and calls, and comes to this one by what it exports, or by
//! those of its calls that call something there. From there it goes on by the ids that facts hold, and by the tables that
//! are kept by those ids. So both versions are gone through side by side from the same beginnings: where each step finds
//! the same in both, whoever goes there finds the same. Lines, columns and ids may differ, but not the order of ids.

#[cfg(test)]
mod tests;
mod walk;

use std::collections::{BTreeMap, HashMap};

use rustc_hash::{FxHashMap, FxHashSet};
use sync_core::graph::Symbol;

use super::callbacks::Given;
use super::callers::{Relay, Ways, Wrapper};
use super::changes::Changes;
use super::eval::exports_by_assigning;
use super::parameters::continued;
use super::subclasses::super_calls;
use super::world::OWN_PACKAGE;
use crate::link::Links;
use crate::parse::{ClassId, ExportFact, ExportValue, ExprId, FunctionId, ImportFact, Name, ParsedFile, SymbolIndex};
use crate::pieces::Piece;
use walk::Walk;

/// How often all of a file is gone through for its beginnings that turn out to differ, on average.
const MOST_TIMES: usize = 16;

/// All of a symbol but where it stands.
type Shown<'a> = (&'a str, &'a str, u32, &'a str, bool);

/// A version of a file, with the tables that are kept by its ids.
struct Version<'a> {
    facts: &'a ParsedFile,
    links: &'a Links,
    given: Given,
    /// Calls of what a function is given, by function and place.
    called: BTreeMap<FunctionId, BTreeMap<u32, Vec<ExprId>>>,
    changes: Changes,
    continued: FxHashMap<ExprId, ExprId>,
    supers: FxHashMap<ClassId, ExprId>,
}

impl<'a> Version<'a> {
    fn new(facts: &'a ParsedFile, links: &'a Links) -> Self {
        let given = Given::of(facts);
        let mut called: BTreeMap<FunctionId, BTreeMap<u32, Vec<ExprId>>> = BTreeMap::new();
        for ((function, at), calls) in &given.called {
            called.entry(*function).or_default().insert(*at, calls.clone());
        }
        let (changes, continued, supers) = (Changes::of(facts), continued(facts), super_calls(facts));
        Self { facts, links, given, called, changes, continued, supers }
    }

    fn symbol(&self, symbol: Option<SymbolIndex>) -> Option<Shown<'_>> {
        let Symbol { name, qualified, ordinal, kind, line: _, end_line: _, exported } =
            self.facts.symbols.get(symbol? as usize)?;
        Some((name, qualified, *ordinal, kind, *exported))
    }

    /// The first export of each name.
    fn exports(&self) -> HashMap<&'a str, &'a ExportFact> {
        let mut exports = HashMap::new();
        for export in &self.facts.exports {
            exports.entry(self.facts.name(export.name)).or_insert(export);
        }
        exports
    }

    /// Whether a specifier is one of another version, and leads to the same.
    fn leads_as(&self, specifier: Name, other: &Version<'_>, there: Name) -> bool {
        let specifier = self.facts.name(specifier);
        specifier == other.facts.name(there) && self.links.get(specifier) == other.links.get(specifier)
    }

    /// The symbol that is told by the name of an export of a value without a name of its own.
    fn symbol_of_export(&self, name: &str) -> Option<Shown<'_>> {
        let name = if name == "=" { "default" } else { name };
        let at = self.facts.symbols.iter().position(|symbol| symbol.exported && symbol.qualified == name)?;
        self.symbol(u32::try_from(at).ok())
    }
}

/// Two versions of one file.
pub(crate) struct Versions<'a> {
    then: Version<'a>,
    now: Version<'a>,
    met: Met,
}

impl<'a> Versions<'a> {
    /// The versions of a file, each with where its specifiers lead in the project as it is now.
    pub(crate) fn new(then: (&'a ParsedFile, &'a Links), now: (&'a ParsedFile, &'a Links)) -> Self {
        let met = Met::new(then.0);
        Self { then: Version::new(then.0, then.1), now: Version::new(now.0, now.1), met }
    }

    /// Whether all that was exported still is, and is the same. What is exported beside that is seen by nobody who did
    /// not look for it, which is noted for itself.
    pub(crate) fn export_the_same(&mut self) -> bool {
        if !self.stand_alike() {
            return false;
        }
        let (then, now) = (self.then.exports(), self.now.exports());
        then.iter().all(|(name, then)| {
            now.get(name).is_some_and(|now| match (&then.value, &now.value) {
                (ExportValue::Binding(then), ExportValue::Binding(now)) => self.follow(Kind::Binding, *then, *now),
                (ExportValue::Expr(then), ExportValue::Expr(now)) => {
                    self.then.symbol_of_export(name) == self.now.symbol_of_export(name)
                        && self.follow(Kind::Expr, *then, *now)
                }
                (
                    ExportValue::From { specifier: then, name: then_name },
                    ExportValue::From { specifier: now, name: now_name },
                ) => self.leads_alike(*then, *now) && self.is_same_name(*then_name, *now_name),
                (ExportValue::Unknown, ExportValue::Unknown) => true,
                _ => false,
            })
        })
    }

    /// Whether calls are the same, one by one, in what they call and are given, and in where they stand.
    pub(crate) fn are_same_calls(&mut self, then: &[ExprId], now: &[ExprId]) -> bool {
        then.len() == now.len() && then.iter().zip(now).all(|(then, now)| self.follow(Kind::Expr, *then, *now))
    }

    /// Whether functions make requests for others in the same ways; nothing where what was kept cannot be read.
    pub(crate) fn have_same_ways(&mut self, then: &Piece<'_>, now: &Piece<'_>) -> Option<bool> {
        let (then, now) = (then.get::<Ways>()?, now.get::<Ways>()?);
        let same = then.wrappers.len() == now.wrappers.len()
            && then.relays.len() == now.relays.len()
            && then.wrappers.iter().zip(&now.wrappers).all(|((by, then), (by_now, now))| {
                let (Wrapper { request, open }, Wrapper { request: now, open: open_now }) = (then, now);
                (by, open) == (by_now, open_now) && self.follow(Kind::Call, *request, *now)
            })
            && then.relays.iter().zip(&now.relays).all(|((by, then), (by_now, now))| {
                let Relay { call, file, function } = then;
                (by, file, function) == (by_now, &now.file, &now.function) && self.follow(Kind::Expr, *call, now.call)
            });
        Some(same)
    }

    /// Whether the same holds for everything in both: what is asked of a file by itself, and not by an id.
    fn stand_alike(&self) -> bool {
        let (then, now) = (&self.then, &self.now);
        // Every field is named here and in `walk`, so that a new one is not forgotten.
        let ParsedFile {
            parser,
            lines: _,
            package,
            names: _,
            symbols: _,
            imports: _,
            exports: _,
            mocks,
            bindings: _,
            exprs: _,
            types: _,
            functions: _,
            classes: _,
            calls: _,
            implicit: _,
            written: _,
            extensions: _,
        } = then.facts;
        let Changes { members, assigned, globals, .. } = &then.changes;
        let is_none = |version: &Version<'_>| {
            let Changes { members, assigned, globals, .. } = &version.changes;
            [members.is_empty(), assigned.is_empty(), globals.is_empty()]
        };
        // Who reads any of these lists has noted that the whole file was read.
        [members.is_empty(), assigned.is_empty(), globals.is_empty()] == is_none(now)
            && *parser == now.facts.parser
            && package.map(|name| then.facts.name(name)) == now.facts.package.map(|name| now.facts.name(name))
            && then.links.get(OWN_PACKAGE) == now.links.get(OWN_PACKAGE)
            && alike(mocks, &now.facts.mocks, |then, now| self.leads_alike(*then, *now))
            && modules(then.facts) == modules(now.facts)
            && exports_by_assigning(then.facts) == exports_by_assigning(now.facts)
            && alike(&stars(then.facts), &stars(now.facts), |then, now| self.leads_alike(*then, *now))
    }

    fn is_same_name(&self, then: Name, now: Name) -> bool {
        self.then.facts.name(then) == self.now.facts.name(now)
    }

    /// Whether two specifiers are the same, and lead to the same.
    fn leads_alike(&self, then: Name, now: Name) -> bool {
        self.then.leads_as(then, &self.now, now)
    }

    /// Goes from one place to all that it leads to. What is the same stays known as that.
    fn follow(&mut self, kind: Kind, then: u32, now: u32) -> bool {
        let from = self.met.all.len();
        let mut walk = Walk { then: &self.then, now: &self.now, met: &mut self.met };
        let same = walk.goes_on_alike(kind, then, now);
        if !same {
            self.met.forget(from);
        }
        same
    }
}

/// What an id is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Expr,
    Binding,
    Function,
    Class,
    Type,
    Call,
}

const KINDS: usize = 6;

/// Ids that stand for each other in two versions: each for one, and in one order, since what comes first may count.
struct Met {
    /// The id now by the one then, of each kind.
    now: [BTreeMap<u32, u32>; KINDS],
    /// In the order in which they were met.
    all: Vec<(Kind, u32, u32)>,
    /// How many more may be looked at.
    left: usize,
}

impl Met {
    fn new(then: &ParsedFile) -> Self {
        let ParsedFile { exprs, bindings, functions, classes, types, calls, .. } = then;
        let all = [exprs.len(), bindings.len(), functions.len(), classes.len(), types.len(), calls.len()];
        let left = MOST_TIMES * all.iter().sum::<usize>();
        Self { now: Default::default(), all: Vec::new(), left }
    }

    fn pair(&mut self, kind: Kind, then: u32, now: u32) -> bool {
        let known = &mut self.now[kind as usize];
        if let Some(known) = known.get(&then) {
            return *known == now;
        }
        let is_behind = known.range(..then).next_back().is_none_or(|(_, before)| *before < now);
        let is_before = known.range(then..).next().is_none_or(|(_, after)| now < *after);
        if is_behind && is_before {
            known.insert(then, now);
            self.all.push((kind, then, now));
        }
        is_behind && is_before
    }

    fn may_go_on(&mut self) -> bool {
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or_default();
        left.is_some()
    }

    fn forget(&mut self, from: usize) {
        for (kind, then, _) in self.all.drain(from..) {
            self.now[kind as usize].remove(&then);
        }
    }
}

/// Whether two lists are as long as each other and the same one by one.
fn alike<T>(then: &[T], now: &[T], mut same: impl FnMut(&T, &T) -> bool) -> bool {
    then.len() == now.len() && then.iter().zip(now).all(|(then, now)| same(then, now))
}

/// Names that are imported and may be modules, each behind its specifier and with the specifier of that module.
fn modules(facts: &ParsedFile) -> FxHashSet<[&str; 3]> {
    let of = |import: &ImportFact| import.names.len().min(import.modules.len());
    let imports = facts.imports.iter().filter(|import| of(import) > 0);
    imports
        .flat_map(|import| {
            let pairs = import.names.iter().zip(&import.modules);
            pairs.map(|(name, module)| [import.specifier, *name, *module].map(|name| facts.name(name)))
        })
        .collect()
}

/// The specifiers that everything is taken from.
fn stars(facts: &ParsedFile) -> Vec<Name> {
    let specifier = |export: &ExportFact| match export.value {
        ExportValue::From { specifier, .. } if facts.name(export.name) == "*" => Some(specifier),
        _ => None,
    };
    facts.exports.iter().filter_map(specifier).collect()
}
