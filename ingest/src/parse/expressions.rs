//! Expressions: what a value is made of, as far as a client, a URL or an argument's keys can pass through it.

use std::borrow::Cow;

use oxc_ast::ast::{
    Argument as AstArgument, ArrayExpressionElement, BinaryOperator, CallExpression, ChainElement, Expression,
    IdentifierReference, LogicalOperator, MemberExpression, NewExpression, ObjectExpression, ObjectPropertyKind,
    PropertyKey, PropertyKind, TSType, TSTypeName, TSTypeParameterInstantiation, TemplateLiteral,
};
use oxc_ast_visit::walk;
use oxc_span::{GetSpan, Span};
use oxc_syntax::node::NodeId;
use oxc_syntax::operator::UnaryOperator;

use super::declare::bare;
use super::facts::{Argument, CallFact, Expr, ExprId, Name, Origin, Property, TextPart, TypeId, TypeRoot};
use super::lower::{Lower, This, UNKNOWN};
use super::{text, uses};

/// The text that an expression writes out: a literal, or a template without any value in it.
pub(super) fn written<'e>(it: &'e Expression<'_>) -> Option<Cow<'e, str>> {
    match it {
        Expression::StringLiteral(it) => Some(Cow::Borrowed(&it.value)),
        Expression::TemplateLiteral(it) => it.single_quasi().map(|text| Cow::Owned(text.to_string())),
        _ => None,
    }
}

impl<'a> Lower<'_, 'a> {
    /// The value of an expression; visits everything in it.
    pub(super) fn lower(&mut self, it: &Expression<'a>) -> ExprId {
        match it {
            Expression::StringLiteral(it) => self.text(&it.value),
            Expression::TemplateLiteral(it) => self.template(it),
            Expression::NullLiteral(_) => self.add(Expr::Null),
            Expression::BooleanLiteral(_)
            | Expression::NumericLiteral(_)
            | Expression::BigIntLiteral(_)
            | Expression::RegExpLiteral(_) => self.add(Expr::Literal(None)),
            Expression::Identifier(it) => self.identifier(it),
            Expression::ThisExpression(_) => self.this_value(),
            Expression::Super(_) => {
                let class = match self.this.last() {
                    Some(This::Instance(class)) => Some(*class),
                    _ => None,
                };
                self.add(Expr::Super(class))
            }
            Expression::ArrayExpression(it) => {
                let mut items = Vec::with_capacity(it.elements.len());
                for element in &it.elements {
                    items.push(match element {
                        ArrayExpressionElement::SpreadElement(it) => {
                            Argument { value: self.lower(&it.argument), spread: true }
                        }
                        ArrayExpressionElement::Elision(_) => Argument { value: UNKNOWN, spread: false },
                        other => match other.as_expression() {
                            Some(it) => Argument { value: self.lower(it), spread: false },
                            None => Argument { value: UNKNOWN, spread: false },
                        },
                    });
                }
                self.add(Expr::Array(items))
            }
            Expression::ArrowFunctionExpression(it) => self.arrow(it, None),
            Expression::FunctionExpression(it) => self.function_expression(it, None),
            Expression::ClassExpression(it) => self.class_expression(it, None),
            Expression::AssignmentExpression(it) => self.assignment(it),
            Expression::AwaitExpression(it) => {
                let value = self.lower(&it.argument);
                self.add(Expr::Await(value))
            }
            Expression::BinaryExpression(it) => {
                let left = self.lower(&it.left);
                let right = self.lower(&it.right);
                if it.operator == BinaryOperator::Addition { self.concatenation(left, right) } else { UNKNOWN }
            }
            Expression::UnaryExpression(it) if it.operator == UnaryOperator::Delete => {
                self.deleted(&it.argument);
                UNKNOWN
            }
            Expression::LogicalExpression(it) => {
                let left = self.lower(&it.left);
                let right = self.perhaps(|this| this.lower(&it.right));
                match it.operator {
                    LogicalOperator::And => self.add(Expr::Guarded(right)),
                    LogicalOperator::Or | LogicalOperator::Coalesce => self.add(Expr::Either(left, right)),
                }
            }
            Expression::ConditionalExpression(it) => {
                self.lower(&it.test);
                let left = self.perhaps(|this| this.lower(&it.consequent));
                let right = self.perhaps(|this| this.lower(&it.alternate));
                self.add(Expr::Either(left, right))
            }
            Expression::CallExpression(it) => self.call(it),
            Expression::NewExpression(it) => self.construct(it),
            Expression::ChainExpression(it) => match &it.expression {
                ChainElement::CallExpression(it) => self.call(it),
                ChainElement::TSNonNullExpression(it) => self.lower(&it.expression),
                member => member.as_member_expression().map_or(UNKNOWN, |it| self.member(it)),
            },
            Expression::ImportExpression(it) => {
                if let Some(options) = &it.options {
                    self.lower(options);
                }
                if let Some(source) = written(&it.source) {
                    let specifier = self.name(&source);
                    self.add_import(specifier, "*", it.span);
                    self.add(Expr::Import(specifier))
                } else {
                    self.lower(&it.source);
                    UNKNOWN
                }
            }
            Expression::ObjectExpression(it) => self.object(it),
            Expression::ParenthesizedExpression(it) => {
                let value = self.lower(&it.expression);
                // `/** @type {Stripe} */ (value)`
                match self.type_of_doc(self.doc_before(it.span.start)) {
                    Some(ty) => self.cast_to(value, ty),
                    None => value,
                }
            }
            Expression::SequenceExpression(it) => {
                let mut last = UNKNOWN;
                for it in &it.expressions {
                    last = self.lower(it);
                }
                last
            }
            Expression::TSAsExpression(it) => self.cast(&it.expression, &it.type_annotation),
            Expression::TSSatisfiesExpression(it) => {
                let value = self.lower(&it.expression);
                let ty = self.type_of(&it.type_annotation);
                self.expect_type(value, ty);
                value
            }
            Expression::TSTypeAssertion(it) => self.cast(&it.expression, &it.type_annotation),
            Expression::TSNonNullExpression(it) => self.lower(&it.expression),
            Expression::TSInstantiationExpression(it) => self.lower(&it.expression),
            other => {
                if let Some(it) = other.as_member_expression() {
                    return self.member(it);
                }
                walk::walk_expression(self, other);
                UNKNOWN
            }
        }
    }

    pub(super) fn this_value(&mut self) -> ExprId {
        self.add(match self.this.last() {
            Some(This::Instance(class)) => Expr::This(Some(*class)),
            Some(This::Class(class)) => Expr::Class(*class),
            Some(This::Object(object)) => Expr::Own(*object),
            Some(This::Unknown) | None => Expr::This(None),
        })
    }

    pub(super) fn identifier(&mut self, it: &IdentifierReference<'a>) -> ExprId {
        if let Some(binding) = self.reference(it) {
            return self.add(Expr::Binding(binding));
        }
        if it.name == "undefined" {
            return self.add(Expr::Null);
        }
        let name = self.name(&it.name);
        self.add(Expr::Global(name))
    }

    pub(super) fn text(&mut self, value: &str) -> ExprId {
        let digest = text::digest(value);
        if let Some(kept) = text::kept(value) {
            let name = self.name(kept);
            self.add(Expr::Text(name, digest))
        } else {
            self.add(Expr::Literal(Some(digest)))
        }
    }

    fn template(&mut self, it: &TemplateLiteral<'a>) -> ExprId {
        if let (true, [quasi]) = (it.expressions.is_empty(), it.quasis.as_slice()) {
            return self.text(quasi.value.cooked.as_deref().unwrap_or(&quasi.value.raw));
        }
        let mut parts = Vec::new();
        for (at, quasi) in it.quasis.iter().enumerate() {
            let piece = quasi.value.cooked.as_deref().unwrap_or(&quasi.value.raw);
            if let Some(kept) = text::kept(piece) {
                parts.push(TextPart::Text(self.name(kept)));
            } else if !piece.is_empty() {
                parts.push(TextPart::Withheld);
            }
            if let Some(value) = it.expressions.get(at) {
                parts.push(TextPart::Value(self.lower(value)));
            }
        }
        self.add(Expr::Template(parts))
    }

    fn concatenation(&mut self, left: ExprId, right: ExprId) -> ExprId {
        let is_text = |expr: &Expr| matches!(expr, Expr::Text(..) | Expr::Template(_) | Expr::Literal(Some(_)));
        let may_be_text = |expr: &Expr| matches!(expr, Expr::Binding(_) | Expr::Member(..));
        let (at_left, at_right) = (self.out.expr(left), self.out.expr(right));
        // `BASE + path`
        let made = |expr: &Expr| matches!(expr, Expr::Call { construct: false, .. });
        let of_names = (may_be_text(at_left) && (may_be_text(at_right) || made(at_right)))
            || (made(at_left) && may_be_text(at_right));
        if !is_text(at_left) && !is_text(at_right) && !of_names {
            return UNKNOWN;
        }
        let mut parts = Vec::new();
        for side in [left, right] {
            match self.out.expr(side) {
                Expr::Template(inner) if side == left => parts.extend(inner.iter().copied()),
                Expr::Text(name, _) => parts.push(TextPart::Text(*name)),
                Expr::Literal(_) => parts.push(TextPart::Withheld),
                _ => parts.push(TextPart::Value(side)),
            }
        }
        self.add(Expr::Template(parts))
    }

    fn cast(&mut self, value: &Expression<'a>, ty: &TSType<'a>) -> ExprId {
        let value = self.lower(value);
        let constant = matches!(ty, TSType::TSTypeReference(it)
            if matches!(&it.type_name, TSTypeName::IdentifierReference(name) if name.name == "const"));
        if constant {
            return value;
        }
        match self.type_of(ty) {
            Some(ty) => self.cast_to(value, ty),
            None => value,
        }
    }

    pub(super) fn cast_to(&mut self, value: ExprId, ty: TypeId) -> ExprId {
        self.expect_type(value, Some(ty));
        self.add(Expr::Cast(value, ty))
    }

    pub(super) fn member(&mut self, it: &MemberExpression<'a>) -> ExprId {
        match it {
            MemberExpression::StaticMemberExpression(it) => {
                let object = self.lower(&it.object);
                let name = self.name(&it.property.name);
                self.add(Expr::Member(object, name))
            }
            MemberExpression::PrivateFieldExpression(it) => {
                let object = self.lower(&it.object);
                let name = self.name(&format!("#{}", it.field.name));
                self.add(Expr::Member(object, name))
            }
            MemberExpression::ComputedMemberExpression(it) => {
                let object = self.lower(&it.object);
                if let Some(key) = self.key_of(&it.expression) {
                    let name = self.name(&key);
                    return self.add(Expr::Member(object, name));
                }
                self.lower(&it.expression);
                self.add(Expr::Index(object))
            }
        }
    }

    fn arguments(&mut self, it: &[AstArgument<'a>]) -> Vec<Argument> {
        let mut arguments = Vec::with_capacity(it.len());
        for argument in it {
            arguments.push(match argument {
                AstArgument::SpreadElement(it) => Argument { value: self.lower(&it.argument), spread: true },
                other => match other.as_expression() {
                    Some(it) => Argument { value: self.lower(it), spread: false },
                    None => Argument { value: UNKNOWN, spread: false },
                },
            });
        }
        arguments
    }

    fn call(&mut self, it: &CallExpression<'a>) -> ExprId {
        if let Some(specifier) = self.required(it) {
            self.add_import(specifier, "*", it.span);
            return self.add(Expr::Require(specifier));
        }
        let callee = self.lower(&it.callee);
        self.note_mock(it, callee);
        let call = self.add_call(it.span, callee_span(&it.callee), it.node_id.get());
        let mut arguments = self.arguments(&it.arguments);
        if let Some(AstArgument::StringLiteral(key)) = it.arguments.first()
            && text::is_key(&key.value)
            && self.sets_keys(callee)
        {
            // The key of a query or a form is a name, as that of an object is.
            let digest = text::digest(&key.value);
            let name = self.name(&key.value);
            arguments[0].value = self.add(Expr::Text(name, digest));
        }
        self.assigned_by_call(it, callee, &arguments);
        let expr = self.add(Expr::Call { call, callee, arguments, construct: false });
        self.out.calls[call as usize].expr = expr;
        self.said_to_hold(expr, callee, it.type_arguments.as_deref())
    }

    /// Whether a callee sets keys of a query or a form.
    fn sets_keys(&self, callee: ExprId) -> bool {
        let Expr::Member(object, method) = *self.out.expr(callee) else { return false };
        if !matches!(self.out.name(method), "set" | "append") {
            return false;
        }
        match *self.out.expr(object) {
            Expr::Member(_, name) => self.out.name(name) == "searchParams",
            Expr::Binding(binding) => match &self.out.bindings[binding as usize].origin {
                Origin::Value(value, steps) if steps.is_empty() => match self.out.expr(*value) {
                    Expr::Call { callee, construct: true, .. } => matches!(self.out.expr(*callee), Expr::Global(name)
                        if matches!(self.out.name(*name), "URLSearchParams" | "FormData")),
                    _ => false,
                },
                _ => false,
            },
            _ => false,
        }
    }

    fn construct(&mut self, it: &NewExpression<'a>) -> ExprId {
        let callee = self.lower(&it.callee);
        let call = self.add_call(it.span, callee_span(&it.callee), it.node_id.get());
        let arguments = self.arguments(&it.arguments);
        let expr = self.add(Expr::Call { call, callee, arguments, construct: true });
        self.out.calls[call as usize].expr = expr;
        self.said_to_hold(expr, callee, it.type_arguments.as_deref())
    }

    /// A value of which the types that are given to its maker say what it is to hold: `new Map<string, Stripe>()`,
    /// `createContext<Stripe | null>(null)`.
    fn said_to_hold(
        &mut self,
        made: ExprId,
        callee: ExprId,
        given: Option<&TSTypeParameterInstantiation<'a>>,
    ) -> ExprId {
        let Some(given) = given else { return made };
        let (root, path) = match *self.out.expr(callee) {
            Expr::Member(object, name) => (object, vec![name]),
            _ => (callee, Vec::new()),
        };
        let root = match *self.out.expr(root) {
            Expr::Global(name) if matches!(self.out.name(name), "Array" | "Map" | "Set" | "WeakMap") => {
                TypeRoot::Global(name)
            }
            Expr::Binding(binding)
                if let Origin::Import { name, .. } = self.out.bindings[binding as usize].origin
                    && carries_a_type(self.out.name(path.last().copied().unwrap_or(name))) =>
            {
                TypeRoot::Binding(binding)
            }
            _ => return made,
        };
        let ty = self.type_applied(root, path, given);
        self.add(Expr::Cast(made, ty))
    }

    fn add_call(&mut self, span: Span, callee: Span, node: NodeId) -> u32 {
        let (line, column) = self.positions.line_column(span.start);
        let (callee_line, callee_column) = self.positions.line_column(callee.start);
        self.out.calls.push(CallFact {
            keywords: None,
            expr: UNKNOWN,
            line,
            column,
            end_line: self.positions.line(span.end.saturating_sub(1)),
            callee_line,
            callee_column,
            symbol: self.enclosing(),
            function: self.functions.last().copied(),
            hash: self.tokens.of(node),
            uses: uses::of_result(self.semantic, node),
        });
        u32::try_from(self.out.calls.len() - 1).unwrap_or(u32::MAX)
    }

    fn object(&mut self, it: &ObjectExpression<'a>) -> ExprId {
        // Its methods speak of it.
        let object = self.add(Expr::Unknown);
        let mut properties = Vec::with_capacity(it.properties.len());
        for property in &it.properties {
            match property {
                ObjectPropertyKind::SpreadProperty(it) => properties.push(Property::Spread(self.lower(&it.argument))),
                ObjectPropertyKind::ObjectProperty(it) => {
                    let key = self.property_key(&it.key);
                    if matches!(bare(&it.value), Expression::FunctionExpression(_)) {
                        self.method_of = Some(object);
                    }
                    let value = match key {
                        Some(key) => self.named_value(key, &it.value, it.span),
                        None => self.lower(&it.value),
                    };
                    match (key, it.kind) {
                        // What is read of it is what the getter gives.
                        (Some(key), PropertyKind::Get) => {
                            let call =
                                Expr::Call { call: u32::MAX, callee: value, arguments: Vec::new(), construct: false };
                            properties.push(Property::Named(key, self.add(call)));
                        }
                        (Some(key), PropertyKind::Init) => properties.push(Property::Named(key, value)),
                        (_, PropertyKind::Set) => {}
                        (None, _) => properties.push(Property::Computed),
                    }
                }
            }
        }
        self.out.exprs[object as usize] = Expr::Object(properties);
        object
    }

    /// The name of a property; visits a computed one.
    pub(super) fn property_key(&mut self, key: &PropertyKey<'a>) -> Option<Name> {
        match key {
            PropertyKey::StaticIdentifier(it) => Some(self.name(&it.name)),
            PropertyKey::PrivateIdentifier(it) => Some(self.name(&format!("#{}", it.name))),
            PropertyKey::StringLiteral(it) => Some(self.name(&it.value)),
            PropertyKey::NumericLiteral(_) => None,
            other => {
                let it = other.as_expression()?;
                if let Some(key) = self.key_of(it) {
                    return Some(self.name(&key));
                }
                self.lower(it);
                None
            }
        }
    }
}

/// Whether something of this name, if it is a framework's, hands what its type says to what is given to it.
fn carries_a_type(name: &str) -> bool {
    matches!(
        name,
        "AsyncLocalStorage"
            | "Hono"
            | "OpenAPIHono"
            | "context"
            | "createContext"
            | "createFactory"
            | "createMiddleware"
    )
}

/// The token that production stacks report: the last name of the callee.
fn callee_span(it: &Expression<'_>) -> Span {
    match it {
        Expression::StaticMemberExpression(it) => it.property.span,
        Expression::PrivateFieldExpression(it) => it.field.span,
        Expression::ComputedMemberExpression(it) => it.expression.span(),
        Expression::ParenthesizedExpression(it) => callee_span(&it.expression),
        Expression::TSNonNullExpression(it) => callee_span(&it.expression),
        Expression::TSInstantiationExpression(it) => callee_span(&it.expression),
        other => other.span(),
    }
}
