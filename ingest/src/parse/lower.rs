//! One visit over the syntax tree that writes down symbols and the flow of values.

use std::collections::{HashMap, HashSet};

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    CatchClause, DoWhileStatement, Expression, ForInStatement, ForOfStatement, ForStatement, ForStatementLeft,
    IdentifierReference, IfStatement, Program, ReturnStatement, Statement, SwitchCase, TSType, VariableDeclaration,
    WhileStatement,
};
use oxc_ast_visit::{Visit, walk};
use oxc_semantic::Semantic;
use oxc_span::{GetSpan, Span};
use oxc_syntax::symbol::SymbolId;

use super::facts::{
    Binding, BindingId, CallFact, ClassId, ExportFact, Expr, ExprId, FunctionId, Name, Origin, ParsedFile, Step,
    SymbolIndex,
};
use super::jsdoc::Docs;
use super::positions::Positions;
use super::tokens::Tokens;
use super::uses;

/// The expression that stands for everything that is not followed.
pub(super) const UNKNOWN: ExprId = 0;

/// Visits a program. In JavaScript, types that comments declare count.
pub(super) fn lower<'a>(
    program: &Program<'a>,
    semantic: &Semantic<'a>,
    text: &str,
    allocator: &'a Allocator,
) -> ParsedFile {
    let positions = Positions::new(text);
    let docs = if program.source_type.is_javascript() { Docs::of(program, allocator) } else { None };
    let mut lower = Lower {
        semantic,
        tokens: Tokens::new(semantic.nodes()),
        names: HashMap::new(),
        binding_of: vec![None; semantic.scoping().symbols_len()],
        functions: Vec::new(),
        this: Vec::new(),
        method_of: None,
        scopes: Vec::new(),
        ordinals: HashMap::new(),
        docs,
        doc: None,
        apart: None,
        exported: HashSet::new(),
        typed: HashSet::new(),
        region: 0,
        regions: 0,
        declared_in: Vec::new(),
        out: ParsedFile { lines: positions.lines(), exprs: vec![Expr::Unknown], ..ParsedFile::default() },
        positions,
    };
    lower.documented_names();
    lower.visit_program(program);
    lower.mark_exported();
    lower.mark_closed();
    lower.out
}

/// A named place that names below it are qualified with.
pub(super) struct Scope {
    pub(super) qualified: String,
    pub(super) symbol: Option<SymbolIndex>,
}

/// What `this` is.
#[derive(Debug, Clone, Copy)]
pub(super) enum This {
    Unknown,
    Instance(ClassId),
    Class(ClassId),
    /// An object literal.
    Object(ExprId),
}

impl This {
    /// In a member of a class.
    pub(super) const fn in_class(class: ClassId, is_static: bool) -> Self {
        if is_static { Self::Class(class) } else { Self::Instance(class) }
    }
}

/// The visitor.
pub(super) struct Lower<'s, 'a> {
    pub(super) semantic: &'s Semantic<'a>,
    pub(super) positions: Positions,
    pub(super) out: ParsedFile,
    pub(super) functions: Vec<FunctionId>,
    pub(super) this: Vec<This>,
    /// The object literal of which a method comes next.
    pub(super) method_of: Option<ExprId>,
    pub(super) scopes: Vec<Scope>,
    pub(super) ordinals: HashMap<String, u32>,
    /// Comments that declare types.
    pub(super) docs: Option<Docs<'a>>,
    /// The comment of the statement or member in hand, until a function takes it.
    pub(super) doc: Option<(Span, &'a str)>,
    /// The comment out of which a type is read, whose syntax tree is apart from the file's.
    pub(super) apart: Option<Span>,
    /// What is exported so far.
    pub(super) exported: HashSet<ExportFact>,
    /// Imports that types make, so far.
    pub(super) typed: HashSet<(Name, Option<Name>)>,
    /// The branch, loop body or function in hand: what happens in another one may not happen.
    pub(super) region: u32,
    regions: u32,
    /// The region that each binding is declared in.
    declared_in: Vec<u32>,
    pub(super) tokens: Tokens,
    names: HashMap<String, Name>,
    binding_of: Vec<Option<BindingId>>,
}

impl<'a> Lower<'_, 'a> {
    pub(super) fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.names.get(text) {
            return *name;
        }
        let name = u32::try_from(self.out.names.len()).unwrap_or(u32::MAX);
        self.out.names.push(text);
        self.names.insert(text.to_owned(), name);
        name
    }

    pub(super) fn add(&mut self, expr: Expr) -> ExprId {
        self.out.exprs.push(expr);
        u32::try_from(self.out.exprs.len() - 1).unwrap_or(u32::MAX)
    }

    /// The binding of a declared name, made on first mention (functions are used before they are declared).
    pub(super) fn binding(&mut self, symbol: SymbolId) -> BindingId {
        if let Some(binding) = self.binding_of[symbol.index()] {
            return binding;
        }
        let scoping = self.semantic.scoping();
        let name = self.name(scoping.symbol_name(symbol));
        let line = self.positions.line(scoping.symbol_span(symbol).start);
        let binding = self.add_binding(name, line);
        self.binding_of[symbol.index()] = Some(binding);
        binding
    }

    pub(super) fn add_binding(&mut self, name: Name, line: u32) -> BindingId {
        let binding = u32::try_from(self.out.bindings.len()).unwrap_or(u32::MAX);
        let origin = Origin::Unknown;
        self.out.bindings.push(Binding { name, origin, ty: None, writes: Vec::new(), line, symbol: None });
        self.declared_in.push(u32::MAX);
        binding
    }

    /// Remembers where a name is declared.
    pub(super) fn declare(&mut self, binding: BindingId) {
        self.declared_in[binding as usize] = self.region;
    }

    /// Whether what is done here to a name is done wherever it is declared.
    pub(super) fn is_certain(&self, binding: BindingId) -> bool {
        self.declared_in[binding as usize] == self.region
    }

    /// Visits what may not happen, or happen several times.
    pub(super) fn perhaps<T>(&mut self, visit: impl FnOnce(&mut Self) -> T) -> T {
        self.regions += 1;
        let outer = std::mem::replace(&mut self.region, self.regions);
        let value = visit(self);
        self.region = outer;
        value
    }

    /// What a name of the outermost scope refers to.
    pub(super) fn root_binding(&self, name: &str) -> Option<SymbolId> {
        self.semantic.scoping().get_root_binding(name.into())
    }

    /// What an identifier refers to; `None` for a global.
    pub(super) fn reference(&mut self, it: &IdentifierReference<'a>) -> Option<BindingId> {
        if self.apart.is_some() {
            let known = self.documented_binding(&it.name);
            return known.or_else(|| self.root_binding(&it.name).map(|symbol| self.binding(symbol)));
        }
        let reference = it.reference_id.get()?;
        let symbol = self.semantic.scoping().get_reference(reference).symbol_id()?;
        Some(self.binding(symbol))
    }

    /// Marks the functions of which all that becomes is that this file calls them, where it matters: where they return
    /// what a call gave.
    fn mark_closed(&mut self) {
        let returns = |call: &&CallFact| !call.uses.returned.is_empty();
        let returning: HashSet<FunctionId> =
            self.out.calls.iter().filter(returns).filter_map(|call| call.function).collect();
        if returning.is_empty() {
            return;
        }
        let exported: HashSet<BindingId> = self.exported_bindings().collect();
        for (at, binding) in self.binding_of.iter().enumerate() {
            let Some(binding) = *binding else { continue };
            let it = &self.out.bindings[binding as usize];
            let function = match &it.origin {
                Origin::Function(function) => *function,
                Origin::Value(value, steps) if steps.is_empty() => match self.out.exprs[*value as usize] {
                    Expr::Function(function) => function,
                    _ => continue,
                },
                _ => continue,
            };
            let closed = it.writes.is_empty()
                && returning.contains(&function)
                && !exported.contains(&binding)
                && uses::is_only_called(self.semantic, SymbolId::from_usize(at));
            self.out.functions[function as usize].closed = closed;
        }
    }

    pub(super) fn enclosing(&self) -> Option<SymbolIndex> {
        self.scopes.iter().rev().find_map(|scope| scope.symbol)
    }
}

impl<'a> Visit<'a> for Lower<'_, 'a> {
    fn visit_expression(&mut self, it: &Expression<'a>) {
        self.lower(it);
    }

    fn visit_statement(&mut self, it: &Statement<'a>) {
        self.doc = self.doc_before(it.span().start);
        walk::walk_statement(self, it);
        self.doc = None;
    }

    fn visit_if_statement(&mut self, it: &IfStatement<'a>) {
        self.visit_expression(&it.test);
        self.perhaps(|this| this.visit_statement(&it.consequent));
        if let Some(alternate) = &it.alternate {
            self.perhaps(|this| this.visit_statement(alternate));
        }
    }

    fn visit_while_statement(&mut self, it: &WhileStatement<'a>) {
        self.perhaps(|this| walk::walk_while_statement(this, it));
    }

    fn visit_do_while_statement(&mut self, it: &DoWhileStatement<'a>) {
        self.perhaps(|this| walk::walk_do_while_statement(this, it));
    }

    fn visit_for_statement(&mut self, it: &ForStatement<'a>) {
        self.perhaps(|this| walk::walk_for_statement(this, it));
    }

    fn visit_for_in_statement(&mut self, it: &ForInStatement<'a>) {
        self.perhaps(|this| {
            if let Some(target) = it.left.as_assignment_target() {
                this.assign(target, UNKNOWN);
            }
            walk::walk_for_in_statement(this, it);
        });
    }

    fn visit_switch_case(&mut self, it: &SwitchCase<'a>) {
        self.perhaps(|this| walk::walk_switch_case(this, it));
    }

    fn visit_catch_clause(&mut self, it: &CatchClause<'a>) {
        self.perhaps(|this| walk::walk_catch_clause(this, it));
    }

    // Types are read where they are declared, never walked.
    fn visit_ts_type(&mut self, _: &TSType<'a>) {}

    fn visit_return_statement(&mut self, it: &ReturnStatement<'a>) {
        if let Some(argument) = &it.argument {
            let value = self.lower(argument);
            if let Some(function) = self.functions.last() {
                self.out.functions[*function as usize].returns.push(value);
            }
        }
    }

    fn visit_for_of_statement(&mut self, it: &ForOfStatement<'a>) {
        let list = self.lower(&it.right);
        self.perhaps(|this| {
            match &it.left {
                ForStatementLeft::VariableDeclaration(declaration) => {
                    for declarator in &declaration.declarations {
                        this.bind(&declarator.id, &Origin::Value(list, vec![Step::Item]));
                    }
                }
                left => {
                    if let Some(target) = left.as_assignment_target() {
                        let item = this.add(Expr::Index(list));
                        this.assign(target, item);
                    }
                }
            }
            this.visit_statement(&it.body);
        });
    }

    fn visit_jsx_opening_element(&mut self, it: &oxc_ast::ast::JSXOpeningElement<'a>) {
        self.opening_element(it);
    }

    fn visit_decorator(&mut self, it: &oxc_ast::ast::Decorator<'a>) {
        self.decorator(it);
    }

    fn visit_tagged_template_expression(&mut self, it: &oxc_ast::ast::TaggedTemplateExpression<'a>) {
        self.tagged_template(it);
    }

    fn visit_variable_declaration(&mut self, it: &VariableDeclaration<'a>) {
        self.variables(it);
    }

    fn visit_function(&mut self, it: &oxc_ast::ast::Function<'a>, _: oxc_syntax::scope::ScopeFlags) {
        self.function_declaration(it);
    }

    fn visit_class(&mut self, it: &oxc_ast::ast::Class<'a>) {
        self.class_declaration(it);
    }

    fn visit_ts_interface_declaration(&mut self, it: &oxc_ast::ast::TSInterfaceDeclaration<'a>) {
        self.interface_declaration(it);
    }

    fn visit_ts_type_alias_declaration(&mut self, it: &oxc_ast::ast::TSTypeAliasDeclaration<'a>) {
        self.alias_declaration(it);
    }

    fn visit_ts_enum_declaration(&mut self, it: &oxc_ast::ast::TSEnumDeclaration<'a>) {
        self.enum_declaration(it);
    }

    fn visit_ts_namespace_declaration(&mut self, it: &oxc_ast::ast::TSNamespaceDeclaration<'a>) {
        self.namespace_declaration(it);
    }

    // What `declare module "stripe" { … }` says is about another module.
    fn visit_ts_external_module_declaration(&mut self, _: &oxc_ast::ast::TSExternalModuleDeclaration<'a>) {}

    fn visit_import_declaration(&mut self, it: &oxc_ast::ast::ImportDeclaration<'a>) {
        self.import_declaration(it);
    }

    fn visit_ts_import_equals_declaration(&mut self, it: &oxc_ast::ast::TSImportEqualsDeclaration<'a>) {
        self.import_equals(it);
    }

    fn visit_export_declaration(&mut self, it: &oxc_ast::ast::ExportDeclaration<'a>) {
        self.export_declaration(it);
    }

    fn visit_export_named_declaration(&mut self, it: &oxc_ast::ast::ExportNamedDeclaration<'a>) {
        self.export_named(it);
    }

    fn visit_export_from_declaration(&mut self, it: &oxc_ast::ast::ExportFromDeclaration<'a>) {
        self.export_from(it);
    }

    fn visit_export_all_declaration(&mut self, it: &oxc_ast::ast::ExportAllDeclaration<'a>) {
        self.export_all(it);
    }

    fn visit_export_default_declaration(&mut self, it: &oxc_ast::ast::ExportDefaultDeclaration<'a>) {
        self.export_default(it);
    }

    fn visit_ts_export_assignment(&mut self, it: &oxc_ast::ast::TSExportAssignment<'a>) {
        self.export_equals(it);
    }
}
