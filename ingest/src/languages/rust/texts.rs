//! Texts of Rust: literals, `format!`, and methods that give their object in another form.

use tree_sitter::Node;

use super::super::reader::{Reader, ScopeId, UNKNOWN, index};
use super::super::rules::{Kind, Role};
use super::super::texts::{braces, together};
use crate::parse::{Argument, Expr, ExprId};

/// Methods whose result is their object, for what is followed here.
pub(super) const SAME: [&str; 16] = [
    "as_mut",
    "as_ref",
    "as_str",
    "borrow",
    "borrow_mut",
    "clone",
    "cloned",
    "context",
    "expect",
    "into",
    "to_owned",
    "to_string",
    "unwrap",
    "unwrap_or_default",
    "with_context",
    "as_deref",
];

pub(super) fn read<'t>(reader: &mut Reader<'t>, node: Node<'t>, scope: ScopeId, _: u32) -> ExprId {
    if node.kind() == "macro_invocation" {
        return macro_text(reader, node, scope).unwrap_or(UNKNOWN);
    }
    match literal(reader, node) {
        Some(text) => reader.kept(&text),
        None => reader.add(Expr::Literal(None)),
    }
}

/// The text of a literal without escapes.
pub(super) fn literal<'t>(reader: &Reader<'t>, node: Node<'t>) -> Option<String> {
    if !matches!(node.kind(), "string_literal" | "raw_string_literal") {
        return None;
    }
    let mut text = String::new();
    let mut cursor = node.walk();
    for child in node.named_children(&mut cursor) {
        match child.kind() {
            "string_content" => text.push_str(reader.text(child)),
            _ => return None,
        }
    }
    Some(text)
}

/// `format!("{}/v1/{name}", base, …)`.
fn macro_text<'t>(reader: &mut Reader<'t>, node: Node<'t>, scope: ScopeId) -> Option<ExprId> {
    let name = node.child_by_field_name("macro")?;
    if reader.text(name) != "format" {
        return None;
    }
    let mut cursor = node.walk();
    let tree = node.named_children(&mut cursor).find(|child| child.kind() == "token_tree")?;
    let mut cursor = tree.walk();
    let tokens: Vec<_> = tree.children(&mut cursor).collect();
    let tokens = tokens.get(1..tokens.len().checked_sub(1)?)?;
    let mut arguments = tokens.split(|token| token.kind() == ",");
    let [text] = arguments.next()? else { return None };
    let text = literal(reader, *text)?;
    let mut named = Vec::new();
    let mut values = Vec::new();
    for argument in arguments {
        match argument {
            [key, equals, value @ ..] if equals.kind() == "=" => {
                let value = tokens_value(reader, value, scope);
                named.push((reader.text(*key), value));
            }
            value => values.push(tokens_value(reader, value, scope)),
        }
    }
    let mut values = values.into_iter();
    let parts = braces(&text, |field| {
        let (name, is_plain) = field.split_once(':').map_or((field, true), |(name, _)| (name, false));
        let value = if name.is_empty() {
            values.next()
        } else if name.chars().all(|c| c.is_ascii_digit()) {
            None
        } else if let Some((_, value)) = named.iter().find(|(known, _)| *known == name) {
            Some(*value)
        } else {
            reader.lookup(scope, name, index(node.start_byte())).map(|binding| reader.add(Expr::Binding(binding)))
        };
        value.filter(|_| is_plain).unwrap_or(UNKNOWN)
    })?;
    Some(together(reader, parts))
}

/// The value of tokens that are a name, or members of one.
fn tokens_value<'t>(reader: &mut Reader<'t>, tokens: &[Node<'t>], scope: ScopeId) -> ExprId {
    let tokens: Vec<_> = tokens.iter().filter(|token| token.kind() != "&").collect();
    if let [text] = tokens.as_slice()
        && let Some(text) = literal(reader, **text)
    {
        return reader.kept(&text);
    }
    let Some((first, rest)) = tokens.split_first() else { return UNKNOWN };
    if !reader.is_name(**first) {
        return UNKNOWN;
    }
    let mut value = reader.named(scope, reader.text(**first), index(first.start_byte()));
    let (members, []) = rest.as_chunks::<2>() else { return UNKNOWN };
    for [dot, name] in members {
        if !matches!(dot.kind(), "." | "::") || name.kind() != "identifier" {
            return UNKNOWN;
        }
        let name = reader.name(reader.text(**name));
        value = reader.add(Expr::Member(value, name));
    }
    value
}

pub(super) fn special_call<'t>(
    reader: &mut Reader<'t>,
    node: Node<'t>,
    _: ScopeId,
    callee: ExprId,
    arguments: &[Argument],
    _: Option<ExprId>,
) -> Option<ExprId> {
    let function = node.child_by_field_name("function")?;
    if reader.text(function) == "String::from" {
        return arguments.first().map(|argument| argument.value);
    }
    let rule = reader.rule(function).filter(|rule| rule.kind == Kind::Member)?;
    let property = rule.get(Role::Property)?;
    match *reader.out.expr(callee) {
        Expr::Member(object, _) if function.kind() == "field_expression" && SAME.contains(&reader.text(property)) => {
            Some(object)
        }
        _ => None,
    }
}
