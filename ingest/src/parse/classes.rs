//! Classes: what they extend, and their members.

use oxc_ast::ast::{BindingPattern, Class as AstClass, ClassElement, FormalParameters, MethodDefinitionKind};
use oxc_ast_visit::{Visit, walk};
use oxc_span::Span;

use super::facts::{Class, ClassId, Expr, ExprId, Member, MemberKind, Name, Origin, SymbolIndex};
use super::lower::{Lower, This};

impl<'a> Lower<'_, 'a> {
    pub(super) fn class_expression(&mut self, it: &AstClass<'a>, symbol: Option<SymbolIndex>) -> ExprId {
        let symbol = symbol.or_else(|| it.id.as_ref().map(|id| self.symbol(&id.name, "class", it.span)));
        let id = self.class(it, symbol);
        self.add(Expr::Class(id))
    }

    pub(super) fn class_declaration(&mut self, it: &AstClass<'a>) -> ClassId {
        let name = it.id.as_ref().map_or("default", |id| id.name.as_str());
        let symbol = self.symbol(name, "class", it.span);
        self.class(it, Some(symbol))
    }

    fn class(&mut self, it: &AstClass<'a>, symbol: Option<SymbolIndex>) -> ClassId {
        for decorator in &it.decorators {
            self.visit_decorator(decorator);
        }
        let extends = it.heritage.as_ref().map(|heritage| self.lower(&heritage.expression));
        let id = u32::try_from(self.out.classes.len()).unwrap_or(u32::MAX);
        let line = self.positions.line(it.span.start);
        self.out.classes.push(Class { symbol, extends, line, ..Class::default() });
        if let Some(own) = it.id.as_ref().and_then(|id| id.symbol_id.get()) {
            let binding = self.binding(own);
            let binding = &mut self.out.bindings[binding as usize];
            binding.origin = Origin::Class(id);
            binding.symbol = symbol;
        }
        let doc = self.doc.take();
        match symbol {
            Some(symbol) => self.inside(symbol, |this| this.class_body(it, id)),
            None => self.class_body(it, id),
        }
        self.doc = doc;
        id
    }

    fn class_body(&mut self, it: &AstClass<'a>, id: ClassId) {
        for element in &it.body.body {
            match element {
                ClassElement::MethodDefinition(method) => {
                    for decorator in &method.decorators {
                        self.visit_decorator(decorator);
                    }
                    let name = self.property_key(&method.key);
                    if method.kind == MethodDefinitionKind::Constructor {
                        self.parameter_properties(&method.value.params, id);
                    }
                    let symbol = match name {
                        Some(name) if method.value.body.is_some() => {
                            let text = self.out.name(name).to_owned();
                            Some(self.symbol(&text, "method", method.span))
                        }
                        _ => None,
                    };
                    self.doc = self.doc_before(method.span.start);
                    let function = self.own_this(&method.value, symbol, This::in_class(id, method.r#static));
                    self.doc = None;
                    let kind = match method.kind {
                        MethodDefinitionKind::Get => MemberKind::Getter(function),
                        MethodDefinitionKind::Method => MemberKind::Method(function),
                        MethodDefinitionKind::Constructor => {
                            self.out.classes[id as usize].constructor = Some(function);
                            continue;
                        }
                        MethodDefinitionKind::Set => continue,
                    };
                    if let Some(name) = name {
                        self.add_member(id, name, method.r#static, kind, method.span);
                    }
                }
                ClassElement::PropertyDefinition(field) => {
                    for decorator in &field.decorators {
                        self.visit_decorator(decorator);
                    }
                    let Some(name) = self.property_key(&field.key) else {
                        if let Some(value) = &field.value {
                            self.lower(value);
                        }
                        continue;
                    };
                    self.doc = self.doc_before(field.span.start);
                    let ty = self.annotation(field.type_annotation.as_deref()).or_else(|| self.type_of_doc(self.doc));
                    self.this.push(This::in_class(id, field.r#static));
                    let value = field.value.as_ref().map(|value| self.named_value(name, value, field.span));
                    self.this.pop();
                    self.doc = None;
                    if let Some(value) = value {
                        self.expect_type(value, ty);
                    }
                    self.add_member(id, name, field.r#static, MemberKind::Field(ty, value), field.span);
                }
                ClassElement::AccessorProperty(field) => {
                    if let Some(value) = &field.value {
                        self.lower(value);
                    }
                }
                ClassElement::StaticBlock(block) => {
                    self.this.push(This::Class(id));
                    walk::walk_static_block(self, block);
                    self.this.pop();
                }
                ClassElement::TSIndexSignature(_) => {}
            }
        }
    }

    /// `constructor(private readonly stripe: Stripe)` declares a field.
    fn parameter_properties(&mut self, it: &FormalParameters<'a>, class: ClassId) {
        for parameter in &it.items {
            if parameter.accessibility.is_none() && !parameter.readonly && !parameter.r#override {
                continue;
            }
            if let BindingPattern::BindingIdentifier(id) = &parameter.pattern {
                let name = self.name(&id.name);
                let ty = self.annotation(parameter.type_annotation.as_deref());
                let value = id.symbol_id.get().map(|symbol| {
                    let binding = self.binding(symbol);
                    self.add(Expr::Binding(binding))
                });
                self.add_member(class, name, false, MemberKind::Field(ty, value), parameter.span);
            }
        }
    }

    fn add_member(&mut self, class: ClassId, name: Name, is_static: bool, kind: MemberKind, span: Span) {
        let line = self.positions.line(span.start);
        self.out.classes[class as usize].members.push(Member { name, is_static, kind, line });
    }
}
