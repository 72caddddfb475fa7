//! Sources that multiply: what is small as text and without end for whoever follows it. Each costs a bounded time and
//! itself alone, and is then recorded with the limit that it met.

use std::fmt::Write as _;

use super::repository::Repository;
use super::{Snapshot, snapshot_of};

/// A line for each number.
fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, at| {
        let _ = writeln!(text, "{}", line(at));
        text
    })
}

/// Indexes sources beside one that is well; each of them is read or recorded, and that one is whole.
fn among(sources: &[(&str, String)]) -> Snapshot {
    let folder = Repository::with(&[("fine.ts", "export const f = () => g();\nfunction g() {}\n")]);
    for (path, text) in sources {
        folder.write(path, text.as_bytes());
    }
    let snapshot = snapshot_of(folder.path(), &[]);
    for (path, _) in sources {
        let is_recorded = snapshot.skips().iter().any(|(skipped, _)| skipped == path);
        assert!(snapshot.paths().contains(path) != is_recorded, "{path}");
    }
    let fine = snapshot.files.iter().find(|file| file.path == "fine.ts");
    let fine = fine.unwrap_or_else(|| panic!("{:?}", snapshot.skips()));
    assert_eq!(fine.edges.len(), 1);
    snapshot
}

/// Edges and unresolved calls of a file.
fn counts(snapshot: &Snapshot, path: &str) -> (usize, usize) {
    let file = snapshot.files.iter().find(|file| file.path == path).unwrap();
    (file.edges.len(), file.unresolved.len())
}

#[test]
fn types_that_are_made_of_themselves_end() {
    let snapshot = among(&[
        (
            "conditional.ts",
            lines(1_000, |at| {
                format!("type T{} = T{at} extends infer U ? [T{at}, T{at}] | {{ a: T{at} }} : never;", at + 1)
            }) + "type T0 = string;\ndeclare const t: T1000; t.a.b();\n",
        ),
        (
            "inherited.ts",
            lines(1_000, |at| {
                format!("interface I{at} extends I{0}, J{0} {{}} interface J{at} extends J{0}, I{0} {{}}", at + 1)
            }) + "declare const i: I0; i.nothing(); i.nothing();\n",
        ),
        (
            "omitted.ts",
            lines(1_000, |at| format!("type O{at} = Omit<O{0} & O{0}, 'a' | 'b'>;", at + 1))
                + "interface O1000 { c(): void }\ndeclare const o: O0; o.c(); o.a();\n",
        ),
        (
            "own.ts",
            "type S = S['a'] & Pick<S, 'b'>;\ntype A = B; type B = A;\ndeclare const s: S & A; s.b();\n".to_owned(),
        ),
    ]);
    assert_eq!(counts(&snapshot, "conditional.ts"), (0, 1));
    assert_eq!(counts(&snapshot, "inherited.ts"), (0, 2));
    assert_eq!(counts(&snapshot, "own.ts"), (0, 1));
}

#[test]
fn names_that_stand_for_each_other_end() {
    let snapshot = among(&[
        ("given.ts", "const m = memo();\n".to_owned() + &lines(2_000, |at| format!("m.a{at} = m.a{}; m.a{at}();", (at + 1) % 2_000))),
        (
            "assigned.ts",
            "const f0 = memo();\n".to_owned()
                + &lines(500, |at| format!("const f{0} = Object.assign(f{at}, {{ m: f{at} }}); f{0}.m(); f{0}.n();", at + 1)),
        ),
        ("merged.ts", lines(500, |at| format!("namespace N {{ export const a{at} = () => N.a{}(); }}", at.saturating_sub(1)))),
        ("circle.ts", "export * from './circle';\nexport { a as b, b as a } from './circle';\nimport { a } from './circle'; a();\n".to_owned()),
        ("self.js", "module.exports = module.exports;\nexports.a = exports.a;\nexports.a(); module.exports.a();\n".to_owned()),
        ("this.ts", format!("export const o = {}1{};\n", "{ a() { return this.b(); }, b: ".repeat(200), "}".repeat(200))),
    ]);
    assert_eq!(counts(&snapshot, "circle.ts"), (0, 1));
    assert_eq!(counts(&snapshot, "given.ts").0, 0);
    // As far as names of names are followed.
    assert!(counts(&snapshot, "merged.ts").0 > 10);
}

#[test]
fn markup_and_templates_without_end_are_read_or_recorded() {
    among(&[
        ("deep.tsx", format!("export const a = {}{};\n", "<A>".repeat(5_000), "</A>".repeat(5_000))),
        ("wide.tsx", format!("export const a = <>{}</>;\n", "<A b={c} />".repeat(20_000))),
        ("member.tsx", format!("export const a = <{}B />;\n", "A.".repeat(20_000))),
        ("tags.ts", format!("export const a = {}1{};\n", "b`${".repeat(1_000), "}`".repeat(1_000))),
        ("template.ts", format!("const a = 'x';\nfetch(`{}`);\n", "${a}/".repeat(40_000))),
        ("sum.ts", format!("fetch({}'');\n", "'https://api.stripe.com/v1/' + ".repeat(10_000))),
        (
            "either.ts",
            "const v0 = 'https://api.stripe.com';\n".to_owned()
                + &lines(500, |at| format!("const v{} = c ? v{at} + '/a' : v{at} + '/b';", at + 1))
                + "fetch(v500);\n",
        ),
    ]);
}

#[test]
fn bases_traits_and_embedded_structs_that_multiply_are_cut() {
    let snapshot = among(&[
        (
            "diamond.py",
            "class A0: pass\nclass B0: pass\n".to_owned()
                + &lines(200, |at| format!("class A{0}(B{at}, A{at}): pass\nclass B{0}(B{at}, A{at}): pass", at + 1))
                + &"A200().missing()\n".repeat(20),
        ),
        (
            "circle.py",
            lines(100, |at| format!("class C{at}(C{}, C{}): pass", (at + 1) % 100, (at + 7) % 100)) + "C0().x()\n",
        ),
        (
            "traits.rs",
            lines(100, |at| {
                format!("trait T{at}: T{} + T{} {{}}\nimpl T{at} for S {{}}", (at + 1) % 100, (at + 3) % 100)
            }) + "struct S;\nfn f(s: S) { s.x(); }\n",
        ),
        (
            "embedded.go",
            "package a\n".to_owned()
                + &lines(200, |at| {
                    format!("type T{at} struct {{ T{0}; *U{0} }}\ntype U{at} struct {{ T{0}; *U{0} }}", at + 1)
                })
                + "func f(t T0) { t.g(); t.g() }\n",
        ),
    ]);
    // What is called stays known, what no base has stays unknown.
    let expected = [("diamond.py", (20, 20)), ("circle.py", (1, 1)), ("traits.rs", (0, 1)), ("embedded.go", (0, 2))];
    assert_eq!(expected.map(|(path, _)| (path, counts(&snapshot, path))), expected);
}

#[test]
fn macros_of_rust_without_end_are_read_or_recorded() {
    let snapshot = among(&[
        ("nested.rs", format!("fn f() {{ say!({}1{}); }}\n", "f(".repeat(5_000), ")".repeat(5_000))),
        ("chained.rs", format!("fn f() {{ say!(f(){}); }}\n", ".f()".repeat(5_000))),
        ("wide.rs", format!("fn g() {{}}\nfn f() {{ say!({}); }}\n", "g(), ".repeat(5_000))),
        ("declaring.rs", format!("fn g() {{}}\nfn f() {{ say!({}); }}\n", "|g| g(), ".repeat(5_000))),
    ]);
    assert_eq!(counts(&snapshot, "wide.rs").0, 5_000);
    assert_eq!(counts(&snapshot, "declaring.rs"), (0, 0));
    assert_eq!(counts(&snapshot, "nested.rs").0, 5_000);
}

#[test]
fn half_a_megabyte_of_imports_is_read_to_its_end() {
    const MOST: usize = 500 << 10;
    let fill = |line: &dyn Fn(usize) -> String| {
        let mut text = String::new();
        for at in 0.. {
            let line = line(at);
            if text.len() + line.len() > MOST {
                break;
            }
            text.push_str(&line);
        }
        text
    };
    let snapshot = among(&[
        ("many.ts", fill(&|at| format!("import {{ x{at} }} from './m{at}';\n"))),
        ("same.ts", fill(&|_| "import { f } from './fine';\n".to_owned())),
        ("stars.ts", fill(&|at| format!("export * from './m{at}';\n")) + "import { a } from './stars'; a();\n"),
    ]);
    let imports = |path: &str| snapshot.files.iter().find(|file| file.path == path).map(|file| file.imports.len());
    assert!(imports("many.ts").is_some_and(|count| count > 12_000));
    assert_eq!(counts(&snapshot, "stars.ts"), (0, 1));
}
