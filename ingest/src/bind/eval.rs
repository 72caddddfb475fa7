//! Where a value comes from: expressions, bindings, members and calls, evaluated across files.

use std::collections::HashSet;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::bounds::Spent;
use super::callbacks::Given;
use super::callers::Surveyed;
use super::changes::{Changes, is_global_object};
use super::clients::Clients;
use super::handed::Handed;
use super::passes::Place;
use super::proxies;
use super::replaced::Changed;
use super::value::{Collection, FileId, Value};
use super::world::World;
use crate::analyze::Project;
use crate::catalog::Catalog;
use crate::parse::{
    Argument, BindingId, ClassId, ExportValue, Expr, ExprId, FunctionId, Name, Origin, ParsedFile, Step, SymbolIndex,
};
use crate::pins::Pins;

/// Values in values, followed this far. Frames are small; this bounds the stack as well.
pub(super) const DEEPEST: usize = 96;

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
pub(super) struct Frame {
    pub(super) file: FileId,
    pub(super) function: FunctionId,
    pub(super) caller: FileId,
    pub(super) arguments: Vec<Argument>,
    /// The class of what it is called on.
    pub(super) this: Option<(FileId, ClassId)>,
    /// The call in which that one stands, while that is looked into as well.
    pub(super) outer: Option<Rc<Frame>>,
}

/// Evaluates; remembers every answer that no cycle cut short.
///
/// What it remembers it forgets at each file ([`Evaluator::begin_file`]): where a cycle is cut and where a bound is met
/// depends on what was asked before, and what is found of a file is to depend on that file and those that it reads
/// alone, so that it can be kept for the next index.
pub(super) struct Evaluator<'p, 'w> {
    pub(super) world: &'w World<'p>,
    pub(super) catalog: &'p Catalog,
    project: &'p Project<'p>,
    pub(super) clients: Clients,
    pub(super) known: FxHashMap<Question, Value>,
    pub(super) open: FxHashMap<Question, usize>,
    /// The outermost open question that an answer in the making depends on.
    pub(super) lowest: usize,
    pub(super) spent: Spent,
    /// Properties being looked up: an object may be spread into itself.
    pub(super) properties: HashSet<(FileId, ExprId, String)>,
    /// Names of which the text is being put together: it may be made of itself.
    pub(super) reading: HashSet<(FileId, BindingId)>,
    /// Members of members being looked up.
    pub(super) nested: usize,
    /// What the survey of all files found; nothing while that is made.
    pub(super) surveyed: Option<&'w Surveyed>,
    /// A call whose arguments stand for the parameters of the function it calls, while that is looked into.
    pub(super) frame: Option<Rc<Frame>>,
    /// The calls that functions are passed to, by file.
    pub(super) given: FxHashMap<FileId, Rc<Given>>,
    /// What is assigned to members, by file.
    pub(super) changes: FxHashMap<FileId, Rc<Changes>>,
    /// The call of a member of a call's result, by file.
    pub(super) continued: FxHashMap<FileId, FxHashMap<ExprId, ExprId>>,
    /// The `super(…)` of classes, by file.
    pub(super) supers: FxHashMap<FileId, FxHashMap<ClassId, ExprId>>,
    /// What a file hands on of results, by file.
    pub(super) handed: FxHashMap<FileId, Rc<Handed>>,
    /// Arguments of a file that functions change, and what those assign to which member.
    pub(super) changed: FxHashMap<FileId, Rc<Vec<Changed>>>,
}

impl<'p, 'w> Evaluator<'p, 'w> {
    pub(super) fn new(world: &'w World<'p>, project: &'p Project<'p>, surveyed: Option<&'w Surveyed>) -> Self {
        Self {
            world,
            catalog: project.catalog,
            project,
            clients: Clients::default(),
            known: FxHashMap::default(),
            open: FxHashMap::default(),
            lowest: usize::MAX,
            spent: Spent::default(),
            properties: HashSet::new(),
            reading: HashSet::new(),
            nested: 0,
            surveyed,
            frame: None,
            given: FxHashMap::default(),
            changes: FxHashMap::default(),
            continued: FxHashMap::default(),
            supers: FxHashMap::default(),
            handed: FxHashMap::default(),
            changed: FxHashMap::default(),
        }
    }

    /// What manifests and lockfiles pin.
    pub(super) fn pins(&self) -> &'p Pins {
        self.project.pins()
    }

    /// A new file, for which so much may be looked at.
    pub(super) fn begin_file(&mut self, left: usize) {
        self.world.begin_reads();
        self.known.clear();
        self.changed.clear();
        self.clients = Clients::default();
        self.spent.begin_file(left);
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
            self.begin_question();
        }
        if !self.may_step() {
            return Value::Unknown;
        }
        if depth > DEEPEST {
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

    pub(super) fn eval(&mut self, file: FileId, expr: ExprId) -> Value {
        let world = self.world;
        let parsed = world.file(file).parsed;
        match parsed.expr(expr) {
            Expr::Unknown | Expr::Literal(_) | Expr::Text(..) | Expr::Template(_) | Expr::This(None) => Value::Unknown,
            Expr::Index(object) => {
                let object = self.expr(file, *object);
                let item = self.any_of(&object);
                self.declared(item, file, None, 0, "an element of the client's type")
            }
            Expr::Null => Value::Null,
            Expr::Binding(binding) => match last_certain(parsed, *binding, expr) {
                Some(at) => self.written_since(file, *binding, at),
                None => self.binding(file, *binding),
            },
            // What a file exports in the way of CommonJS it may use itself.
            Expr::Global(name) if parsed.name(*name) == "exports" && exports_by_assigning(parsed) => {
                Value::Module(file)
            }
            Expr::Global(name) => {
                let assigned = self.assigned_global(file, *name);
                if assigned.is_known() { assigned } else { Value::Global(parsed.name(*name).into()) }
            }
            Expr::Member(object, name)
                if parsed.name(*name) == "exports"
                    && matches!(parsed.expr(*object), Expr::Global(name) if parsed.name(*name) == "module")
                    && exports_by_assigning(parsed) =>
            {
                self.export(file, "=", 0).unwrap_or(Value::Module(file))
            }
            Expr::Own(object) => Value::Object(file, *object),
            Expr::This(Some(class)) => {
                let (file, class) = self.this_in(file, *class);
                Value::Instance(file, class)
            }
            Expr::Super(class) => {
                let class = *class;
                let extends = class.and_then(|class| parsed.classes.get(class as usize)).and_then(|it| it.extends);
                match class.zip(extends) {
                    Some((class, extends)) => {
                        let base = self.expr(file, extends);
                        self.made_by_subclass(&base, file, class, expr)
                    }
                    None => Value::Unknown,
                }
            }
            Expr::Member(object, name) => {
                let value = self.expr(file, *object);
                let member = self.member(&value, parsed.name(*name));
                if let Value::Global(global) = &value
                    && is_global_object(global)
                    && !member.is_known()
                {
                    return self.assigned_global(file, *name);
                }
                let is_typed = value.alternatives().iter().any(|it| matches!(it, Value::Typed(..)));
                if member.is_known() && is_typed {
                    let (symbol, line) = self.place_of(file, *object);
                    let declared = self.declared(member, file, symbol, line, "a member of the client's type");
                    return self.as_given(declared, file, *object, &[Step::Member(*name)]);
                }
                if !value.is_known() {
                    return self.member_assigned(file, expr);
                }
                if member.is_known() || !is_typed {
                    return member;
                }
                // Its type says nothing of the member (`any`, `Function`); what it is given may.
                self.behind_type(file, *object, vec![Step::Member(*name)], 0)
            }
            Expr::Call { callee, construct, arguments, .. } => {
                if *construct {
                    if let Some((target, handler)) = proxies::proxied(parsed, *callee, arguments) {
                        return self.proxy(file, target, handler);
                    }
                    let class = self.expr(file, *callee);
                    if let Value::Global(_) = class {
                        return self.collection_made(file, expr);
                    }
                    return self.instance(&class, file, expr);
                }
                if let Expr::Member(object, name) = parsed.expr(*callee)
                    && parsed.name(*name) == "bind"
                {
                    return self.expr(file, *object);
                }
                let called = self.expr(file, *callee);
                let value = self.called(&called, file, expr);
                if !value.is_known() && matches!(called, Value::Unknown | Value::Method(_)) {
                    return self.mapped(file, *callee, arguments);
                }
                value
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
                // `vi.fn() as typeof fetch` is what it is made as.
                if matches!(ty, Value::Global(_)) {
                    return value;
                }
                self.declared(ty, file, None, 0, "cast to the client's type")
            }
        }
    }

    pub(super) fn eval_binding(&mut self, file: FileId, binding: BindingId) -> Value {
        let world = self.world;
        let parsed = world.file(file).parsed;
        let Some(it) = parsed.bindings.get(binding as usize) else { return Value::Unknown };
        let mut value = match &it.origin {
            Origin::Unknown | Origin::Type(_) => Value::Unknown,
            Origin::Import { specifier, name } => {
                let value = self.import(file, *specifier, parsed.name(*name));
                let step = format!("{} imported from {}", parsed.name(it.name), parsed.name(*specifier));
                let value = stepped(value, file, it.line, None, &step);
                // Only what one of several modules may give is written to.
                if it.writes.is_empty() {
                    return value;
                }
                value
            }
            Origin::Value(expr, steps) => {
                let value = self.expr(file, *expr);
                let value = self.walk(value, file, steps);
                if steps.is_empty() {
                    value
                } else {
                    let (symbol, line) = self.place_of(file, *expr);
                    let value = self.declared(value, file, symbol, line, "a member of the client's type");
                    let value = self.as_given(value, file, *expr, steps);
                    let step = format!("destructured as {}", parsed.name(it.name));
                    stepped(value, file, it.line, it.symbol, &step)
                }
            }
            Origin::Parameter(function, at, steps) => {
                let value = self.parameter(file, *function, *at, steps, it.line);
                // What the one call that is looked into leaves out is nothing, whatever its type says.
                if matches!(value, Value::Null) && it.writes.is_empty() && self.frame_of(file, *function).is_some() {
                    return value;
                }
                value
            }
            Origin::Function(function) => Value::Function(file, *function),
            Origin::Class(class) => Value::Class(file, *class),
        };
        for write in it.writes.iter().map(|write| write.value) {
            let written = self.expr(file, write);
            value = value.or(written);
        }
        let value = self.unless_empty(value, file, it.ty);
        if value.is_known() { value } else { self.declared_name_of(file, binding) }
    }

    /// What a name holds that was certainly assigned, since then: what it was before is gone.
    fn written_since(&mut self, file: FileId, binding: BindingId, at: usize) -> Value {
        let parsed = self.world.file(file).parsed;
        let Some(it) = parsed.bindings.get(binding as usize) else { return Value::Unknown };
        let mut value = Value::Unknown;
        for write in it.writes.iter().skip(at).map(|write| write.value) {
            let written = self.expr(file, write);
            value = value.or(written);
        }
        if value.is_known() { value } else { self.declared_name_of(file, binding) }
    }

    /// What a name is by its declared type alone.
    fn declared_name_of(&mut self, file: FileId, binding: BindingId) -> Value {
        let parsed = self.world.file(file).parsed;
        let Some(it) = parsed.bindings.get(binding as usize) else { return Value::Unknown };
        let Some(ty) = it.ty else { return Value::Unknown };
        let ty = self.ask(Question::Type(file, ty));
        if matches!(ty, Value::Global(_)) && matches!(it.origin, Origin::Value(..)) {
            return Value::Unknown;
        }
        let step = format!("{} declared with the client's type", parsed.name(it.name));
        self.declared(ty, file, it.symbol, it.line, &step)
    }

    /// The symbol, and the line, of the name that a chain of members starts from.
    fn place_of(&self, file: FileId, expr: ExprId) -> (Option<SymbolIndex>, u32) {
        let parsed = self.world.file(file).parsed;
        let mut at = expr;
        for _ in 0..DEEPEST {
            match parsed.expr(at) {
                Expr::Member(object, _) | Expr::Index(object) => at = *object,
                Expr::Cast(value, _) | Expr::Await(value) | Expr::Guarded(value) => at = *value,
                Expr::Call { callee, .. } => at = *callee,
                Expr::This(Some(class)) => {
                    return parsed.classes.get(*class as usize).map_or((None, 0), |class| (class.symbol, class.line));
                }
                Expr::Binding(binding) => {
                    let Some(it) = parsed.bindings.get(*binding as usize) else { return (None, 0) };
                    let symbol = match it.origin {
                        Origin::Parameter(function, ..) => {
                            parsed.functions.get(function as usize).and_then(|function| function.scope)
                        }
                        _ => it.symbol,
                    };
                    return (symbol, it.line);
                }
                _ => break,
            }
        }
        (None, 0)
    }

    /// Goes into a value as a destructuring pattern does.
    pub(super) fn walk(&mut self, value: Value, file: FileId, steps: &[Step]) -> Value {
        let parsed = self.world.file(file).parsed;
        let mut value = value;
        for step in steps {
            value = match step {
                Step::Member(name) => self.member(&value, parsed.name(*name)),
                Step::Element(at) => self.element(&value, *at),
                Step::Rest => value,
                Step::Item => {
                    let item = self.any_of(&value);
                    self.declared(item, file, None, 0, "an element of the client's type")
                }
            };
        }
        value
    }

    pub(super) fn element(&mut self, value: &Value, at: u32) -> Value {
        if let Value::Held(Place::Element(known), held) = value {
            return if *known == at { (**held).clone() } else { Value::Unknown };
        }
        if let Value::Each(Collection::List, item) = value {
            return (**item).clone();
        }
        if let Value::Typed(file, ty) = value
            && self.collection_of_type(*file, *ty) == Some(Collection::List)
        {
            return self.item_of_type(*file, *ty);
        }
        let Value::List(file, expr) = value else { return Value::Unknown };
        match self.world.file(*file).parsed.expr(*expr) {
            Expr::Array(items) if items.iter().all(|item| !item.spread) => {
                items.get(at as usize).map_or(Value::Unknown, |item| self.expr(*file, item.value))
            }
            _ => Value::Unknown,
        }
    }
}

/// The last assignment to a name that certainly happens before an expression uses it.
fn last_certain(parsed: &ParsedFile, binding: BindingId, used: ExprId) -> Option<usize> {
    let writes = &parsed.bindings.get(binding as usize)?.writes;
    writes.iter().rposition(|write| write.certain && !write.appends && !write.fallback && write.value < used)
}

/// Whether a file is a module of CommonJS: `exports` and `module` are no variables of a script in a page.
pub(super) fn exports_by_assigning(parsed: &ParsedFile) -> bool {
    parsed.exports.iter().any(|export| matches!(export.value, ExportValue::Expr(_) | ExportValue::Binding(_)))
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
