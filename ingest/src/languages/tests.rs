use super::facts;
use super::python;
use crate::parse::{Expr, Origin, ParsedFile};

fn python(text: &str) -> ParsedFile {
    facts(&python::GRAMMAR, text).unwrap()
}

fn symbols(file: &ParsedFile) -> Vec<&str> {
    file.symbols.iter().map(|symbol| symbol.qualified.as_str()).collect()
}

fn origin<'f>(file: &'f ParsedFile, name: &str) -> &'f Origin {
    &file.bindings.iter().find(|binding| file.name(binding.name) == name).unwrap().origin
}

#[test]
fn facts_keep_no_text_but_what_may_be_kept() {
    let file = python("key = 'sk_live_secret'\nurl = f'https://api.stripe.com/v1/{key}'\nnote = 'dear' + ' reader'\n");
    let names: Vec<_> = (0..file.names.len()).filter_map(|at| file.names.get(at)).collect();
    assert!(!names.iter().any(|name| name.contains("secret") || name.contains("dear")));
    assert!(names.contains(&"https://api.stripe.com/v1/"));
}

#[test]
fn a_name_that_is_imported_and_then_becomes_something_else_is_neither() {
    let is_import = |text: &str| matches!(origin(&python(text), "a"), Origin::Import { .. });
    assert!(is_import("import a\n"));
    assert!(is_import("try:\n    import a\nexcept ImportError:\n    a = None\n"));
    assert!(!is_import("import a\na = wrap(a)\n"));
    assert!(!is_import("import a\nfor a in ():\n    pass\n"));
}

#[test]
fn what_cannot_be_read_costs_what_is_in_it_and_hides_the_names_in_it() {
    let file = python("import requests\n\ndef f():\n    return 1\n\nx = (requests ! ]\n\ndef g():\n    return 2\n");
    assert!(symbols(&file).contains(&"f"));
    assert!(!matches!(origin(&file, "requests"), Origin::Import { .. }));
    let file = python("def f(:\n  x = \n");
    assert!(file.lines == 2);
}

#[test]
fn columns_are_utf_16_units_and_calls_that_differ_in_literals_have_one_digest() {
    let file = python("s = '😀'; f(1, \"a\")\nf(2, \"b\")\nf(2)\n");
    let places: Vec<_> = file.calls.iter().map(|call| (call.line, call.column)).collect();
    assert_eq!(places, [(1, 11), (2, 1), (3, 1)]);
    assert_eq!(file.calls[0].hash, file.calls[1].hash);
    assert_ne!(file.calls[0].hash, file.calls[2].hash);
    assert!(file.calls.iter().all(|call| matches!(file.expr(call.expr), Expr::Call { .. })));
}
