//! Python, Go and Rust: symbols, calls and plain requests of the repositories in `fixtures/`, exactly.
//!
//! The comment at the end of a line says what it holds: `def KIND QUALIFIED` for a symbol, `call TARGET VIA` for a call
//! (`TARGET` is `QUALIFIED` in the same file, else `PATH#QUALIFIED`), `=> VENDOR OPERATION` for a call site (`?` where
//! none is provable); several behind each other with `; ` between them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sync_core::graph::Context;

use super::repository::Repository;
use super::{Snapshot, snapshot_of};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/repositories").join(name)
}

/// What the lines of the files of a snapshot say of themselves.
fn marked(root: &Path, snapshot: &Snapshot, comment: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for file in &snapshot.files {
        let text = std::fs::read_to_string(root.join(&file.path)).unwrap();
        for (line, text) in (1..).zip(text.lines()) {
            let Some((_, marks)) = text.rsplit_once(comment) else { continue };
            for mark in marks.trim().split("; ") {
                let words: Vec<&str> = mark.split(' ').collect();
                match words.as_slice() {
                    ["def" | "=>", ..] => _ = all.insert(format!("{}:{line} {mark}", file.path)),
                    ["call", target, via] => {
                        let path = if target.contains('#') { "" } else { &format!("{}#", file.path) };
                        all.insert(format!("{}:{line} call {path}{target} {via}", file.path));
                    }
                    _ => {}
                }
            }
        }
    }
    all
}

/// The same as the snapshot has it.
fn found(snapshot: &Snapshot) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for file in &snapshot.files {
        let path = &file.path;
        for symbol in &file.symbols {
            all.insert(format!("{path}:{} def {} {}", symbol.line, symbol.kind, symbol.qualified));
        }
        for edge in &file.edges {
            let target = edge.to.rsplit_once('#').unwrap().0;
            all.insert(format!("{path}:{} call {target} {}", edge.line, edge.via));
        }
        for site in &file.call_sites {
            let operation = site.operation.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string);
            all.insert(format!("{path}:{} => {} {operation}", site.line, site.vendor));
        }
    }
    all
}

pub(super) fn as_marked(name: &str, comment: &str) -> Snapshot {
    let root = fixture(name);
    let snapshot = snapshot_of(&root, &[]);
    let (marked, found) = (marked(&root, &snapshot, comment), found(&snapshot));
    let missing: Vec<_> = marked.difference(&found).collect();
    let surplus: Vec<_> = found.difference(&marked).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "missing {missing:#?}\nsurplus {surplus:#?}");
    assert_eq!(snapshot.reasons(), []);
    snapshot
}

#[test]
fn python_is_read_as_its_lines_say() {
    let snapshot = as_marked("python", "  # ");
    assert!(
        snapshot.files.iter().all(|file| (file.language.as_str(), file.parser.as_str()) == ("python", "tree_sitter"))
    );
    let tests = snapshot.files.iter().find(|file| file.path == "tests/test_client.py").unwrap();
    assert_eq!(tests.call_sites[0].context, Context::Test);
    let client = snapshot.files.iter().find(|file| file.path == "src/shop/payments/client.py").unwrap();
    let charge = client.call_sites.iter().find(|site| site.chain == "self.session.post").unwrap();
    assert_eq!(charge.args_keys, ["amount", "currency"]);
    let imports: Vec<_> = client
        .imports
        .iter()
        .map(|import| (import.specifier.as_str(), import.target.as_deref(), import.names.join(" ")))
        .collect();
    assert_eq!(imports[2], ("httpx", None, "*".to_owned()));
    assert_eq!(imports[6], ("..config", Some("src/shop/config.py"), "INTERNAL STRIPE_V1 Settings".to_owned()));
    let package = snapshot.files.iter().find(|file| file.path == "src/shop/__init__.py").unwrap();
    let offered: Vec<_> = package.exports.iter().map(|export| export.name.as_str()).collect();
    assert_eq!(offered, ["Money", "parse_money", "config", "Client"]);
}

#[test]
fn go_is_read_as_its_lines_say() {
    let snapshot = as_marked("go", " // ");
    assert_eq!(snapshot.skips(), [("vendor/", "vendored")]);
    let client = snapshot.files.iter().find(|file| file.path == "api/client.go").unwrap();
    let offered: Vec<_> = client.exports.iter().map(|export| export.name.as_str()).collect();
    assert_eq!(offered, ["Client", "Store", "Cents", "Alias", "New"]);
    let imports: Vec<_> =
        client.imports.iter().map(|import| (import.specifier.as_str(), import.target.as_deref())).collect();
    assert_eq!(
        imports[3..],
        [("example.com/shop/internal/pay", Some("internal/pay/pay.go")), ("github.com/go-resty/resty/v2", None),]
    );
}

#[test]
fn rust_is_read_as_its_lines_say() {
    let snapshot = as_marked("rust", " // ");
    let library = snapshot.files.iter().find(|file| file.path == "money/src/lib.rs").unwrap();
    let imports: Vec<_> =
        library.imports.iter().map(|import| (import.specifier.as_str(), import.target.as_deref())).collect();
    assert_eq!(
        imports,
        [
            ("self::cents", Some("money/src/cents.rs")),
            ("self::tax", Some("money/src/tax.rs")),
            ("cents", Some("money/src/cents.rs")),
            ("self::tax", Some("money/src/tax.rs")),
        ]
    );
    let offered: Vec<_> = library.exports.iter().map(|export| export.name.as_str()).collect();
    assert_eq!(offered, ["*", "tax", "Cents", "total"]);
}

#[test]
fn nesting_without_end_costs_its_file_only() {
    let deep = |open: &str, close: &str, times: usize| format!("x = {}1{}\n", open.repeat(times), close.repeat(times));
    let repository = Repository::with(&[
        ("lists.py", &deep("[", "]", 50_000)),
        ("calls.py", &deep("f(", ")", 50_000)),
        ("broken.py", &"(".repeat(200_000)),
        ("blocks.py", &(0..300).map(|at| " ".repeat(at) + "if x:\n").collect::<String>()),
        ("sum.py", &format!("x = {}1\n", "1 + ".repeat(100_000))),
        ("fine.py", "def f():\n    return g()\n\ndef g():\n    return 1\n"),
    ]);
    let snapshot = snapshot_of(repository.path(), &[]);
    let fine = snapshot.files.iter().find(|file| file.path == "fine.py").unwrap();
    assert_eq!(fine.edges.len(), 1);
}
