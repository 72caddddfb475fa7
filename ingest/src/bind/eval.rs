//! Where a value comes from: expressions, bindings, members and calls, evaluated across files.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::clients::{Clients, Site};
use super::value::{FileId, Value, Vendor};
use super::world::World;
use crate::catalog::Catalog;
use crate::parse::{
    Argument, BindingId, ClassId, ExportValue, Expr, ExprId, FunctionId, MemberKind, Name, Origin, Property, Step,
};
use crate::pins::Pins;

/// Values in values, followed this far. Frames are small; this bounds the stack as well.
const DEEPEST: usize = 96;
/// Callers of one function that are looked at.
const MOST_CALLERS: usize = 64;
/// Evaluations for one question.
const MOST_STEPS: usize = 20_000;

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Question {
    Expr(FileId, ExprId),
    Binding(FileId, BindingId),
    Returns(FileId, FunctionId),
    Member(FileId, ClassId, Name),
    Type(FileId, u32),
}

/// A call of a function that is looked into with the arguments of that one call.
#[derive(Debug, Clone)]
struct Frame {
    file: FileId,
    function: FunctionId,
    caller: FileId,
    arguments: Vec<Argument>,
}

/// Evaluates; remembers every answer that no cycle cut short.
pub(super) struct Evaluator<'p, 'w> {
    pub(super) world: &'w World<'p>,
    pub(super) catalog: &'p Catalog,
    pub(super) pins: &'p Pins,
    pub(super) clients: Clients,
    known: HashMap<Question, Value>,
    open: HashMap<Question, usize>,
    /// The outermost open question that an answer in the making depends on.
    lowest: usize,
    steps: usize,
    /// Properties being looked up: an object may be spread into itself.
    properties: HashSet<(FileId, ExprId, String)>,
    /// Members of members being looked up.
    nested: usize,
    /// The calls of a function of the repository.
    callers: HashMap<(FileId, FunctionId), Vec<(FileId, ExprId)>>,
    /// A call whose arguments stand for the parameters of the function it calls, while that is looked into.
    frame: Option<Frame>,
    /// The call that a function is passed to, by file.
    given: HashMap<FileId, HashMap<FunctionId, ExprId>>,
}

impl<'p, 'w> Evaluator<'p, 'w> {
    pub(super) fn new(world: &'w World<'p>, catalog: &'p Catalog, pins: &'p Pins) -> Self {
        Self {
            world,
            catalog,
            pins,
            clients: Clients::default(),
            known: HashMap::new(),
            open: HashMap::new(),
            lowest: usize::MAX,
            steps: 0,
            properties: HashSet::new(),
            nested: 0,
            callers: HashMap::new(),
            frame: None,
            given: HashMap::new(),
        }
    }

    /// The value of an expression.
    pub(super) fn expr(&mut self, file: FileId, expr: ExprId) -> Value {
        self.ask(Question::Expr(file, expr))
    }

    pub(super) fn binding(&mut self, file: FileId, binding: BindingId) -> Value {
        self.ask(Question::Binding(file, binding))
    }

    pub(super) fn ask(&mut self, question: Question) -> Value {
        if let Some(value) = self.known.get(&question) {
            return value.clone();
        }
        if let Some(depth) = self.open.get(&question) {
            self.lowest = self.lowest.min(*depth);
            return Value::Unknown;
        }
        let depth = self.open.len();
        if depth == 0 && self.nested == 0 {
            self.steps = 0;
        }
        self.steps += 1;
        if depth > DEEPEST || self.steps > MOST_STEPS {
            self.lowest = 0;
            return Value::Unknown;
        }
        self.open.insert(question, depth);
        let outer = std::mem::replace(&mut self.lowest, usize::MAX);
        let value = match question {
            Question::Expr(file, expr) => self.eval(file, expr),
            Question::Binding(file, binding) => self.eval_binding(file, binding),
            Question::Returns(file, function) => self.eval_returns(file, function),
            Question::Member(file, class, name) => self.eval_member(file, class, name),
            Question::Type(file, ty) => self.eval_type(file, ty),
        };
        self.open.remove(&question);
        // An answer that a question further out cut short is true only there.
        if self.lowest >= depth {
            self.known.insert(question, value.clone());
            self.lowest = outer;
        } else {
            self.lowest = self.lowest.min(outer);
        }
        value
    }

    fn eval(&mut self, file: FileId, expr: ExprId) -> Value {
        let world = self.world;
        let parsed = world.file(file).parsed;
        match parsed.expr(expr) {
            // `stripe[name]` is a member that nobody can name.
            Expr::Unknown
            | Expr::Literal(_)
            | Expr::Text(..)
            | Expr::Template(_)
            | Expr::This(None)
            | Expr::Index(_) => Value::Unknown,
            Expr::Null => Value::Null,
            Expr::Binding(binding) => self.binding(file, *binding),
            Expr::Global(name) => Value::Global(parsed.name(*name).into()),
            Expr::This(Some(class)) => Value::Instance(file, *class),
            Expr::Super(class) => {
                let extends = class.and_then(|class| parsed.classes.get(class as usize)).and_then(|it| it.extends);
                match extends {
                    Some(extends) => {
                        let base = self.expr(file, extends);
                        self.instance(&base, file, expr)
                    }
                    None => Value::Unknown,
                }
            }
            Expr::Member(object, name) => {
                let object = self.expr(file, *object);
                self.member(&object, parsed.name(*name))
            }
            Expr::Call { callee, construct, .. } => {
                if *construct {
                    let class = self.expr(file, *callee);
                    return self.instance(&class, file, expr);
                }
                if let Expr::Member(object, name) = parsed.expr(*callee)
                    && parsed.name(*name) == "bind"
                {
                    return self.expr(file, *object);
                }
                let callee = self.expr(file, *callee);
                self.called(&callee, file, expr)
            }
            Expr::Import(specifier) => self.import(file, *specifier, "*"),
            Expr::Require(specifier) => self.import(file, *specifier, "="),
            Expr::Await(value) | Expr::Guarded(value) => self.expr(file, *value),
            Expr::Object(_) => Value::Object(file, expr),
            Expr::Array(_) => Value::List(file, expr),
            Expr::Function(function) => Value::Function(file, *function),
            Expr::Class(class) => Value::Class(file, *class),
            Expr::Either(left, right) => {
                let left = self.expr(file, *left);
                let right = self.expr(file, *right);
                left.or(right)
            }
            Expr::Cast(value, ty) => {
                let value = self.expr(file, *value);
                if value.is_known() && !matches!(value, Value::Global(_)) {
                    return value;
                }
                let ty = self.ask(Question::Type(file, *ty));
                self.declared(ty, file, None, 0, "cast to the client's type")
            }
        }
    }

    fn eval_binding(&mut self, file: FileId, binding: BindingId) -> Value {
        let world = self.world;
        let parsed = world.file(file).parsed;
        let Some(it) = parsed.bindings.get(binding as usize) else { return Value::Unknown };
        let mut value = match &it.origin {
            Origin::Unknown | Origin::Type(_) => Value::Unknown,
            Origin::Import { specifier, name } => {
                let value = self.import(file, *specifier, parsed.name(*name));
                let step = format!("{} imported from {}", parsed.name(it.name), parsed.name(*specifier));
                return stepped(value, file, it.line, None, &step);
            }
            Origin::Value(expr, steps) => {
                let value = self.expr(file, *expr);
                let value = self.walk(value, file, steps);
                if steps.is_empty() {
                    value
                } else {
                    let step = format!("destructured as {}", parsed.name(it.name));
                    stepped(value, file, it.line, it.symbol, &step)
                }
            }
            Origin::Parameter(function, at, steps) => self.parameter(file, *function, *at, steps, it.line),
            Origin::Function(function) => Value::Function(file, *function),
            Origin::Class(class) => Value::Class(file, *class),
        };
        for write in &it.writes {
            let written = self.expr(file, *write);
            value = value.or(written);
        }
        if !value.is_known()
            && let Some(ty) = it.ty
        {
            let ty = self.ask(Question::Type(file, ty));
            let step = format!("{} declared with the client's type", parsed.name(it.name));
            value = self.declared(ty, file, it.symbol, it.line, &step);
        }
        value
    }

    fn parameter(&mut self, file: FileId, function: FunctionId, at: u32, steps: &[Step], line: u32) -> Value {
        let parsed = self.world.file(file).parsed;
        let Some(it) = parsed.functions.get(function as usize) else { return Value::Unknown };
        let symbol = it.scope;
        if let Some((caller, argument)) = self.argument(file, function, at) {
            let value = self.outside(|this| this.expr(caller, argument));
            return self.walk(value, file, steps);
        }
        if self.frame.as_ref().is_some_and(|frame| (frame.file, frame.function) == (file, function)) {
            // Not given by this call: the default, or nothing.
            let default = it.parameters.get(at as usize).and_then(|parameter| parameter.default);
            let value = default.map_or(Value::Null, |default| self.expr(file, default));
            return self.walk(value, file, steps);
        }
        if let Some(parameter) = it.parameters.get(at as usize) {
            if let Some(ty) = parameter.ty {
                let ty = self.ask(Question::Type(file, ty));
                let value = self.walk(ty, file, steps);
                let value = self.declared(value, file, symbol, line, "parameter declared with the client's type");
                if value.is_known() {
                    return value;
                }
            }
            if let Some(default) = parameter.default {
                let value = self.expr(file, default);
                let value = self.walk(value, file, steps);
                if value.is_known() {
                    return value;
                }
            }
        }
        // A handler of a vendor's framework is given clients.
        let Some(call) = self.call_given(file, function) else {
            return self.given_by_callers(file, function, at, steps, line);
        };
        let Expr::Call { callee, .. } = parsed.expr(call) else { return Value::Unknown };
        let receiver = self.expr(file, *callee);
        for vendor in receiver.vendors() {
            if !vendor.chain.is_empty() {
                continue;
            }
            if let Some((index, shape)) = self.catalog.shape(vendor.shape).callback
                && index == at as usize
            {
                let given = Vendor { shape, chain: String::new(), made: None, ..(**vendor).clone() };
                let value = self.walk(Value::vendor(given), file, steps);
                return self.declared(value, file, symbol, line, "given to a handler of the vendor's framework");
            }
        }
        Value::Unknown
    }

    /// The argument that stands for a parameter while one call of its function is looked into.
    pub(super) fn argument(&self, file: FileId, function: FunctionId, at: u32) -> Option<(FileId, ExprId)> {
        let frame = self.frame.as_ref().filter(|frame| (frame.file, frame.function) == (file, function))?;
        let before = frame.arguments.get(..=at as usize)?;
        if before.iter().any(|argument| argument.spread) {
            return None;
        }
        before.last().map(|argument| (frame.caller, argument.value))
    }

    /// Evaluates what stands outside of the function that is looked into.
    pub(super) fn outside<T>(&mut self, ask: impl FnOnce(&mut Self) -> T) -> T {
        let frame = self.frame.take();
        let answer = ask(self);
        self.frame = frame;
        answer
    }

    /// Looks into a function with the arguments of one call. Nothing of it is remembered, since it is true of that
    /// call only.
    pub(super) fn inside<T>(
        &mut self,
        (file, function): (FileId, FunctionId),
        caller: FileId,
        arguments: &[Argument],
        ask: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let frame = Frame { file, function, caller, arguments: arguments.to_vec() };
        let outer = self.frame.replace(frame);
        let known = std::mem::take(&mut self.known);
        let answer = ask(self);
        self.known = known;
        self.frame = outer;
        answer
    }

    /// Who calls whom, so that parameters without a type can be what all callers give. Answers until here were made
    /// without knowing that.
    pub(super) fn know_callers(&mut self, callers: HashMap<(FileId, FunctionId), Vec<(FileId, ExprId)>>) {
        self.callers = callers;
        self.known.clear();
    }

    /// What the callers of a function give for a parameter: a vendor's value where all of them give one (tests aside),
    /// else the one thing that they all give.
    fn given_by_callers(&mut self, file: FileId, function: FunctionId, at: u32, steps: &[Step], line: u32) -> Value {
        let world = self.world;
        let Some(callers) = self.callers.get(&(file, function)) else { return Value::Unknown };
        let tests_too = world.file(file).is_test;
        let callers: Vec<_> =
            callers.iter().copied().filter(|(caller, _)| tests_too || !world.file(*caller).is_test).collect();
        if callers.len() > MOST_CALLERS {
            return Value::Unknown;
        }
        let mut all = Value::Unknown;
        for (caller, call) in callers {
            let Expr::Call { arguments, .. } = world.file(caller).parsed.expr(call) else { return Value::Unknown };
            if arguments.iter().take(at as usize + 1).any(|argument| argument.spread) {
                return Value::Unknown;
            }
            let Some(argument) = arguments.get(at as usize) else { continue };
            let value = self.expr(caller, argument.value);
            let value = self.walk(value, file, steps);
            match value {
                Value::Null => {}
                Value::Unknown => return Value::Unknown,
                value => all = all.or(value),
            }
        }
        let vendors = all.vendors().count();
        if vendors < all.alternatives().len() && all.alternatives().len() > 1 {
            return Value::Unknown;
        }
        let symbol = world.file(file).parsed.functions[function as usize].scope;
        stepped(all, file, line, symbol, "given by every caller")
    }

    fn call_given(&mut self, file: FileId, function: FunctionId) -> Option<ExprId> {
        let parsed = self.world.file(file).parsed;
        self.given
            .entry(file)
            .or_insert_with(|| {
                let mut given = HashMap::new();
                for call in &parsed.calls {
                    if let Expr::Call { arguments, .. } = parsed.expr(call.expr) {
                        for argument in arguments {
                            if let Expr::Function(function) = parsed.expr(argument.value) {
                                given.insert(*function, call.expr);
                            }
                        }
                    }
                }
                given
            })
            .get(&function)
            .copied()
    }

    /// Goes into a value as a destructuring pattern does.
    fn walk(&mut self, value: Value, file: FileId, steps: &[Step]) -> Value {
        let parsed = self.world.file(file).parsed;
        let mut value = value;
        for step in steps {
            value = match step {
                Step::Member(name) => self.member(&value, parsed.name(*name)),
                Step::Element(at) => self.element(&value, *at),
                Step::Rest => value,
                Step::Item => Value::Unknown,
            };
        }
        value
    }

    fn element(&mut self, value: &Value, at: u32) -> Value {
        let Value::List(file, expr) = value else { return Value::Unknown };
        match self.world.file(*file).parsed.expr(*expr) {
            Expr::Array(items) if items.iter().all(|item| !item.spread) => {
                items.get(at as usize).map_or(Value::Unknown, |item| self.expr(*file, item.value))
            }
            _ => Value::Unknown,
        }
    }

    /// A name of another module.
    pub(super) fn import(&mut self, file: FileId, specifier: Name, name: &str) -> Value {
        let world = self.world;
        let here = world.file(file);
        let target = here.targets.get(&specifier).copied();
        let mocked = here
            .parsed
            .mocks
            .iter()
            .any(|mock| *mock == specifier || (target.is_some() && here.targets.get(mock).copied() == target));
        if mocked {
            return Value::Unknown;
        }
        let Some(target) = target else { return self.package(here.parsed.name(specifier), name) };
        if here.published.contains(&specifier) && self.catalog.module(here.parsed.name(specifier)).is_some() {
            // The vendor's own repository: what its package gives is in the catalog, its making is not.
            return self.package(here.parsed.name(specifier), name);
        }
        match name {
            "*" | "=" => self.export(target, "=", 0).unwrap_or(Value::Module(target)),
            name => self.named_export(target, name),
        }
    }

    /// A name that a package exports.
    fn package(&mut self, specifier: &str, name: &str) -> Value {
        if self.catalog.module(specifier).is_none() {
            return Value::Unknown;
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
                    Some(shape) => Value::vendor(Vendor {
                        specifier: specifier.into(),
                        shape,
                        chain: String::new(),
                        client: None,
                        made: None,
                        trail: None,
                    }),
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

    fn export(&mut self, file: FileId, name: &str, depth: usize) -> Option<Value> {
        let world = self.world;
        let Some(definition) = world.definition(file, name) else {
            for specifier in world.starred_packages(file) {
                let value = self.package(world.file(file).parsed.name(specifier), name);
                if value.is_known() && name != "default" {
                    return Some(value);
                }
            }
            return None;
        };
        let there = world.file(definition.file);
        match there.parsed.exports[definition.export].value {
            ExportValue::Binding(binding) => Some(self.binding(definition.file, binding)),
            ExportValue::Expr(expr) => Some(self.expr(definition.file, expr)),
            ExportValue::From { specifier, name } if depth < 8 => {
                Some(self.import(definition.file, specifier, there.parsed.name(name)))
            }
            ExportValue::From { .. } | ExportValue::Unknown => Some(Value::Unknown),
        }
    }

    /// A member of a value.
    pub(super) fn member(&mut self, value: &Value, name: &str) -> Value {
        if self.nested == 0 && self.open.is_empty() {
            self.steps = 0;
        }
        self.steps += 1;
        if self.nested > DEEPEST || self.steps > MOST_STEPS {
            self.lowest = 0;
            return Value::Unknown;
        }
        self.nested += 1;
        let member = self.find_member(value, name);
        self.nested -= 1;
        member
    }

    fn find_member(&mut self, value: &Value, name: &str) -> Value {
        match value {
            Value::Many(values) => {
                let mut all = Value::Unknown;
                for value in values.iter() {
                    let member = self.member(value, name);
                    all = all.or(member);
                }
                all
            }
            Value::Global(global) if matches!(&**global, "globalThis" | "window" | "self" | "global") => {
                if name == "fetch" { Value::Global("fetch".into()) } else { Value::Unknown }
            }
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
            Value::Vendor(vendor) => self.vendor_member(vendor, name),
            Value::Module(file) => self.named_export(*file, name),
            Value::Instance(file, class) => self.class_member(*file, *class, name, false),
            Value::Class(file, class) => self.class_member(*file, *class, name, true),
            Value::Object(file, expr) => self.property(*file, *expr, name),
            Value::Typed(file, ty) => self.type_member(*file, *ty, name),
            _ => Value::Unknown,
        }
    }

    fn vendor_member(&mut self, vendor: &Rc<Vendor>, name: &str) -> Value {
        let shape = self.catalog.shape(vendor.shape);
        if vendor.chain.is_empty() {
            if let Some(member) = shape.members.get(name) {
                return Value::vendor(Vendor { shape: *member, made: None, ..(**vendor).clone() });
            }
            if shape.own_url {
                // Whichever of the vendor's addresses it is.
                return Value::Vendor(Rc::clone(vendor));
            }
            let Some(client) = &shape.client else { return Value::Unknown };
            let chain = if client.prefix.is_empty() { name.to_owned() } else { format!("{}.{name}", client.prefix) };
            return Value::vendor(Vendor { chain, ..(**vendor).clone() });
        }
        Value::vendor(Vendor { chain: format!("{}.{name}", vendor.chain), ..(**vendor).clone() })
    }

    fn property(&mut self, file: FileId, object: ExprId, name: &str) -> Value {
        let key = (file, object, name.to_owned());
        if !self.properties.insert(key.clone()) {
            self.lowest = 0;
            return Value::Unknown;
        }
        let value = self.find_property(file, object, name);
        self.properties.remove(&key);
        value
    }

    fn find_property(&mut self, file: FileId, object: ExprId, name: &str) -> Value {
        let parsed = self.world.file(file).parsed;
        let Expr::Object(properties) = parsed.expr(object) else { return Value::Unknown };
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

    fn class_member(&mut self, file: FileId, class: ClassId, name: &str, is_static: bool) -> Value {
        let world = self.world;
        let parsed = world.file(file).parsed;
        let Some(it) = parsed.classes.get(class as usize) else { return Value::Unknown };
        if is_static {
            let member = it.members.iter().find(|member| member.is_static && parsed.name(member.name) == name);
            return match member.map(|member| member.kind) {
                Some(MemberKind::Method(function)) => Value::Function(file, function),
                Some(MemberKind::Getter(function)) => self.ask(Question::Returns(file, function)),
                Some(MemberKind::Field(_, Some(value))) => self.expr(file, value),
                _ => Value::Unknown,
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
        let Some(extends) = it.extends else { return Value::Unknown };
        let base = self.expr(file, extends);
        let base = match base {
            Value::Class(base_file, base) if (base_file, base) != (file, class) => Value::Instance(base_file, base),
            Value::Vendor(_) => self.instance(&base, file, extends),
            _ => return Value::Unknown,
        };
        if self.open.len() > DEEPEST / 2 {
            return Value::Unknown;
        }
        self.member(&base, name)
    }

    fn eval_member(&mut self, file: FileId, class: ClassId, name: Name) -> Value {
        let parsed = self.world.file(file).parsed;
        let it = &parsed.classes[class as usize];
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

    fn eval_returns(&mut self, file: FileId, function: FunctionId) -> Value {
        let parsed = self.world.file(file).parsed;
        let Some(it) = parsed.functions.get(function as usize) else { return Value::Unknown };
        let mut value = Value::Unknown;
        for returned in &it.returns {
            let returned = self.expr(file, *returned);
            value = value.or(returned);
        }
        if !value.is_known()
            && let Some(ty) = it.return_type
        {
            let ty = self.ask(Question::Type(file, ty));
            value = self.declared(ty, file, it.symbol, 0, "returned with the client's type");
        }
        let name = self.world.symbol(file, it.symbol).map(|symbol| (symbol.qualified.clone(), symbol.line));
        match name {
            Some((name, line)) => stepped(value, file, line, it.symbol, &format!("returned by {name}")),
            None => value,
        }
    }

    /// What a call gives.
    fn called(&mut self, callee: &Value, file: FileId, call: ExprId) -> Value {
        match callee {
            Value::Many(values) => {
                let mut all = Value::Unknown;
                for value in values.iter() {
                    let given = self.called(value, file, call);
                    all = all.or(given);
                }
                all
            }
            Value::Function(file, function) => self.ask(Question::Returns(*file, *function)),
            Value::Gives(value) => (**value).clone(),
            Value::Namespace(specifier) => {
                let specifier = Rc::clone(specifier);
                let whole = self.package(&specifier, "default");
                match self.catalog.exported(&specifier, "*") {
                    Some(_) => self.called(&whole, file, call),
                    None => Value::Unknown,
                }
            }
            Value::Vendor(vendor) if vendor.chain.is_empty() => match self.catalog.shape(vendor.shape).call {
                Some(shape) => self.made(vendor, shape, file, call, false),
                None => Value::Unknown,
            },
            Value::Vendor(vendor) => Value::vendor(Vendor {
                chain: format!("{}()", vendor.chain),
                made: Some((file, call)),
                ..(**vendor).clone()
            }),
            _ => Value::Unknown,
        }
    }

    /// What `new` gives.
    fn instance(&mut self, class: &Value, file: FileId, call: ExprId) -> Value {
        match class {
            Value::Many(values) => {
                let mut all = Value::Unknown;
                for value in values.iter() {
                    let given = self.instance(value, file, call);
                    all = all.or(given);
                }
                all
            }
            Value::Class(file, class) => Value::Instance(*file, *class),
            Value::Namespace(specifier) => {
                let specifier = Rc::clone(specifier);
                match self.catalog.exported(&specifier, "*") {
                    Some(_) => {
                        let whole = self.package(&specifier, "default");
                        self.instance(&whole, file, call)
                    }
                    None => Value::Unknown,
                }
            }
            Value::Vendor(vendor) if vendor.chain.is_empty() => match self.catalog.shape(vendor.shape).construct {
                Some(shape) => self.made(vendor, shape, file, call, true),
                None => Value::Unknown,
            },
            _ => Value::Unknown,
        }
    }

    fn made(
        &mut self,
        from: &Rc<Vendor>,
        shape: crate::catalog::ShapeId,
        file: FileId,
        call: ExprId,
        construct: bool,
    ) -> Value {
        let made = self.catalog.shape(shape);
        let mut vendor = Vendor { shape, chain: String::new(), made: Some((file, call)), ..(**from).clone() };
        let Some(client) = &made.client else { return Value::vendor(vendor) };
        let parsed = self.world.file(file).parsed;
        let place = match parsed.expr(call) {
            Expr::Call { call, .. } => parsed.calls.get(*call as usize),
            _ => None,
        };
        let symbol = place.and_then(|place| place.symbol);
        let line = place.map_or(0, |place| place.line);
        if vendor.client.is_none() || self.catalog.shape(from.shape).client.is_none() {
            let record = self.constructed(&vendor, file, symbol, call);
            vendor.client = Some(self.clients.at(Site::Made(file, call), || record));
        }
        if let Some(selector) = &client.selector
            && let Some(segment) = self.selected(file, call, selector)
        {
            // The prefix grows by what the call selects (`google.gmail({ version: "v1" })`).
            vendor.chain = if client.prefix.is_empty() { segment } else { format!("{}.{segment}", client.prefix) };
        }
        let verb = if construct { "constructed by new" } else { "made by calling" };
        Value::vendor(vendor.step(file, line, symbol, format!("{verb} {}", self.catalog.shape(from.shape).name)))
    }

    /// A value that is a client because it is declared so.
    pub(super) fn declared(&mut self, value: Value, file: FileId, symbol: Option<u32>, line: u32, step: &str) -> Value {
        match value {
            Value::Many(values) => {
                let mut all = Value::Unknown;
                for value in values.iter() {
                    let declared = self.declared(value.clone(), file, symbol, line, step);
                    all = all.or(declared);
                }
                all
            }
            Value::Vendor(vendor) if vendor.client.is_none() && self.catalog.shape(vendor.shape).client.is_some() => {
                let mut vendor = (*vendor).clone();
                let record = self.declaration(&vendor, file, symbol);
                let site = Site::Declared(
                    file,
                    symbol,
                    self.catalog.package_of(self.catalog.shape(vendor.shape).package).vendor,
                    vendor.specifier.to_string(),
                );
                vendor.client = Some(self.clients.at(site, || record));
                if line == 0 {
                    Value::vendor(vendor)
                } else {
                    Value::vendor(vendor.step(file, line, symbol, step.to_owned()))
                }
            }
            other => other,
        }
    }
}

/// The same value one step further, where it is a vendor's.
pub(super) fn stepped(value: Value, file: FileId, line: u32, symbol: Option<u32>, step: &str) -> Value {
    match value {
        Value::Vendor(vendor) => Value::vendor(vendor.step(file, line, symbol, step.to_owned())),
        Value::Many(values) => {
            Value::Many(Rc::new(values.iter().map(|value| stepped(value.clone(), file, line, symbol, step)).collect()))
        }
        other => other,
    }
}
