//! What becomes of the result of a call, inside its file: which parts are read, how, and whether it goes elsewhere.

mod callbacks;
mod names;

use std::collections::BTreeMap;

use oxc_ast::AstKind;
use oxc_ast::ast::{CallExpression, Expression, ForStatementLeft};
use oxc_semantic::Semantic;
use oxc_span::GetSpan;
use oxc_syntax::node::NodeId;
use oxc_syntax::operator::{AssignmentOperator, BinaryOperator, LogicalOperator, UnaryOperator};
use oxc_syntax::symbol::SymbolId;

use super::facts::{ReadFact, Uses};

/// Aliases of aliases and callbacks in callbacks, followed this far.
const DEEPEST: u32 = 12;
/// Longest path that is followed, in bytes: what is longer names no field of a response.
const LONGEST: usize = 256;
/// Methods of a builder that are followed.
const MOST_METHODS: u32 = 24;
/// Places looked at for one call.
const MOST_STEPS: u32 = 4_000;

/// What becomes of the value of an expression.
pub(super) fn of_result(semantic: &Semantic<'_>, node: NodeId) -> Uses {
    let mut walk =
        Walk { semantic, origin: node, reads: BTreeMap::new(), escapes: false, returned: Vec::new(), steps: 0 };
    walk.follow(node, At::default(), 0);
    if let AstKind::CallExpression(call) = semantic.nodes().kind(node) {
        walk.answered(call);
    }
    let reads = walk
        .reads
        .into_iter()
        .map(|(path, seen)| ReadFact {
            path,
            guarded: seen.tested || !seen.unguarded,
            compared: seen.compared,
            escapes: seen.escapes,
        })
        .collect();
    walk.returned.sort_unstable();
    walk.returned.dedup();
    Uses { reads, escapes: walk.escapes, returned: walk.returned }
}

#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about a read")]
struct Seen {
    tested: bool,
    unguarded: bool,
    compared: bool,
    escapes: bool,
}

/// Elements of a list of results.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Element {
    /// The n-th.
    One(usize),
    /// Any of them.
    Any,
}

/// Where in the result we are.
#[derive(Clone, Default)]
struct At {
    path: String,
    /// Behind `?.` or `??` of a part of the result.
    guarded: bool,
    /// Which elements of the list that `Promise.all` gives it is, while that is what we are at.
    element: Option<Element>,
    /// Methods before the first field.
    methods: u32,
}

impl At {
    fn member(&self, name: &str, optional: bool) -> Self {
        let mut path = self.path.clone();
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(name);
        Self {
            path,
            guarded: self.guarded || (optional && !self.path.is_empty()),
            element: None,
            methods: self.methods,
        }
    }

    fn item(&self) -> Self {
        if self.element.is_some() {
            // The list is nobody's answer; what it holds is.
            return Self { element: None, ..self.clone() };
        }
        Self { path: format!("{}[]", self.path), guarded: self.guarded, element: None, methods: self.methods }
    }
}

enum How {
    Read,
    Tested,
    Compared,
    Escapes,
}

struct Walk<'s, 'a> {
    semantic: &'s Semantic<'a>,
    /// The call whose result is followed.
    origin: NodeId,
    reads: BTreeMap<String, Seen>,
    escapes: bool,
    /// Parts that the function around the call returns.
    returned: Vec<String>,
    steps: u32,
}

impl<'a> Walk<'_, 'a> {
    fn record(&mut self, at: &At, how: &How) {
        if at.path.is_empty() {
            self.escapes |= matches!(how, How::Escapes);
            return;
        }
        let seen = self.reads.entry(at.path.clone()).or_default();
        seen.tested |= matches!(how, How::Tested);
        seen.compared |= matches!(how, How::Compared);
        seen.escapes |= matches!(how, How::Escapes);
        seen.unguarded |= !at.guarded && !matches!(how, How::Tested);
    }

    fn follow(&mut self, node: NodeId, at: At, depth: u32) {
        let mut node = node;
        let mut at = at;
        loop {
            self.steps += 1;
            if depth > DEEPEST || self.steps > MOST_STEPS || at.path.len() > LONGEST || at.methods > MOST_METHODS {
                self.escapes = true;
                return;
            }
            let nodes = self.semantic.nodes();
            let parent = nodes.parent_id(node);
            let here = nodes.kind(node).span();
            match nodes.kind(parent) {
                AstKind::AwaitExpression(_)
                | AstKind::ParenthesizedExpression(_)
                | AstKind::TSNonNullExpression(_)
                | AstKind::TSAsExpression(_)
                | AstKind::TSSatisfiesExpression(_)
                | AstKind::TSTypeAssertion(_)
                | AstKind::ChainExpression(_) => node = parent,
                AstKind::StaticMemberExpression(it) => {
                    if let AstKind::CallExpression(call) = nodes.parent_kind(parent)
                        && call.callee.span() == it.span
                    {
                        let outer = nodes.parent_id(parent);
                        match self.method(call, &it.property.name, it.optional, &at, depth) {
                            Some(next) => {
                                node = outer;
                                at = next;
                                continue;
                            }
                            None => return,
                        }
                    }
                    if at.element.is_some() {
                        return;
                    }
                    at = at.member(&it.property.name, it.optional);
                    node = parent;
                }
                AstKind::ComputedMemberExpression(it) if it.object.span() == here => {
                    at = match &it.expression {
                        Expression::StringLiteral(key) => at.member(&key.value, it.optional),
                        Expression::NumericLiteral(index) if matches!(at.element, Some(Element::One(one)) if index.raw_str() != one.to_string()) =>
                        {
                            return;
                        }
                        // A member of the value itself, by its own names.
                        Expression::Identifier(key) if self.is_name_of_a_member(key) => {
                            self.record(&at, &How::Escapes);
                            return;
                        }
                        _ => at.item(),
                    };
                    node = parent;
                }
                AstKind::VariableDeclarator(it) => {
                    self.pattern(&it.id, &at, depth);
                    return;
                }
                AstKind::AssignmentExpression(it) if it.right.span() == here => {
                    use oxc_ast::ast::AssignmentTarget;
                    match &it.left {
                        AssignmentTarget::AssignmentTargetIdentifier(target)
                            if matches!(it.operator, AssignmentOperator::Assign) || it.operator.is_logical() =>
                        {
                            let symbol = target
                                .reference_id
                                .get()
                                .and_then(|id| self.semantic.scoping().get_reference(id).symbol_id());
                            match symbol {
                                Some(symbol) => self.symbol(symbol, &at, depth),
                                None => self.record(&at, &How::Escapes),
                            }
                        }
                        AssignmentTarget::AssignmentTargetIdentifier(_) => self.record(&at, &How::Read),
                        _ => self.record(&at, &How::Escapes),
                    }
                    return;
                }
                AstKind::ForOfStatement(it) if it.right.span() == here => {
                    let item = at.item();
                    match &it.left {
                        ForStatementLeft::VariableDeclaration(declaration) => {
                            for declarator in &declaration.declarations {
                                self.pattern(&declarator.id, &item, depth);
                            }
                        }
                        _ => self.record(&item, &How::Escapes),
                    }
                    return;
                }
                AstKind::ConditionalExpression(it) if it.test.span() != here => node = parent,
                AstKind::LogicalExpression(it) => {
                    if it.left.span() == here {
                        self.record(&at, &How::Tested);
                        if it.operator == LogicalOperator::And {
                            return;
                        }
                        at.guarded |= !at.path.is_empty();
                    }
                    node = parent;
                }
                AstKind::SequenceExpression(it) => {
                    if it.expressions.last().is_some_and(|last| last.span() == here) {
                        node = parent;
                    } else {
                        return;
                    }
                }
                AstKind::ConditionalExpression(_)
                | AstKind::IfStatement(_)
                | AstKind::WhileStatement(_)
                | AstKind::DoWhileStatement(_) => {
                    self.record(&at, &How::Tested);
                    return;
                }
                AstKind::UnaryExpression(it) => {
                    let how = if it.operator == UnaryOperator::LogicalNot { How::Tested } else { How::Read };
                    self.record(&at, &how);
                    return;
                }
                AstKind::BinaryExpression(it) => {
                    let how = match it.operator {
                        operator if operator.is_equality() => How::Compared,
                        BinaryOperator::In | BinaryOperator::Instanceof => How::Tested,
                        _ => How::Read,
                    };
                    self.record(&at, &how);
                    return;
                }
                AstKind::SwitchStatement(_) | AstKind::SwitchCase(_) => {
                    self.record(&at, &How::Compared);
                    return;
                }
                AstKind::ArrayExpression(it) => {
                    let outer = nodes.parent_id(parent);
                    if let AstKind::CallExpression(call) = nodes.kind(outer)
                        && at.path.is_empty()
                        && is_promise_all(call)
                        && let Some(element) = it.elements.iter().position(|element| element.span() == here)
                    {
                        node = outer;
                        at.element = Some(Element::One(element));
                        continue;
                    }
                    self.record(&at, &How::Escapes);
                    return;
                }
                AstKind::ArrowFunctionExpression(_) | AstKind::ReturnStatement(_) => {
                    let function = self.function_around(parent);
                    if let Some(call) = function.and_then(|function| self.then_call(function)) {
                        node = call;
                        continue;
                    }
                    if let Some(all) = function.and_then(|function| self.all_of_mapped(function))
                        && at.path.is_empty()
                    {
                        node = all;
                        at.element = Some(Element::Any);
                        continue;
                    }
                    let own = self.function_around(nodes.parent_id(self.origin));
                    if function.is_some() && function == own && at.element.is_none() {
                        self.returned.push(at.path);
                    } else {
                        self.record(&at, &How::Escapes);
                    }
                    return;
                }
                AstKind::ExpressionStatement(_) => {
                    if !at.path.is_empty() {
                        self.record(&at, &How::Read);
                    }
                    return;
                }
                AstKind::TemplateLiteral(_)
                | AstKind::JSXExpressionContainer(_)
                | AstKind::ComputedMemberExpression(_)
                | AstKind::UpdateExpression(_)
                | AstKind::ThrowStatement(_) => {
                    self.record(&at, &How::Read);
                    return;
                }
                _ => {
                    self.record(&at, &How::Escapes);
                    return;
                }
            }
        }
    }

    /// A method called on the value: where its result is still a part of the value, that part.
    fn method(&mut self, call: &CallExpression<'a>, name: &str, optional: bool, at: &At, depth: u32) -> Option<At> {
        let at = &At { guarded: at.guarded || (optional && !at.path.is_empty()), ..at.clone() };
        match name {
            "then" if !call.arguments.is_empty() => {
                self.callback(call, 0, at, depth);
                return None;
            }
            // The same promise, or the same list in another order.
            "catch" | "finally" => return Some(at.clone()),
            "slice" | "reverse" | "concat" | "toReversed" => {
                return Some(At { element: at.element.map(|_| Element::Any), ..at.clone() });
            }
            "map" | "forEach" | "filter" | "find" | "findIndex" | "findLast" | "some" | "every" | "flatMap"
            | "sort" | "toSorted" => {
                self.record(at, &How::Read);
                let item = at.item();
                self.callback(call, 0, &item, depth);
                return match name {
                    "find" | "findLast" => Some(item),
                    "filter" | "sort" | "toSorted" => {
                        Some(At { element: at.element.map(|_| Element::Any), ..at.clone() })
                    }
                    _ => None,
                };
            }
            "reduce" | "reduceRight" => {
                self.record(at, &How::Read);
                self.callback(call, 1, &at.item(), depth);
                return None;
            }
            "at" | "pop" | "shift" => return Some(at.item()),
            // A response in two parts, of which one is read like a response.
            "json" | "text" if at.path == "body" => return Some(at.member(&format!("{name}()"), false)),
            _ => {}
        }
        if at.element.is_some() {
            self.record(at, &How::Escapes);
            return None;
        }
        if at.path.split('.').all(|part| part.is_empty() || part.ends_with("()")) {
            // A builder (`select().eq()`) or a reader (`response.json()`): only the catalog can tell.
            let next = at.member(&format!("{name}()"), false);
            return Some(At { methods: at.methods + 1, ..next });
        }
        self.record(at, &How::Read);
        None
    }

    /// A function that is given the value as its n-th parameter.
    fn callback(&mut self, call: &CallExpression<'a>, parameter: usize, at: &At, depth: u32) {
        let parameters = match call.arguments.first() {
            Some(oxc_ast::ast::Argument::ArrowFunctionExpression(it)) => &it.params,
            Some(oxc_ast::ast::Argument::FunctionExpression(it)) => &it.params,
            Some(_) => return self.record(at, &How::Escapes),
            None => return,
        };
        if let Some(parameter) = parameters.items.get(parameter) {
            self.pattern(&parameter.pattern, at, depth);
        }
    }

    /// The function that a node is of, or is.
    fn function_around(&self, node: NodeId) -> Option<NodeId> {
        let nodes = self.semantic.nodes();
        let mut at = node;
        loop {
            match nodes.kind(at) {
                AstKind::ArrowFunctionExpression(_) | AstKind::Function(_) => return Some(at),
                AstKind::Program(_) => return None,
                _ => at = nodes.parent_id(at),
            }
        }
    }
}

/// Whether every reference to a function's name calls it.
pub(super) fn is_only_called(semantic: &Semantic<'_>, symbol: SymbolId) -> bool {
    let nodes = semantic.nodes();
    semantic.scoping().get_resolved_references(symbol).filter(|reference| !reference.is_type()).all(|reference| {
        let node = reference.node_id();
        matches!(nodes.parent_kind(node), AstKind::CallExpression(call) if call.callee.span() == nodes.kind(node).span())
    })
}

fn is_promise_all(call: &CallExpression<'_>) -> bool {
    matches!(&call.callee, Expression::StaticMemberExpression(it)
        if it.property.name == "all"
            && matches!(&it.object, Expression::Identifier(object) if object.name == "Promise"))
}
