//! Facts of single files with exact expected answers.

use super::{ExportValue, ParseFailure, ParsedFile, Parser, parse};
use crate::language::Language;

fn parsed(text: &str) -> ParsedFile {
    parse("a.tsx", Language::Tsx, text.as_bytes()).unwrap()
}

fn symbols(text: &str) -> Vec<String> {
    let rows = parsed(text).symbols.into_iter().map(|symbol| {
        let exported = if symbol.exported { " exported" } else { "" };
        format!("{} {}#{} {}-{}{exported}", symbol.kind, symbol.qualified, symbol.ordinal, symbol.line, symbol.end_line)
    });
    rows.collect()
}

#[test]
fn every_kind_of_symbol_is_found_with_the_names_around_it() {
    let text = "export function outer() {
  function inner() {}
  const arrow = () => { const plain = 1; };
}
export class Billing { #key = 1; charge() {} get total() { return 1; } set total(x) {} handler = async () => {}; constructor() {} }
interface Shape {} type Alias = string; enum Color { Red } namespace Space { export const deep = 1; export function f() {} }
export const api = { run() {}, nested: { go: () => {} }, value: 1 }, two = 2; let three = 3;
export default () => { use(function named() {}); };
";
    assert_eq!(
        symbols(text),
        [
            "function outer#0 1-4 exported",
            "function outer.inner#0 2-2",
            "function outer.arrow#0 3-3",
            "class Billing#0 5-5 exported",
            "method Billing.charge#0 5-5",
            "method Billing.total#0 5-5",
            "method Billing.total#1 5-5",
            "method Billing.handler#0 5-5",
            "method Billing.constructor#0 5-5",
            "interface Shape#0 6-6",
            "type Alias#0 6-6",
            "enum Color#0 6-6",
            "namespace Space#0 6-6",
            "constant Space.deep#0 6-6",
            "function Space.f#0 6-6",
            "constant api#0 7-7 exported",
            "method api.run#0 7-7",
            "method api.nested.go#0 7-7",
            "constant two#0 7-7 exported",
            "variable three#0 7-7",
            "function default#0 8-8 exported",
            "function default.named#0 8-8",
        ]
    );
}

#[test]
fn anonymous_defaults_and_commonjs_exports_are_symbols() {
    assert_eq!(symbols("export default function () {}"), ["function default#0 1-1 exported"]);
    assert_eq!(symbols("export default class {}"), ["class default#0 1-1 exported"]);
    assert_eq!(
        symbols("export default { run() {} };"),
        ["constant default#0 1-1 exported", "method default.run#0 1-1"]
    );
    assert_eq!(
        symbols("exports.a = () => {}; module.exports.b = function () {};"),
        ["function a#0 1-1 exported", "function b#0 1-1 exported"]
    );
}

#[test]
fn imports_and_exports_are_listed_as_written() {
    let file = parsed(
        "import d, { a, b as c } from './x'; import * as ns from './y'; import './z'; import type { T } from './t';
export { a as q, d as default }; export * from './s'; export * as all from './u'; export { w } from './v';
const m = require('./m'); const n = await import('./n');",
    );
    let imports: Vec<String> = file
        .imports
        .iter()
        .map(|import| {
            let names: Vec<&str> = import.names.iter().map(|name| file.name(*name)).collect();
            format!("{} {}", file.name(import.specifier), names.join(","))
        })
        .collect();
    assert_eq!(imports, ["./x default,a,b", "./y *", "./z ", "./t T", "./s *", "./u *", "./v w", "./m *", "./n *"]);
    let exports: Vec<String> = file
        .exports
        .iter()
        .map(|export| {
            let from = match export.value {
                ExportValue::From { specifier, name } => format!("{} of {}", file.name(name), file.name(specifier)),
                ExportValue::Binding(_) => "binding".to_owned(),
                _ => "other".to_owned(),
            };
            format!("{} {from}", file.name(export.name))
        })
        .collect();
    assert_eq!(exports, ["q binding", "default binding", "* * of ./s", "all * of ./u", "w w of ./v"]);
}

#[test]
fn what_is_not_text_is_refused_and_a_mark_of_byte_order_is_not() {
    let refused = parse("a.ts", Language::TypeScript, b"const a = '\xff';").unwrap_err();
    assert_eq!(refused, ParseFailure::NotText { path: "a.ts".to_owned() });
    assert_eq!(parse("a.ts", Language::TypeScript, "\u{feff}const a = 1;".as_bytes()).unwrap().symbols[0].line, 1);
    assert_eq!(parse("a.ts", Language::TypeScript, b"").unwrap().lines, 0);
}

#[test]
fn declarations_about_other_modules_are_not_of_this_file() {
    assert_eq!(symbols("declare module 'stripe' { export class Stripe {} }"), Vec::<String>::new());
}

#[test]
fn what_oxc_cannot_parse_still_has_its_symbols_imports_and_direct_calls() {
    let text = "import Stripe from 'stripe';
export const stripe = new Stripe('k');
export function pay(amount) {
  return stripe.charges.create({ amount, currency: 'usd' });
}
class Ledger { add(x) { return x; } }
function broken( { const = ; }
";
    let file = parsed(text);
    assert_eq!(file.parser, Parser::Fallback);
    let names: Vec<&str> = file.symbols.iter().map(|symbol| symbol.qualified.as_str()).collect();
    assert!(names.starts_with(&["pay", "Ledger", "Ledger.add"]), "{names:?}");
    assert_eq!(file.name(file.imports[0].specifier), "stripe");
    let mut calls: Vec<_> = file.calls.iter().map(|call| (call.line, call.symbol)).collect();
    calls.sort_unstable();
    assert_eq!(calls, [(2, None), (4, Some(0))]);
    assert_eq!(parsed(text), file);
}

#[test]
fn the_fallback_takes_no_name_that_is_declared_twice() {
    let text = "import { stripe } from './lib';
function f(stripe) { stripe.charges.create({}); }
function broken( { const = ; }
";
    assert_eq!(parsed(text).bindings, []);
}

/// `line:column chain` of every call, by the position of its callee's last token.
fn callees(path: &str, language: Language, text: &str) -> (Vec<(u32, u32)>, ParsedFile) {
    let file = parse(path, language, text.as_bytes()).unwrap();
    let mut at: Vec<_> = file.calls.iter().map(|call| (call.callee_line, call.callee_column)).collect();
    at.sort_unstable();
    (at, file)
}

#[test]
fn a_components_scripts_are_one_module_at_their_own_lines_and_columns() {
    let text = "<template><p>é {{ total }}</p></template>\r\n<script lang=\"ts\">\r\nimport Stripe from 'stripe';\r\nexport default { name: 'Pay' }</script><script setup lang=\"ts\">\r\nimport Stripe from 'stripe';\r\nconst stripe = new Stripe(key as string);\r\nawait stripe.charges.create({ amount });\r\n</script>\r\n<!-- é 😀 --><script setup lang=\"ts\">/*é*/ stripe.balance.retrieve()</script>\r\n";
    let (at, file) = callees("Pay.vue", Language::Vue, text);
    assert_eq!((file.parser, file.lines), (Parser::Oxc, 9));
    assert_eq!(at, [(6, 20), (7, 22), (9, 59)]);
    assert_eq!(file.imports.iter().map(|import| import.line).collect::<Vec<_>>(), [3, 5]);

    let text =
        "<script context=\"module\">export const k = f();</script>\n\n<script>\n  $: g(k);\n</script>\n<p>{g(1)}</p>\n";
    let (at, file) = callees("Pay.svelte", Language::Svelte, text);
    assert_eq!((file.parser, file.lines), (Parser::Oxc, 6));
    assert_eq!(at, [(1, 43), (4, 6)]);
}

#[test]
fn a_broken_component_keeps_its_positions_and_one_without_scripts_has_no_facts() {
    let text = "<p>é</p><script>import Stripe from 'stripe';\nf();\nfunction broken( { const = ; }\n</script>";
    let (at, file) = callees("Pay.svelte", Language::Svelte, text);
    assert_eq!((file.parser, at), (Parser::Fallback, vec![(2, 1)]));
    assert_eq!((file.name(file.imports[0].specifier), file.imports[0].line), ("stripe", 1));

    let (at, file) = callees("Bare.vue", Language::Vue, "<template>\n<p @click=\"f()\"/>\n</template>\n");
    assert_eq!((at, file.lines, file.symbols.len()), (vec![], 3, 0));
}
