//! What is known of one file before any other file is looked at.
//!
//! Beside symbols, imports and exports these are a compact form of how values flow: every expression that a vendor
//! client can pass through, in arenas whose ids are positions. Strings are kept only where they can be an import
//! specifier, an API version, an HTTP method, a URL or a route; of any other literal only its digest stays.

use serde::{Deserialize, Serialize};
use sync_core::graph::Symbol;

use super::names::Names;

/// Position in [`ParsedFile::names`].
pub type Name = u32;
/// Position in [`ParsedFile::exprs`].
pub type ExprId = u32;
/// Position in [`ParsedFile::bindings`].
pub type BindingId = u32;
/// Position in [`ParsedFile::types`].
pub type TypeId = u32;
/// Position in [`ParsedFile::functions`].
pub type FunctionId = u32;
/// Position in [`ParsedFile::classes`].
pub type ClassId = u32;
/// Position in [`ParsedFile::calls`].
pub type CallId = u32;
/// Position in [`ParsedFile::symbols`].
pub type SymbolIndex = u32;

/// Everything known of one file by itself. Bytes in, this out; the same bytes give the same facts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ParsedFile {
    /// Which parser read it.
    pub parser: Parser,
    /// Number of lines.
    pub lines: u32,
    /// The package that it says it is a part of, where all files of a folder are one module.
    pub package: Option<Name>,
    /// Every identifier, member name and kept string, once.
    pub names: Names,
    /// Named things in source order.
    pub symbols: Vec<Symbol>,
    /// Imports in source order: static, `require` and dynamic.
    pub imports: Vec<ImportFact>,
    /// Exports in source order.
    pub exports: Vec<ExportFact>,
    /// Specifiers that this file replaces by mocks (`jest.mock("stripe")`).
    pub mocks: Vec<Name>,
    /// Variables, parameters, functions, classes, imports and type names.
    pub bindings: Vec<Binding>,
    /// Expressions.
    pub exprs: Vec<Expr>,
    /// Types as declared.
    pub types: Vec<Type>,
    /// Functions, methods and arrows.
    pub functions: Vec<Function>,
    /// Classes.
    pub classes: Vec<Class>,
    /// Calls and constructions in source order.
    pub calls: Vec<CallFact>,
    /// Calls that are not written as calls, in source order.
    pub implicit: Vec<ImplicitCall>,
    /// Classes that only hold methods of a type which is declared elsewhere, each with that type.
    pub extensions: Vec<(ClassId, TypeId)>,
    /// Assignments to members of anything but `this`, and to names that no scope of this file declares, each with its
    /// target as an expression.
    pub written: Vec<(ExprId, Write)>,
}

impl ParsedFile {
    /// The text behind a name.
    pub fn name(&self, name: Name) -> &str {
        self.names.get(name as usize).unwrap_or_default()
    }

    /// An expression; unknown for an id that is not of this file.
    pub fn expr(&self, id: ExprId) -> &Expr {
        self.exprs.get(id as usize).unwrap_or(&Expr::Unknown)
    }

    /// A function and those around it, the innermost first.
    pub fn functions_around(&self, function: Option<FunctionId>) -> impl Iterator<Item = FunctionId> + '_ {
        // Those around it come before it.
        std::iter::successors(function, |at| {
            self.functions.get(*at as usize).and_then(|it| it.outer).filter(|outer| outer < at)
        })
    }
}

/// Which parser read a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Parser {
    /// oxc with scope analysis.
    #[default]
    Oxc,
    /// tree-sitter, for what oxc cannot parse.
    Fallback,
    /// tree-sitter with scope analysis, for the languages that are its own.
    TreeSitter,
}

impl Parser {
    /// The word used in snapshots.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Oxc => "oxc",
            Self::Fallback => "fallback",
            Self::TreeSitter => "tree_sitter",
        }
    }
}

/// An import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportFact {
    /// As written.
    pub specifier: Name,
    /// Names taken: `default`, `*`, or names as exported there.
    pub names: Vec<Name>,
    /// Where a name can be a module of its own: the specifiers of those modules, one a name.
    pub modules: Vec<Name>,
    /// Line.
    pub line: u32,
    /// Whether nobody wrote it: a module that is needed to follow another import.
    pub implied: bool,
}

/// An exported name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ExportFact {
    /// As importers write it: `default`, a name, `*` for a star re-export, `=` for the whole of `module.exports`.
    pub name: Name,
    /// The local name behind it.
    pub local: Option<Name>,
    /// Where the value is.
    pub value: ExportValue,
    /// Whether it is nothing that the file offers, though others can reach it.
    pub internal: bool,
}

/// Where an exported value is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ExportValue {
    /// A variable, function, class or import of this file.
    Binding(BindingId),
    /// An expression of this file.
    Expr(ExprId),
    /// `name` of another module; `*` is all of its names, or its namespace where the export has a name of its own.
    From {
        /// As written.
        specifier: Name,
        /// As exported there.
        name: Name,
    },
    /// Not known.
    Unknown,
}

/// One name in one scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// As written.
    pub name: Name,
    /// Where its value comes from.
    pub origin: Origin,
    /// Declared type.
    pub ty: Option<TypeId>,
    /// Later assignments and defaults, in source order.
    pub writes: Vec<Write>,
    /// Line of the declaration.
    pub line: u32,
    /// The symbol that stands for it.
    pub symbol: Option<SymbolIndex>,
}

/// An assignment to a name or to a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Write {
    /// What is assigned.
    pub value: ExprId,
    /// Whether it is added behind what was there (`+=`).
    pub appends: bool,
    /// Whether it happens wherever the name is declared, and not in some branch, loop or other function.
    pub certain: bool,
    /// Whether it stands for what is not given: the default of a pattern, or a member that is deleted.
    pub fallback: bool,
}

/// A step of a destructuring pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Step {
    /// A property.
    Member(Name),
    /// An element of a list that is walked.
    Item,
    /// The n-th element of a list.
    Element(u32),
    /// What is left over.
    Rest,
}

/// Where the value of a binding comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Origin {
    /// Not known.
    Unknown,
    /// An export of another module: `default`, `*` (its namespace), `=` (what `require` gives) or a name.
    Import {
        /// As written.
        specifier: Name,
        /// As exported there.
        name: Name,
    },
    /// An initialiser, and the way into it.
    Value(ExprId, Vec<Step>),
    /// A parameter, and the way into it.
    Parameter(FunctionId, u32, Vec<Step>),
    /// A function declaration.
    Function(FunctionId),
    /// A class declaration.
    Class(ClassId),
    /// A type alias or an interface.
    Type(TypeId),
}

/// An argument of a call or an element of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Argument {
    /// The value.
    pub value: ExprId,
    /// Whether it is spread.
    pub spread: bool,
}

/// A property of an object literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Property {
    /// `key: value`, a method or a shorthand.
    Named(Name, ExprId),
    /// `...value`.
    Spread(ExprId),
    /// A key that is not a literal.
    Computed,
}

/// A part of a text that is put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TextPart {
    /// Kept text.
    Text(Name),
    /// Text that is not kept.
    Withheld,
    /// A value.
    Value(ExprId),
}

/// An expression, as far as a client value, a URL or an argument's keys can pass through it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Expr {
    /// Anything else.
    Unknown,
    /// `null` or `undefined`.
    Null,
    /// A literal whose value is not kept; the first 8 bytes of its digest, where it is a string.
    Literal(Option<u64>),
    /// A string that is kept, and the first 8 bytes of its digest.
    Text(Name, u64),
    /// A template or a `+` of texts.
    Template(Vec<TextPart>),
    /// A name of this file.
    Binding(BindingId),
    /// A name that no scope of this file declares.
    Global(Name),
    /// `this` in a class, or elsewhere.
    This(Option<ClassId>),
    /// `this` in a method of an object literal: that object.
    Own(ExprId),
    /// `super` in a class.
    Super(Option<ClassId>),
    /// `object.name`, also `object["name"]`, `object?.name`, `object.#name`.
    Member(ExprId, Name),
    /// `object[something]`.
    Index(ExprId),
    /// A call.
    Call {
        /// Where it stands.
        call: CallId,
        /// What is called.
        callee: ExprId,
        /// With what.
        arguments: Vec<Argument>,
        /// Whether it is `new`.
        construct: bool,
    },
    /// `import("…")`.
    Import(Name),
    /// `require("…")`.
    Require(Name),
    /// `await`.
    Await(ExprId),
    /// An object literal.
    Object(Vec<Property>),
    /// A list literal.
    Array(Vec<Argument>),
    /// A function or arrow.
    Function(FunctionId),
    /// A class expression.
    Class(ClassId),
    /// One of several: a conditional, `??`, `||`.
    Either(ExprId, ExprId),
    /// `test && value`: the value or nothing.
    Guarded(ExprId),
    /// `value as type` and its like.
    Cast(ExprId, TypeId),
}

/// What a type reference starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TypeRoot {
    /// A name of this file.
    Binding(BindingId),
    /// A name that no scope of this file declares: `Promise`, `Pick`.
    Global(Name),
    /// `import("…")` in a type.
    Import(Name),
}

/// A type as declared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Type {
    /// Anything else, primitives included.
    Unknown,
    /// `null`, `undefined`, `void`.
    Null,
    /// `Root.path<arguments>`.
    Reference(TypeRoot, Vec<Name>, Vec<TypeId>),
    /// `typeof root.path`.
    Typeof(TypeRoot, Vec<Name>),
    /// `A | B`.
    Union(Vec<TypeId>),
    /// `A & B`.
    Intersection(Vec<TypeId>),
    /// `{ name: type }`, and what an interface extends.
    Object(Vec<(Name, TypeId)>, Vec<TypeId>),
    /// `A["name"]`.
    Indexed(TypeId, Name),
    /// `A[]`.
    List(TypeId),
    /// A function: its parameters, and what it returns.
    Function(Vec<TypeId>, TypeId),
}

/// A parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Parameter {
    /// Declared type.
    pub ty: Option<TypeId>,
    /// Default value.
    pub default: Option<ExprId>,
    /// Its name, where an argument can be given by name.
    pub name: Option<Name>,
}

/// A function, method or arrow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Function {
    /// Parameters in order; a rest parameter is not among them.
    pub parameters: Vec<Parameter>,
    /// What it returns.
    pub returns: Vec<ExprId>,
    /// Declared return type.
    pub return_type: Option<TypeId>,
    /// The function type that its place declares: of the variable, field or cast that it is the value of.
    pub declared: Option<TypeId>,
    /// Whether all that becomes of it is that this file calls it by its name.
    pub closed: bool,
    /// The symbol that stands for it.
    pub symbol: Option<SymbolIndex>,
    /// That symbol, or else the one around it.
    pub scope: Option<SymbolIndex>,
    /// The function around it.
    pub outer: Option<FunctionId>,
}

/// A class.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    /// The symbol that stands for it.
    pub symbol: Option<SymbolIndex>,
    /// Its base class.
    pub extends: Option<ExprId>,
    /// Further bases, and traits that it takes over, in their order.
    pub further: Vec<ExprId>,
    /// Its constructor.
    pub constructor: Option<FunctionId>,
    /// Fields, methods, accessors and constructor parameter properties.
    pub members: Vec<Member>,
    /// `this.name = value` anywhere in it.
    pub assigned: Vec<(Name, ExprId)>,
    /// Line.
    pub line: u32,
}

/// A member of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its name, private ones with `#`.
    pub name: Name,
    /// Whether it is on the class and not on its instances.
    pub is_static: bool,
    /// What it is.
    pub kind: MemberKind,
    /// Line.
    pub line: u32,
}

/// What a class member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MemberKind {
    /// A field or a constructor parameter property.
    Field(Option<TypeId>, Option<ExprId>),
    /// A method.
    Method(FunctionId),
    /// A getter.
    Getter(FunctionId),
}

/// Where a call stands and what becomes of its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFact {
    /// The call itself.
    pub expr: ExprId,
    /// Line where the call expression starts.
    pub line: u32,
    /// Column where it starts, in UTF-16 units from 1.
    pub column: u32,
    /// Line where it ends.
    pub end_line: u32,
    /// Line of the callee's last name.
    pub callee_line: u32,
    /// Column of the callee's last name, in UTF-16 units from 1.
    pub callee_column: u32,
    /// The symbol around it.
    pub symbol: Option<SymbolIndex>,
    /// The function around it.
    pub function: Option<FunctionId>,
    /// Its arguments that are given by name, as an object.
    pub keywords: Option<ExprId>,
    /// Digest of its tokens with literals replaced by their type.
    pub hash: u64,
    /// How its result is used.
    pub uses: Uses,
}

/// A component in markup, a decorator, or the tag of a template: it is called, and nothing is known of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImplicitCall {
    /// What is called.
    pub callee: ExprId,
    /// Line.
    pub line: u32,
    /// The symbol around it.
    pub symbol: Option<SymbolIndex>,
}

/// How a value is used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Uses {
    /// What is read of it, sorted by path.
    pub reads: Vec<ReadFact>,
    /// Whether it goes where it cannot be followed.
    pub escapes: bool,
    /// Parts that the function around the call returns; the whole is an empty path.
    pub returned: Vec<String>,
}

/// A read of a part of a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ReadFact {
    /// Dotted names; `[]` is an element of a list, `name()` the result of a method.
    pub path: String,
    /// Behind `?.`, `??`, or a test of the value.
    pub guarded: bool,
    /// Compared or switched on.
    pub compared: bool,
    /// Passed on to where it cannot be followed.
    pub escapes: bool,
}
