use super::Versions;
use crate::language::Language;
use crate::link::Links;
use crate::parse::{Expr, ExprId, ParsedFile, parse};

fn facts(text: &str) -> ParsedFile {
    parse("a.ts", Language::TypeScript, text.as_bytes()).unwrap()
}

fn with<R>(then: &str, now: &str, ask: impl FnOnce(&mut Versions<'_>, &ParsedFile, &ParsedFile) -> R) -> R {
    let (then, now, links) = (facts(then), facts(now), Links::default());
    ask(&mut Versions::new((&then, &links), (&now, &links)), &then, &now)
}

fn export_the_same(then: &str, now: &str) -> bool {
    with(then, now, |versions, _, _| versions.export_the_same())
}

const TEXT: &str = "import { b } from './b';
const options = { limit: 1 };
export function pay(c) { log(1); const o = {}; o.x = c; return c.list(options, o); }
export class Held { it = b(2); get() { return this.it; } }
export const settings = { url: b(3) };
export default (value) => value;
";

#[test]
fn what_nobody_else_sees_may_change() {
    for (from, to) in [
        ("import", "// Moved down.\n\nimport"),
        ("log(1);", "log(1); log('more', c);"),
        ("log(1);", "log({ url: 2 }).then(log);"),
        ("log(1);", ""),
        ("export default", "const own = 1;\nlog(own);\nexport default"),
        ("(value) => value;\n", "(value) => value;\nexport function more() { return pay(1); }\n"),
        ("(value) => value;\n", "(value) => value;\nimport { other } from './other';\nother(log);\n"),
    ] {
        assert!(export_the_same(TEXT, &TEXT.replace(from, to)), "{from} -> {to}");
    }
}

#[test]
fn what_others_see_may_not() {
    for (from, to) in [
        ("return c.list(options, o)", "return c.list(options)"),
        ("return c.list", "return c.send"),
        ("limit: 1", "limits: 1"),
        ("pay(c)", "pay(c, d)"),
        ("pay(c)", "pay(c = b)"),
        ("o.x = c", "o.y = c"),
        ("o.x = c;", ""),
        ("b(2)", "b(2, 3)"),
        ("this.it", "this.its"),
        ("url: b(3)", "url: b(3), ...b"),
        ("./b", "./c"),
        ("{ b }", "{ d as b }"),
        ("export default (value) => value", "export default (value) => pay"),
        // What is assigned to a member of anything, and to a name that nobody declares.
        ("limit: 1 };", "limit: 1 };\noptions.limit = 2;"),
        ("limit: 1 };", "limit: 1 };\nfetch = log;"),
        ("limit: 1 };", "limit: 1 };\nObject.assign(options, { more: 1 });"),
        ("import", "jest.mock('./b');\nimport"),
        ("import", "export * from './c';\nimport"),
        // The numbers of functions, by which others know them.
        ("const options", "log(() => 1);\nconst options"),
    ] {
        assert!(!export_the_same(TEXT, &TEXT.replace(from, to)), "{from} -> {to}");
        assert!(!export_the_same(&TEXT.replace(from, to), TEXT), "{to} -> {from}");
    }
    let fewer = TEXT.replace("export const settings", "const settings");
    assert!(!export_the_same(TEXT, &fewer));
    // Who looked for it before has noted that.
    assert!(export_the_same(&fewer, TEXT));
}

#[test]
fn names_that_are_alike_are_told_apart() {
    let text = |first: &str, second: &str| {
        format!(
            "function one() {{ const o = {{}}; {first} return o; }}
             function two() {{ const o = {{}}; {second} return o; }}
             export const both = [one(), two()];"
        )
    };
    assert!(export_the_same(&text("o.a = 1;", ""), &text("o.a = 1;", "log();")));
    assert!(!export_the_same(&text("o.a = 1;", ""), &text("", "o.a = 1;")));
    // One thing in two places is not two things that look the same.
    let used = |inner: &str| {
        format!("const a = {{}};\nfunction inner() {{ {inner} return a; }}\nexport const both = [a, inner()];")
    };
    assert!(!export_the_same(&used(""), &used("const a = {};")));
    // What is assigned last counts.
    let last = |one: &str, two: &str| format!("let a = 1;\n{one}\n{two}\nexport const b = a;\n");
    assert!(!export_the_same(&last("a = c();", "log(); a = d();"), &last("a = d();", "log(); a = c();")));
    let ordered = |one: &str, two: &str| format!("let a = 1;\n{one}\n{two}\n");
    let (reads, writes) = ("export const b = a;", "a = c();");
    assert!(!export_the_same(&ordered(reads, writes), &ordered(writes, reads)));
}

/// The calls of `f`.
fn calls(facts: &ParsedFile) -> Vec<ExprId> {
    let is_f = |callee: ExprId| matches!(facts.expr(callee), Expr::Binding(binding) if facts.name(facts.bindings[*binding as usize].name) == "f");
    let calls = facts.calls.iter().map(|call| call.expr);
    calls.filter(|call| matches!(facts.expr(*call), Expr::Call { callee, .. } if is_f(*callee))).collect()
}

#[test]
fn calls_are_the_same_whatever_stands_between_them() {
    let same = |then: &str, now: &str| {
        let text = |body: &str| format!("import {{ f }} from './f';\nfunction g(p) {{ {body} }}\n");
        with(&text(then), &text(now), |versions, then, now| versions.are_same_calls(&calls(then), &calls(now)))
    };
    assert!(same("f(p); f({ a: 1 });", "log(); f(p); log(1); f({ a: 1 }); log(p);"));
    assert!(!same("f(p);", "f(p, 1);"));
    assert!(!same("f(p);", "f(p); f(p);"));
    assert!(!same("f({ a: 1 });", "f({ b: 1 });"));
    assert!(!same("f(p);", "return f(p);"), "what becomes of a result is seen by the function");
    assert!(!same("f(p).a;", "f(p).b;"));
}
