//! Texts of Go: literals, and `fmt.Sprintf`.

use tree_sitter::Node;

use super::super::reader::{Reader, ScopeId, UNKNOWN};
use super::super::texts::{Part, is_member_of, printf, together};
use crate::parse::{Argument, Expr, ExprId};

pub(super) fn read<'t>(reader: &mut Reader<'t>, node: Node<'t>, _: ScopeId, _: u32) -> ExprId {
    match literal(reader, node) {
        Some(text) => reader.kept(&text),
        None => reader.add(Expr::Literal(None)),
    }
}

/// The text of a literal without escapes.
pub(super) fn literal<'t>(reader: &Reader<'t>, node: Node<'t>) -> Option<String> {
    let text = reader.text(node);
    match node.kind() {
        "raw_string_literal" => text.strip_prefix('`')?.strip_suffix('`').map(str::to_owned),
        "interpreted_string_literal" => {
            text.strip_prefix('"')?.strip_suffix('"').filter(|text| !text.contains('\\')).map(str::to_owned)
        }
        _ => None,
    }
}

pub(super) fn special_call<'t>(
    reader: &mut Reader<'t>,
    node: Node<'t>,
    _: ScopeId,
    callee: ExprId,
    arguments: &[Argument],
    _: Option<ExprId>,
) -> Option<ExprId> {
    if !is_member_of(reader, callee, "fmt", "Sprintf") {
        return None;
    }
    let first = node.child_by_field_name("arguments")?.named_child(0)?;
    let text = literal(reader, first)?;
    let values = arguments.iter().skip(1).map(|argument| if argument.spread { UNKNOWN } else { argument.value });
    let parts: Vec<Part> = printf(&text, values)?;
    Some(together(reader, parts))
}
