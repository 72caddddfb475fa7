//! Calls among the arguments of macros, which the parser leaves as tokens.
//!
//! What a macro makes of its tokens nobody knows here. But a name followed by parentheses is a call in all macros that
//! take expressions, and where one of those declares the name itself, that is a name of its own.

use std::collections::HashSet;

use tree_sitter::Node;

use super::super::each;
use super::super::reader::{Reader, ScopeId, UNKNOWN, index};
use super::paths::path_of;
use super::texts::SAME;
use crate::parse::{Expr, ExprId, ImplicitCall};

/// Macros whose tokens are not run where they stand.
const QUOTING: [&str; 5] = ["quote", "quote_spanned", "parse_quote", "stringify", "macro_rules"];
/// Tokens behind which a name may be declared.
const DECLARING: [&str; 5] = ["let", "for", "fn", "=>", "|"];

pub(super) fn visit<'t>(reader: &mut Reader<'t>, node: Node<'t>, scope: ScopeId) {
    let Some(name) = node.child_by_field_name("macro") else { return };
    let name = reader.text(name);
    if QUOTING.contains(&name.rsplit("::").next().unwrap_or(name)) {
        return;
    }
    let mut cursor = node.walk();
    let Some(tokens) = node.named_children(&mut cursor).find(|child| child.kind() == "token_tree") else { return };
    let mut lists = Vec::new();
    each(tokens, |inner, _| {
        if inner.kind() == "token_tree" {
            let mut cursor = inner.walk();
            lists.push(inner.children(&mut cursor).collect::<Vec<_>>());
        }
        !inner.is_error()
    });
    let declared = declared(reader, &lists);
    for tokens in &lists {
        let mut at = 0;
        while at < tokens.len() {
            at = chain(reader, tokens, at, scope, &declared);
        }
    }
}

/// Names that the tokens may declare themselves: those that stand alone, where something is declared at all.
fn declared<'t>(reader: &Reader<'t>, lists: &[Vec<Node<'t>>]) -> HashSet<&'t str> {
    let is_declaring = |token: &Node<'t>| !token.is_named() && DECLARING.contains(&reader.text(*token));
    if !lists.iter().flatten().any(is_declaring) {
        return HashSet::new();
    }
    let mut alone = HashSet::new();
    for tokens in lists {
        for (at, token) in tokens.iter().enumerate() {
            let goes_on =
                tokens.get(at + 1).is_some_and(|next| opens(reader, *next) || is(reader, *next, &[".", "::"]));
            if token.kind() == "identifier" && !goes_on {
                alone.insert(reader.text(*token));
            }
        }
    }
    alone
}

/// Reads a name and what is behind it; gives the place behind that.
fn chain<'t>(
    reader: &mut Reader<'t>,
    tokens: &[Node<'t>],
    start: usize,
    scope: ScopeId,
    declared: &HashSet<&'t str>,
) -> usize {
    let first = tokens[start];
    let behind_another = start > 0 && is(reader, tokens[start - 1], &[".", "::", "fn", "$", "'"]);
    if behind_another || !matches!(first.kind(), "identifier" | "self" | "crate" | "super") {
        return start + 1;
    }
    let mut names = vec![reader.text(first)];
    let mut last = first;
    let mut at = start + 1;
    while let (Some(colons), Some(name)) = (tokens.get(at), tokens.get(at + 1)) {
        if !is(reader, *colons, &["::"]) || !matches!(name.kind(), "identifier" | "super" | "self") {
            break;
        }
        names.push(reader.text(*name));
        last = *name;
        at += 2;
    }
    let mut value = if declared.contains(names[0]) { UNKNOWN } else { root(reader, &names, first, scope) };
    while let Some(token) = tokens.get(at) {
        if opens(reader, *token) {
            value = called(reader, value, last, scope);
            at += 1;
        } else if is(reader, *token, &["?"]) {
            at += 1;
        } else if let Some(name) = tokens.get(at + 1)
            && is(reader, *token, &["."])
            && name.kind() == "identifier"
        {
            if value != UNKNOWN {
                let member = reader.name(reader.text(*name));
                value = reader.add(Expr::Member(value, member));
            }
            last = *name;
            at += 2;
        } else {
            break;
        }
    }
    at
}

/// The value of a name or a path.
fn root<'t>(reader: &mut Reader<'t>, names: &[&'t str], node: Node<'t>, scope: ScopeId) -> ExprId {
    if names.len() > 1
        && let Some(value) = path_of(reader, names, node, scope)
    {
        return value;
    }
    let mut value = reader.named(scope, names[0], index(node.start_byte()));
    for name in &names[1..] {
        if value == UNKNOWN {
            break;
        }
        let name = reader.name(name);
        value = reader.add(Expr::Member(value, name));
    }
    value
}

fn called<'t>(reader: &mut Reader<'t>, callee: ExprId, name: Node<'t>, scope: ScopeId) -> ExprId {
    if callee == UNKNOWN {
        return UNKNOWN;
    }
    let (line, symbol) = (reader.line(name), reader.scopes[scope].symbol);
    reader.out.implicit.push(ImplicitCall { callee, line, symbol });
    match *reader.out.expr(callee) {
        Expr::Member(object, _) if SAME.contains(&reader.text(name)) => object,
        _ => reader.add(Expr::Call { call: u32::MAX, callee, arguments: Vec::new(), construct: false }),
    }
}

fn opens(reader: &Reader<'_>, token: Node<'_>) -> bool {
    token.kind() == "token_tree" && reader.text(token).starts_with('(')
}

fn is(reader: &Reader<'_>, token: Node<'_>, texts: &[&str]) -> bool {
    !token.is_named() && texts.contains(&reader.text(token))
}
