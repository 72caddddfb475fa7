//! Functions, arrows and methods: their parameters, what they return, and the types that their places declare.

use oxc_ast::ast::{
    ArrowFunctionBody, ArrowFunctionExpression, BindingPattern, FormalParameters, Function as AstFunction,
    FunctionBody, TSTypeAnnotation,
};
use oxc_ast_visit::{Visit, walk};

use super::facts::{Expr, ExprId, Function, FunctionId, Origin, Parameter, Step, SymbolIndex, TypeId};
use super::lower::{Lower, This};

impl<'a> Lower<'_, 'a> {
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
    pub(super) fn own_this(&mut self, it: &AstFunction<'a>, symbol: Option<SymbolIndex>, this: This) -> FunctionId {
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
}

fn plain_name<'p>(pattern: &'p BindingPattern<'_>) -> Option<&'p str> {
    match pattern {
        BindingPattern::BindingIdentifier(it) => Some(&it.name),
        BindingPattern::AssignmentPattern(it) => plain_name(&it.left),
        BindingPattern::ObjectPattern(_) | BindingPattern::ArrayPattern(_) => None,
    }
}
