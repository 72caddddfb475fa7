//! Calls that are not written as calls: components in markup, decorators, and templates with a tag.

use oxc_ast::ast::{
    Decorator, Expression, JSXElementName, JSXMemberExpression, JSXMemberExpressionObject, JSXOpeningElement,
    TaggedTemplateExpression,
};
use oxc_ast_visit::walk;
use oxc_span::Span;

use super::declare::bare;
use super::facts::{Expr, ExprId, ImplicitCall};
use super::lower::Lower;

impl<'a> Lower<'_, 'a> {
    /// A component; elements whose names start with a small letter are the browser's own.
    pub(super) fn opening_element(&mut self, it: &JSXOpeningElement<'a>) {
        let component = match &it.name {
            JSXElementName::IdentifierReference(name) => Some(self.identifier(name)),
            JSXElementName::MemberExpression(member) => Some(self.component_member(member)),
            JSXElementName::Identifier(_) | JSXElementName::NamespacedName(_) | JSXElementName::ThisExpression(_) => {
                None
            }
        };
        if let Some(component) = component {
            self.call_implicitly(component, it.span);
        }
        walk::walk_jsx_opening_element(self, it);
    }

    fn component_member(&mut self, it: &JSXMemberExpression<'a>) -> ExprId {
        let mut names = vec![&it.property.name];
        let mut at = &it.object;
        let mut value = loop {
            match at {
                JSXMemberExpressionObject::MemberExpression(inner) => {
                    names.push(&inner.property.name);
                    at = &inner.object;
                }
                JSXMemberExpressionObject::IdentifierReference(name) => break self.identifier(name),
                JSXMemberExpressionObject::ThisExpression(_) => break self.this_value(),
            }
        };
        for name in names.into_iter().rev() {
            let name = self.name(name);
            value = self.add(Expr::Member(value, name));
        }
        value
    }

    pub(super) fn decorator(&mut self, it: &Decorator<'a>) {
        let value = self.lower(&it.expression);
        // `@decorated()` is a call that stands there.
        if !matches!(bare(&it.expression), Expression::CallExpression(_)) {
            self.call_implicitly(value, it.span);
        }
    }

    pub(super) fn tagged_template(&mut self, it: &TaggedTemplateExpression<'a>) {
        let tag = self.lower(&it.tag);
        self.call_implicitly(tag, it.span);
        walk::walk_template_literal(self, &it.quasi);
    }

    fn call_implicitly(&mut self, callee: ExprId, span: Span) {
        let line = self.positions.line(span.start);
        let symbol = self.enclosing();
        self.out.implicit.push(ImplicitCall { callee, line, symbol });
    }
}
