//! What a parameter is given by the runtime of a package that finds the function by its export: `module.exports = (app) =>`
//! of a Probot app, `exports.handler` of a Twilio Function. Nothing in such a file need import the package.

use super::eval::Evaluator;
use super::value::{FileId, Value, Vendor};
use crate::catalog::{Entry, ShapeId};
use crate::parse::{ExportValue, Expr, ExprId, FunctionId, Origin, ParsedFile, Step};

impl Evaluator<'_, '_> {
    /// What a parameter of an exported function is given by the runtime that the project depends on.
    pub(super) fn given_to_entry(
        &mut self,
        file: FileId,
        function: FunctionId,
        at: u32,
        steps: &[Step],
        line: u32,
    ) -> Value {
        let world = self.world;
        let parsed = world.file(file).parsed;
        for entry in self.catalog.entries() {
            let Some((index, shape)) = self.catalog.shape(entry.shape).callback else { continue };
            if index != at as usize {
                continue;
            }
            // Manifests are only asked where the parameter is used as what the runtime gives.
            if self.is_exported(file, function, entry)
                && self.is_used_as(world.whole_file(file).parsed, (function, at), steps, (shape, &entry.export))
                // What the project itself calls is given what it is called with.
                && self.callers_of(file, function).iter().all(|(caller, _)| world.is_test(*caller))
                && self.pins().depends(world.path(file), &entry.specifier)
            {
                let value = Value::vendor(Vendor::exported(&entry.specifier, shape));
                let value = self.walk(value, file, steps);
                let symbol = parsed.functions.get(function as usize).and_then(|it| it.scope);
                return self.declared(value, file, symbol, line, "given to a function that the package calls");
            }
        }
        Value::Unknown
    }

    fn is_exported(&self, file: FileId, function: FunctionId, entry: &Entry) -> bool {
        self.is_exported_as(file, function, &entry.export)
            || (entry.export == "default" && self.is_exported_as(file, function, "="))
    }

    /// Whether a function is what its file exports under a name.
    pub(super) fn is_exported_as(&self, file: FileId, function: FunctionId, name: &str) -> bool {
        let world = self.world;
        let parsed = world.file(file).parsed;
        let is_function = |expr| matches!(parsed.expr(expr), Expr::Function(it) if *it == function);
        let Some(definition) = world.definition(file, name).filter(|it| it.file == file) else { return false };
        match world.export(definition) {
            ExportValue::Expr(expr) => is_function(expr),
            ExportValue::Binding(binding) => match parsed.bindings.get(binding as usize).map(|it| &it.origin) {
                Some(Origin::Function(it)) => *it == function,
                Some(Origin::Value(expr, steps)) => steps.is_empty() && is_function(*expr),
                _ => false,
            },
            ExportValue::From { .. } | ExportValue::Unknown => false,
        }
    }

    /// Whether a parameter is gone into, or called on, by a name that a shape has; or handed on, where the exported name
    /// says enough by itself.
    fn is_used_as(
        &self,
        parsed: &ParsedFile,
        parameter: (FunctionId, u32),
        steps: &[Step],
        (shape, export): (ShapeId, &str),
    ) -> bool {
        let members = &self.catalog.shape(shape).members;
        let knows = |name| members.contains_key(parsed.name(name));
        if let Some(Step::Member(name)) = steps.first() {
            return knows(*name);
        }
        let is_it = |expr: ExprId| {
            let Expr::Binding(binding) = parsed.expr(expr) else { return false };
            let origin = parsed.bindings.get(*binding as usize).map(|it| &it.origin);
            matches!(origin, Some(Origin::Parameter(function, at, steps)) if (*function, *at) == parameter && steps.is_empty())
        };
        parsed.calls.iter().any(|call| {
            let Expr::Call { callee, arguments, .. } = parsed.expr(call.expr) else { return false };
            matches!(parsed.expr(*callee), Expr::Member(object, name) if knows(*name) && is_it(*object))
                || (export != "default" && arguments.iter().any(|argument| is_it(argument.value)))
        })
    }
}
