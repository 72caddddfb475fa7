//! Texts that languages put together, each in its own way.

use super::reader::{Declaration, Declared, Reader, UNKNOWN};
use crate::parse::{Expr, ExprId, TextPart};

/// A part of a text before it is known whether it may be kept.
pub(super) enum Part {
    Text(String),
    Value(ExprId),
}

/// A text of parts; neighbouring texts are one.
pub(super) fn together(reader: &mut Reader<'_>, parts: Vec<Part>) -> ExprId {
    let mut merged: Vec<Part> = Vec::new();
    for part in parts {
        match (merged.last_mut(), part) {
            (Some(Part::Text(known)), Part::Text(more)) => known.push_str(&more),
            (_, part) => merged.push(part),
        }
    }
    match merged.as_slice() {
        [] => reader.kept(""),
        [Part::Text(text)] => reader.kept(text),
        _ => {
            let parts = merged
                .iter()
                .filter_map(|part| match part {
                    Part::Text(text) if text.is_empty() => None,
                    Part::Text(text) => Some(reader.piece(text)),
                    Part::Value(value) => Some(TextPart::Value(*value)),
                })
                .collect();
            reader.pieces(parts)
        }
    }
}

/// The parts of a format of `printf`: `%s` and its like take a value each; `None` for what is not known to.
pub(super) fn printf(format: &str, mut values: impl Iterator<Item = ExprId>) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        parts.push(Part::Text(rest[..at].to_owned()));
        rest = &rest[at + 1..];
        let verb = rest.chars().next()?;
        match verb {
            '%' => parts.push(Part::Text("%".to_owned())),
            's' | 'd' | 'v' | 'r' | 'i' => parts.push(Part::Value(values.next().unwrap_or(UNKNOWN))),
            // Names, widths and the like.
            _ => return None,
        }
        rest = &rest[verb.len_utf8()..];
    }
    parts.push(Part::Text(rest.to_owned()));
    Some(parts)
}

/// The parts of a format with braces: `{field}` takes what `value_of` says; `None` where a brace stands alone.
pub(super) fn braces(format: &str, mut value_of: impl FnMut(&str) -> ExprId) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.find(['{', '}']) {
        let brace = &rest[at..=at];
        parts.push(Part::Text(rest[..at].to_owned()));
        rest = &rest[at + 1..];
        if let Some(more) = rest.strip_prefix(brace) {
            parts.push(Part::Text(brace.to_owned()));
            rest = more;
            continue;
        }
        let end = rest.find('}').filter(|_| brace == "{")?;
        parts.push(Part::Value(value_of(&rest[..end])));
        rest = &rest[end + 1..];
    }
    parts.push(Part::Text(rest.to_owned()));
    Some(parts)
}

/// Whether an expression is a name of a module.
pub(super) fn is_member_of(reader: &Reader<'_>, expr: ExprId, module: &str, member: &str) -> bool {
    let import = |expr: ExprId| match *reader.out.expr(expr) {
        Expr::Binding(binding) => match *reader.declarations.get(binding as usize)?.as_slice() {
            [Declaration { what: Declared::Import { specifier, name }, .. }] => {
                Some((reader.out.name(specifier), reader.out.name(name)))
            }
            _ => None,
        },
        Expr::Import(specifier) => Some((reader.out.name(specifier), "*")),
        _ => None,
    };
    match *reader.out.expr(expr) {
        Expr::Member(object, name) => reader.out.name(name) == member && import(object) == Some((module, "*")),
        _ => import(expr) == Some((module, member)),
    }
}
