//! Members of values: of clients, objects, instances, namespaces and declared types.

use std::rc::Rc;

use super::changes::Change;
use super::eval::{DEEPEST, Evaluator, Question, stepped};
use super::passes::{self, Place};
use super::value::{FileId, Value, Vendor};
use super::world::World;
use crate::language::Family;
use crate::parse::{ClassId, Expr, ExprId, FunctionId, MemberKind, Name, Property};

impl Evaluator<'_, '_> {
    /// A member of a value.
    pub(super) fn member(&mut self, value: &Value, name: &str) -> Value {
        if self.nested == 0 && self.open.is_empty() {
            self.begin_question();
        }
        if !self.may_step() {
            return Value::Unknown;
        }
        if self.nested > DEEPEST {
            self.lowest = 0;
            return Value::Unknown;
        }
        self.nested += 1;
        let member = self.find_member(value, name);
        self.nested -= 1;
        member
    }

    pub(super) fn find_member(&mut self, value: &Value, name: &str) -> Value {
        match value {
            Value::Many(values) => {
                let mut all = Value::Unknown;
                for value in values.iter() {
                    let member = self.member(value, name);
                    // A stand-in that lacks a member stays a stand-in.
                    let lacks = !member.is_known() && value.is_own();
                    all = all.or(if lacks { Value::Own } else { member });
                }
                all
            }
            Value::Own => Value::Own,
            Value::Global(global) if matches!(&**global, "globalThis" | "window" | "self" | "global") => {
                if name == "fetch" { Value::Global("fetch".into()) } else { Value::Unknown }
            }
            Value::Global(global) => passes::of_global(global, name).map_or(Value::Unknown, Value::Passes),
            Value::Toolbox(module) => {
                if name == "default" {
                    return value.clone();
                }
                if passes::is_of_validators(module) {
                    // Whatever a schema is made of, it is one.
                    return passes::of_schema(name).map_or_else(|| value.clone(), Value::Passes);
                }
                passes::of_module(module, name).map_or(Value::Unknown, Value::Passes)
            }
            Value::Held(Place::Member(known), held) if *known == name => (**held).clone(),
            Value::Held(Place::Member("var"), held) if name == "get" => Value::Getter(Rc::clone(held)),
            Value::Builder(_) => value.clone(),
            Value::Namespace(specifier) => {
                let specifier = Rc::clone(specifier);
                let value = self.package(&specifier, name);
                if value.is_known() || name == "default" {
                    return value;
                }
                // Members of the one value that the module is.
                match self.catalog.exported(&specifier, "*") {
                    Some(_) => {
                        let whole = self.package(&specifier, "default");
                        self.member(&whole, name)
                    }
                    None => Value::Unknown,
                }
            }
            Value::Http(http) => self.http_member(http, name),
            Value::Vendor(vendor) => self.vendor_member(vendor, name),
            Value::Module(file) => self.named_export(*file, name),
            Value::Instance(file, class) => self.class_member(*file, *class, name, false),
            Value::Class(file, class) => self.class_member(*file, *class, name, true),
            Value::Function(file, function) => self.function_member(*file, *function, name),
            Value::Object(file, expr) => self.property(*file, *expr, name),
            Value::Typed(file, ty) => {
                let member = self.type_member(*file, *ty, name);
                if member.is_known() { member } else { self.method_of_collection(value, name) }
            }
            Value::List(..) | Value::Each(..) => self.method_of_collection(value, name),
            _ => Value::Unknown,
        }
    }

    pub(super) fn vendor_member(&mut self, vendor: &Rc<Vendor>, name: &str) -> Value {
        let shape = self.catalog.shape(vendor.shape);
        if vendor.chain.is_empty() {
            if let Some(member) = shape.members.get(name) {
                return Value::vendor(Vendor { shape: *member, made: None, ..(**vendor).clone() });
            }
            if name == "prototype"
                && let Some(made) = shape.construct
            {
                return Value::vendor(Vendor { shape: made, client: None, made: None, ..(**vendor).clone() });
            }
            if shape.own_url {
                // Whichever of the vendor's addresses it is.
                return Value::Vendor(Rc::clone(vendor));
            }
            let Some(client) = &shape.client else { return Value::Unknown };
            let chain = if client.prefix.is_empty() { name.to_owned() } else { format!("{}.{name}", client.prefix) };
            // `ReturnType<typeof google.gmail>` says no version, and need not where there is but one.
            if client.selector.is_some()
                && vendor.made.is_none()
                && let Some(only) = self.catalog.package_of(shape.package).only_segment(&client.prefix)
            {
                let chain = format!("{}.{only}.{name}", client.prefix);
                return Value::vendor(Vendor { chain, ..(**vendor).clone() });
            }
            return Value::vendor(Vendor { chain, ..(**vendor).clone() });
        }
        Value::vendor(Vendor { chain: format!("{}.{name}", vendor.chain), ..(**vendor).clone() })
    }

    pub(super) fn property(&mut self, file: FileId, object: ExprId, name: &str) -> Value {
        let key = (file, object, name.to_owned());
        if !self.properties.insert(key.clone()) {
            self.lowest = 0;
            return Value::Unknown;
        }
        let value = self.find_property(file, object, name);
        self.properties.remove(&key);
        value
    }

    pub(super) fn find_property(&mut self, file: FileId, object: ExprId, name: &str) -> Value {
        let parsed = self.world.file(file).parsed;
        let Expr::Object(properties) = parsed.expr(object) else { return Value::Unknown };
        self.world.go_through(properties.len());
        // The last one counts; a spread behind it may override it and then either is possible.
        let mut found = Value::Unknown;
        for property in properties {
            match property {
                Property::Named(key, value) if parsed.name(*key) == name => found = self.expr(file, *value),
                Property::Spread(value) => {
                    let value = self.expr(file, *value);
                    let member = self.member(&value, name);
                    if member.is_known() {
                        found = found.or(member);
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// `function f() {}; f.member = …`, also where the function is all that its module exports.
    fn function_member(&mut self, file: FileId, function: FunctionId, name: &str) -> Value {
        let member = self.member_of_function(file, function, name);
        if member.is_known() || name == "=" || self.world.definition(file, "=").is_none() {
            return member;
        }
        match self.export(file, "=", 0) {
            Some(Value::Function(there, whole)) if (there, whole) == (file, function) => {
                self.export(file, name, 0).unwrap_or(Value::Unknown)
            }
            _ => member,
        }
    }

    /// The values of an object all of whose members are shown.
    pub(super) fn named_values(&mut self, file: FileId, object: ExprId) -> Option<Vec<ExprId>> {
        let Expr::Object(properties) = self.world.file(file).parsed.expr(object) else { return None };
        let value = |property: &Property| match property {
            Property::Named(_, value) => Some(*value),
            _ => None,
        };
        let mut values: Vec<_> = properties.iter().map(value).collect::<Option<_>>()?;
        for change in self.changes_of_object(file, object) {
            match change {
                Change::Member(path, write) if path.len() == 1 && !write.appends => values.push(write.value),
                _ => return None,
            }
        }
        Some(values)
    }

    pub(super) fn class_member(&mut self, file: FileId, class: ClassId, name: &str, is_static: bool) -> Value {
        let world = self.world;
        let (file, class) = world.whole(file, class);
        if world.file(file).family == Family::Go {
            let parts = world.parts(file, class).into_iter();
            if let Some((there, part)) = parts.into_iter().find(|(there, part)| has_member(world, *there, *part, name))
            {
                return self.member_of_part(there, part, name, is_static);
            }
        }
        self.member_of_part(file, class, name, is_static)
    }

    fn member_of_part(&mut self, file: FileId, class: ClassId, name: &str, is_static: bool) -> Value {
        let world = self.world;
        let parsed = world.file(file).parsed;
        let Some(it) = parsed.classes.get(class as usize) else { return Value::Unknown };
        world.go_through(it.members.len());
        if is_static {
            let member = it.members.iter().find(|member| member.is_static && parsed.name(member.name) == name);
            return match member.map(|member| member.kind) {
                Some(MemberKind::Method(function)) => Value::Function(file, function),
                Some(MemberKind::Getter(function)) => self.ask(Question::Returns(file, function)),
                Some(MemberKind::Field(_, Some(value))) => self.expr(file, value),
                Some(MemberKind::Field(Some(ty), None)) => {
                    let ty = self.ask(Question::Type(file, ty));
                    let symbol = it.symbol;
                    let step = format!("field {name} declared with the client's type");
                    self.declared(ty, file, symbol, it.line, &step)
                }
                Some(MemberKind::Field(None, None)) => Value::Unknown,
                None => {
                    let assigned = self.member_of_class(file, class, name);
                    if assigned.is_known() { assigned } else { self.inherited_static(file, class, name) }
                }
            };
        }
        let own = it
            .members
            .iter()
            .find(|member| !member.is_static && parsed.name(member.name) == name)
            .map(|member| member.name)
            .or_else(|| it.assigned.iter().map(|(key, _)| *key).find(|key| parsed.name(*key) == name));
        if let Some(own) = own {
            return self.ask(Question::Member(file, class, own));
        }
        for extends in it.extends.iter().chain(&it.further) {
            let base = self.expr(file, *extends);
            let base = match base {
                Value::Class(base_file, base) if (base_file, base) != (file, class) => Value::Instance(base_file, base),
                Value::Vendor(_) => self.made_by_subclass(&base, file, class, *extends),
                _ => continue,
            };
            if self.open.len() > DEEPEST / 2 {
                return Value::Unknown;
            }
            let member = self.member(&base, name);
            let member = self.as_this_class_gives_it(member, &base, name, (file, class));
            if member.is_known() {
                return member;
            }
        }
        self.member_of_instances(file, class, name)
    }

    /// A member of the class that a class extends.
    fn inherited_static(&mut self, file: FileId, class: ClassId, name: &str) -> Value {
        let Some(it) = self.world.file(file).parsed.classes.get(class as usize) else { return Value::Unknown };
        for extends in it.extends.iter().chain(&it.further) {
            match self.expr(file, *extends) {
                Value::Class(there, base) if (there, base) != (file, class) && self.open.len() <= DEEPEST / 2 => {
                    let member = self.member(&Value::Class(there, base), name);
                    if member.is_known() {
                        return member;
                    }
                }
                _ => {}
            }
        }
        Value::Unknown
    }

    pub(super) fn eval_member(&mut self, file: FileId, class: ClassId, name: Name) -> Value {
        let parsed = self.world.file(file).parsed;
        let it = &parsed.classes[class as usize];
        self.world.go_through(it.members.len());
        let member = it.members.iter().find(|member| !member.is_static && member.name == name);
        let mut value = Value::Unknown;
        let mut line = it.line;
        let mut declared = None;
        match member.map(|member| (member.kind, member.line)) {
            Some((MemberKind::Method(function), _)) => return Value::Function(file, function),
            Some((MemberKind::Getter(function), _)) => return self.ask(Question::Returns(file, function)),
            Some((MemberKind::Field(ty, initial), at)) => {
                line = at;
                declared = ty;
                if let Some(initial) = initial {
                    value = self.expr(file, initial);
                }
            }
            None => {}
        }
        for (key, assigned) in &it.assigned {
            if *key == name {
                let assigned = self.expr(file, *assigned);
                value = value.or(assigned);
            }
        }
        if !value.is_known() {
            // `const it = new Type(); it.name = …`
            value = self.member_of_instances(file, class, parsed.name(name));
        }
        let value = self.unless_empty(value, file, declared);
        let step = format!("field {}", parsed.name(name));
        if value.is_known() {
            return stepped(value, file, line, it.symbol, &step);
        }
        match declared {
            Some(ty) => {
                let ty = self.ask(Question::Type(file, ty));
                self.declared(ty, file, it.symbol, line, &format!("{step} declared with the client's type"))
            }
            None => Value::Unknown,
        }
    }
}

/// Whether a class has a member of its own.
fn has_member(world: &World<'_>, file: FileId, class: ClassId, name: &str) -> bool {
    let parsed = world.file(file).parsed;
    let class = parsed.classes.get(class as usize);
    class.is_some_and(|class| class.members.iter().any(|member| parsed.name(member.name) == name))
}
