//! What stands before a value: `new Proxy(target, handler)`.

use super::eval::{Evaluator, Question};
use super::value::{FileId, Value};
use crate::parse::{Argument, Expr, ExprId, FunctionId, Origin, ParsedFile};

/// Expressions in expressions, looked at this far.
const DEEPEST: u32 = 8;

/// The arguments of `new Proxy(target, handler)`.
pub(super) fn proxied(parsed: &ParsedFile, callee: ExprId, arguments: &[Argument]) -> Option<(ExprId, Option<ExprId>)> {
    let is_proxy = matches!(parsed.expr(callee), Expr::Global(name) if parsed.name(*name) == "Proxy");
    let target = arguments.first().filter(|first| is_proxy && !first.spread)?;
    Some((target.value, arguments.get(1).map(|handler| handler.value)))
}

impl Evaluator<'_, '_> {
    /// What stands before a value and answers as that does: a value of a type that it is only said to have is that. A
    /// handler that answers by itself may give anything.
    pub(super) fn proxy(&mut self, file: FileId, target: ExprId, handler: Option<ExprId>) -> Value {
        let mut value = Value::Unknown;
        if let Expr::Cast(_, ty) = *self.world.file(file).parsed.expr(target) {
            let ty = self.ask(Question::Type(file, ty));
            value = self.declared(ty, file, None, 0, "stands for the client's type");
        }
        if !value.is_known() {
            value = self.expr(file, target);
        }
        if handler.is_some_and(|handler| self.answers_by_itself(file, handler)) { value.or(Value::Own) } else { value }
    }

    /// Whether a handler may answer with something else than what it stands before has.
    fn answers_by_itself(&mut self, file: FileId, handler: ExprId) -> bool {
        let handler = self.expr(file, handler);
        if !matches!(handler, Value::Object(..)) {
            return true;
        }
        match self.member(&handler, "get") {
            Value::Function(there, function) => {
                let parsed = self.world.whole_file(there).parsed;
                let returns = parsed.functions.get(function as usize).map_or(&[][..], |it| &it.returns);
                !returns.iter().any(|returned| is_looked_up(parsed, *returned, 0))
            }
            // There is none.
            Value::Unknown => false,
            _ => true,
        }
    }
}

/// Whether a value may be a member of something that a name says which is only known when it is asked for:
/// `target[name]`, `Reflect.get(target, name)`.
fn is_looked_up(parsed: &ParsedFile, expr: ExprId, depth: u32) -> bool {
    if depth > DEEPEST {
        return false;
    }
    let inner = |expr: ExprId| is_looked_up(parsed, expr, depth + 1);
    match parsed.expr(expr) {
        Expr::Index(_) => true,
        Expr::Binding(binding) => match parsed.bindings.get(*binding as usize) {
            Some(it) => {
                let made = matches!(it.origin, Origin::Value(value, _) if inner(value));
                made || it.writes.iter().any(|write| inner(write.value))
            }
            None => false,
        },
        Expr::Cast(value, _) | Expr::Guarded(value) | Expr::Await(value) => inner(*value),
        Expr::Either(left, right) => inner(*left) || inner(*right),
        Expr::Call { callee, arguments, .. } => match parsed.expr(*callee) {
            Expr::Member(object, name) if parsed.name(*name) == "get" => {
                matches!(parsed.expr(*object), Expr::Global(global) if parsed.name(*global) == "Reflect")
            }
            // `value.bind(target)`, `instrument(target[name])`
            Expr::Member(object, _) if inner(*object) => true,
            _ => inner(*callee) || arguments.iter().any(|argument| inner(argument.value)),
        },
        Expr::Function(function) => calls_what_is_looked_up(parsed, *function, depth),
        _ => false,
    }
}

/// Whether a function calls such a member: `(...args) => value(...args)`.
fn calls_what_is_looked_up(parsed: &ParsedFile, function: FunctionId, depth: u32) -> bool {
    let inside = |at: Option<FunctionId>| parsed.functions_around(at).any(|around| around == function);
    // Not through functions in functions.
    parsed.calls.iter().filter(|call| inside(call.function)).any(|call| is_looked_up(parsed, call.expr, depth + 4))
}
