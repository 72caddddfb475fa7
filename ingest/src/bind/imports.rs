//! Names of other modules: of files of the repository, through what these export, and of packages.

use super::eval::Evaluator;
use super::passes;
use super::value::{FileId, Value, Vendor};
use crate::language::Family;
use crate::parse::{ExportValue, Name};

impl Evaluator<'_, '_> {
    /// A name of another module.
    pub(super) fn import(&mut self, file: FileId, specifier: Name, name: &str) -> Value {
        let world = self.world;
        let here = world.file(file);
        let target = here.targets.get(&specifier).copied();
        if self.is_mocked(file, specifier) {
            return Value::Unknown;
        }
        if let Some(own) = here.published.get(&specifier)
            && self.catalog.module(own).is_some()
        {
            // The vendor's own repository: what its package gives is in the catalog, its making is not.
            return self.package(own, name);
        }
        let submodule = here.submodules.get(&(specifier, name)).copied();
        let Some(target) = target else {
            return match submodule {
                Some(module) => Value::Module(module),
                None => self.outside_export(file, here.parsed.name(specifier), name),
            };
        };
        match name {
            "*" | "=" => self.export(target, "=", 0).unwrap_or(Value::Module(target)),
            // A module in a package is hidden by what the package itself calls so.
            name => match submodule.filter(|_| world.definition(target, name).is_none()) {
                Some(module) => Value::Module(module),
                None => self.named_export(target, name),
            },
        }
    }

    /// Whether a file puts something else in the place of a module.
    pub(super) fn is_mocked(&self, file: FileId, specifier: Name) -> bool {
        let here = self.world.file(file);
        let target = here.targets.get(&specifier);
        self.world.go_through(here.parsed.mocks.len());
        let is_it = |mock: &Name| *mock == specifier || (target.is_some() && here.targets.get(mock) == target);
        here.parsed.mocks.iter().any(is_it)
    }

    /// A name of a module that is not of the repository, as seen from a file.
    fn outside_export(&mut self, file: FileId, specifier: &str, name: &str) -> Value {
        match self.world.file(file).family {
            Family::Script => self.package(specifier, name),
            family => self.http_export(family, specifier, name),
        }
    }

    /// A name that a package exports.
    pub(super) fn package(&mut self, specifier: &str, name: &str) -> Value {
        if self.catalog.module(specifier).is_none() {
            if passes::makes_stand_ins(specifier) {
                return Value::Own;
            }
            let library = self.http_export(Family::Script, specifier, name);
            return if library.is_known() { library } else { passes::toolbox(specifier, name) };
        }
        match name {
            "*" | "=" => Value::Namespace(specifier.into()),
            name => {
                let shape = self.catalog.exported(specifier, name);
                let shape = shape.or_else(|| {
                    // Compiled modules of CommonJS packages: the default is what `require` gives.
                    if name == "default" { self.catalog.exported(specifier, "*") } else { None }
                });
                match shape {
                    Some(shape) => Value::vendor(Vendor::exported(specifier, shape)),
                    None => Value::Unknown,
                }
            }
        }
    }

    pub(super) fn named_export(&mut self, file: FileId, name: &str) -> Value {
        if let Some(value) = self.export(file, name, 0) {
            return value;
        }
        // `module.exports = value` seen by an importer of modules.
        if let Some(whole) = self.export(file, "=", 0) {
            return if name == "default" { whole } else { self.member(&whole, name) };
        }
        Value::Unknown
    }

    pub(super) fn export(&mut self, file: FileId, name: &str, depth: usize) -> Option<Value> {
        let world = self.world;
        let Some(definition) = world.definition(file, name) else {
            for specifier in world.starred_packages(file) {
                let value = self.outside_export(file, world.file(file).parsed.name(specifier), name);
                if value.is_known() && name != "default" {
                    return Some(value);
                }
            }
            return None;
        };
        let there = world.file(definition.file);
        match self.world.export(definition) {
            ExportValue::Binding(binding) => Some(self.binding(definition.file, binding)),
            ExportValue::Expr(expr) => Some(self.expr(definition.file, expr)),
            ExportValue::From { specifier, name }
                if let Some(module) = there.submodules.get(&(specifier, there.parsed.name(name))) =>
            {
                Some(Value::Module(*module))
            }
            ExportValue::From { specifier, name } if depth < 8 => {
                Some(self.import(definition.file, specifier, there.parsed.name(name)))
            }
            ExportValue::From { .. } | ExportValue::Unknown => Some(Value::Unknown),
        }
    }
}
