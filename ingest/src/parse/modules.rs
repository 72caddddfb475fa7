//! Imports and exports, of modules and of CommonJS.

use oxc_ast::ast::{
    Argument as AstArgument, AssignmentExpression, AssignmentTarget, CallExpression, Declaration, ExportAllDeclaration,
    ExportDeclaration, ExportDefaultDeclaration, ExportDefaultDeclarationKind, ExportFromDeclaration,
    ExportNamedDeclaration, Expression, ImportDeclaration, ImportDeclarationSpecifier, ModuleExportName,
    TSExportAssignment, TSImportEqualsDeclaration, TSModuleReference,
};
use oxc_span::{GetSpan, Span};

use super::declare::bare;
use super::expressions::written;
use super::facts::{BindingId, ExportFact, ExportValue, Expr, ExprId, ImportFact, Name, Origin, Property};
use super::lower::{Lower, UNKNOWN};

impl<'a> Lower<'_, 'a> {
    pub(super) fn add_import(&mut self, specifier: Name, name: &str, span: Span) {
        let names = if name.is_empty() { Vec::new() } else { vec![self.name(name)] };
        let line = self.positions.line(span.start);
        self.out.imports.push(ImportFact { specifier, names, modules: Vec::new(), line, implied: false });
    }

    /// An import that only a type makes, once for each name.
    pub(super) fn import_of_type(&mut self, specifier: Name, name: Option<Name>, span: Span) {
        if !self.typed.insert((specifier, name)) {
            return;
        }
        let line = self.positions.line(self.apart.unwrap_or(span).start);
        self.out.imports.push(ImportFact {
            specifier,
            names: name.into_iter().collect(),
            modules: Vec::new(),
            line,
            implied: false,
        });
    }

    pub(super) fn import_declaration(&mut self, it: &ImportDeclaration<'a>) {
        let specifier = self.name(&it.source.value);
        self.add_import(specifier, "", it.span);
        let at = self.out.imports.len() - 1;
        for import in it.specifiers.iter().flatten() {
            let (local, name) = match import {
                ImportDeclarationSpecifier::ImportSpecifier(it) => {
                    let name = self.name(&it.imported.name());
                    (&it.local, name)
                }
                ImportDeclarationSpecifier::ImportDefaultSpecifier(it) => (&it.local, self.name("default")),
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(it) => (&it.local, self.name("*")),
            };
            self.out.imports[at].names.push(name);
            if let Some(symbol) = local.symbol_id.get() {
                let binding = self.binding(symbol);
                self.out.bindings[binding as usize].origin = Origin::Import { specifier, name };
            }
        }
    }

    pub(super) fn import_equals(&mut self, it: &TSImportEqualsDeclaration<'a>) {
        let Some(symbol) = it.id.symbol_id.get() else { return };
        let binding = self.binding(symbol);
        match &it.module_reference {
            TSModuleReference::ExternalModuleReference(module) => {
                let specifier = self.name(&module.expression.value);
                self.add_import(specifier, "*", it.span);
                let name = self.name("=");
                self.out.bindings[binding as usize].origin = Origin::Import { specifier, name };
            }
            TSModuleReference::IdentifierReference(_) | TSModuleReference::QualifiedName(_) => {}
        }
    }

    pub(super) fn export_declaration(&mut self, it: &ExportDeclaration<'a>) {
        use oxc_ast_visit::Visit;
        self.visit_declaration(&it.declaration);
        match &it.declaration {
            Declaration::VariableDeclaration(variables) => {
                for declarator in &variables.declarations {
                    for id in declarator.id.get_binding_identifiers() {
                        self.export_symbol(id.symbol_id.get(), &id.name);
                    }
                }
            }
            Declaration::FunctionDeclaration(it) => {
                if let Some(id) = &it.id {
                    self.export_symbol(id.symbol_id.get(), &id.name);
                }
            }
            Declaration::ClassDeclaration(it) => {
                if let Some(id) = &it.id {
                    self.export_symbol(id.symbol_id.get(), &id.name);
                }
            }
            Declaration::TSTypeAliasDeclaration(it) => self.export_symbol(it.id.symbol_id.get(), &it.id.name),
            Declaration::TSInterfaceDeclaration(it) => self.export_symbol(it.id.symbol_id.get(), &it.id.name),
            Declaration::TSEnumDeclaration(it) => self.export_symbol(it.id.symbol_id.get(), &it.id.name),
            Declaration::TSNamespaceDeclaration(it) => self.export_symbol(it.id.symbol_id.get(), &it.id.name),
            Declaration::TSImportEqualsDeclaration(it) => self.export_symbol(it.id.symbol_id.get(), &it.id.name),
            Declaration::TSExternalModuleDeclaration(_) | Declaration::TSGlobalDeclaration(_) => {}
        }
    }

    pub(super) fn export_symbol(&mut self, symbol: Option<oxc_syntax::symbol::SymbolId>, name: &str) {
        let name = self.name(name);
        let value = match symbol {
            Some(symbol) => ExportValue::Binding(self.binding(symbol)),
            None => ExportValue::Unknown,
        };
        self.add_export(name, Some(name), value);
    }

    fn add_export(&mut self, name: Name, local: Option<Name>, value: ExportValue) {
        // Overloads declare a name several times.
        let export = ExportFact { name, local, value, internal: false };
        if self.exported.insert(export.clone()) {
            self.out.exports.push(export);
        }
    }

    pub(super) fn export_named(&mut self, it: &ExportNamedDeclaration<'a>) {
        for specifier in &it.specifiers {
            let name = self.name(&specifier.exported.name());
            let local = self.name(&specifier.local.name());
            let value = match &specifier.local {
                ModuleExportName::IdentifierReference(it) => match self.reference(it) {
                    Some(binding) => ExportValue::Binding(binding),
                    None => ExportValue::Unknown,
                },
                _ => ExportValue::Unknown,
            };
            self.add_export(name, Some(local), value);
        }
    }

    pub(super) fn export_from(&mut self, it: &ExportFromDeclaration<'a>) {
        let specifier = self.name(&it.source.value);
        self.add_import(specifier, "", it.span);
        let at = self.out.imports.len() - 1;
        for export in &it.specifiers {
            let name = self.name(&export.local.name());
            let exported = self.name(&export.exported.name());
            self.out.imports[at].names.push(name);
            self.add_export(exported, None, ExportValue::From { specifier, name });
        }
    }

    pub(super) fn export_all(&mut self, it: &ExportAllDeclaration<'a>) {
        let specifier = self.name(&it.source.value);
        self.add_import(specifier, "*", it.span);
        let star = self.name("*");
        let exported = match &it.exported {
            Some(name) => self.name(&name.name()),
            None => star,
        };
        self.add_export(exported, None, ExportValue::From { specifier, name: star });
    }

    pub(super) fn export_default(&mut self, it: &ExportDefaultDeclaration<'a>) {
        let name = self.name("default");
        match &it.declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(it) => {
                let function = self.function_declaration(it);
                if let Some(symbol) = it.id.as_ref().and_then(|id| id.symbol_id.get()) {
                    self.export_symbol_as(name, Some(symbol));
                } else {
                    let value = self.add(Expr::Function(function));
                    self.add_export(name, None, ExportValue::Expr(value));
                }
            }
            ExportDefaultDeclarationKind::ClassDeclaration(it) => {
                let class = self.class_declaration(it);
                if let Some(symbol) = it.id.as_ref().and_then(|id| id.symbol_id.get()) {
                    self.export_symbol_as(name, Some(symbol));
                } else {
                    let value = self.add(Expr::Class(class));
                    self.add_export(name, None, ExportValue::Expr(value));
                }
            }
            ExportDefaultDeclarationKind::TSInterfaceDeclaration(it) => {
                self.interface_declaration(it);
                self.export_symbol_as(name, it.id.symbol_id.get());
            }
            other => {
                if let Some(value) = other.as_expression() {
                    self.export_value(name, "default", value);
                }
            }
        }
    }

    pub(super) fn export_equals(&mut self, it: &TSExportAssignment<'a>) {
        let name = self.name("=");
        self.export_value(name, "default", &it.expression);
    }

    fn export_symbol_as(&mut self, name: Name, symbol: Option<oxc_syntax::symbol::SymbolId>) {
        if let Some(symbol) = symbol {
            let binding = self.binding(symbol);
            let local = self.out.bindings[binding as usize].name;
            self.add_export(name, Some(local), ExportValue::Binding(binding));
        }
    }

    /// Exports an expression; what has no name of its own becomes a symbol called `anonymous`.
    fn export_value(&mut self, name: Name, anonymous: &str, it: &Expression<'a>) -> ExprId {
        if let Expression::Identifier(identifier) = bare(it)
            && let Some(binding) = self.reference(identifier)
        {
            let local = self.out.bindings[binding as usize].name;
            self.add_export(name, Some(local), ExportValue::Binding(binding));
            return self.add(Expr::Binding(binding));
        }
        let kind = match bare(it) {
            Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_) => "function",
            Expression::ClassExpression(_) => "class",
            _ => "constant",
        };
        let symbol = self.symbol(anonymous, kind, it.span());
        self.out.symbols[symbol as usize].exported = true;
        let ty = self.type_of_doc(self.doc);
        let value = self.valued(symbol, it);
        self.expect_type(value, ty);
        self.add_export(name, None, ExportValue::Expr(value));
        value
    }

    /// `module.exports = …`, `exports.name = …`, `module.exports.name = …`.
    pub(super) fn export_assignment(&mut self, it: &AssignmentExpression<'a>) -> Option<ExprId> {
        let AssignmentTarget::StaticMemberExpression(target) = &it.left else { return None };
        let property = target.property.name.as_str();
        if self.is_global(&target.object, "module") && property == "exports" {
            let name = self.name("=");
            let value = self.export_value(name, "default", &it.right);
            if let Expr::Object(properties) = self.out.expr(value).clone() {
                for property in properties {
                    if let Property::Named(name, value) = property {
                        self.add_export(name, None, ExportValue::Expr(value));
                    }
                }
            }
            return Some(value);
        }
        let exports = match &target.object {
            Expression::StaticMemberExpression(inner) => {
                inner.property.name == "exports" && self.is_global(&inner.object, "module")
            }
            object => self.is_global(object, "exports"),
        };
        if !exports {
            return None;
        }
        let name = self.name(property);
        let property = property.to_owned();
        Some(self.export_value(name, &property, &it.right))
    }

    fn is_global(&self, it: &Expression<'a>, name: &str) -> bool {
        matches!(it, Expression::Identifier(it) if it.name == name && self.semantic.is_reference_to_global_variable(it))
    }

    /// The specifier of a `require("…")`.
    pub(super) fn required(&mut self, it: &CallExpression<'a>) -> Option<Name> {
        if !self.is_global(&it.callee, "require") {
            return None;
        }
        match it.arguments.first() {
            Some(argument) => {
                let specifier = written(argument.as_expression()?)?;
                Some(self.name(&specifier))
            }
            None => None,
        }
    }

    /// Remembers `jest.mock("…")` and its like: what they name is not what it is called in this file.
    pub(super) fn note_mock(&mut self, it: &CallExpression<'a>, callee: ExprId) {
        let Expr::Member(object, method) = *self.out.expr(callee) else { return };
        let runner = match *self.out.expr(object) {
            Expr::Global(name) => name,
            Expr::Binding(binding) => self.out.bindings[binding as usize].name,
            _ => return,
        };
        if !matches!(self.out.name(runner), "jest" | "vi" | "vitest" | "mock" | "td")
            || !matches!(self.out.name(method), "mock" | "doMock" | "unstable_mockModule" | "module" | "replace")
        {
            return;
        }
        let specifier = match it.arguments.first() {
            Some(AstArgument::StringLiteral(it)) => self.name(&it.value),
            Some(AstArgument::ImportExpression(it)) => match &it.source {
                Expression::StringLiteral(it) => self.name(&it.value),
                _ => return,
            },
            _ => return,
        };
        self.out.mocks.push(specifier);
    }

    /// Names that other files can import.
    pub(super) fn exported_bindings(&self) -> impl Iterator<Item = BindingId> + '_ {
        self.out.exports.iter().filter_map(|export| match export.value {
            ExportValue::Binding(binding) => Some(binding),
            _ => None,
        })
    }

    /// Marks the symbols that other files can import.
    pub(super) fn mark_exported(&mut self) {
        let exported: Vec<BindingId> = self.exported_bindings().collect();
        let mut symbols: Vec<u32> =
            exported.iter().filter_map(|binding| self.out.bindings[*binding as usize].symbol).collect();
        for export in &self.out.exports {
            if let ExportValue::Expr(value) = export.value {
                match self.out.expr(value) {
                    Expr::Function(id) => symbols.extend(self.out.functions[*id as usize].symbol),
                    Expr::Class(id) => symbols.extend(self.out.classes[*id as usize].symbol),
                    _ => {}
                }
            }
        }
        for symbol in symbols {
            self.out.symbols[symbol as usize].exported = true;
        }
        debug_assert_eq!(self.out.expr(UNKNOWN), &Expr::Unknown);
    }
}
