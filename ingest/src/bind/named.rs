//! The symbol that a name stands for, whatever its value is: a call of it is a call of that symbol for whoever reads
//! the code, also where a package has made what it holds (`const useStore = create(…)`).

use super::changes::is_object_assign;
use super::edges::is_of_a_module;
use super::eval::Evaluator;
use super::value::{FileId, Value};
use crate::parse::{BindingId, ExportValue, Expr, ExprId, Name, Origin, ParsedFile, Property, Step, SymbolIndex};

/// Names of names, followed this far.
const DEEPEST: usize = 16;

/// What a name is declared as.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named {
    pub(super) file: FileId,
    pub(super) symbol: SymbolIndex,
    /// Whether a call gives its value: then it is a thing of its own, whatever function that is.
    pub(super) is_made: bool,
}

/// Where a name leads once imports and exports are behind it.
#[derive(Debug, Clone, Copy)]
enum Declared {
    /// A name of a file.
    Binding(FileId, BindingId),
    /// What a file exports without a name of its own, and as what.
    Export(FileId, Name, ExprId),
}

impl Evaluator<'_, '_> {
    /// The constant or variable that an expression names: by its name, or as a member of a module.
    pub(super) fn named(&mut self, file: FileId, expr: ExprId) -> Option<Named> {
        match self.declared_by(file, expr, 0)? {
            Declared::Binding(file, binding) => {
                let parsed = self.world.file(file).parsed;
                let it = parsed.bindings.get(binding as usize)?;
                let symbol = it.symbol.filter(|symbol| holds_a_value(parsed, *symbol))?;
                let is_made = matches!(it.origin, Origin::Value(value, _) if is_call(parsed, value));
                Some(Named { file, symbol, is_made })
            }
            Declared::Export(file, name, value) => {
                let parsed = self.world.file(file).parsed;
                let name = if parsed.name(name) == "=" { "default" } else { parsed.name(name) };
                let symbol = parsed.symbols.iter().position(|symbol| symbol.exported && symbol.qualified == name)?;
                let symbol = u32::try_from(symbol).ok().filter(|symbol| holds_a_value(parsed, *symbol))?;
                Some(Named { file, symbol, is_made: is_call(parsed, value) })
            }
        }
    }

    /// The value that a member is given: in an object literal, or after a package made what a name holds
    /// (`Menu.Item = …`, `Object.assign(forwardRef(…), { Item })`).
    pub(super) fn given_member(&mut self, file: FileId, object: ExprId, name: &str) -> Option<(FileId, ExprId)> {
        let value = self.expr(file, object);
        if let Some(given) = self.written_property(&value, name) {
            return Some(given);
        }
        let (there, made) = match self.declared_by(file, object, 0)? {
            Declared::Binding(there, binding) => {
                let made = match self.world.file(there).parsed.bindings.get(binding as usize)?.origin {
                    Origin::Value(value, ref steps) if steps.is_empty() => Some(value),
                    _ => None,
                };
                if let Some(written) = self.member_of_name(there, binding, name) {
                    return Some((there, written));
                }
                (there, made)
            }
            Declared::Export(there, _, value) => (there, Some(value)),
        };
        let parsed = self.world.file(there).parsed;
        match parsed.expr(made?) {
            Expr::Call { callee, arguments, .. } if is_object_assign(parsed, *callee) => {
                arguments.iter().rev().filter(|argument| !argument.spread).find_map(|argument| {
                    let value = self.expr(there, argument.value);
                    self.written_property(&value, name)
                })
            }
            _ => None,
        }
    }

    fn written_property(&self, value: &Value, name: &str) -> Option<(FileId, ExprId)> {
        let Value::Object(file, object) = *value else { return None };
        let parsed = self.world.file(file).parsed;
        let Expr::Object(properties) = parsed.expr(object) else { return None };
        self.world.go_through(properties.len());
        properties.iter().rev().find_map(|property| match property {
            Property::Named(key, value) if parsed.name(*key) == name => Some((file, *value)),
            _ => None,
        })
    }

    fn declared_by(&mut self, file: FileId, expr: ExprId, depth: usize) -> Option<Declared> {
        let parsed = self.world.file(file).parsed;
        let mut at = expr;
        for _ in depth..DEEPEST {
            if !self.may_step() {
                return None;
            }
            match *parsed.expr(at) {
                Expr::Cast(value, _) => at = value,
                Expr::Binding(binding) => return self.declared_name(file, binding, 0),
                Expr::Member(object, name) => {
                    let name = parsed.name(name);
                    if let Value::Module(there) = self.expr(file, object) {
                        return self.exported_as(there, name, 0);
                    }
                    let (there, value) = self.given_member(file, object, name)?;
                    return self.declared_by(there, value, depth + 1);
                }
                _ => return None,
            }
        }
        None
    }

    fn declared_name(&mut self, file: FileId, binding: BindingId, depth: usize) -> Option<Declared> {
        let parsed = self.world.file(file).parsed;
        match &parsed.bindings.get(binding as usize)?.origin {
            Origin::Import { specifier, name } => self.imported_as(file, *specifier, parsed.name(*name), depth),
            // `const { name } = require("./module")` is an import too.
            Origin::Value(value, steps) if is_of_a_module(parsed, *value) => {
                match (parsed.expr(*value), steps.as_slice()) {
                    (Expr::Require(specifier), []) => self.imported_as(file, *specifier, "=", depth),
                    (Expr::Require(specifier), [Step::Member(name)]) => {
                        self.imported_as(file, *specifier, parsed.name(*name), depth)
                    }
                    _ => None,
                }
            }
            _ => Some(Declared::Binding(file, binding)),
        }
    }

    fn imported_as(&mut self, file: FileId, specifier: Name, name: &str, depth: usize) -> Option<Declared> {
        if name == "*" || self.is_mocked(file, specifier) {
            return None;
        }
        let target = *self.world.file(file).targets.get(&specifier)?;
        self.exported_as(target, name, depth)
    }

    fn exported_as(&mut self, file: FileId, name: &str, depth: usize) -> Option<Declared> {
        if depth > DEEPEST {
            return None;
        }
        let definition = self.world.definition(file, name)?;
        let export = self.world.file(definition.file).parsed.exports.get(definition.export)?;
        match export.value {
            ExportValue::Binding(binding) => self.declared_name(definition.file, binding, depth + 1),
            ExportValue::Expr(value) => Some(Declared::Export(definition.file, export.name, value)),
            ExportValue::From { .. } | ExportValue::Unknown => None,
        }
    }
}

fn holds_a_value(parsed: &ParsedFile, symbol: SymbolIndex) -> bool {
    parsed.symbols.get(symbol as usize).is_some_and(|symbol| matches!(symbol.kind.as_str(), "constant" | "variable"))
}

fn is_call(parsed: &ParsedFile, expr: ExprId) -> bool {
    let mut at = expr;
    for _ in 0..DEEPEST {
        match *parsed.expr(at) {
            Expr::Cast(value, _) | Expr::Await(value) => at = value,
            Expr::Call { construct, .. } => return !construct,
            _ => return false,
        }
    }
    false
}
