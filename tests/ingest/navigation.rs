//! Symbols, calls, imports and exports of TypeScript, JavaScript and components, exactly: `fixtures/repositories/navigation`.

use sync_core::graph::FileFacts;

use super::Snapshot;
use super::languages::as_marked;

fn file<'s>(snapshot: &'s Snapshot, path: &str) -> &'s FileFacts {
    snapshot.files.iter().find(|file| file.path == path).unwrap()
}

fn exports(facts: &FileFacts) -> Vec<(&str, Option<&str>, Option<&str>)> {
    let export = facts.exports.iter();
    export.map(|it| (it.name.as_str(), it.local.as_deref(), it.target.as_deref())).collect()
}

#[test]
fn scripts_are_read_as_their_lines_say() {
    let snapshot = as_marked("navigation", " // ");
    let symbols = file(&snapshot, "lib/symbols.ts");
    // Declared twice, and so told apart.
    let ordinals = |name: &str| -> Vec<(u32, u32)> {
        symbols.symbols.iter().filter(|it| it.qualified == name).map(|it| (it.line, it.ordinal)).collect()
    };
    assert_eq!(ordinals("handlers.ready"), [(13, 0), (14, 1)]);
    assert_eq!(ordinals("Shape"), [(38, 0), (39, 1)]);
    assert_eq!(ordinals("over"), [(36, 0)], "overloads are one function");
    let ends: Vec<(u32, u32)> = symbols.symbols.iter().take(3).map(|it| (it.line, it.end_line)).collect();
    assert_eq!(ends, [(1, 7), (2, 5), (3, 3)]);
    let exported = |name: &str| symbols.symbols.iter().find(|it| it.qualified == name).unwrap().exported;
    assert!(exported("two") && exported("Färbung") && exported("renamed"));
    assert!(!exported("four") && !exported("Space.within") && !exported("outer.inner"));
    let unresolved: Vec<_> = symbols.unresolved.iter().map(|it| (it.name.as_str(), it.line)).collect();
    assert_eq!(unresolved, [("missing", 94), ("stop", 96), ("own", 100), ("walk", 100)]);
    let unresolved = &file(&snapshot, "app/imports.ts").unresolved;
    let unresolved: Vec<_> = unresolved.iter().map(|it| (it.name.as_str(), it.from.as_str(), it.line)).collect();
    let expected =
        [("only", "use#0", 31), ("kit", "use#0", 31), ("one", "shadows#0", 45), ("theOnly", "shadows#0", 47)];
    assert_eq!(unresolved, expected);
}

#[test]
fn imports_and_exports_lead_where_modules_and_packages_let_them() {
    let snapshot = as_marked("navigation", " // ");
    let imports: Vec<_> = file(&snapshot, "app/imports.ts")
        .imports
        .iter()
        .map(|it| (it.specifier.as_str(), it.target.as_deref(), it.names.join(" ")))
        .collect();
    let import =
        |specifier: &'static str, target: Option<&'static str>, names: &str| (specifier, target, names.to_owned());
    let symbols = Some("lib/symbols.ts");
    assert_eq!(
        imports,
        [
            import("@/symbols", symbols, "default one two Space"),
            import("only", Some("lib/only.ts"), "default"),
            import("../lib/symbols", symbols, "*"),
            import("../lib/barrel.js", Some("lib/barrel.ts"), "default one only first1 everything second2"),
            import("@acme/kit", Some("packages/kit/src/index.ts"), "default twice Widget widgetSize widgets"),
            import("@acme/kit/widgets/widget", Some("packages/kit/src/widgets/widget.ts"), "default"),
            import("@acme/kit/closed", None, "default"),
            import("@/symbols", symbols, "Helper"),
            import("@/symbols", symbols, "Base Helper"),
            import("@/expression", Some("lib/expression.ts"), "default"),
            import("../old/common", Some("old/common.js"), "*"),
            import("../lib/symbols", symbols, "*"),
            import("@/symbols", symbols, "*"),
            import("../lib/only", Some("lib/only.ts"), "*"),
            import("../lib/only", Some("lib/only.ts"), "*"),
        ]
    );
    assert_eq!(
        exports(file(&snapshot, "lib/barrel.ts")),
        [
            ("*", None, symbols),
            ("only", None, Some("lib/only.ts")),
            ("first1", None, symbols),
            ("everything", None, symbols),
            ("second2", Some("two"), None),
            ("default", Some("only"), None),
        ]
    );
    assert_eq!(
        exports(file(&snapshot, "old/common.js")),
        [("plain", None, None), ("arrow", None, None), ("named", Some("named"), None), ("Klass", None, None)]
    );
    assert_eq!(exports(file(&snapshot, "old/whole.js")), [("=", Some("whole"), None), ("sub", None, None)]);
}
