//! Calls between symbols of the repository.

use std::collections::BTreeSet;

use sync_core::graph::{Edge, Unresolved};

use super::eval::Evaluator;
use super::value::{FileId, Value};
use crate::language::Family;
use crate::parse::{Expr, ExprId, Origin, ParsedFile, SymbolIndex};

impl Evaluator<'_, '_> {
    /// Resolved calls and calls of unknown targets of a file.
    pub(super) fn edges(&mut self, file: FileId) -> (Vec<Edge>, Vec<Unresolved>) {
        let parsed = self.world.file(file).parsed;
        let mut edges = Vec::new();
        let mut unresolved = Vec::new();
        for call in &parsed.calls {
            let Expr::Call { callee, .. } = parsed.expr(call.expr) else { continue };
            let value = self.expr(file, *callee);
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
            let from = from(parsed, call.symbol);
            if targets.is_empty() {
                if let (Value::Unknown | Value::Null | Value::Signature(..), Some(name)) =
                    (&value, self.unknown_callee(file, *callee))
                {
                    unresolved.push(Unresolved { name, from, line: call.line });
                }
                continue;
            }
            for (to, there) in targets {
                let via = self.via(file, *callee, there);
                edges.push(Edge { from: from.clone(), to, line: call.line, via: via.to_owned() });
            }
        }
        (edges, unresolved)
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
                Expr::This(_) | Expr::Super(_) => return Some(parsed.name(name?).to_owned()),
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
                Expr::This(_) | Expr::Super(_) => return "this",
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

fn from(parsed: &ParsedFile, symbol: Option<SymbolIndex>) -> String {
    match symbol.and_then(|symbol| parsed.symbols.get(symbol as usize)) {
        Some(symbol) => format!("{}#{}", symbol.qualified, symbol.ordinal),
        None => "#".to_owned(),
    }
}
