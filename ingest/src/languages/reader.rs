//! The facts of one file in the making: names in their scopes, and what each is.

use std::collections::{HashMap, HashSet};

use sync_core::graph::Symbol;
use tree_sitter::Node;

use super::Grammar;
use super::rules::{Described, Rule};
use crate::names;
pub(super) use crate::parse::index;
use crate::parse::{
    Binding, BindingId, Class, ClassId, Expr, ExprId, FunctionId, Name, Origin, ParsedFile, Parser, Positions, Prefix,
    Step, SymbolIndex, Write,
};

/// Position among the scopes of a file.
pub(super) type ScopeId = usize;

/// The expression that stands for everything that is not followed.
pub(super) const UNKNOWN: ExprId = 0;

/// What a scope is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScopeKind {
    /// A file, or a module within it: names further out are not seen from it.
    Module,
    /// A function.
    Function,
    /// A class: functions in it do not see its names.
    Class,
    /// Anything else.
    Block,
}

/// Names, and where they stand.
#[derive(Debug)]
pub(super) struct Scope<'t> {
    pub(super) kind: ScopeKind,
    pub(super) parent: Option<ScopeId>,
    /// Each with the place from which on it counts.
    names: HashMap<&'t str, Vec<(u32, BindingId)>>,
    /// Names that are of a scope further out, whatever this one does with them.
    pub(super) outer: HashSet<&'t str>,
    /// Modules of which every name counts.
    pub(super) stars: Vec<Name>,
    pub(super) symbol: Option<SymbolIndex>,
    /// What qualified names of symbols in it start with.
    pub(super) prefix: String,
    pub(super) function: Option<FunctionId>,
    pub(super) class: Option<ClassId>,
    /// What the first parameter is, where that is the object.
    pub(super) receiver: Option<ExprId>,
}

/// One way in which a name gets its value.
#[derive(Debug, Clone)]
pub(super) enum Declared<'t> {
    Unknown,
    /// A value of the file, and the way into it.
    Value(Node<'t>, ScopeId, Vec<Step>),
    /// A value that the engine made.
    Made(ExprId),
    Parameter(FunctionId, u32),
    Function(FunctionId),
    Class(ClassId),
    Import {
        specifier: Name,
        name: Name,
    },
}

/// A way with how deep in its scope it stands: what is deeper may not happen.
#[derive(Debug, Clone)]
pub(super) struct Declaration<'t> {
    pub(super) what: Declared<'t>,
    pub(super) depth: usize,
}

/// Where a declared type goes, once every name is known.
#[derive(Debug, Clone, Copy)]
pub(super) enum TypeSlot {
    Binding(BindingId),
    Parameter(FunctionId, u32),
    Returns(FunctionId),
    Field(ClassId, usize),
    Extension(ClassId),
    Alias(BindingId),
}

/// Where a value goes, once every name is known.
#[derive(Debug, Clone, Copy)]
pub(super) enum ValueSlot {
    Default(FunctionId, u32),
    Field(ClassId, usize),
    Base(ClassId),
    Returns(FunctionId),
}

/// Reads one file.
pub(super) struct Reader<'t> {
    pub(super) grammar: &'static Grammar,
    pub(super) root: Node<'t>,
    pub(super) source: &'t str,
    pub(super) described: Described<'t>,
    pub(super) out: ParsedFile,
    pub(super) positions: Positions,
    /// Digests of subtrees.
    pub(super) tokens: Prefix,
    pub(super) bounds: HashMap<usize, (u32, u32)>,
    names: HashMap<String, Name>,
    ordinals: HashMap<String, u32>,
    pub(super) scopes: Vec<Scope<'t>>,
    pub(super) scope_at: HashMap<usize, ScopeId>,
    pub(super) function_at: HashMap<usize, FunctionId>,
    pub(super) class_at: HashMap<usize, ClassId>,
    pub(super) decorators: HashMap<usize, Vec<Node<'t>>>,
    pub(super) declarations: Vec<Vec<Declaration<'t>>>,
    pub(super) types: Vec<(TypeSlot, Node<'t>, ScopeId)>,
    pub(super) values: Vec<(ValueSlot, Node<'t>, ScopeId)>,
    /// Calls that were met, by node.
    pub(super) lowered: HashMap<usize, ExprId>,
    /// Types of the file by name; nothing where there are several of one name.
    pub(super) class_named: HashMap<&'t str, Option<ClassId>>,
    /// Types of elsewhere that methods of this file are of.
    pub(super) foreign: HashMap<&'t str, ClassId>,
    /// Modules within the file, each with the value that stands for it.
    pub(super) namespaces: Vec<(ExprId, ScopeId)>,
    /// Names that the file says are public.
    pub(super) public: HashSet<&'t str>,
    /// Names out of modules of which every name counts, and out of the file's own package.
    implied: HashMap<(Name, Name), BindingId>,
}

impl<'t> Reader<'t> {
    pub(super) fn new(
        grammar: &'static Grammar,
        root: Node<'t>,
        source: &'t str,
        positions: Positions,
        described: Described<'t>,
    ) -> Self {
        let out = ParsedFile {
            parser: Parser::TreeSitter,
            lines: positions.lines(),
            exprs: vec![Expr::Unknown],
            ..ParsedFile::default()
        };
        let mut reader = Self {
            grammar,
            root,
            source,
            described,
            out,
            positions,
            tokens: Prefix::default(),
            bounds: HashMap::new(),
            names: HashMap::new(),
            ordinals: HashMap::new(),
            scopes: Vec::new(),
            scope_at: HashMap::new(),
            function_at: HashMap::new(),
            class_at: HashMap::new(),
            decorators: HashMap::new(),
            declarations: Vec::new(),
            types: Vec::new(),
            values: Vec::new(),
            lowered: HashMap::new(),
            class_named: HashMap::new(),
            foreign: HashMap::new(),
            namespaces: Vec::new(),
            public: HashSet::new(),
            implied: HashMap::new(),
        };
        reader.add_scope(ScopeKind::Module, None);
        reader
    }

    pub(super) fn rule(&self, node: Node<'_>) -> Option<&Rule<'t>> {
        self.described.get(&node.id())
    }

    pub(super) fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.names.get(text) {
            return *name;
        }
        let name = index(self.out.names.len());
        self.out.names.push(text);
        self.names.insert(text.to_owned(), name);
        name
    }

    pub(super) fn add(&mut self, expr: Expr) -> ExprId {
        self.out.exprs.push(expr);
        index(self.out.exprs.len() - 1)
    }

    pub(super) fn text(&self, node: Node<'_>) -> &'t str {
        self.source.get(node.byte_range()).unwrap_or("")
    }

    pub(super) fn line(&self, node: Node<'_>) -> u32 {
        self.positions.line(index(node.start_byte()))
    }

    pub(super) fn end_line(&self, node: Node<'_>) -> u32 {
        self.positions.line(index(node.end_byte().saturating_sub(1)))
    }

    pub(super) fn is_name(&self, node: Node<'_>) -> bool {
        self.grammar.names.contains(&node.kind())
    }

    /// A symbol in a scope.
    pub(super) fn symbol(&mut self, scope: ScopeId, text: &str, kind: &str, node: Node<'_>) -> SymbolIndex {
        let prefix = &self.scopes[scope].prefix;
        let qualified = names::kept(if prefix.is_empty() { text.to_owned() } else { format!("{prefix}.{text}") });
        let ordinal = self.ordinals.entry(qualified.clone()).or_insert(0);
        let symbol = Symbol {
            name: names::kept(text.to_owned()),
            qualified,
            ordinal: *ordinal,
            kind: kind.to_owned(),
            line: self.positions.line(index(node.start_byte())),
            end_line: self.positions.line(index(node.end_byte().saturating_sub(1))),
            exported: false,
        };
        *ordinal += 1;
        self.out.symbols.push(symbol);
        index(self.out.symbols.len() - 1)
    }

    /// A scope in another one; it is of the same symbol, function and class until told otherwise.
    pub(super) fn add_scope(&mut self, kind: ScopeKind, parent: Option<ScopeId>) -> ScopeId {
        let around = parent.map(|parent| &self.scopes[parent]);
        self.scopes.push(Scope {
            kind,
            parent,
            names: HashMap::new(),
            outer: HashSet::new(),
            stars: Vec::new(),
            symbol: around.and_then(|around| around.symbol),
            prefix: around.map_or_else(String::new, |around| around.prefix.clone()),
            function: around.and_then(|around| around.function),
            class: around.and_then(|around| around.class),
            receiver: None,
        });
        self.scopes.len() - 1
    }

    /// Declares a name in a scope, from a place on. A name that counts in its whole scope is one thing, however often it
    /// is declared.
    pub(super) fn declare(
        &mut self,
        scope: ScopeId,
        text: &'t str,
        from: u32,
        line: u32,
        declaration: Declaration<'t>,
    ) -> BindingId {
        if from == 0
            && let Some(binding) = self.scopes[scope].names.get(text).and_then(|all| all.first()).map(|it| it.1)
        {
            self.declarations[binding as usize].push(declaration);
            return binding;
        }
        let name = self.name(text);
        let binding = index(self.out.bindings.len());
        self.out.bindings.push(Binding {
            name,
            origin: Origin::Unknown,
            ty: None,
            writes: Vec::new(),
            line,
            symbol: None,
        });
        self.declarations.push(vec![declaration]);
        self.scopes[scope].names.entry(text).or_default().push((from, binding));
        binding
    }

    /// The binding of a name that a scope itself declares.
    pub(super) fn own(&self, scope: ScopeId, text: &str, at: u32) -> Option<BindingId> {
        let all = self.scopes[scope].names.get(text)?;
        all.iter().rev().find(|(from, _)| *from <= at).map(|(_, binding)| *binding)
    }

    /// The binding that a name is at a place.
    pub(super) fn lookup(&self, scope: ScopeId, text: &str, at: u32) -> Option<BindingId> {
        let mut next = Some(scope);
        let mut outer = false;
        while let Some(current) = next {
            let it = &self.scopes[current];
            let hidden = it.kind == ScopeKind::Class && current != scope;
            if !hidden && !it.outer.contains(text) && (!outer || it.kind != ScopeKind::Block) {
                if let Some(binding) = self.own(current, text, at) {
                    return Some(binding);
                }
            } else if it.outer.contains(text) {
                outer = true;
            }
            if it.kind == ScopeKind::Module {
                return None;
            }
            next = it.parent;
        }
        None
    }

    /// The module around a scope.
    pub(super) fn module_of(&self, scope: ScopeId) -> ScopeId {
        let mut at = scope;
        while self.scopes[at].kind != ScopeKind::Module {
            match self.scopes[at].parent {
                Some(parent) => at = parent,
                None => break,
            }
        }
        at
    }

    /// What a name is, as an expression; unknown where nothing of this file says.
    pub(super) fn named(&mut self, scope: ScopeId, text: &str, at: u32) -> ExprId {
        if self.grammar.own_type == Some(text) {
            return match self.scopes[scope].class {
                Some(class) => self.add(Expr::Class(class)),
                None => UNKNOWN,
            };
        }
        match self.reference(scope, text, at) {
            Some(binding) => self.add(Expr::Binding(binding)),
            None => UNKNOWN,
        }
    }

    /// The binding of a name: of a scope, of a module that gives all its names, or of the file's own package.
    pub(super) fn reference(&mut self, scope: ScopeId, text: &str, at: u32) -> Option<BindingId> {
        if let Some(binding) = self.lookup(scope, text, at) {
            return Some(binding);
        }
        if self.grammar.builtins.split(' ').any(|known| known == text) {
            return None;
        }
        let mut next = Some(scope);
        let mut stars = Vec::new();
        while let Some(current) = next {
            let it = &self.scopes[current];
            stars.extend(&it.stars);
            next = if it.kind == ScopeKind::Module { None } else { it.parent };
        }
        if let Some(package) = self.grammar.package {
            let specifier = self.name(package);
            return Some(self.imply_one_of(specifier, stars, text));
        }
        // Of several modules that give all their names nobody knows here which one has it.
        match stars.as_slice() {
            [specifier] => Some(self.imply(*specifier, text)),
            [first, others @ ..] if self.grammar.stars_agree => {
                let (first, others) = (*first, others.to_vec());
                Some(self.imply_one_of(first, others, text))
            }
            _ => None,
        }
    }

    /// A name of one of several modules.
    fn imply_one_of(&mut self, first: Name, others: Vec<Name>, text: &str) -> BindingId {
        let binding = self.imply(first, text);
        if self.out.bindings[binding as usize].writes.is_empty() {
            for other in others {
                let module = self.add(Expr::Import(other));
                let name = self.name(text);
                let value = self.add(Expr::Member(module, name));
                let write = Write { value, appends: false, certain: false, fallback: false };
                self.out.bindings[binding as usize].writes.push(write);
            }
        }
        binding
    }

    /// A name of another module that is used without being imported by name.
    fn imply(&mut self, specifier: Name, text: &str) -> BindingId {
        let name = self.name(text);
        if let Some(binding) = self.implied.get(&(specifier, name)) {
            return *binding;
        }
        let binding = index(self.out.bindings.len());
        self.out.bindings.push(Binding {
            name,
            origin: Origin::Import { specifier, name },
            ty: None,
            writes: Vec::new(),
            line: 0,
            symbol: None,
        });
        self.declarations.push(vec![Declaration { what: Declared::Import { specifier, name }, depth: 0 }]);
        self.implied.insert((specifier, name), binding);
        binding
    }

    pub(super) fn class(&mut self) -> ClassId {
        self.out.classes.push(Class::default());
        index(self.out.classes.len() - 1)
    }

    /// Names that a module declares, in the order of their declaration.
    pub(super) fn names_of(&self, scope: ScopeId) -> Vec<(&'t str, BindingId)> {
        let mut all: Vec<_> = self.scopes[scope]
            .names
            .iter()
            .filter_map(|(text, bindings)| bindings.last().map(|(_, binding)| (*text, *binding)))
            .collect();
        all.sort_by_key(|(_, binding)| *binding);
        all
    }
}
