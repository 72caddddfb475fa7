//! Rust: modules are files that another file declares, and paths lead through them.

mod macros;
mod paths;
mod texts;

use std::sync::LazyLock;

use tree_sitter::Node;

use super::reader::{Declaration, Declared, Reader};
use super::rules::Rules;
use super::{Grammar, Receiver};
use crate::parse::{ExportFact, ExportValue};

/// Names of the prelude and of primitive types.
const BUILTINS: &str = "\
    Box Clone Copy Debug Default Drop Eq Err Fn FnMut FnOnce From Hash Into Iterator None Ok Option Ord PartialEq \
    PartialOrd Result Send Sized Some String Sync ToString Vec bool char drop f32 f64 i128 i16 i32 i64 i8 isize str u128 \
    u16 u32 u64 u8 usize";

static RULES: LazyLock<Result<Rules, String>> = LazyLock::new(|| {
    let queries = [include_str!("definitions.scm"), include_str!("names.scm"), include_str!("values.scm")].concat();
    Rules::new(&tree_sitter_rust::LANGUAGE.into(), &queries)
});

pub(super) static GRAMMAR: Grammar = Grammar {
    language: || tree_sitter_rust::LANGUAGE.into(),
    rules: || RULES.as_ref().ok(),
    names: &["identifier", "type_identifier", "self", "shorthand_field_identifier"],
    builtins: BUILTINS,
    package: None,
    separator: None,
    hoists: false,
    class_names: false,
    receiver: Receiver::Named,
    own_type: Some("Self"),
    constructor: None,
    argument_lists: &["arguments"],
    transparent: &["Arc", "Box", "Cow", "Option", "Pin", "Rc", "Result"],
    first_of_several: false,
    stars_agree: true,
    // What starts with a capital is a variant or a constant.
    is_pattern_name: |name| !name.starts_with(char::is_uppercase),
    import: paths::import,
    path: Some(paths::path),
    read: texts::read,
    literal: texts::literal,
    special_call: texts::special_call,
    visit: macros::visit,
    exports,
};

/// All names of a file can be reached by those who see it; what is public is what it offers.
fn exports(reader: &mut Reader<'_>) {
    let mut cursor = reader.root.walk();
    let items: Vec<Node<'_>> = reader.root.named_children(&mut cursor).collect();
    for item in items {
        let is_public = item.named_child(0).is_some_and(|first| first.kind() == "visibility_modifier");
        if let Some(name) = item.child_by_field_name("name").filter(|_| is_public) {
            let text = reader.text(name);
            reader.public.insert(text);
        }
    }
    for (text, binding) in reader.names_of(0) {
        let name = reader.name(text);
        let value = match reader.declarations[binding as usize].as_slice() {
            [Declaration { what: Declared::Import { specifier, name }, .. }] if reader.out.name(*name) != "*" => {
                ExportValue::From { specifier: *specifier, name: *name }
            }
            _ => ExportValue::Binding(binding),
        };
        let is_public = reader.public.contains(text);
        let local = if matches!(value, ExportValue::From { .. }) { None } else { Some(name) };
        reader.out.exports.push(ExportFact { name, local, value, internal: !is_public });
        if let (true, Some(symbol)) = (is_public, reader.out.bindings[binding as usize].symbol) {
            reader.out.symbols[symbol as usize].exported = true;
        }
    }
}
