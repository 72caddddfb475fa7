//! Declarations: symbols, and the names that variables and patterns bind.

use oxc_ast::ast::{BindingPattern, Expression, VariableDeclaration, VariableDeclarationKind, VariableDeclarator};
use oxc_span::Span;
use sync_core::graph::Symbol;

use super::facts::{Expr, ExprId, Name, Origin, Step, SymbolIndex, Write};
use super::lower::{Lower, Scope};
use crate::names;

impl<'a> Lower<'_, 'a> {
    /// Adds a symbol under the names around it.
    pub(super) fn symbol(&mut self, name: &str, kind: &str, span: Span) -> SymbolIndex {
        let qualified = names::kept(match self.scopes.last() {
            Some(scope) => format!("{}.{name}", scope.qualified),
            None => name.to_owned(),
        });
        let count = self.ordinals.entry(qualified.clone()).or_insert(0);
        let ordinal = *count;
        *count += 1;
        self.out.symbols.push(Symbol {
            name: names::kept(name.to_owned()),
            qualified,
            ordinal,
            kind: kind.to_owned(),
            line: self.positions.line(span.start),
            end_line: self.positions.line(span.end.saturating_sub(1)),
            exported: false,
        });
        u32::try_from(self.out.symbols.len() - 1).unwrap_or(u32::MAX)
    }

    /// Visits what is inside a symbol.
    pub(super) fn inside<T>(&mut self, symbol: SymbolIndex, visit: impl FnOnce(&mut Self) -> T) -> T {
        let qualified = self.out.symbols[symbol as usize].qualified.clone();
        self.scopes.push(Scope { qualified, symbol: Some(symbol) });
        let value = visit(self);
        self.scopes.pop();
        value
    }

    /// The value of a named property: functions and classes become symbols, literals in literals qualify names.
    pub(super) fn named_value(&mut self, name: Name, it: &Expression<'a>, span: Span) -> ExprId {
        match bare(it) {
            Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_) => {
                let text = self.out.name(name).to_owned();
                let symbol = self.symbol(&text, "method", span);
                self.doc = self.doc_before(span.start).or(self.doc);
                self.valued(symbol, it)
            }
            Expression::ObjectExpression(_) => {
                let text = self.out.name(name);
                let qualified = names::kept(match self.scopes.last() {
                    Some(scope) => format!("{}.{text}", scope.qualified),
                    None => text.to_owned(),
                });
                self.scopes.push(Scope { qualified, symbol: None });
                let value = self.lower(it);
                self.scopes.pop();
                value
            }
            _ => self.lower(it),
        }
    }

    /// A value that a symbol stands for.
    pub(super) fn valued(&mut self, symbol: SymbolIndex, it: &Expression<'a>) -> ExprId {
        let value = match bare(it) {
            Expression::ArrowFunctionExpression(it) => self.arrow(it, Some(symbol)),
            Expression::FunctionExpression(it) => self.function_expression(it, Some(symbol)),
            Expression::ClassExpression(it) => self.class_expression(it, Some(symbol)),
            _ => return self.inside(symbol, |this| this.lower(it)),
        };
        // `((context) => …) as Handler`
        let mut at = it;
        loop {
            at = match at {
                Expression::ParenthesizedExpression(it) => &it.expression,
                Expression::TSNonNullExpression(it) => &it.expression,
                Expression::TSAsExpression(it) => {
                    let ty = self.type_of(&it.type_annotation);
                    self.expect_type(value, ty);
                    &it.expression
                }
                Expression::TSSatisfiesExpression(it) => {
                    let ty = self.type_of(&it.type_annotation);
                    self.expect_type(value, ty);
                    &it.expression
                }
                _ => return value,
            };
        }
    }

    pub(super) fn variables(&mut self, it: &VariableDeclaration<'a>) {
        let constant = it.kind != VariableDeclarationKind::Let && it.kind != VariableDeclarationKind::Var;
        for declarator in &it.declarations {
            self.variable(declarator, constant);
        }
    }

    fn variable(&mut self, it: &VariableDeclarator<'a>, constant: bool) {
        let ty = self.annotation(it.type_annotation.as_deref()).or_else(|| self.type_of_doc(self.doc));
        let plain = if constant { "constant" } else { "variable" };
        // Inside functions only what can be called or constructed is worth a name of its own.
        let outermost = self.functions.is_empty() && self.this.is_empty();
        let BindingPattern::BindingIdentifier(id) = &it.id else {
            let mut value = it.init.as_ref().map_or(super::lower::UNKNOWN, |init| self.lower(init));
            if let Some(ty) = ty {
                value = self.add(Expr::Cast(value, ty));
            }
            let first = self.out.bindings.len();
            self.bind(&it.id, &Origin::Value(value, Vec::new()));
            if outermost {
                for at in first..self.out.bindings.len() {
                    let name = self.out.name(self.out.bindings[at].name).to_owned();
                    self.out.bindings[at].symbol = Some(self.symbol(&name, plain, it.span));
                }
            }
            return;
        };
        let kind = match it.init.as_ref().map(bare) {
            Some(Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_)) => "function",
            Some(Expression::ClassExpression(_)) => "class",
            _ => plain,
        };
        let symbol = (outermost || kind != plain).then(|| self.symbol(&id.name, kind, it.span));
        let value = it.init.as_ref().map(|init| match symbol {
            Some(symbol) => self.valued(symbol, init),
            None => self.lower(init),
        });
        if let Some(value) = value {
            self.expect_type(value, ty);
        }
        let Some(id) = id.symbol_id.get() else { return };
        let binding = self.binding(id);
        self.declare(binding);
        let binding = &mut self.out.bindings[binding as usize];
        binding.ty = ty;
        binding.symbol = symbol;
        match (value, &binding.origin) {
            (Some(value), Origin::Unknown) => binding.origin = Origin::Value(value, Vec::new()),
            // `var x` a second time.
            (Some(value), _) => binding.writes.push(Write { value, appends: false, certain: false, fallback: false }),
            (None, _) => {}
        }
    }

    /// Binds the names of a pattern to parts of a value.
    pub(super) fn bind(&mut self, pattern: &BindingPattern<'a>, origin: &Origin) {
        match pattern {
            BindingPattern::BindingIdentifier(it) => {
                if let Some(symbol) = it.symbol_id.get() {
                    let binding = self.binding(symbol);
                    self.declare(binding);
                    self.out.bindings[binding as usize].origin = origin.clone();
                }
            }
            BindingPattern::AssignmentPattern(it) => {
                let default = self.lower(&it.right);
                self.bind(&it.left, origin);
                if let BindingPattern::BindingIdentifier(id) = &it.left
                    && let Some(symbol) = id.symbol_id.get()
                {
                    let binding = self.binding(symbol);
                    let default = Write { value: default, appends: false, certain: false, fallback: true };
                    self.out.bindings[binding as usize].writes.push(default);
                }
            }
            BindingPattern::ObjectPattern(it) => {
                for property in &it.properties {
                    let origin = match self.property_key(&property.key) {
                        Some(name) => into(origin, Step::Member(name)),
                        None => Origin::Unknown,
                    };
                    self.bind(&property.value, &origin);
                }
                if let Some(rest) = &it.rest {
                    self.bind(&rest.argument, &into(origin, Step::Rest));
                }
            }
            BindingPattern::ArrayPattern(it) => {
                for (at, element) in it.elements.iter().enumerate() {
                    if let Some(element) = element {
                        let at = u32::try_from(at).unwrap_or(u32::MAX);
                        self.bind(element, &into(origin, Step::Element(at)));
                    }
                }
                if let Some(rest) = &it.rest {
                    self.bind(&rest.argument, &Origin::Unknown);
                }
            }
        }
    }
}

/// An expression without parentheses and type annotations.
pub(super) fn bare<'e, 'a>(it: &'e Expression<'a>) -> &'e Expression<'a> {
    match it {
        Expression::ParenthesizedExpression(it) => bare(&it.expression),
        Expression::TSAsExpression(it) => bare(&it.expression),
        Expression::TSSatisfiesExpression(it) => bare(&it.expression),
        Expression::TSNonNullExpression(it) => bare(&it.expression),
        other => other,
    }
}

fn into(origin: &Origin, step: Step) -> Origin {
    let mut origin = origin.clone();
    match &mut origin {
        Origin::Value(_, steps) | Origin::Parameter(_, _, steps) => steps.push(step),
        _ => return Origin::Unknown,
    }
    origin
}
