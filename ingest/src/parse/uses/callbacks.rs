//! Functions that are given a result, and names that go through one: callbacks in the way of Node and of promises, and
//! loops over the names of an object's members.

use oxc_ast::AstKind;
use oxc_ast::ast::{BindingPattern, CallExpression, Expression, IdentifierReference};
use oxc_span::GetSpan;
use oxc_syntax::node::NodeId;

use super::{At, Walk, is_promise_all};

/// Nodes between the name that a loop or a function declares and that loop, or the call that is given the function.
const LEVELS_OF_A_LOOP: usize = 6;

impl<'a> Walk<'_, 'a> {
    /// A last argument that is a function in the way of Node, `(error, answer) => …`: what is read of its answer.
    pub(super) fn answered(&mut self, call: &CallExpression<'a>) {
        let Some(last) = call.arguments.last().and_then(|last| last.as_expression()) else { return };
        let parameters = match last {
            Expression::ArrowFunctionExpression(it) => Some(&it.params),
            Expression::FunctionExpression(it) => Some(&it.params),
            Expression::Identifier(name) => {
                let declared = self.declared(name);
                let function = match declared.map(|declared| self.semantic.nodes().kind(declared)) {
                    Some(AstKind::Function(it)) => Some(&it.params),
                    Some(AstKind::VariableDeclarator(it)) => match &it.init {
                        Some(Expression::ArrowFunctionExpression(it)) => Some(&it.params),
                        Some(Expression::FunctionExpression(it)) => Some(&it.params),
                        _ => None,
                    },
                    _ => None,
                };
                // A function that is handed on is one that nobody sees here.
                self.escapes |= function.is_none() && matches!(name.name.as_str(), "cb" | "callback" | "done" | "next");
                function
            }
            _ => None,
        };
        let Some([error, answer, ..]) = parameters.map(|parameters| parameters.items.as_slice()) else { return };
        if matches!(&error.pattern, BindingPattern::BindingIdentifier(it) if is_error(&it.name)) {
            self.pattern(&answer.pattern, &At::default(), 0);
        }
    }

    /// Where a name is declared.
    pub(super) fn declared(&self, name: &IdentifierReference<'a>) -> Option<NodeId> {
        let scoping = self.semantic.scoping();
        let symbol = scoping.get_reference(name.reference_id.get()?).symbol_id()?;
        Some(scoping.symbol_declaration(symbol))
    }

    /// The `.then(…)` call that a function is the callback of.
    pub(super) fn then_call(&self, function: NodeId) -> Option<NodeId> {
        let nodes = self.semantic.nodes();
        let call = nodes.parent_id(function);
        match nodes.kind(call) {
            AstKind::CallExpression(it) => match &it.callee {
                Expression::StaticMemberExpression(member)
                    if member.property.name == "then"
                        && it.arguments.first().is_some_and(|first| first.span() == nodes.kind(function).span()) =>
                {
                    Some(call)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The `Promise.all(list.map(…))` that a function is the callback of.
    pub(super) fn all_of_mapped(&self, function: NodeId) -> Option<NodeId> {
        let nodes = self.semantic.nodes();
        let map = nodes.parent_id(function);
        let AstKind::CallExpression(it) = nodes.kind(map) else { return None };
        let Expression::StaticMemberExpression(member) = &it.callee else { return None };
        let is_mapped = member.property.name == "map"
            && it.arguments.first().is_some_and(|first| first.span() == nodes.kind(function).span());
        let all = nodes.parent_id(map);
        match nodes.kind(all) {
            AstKind::CallExpression(call) if is_mapped && is_promise_all(call) => Some(all),
            _ => None,
        }
    }

    /// Whether a name goes through the names of an object's members: `for (const key in object)`,
    /// `for (const key of Object.keys(object))`, `Object.keys(object).map((key) => …)`.
    pub(super) fn is_name_of_a_member(&self, key: &IdentifierReference<'a>) -> bool {
        let nodes = self.semantic.nodes();
        let Some(declared) = self.declared(key) else { return false };
        for kind in nodes.ancestor_kinds(declared).take(LEVELS_OF_A_LOOP) {
            match kind {
                AstKind::ForInStatement(_) => return true,
                AstKind::ForOfStatement(it) => return is_names_of(&it.right),
                AstKind::CallExpression(it) => {
                    return matches!(&it.callee, Expression::StaticMemberExpression(method) if is_names_of(&method.object));
                }
                _ => {}
            }
        }
        false
    }
}

/// Whether a parameter is called as an error is.
fn is_error(name: &str) -> bool {
    let name = name.trim_start_matches('_');
    matches!(name, "" | "e" | "er" | "err" | "error" | "ex") || name.ends_with("Err") || name.ends_with("Error")
}

/// `Object.keys(…)`, `Object.entries(…)`, `Object.getOwnPropertyNames(…)`
fn is_names_of(it: &Expression<'_>) -> bool {
    let Expression::CallExpression(call) = it else { return false };
    matches!(&call.callee, Expression::StaticMemberExpression(it)
        if matches!(it.property.name.as_str(), "keys" | "entries" | "getOwnPropertyNames")
            && matches!(&it.object, Expression::Identifier(object) if object.name == "Object"))
}
