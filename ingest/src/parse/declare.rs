//! Declarations: symbols, bindings, functions and classes.

use oxc_ast::ast::{
    ArrowFunctionBody, ArrowFunctionExpression, BindingPattern, Class as AstClass, ClassElement, Expression,
    FormalParameters, Function as AstFunction, FunctionBody, MethodDefinitionKind, TSEnumDeclaration, TSEnumMemberName,
    TSInterfaceDeclaration, TSNamespaceDeclaration, TSNamespaceDeclarationBody, TSTypeAliasDeclaration,
    TSTypeAnnotation, VariableDeclaration, VariableDeclarationKind, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_span::Span;
use sync_core::graph::Symbol;

use super::facts::{
    BindingId, Class, ClassId, ExportFact, ExportValue, Expr, ExprId, Function, FunctionId, Member, MemberKind, Name,
    Origin, Parameter, Property, Step, SymbolIndex, TypeId, Write,
};
use super::lower::{Lower, Scope, This};
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

    fn function(
        &mut self,
        parameters: &FormalParameters<'a>,
        return_type: Option<&TSTypeAnnotation<'a>>,
        symbol: Option<SymbolIndex>,
        body: impl FnOnce(&mut Self, FunctionId),
    ) -> FunctionId {
        let id = u32::try_from(self.out.functions.len()).unwrap_or(u32::MAX);
        let return_type = self.annotation(return_type);
        let scope = symbol.or_else(|| self.enclosing());
        let outer = self.functions.last().copied();
        self.out.functions.push(Function { return_type, symbol, scope, outer, ..Function::default() });
        self.functions.push(id);
        let doc = self.doc.take();
        self.perhaps(|this| {
            this.parameters(id, parameters);
            let is_about = doc.is_some_and(|doc| {
                let names: Vec<Option<&str>> = parameters.items.iter().map(|it| plain_name(&it.pattern)).collect();
                this.document_function(id, &names, doc)
            });
            match symbol {
                Some(symbol) => this.inside(symbol, |this| body(this, id)),
                None => body(this, id),
            }
            // It may be about a function further on in the statement.
            this.doc = doc.filter(|_| !is_about);
        });
        self.functions.pop();
        id
    }

    fn parameters(&mut self, id: FunctionId, parameters: &FormalParameters<'a>) {
        for (at, parameter) in parameters.items.iter().enumerate() {
            let ty = self.annotation(parameter.type_annotation.as_deref());
            let default = parameter.initializer.as_ref().map(|it| self.lower(it));
            self.out.functions[id as usize].parameters.push(Parameter { ty, default, name: None });
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            self.bind(&parameter.pattern, &Origin::Parameter(id, at, Vec::new()));
            for decorator in &parameter.decorators {
                self.visit_decorator(decorator);
            }
        }
        if let Some(rest) = &parameters.rest {
            // A place behind those of the parameters: a list of what else is given.
            let at = u32::try_from(parameters.items.len()).unwrap_or(u32::MAX);
            self.bind(&rest.rest.argument, &Origin::Parameter(id, at, vec![Step::Rest]));
        }
    }

    /// Remembers the type that the place of a value declares, where the value is a function: it says what the
    /// parameters are.
    pub(super) fn expect_type(&mut self, value: ExprId, ty: Option<TypeId>) {
        if let (&Expr::Function(function), Some(ty)) = (self.out.expr(value), ty) {
            self.out.functions[function as usize].declared = Some(ty);
        }
    }

    fn body(&mut self, it: Option<&FunctionBody<'a>>) {
        if let Some(it) = it {
            walk::walk_function_body(self, it);
        }
    }

    pub(super) fn arrow(&mut self, it: &ArrowFunctionExpression<'a>, symbol: Option<SymbolIndex>) -> ExprId {
        let id = self.function(&it.params, it.return_type.as_deref(), symbol, |this, id| match &it.body {
            ArrowFunctionBody::FunctionBody(body) => this.body(Some(body)),
            other => {
                if let Some(value) = other.as_expression() {
                    let value = this.lower(value);
                    this.out.functions[id as usize].returns.push(value);
                }
            }
        });
        self.add(Expr::Function(id))
    }

    /// A function that is not an arrow; `this` in it is what the caller says.
    fn own_this(&mut self, it: &AstFunction<'a>, symbol: Option<SymbolIndex>, this: This) -> FunctionId {
        self.this.push(this);
        let id = self.function(&it.params, it.return_type.as_deref(), symbol, |this, _| {
            this.body(it.body.as_deref());
        });
        self.this.pop();
        id
    }

    pub(super) fn function_expression(&mut self, it: &AstFunction<'a>, symbol: Option<SymbolIndex>) -> ExprId {
        let symbol = symbol.or_else(|| it.id.as_ref().map(|id| self.symbol(&id.name, "function", it.span)));
        let this = self.method_of.take().map_or(This::Unknown, This::Object);
        let id = self.own_this(it, symbol, this);
        if let Some(own) = it.id.as_ref().and_then(|id| id.symbol_id.get()) {
            let binding = self.binding(own);
            self.out.bindings[binding as usize].origin = Origin::Function(id);
        }
        self.add(Expr::Function(id))
    }

    pub(super) fn function_declaration(&mut self, it: &AstFunction<'a>) -> FunctionId {
        let name = it.id.as_ref().map_or("default", |id| id.name.as_str());
        // Overload signatures have no body and are not functions of their own.
        let symbol = (it.body.is_some() || it.declare).then(|| self.symbol(name, "function", it.span));
        let id = self.own_this(it, symbol, This::Unknown);
        if let Some(own) = it.id.as_ref().and_then(|id| id.symbol_id.get())
            && symbol.is_some()
        {
            let binding = self.binding(own);
            let binding = &mut self.out.bindings[binding as usize];
            binding.origin = Origin::Function(id);
            binding.symbol = symbol;
        }
        id
    }

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

    pub(super) fn interface_declaration(&mut self, it: &TSInterfaceDeclaration<'a>) {
        let symbol = self.symbol(&it.id.name, "interface", it.span);
        let ty = self.interface(it);
        self.type_binding(it.id.symbol_id.get(), ty, symbol);
    }

    pub(super) fn alias_declaration(&mut self, it: &TSTypeAliasDeclaration<'a>) {
        let symbol = self.symbol(&it.id.name, "type", it.span);
        if let Some(ty) = self.type_of(&it.type_annotation) {
            self.type_binding(it.id.symbol_id.get(), ty, symbol);
        }
    }

    fn type_binding(&mut self, id: Option<oxc_syntax::symbol::SymbolId>, ty: u32, symbol: SymbolIndex) {
        let Some(id) = id else { return };
        let binding = self.binding(id);
        let binding = &mut self.out.bindings[binding as usize];
        // A class and an interface of one name are one thing; the class says more.
        if binding.origin == Origin::Unknown {
            binding.origin = Origin::Type(ty);
            binding.symbol = Some(symbol);
        }
    }

    pub(super) fn enum_declaration(&mut self, it: &TSEnumDeclaration<'a>) {
        let symbol = self.symbol(&it.id.name, "enum", it.span);
        self.inside(symbol, |this| walk::walk_ts_enum_body(this, &it.body));
        // Members that are texts are read as those of an object are.
        let mut members = Vec::new();
        for member in &it.body.members {
            if let (TSEnumMemberName::Identifier(name), Some(Expression::StringLiteral(text))) =
                (&member.id, &member.initializer)
            {
                let name = self.name(&name.name);
                members.push(Property::Named(name, self.text(&text.value)));
            }
        }
        let value = (!members.is_empty()).then(|| self.add(Expr::Object(members)));
        if let Some(id) = it.id.symbol_id.get() {
            let binding = self.binding(id);
            let binding = &mut self.out.bindings[binding as usize];
            binding.symbol = Some(symbol);
            if let Some(value) = value
                && binding.origin == Origin::Unknown
            {
                binding.origin = Origin::Value(value, Vec::new());
            }
        }
    }

    pub(super) fn namespace_declaration(&mut self, it: &TSNamespaceDeclaration<'a>) {
        let symbol = self.symbol(&it.id.name, "namespace", it.span);
        if let Some(id) = it.id.symbol_id.get() {
            let binding = self.binding(id);
            let binding = &mut self.out.bindings[binding as usize];
            binding.symbol = binding.symbol.or(Some(symbol));
        }
        // What a namespace exports is not exported by the file: it is a member of the namespace.
        let exports = self.out.exports.len();
        self.inside(symbol, |this| match &it.body {
            TSNamespaceDeclarationBody::TSModuleBlock(block) => walk::walk_ts_module_block(this, block),
            TSNamespaceDeclarationBody::TSNamespaceDeclaration(inner) => {
                this.namespace_declaration(inner);
                this.export_symbol(inner.id.symbol_id.get(), &inner.id.name);
            }
        });
        let members = self.out.exports.split_off(exports);
        for member in &members {
            self.exported.remove(member);
        }
        if let Some(id) = it.id.symbol_id.get() {
            let binding = self.binding(id);
            self.add_namespace(binding, &members);
        }
    }

    /// Gives what a namespace exports to its name, which may have been declared before.
    fn add_namespace(&mut self, binding: BindingId, members: &[ExportFact]) {
        let mut properties = Vec::with_capacity(members.len());
        for member in members {
            if let ExportValue::Binding(value) = member.value {
                let value = self.add(Expr::Binding(value));
                properties.push((member.name, value));
            }
        }
        match self.out.bindings[binding as usize].origin.clone() {
            Origin::Class(class) => {
                let line = self.out.bindings[binding as usize].line;
                let members = properties.into_iter().map(|(name, value)| Member {
                    name,
                    is_static: true,
                    kind: MemberKind::Field(None, Some(value)),
                    line,
                });
                self.out.classes[class as usize].members.extend(members);
            }
            Origin::Function(_) => {
                for (name, value) in properties {
                    let object = self.add(Expr::Binding(binding));
                    let target = self.add(Expr::Member(object, name));
                    self.out.written.push((target, Write { value, appends: false, certain: true, fallback: false }));
                }
            }
            origin => {
                let mut all: Vec<Property> = Vec::new();
                if let Origin::Value(before, _) = origin {
                    all.push(Property::Spread(before));
                }
                all.extend(properties.into_iter().map(|(name, value)| Property::Named(name, value)));
                let value = self.add(Expr::Object(all));
                self.out.bindings[binding as usize].origin = Origin::Value(value, Vec::new());
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

fn plain_name<'p>(pattern: &'p BindingPattern<'_>) -> Option<&'p str> {
    match pattern {
        BindingPattern::BindingIdentifier(it) => Some(&it.name),
        BindingPattern::AssignmentPattern(it) => plain_name(&it.left),
        BindingPattern::ObjectPattern(_) | BindingPattern::ArrayPattern(_) => None,
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
