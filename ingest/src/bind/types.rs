//! From declared types to values.

use super::eval::{Evaluator, Question};
use super::passes;
use super::value::{FileId, Value, Vendor};
use crate::language::Family;
use crate::parse::{BindingId, ExportValue, Expr, Name, Origin, Property, Step, Type, TypeId, TypeRoot};

impl Evaluator<'_, '_> {
    /// What a value of a type is. A client of a vendor is not bound to a place yet: see [`Evaluator::declared`].
    pub(super) fn eval_type(&mut self, file: FileId, ty: TypeId) -> Value {
        let parsed = self.world.file(file).parsed;
        match parsed.types.get(ty as usize) {
            Some(Type::Null) => Value::Null,
            Some(Type::Object(..) | Type::List(_)) => Value::Typed(file, ty),
            Some(Type::Function(..)) => Value::Signature(file, ty),
            Some(Type::Union(types) | Type::Intersection(types)) => {
                let mut all = Value::Unknown;
                for ty in types {
                    let value = self.ask(Question::Type(file, *ty));
                    all = all.or(value);
                }
                all
            }
            Some(Type::Indexed(object, name)) => {
                let object = self.ask(Question::Type(file, *object));
                self.member(&object, parsed.name(*name))
            }
            Some(Type::Typeof(root, path)) => {
                let mut value = match root {
                    TypeRoot::Binding(binding) => self.binding(file, *binding),
                    TypeRoot::Import(specifier) => self.import(file, *specifier, "*"),
                    // `typeof fetch`, `typeof globalThis.fetch`
                    TypeRoot::Global(name) => match parsed.name(*name) {
                        name @ ("fetch" | "globalThis" | "window") => Value::Global(name.into()),
                        _ => Value::Unknown,
                    },
                };
                for name in path {
                    value = self.member(&value, parsed.name(*name));
                }
                match value {
                    Value::Global(name) if &*name != "fetch" => Value::Unknown,
                    value => value,
                }
            }
            Some(Type::Reference(TypeRoot::Binding(binding), path, arguments)) => {
                let carried = self.carried_type(file, *binding, path, arguments);
                if carried.is_known() {
                    return carried;
                }
                let path = self.texts(file, path);
                self.named_type(file, *binding, &path)
            }
            Some(Type::Reference(TypeRoot::Import(specifier), path, _)) => match path.split_first() {
                Some((name, path)) => {
                    let (name, path) = (parsed.name(*name), self.texts(file, path));
                    self.imported_type(file, *specifier, name, &path)
                }
                // A package that is a class itself.
                None => self.imported_type(file, *specifier, "=", &[]),
            },
            Some(Type::Reference(TypeRoot::Global(name), path, arguments)) if path.is_empty() => {
                let Some(first) = arguments.first().copied() else { return Value::Unknown };
                match parsed.name(*name) {
                    "Promise" | "PromiseLike" | "Awaited" | "Readonly" | "Partial" | "Required" | "NonNullable"
                    | "Exclude" | "Extract" => self.ask(Question::Type(file, first)),
                    "Pick" | "Omit" => match self.ask(Question::Type(file, first)) {
                        // Which members are left is looked at where one is taken.
                        Value::Instance(..) | Value::Typed(..) | Value::Object(..) => Value::Typed(file, ty),
                        value => value,
                    },
                    "Array" | "ReadonlyArray" | "Set" | "ReadonlySet" => Value::Typed(file, ty),
                    "Record" | "Map" | "ReadonlyMap" | "WeakMap" if arguments.len() == 2 => Value::Typed(file, ty),
                    "InstanceType" => {
                        let class = self.ask(Question::Type(file, first));
                        self.instance_of_type(&class)
                    }
                    "ReturnType" => {
                        let function = self.ask(Question::Type(file, first));
                        self.result_of_type(&function)
                    }
                    _ => Value::Unknown,
                }
            }
            None | Some(Type::Unknown | Type::Reference(..)) => Value::Unknown,
        }
    }

    fn instance_of_type(&mut self, class: &Value) -> Value {
        match class {
            Value::Class(file, class) => Value::Instance(*file, *class),
            Value::Vendor(vendor) if vendor.chain.is_empty() => match self.catalog.shape(vendor.shape).construct {
                Some(shape) => Value::vendor(Vendor { shape, ..(**vendor).clone() }),
                None => Value::Unknown,
            },
            _ => Value::Unknown,
        }
    }

    pub(super) fn result_of_type(&mut self, function: &Value) -> Value {
        match function {
            Value::Function(file, function) => self.ask(Question::Returns(*file, *function)),
            Value::Signature(file, ty) => self.returned_type(*file, *ty),
            Value::Vendor(vendor) if vendor.chain.is_empty() => match self.catalog.shape(vendor.shape).call {
                Some(shape) => Value::vendor(Vendor { shape, ..(**vendor).clone() }),
                None => Value::Unknown,
            },
            _ => Value::Unknown,
        }
    }

    /// What a function of a type gives.
    pub(super) fn returned_type(&mut self, file: FileId, ty: TypeId) -> Value {
        match self.world.file(file).parsed.types.get(ty as usize) {
            Some(Type::Function(_, returns)) => self.ask(Question::Type(file, *returns)),
            _ => Value::Unknown,
        }
    }

    fn texts(&self, file: FileId, names: &[Name]) -> Vec<String> {
        let parsed = self.world.file(file).parsed;
        names.iter().map(|name| parsed.name(*name).to_owned()).collect()
    }

    /// The type that a name of a file stands for.
    fn named_type(&mut self, file: FileId, binding: BindingId, path: &[String]) -> Value {
        let parsed = self.world.file(file).parsed;
        let Some(it) = parsed.bindings.get(binding as usize) else { return Value::Unknown };
        match &it.origin {
            Origin::Import { specifier, name } => self.imported_type(file, *specifier, parsed.name(*name), path),
            Origin::Class(class) if path.is_empty() => Value::Instance(file, *class),
            Origin::Type(ty) if path.is_empty() => self.ask(Question::Type(file, *ty)),
            // `const Stripe = require("stripe")` is a value, and its name is a type in the comments of JavaScript.
            Origin::Value(value, steps) => match (parsed.expr(*value), steps.as_slice()) {
                (Expr::Require(specifier), []) => self.imported_type(file, *specifier, "=", path),
                (Expr::Require(specifier), [Step::Member(name)]) if path.is_empty() => {
                    self.imported_type(file, *specifier, parsed.name(*name), &[])
                }
                // A namespace of the language.
                (Expr::Object(members), []) => {
                    let Some((first, rest)) = path.split_first() else { return Value::Unknown };
                    let member = members.iter().find_map(|member| match member {
                        Property::Named(name, value) if parsed.name(*name) == first => Some(*value),
                        _ => None,
                    });
                    match member.map(|value| parsed.expr(value)) {
                        Some(Expr::Binding(member)) if *member != binding => self.named_type(file, *member, rest),
                        _ => Value::Unknown,
                    }
                }
                _ => Value::Unknown,
            },
            _ => Value::Unknown,
        }
    }

    fn imported_type(&mut self, file: FileId, specifier: Name, name: &str, path: &[String]) -> Value {
        let here = self.world.file(file);
        let own = here.published.get(&specifier).copied().filter(|own| self.catalog.module(own).is_some());
        let Some(target) = here.targets.get(&specifier).copied().filter(|_| own.is_none()) else {
            let specifier = own.unwrap_or_else(|| here.parsed.name(specifier));
            if passes::is_of_validators(specifier) && here.family == Family::Script {
                return passes::toolbox(specifier, name);
            }
            let name = match (name, path) {
                (name, []) => name,
                ("*" | "=", [name]) => name.as_str(),
                _ => return Value::Unknown,
            };
            return self.package_type(here.family, specifier, name);
        };
        let (name, path) = match (name, path) {
            ("*" | "=", [name, path @ ..]) => (name.as_str(), path),
            (name, path) => (name, path),
        };
        let Some(definition) = self.world.definition(target, name) else { return Value::Unknown };
        let there = self.world.file(definition.file);
        match self.world.export(definition) {
            ExportValue::Binding(binding) => self.named_type(definition.file, binding, path),
            ExportValue::From { specifier, name } if !there.targets.contains_key(&specifier) => {
                self.package_type(there.family, there.parsed.name(specifier), there.parsed.name(name))
            }
            ExportValue::Expr(expr) => match there.parsed.expr(expr) {
                Expr::Class(class) if path.is_empty() => Value::Instance(definition.file, *class),
                _ => Value::Unknown,
            },
            _ => Value::Unknown,
        }
    }

    fn package_type(&mut self, family: Family, specifier: &str, name: &str) -> Value {
        if family != Family::Script {
            return self.http_typed(family, specifier, name);
        }
        let name = if name == "=" { "*" } else { name };
        let shape = self
            .catalog
            .declared(specifier, name)
            .or_else(|| if name == "default" { self.catalog.declared(specifier, "*") } else { None });
        match shape {
            Some(shape) => Value::vendor(Vendor::exported(specifier, shape)),
            None => self.http_typed(family, specifier, name),
        }
    }

    /// What an element of a list, or any member of a record, of a declared type is.
    pub(super) fn item_of_type(&mut self, file: FileId, ty: TypeId) -> Value {
        let item = match self.world.file(file).parsed.types.get(ty as usize) {
            Some(Type::List(item)) => *item,
            Some(Type::Reference(TypeRoot::Global(name), path, arguments)) if path.is_empty() => {
                let of_one = matches!(
                    self.world.file(file).parsed.name(*name),
                    "Array" | "ReadonlyArray" | "Set" | "ReadonlySet" | "Record" | "Map" | "ReadonlyMap" | "WeakMap"
                );
                match arguments.last() {
                    Some(item) if of_one => *item,
                    _ => return Value::Unknown,
                }
            }
            _ => return Value::Unknown,
        };
        self.ask(Question::Type(file, item))
    }

    /// A member of a value of which the type is declared.
    pub(super) fn type_member(&mut self, file: FileId, ty: TypeId, name: &str) -> Value {
        let parsed = self.world.file(file).parsed;
        let (members, extends) = match parsed.types.get(ty as usize) {
            Some(Type::Object(members, extends)) => (members, extends),
            Some(Type::Reference(TypeRoot::Global(whole), ..)) if !matches!(parsed.name(*whole), "Pick" | "Omit") => {
                return if parsed.name(*whole) == "Record" { self.item_of_type(file, ty) } else { Value::Unknown };
            }
            Some(Type::Reference(TypeRoot::Global(picks), _, arguments)) => {
                let keys = arguments.get(1).and_then(|keys| parsed.types.get(*keys as usize));
                let (Some(whole), Some(Type::Object(keys, _))) = (arguments.first(), keys) else {
                    return Value::Unknown;
                };
                let is_named = keys.iter().any(|(key, _)| parsed.name(*key) == name);
                if is_named != (parsed.name(*picks) == "Pick") {
                    return Value::Unknown;
                }
                let whole = self.ask(Question::Type(file, *whole));
                return self.member(&whole, name);
            }
            _ => return Value::Unknown,
        };
        if let Some((_, ty)) = members.iter().find(|(key, _)| parsed.name(*key) == name) {
            return self.ask(Question::Type(file, *ty));
        }
        let mut all = Value::Unknown;
        for base in extends {
            let base = self.ask(Question::Type(file, *base));
            let member = self.member(&base, name);
            all = all.or(member);
        }
        all
    }
}
