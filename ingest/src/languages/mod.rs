//! Languages that tree-sitter reads: for each a grammar, query files, and what its modules and texts are like.
//!
//! The query files say which nodes are functions, scopes, names, calls and texts (`rules.rs` has the words); one engine
//! makes facts of that for every language, in two passes, since a name may be used before it is declared. Lexical scope
//! counts: a name is what the innermost scope around it declares, and what no scope declares is not known.

mod assign;
mod declare;
mod digests;
mod go;
mod owners;
mod python;
mod reader;
mod rules;
mod rust;
#[cfg(test)]
mod tests;
mod texts;
mod types;
mod values;

use tree_sitter::{Node, Parser as TreeSitter};

use crate::language::Language;
use crate::parse::{Argument, ExprId, ParsedFile, Positions, each};
use reader::{Reader, ScopeId};
use rules::Rules;

/// The value of a path that starts at a module.
type ReadPath = for<'t> fn(&mut Reader<'t>, Node<'t>, ScopeId) -> Option<ExprId>;
/// The value of a call in a scope: its callee, its arguments, and those that are given by name.
type ReadCall = for<'t> fn(&mut Reader<'t>, Node<'t>, ScopeId, ExprId, &[Argument], Option<ExprId>) -> Option<ExprId>;

/// What a language is beside its query files.
#[expect(clippy::struct_excessive_bools, reason = "a table of what languages differ in")]
pub(crate) struct Grammar {
    language: fn() -> tree_sitter::Language,
    rules: fn() -> Option<&'static Rules>,
    /// Kinds of nodes that are names.
    names: &'static [&'static str],
    /// Names that every file knows, with spaces between them.
    builtins: &'static str,
    /// The module that a name which no scope declares is of: the file's own package, where that is several files.
    package: Option<&'static str>,
    /// What stands between the names of modules in modules, where a module is imported by the whole of them.
    separator: Option<&'static str>,
    /// Whether a name counts in the whole function that gives it a value.
    hoists: bool,
    /// Whether the members of a class are names in its body.
    class_names: bool,
    receiver: Receiver,
    /// The name of the type that a method is of.
    own_type: Option<&'static str>,
    /// The method that makes an object.
    constructor: Option<&'static str>,
    /// Kinds of nodes that hold arguments.
    argument_lists: &'static [&'static str],
    /// Types that are as good as their first argument.
    transparent: &'static [&'static str],
    /// Whether what gives several values is as good as its first one.
    first_of_several: bool,
    /// Whether of several modules that give all their names only one can have a name.
    stars_agree: bool,
    /// Whether a name in a pattern is declared by it.
    is_pattern_name: fn(&str) -> bool,
    /// Reads an import.
    import: for<'t> fn(&mut Reader<'t>, Node<'t>, ScopeId, usize),
    /// The value of a path that starts at a module.
    path: Option<ReadPath>,
    /// The value of a text literal, or of what the queries call special.
    read: for<'t> fn(&mut Reader<'t>, Node<'t>, ScopeId, u32) -> ExprId,
    /// The text of a literal without values in it.
    literal: for<'t> fn(&Reader<'t>, Node<'t>) -> Option<String>,
    /// The value of a call that is not what its function returns.
    special_call: ReadCall,
    /// Looks at what the queries call special, wherever it stands.
    visit: for<'t> fn(&mut Reader<'t>, Node<'t>, ScopeId),
    /// Says what other files see.
    exports: for<'t> fn(&mut Reader<'t>),
}

/// How a method names its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Receiver {
    /// By its first parameter.
    First,
    /// By a name of its own.
    Named,
}

/// Why a file of one of these languages has no facts.
pub(crate) type Refused = &'static str;

/// Reads a file of one of these languages; `None` for files of another one.
pub(crate) fn read(language: Language, text: &str) -> Option<Result<ParsedFile, Refused>> {
    let grammar = match language {
        Language::Python => &python::GRAMMAR,
        Language::Go => &go::GRAMMAR,
        Language::Rust => &rust::GRAMMAR,
        _ => return None,
    };
    Some(facts(grammar, text))
}

fn facts(grammar: &'static Grammar, text: &str) -> Result<ParsedFile, Refused> {
    let rules = (grammar.rules)().ok_or("the rules of its language do not compile")?;
    let mut parser = TreeSitter::new();
    parser.set_language(&(grammar.language)()).map_err(|_| "the grammar of its language is of another version")?;
    let tree = parser.parse(text, None).ok_or("its parser gave up")?;
    let root = tree.root_node();
    let described = rules.describe(root, text).ok_or("it is nested deeper than is looked at")?;
    let mut reader = Reader::new(grammar, root, text, Positions::new(text), described);
    reader.digest(root);
    reader.find_types(root);
    reader.declarations(root);
    reader.expressions(root);
    (grammar.exports)(&mut reader);
    Ok(reader.out)
}
