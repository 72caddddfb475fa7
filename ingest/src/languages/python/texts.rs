//! Texts of Python: literals, f-strings, `%`, `format`, and calls that give their argument in another form.

use tree_sitter::Node;

use super::super::reader::{Reader, ScopeId, UNKNOWN, index};
use super::super::rules::{Kind, Role};
use super::super::texts::{Part, braces, is_member_of, printf, together};
use crate::parse::{Argument, Expr, ExprId, Property};

pub(super) fn read<'t>(reader: &mut Reader<'t>, node: Node<'t>, scope: ScopeId, depth: u32) -> ExprId {
    match node.kind() {
        "string" => match parts(reader, node, scope, depth) {
            Some(parts) => together(reader, parts),
            None => reader.add(Expr::Literal(None)),
        },
        "concatenated_string" => {
            let mut cursor = node.walk();
            let strings: Vec<_> = node.named_children(&mut cursor).filter(|child| child.kind() == "string").collect();
            let mut all = Vec::new();
            for string in strings {
                match parts(reader, string, scope, depth) {
                    Some(parts) => all.extend(parts),
                    None => return UNKNOWN,
                }
            }
            together(reader, all)
        }
        "binary_operator" => percent(reader, node, scope, depth),
        _ => UNKNOWN,
    }
}

/// The parts of one literal; `None` where it has escapes.
fn parts<'t>(reader: &mut Reader<'t>, node: Node<'t>, scope: ScopeId, depth: u32) -> Option<Vec<Part>> {
    let mut cursor = node.walk();
    let children: Vec<_> = node.named_children(&mut cursor).collect();
    let start = children.first().map_or("", |first| reader.text(*first)).to_ascii_lowercase();
    let (is_raw, is_format) = (start.contains('r'), start.contains('f'));
    let mut parts = Vec::new();
    for child in children {
        match child.kind() {
            "string_content" => {
                let text = reader.text(child);
                if !is_raw && text.contains('\\') {
                    return None;
                }
                let text = if is_format { text.replace("{{", "{").replace("}}", "}") } else { text.to_owned() };
                parts.push(Part::Text(text));
            }
            "interpolation" => {
                let formatted = child.child_by_field_name("format_specifier").is_some();
                let value = child.child_by_field_name("expression").filter(|_| !formatted);
                parts.push(Part::Value(value.map_or(UNKNOWN, |value| reader.lower(value, scope, depth + 1))));
            }
            _ => {}
        }
    }
    Some(parts)
}

/// The text of a literal without values in it, also through parentheses and neighbours.
pub(super) fn literal<'t>(reader: &Reader<'t>, node: Node<'t>) -> Option<String> {
    match node.kind() {
        "parenthesized_expression" => literal(reader, node.named_child(0)?),
        "concatenated_string" => {
            let mut cursor = node.walk();
            node.named_children(&mut cursor).map(|child| plain(reader, child)).collect()
        }
        "string" => plain(reader, node),
        _ => None,
    }
}

fn plain(reader: &Reader<'_>, node: Node<'_>) -> Option<String> {
    let mut text = String::new();
    let mut cursor = node.walk();
    for child in node.named_children(&mut cursor) {
        match child.kind() {
            "string_content" => text.push_str(reader.source.get(child.byte_range())?),
            "string_start" | "string_end" => {}
            _ => return None,
        }
    }
    (!text.contains('\\')).then_some(text)
}

/// `"…%s…" % value` and `"…%s…%s" % (one, two)`.
fn percent<'t>(reader: &mut Reader<'t>, node: Node<'t>, scope: ScopeId, depth: u32) -> ExprId {
    let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right")) else {
        return UNKNOWN;
    };
    let text = literal(reader, left);
    let values: Vec<ExprId> = match reader.lower(right, scope, depth + 1) {
        value if right.kind() == "tuple" => match reader.out.expr(value) {
            Expr::Array(items) => items.iter().map(|item| if item.spread { UNKNOWN } else { item.value }).collect(),
            _ => Vec::new(),
        },
        value => vec![value],
    };
    let Some(text) = text else {
        // What a name holds is known where all files are.
        let object = reader.lower(left, scope, depth + 1);
        if !matches!(reader.out.expr(object), Expr::Binding(_) | Expr::Member(..)) {
            return UNKNOWN;
        }
        let name = reader.name("%");
        let callee = reader.add(Expr::Member(object, name));
        let arguments = values.into_iter().map(|value| Argument { value, spread: false }).collect();
        return reader.add(Expr::Call { call: u32::MAX, callee, arguments, construct: false });
    };
    match printf(&text, values.into_iter()) {
        Some(parts) => together(reader, parts),
        None => UNKNOWN,
    }
}

pub(super) fn special_call<'t>(
    reader: &mut Reader<'t>,
    node: Node<'t>,
    scope: ScopeId,
    callee: ExprId,
    arguments: &[Argument],
    keywords: Option<ExprId>,
) -> Option<ExprId> {
    let function = node.child_by_field_name("function")?;
    let first = arguments.first().filter(|first| !first.spread).map(|first| first.value);
    if function.kind() == "identifier" {
        let text = reader.text(function);
        let is_builtin = reader.lookup(scope, text, index(function.start_byte())).is_none();
        return match text {
            "super" if is_builtin => {
                let class = reader.scopes[scope].class;
                Some(reader.add(Expr::Super(class)))
            }
            "str" if is_builtin => first,
            "dict" if is_builtin && arguments.is_empty() => keywords,
            _ if is_member_of(reader, callee, "urllib.parse", "urljoin") => url(reader, arguments),
            _ if is_member_of(reader, callee, "json", "dumps") => first,
            _ => None,
        };
    }
    if is_member_of(reader, callee, "urllib.parse", "urljoin") {
        return url(reader, arguments);
    }
    if is_member_of(reader, callee, "json", "dumps") {
        return first;
    }
    let rule = reader.rule(function).filter(|rule| rule.kind == Kind::Member)?;
    let (object, property) = (rule.get(Role::Object)?, rule.get(Role::Property)?);
    match reader.text(property) {
        "format" => {
            let text = literal(reader, object)?;
            Some(format(reader, &text, arguments, keywords))
        }
        _ => None,
    }
}

/// `urljoin(base, path)` is what browsers write as `new URL(path, base)`.
fn url(reader: &mut Reader<'_>, arguments: &[Argument]) -> Option<ExprId> {
    let [base, path] = *arguments else { return None };
    let name = reader.name("URL");
    let callee = reader.add(Expr::Global(name));
    Some(reader.add(Expr::Call { call: u32::MAX, callee, arguments: vec![path, base], construct: true }))
}

/// `"…{}…{0}…{name}".format(…)`.
fn format(reader: &mut Reader<'_>, text: &str, arguments: &[Argument], keywords: Option<ExprId>) -> ExprId {
    if arguments.iter().any(|argument| argument.spread) {
        return UNKNOWN;
    }
    let named = match keywords.map(|keywords| reader.out.expr(keywords)) {
        Some(Expr::Object(properties)) => properties.clone(),
        _ => Vec::new(),
    };
    let mut next = 0;
    let parts = braces(text, |field| {
        let value = if field.is_empty() {
            next += 1;
            arguments.get(next - 1).map(|argument| argument.value)
        } else if let Ok(position) = field.parse::<usize>() {
            arguments.get(position).map(|argument| argument.value)
        } else {
            named.iter().find_map(|property| match property {
                Property::Named(name, value) if reader.out.name(*name) == field => Some(*value),
                _ => None,
            })
        };
        value.unwrap_or(UNKNOWN)
    });
    parts.map_or(UNKNOWN, |parts| together(reader, parts))
}
