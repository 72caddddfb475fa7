//! Names behind re-exports: chains, circles, and modules of which everything is taken.

use super::{analysed, file};

/// What the calls in `use.ts` lead to, behind their callers; `-` for those that lead nowhere.
fn called(files: &[(&str, &str)]) -> Vec<String> {
    let analysis = analysed(files);
    let user = file(&analysis, "use.ts");
    let mut calls: Vec<_> = user.edges.iter().map(|edge| (edge.line, edge.to.clone())).collect();
    calls.extend(user.unresolved.iter().map(|call| (call.line, "-".to_owned())));
    calls.sort();
    calls.into_iter().map(|(_, target)| target).collect()
}

/// `a(n)` as files.
fn chain(count: usize, text: impl Fn(usize) -> String) -> Vec<(String, String)> {
    (0..count).map(|at| (format!("m{at}.ts"), text(at))).collect()
}

fn with<'t>(files: &'t [(String, String)], user: &'t str) -> Vec<(&'t str, &'t str)> {
    let files = files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    files.chain([("use.ts", user)]).collect()
}

#[test]
fn a_name_of_several_modules_is_none_and_one_that_hides_another_is_itself() {
    let user =
        "import { both, hidden, same, deep, left } from './all';\nboth();\nhidden();\nsame();\ndeep();\nleft();\n";
    let targets = called(&[
        ("all.ts", "export * from './left';\nexport * from './right';\nexport function hidden() {}\n"),
        (
            "left.ts",
            "export * from './all';\nexport * from './under';\nexport { same } from './own';\nexport function both() {}\nexport function left() {}\n",
        ),
        ("right.ts", "export { same } from './own';\nexport function both() {}\nexport function hidden() {}\n"),
        ("under.ts", "export * from './right';\nexport function deep() {}\nexport function left() {}\n"),
        ("own.ts", "export function same() {}\n"),
        ("use.ts", user),
    ]);
    assert_eq!(
        targets,
        ["-", "all.ts#hidden#0", "own.ts#same#0", "under.ts#deep#0", "left.ts#left#0"],
        "as ECMAScript's `ResolveExport` says"
    );
}

#[test]
fn chains_are_followed_to_their_end_and_circles_end() {
    const LONG: usize = 300;
    let named = chain(LONG, |at| match at + 1 {
        LONG => "export function f299() {}\n".to_owned(),
        next => format!("export {{ f{next} as f{at} }} from './m{next}';\n"),
    });
    assert_eq!(called(&with(&named, "import { f0 } from './m0';\nf0();\n")), ["m299.ts#f299#0"]);
    let stars = chain(LONG, |at| format!("export * from './m{}';\nexport function f{at}() {{}}\n", at + 1));
    assert_eq!(
        called(&with(&stars, "import { f299, f300 } from './m0';\nf299();\nf300();\n")),
        ["m299.ts#f299#0", "-"]
    );
    let circle = chain(LONG, |at| format!("export {{ f }} from './m{}';\n", (at + 1) % LONG));
    assert_eq!(called(&with(&circle, "import { f } from './m0';\nf();\n")), ["-"]);
}

#[test]
fn modules_that_take_everything_from_each_other_cost_little_each() {
    const MANY: usize = 1_000;
    let files = chain(MANY, |at| {
        let taken = [1, 2, 3, 5, 7, 11].map(|step| format!("export * from './m{}';\n", (at + step) % MANY)).concat();
        let next = (at + 1) % MANY;
        format!(
            "{taken}export function f{at}() {{}}\nexport function two{}() {{}}\nimport * as next from './m{next}';\n\
             next.f{}();\nnext.nowhere();\nnext.two{}();\n",
            at / 2,
            (at + MANY / 2) % MANY,
            at / 4 + 100,
        )
    });
    let user = "import { f7, nothing, two3 } from './m0';\nf7();\nnothing();\ntwo3();\n";
    let files = with(&files, user);
    let analysis = analysed(&files);
    assert_eq!(analysis.cut, Vec::<String>::new());
    let edges = |path| file(&analysis, path).edges.iter().map(|edge| edge.to.as_str()).collect::<Vec<_>>();
    assert_eq!(edges("use.ts"), ["m7.ts#f7#0"]);
    assert_eq!(edges("m0.ts"), ["m500.ts#f500#0"]);
    // A name of two modules is looked for in all of them; others are looked up.
    let most = analysis.spent.iter().max().unwrap();
    assert!(*most < 20_000, "{most}");
}

#[test]
fn layers_of_modules_that_take_everything_from_the_next_cost_little_each() {
    const LAYERS: usize = 30;
    const WIDE: usize = 20;
    let files: Vec<_> = (0..LAYERS * WIDE)
        .map(|at| {
            let (layer, column) = (at / WIDE, at % WIDE);
            let below =
                |step: usize| format!("export * from './m{}';\n", (layer + 1) * WIDE + (column * step + step) % WIDE);
            let taken = if layer + 1 < LAYERS { [1, 2, 3, 5, 7].map(below).concat() } else { String::new() };
            let last = (LAYERS - 1) * WIDE + (column + 1) % WIDE;
            let text = format!(
                "{taken}export function f{at}() {{}}\nexport function each() {{}}\nimport * as own from './m{at}';\n\
                 own.f{last}();\nown.nowhere();\nown.each();\n"
            );
            (format!("m{at}.ts"), text)
        })
        .collect();
    let analysis = analysed(&with(&files, "import { f599, each } from './m0';\nf599();\neach();\n"));
    assert_eq!(analysis.cut, Vec::<String>::new());
    let edges = |path| file(&analysis, path).edges.iter().map(|edge| edge.to.as_str()).collect::<Vec<_>>();
    assert_eq!(edges("use.ts"), ["m599.ts#f599#0", "m0.ts#each#0"]);
    assert_eq!(edges("m25.ts"), ["m586.ts#f586#0", "m25.ts#each#0"]);
    let most = analysis.spent.iter().max().unwrap();
    assert!(*most < 5_000, "{most}");
}
