//! What a call site records: arguments, reads, positions, hashes and pins.

use super::{analysed, only, sites};

#[test]
fn a_call_in_a_test_is_a_call_site_of_its_own_context() {
    let analysis = analysed(&[(
        "tests/a.ts",
        r#"import Stripe from "stripe"; it("x", async () => { await new Stripe("k").charges.create({}); });"#,
    )]);
    assert_eq!(sites(&analysis)[0].1.context, sync_core::graph::Context::Test);
}

#[test]
fn arguments_are_read_behind_the_path_and_options_are_none() {
    let keys = |call: &str| {
        let site = only(&format!(r#"import Stripe from "stripe"; const stripe = new Stripe("k"); {call}"#));
        (site.args_keys, site.args_complete)
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        keys("stripe.charges.create({ amount: 1, 'currency': c, card: { number: 'n', [x]: 1 } });"),
        (names(&["amount", "card", "card.number", "currency"]), true)
    );
    assert_eq!(
        keys("stripe.charges.update('ch', { description }, { idempotencyKey: 'x' });"),
        (names(&["description"]), true)
    );
    assert_eq!(keys("stripe.charges.retrieve('ch', { stripeAccount: 'acct' });"), (vec![], true));
    assert_eq!(keys("stripe.charges.create({ ...base, amount: 1 });"), (names(&["amount"]), false));
    assert_eq!(
        keys(
            "const base = { currency: 'usd' }; stripe.charges.create({ ...base, ...(x && { source: 's' }), ...(y ? { a: 1 } : {}) });"
        ),
        (names(&["a", "currency", "source"]), true)
    );
    assert_eq!(keys("stripe.charges.create(params);"), (vec![], false));
    assert_eq!(keys("stripe.charges.create(...all);"), (vec![], false));
    assert_eq!(keys("stripe.charges.list();"), (vec![], true));
    assert_eq!(
        keys("stripe.invoices.create({ lines: [{ price: 'p' }, { quantity: 1 }] });"),
        (names(&["lines", "lines.price", "lines.quantity"]), true)
    );
}

#[test]
fn reads_of_the_response_are_followed() {
    let reads = |code: &str| {
        let site = only(&format!(
            r#"import Stripe from "stripe"; const stripe = new Stripe("k"); async function f() {{ {code} }}"#
        ));
        let reads: Vec<String> = site
            .reads
            .iter()
            .map(|read| {
                format!("{}{}{}", read.field, if read.guarded { "?" } else { "" }, if read.compared { "=" } else { "" })
            })
            .collect();
        (reads.join(" "), site.response_complete)
    };
    let is = |reads: &str, complete: bool| (reads.to_owned(), complete);
    let get = "stripe.subscriptions.retrieve('s')";
    assert_eq!(
        reads(&format!("const {{ status, items: {{ data }} }} = await {get}; use(status);")),
        is("items.data status", true)
    );
    assert_eq!(
        reads(&format!("const s = await {get}; if (s.status === 'x') log(s.customer);")),
        is("customer status=", true)
    );
    assert_eq!(reads(&format!("const s = await {get}; return s;")), is("", false));
    assert_eq!(reads(&format!("use(await {get});")), is("", false));
    assert_eq!(reads(&format!("await {get};")), is("", true));
    assert_eq!(reads(&format!("return (await {get}).id;")), is("id", true));
    assert_eq!(
        reads(&format!("{get}.then((s) => s.current_period_end).catch(() => 0);")),
        is("current_period_end", true)
    );
    assert_eq!(
        reads(&format!("const s = await {get}; const x = s.trial_end ?? 0; if (s.ended_at) go(s.ended_at);")),
        is("ended_at? trial_end?", true)
    );
    assert_eq!(reads(&format!("const [s] = await Promise.all([{get}]); log(s.id);")), is("id", true));
    assert_eq!(reads(&format!("let s; s = await {get}; log(s?.id);")), is("id", true));
    let list = "stripe.customers.list({})";
    assert_eq!(
        reads(&format!("const l = await {list}; l.data.map((c) => c.email); for (const c of l.data) log(c.id);")),
        is("data data.email data.id".replace("data.", "data[].").as_str(), true)
    );
    assert_eq!(reads(&format!("for await (const c of {list}) log(c.email);")), is("data[].email", true));
    assert_eq!(reads(&format!("const first = (await {list}).data[0]; log(first.name);")), is("data[].name", true));
}

#[test]
fn pins_of_a_client_are_its_own() {
    let analysis = analysed(&[
        ("package.json", r#"{"name":"app","dependencies":{"stripe":"^14.0.0"}}"#),
        (
            "a.ts",
            r#"import Stripe from "stripe"; export const pinned = new Stripe("k", { apiVersion: "2023-10-16" });"#,
        ),
        ("b.ts", r#"import Stripe from "stripe"; export const plain = new Stripe("k");"#),
        (
            "c.ts",
            r#"import Stripe from "stripe"; export const env = new Stripe("k", { apiVersion: process.env.V as any });"#,
        ),
        (
            "d.ts",
            r#"import Stripe from "stripe"; const options = { apiVersion: "2025-03-31.basil" }; export const far = new Stripe("k", options);"#,
        ),
        ("e.ts", r#"import Stripe from "stripe"; export const none = new Stripe("k", { apiVersion: null });"#),
    ]);
    let mut pins: Vec<_> = analysis
        .clients
        .iter()
        .map(|client| {
            assert_eq!(client.sdk_version.as_deref(), Some("^14.0.0"));
            (client.constructed_at.as_str(), client.api_version.as_deref(), client.api_version_source.as_str())
        })
        .collect();
    pins.sort_unstable();
    assert_eq!(
        pins,
        [
            ("a.ts#pinned#0", Some("2023-10-16"), "literal"),
            ("b.ts#plain#0", None, "sdk_default"),
            ("c.ts#env#0", None, "environment"),
            ("d.ts#far#0", Some("2025-03-31.basil"), "literal"),
            ("e.ts#none#0", None, "account_default"),
        ]
    );
}

#[test]
fn a_chain_of_a_query_builder_is_one_call_site() {
    let analysis = analysed(&[(
        "a.ts",
        r#"import { createClient } from "@supabase/supabase-js";
const supabase = createClient("u", "k");
async function f() {
  const { data, error } = await supabase
    .from("customers")
    .select("*")
    .eq("id", 1)
    .single();
  return data.id;
}
"#,
    )]);
    let sites = sites(&analysis);
    assert_eq!(sites.len(), 1, "{sites:?}");
    let site = sites[0].1;
    assert_eq!((site.line, site.callee_line, site.symbol.as_str()), (4, 6, "f"));
    assert_eq!(site.operation.as_ref().unwrap().as_str(), "GET /rest/v1/{table}");
    assert_eq!(site.response_fields_read, ["data.id", "error"]);
}

#[test]
fn positions_are_in_utf_16_units_and_calls_of_one_chain_are_numbered() {
    let analysis = analysed(&[(
        "a.ts",
        "import Stripe from 'stripe';\nconst stripe = new Stripe('k');\nfunction f() {\n  /* 😀 */ stripe.charges.create({});\n  stripe\n    .charges\n    .create({});\n}\n",
    )]);
    let rows: Vec<_> = sites(&analysis)
        .iter()
        .map(|(_, site)| {
            (site.line, site.column, site.end_line, site.callee_line, site.callee_column, site.call_ordinal)
        })
        .collect();
    assert_eq!(rows, [(4, 12, 4, 4, 27, 0), (5, 3, 7, 7, 6, 1)]);
}

#[test]
fn the_hash_of_a_call_covers_its_tokens_but_not_its_literals() {
    let hash =
        |call: &str| only(&format!(r#"import Stripe from "stripe"; const stripe = new Stripe("k"); {call}"#)).call_hash;
    let base = hash("stripe.charges.create({ amount: 1 });");
    assert_eq!(base, hash("stripe . charges.create({ amount : 2 }) ;"));
    assert_ne!(base, hash("stripe.charges.create({ amount: '1' });"));
    assert_ne!(base, hash("stripe.charges.create({ currency: 1 });"));
    assert_ne!(base, hash("stripe.charges.create({ amount: 1 }, {});"));
}

#[test]
fn objects_that_are_changed_after_they_are_made_show_what_is_assigned() {
    let keys = |code: &str| {
        let site = only(&format!(
            r#"import Stripe from "stripe"; const stripe = new Stripe("k"); declare const x: any; {code}"#
        ));
        format!("{} {}", site.args_keys.join(","), if site.args_complete { "all" } else { "some" })
    };
    let call = "stripe.charges.create(p);";
    for (code, expected) in [
        (
            format!("const p: any = {{ amount: 1 }}; if (x) p.source = x; p.card = {{ number: 'n' }}; {call}"),
            "amount,card,card.number,source all",
        ),
        (
            format!("const p: any = {{}}; p.metadata = {{}}; p.metadata.order = x; {call}"),
            "metadata,metadata.order all",
        ),
        (format!("const p: any = {{ a: 1 }}; Object.assign(p, {{ b: 2 }}, x); {call}"), "a,b some"),
        (format!("const p: any = {{ a: 1 }}; p[x] = 1; {call}"), "a some"),
        (format!("const p: any = {{ m: {{}} }}; p.m[x] = 1; {call}"), "m all"),
        ("stripe.charges.create(Object.assign({}, { a: 1 }, { b: 2 }));".to_owned(), "a,b all"),
        (format!("const p: any = {{ a: 1 }}; const q: any = {{}}; q.b = 1; {call}"), "a all"),
    ] {
        assert_eq!(keys(&code), expected, "{code}");
    }
}

#[test]
fn what_a_function_returns_is_read_where_it_is_called() {
    let reads = |code: &str| {
        let site = only(&format!(r#"import Stripe from "stripe"; const stripe = new Stripe("k"); {code}"#));
        format!("{} {}", site.response_fields_read.join(","), if site.response_complete { "all" } else { "some" })
    };
    let get = "await stripe.charges.retrieve('ch')";
    for (code, expected) in [
        (
            format!("async function f() {{ return {get}; }} f().then((c) => c.amount); const d = await f(); d.status;"),
            "amount,status all",
        ),
        (format!("const f = async () => {{ const c = {get}; return c; }}; (await f()).id;"), "id all"),
        (format!("async function f() {{ return ({get}).source; }} (await f()).id;"), "source,source.id all"),
        (
            format!("async function f() {{ const c = {get}; if (!c.paid) return null; return c; }} (await f())?.id;"),
            "id,paid all",
        ),
        (format!("async function f() {{ return {get}; }} const g = async () => f(); (await g()).id;"), "id all"),
        // Who else calls it is not known, or which of its results is read.
        (format!("export async function f() {{ return {get}; }} (await f()).id;"), "id some"),
        (format!("async function f() {{ return {get}; }} (await f()).id; use(f);"), "id some"),
        (format!("async function f(x) {{ if (x) return {{ id: 1 }}; return {get}; }} (await f()).id;"), " some"),
        (format!("async function f() {{ return {get}; }}"), " some"),
    ] {
        assert_eq!(reads(&code), expected, "{code}");
    }
}

#[test]
fn what_an_unknown_method_of_an_answer_gives_is_no_part_of_it() {
    let site = only(
        r#"import OpenAI from "openai"; const openai = new OpenAI();
const reader = openai.beta.threads.createAndRunStream({}).toReadableStream().getReader();
const { value } = await reader.read(); value.x;"#,
    );
    assert_eq!((site.response_fields_read, site.response_complete), (vec![], false));
}
