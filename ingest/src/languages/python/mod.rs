//! Python: modules are files, packages are folders, and a function's names count in the whole of it.

mod texts;

use std::sync::LazyLock;

use tree_sitter::Node;

use super::reader::{Declaration, Declared, Reader, ScopeId};
use super::rules::Rules;
use super::{Grammar, Receiver};
use crate::parse::{ExportFact, ExportValue, ImportFact, Name};

/// Names of the `builtins` module that code calls or annotates with.
const BUILTINS: &str = "\
    AttributeError BaseException Exception FileNotFoundError ImportError IndexError KeyError KeyboardInterrupt \
    NotImplementedError OSError PermissionError RuntimeError StopIteration SystemExit TimeoutError TypeError \
    UnicodeDecodeError ValueError abs all any bool bytearray bytes callable chr classmethod delattr dict dir divmod \
    enumerate eval exec filter float format frozenset getattr globals hasattr hash hex id input int isinstance \
    issubclass iter len list locals map max min next object open ord print property range repr set setattr \
    staticmethod str super";

static RULES: LazyLock<Result<Rules, String>> = LazyLock::new(|| {
    let queries = [include_str!("definitions.scm"), include_str!("names.scm"), include_str!("values.scm")].concat();
    Rules::new(&tree_sitter_python::LANGUAGE.into(), &queries)
});

pub(super) static GRAMMAR: Grammar = Grammar {
    language: || tree_sitter_python::LANGUAGE.into(),
    rules: || RULES.as_ref().ok(),
    names: &["identifier"],
    builtins: BUILTINS,
    package: None,
    separator: Some("."),
    hoists: true,
    class_names: true,
    receiver: Receiver::First,
    own_type: None,
    constructor: Some("__init__"),
    argument_lists: &["argument_list"],
    transparent: &["Annotated", "ClassVar", "Final", "Optional", "Required"],
    first_of_several: false,
    stars_agree: false,
    is_pattern_name: |_| true,
    import,
    path: None,
    read: texts::read,
    literal: texts::literal,
    special_call: texts::special_call,
    visit: |_, _, _| {},
    exports,
};

fn import<'t>(reader: &mut Reader<'t>, node: Node<'t>, scope: ScopeId, depth: usize) {
    let line = reader.line(node);
    let mut cursor = node.walk();
    let names: Vec<_> = node.children_by_field_name("name", &mut cursor).collect();
    match node.kind() {
        "import_statement" => {
            for name in names {
                module(reader, name, scope, depth, line);
            }
        }
        "import_from_statement" => {
            let Some(module) = node.child_by_field_name("module_name") else { return };
            let text: String = reader.text(module).split_whitespace().collect();
            let specifier = reader.name(&text);
            let mut cursor = node.walk();
            let is_star = node.named_children(&mut cursor).any(|child| child.kind() == "wildcard_import");
            let star = reader.name("*");
            let (mut taken, mut modules) = (Vec::new(), Vec::new());
            let within = if text.ends_with('.') { text.clone() } else { format!("{text}.") };
            if is_star {
                let home = reader.module_of(scope);
                reader.scopes[home].stars.push(specifier);
                let value = ExportValue::From { specifier, name: star };
                reader.out.exports.push(ExportFact { name: star, local: None, value, internal: false });
                taken.push(star);
                modules.push(specifier);
            }
            for name in names {
                let (original, local) = original_and_local(name);
                modules.push(reader.name(&format!("{within}{}", reader.text(original))));
                let original = reader.name(reader.text(original));
                taken.push(original);
                declare(reader, local, scope, depth, specifier, original);
            }
            reader.out.imports.push(ImportFact { specifier, names: taken, modules, line, implied: false });
        }
        _ => {}
    }
}

/// `import a.b.c` makes `a` a name, `import a.b.c as d` makes `d` one.
fn module<'t>(reader: &mut Reader<'t>, name: Node<'t>, scope: ScopeId, depth: usize, line: u32) {
    let star = reader.name("*");
    let (original, local) = original_and_local(name);
    let specifier = reader.name(reader.text(original));
    reader.out.imports.push(ImportFact { specifier, names: vec![star], modules: Vec::new(), line, implied: false });
    if original.id() != local.id() {
        declare(reader, local, scope, depth, specifier, star);
        return;
    }
    let Some(first) = original.named_child(0) else { return };
    let top = reader.name(reader.text(first));
    if top != specifier {
        reader.out.imports.push(ImportFact {
            specifier: top,
            names: Vec::new(),
            modules: Vec::new(),
            line,
            implied: true,
        });
    }
    declare(reader, first, scope, depth, top, star);
}

fn declare<'t>(reader: &mut Reader<'t>, local: Node<'t>, scope: ScopeId, depth: usize, specifier: Name, name: Name) {
    let line = reader.line(local);
    let (text, home) = (reader.text(local), reader.home(scope, reader.text(local)));
    // `import a.b` and `import a.c` make the same `a`.
    let again = reader.own(home, text, 0).is_some_and(|known| {
        reader.declarations[known as usize]
            .iter()
            .any(|it| matches!(it.what, Declared::Import { specifier: s, name: n } if (s, n) == (specifier, name)))
    });
    if !again {
        reader.declare(home, text, 0, line, Declaration { what: Declared::Import { specifier, name }, depth });
    }
}

fn original_and_local(name: Node<'_>) -> (Node<'_>, Node<'_>) {
    match (name.child_by_field_name("name"), name.child_by_field_name("alias")) {
        (Some(original), Some(alias)) => (original, alias),
        _ => (name, name),
    }
}

/// Every name of a module can be imported; those that say so by an underscore, and what it imports itself from
/// elsewhere, are nothing that it offers.
fn exports(reader: &mut Reader<'_>) {
    for (text, binding) in reader.names_of(0) {
        let name = reader.name(text);
        let (value, imported) = match reader.declarations[binding as usize].as_slice() {
            [Declaration { what: Declared::Import { specifier, name }, .. }] => {
                let is_here = reader.out.name(*specifier).starts_with('.');
                let value = match reader.out.name(*name) {
                    "*" => ExportValue::Binding(binding),
                    _ => ExportValue::From { specifier: *specifier, name: *name },
                };
                (value, !is_here)
            }
            _ => (ExportValue::Binding(binding), false),
        };
        let hidden = text.starts_with('_');
        let local = if matches!(value, ExportValue::From { .. }) { None } else { Some(name) };
        reader.out.exports.push(ExportFact { name, local, value, internal: hidden || imported });
        if let (false, Some(symbol)) = (hidden, reader.out.bindings[binding as usize].symbol) {
            reader.out.symbols[symbol as usize].exported = true;
        }
    }
}
