//! Paths of Rust: `use` trees, `mod`, and paths in expressions.

use tree_sitter::Node;

use super::super::reader::{Declaration, Declared, Reader, ScopeId, index};
use crate::parse::{ExportFact, ExportValue, Expr, ExprId, ImportFact, Name};

/// Trees in trees, followed this far.
const DEEPEST: usize = 32;

/// One name that a `use` takes.
struct Taken<'t> {
    path: Vec<&'t str>,
    /// Its local name; `None` for all names.
    local: Option<&'t str>,
    line: u32,
}

pub(super) fn import<'t>(reader: &mut Reader<'t>, node: Node<'t>, scope: ScopeId, depth: usize) {
    let line = reader.line(node);
    let is_public = node.named_child(0).is_some_and(|first| first.kind() == "visibility_modifier");
    if node.kind() == "mod_item" {
        let Some(name) = node.child_by_field_name("name") else { return };
        let text = reader.text(name);
        let own = || inside(reader, scope, &["self", text]);
        let Some(specifier) = file_of(reader, node).filter(|_| scope == 0).or_else(own) else { return };
        let (specifier, star) = (reader.name(&specifier), reader.name("*"));
        reader.out.imports.push(fact(specifier, vec![star], Vec::new(), line, false));
        let what = Declared::Import { specifier, name: star };
        reader.declare(scope, text, 0, line, Declaration { what, depth });
        return;
    }
    let Some(argument) = node.child_by_field_name("argument") else { return };
    let mut taken = Vec::new();
    tree(reader, argument, &mut Vec::new(), &mut taken, 0);
    for it in taken {
        take(reader, &it, scope, depth, is_public);
    }
}

fn take<'t>(reader: &mut Reader<'t>, it: &Taken<'t>, scope: ScopeId, depth: usize, is_public: bool) {
    let star = reader.name("*");
    let Some(local) = it.local else {
        let Some(specifier) = inside(reader, scope, &it.path) else { return };
        // `use Enum::*` takes variants.
        if it.path.last().is_some_and(|last| last.starts_with(char::is_uppercase)) {
            return;
        }
        let specifier = reader.name(&specifier);
        reader.out.imports.push(fact(specifier, vec![star], Vec::new(), it.line, false));
        reader.scopes[scope].stars.push(specifier);
        if scope == 0 {
            let value = ExportValue::From { specifier, name: star };
            reader.out.exports.push(ExportFact { name: star, local: None, value, internal: !is_public });
        }
        return;
    };
    let Some((last, before)) = it.path.split_last() else { return };
    let (specifier, name) = match inside(reader, scope, before).filter(|_| !before.is_empty()) {
        Some(specifier) => {
            let module = reader.name(&format!("{specifier}::{last}"));
            let (specifier, name) = (reader.name(&specifier), reader.name(last));
            reader.out.imports.push(fact(specifier, vec![name], vec![module], it.line, false));
            (specifier, name)
        }
        // `use name;`
        None if before.is_empty() => {
            let specifier = reader.name(last);
            reader.out.imports.push(fact(specifier, vec![star], Vec::new(), it.line, false));
            (specifier, star)
        }
        None => return,
    };
    if local == "_" {
        return;
    }
    if is_public {
        reader.public.insert(local);
    }
    reader.declare(scope, local, 0, it.line, Declaration { what: Declared::Import { specifier, name }, depth });
}

/// Every name of a tree.
fn tree<'t>(reader: &Reader<'t>, node: Node<'t>, path: &mut Vec<&'t str>, out: &mut Vec<Taken<'t>>, depth: usize) {
    if depth > DEEPEST {
        return;
    }
    let before = path.len();
    let line = reader.line(node);
    match node.kind() {
        "scoped_use_list" => {
            if let Some(prefix) = node.child_by_field_name("path") {
                segments(reader, prefix, path);
            }
            if let Some(list) = node.child_by_field_name("list") {
                tree(reader, list, path, out, depth + 1);
            }
        }
        "use_list" => {
            let mut cursor = node.walk();
            for child in node.named_children(&mut cursor) {
                tree(reader, child, path, out, depth + 1);
            }
        }
        "use_wildcard" => {
            if let Some(prefix) = node.named_child(0) {
                segments(reader, prefix, path);
            }
            out.push(Taken { path: path.clone(), local: None, line });
        }
        "use_as_clause" => {
            if let (Some(it), Some(alias)) = (node.child_by_field_name("path"), node.child_by_field_name("alias")) {
                segments(reader, it, path);
                out.push(Taken { path: path.clone(), local: Some(reader.text(alias)), line });
            }
        }
        // `use a::{self}`
        "self" if !path.is_empty() => out.push(Taken { path: path.clone(), local: path.last().copied(), line }),
        "identifier" | "scoped_identifier" | "crate" | "self" | "super" => {
            segments(reader, node, path);
            out.push(Taken { path: path.clone(), local: path.last().copied(), line });
        }
        _ => {}
    }
    path.truncate(before);
}

/// The names of a path, which the parser nests to the left.
fn segments<'t>(reader: &Reader<'t>, node: Node<'t>, out: &mut Vec<&'t str>) {
    let mut names = Vec::new();
    let mut at = node;
    for _ in 0..DEEPEST {
        match (at.child_by_field_name("name"), at.child_by_field_name("path")) {
            (Some(name), path) if at.kind().starts_with("scoped") => {
                names.push(reader.text(name));
                match path {
                    Some(path) => at = path,
                    None => break,
                }
            }
            _ => {
                names.push(reader.text(at));
                break;
            }
        }
    }
    out.extend(names.into_iter().rev());
}

/// The file that an attribute gives a module, in quotes: `#[path = "other.rs"] mod name;`.
fn file_of(reader: &Reader<'_>, module: Node<'_>) -> Option<String> {
    let attributes = std::iter::successors(module.prev_named_sibling(), Node::prev_named_sibling);
    let mut attributes = attributes.take_while(|node| node.kind() == "attribute_item");
    attributes.find_map(|attribute| {
        let text = reader.text(attribute).strip_prefix("#[")?.trim_start().strip_prefix("path")?;
        let file = text.trim_start().strip_prefix('=')?.trim().strip_suffix(']')?.trim();
        let name = file.strip_prefix('"')?.strip_suffix('"')?;
        (!name.contains(['"', '\\'])).then(|| file.to_owned())
    })
}

/// The file of a module of this name that an attribute gave it, so far.
fn placed<'r>(reader: &'r Reader<'_>, module: &str) -> Option<&'r str> {
    let binding = reader.lookup(0, module, u32::MAX)?;
    match reader.declarations.get(binding as usize)?.as_slice() {
        [Declaration { what: Declared::Import { specifier, .. }, .. }] => {
            Some(reader.out.name(*specifier)).filter(|specifier| specifier.starts_with('"'))
        }
        _ => None,
    }
}

/// A path as it is from the file's own module: within a module in the file, `super` leads only one module up.
fn inside(reader: &Reader<'_>, scope: ScopeId, path: &[&str]) -> Option<String> {
    let mut depth = 0;
    let mut at = reader.module_of(scope);
    while let Some(parent) = reader.scopes[at].parent {
        depth += 1;
        at = reader.module_of(parent);
    }
    let first = *path.first()?;
    if depth == 0 {
        let rest = if first == "self" { &path[1..] } else { path };
        if let Some(file) = rest.first().and_then(|module| placed(reader, module)) {
            return Some(std::iter::once(file).chain(rest[1..].iter().copied()).collect::<Vec<_>>().join("::"));
        }
    }
    if depth == 0 || !matches!(first, "self" | "super") {
        return Some(path.join("::"));
    }
    let ups = path.iter().take_while(|name| **name == "super").count();
    if ups < depth {
        return None;
    }
    let rest = path[ups..].iter().copied();
    let start = if ups == depth { vec!["self"] } else { vec!["super"; ups - depth] };
    Some(start.into_iter().chain(rest).collect::<Vec<_>>().join("::"))
}

/// A path in an expression or a type, where it starts at a module and not at a name of the scope.
pub(super) fn path<'t>(reader: &mut Reader<'t>, node: Node<'t>, scope: ScopeId) -> Option<ExprId> {
    if !node.kind().starts_with("scoped") {
        return None;
    }
    let mut names = Vec::new();
    segments(reader, node, &mut names);
    path_of(reader, &names, node, scope)
}

/// The value of the names of a path, where it starts at a module.
pub(super) fn path_of<'t>(
    reader: &mut Reader<'t>,
    names: &[&'t str],
    node: Node<'t>,
    scope: ScopeId,
) -> Option<ExprId> {
    let (first, last) = (*names.first()?, names.len().checked_sub(1)?);
    if first == "Self" || first.is_empty() || first.contains(['<', ' ', ':']) {
        return None;
    }
    let from_module = matches!(first, "crate" | "self" | "super");
    if !from_module && reader.reference(scope, first, index(node.start_byte())).is_some() {
        return None;
    }
    // The names of modules do not start with a capital.
    let end = names.iter().position(|name| name.starts_with(char::is_uppercase)).unwrap_or(last).min(last);
    let end = end.max(1);
    let specifier = inside(reader, scope, &names[..end])?;
    let known = reader.name(&specifier);
    if !reader.out.imports.iter().any(|import| import.specifier == known) {
        let line = reader.line(node);
        reader.out.imports.push(fact(known, Vec::new(), Vec::new(), line, true));
    }
    let mut value = reader.add(Expr::Import(known));
    for name in &names[end..] {
        let name = reader.name(name);
        value = reader.add(Expr::Member(value, name));
    }
    Some(value)
}

fn fact(specifier: Name, names: Vec<Name>, modules: Vec<Name>, line: u32, implied: bool) -> ImportFact {
    ImportFact { specifier, names, modules, line, implied }
}
