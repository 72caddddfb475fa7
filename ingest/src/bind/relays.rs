//! Functions that stand in for the one which makes a client's requests, and whether those still go where they were to.

use super::eval::Evaluator;
use super::value::{FileId, Value};
use crate::parse::{Argument, Expr, ExprId, FunctionId, Origin, ParsedFile, TextPart};

/// Functions in functions, followed this far.
const DEEPEST: u32 = 4;
/// Expressions in expressions, looked at this far.
const DEEPEST_EXPRESSION: u32 = 8;

impl Evaluator<'_, '_> {
    /// Whether a value is a function that may send a request somewhere else than it is told: one of the repository that
    /// hands its first argument on to nothing. What is not known is believed.
    pub(super) fn may_redirect(&mut self, file: FileId, value: ExprId) -> bool {
        let value = self.expr(file, value);
        value.alternatives().iter().any(|value| match value {
            Value::Function(there, function) => !self.hands_on(*there, *function, 0),
            _ => false,
        })
    }

    /// Whether a function hands its first argument on, as it is, to what makes the request.
    pub(super) fn hands_on(&mut self, file: FileId, function: FunctionId, depth: u32) -> bool {
        if depth > DEEPEST || !self.may_look() {
            return false;
        }
        let parsed = self.world.whole_file(file).parsed;
        let inside = |at: Option<FunctionId>| parsed.functions_around(at).any(|around| around == function);
        let mut other = false;
        let mut requests = None;
        for call in parsed.calls.iter().filter(|call| inside(call.function)) {
            let Expr::Call { callee, arguments, construct: false, .. } = parsed.expr(call.expr) else { continue };
            let is_given = arguments.first().is_some_and(|first| is_parameter(parsed, *first, function, 0));
            let callee_value = self.expr(file, *callee);
            if self.as_http(&callee_value).is_some() {
                requests = Some(requests.unwrap_or(false) || is_given);
                continue;
            }
            other |= is_given
                && match callee_value {
                    Value::Function(there, called) => {
                        (there, called) != (file, function) && self.hands_on(there, called, depth + 1)
                    }
                    _ => !only_looks(parsed, *callee),
                };
        }
        requests.unwrap_or(other)
    }
}

/// Whether a callee is one of the language's own that makes no request.
fn only_looks(parsed: &ParsedFile, callee: ExprId) -> bool {
    let root = match parsed.expr(callee) {
        Expr::Member(object, _) => *object,
        _ => callee,
    };
    matches!(parsed.expr(root), Expr::Global(name)
        if matches!(parsed.name(*name), "console" | "JSON" | "String" | "Number" | "Boolean" | "Object" | "URL" | "Promise"))
}

/// Whether an argument is the first parameter of a function, in whatever form.
fn is_parameter(parsed: &ParsedFile, argument: Argument, function: FunctionId, depth: u32) -> bool {
    if depth > DEEPEST_EXPRESSION {
        return false;
    }
    let inner = |value: ExprId| is_parameter(parsed, Argument { value, spread: false }, function, depth + 1);
    match parsed.expr(argument.value) {
        Expr::Binding(binding) => match parsed.bindings.get(*binding as usize) {
            Some(it) if it.writes.is_empty() => match &it.origin {
                Origin::Parameter(of, 0, steps) => *of == function && (steps.is_empty() || argument.spread),
                Origin::Value(value, steps) => steps.is_empty() && inner(*value),
                _ => false,
            },
            _ => false,
        },
        Expr::Cast(value, _) | Expr::Await(value) | Expr::Guarded(value) => inner(*value),
        Expr::Either(left, right) => inner(*left) && inner(*right),
        // `input.url`
        Expr::Member(object, name) => matches!(parsed.name(*name), "url" | "href") && inner(*object),
        Expr::Template(parts) => matches!(parts.as_slice(), [TextPart::Value(value)] if inner(*value)),
        Expr::Call { callee, arguments, construct, .. } => match parsed.expr(*callee) {
            Expr::Member(object, name) => parsed.name(*name) == "toString" && inner(*object),
            // `new Request(input, init)`, `String(input)`; a base beside it is another matter.
            Expr::Global(name) => {
                let is_one = matches!(parsed.name(*name), "Request" | "String")
                    || (parsed.name(*name) == "URL" && arguments.len() == 1);
                let first = arguments.first().filter(|_| is_one);
                (*construct || parsed.name(*name) == "String") && first.is_some_and(|first| inner(first.value))
            }
            _ => false,
        },
        _ => false,
    }
}
