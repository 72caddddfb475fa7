//! What a parameter is: by its type, its default, the framework that calls it, or its callers.

use std::borrow::Cow;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::eval::{Evaluator, Frame, Question, stepped};
use super::value::{FileId, Value};
use crate::parse::{
    Argument, ClassId, Expr, ExprId, FunctionId, MemberKind, Origin, ParsedFile, Property, Step, Type, TypeId,
};

/// Callers of one function that are looked at.
const MOST_CALLERS: usize = 64;

/// Expressions in expressions, looked at this far.
const DEEPEST: u32 = 8;

/// Functions that pass the rest of what they are given on to each other, followed this far.
const MOST_FORWARDS: u32 = 4;

/// The function whose rest parameter an expression is, and how many parameters stand before that.
fn rest_of(parsed: &ParsedFile, expr: ExprId) -> Option<(FunctionId, u32)> {
    let Expr::Binding(binding) = parsed.expr(expr) else { return None };
    let it = parsed.bindings.get(*binding as usize).filter(|it| it.writes.is_empty())?;
    let Origin::Parameter(function, at, steps) = &it.origin else { return None };
    let is_rest = matches!(steps.as_slice(), [Step::Rest])
        && parsed.functions.get(*function as usize).is_some_and(|it| it.parameters.len() <= *at as usize);
    is_rest.then_some((*function, *at))
}

/// An argument, and the calls in which it stands.
#[derive(Debug, Clone)]
pub(super) struct Passed {
    pub(super) file: FileId,
    pub(super) expr: ExprId,
    within: Option<Rc<Frame>>,
}

impl Evaluator<'_, '_> {
    pub(super) fn parameter(
        &mut self,
        file: FileId,
        function: FunctionId,
        at: u32,
        steps: &[Step],
        line: u32,
    ) -> Value {
        let parsed = self.world.file(file).parsed;
        let Some(it) = parsed.functions.get(function as usize) else { return Value::Unknown };
        let symbol = it.scope;
        if it.parameters.len() <= at as usize {
            // A list of what else is given, of which only what it is spread into is followed.
            return Value::Unknown;
        }
        if let Some(given) = self.argument(file, function, at) {
            let value = self.outside(&given, |this| this.expr(given.file, given.expr));
            return self.walk(value, file, steps);
        }
        if self.frame_of(file, function).is_some() {
            // Not given by this call: the default, or nothing.
            let default = it.parameters.get(at as usize).and_then(|parameter| parameter.default);
            let value = default.map_or(Value::Null, |default| self.expr(file, default));
            return self.walk(value, file, steps);
        }
        let mut declared = Value::Unknown;
        if let Some(parameter) = it.parameters.get(at as usize) {
            if let Some(ty) = parameter.ty {
                let ty = self.ask(Question::Type(file, ty));
                let value = self.walk(ty, file, steps);
                let value = self.declared(value, file, symbol, line, "parameter declared with the client's type");
                // A function's type says nothing that the functions themselves do not say better, nor does that of a
                // library's client where it was made.
                match value {
                    Value::Signature(..) | Value::Http(_) => declared = value,
                    // A shape that a client of a vendor also has: whether it is one the callers say.
                    Value::Typed(there, ty) if steps.is_empty() && self.is_shape_of_client(there, ty) => {
                        let given = self.given_by_callers(file, function, at, steps, line);
                        let is_client = |value: &Value| matches!(value, Value::Vendor(_));
                        return if given.alternatives().iter().all(is_client) { given } else { value };
                    }
                    value if value.is_known() => {
                        return self.unless_given_elsewhere(value, (file, function), at, (steps, line));
                    }
                    _ => {}
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
        let given = self.given_to_callback(file, function, at, steps, line);
        if given.is_known() {
            return given;
        }
        let given = self.given_by_callers(file, function, at, steps, line);
        if given.is_known() {
            return given;
        }
        // What stands in another function, or is only called here, nobody finds by an export.
        if it.outer.is_some() || it.closed {
            return declared;
        }
        let given = self.given_to_entry(file, function, at, steps, line);
        if given.is_known() {
            return given;
        }
        let routed = self.given_by_router(file, function, at);
        if routed.is_known() { self.walk(routed, file, steps) } else { declared }
    }

    /// Whether a type of the repository says only what can be called on a value, as one that stands for a client does.
    fn is_shape_of_client(&self, file: FileId, ty: TypeId) -> bool {
        let parsed = self.world.file(file).parsed;
        let Some(Type::Object(members, extends)) = parsed.types.get(ty as usize) else { return false };
        let is_called = |(_, ty): &(_, TypeId)| {
            matches!(parsed.types.get(*ty as usize), None | Some(Type::Function(..) | Type::Unknown))
        };
        let calls = |(_, ty): &(_, TypeId)| matches!(parsed.types.get(*ty as usize), Some(Type::Function(..)));
        extends.is_empty() && members.iter().all(is_called) && members.iter().any(calls)
    }

    /// The argument that stands for a parameter while one call of its function is looked into.
    pub(super) fn argument(&self, file: FileId, function: FunctionId, at: u32) -> Option<Passed> {
        let frame = self.frame_of(file, function)?;
        let before = frame.arguments.get(..=at as usize)?;
        if before.iter().any(|argument| argument.spread) {
            return None;
        }
        before.last().map(|argument| Passed { file: frame.caller, expr: argument.value, within: frame.outer.clone() })
    }

    /// The default of a parameter that the one call which is looked into leaves out.
    pub(super) fn defaulted(&self, file: FileId, function: FunctionId, at: u32) -> Option<ExprId> {
        let frame = self.frame_of(file, function)?;
        if frame.arguments.len() > at as usize || frame.arguments.iter().any(|argument| argument.spread) {
            return None;
        }
        self.world.file(file).parsed.functions.get(function as usize)?.parameters.get(at as usize)?.default
    }

    /// Whether an expression is a parameter that the one call which is looked into leaves out, or a member of that.
    pub(super) fn is_left_out(&self, file: FileId, expr: ExprId) -> bool {
        self.frame.is_some() && self.is_left_out_within(file, expr, 0)
    }

    fn is_left_out_within(&self, file: FileId, expr: ExprId, depth: u32) -> bool {
        if depth > DEEPEST {
            return false;
        }
        let parsed = self.world.file(file).parsed;
        let inner = |expr: ExprId| self.is_left_out_within(file, expr, depth + 1);
        match parsed.expr(expr) {
            Expr::Null => true,
            Expr::Member(value, _) | Expr::Cast(value, _) | Expr::Guarded(value) => inner(*value),
            Expr::Either(left, right) => inner(*left) && inner(*right),
            Expr::Binding(binding) => {
                let Some(it) = parsed.bindings.get(*binding as usize).filter(|it| it.writes.is_empty()) else {
                    return false;
                };
                match &it.origin {
                    Origin::Value(value, _) => inner(*value),
                    Origin::Parameter(function, at, _) => self.leaves_out(file, *function, *at),
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// Whether the one call which is looked into gives nothing for a parameter that has no default.
    pub(super) fn leaves_out(&self, file: FileId, function: FunctionId, at: u32) -> bool {
        let Some(frame) = self.frame_of(file, function) else { return false };
        let there = self.world.file(frame.caller).parsed;
        let is_given = match frame.arguments.get(at as usize) {
            Some(argument) => !matches!(there.expr(argument.value), Expr::Null),
            None => false,
        };
        let it = self.world.file(file).parsed.functions.get(function as usize);
        let default = it.and_then(|it| it.parameters.get(at as usize)).and_then(|parameter| parameter.default);
        !is_given && default.is_none() && frame.arguments.iter().all(|argument| !argument.spread)
    }

    /// Arguments in the order of a function's parameters, those that are given by name too; `None` where some are hidden.
    /// What is not given in between is no expression of the caller, and so is not known.
    pub(super) fn in_order<'a>(
        &self,
        caller: FileId,
        arguments: &'a [Argument],
        keywords: Option<ExprId>,
        (file, function): (FileId, FunctionId),
    ) -> Option<Cow<'a, [Argument]>> {
        let Some(keywords) = keywords else { return Some(Cow::Borrowed(arguments)) };
        let given = self.world.file(caller).parsed;
        let there = self.world.file(file).parsed;
        let Expr::Object(properties) = given.expr(keywords) else { return None };
        let mut all = arguments.to_vec();
        for property in properties {
            let Property::Named(name, value) = property else { return None };
            let name = given.name(*name);
            let parameters = &there.functions.get(function as usize)?.parameters;
            let at = parameters.iter().position(|it| it.name.is_some_and(|known| there.name(known) == name));
            // What no parameter takes goes to those that take everything.
            let Some(at) = at else { continue };
            while all.len() <= at {
                all.push(Argument { value: ExprId::MAX, spread: false });
            }
            all[at].value = *value;
        }
        Some(Cow::Owned(all))
    }

    /// The call of a function that is looked into.
    pub(super) fn frame_of(&self, file: FileId, function: FunctionId) -> Option<&Rc<Frame>> {
        let mut at = self.frame.as_ref();
        while let Some(frame) = at {
            if (frame.file, frame.function) == (file, function) {
                return Some(frame);
            }
            at = frame.outer.as_ref();
        }
        None
    }

    /// Evaluates an argument where it stands, outside of the function that is looked into.
    pub(super) fn outside<T>(&mut self, given: &Passed, ask: impl FnOnce(&mut Self) -> T) -> T {
        let frame = std::mem::replace(&mut self.frame, given.within.clone());
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
        self.inside_of(None, (file, function), caller, arguments, ask)
    }

    /// The same of a method that is called on an instance of a class.
    pub(super) fn inside_of<T>(
        &mut self,
        this: Option<(FileId, ClassId)>,
        (file, function): (FileId, FunctionId),
        caller: FileId,
        arguments: &[Argument],
        ask: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let outer = self.frame.take();
        let frame = Frame { file, function, caller, arguments: arguments.to_vec(), this, outer: outer.clone() };
        self.frame = Some(Rc::new(frame));
        let known = std::mem::take(&mut self.known);
        let answer = ask(self);
        self.known = known;
        self.frame = outer;
        answer
    }

    /// What is reached in a value by names, where its type says nothing of it: in what it was made or given as.
    pub(super) fn behind_type(&mut self, file: FileId, expr: ExprId, mut steps: Vec<Step>, depth: u32) -> Value {
        if depth > DEEPEST {
            return Value::Unknown;
        }
        let parsed = self.world.file(file).parsed;
        match parsed.expr(expr) {
            Expr::Cast(value, _) | Expr::Guarded(value) | Expr::Await(value) => {
                self.behind_type(file, *value, steps, depth + 1)
            }
            Expr::Binding(binding) => {
                let Some(it) = parsed.bindings.get(*binding as usize) else { return Value::Unknown };
                match &it.origin {
                    Origin::Parameter(function, at, path) if self.frame_of(file, *function).is_none() => {
                        steps.splice(0..0, path.iter().copied());
                        self.given_by_callers(file, *function, *at, &steps, it.line)
                    }
                    Origin::Value(value, path) => {
                        steps.splice(0..0, path.iter().copied());
                        self.behind_type(file, *value, steps, depth + 1)
                    }
                    _ => Value::Unknown,
                }
            }
            Expr::Member(object, name) => {
                let Expr::This(Some(class)) = parsed.expr(*object) else {
                    steps.insert(0, Step::Member(*name));
                    return self.behind_type(file, *object, steps, depth + 1);
                };
                let Some(class) = parsed.classes.get(*class as usize) else { return Value::Unknown };
                let fields = class.members.iter().filter(|member| !member.is_static && member.name == *name);
                let initial = fields.filter_map(|member| match member.kind {
                    MemberKind::Field(_, value) => value,
                    MemberKind::Method(_) | MemberKind::Getter(_) => None,
                });
                let assigned = class.assigned.iter().filter(|(field, _)| field == name).map(|(_, value)| *value);
                let mut all = Value::Unknown;
                for value in initial.chain(assigned) {
                    let value = self.behind_type(file, value, steps.clone(), depth + 1);
                    all = all.or(value);
                }
                all
            }
            Expr::Object(_) | Expr::Call { .. } => {
                let value = self.expr(file, expr);
                self.walk(value, file, &steps)
            }
            _ => Value::Unknown,
        }
    }

    /// What the callers of a function give for a parameter: a vendor's value where all of them give one (tests aside),
    /// else the one thing that they all give.
    pub(super) fn given_by_callers(
        &mut self,
        file: FileId,
        function: FunctionId,
        at: u32,
        steps: &[Step],
        line: u32,
    ) -> Value {
        self.given_within(file, function, at, (steps, line), 0)
    }

    fn given_within(
        &mut self,
        file: FileId,
        function: FunctionId,
        at: u32,
        (steps, line): (&[Step], u32),
        depth: u32,
    ) -> Value {
        if depth > MOST_FORWARDS || !self.may_step() {
            return Value::Unknown;
        }
        let world = self.world;
        let callers = self.callers_of(file, function);
        let tests_too = world.is_test(file);
        let callers: Vec<_> =
            callers.iter().copied().filter(|(caller, _)| tests_too || !world.is_test(*caller)).collect();
        if callers.len() > MOST_CALLERS {
            return Value::Unknown;
        }
        let mut all = Value::Unknown;
        for (caller, call) in callers {
            let outer = std::mem::replace(&mut self.lowest, usize::MAX);
            let given = self.given_by((caller, call), (file, function), at, line, depth);
            let given = given.map_or(Value::Null, |given| self.walk(given, file, steps));
            // It calls itself, or is called by what it calls.
            let is_ring = self.lowest < usize::MAX;
            self.lowest = self.lowest.min(outer);
            match given {
                Value::Null => {}
                Value::Unknown if is_ring && self.may_leave_out() => {}
                Value::Unknown if self.is_never_given(caller, call, at) => {}
                Value::Unknown => return Value::Unknown,
                given => all = all.or(given),
            }
        }
        // Of objects each may be the one: a member is what they have there. Of a client and something else neither is known.
        let is_object = |value: &Value| matches!(value, Value::Object(..));
        let vendors = all.vendors().count();
        if vendors < all.alternatives().len()
            && all.alternatives().len() > 1
            && !all.alternatives().iter().all(is_object)
        {
            return Value::Unknown;
        }
        let symbol = world.file(file).parsed.functions[function as usize].scope;
        stepped(all, file, line, symbol, "given by every caller")
    }

    /// Whether a call hands on what its own function is given, and nobody calls that.
    fn is_never_given(&self, caller: FileId, call: ExprId, at: u32) -> bool {
        let parsed = self.world.file(caller).parsed;
        let Expr::Call { arguments, .. } = parsed.expr(call) else { return false };
        let Some(mut value) = arguments.get(at as usize).map(|argument| argument.value) else { return false };
        for _ in 0..DEEPEST {
            match parsed.expr(value) {
                Expr::Cast(inner, _) | Expr::Guarded(inner) | Expr::Await(inner) | Expr::Member(inner, _) => {
                    value = *inner;
                }
                Expr::Object(properties) => match properties.iter().find(|it| matches!(it, Property::Spread(_))) {
                    Some(Property::Spread(inner)) => value = *inner,
                    _ => return false,
                },
                Expr::Binding(binding) => {
                    let Some(it) = parsed.bindings.get(*binding as usize) else { return false };
                    match &it.origin {
                        Origin::Value(inner, _) => value = *inner,
                        Origin::Parameter(function, ..) => {
                            return self.callers_of(caller, *function).is_empty()
                                && self.passers_of(caller, *function).is_empty();
                        }
                        _ => return false,
                    }
                }
                _ => return false,
            }
        }
        false
    }

    /// What one call gives a function for a parameter; `None` where it leaves that out.
    pub(super) fn given_by(
        &mut self,
        (caller, call): (FileId, ExprId),
        (file, function): (FileId, FunctionId),
        at: u32,
        line: u32,
        depth: u32,
    ) -> Option<Value> {
        let parsed = self.world.file(caller).parsed;
        let Expr::Call { arguments, call, .. } = parsed.expr(call) else { return Some(Value::Unknown) };
        let keywords = parsed.calls.get(*call as usize).and_then(|call| call.keywords);
        let Some(arguments) = self.in_order(caller, arguments, keywords, (file, function)) else {
            return Some(Value::Unknown);
        };
        let spread = arguments.iter().take(at as usize + 1).position(|argument| argument.spread);
        let Some(spread) = spread else {
            return arguments.get(at as usize).map(|argument| self.expr(caller, argument.value));
        };
        let (Some((around, rest)), Ok(before)) = (rest_of(parsed, arguments[spread].value), u32::try_from(spread))
        else {
            return Some(Value::Unknown);
        };
        Some(self.given_within(caller, around, rest + at - before, (&[], line), depth + 1))
    }

    /// The call of a member of a call's result: `.send(…)` on `post(…)`.
    pub(super) fn call_on(&mut self, file: FileId, result: ExprId) -> Option<ExprId> {
        let parsed = self.world.file(file).parsed;
        self.continued.entry(file).or_insert_with(|| continued(parsed)).get(&result).copied()
    }
}

/// The calls of members of the results of calls, by those.
pub(super) fn continued(parsed: &ParsedFile) -> FxHashMap<ExprId, ExprId> {
    let mut continued = FxHashMap::default();
    for call in &parsed.calls {
        if let Expr::Call { callee, .. } = parsed.expr(call.expr)
            && let Expr::Member(object, _) = parsed.expr(*callee)
        {
            continued.insert(*object, call.expr);
        }
    }
    continued
}
