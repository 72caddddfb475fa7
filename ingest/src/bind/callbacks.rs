//! What a function is given by what it is passed to: a vendor's framework, a function of the repository, or whatever
//! the type of its place says.

use std::collections::HashMap;
use std::rc::Rc;

use super::eval::{Evaluator, Question, stepped};
use super::value::{FileId, Value, Vendor};
use crate::parse::{Argument, Expr, ExprId, FunctionId, Origin, ParsedFile, Step, Type, TypeId};

/// Calls that pass one function on, and calls of one parameter, that are looked at.
const MOST_CALLS: usize = 16;

/// The functions that a file passes on, and the parameters that it calls.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// By function: the call and the position of the argument.
    pub(super) passed: HashMap<FunctionId, Vec<(ExprId, usize)>>,
    /// Calls of what a function's parameter is.
    pub(super) called: HashMap<(FunctionId, u32), Vec<ExprId>>,
}

impl Given {
    pub(super) fn of(parsed: &ParsedFile) -> Self {
        let mut given = Self::default();
        for call in &parsed.calls {
            let Expr::Call { callee, arguments, .. } = parsed.expr(call.expr) else { continue };
            for (at, argument) in arguments.iter().enumerate() {
                if let Some(function) = function_of(parsed, *argument) {
                    given.passed.entry(function).or_default().push((call.expr, at));
                }
            }
            if let Expr::Binding(binding) = parsed.expr(*callee)
                && let Some(Origin::Parameter(function, at, steps)) =
                    parsed.bindings.get(*binding as usize).map(|it| &it.origin)
                && steps.is_empty()
            {
                given.called.entry((*function, *at)).or_default().push(call.expr);
            }
        }
        given
    }
}

/// The function that an argument is, by itself or by its name.
fn function_of(parsed: &ParsedFile, argument: Argument) -> Option<FunctionId> {
    if argument.spread {
        return None;
    }
    match parsed.expr(argument.value) {
        Expr::Function(function) => Some(*function),
        Expr::Binding(binding) => match &parsed.bindings.get(*binding as usize)?.origin {
            Origin::Function(function) => Some(*function),
            Origin::Value(value, steps) if steps.is_empty() => match parsed.expr(*value) {
                Expr::Function(function) => Some(*function),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

impl Evaluator<'_, '_> {
    /// What a parameter of a function is given where that is passed on.
    pub(super) fn given_to_callback(
        &mut self,
        file: FileId,
        function: FunctionId,
        at: u32,
        steps: &[Step],
        line: u32,
    ) -> Value {
        let parsed = self.world.file(file).parsed;
        let Some(it) = parsed.functions.get(function as usize) else { return Value::Unknown };
        if let Some(ty) = it.declared {
            let value = self.ask(Question::Type(file, ty));
            let value = self.expected(&value, file, at, steps, it.scope, line);
            if value.is_known() {
                return value;
            }
        }
        let given = self.given_in(file);
        let here = given.passed.get(&function).into_iter().flatten();
        let here = here.map(|(call, position)| (file, *call, *position));
        let world = self.world;
        // Tests give what they like.
        let passers =
            self.passers_of(file, function).iter().filter(|(there, _)| world.is_test(file) || !world.is_test(*there));
        let passers = passers.map(|(there, (call, position))| (*there, *call, *position as usize));
        let mut all = Value::Unknown;
        for (from, call, position) in here.chain(passers).take(MOST_CALLS) {
            let parsed = self.world.file(from).parsed;
            let Expr::Call { callee, construct, .. } = parsed.expr(call) else { continue };
            // `getStripe().then((stripe) => …)`
            if let Expr::Member(promise, name) = *parsed.expr(*callee)
                && (at, position) == (0, 0)
                && parsed.name(name) == "then"
            {
                let promised = self.expr(from, promise);
                // `import("./module").then((module) => …)`
                let holds = |value: &Value| {
                    matches!(value, Value::Module(_) | Value::Instance(..) | Value::Object(..) | Value::Typed(..))
                };
                if promised.alternatives().iter().all(holds) || promised.vendors().any(|vendor| vendor.chain.is_empty())
                {
                    return self.walk(promised, file, steps);
                }
            }
            let receiver = self.expr(from, *callee);
            for target in receiver.alternatives() {
                let value = match target {
                    // A handler of a vendor's framework is given clients.
                    Value::Vendor(_) => self.expected(target, file, at, steps, it.scope, line),
                    Value::Builder(given) if at == 0 => {
                        let value = self.walk((**given).clone(), file, steps);
                        self.declared(value, file, it.scope, line, "given to a handler of a framework")
                    }
                    Value::Method(method) if (at, position) == (0, 0) => {
                        let value = self.walk(method.takes.clone(), file, steps);
                        self.declared(value, file, it.scope, line, "an element of the client's type")
                    }
                    Value::Function(there, callee) => {
                        self.passed_to(*there, *callee, position, (file, at, steps, it.scope, line))
                    }
                    Value::Class(there, class) if *construct => {
                        match self.world.file(*there).parsed.classes[*class as usize].constructor {
                            Some(callee) => self.passed_to(*there, callee, position, (file, at, steps, it.scope, line)),
                            None => Value::Unknown,
                        }
                    }
                    Value::Signature(there, ty) => match self.parameter_type(*there, *ty, position) {
                        Some(ty) => {
                            let ty = self.ask(Question::Type(*there, ty));
                            self.expected(&ty, file, at, steps, it.scope, line)
                        }
                        None => Value::Unknown,
                    },
                    _ => Value::Unknown,
                };
                all = all.or(value);
            }
        }
        all
    }

    /// Whether a callee is a function of the repository that calls its n-th argument.
    pub(super) fn calls_its_argument(&mut self, file: FileId, callee: ExprId, at: usize) -> bool {
        let Value::Function(there, function) = self.expr(file, callee) else { return false };
        u32::try_from(at).is_ok_and(|at| self.given_in(there).called.contains_key(&(function, at)))
    }

    /// What a value that takes functions gives a parameter of one.
    fn expected(
        &mut self,
        taker: &Value,
        file: FileId,
        at: u32,
        steps: &[Step],
        symbol: Option<u32>,
        line: u32,
    ) -> Value {
        for alternative in taker.alternatives() {
            let (value, step) = match alternative {
                Value::Vendor(vendor) if vendor.chain.is_empty() => {
                    let Some((index, shape)) = self.catalog.shape(vendor.shape).callback else { continue };
                    if index != at as usize {
                        continue;
                    }
                    let given = Vendor { shape, chain: String::new(), made: None, ..(**vendor).clone() };
                    (Value::vendor(given), "given to a handler of the vendor's framework")
                }
                Value::Signature(there, ty) => {
                    let Some(ty) = self.parameter_type(*there, *ty, at as usize) else { continue };
                    (self.ask(Question::Type(*there, ty)), "given to a function of this type")
                }
                _ => continue,
            };
            let value = self.walk(value, file, steps);
            let value = self.declared(value, file, symbol, line, step);
            if value.is_known() {
                return value;
            }
        }
        Value::Unknown
    }

    /// What a function of the repository gives to the function that is its n-th argument.
    fn passed_to(
        &mut self,
        there: FileId,
        callee: FunctionId,
        position: usize,
        to: (FileId, u32, &[Step], Option<u32>, u32),
    ) -> Value {
        let (file, at, steps, symbol, line) = to;
        let parsed = self.world.file(there).parsed;
        let declared = parsed.functions[callee as usize].parameters.get(position).and_then(|parameter| parameter.ty);
        if let Some(ty) = declared {
            let ty = self.ask(Question::Type(there, ty));
            let value = self.expected(&ty, file, at, steps, symbol, line);
            if value.is_known() {
                return value;
            }
        }
        let given = self.given_in(there);
        let Ok(position) = u32::try_from(position) else { return Value::Unknown };
        let Some(calls) = given.called.get(&(callee, position)) else { return Value::Unknown };
        let mut all = Value::Unknown;
        for call in calls.iter().take(MOST_CALLS) {
            let Expr::Call { arguments, .. } = parsed.expr(*call) else { continue };
            if arguments.iter().take(at as usize + 1).any(|argument| argument.spread) {
                return Value::Unknown;
            }
            let Some(argument) = arguments.get(at as usize) else { continue };
            let value = self.expr(there, argument.value);
            match self.walk(value, file, steps) {
                Value::Unknown => return Value::Unknown,
                value => all = all.or(value),
            }
        }
        stepped(all, file, line, symbol, "given to a callback")
    }

    fn parameter_type(&self, file: FileId, ty: TypeId, at: usize) -> Option<TypeId> {
        match self.world.file(file).parsed.types.get(ty as usize)? {
            Type::Function(parameters, _) => parameters.get(at).copied(),
            _ => None,
        }
    }

    fn given_in(&mut self, file: FileId) -> Rc<Given> {
        let parsed = self.world.file(file).parsed;
        Rc::clone(self.given.entry(file).or_insert_with(|| Rc::new(Given::of(parsed))))
    }
}
