//! Calls between symbols of the repository.

use std::collections::BTreeSet;

use sync_core::graph::{Edge, Unresolved};

use super::eval::Evaluator;
use super::value::{FileId, Value};
use crate::language::Family;
use crate::parse::{Expr, ExprId, Origin, ParsedFile, SymbolIndex};

/// What is called.
enum Called {
    /// Functions and classes of the repository.
    Known(BTreeSet<(String, FileId)>),
    /// Something that nobody knows.
    Unknown,
    /// Something that is not of the repository, or that is not called here.
    Elsewhere,
}

impl Evaluator<'_, '_> {
    /// Resolved calls and calls of unknown targets of a file: those written as calls, then those that are not.
    pub(super) fn edges(&mut self, file: FileId) -> (Vec<Edge>, Vec<Unresolved>) {
        let parsed = self.world.file(file).parsed;
        let written = parsed.calls.iter().filter_map(|call| match parsed.expr(call.expr) {
            Expr::Call { callee, .. } => Some((*callee, call.symbol, call.line)),
            _ => None,
        });
        let implicit = parsed.implicit.iter().map(|call| (call.callee, call.symbol, call.line));
        let mut edges = Vec::new();
        let mut unresolved = Vec::new();
        for (callee, symbol, line) in written.chain(implicit) {
            let from = from(parsed, symbol);
            match self.called_in(file, callee) {
                Called::Known(targets) => {
                    for (to, there) in targets {
                        let via = self.via(file, callee, there);
                        edges.push(Edge { from: from.clone(), to, line, via: via.to_owned() });
                    }
                }
                Called::Unknown => {
                    if let Some(name) = self.unknown_callee(file, callee) {
                        unresolved.push(Unresolved { name, from, line });
                    }
                }
                Called::Elsewhere => {}
            }
        }
        (edges, unresolved)
    }

    fn called_in(&mut self, file: FileId, callee: ExprId) -> Called {
        let value = self.expr(file, callee);
        let mut targets = self.targets_of(&value);
        let parsed = self.world.file(file).parsed;
        if targets.is_empty()
            && let Expr::Member(object, name) = *parsed.expr(callee)
        {
            let name = parsed.name(name);
            if matches!(name, "call" | "apply" | "bind") {
                let function = self.expr(file, object);
                let functions = self.targets_of(&function);
                if !functions.is_empty() {
                    // What is bound is called later.
                    return if name == "bind" { Called::Elsewhere } else { Called::Known(functions) };
                }
            }
            if let Some((there, given)) = self.given_member(file, object, name) {
                let given = self.expr(there, given);
                targets = self.targets_of(&given);
            }
        }
        if let Some(named) = self.named(file, callee)
            && (targets.is_empty() || named.is_made)
        {
            targets.insert((self.world.target(named.file, Some(named.symbol)), named.file));
        }
        match value {
            _ if !targets.is_empty() => Called::Known(targets),
            Value::Unknown | Value::Null | Value::Signature(..) => Called::Unknown,
            _ => Called::Elsewhere,
        }
    }

    fn targets_of(&self, value: &Value) -> BTreeSet<(String, FileId)> {
        let mut targets = BTreeSet::new();
        for alternative in value.alternatives() {
            let (there, symbol) = match alternative {
                Value::Function(there, function) => {
                    (*there, self.world.file(*there).parsed.functions[*function as usize].symbol)
                }
                // `Type(value)` in Go says what a value is, and calls nothing.
                Value::Class(there, class) if self.world.file(*there).family != Family::Go => {
                    (*there, self.world.file(*there).parsed.classes[*class as usize].symbol)
                }
                _ => continue,
            };
            if symbol.is_some() {
                targets.insert((self.world.target(there, symbol), there));
            }
        }
        targets
    }

    /// The name that is called, unless it is plainly not of this repository: a global, or out of a package.
    fn unknown_callee(&self, file: FileId, callee: ExprId) -> Option<String> {
        let here = self.world.file(file);
        let parsed = here.parsed;
        let mut at = callee;
        let mut name = None;
        for _ in 0..100 {
            match parsed.expr(at) {
                Expr::Member(object, member) => {
                    name = name.or(Some(*member));
                    at = *object;
                }
                Expr::Index(value)
                | Expr::Await(value)
                | Expr::Guarded(value)
                | Expr::Cast(value, _)
                | Expr::Either(value, _)
                | Expr::Call { callee: value, construct: false, .. } => at = *value,
                Expr::Binding(binding) => {
                    let it = parsed.bindings.get(*binding as usize)?;
                    if let Origin::Import { specifier, name: imported } = &it.origin
                        && !here.targets.contains_key(specifier)
                        && !here.submodules.contains_key(&(*specifier, parsed.name(*imported)))
                    {
                        return None;
                    }
                    return Some(parsed.name(name.unwrap_or(it.name)).to_owned());
                }
                Expr::This(_) | Expr::Super(_) | Expr::Own(_) => return Some(parsed.name(name?).to_owned()),
                _ => return None,
            }
        }
        None
    }

    fn via(&self, file: FileId, callee: ExprId, target: FileId) -> &'static str {
        let here = self.world.file(file);
        let mut at = callee;
        let mut direct = true;
        for _ in 0..100 {
            match here.parsed.expr(at) {
                Expr::Member(object, _) => {
                    direct = false;
                    at = *object;
                }
                Expr::Await(value) | Expr::Guarded(value) | Expr::Cast(value, _) => at = *value,
                Expr::This(_) | Expr::Super(_) | Expr::Own(_) => return "this",
                Expr::Import(specifier) | Expr::Require(specifier) => {
                    // A path leads through modules; that is no re-export.
                    let is_path = here.family == Family::Rust;
                    let is_direct = is_path || here.targets.get(specifier) == Some(&target);
                    return if is_direct { "import" } else { "reexport" };
                }
                Expr::Binding(binding) => {
                    let Some(it) = here.parsed.bindings.get(*binding as usize) else { return "value" };
                    return match &it.origin {
                        Origin::Import { specifier, name } => {
                            let name = here.parsed.name(*name);
                            let module = here.targets.get(specifier);
                            if module.is_some_and(|module| self.world.is_one_package(*module, target))
                                || here.submodules.get(&(*specifier, name)) == Some(&target)
                            {
                                "import"
                            } else {
                                "reexport"
                            }
                        }
                        // `const module = require("./module")`
                        Origin::Value(value, _) if is_of_a_module(here.parsed, *value) => {
                            direct = false;
                            at = *value;
                            continue;
                        }
                        Origin::Value(value, steps)
                            if steps.is_empty()
                                && matches!(here.parsed.expr(*value), Expr::This(_) | Expr::Super(_)) =>
                        {
                            "this"
                        }
                        _ if target == file && direct => "local",
                        _ => "type",
                    };
                }
                _ => return "type",
            }
        }
        "type"
    }
}

/// Whether a value is a module, or a member of one.
pub(super) fn is_of_a_module(parsed: &ParsedFile, expr: ExprId) -> bool {
    let mut at = expr;
    for _ in 0..100 {
        match parsed.expr(at) {
            Expr::Member(value, _) | Expr::Await(value) => at = *value,
            Expr::Require(_) | Expr::Import(_) => return true,
            _ => return false,
        }
    }
    false
}

fn from(parsed: &ParsedFile, symbol: Option<SymbolIndex>) -> String {
    match symbol.and_then(|symbol| parsed.symbols.get(symbol as usize)) {
        Some(symbol) => format!("{}#{}", symbol.qualified, symbol.ordinal),
        None => "#".to_owned(),
    }
}
