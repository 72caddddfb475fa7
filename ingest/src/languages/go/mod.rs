//! Go: a folder is a package of several files, whose names all of them see; methods stand beside their types.

mod texts;

use std::sync::LazyLock;

use tree_sitter::Node;

use super::reader::{Declaration, Declared, Reader, ScopeId};
use super::rules::Rules;
use super::{Grammar, Receiver};
use crate::parse::{ExportFact, ExportValue, ImportFact};

/// Names of the universe block.
const BUILTINS: &str = "\
    any append bool byte cap clear close comparable complex complex128 complex64 copy delete error false float32 \
    float64 imag int int16 int32 int64 int8 iota len make max min new panic print println real recover rune string \
    true uint uint16 uint32 uint64 uint8 uintptr _";

/// The specifier of a file's own package.
const PACKAGE: &str = ".";

static RULES: LazyLock<Result<Rules, String>> = LazyLock::new(|| {
    let queries = [include_str!("definitions.scm"), include_str!("names.scm"), include_str!("values.scm")].concat();
    Rules::new(&tree_sitter_go::LANGUAGE.into(), &queries)
});

pub(super) static GRAMMAR: Grammar = Grammar {
    language: || tree_sitter_go::LANGUAGE.into(),
    rules: || RULES.as_ref().ok(),
    names: &["identifier", "type_identifier", "package_identifier", "blank_identifier"],
    builtins: BUILTINS,
    package: Some(PACKAGE),
    separator: None,
    hoists: false,
    class_names: false,
    receiver: Receiver::Named,
    own_type: None,
    constructor: None,
    argument_lists: &["argument_list"],
    transparent: &[],
    first_of_several: true,
    stars_agree: false,
    is_pattern_name: |name| name != "_",
    import,
    path: None,
    read: texts::read,
    literal: texts::literal,
    special_call: texts::special_call,
    visit: |_, _, _| {},
    exports,
};

fn import<'t>(reader: &mut Reader<'t>, node: Node<'t>, scope: ScopeId, depth: usize) {
    if node.kind() == "package_clause" {
        let name = node.named_child(0).map(|name| reader.text(name));
        reader.out.package = name.map(|name| reader.name(name));
        return;
    }
    let Some(path) = node.child_by_field_name("path").and_then(|path| texts::literal(reader, path)) else { return };
    let line = reader.line(node);
    let (specifier, star) = (reader.name(&path), reader.name("*"));
    let alias = node.child_by_field_name("name");
    let mut names = vec![star];
    match alias.map(|alias| (alias.kind(), reader.text(alias))) {
        Some(("dot", _)) => reader.scopes[scope].stars.push(specifier),
        Some(("blank_identifier", _)) => names.clear(),
        Some((_, alias)) => {
            let what = Declared::Import { specifier, name: star };
            reader.declare(scope, alias, 0, line, Declaration { what, depth });
        }
        None => {
            let within = node.child_by_field_name("path").map_or("", |path| reader.text(path));
            let what = Declared::Import { specifier, name: star };
            reader.declare(scope, package_name(within), 0, line, Declaration { what, depth });
        }
    }
    reader.out.imports.push(ImportFact { specifier, names, modules: Vec::new(), line, implied: false });
}

/// The name that a package has by the custom of its path: the last part, without a version and what only says that it
/// is Go.
fn package_name(path: &str) -> &str {
    let path = path.trim_matches(['"', '`']);
    let mut parts = path.rsplit('/');
    let last = parts.next().unwrap_or(path);
    let is_version = last.strip_prefix('v').is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()));
    let name = if is_version { parts.next().unwrap_or(last) } else { last };
    // `gopkg.in/yaml.v3`
    let name = name.split_once(".v").map_or(name, |(name, _)| name);
    let name = name.strip_prefix("go-").unwrap_or(name);
    name.strip_suffix("-go").or_else(|| name.strip_suffix(".go")).unwrap_or(name)
}

/// All names of a file are its package's; those that start with a capital are what it offers.
fn exports(reader: &mut Reader<'_>) {
    let specifier = reader.name(PACKAGE);
    let import = ImportFact { specifier, names: Vec::new(), modules: Vec::new(), line: 0, implied: true };
    reader.out.imports.push(import);
    for (text, binding) in reader.names_of(0) {
        let declared = reader.declarations[binding as usize].first().map(|it| &it.what);
        if matches!(declared, None | Some(Declared::Import { .. })) || matches!(text, "_" | "init") {
            continue;
        }
        let name = reader.name(text);
        let is_offered = text.starts_with(char::is_uppercase);
        let value = ExportValue::Binding(binding);
        reader.out.exports.push(ExportFact { name, local: Some(name), value, internal: !is_offered });
        if let (true, Some(symbol)) = (is_offered, reader.out.bindings[binding as usize].symbol) {
            reader.out.symbols[symbol as usize].exported = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::package_name;

    #[test]
    fn packages_are_called_by_the_end_of_their_path() {
        for (path, name) in [
            ("fmt", "fmt"),
            ("net/http", "http"),
            ("github.com/go-resty/resty/v2", "resty"),
            ("gopkg.in/yaml.v3", "yaml"),
            ("github.com/stripe/stripe-go/v76", "stripe"),
            ("github.com/mattn/go-sqlite3", "sqlite3"),
        ] {
            assert_eq!(package_name(path), name, "{path}");
        }
    }
}
