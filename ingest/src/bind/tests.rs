//! Small repositories with exact expected call sites: each idiom with what looks like it and is not.

use std::collections::BTreeMap;

use sync_core::graph::{CallSite, FileFacts};

use crate::analyze::{Analysis, Project, analyze};
use crate::catalog::Catalog;
use crate::language::Language;
use crate::manifests::Manifests;
use crate::parse::parse;
use crate::pins::Pins;
use crate::walk::SourceEntry;

/// Analyses a repository given as paths and texts; manifests are told by their names.
pub(super) fn analysed(files: &[(&str, &str)]) -> Analysis {
    let mut sources = Vec::new();
    let mut manifests = Manifests::default();
    let mut files = files.to_vec();
    files.sort_unstable();
    for (path, text) in files {
        match Language::of_path(path) {
            Some(language) => {
                let parsed = parse(path, language, text.as_bytes()).unwrap();
                let entry = SourceEntry {
                    path: path.to_owned(),
                    language,
                    content_hash: "0".repeat(40),
                    bytes: text.len() as u64,
                };
                sources.push((entry, parsed));
            }
            None => {
                manifests.files.insert(path.to_owned(), text.as_bytes().to_vec());
            }
        }
    }
    let (pins, _) = Pins::read(&manifests);
    let catalog = Catalog::embedded().unwrap();
    analyze(&Project { files: &sources, manifests: &manifests, pins: &pins, catalog }).unwrap()
}

fn sites(analysis: &Analysis) -> Vec<(&str, &CallSite)> {
    analysis.files.iter().flat_map(|file| file.call_sites.iter().map(|site| (file.path.as_str(), site))).collect()
}

/// `line chain operation` of every call site.
fn bound(files: &[(&str, &str)]) -> Vec<String> {
    let analysis = analysed(files);
    let described = |(path, site): (&str, &CallSite)| {
        let operation = site.operation.as_ref().map_or("-", |operation| operation.as_str());
        format!("{path}:{} {} {operation}", site.line, site.chain)
    };
    sites(&analysis).into_iter().map(described).collect()
}

/// The same for one file.
fn bound_in(text: &str) -> Vec<String> {
    bound(&[("a.ts", text)]).into_iter().map(|row| row.trim_start_matches("a.ts:").to_owned()).collect()
}

fn file<'a>(analysis: &'a Analysis, path: &str) -> &'a FileFacts {
    analysis.files.iter().find(|file| file.path == path).unwrap()
}

fn only(text: &str) -> CallSite {
    let analysis = analysed(&[("a.ts", text)]);
    let sites = sites(&analysis);
    assert_eq!(sites.len(), 1, "{sites:?}");
    sites[0].1.clone()
}

const CREATE: &str = "POST /v1/charges";

#[test]
fn every_idiom_of_the_fixture_binds_and_no_look_alike_does() {
    let text = include_str!("../../../fixtures/repositories/idioms/idioms.ts");
    let analysis = analysed(&[("idioms.ts", text)]);
    let sites = sites(&analysis);
    let expected = include_str!("../../../fixtures/repositories/idioms.expected.jsonl");
    for row in expected.lines().filter(|row| !row.is_empty()) {
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        let line = u32::try_from(row["line"].as_u64().unwrap()).unwrap();
        let found: Vec<String> = sites
            .iter()
            .filter(|(_, site)| site.line <= line && line <= site.end_line)
            .map(|(_, site)| site.operation.as_ref().map_or_else(String::new, sync_core::operation::Operation::erased))
            .collect();
        let wanted: Vec<String> = row["operation"].as_str().map(sync_core::operation::erase).into_iter().collect();
        assert_eq!(found, wanted, "{row}");
    }
}

#[test]
fn clients_come_through_construction_require_and_dynamic_import() {
    let rows = bound_in(
        r#"import Stripe from "stripe";
import * as All from "stripe";
const a = new Stripe("k"); a.charges.create({});
const b = require("stripe")("k"); b.charges.create({});
const { Stripe: S } = require("stripe"); new S("k").charges.create({});
const c = new All.Stripe("k"); c.charges.create({});
async function f() { const s = new (await import("stripe")).default("k"); return s.charges.create({}); }
const d = (Stripe as any)("k"); d.charges.create({});
class Own extends Stripe {} new Own("k").charges.create({});
"#,
    );
    let expected = [
        "3 a.charges.create",
        "4 b.charges.create",
        "5 new S().charges.create",
        "6 c.charges.create",
        "7 s.charges.create",
        "8 d.charges.create",
        "9 new Own().charges.create",
    ];
    assert_eq!(rows, expected.map(|row| format!("{row} {CREATE}")));
}

#[test]
fn instances_are_followed_through_reexports_aliases_and_packages_of_the_repository() {
    let rows = bound(&[
        ("tsconfig.json", r#"{"extends":"missing","compilerOptions":{"paths":{"@/*":["./src/*"]}}}"#),
        ("packages/pay/package.json", r#"{"name":"@acme/pay","exports":{".":"./src/index.ts"}}"#),
        ("packages/pay/src/index.ts", r#"export * from "./client"; export { stripe as payments } from "./client";"#),
        (
            "packages/pay/src/client.ts",
            r#"import Stripe from "stripe"; export * from "./index"; export const stripe = new Stripe("k");"#,
        ),
        ("src/lib.ts", r#"export { default } from "./default";"#),
        ("src/default.js", r#"const Stripe = require("stripe"); module.exports = new Stripe("k");"#),
        ("src/a.ts", r#"import { payments } from "@acme/pay"; payments.charges.create({});"#),
        ("src/b.ts", r#"import stripe from "@/lib"; stripe.charges.create({});"#),
        ("src/c.ts", r#"import * as pay from "@acme/pay"; pay.stripe.charges.create({});"#),
        ("src/d.ts", r#"import { missing } from "@acme/pay"; missing.charges.create({});"#),
    ]);
    assert_eq!(
        rows,
        [
            "src/a.ts:1 payments.charges.create POST /v1/charges",
            "src/b.ts:1 stripe.charges.create POST /v1/charges",
            "src/c.ts:1 pay.stripe.charges.create POST /v1/charges",
        ]
    );
}

#[test]
fn factories_getters_and_singletons_give_clients() {
    let rows = bound_in(
        r#"import Stripe from "stripe";
const make = ({ mode }: { mode?: string }) => { const key = mode; return new Stripe(key!); };
make({}).charges.create({});
let lazy: Stripe | null = null;
function get() { lazy ??= new Stripe("k"); return lazy; }
get().charges.create({});
class Pay { private static one?: Stripe; static get client() { return (this as any).x ?? new Stripe("k"); } }
Pay.client.charges.create({});
const shared = (globalThis as any).stripe ?? new Stripe("k"); shared.charges.create({});
const maybe = process.env.KEY ? new Stripe(process.env.KEY) : null; maybe?.charges.create({});
const wrapped = { stripe: new Stripe("k") }; const { stripe } = wrapped; stripe.charges.create({});
function context() { return { pay: wrapped.stripe }; }
context().pay.charges.create({});
function fake() { return { charges: { create() {} } }; }
fake().charges.create();
"#,
    );
    let lines: Vec<&str> = rows.iter().map(|row| row.split(' ').next().unwrap()).collect();
    assert_eq!(lines, ["3", "6", "8", "9", "10", "11", "13"], "{rows:?}");
}

#[test]
fn declared_types_make_clients_of_parameters_and_fields() {
    let rows = bound(&[
        (
            "types.ts",
            r#"import type Stripe from "stripe"; export interface Context { stripe: Stripe; other: Map<string, string> }
export type Pay = Pick<Stripe, "charges">;"#,
        ),
        (
            "a.ts",
            r#"import type Stripe from "stripe";
import type { Context, Pay } from "./types";
function f(stripe: Stripe) { stripe.charges.create({}); }
const g = ({ stripe }: { stripe: Stripe }) => stripe.charges.create({});
const h = (context: Context) => context.stripe.charges.create({});
const i = (pay: Pay) => pay.charges.create({});
class Service { private client: Stripe; constructor(client: Stripe) { this.client = client; } run() { this.client.charges.create({}); } }
class Injected { constructor(private readonly stripe: Stripe) {} run() { this.stripe.charges.create({}); } }
class Child extends Injected { go() { return super.run(), (this as any).stripe.charges.create({}); } }
const j = (charge: Stripe.Charge) => charge.refunds.create({});
function k(stripe: { charges: { create(x: unknown): void } }) { stripe.charges.create({}); }
function l(stripe: any) { stripe.charges.create({}); }
const m = (context: Context) => context.other.charges.create({});
"#,
        ),
    ]);
    let lines: Vec<&str> = rows.iter().map(|row| row.split(' ').next().unwrap()).collect();
    assert_eq!(lines, ["a.ts:3", "a.ts:4", "a.ts:5", "a.ts:6", "a.ts:7", "a.ts:8", "a.ts:9"], "{rows:?}");
}

#[test]
fn own_things_of_the_same_name_and_mocks_are_never_bound() {
    let rows = bound(&[
        ("own.ts", "export class Stripe { charges = { create(_: unknown) {} }; }"),
        ("a.ts", r#"import { Stripe } from "./own"; new Stripe().charges.create({});"#),
        ("b.ts", r#"import Stripe from "./own"; new Stripe("k").charges.create({});"#),
        ("c.ts", r#"stripe.charges.create({}); const stripe2 = new Stripe("k"); stripe2.charges.create({});"#),
        (
            "d.ts",
            r#"import Stripe from "stripe"; const stripe = new Stripe("k");
function f(stripe: Own) { stripe.charges.create({}); } interface Own { charges: { create(x: unknown): void } }"#,
        ),
        ("e.test.ts", r#"import Stripe from "stripe"; vi.mock("stripe"); new Stripe("k").charges.create({});"#),
        (
            "f.test.ts",
            r#"import { stripe } from "./lib"; jest.mock("./lib.js"); stripe.charges.create({}); expect(stripe.charges.create).toHaveBeenCalled();"#,
        ),
        (
            "g.test.ts",
            r#"const stripe = { charges: { create: jest.fn() } } as unknown as Stripe; import type Stripe from "stripe"; stripe.charges.create({});"#,
        ),
        ("lib.ts", r#"import Stripe from "stripe"; export const stripe = new Stripe("k");"#),
    ]);
    assert_eq!(rows, Vec::<String>::new());
}

#[test]
fn a_call_in_a_test_is_a_call_site_of_its_own_context() {
    let analysis = analysed(&[(
        "tests/a.ts",
        r#"import Stripe from "stripe"; it("x", async () => { await new Stripe("k").charges.create({}); });"#,
    )]);
    assert_eq!(sites(&analysis)[0].1.context, sync_core::graph::Context::Test);
}

#[test]
fn what_may_be_one_of_several_operations_has_none() {
    let site = only(
        r#"import Stripe from "stripe"; const stripe = new Stripe("k");
const resource = Math.random() > 1 ? stripe.setupIntents : stripe.paymentIntents;
resource.verifyMicrodeposits("x");"#,
    );
    assert_eq!(site.operation, None);
    assert_eq!(site.vendor, "stripe");
    assert_eq!(site.evidence.last().unwrap().step, "one of several operations of stripe, depending on values");
}

#[test]
fn unmapped_chains_say_so_and_computed_ones_are_not_call_sites() {
    let rows = bound_in(
        r#"import Stripe from "stripe"; const stripe = new Stripe("k");
stripe.nothing.atAll({});
stripe[name].create({});
"#,
    );
    assert_eq!(rows, ["2 stripe.nothing.atAll -"]);
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
fn a_client_of_another_host_is_not_the_vendors() {
    let rows = bound_in(
        r#"import OpenAI from "openai";
new OpenAI({ baseURL: "https://api.mistral.ai/v1" }).chat.completions.create({});
new OpenAI({ baseURL: process.env.URL }).chat.completions.create({});
new OpenAI({ baseURL: "https://api.openai.com/v1" }).chat.completions.create({});
new OpenAI().chat.completions.create({});
"#,
    );
    let operations: Vec<&str> = rows.iter().map(|row| row.rsplit("create ").next().unwrap()).collect();
    assert_eq!(operations[..2], ["-", "-"], "{rows:?}");
    assert!(operations[2..].iter().all(|operation| operation.ends_with("/chat/completions")), "{rows:?}");
}

#[test]
fn of_several_hosts_the_vendors_own_is_provable_and_a_value_from_elsewhere_is_none() {
    let host = |url: &str| {
        format!(
            r#"import OpenAI from "openai";
            import {{ createClient }} from "@supabase/supabase-js";
            const {{ data: row }} = await createClient("u", "k").from("models").select("*").single();
            const openai = new OpenAI({{ baseURL: {url} }});
            openai.models.list();"#
        )
    };
    let listed = |url: &str| bound_in(&host(url)).pop().unwrap();
    assert_eq!(listed(r#"process.env.API ?? "https://api.openai.com/v1""#), "5 openai.models.list GET /models");
    assert_eq!(
        listed(r#"x ? "https://api.mistral.ai/v1" : "https://api.openai.com/v1""#),
        "5 openai.models.list GET /models"
    );
    assert_eq!(listed("process.env.API"), "5 openai.models.list -");
    assert_eq!(listed("row.base_url"), "5 openai.models.list -", "another vendor's answer is no address of this one");
    // Wherever it runs, GitHub's API is GitHub's.
    let enterprise = r#"import { Octokit } from "@octokit/rest";
        new Octokit({ baseUrl: process.env.GITHUB_API_URL }).request("GET /rate_limit");"#;
    assert_eq!(bound_in(enterprise).pop().unwrap(), "2 new Octokit().request GET /rate_limit");
}

#[test]
fn a_vendors_own_repository_uses_its_package_but_a_private_stand_in_is_none() {
    let app = r#"import { App } from "@slack/bolt";
        new App({}).message("hi", async ({ client }) => { await client.chat.postMessage({ channel: "c" }); });"#;
    let with = |manifest: &str| {
        bound(&[
            ("examples/app.ts", app),
            ("package.json", manifest),
            ("src/index.ts", "export class App { message() {} }"),
        ])
    };
    let bolt = r#"{"name":"@slack/bolt","main":"./dist/index.js"}"#;
    assert_eq!(with(bolt), ["examples/app.ts:2 client.chat.postMessage POST /api/chat.postMessage"]);
    assert_eq!(with(r#"{"name":"@slack/bolt","main":"./dist/index.js","private":true}"#), [""; 0]);
}

#[test]
fn plain_requests_bind_where_host_path_and_method_are_known() {
    let rows = bound(&[
        ("hosts.ts", r#"export const HOST = "https://api.stripe.com"; export const API = { base: `${HOST}/v1` };"#),
        (
            "a.ts",
            r#"import { API, HOST } from "./hosts";
fetch("https://api.stripe.com/v1/charges", { method: "post", body: JSON.stringify({ amount: 1 }) });
fetch(`${API.base}/charges/${id}`);
fetch(HOST + "/v1/charges/" + id + "/capture", { method: "POST" });
fetch(new URL("/v1/charges", HOST), { method: "POST", body: new URLSearchParams({ amount: "1" }) });
globalThis.fetch("https://api.stripe.com/v1/charges?limit=3");
fetch("https://api.stripe.com/v1/charges", init);
fetch("https://api.stripe.com/v1/nothing/here");
fetch(`${API.base}${path}`);
fetch("/api/stripe/charges", { method: "POST" });
fetch(`https://${host}/v1/charges`);
fetch("https://api.stripe.com.evil.example/v1/charges");
function f(fetch: (x: string) => void) { fetch("https://api.stripe.com/v1/charges"); }
fetch("HTTPS://API.stripe.com.:443/v1/charges");
fetch("https://api.stripe.com:8443/v1/charges");
fetch("https://api.stripe.com:443@evil.example/v1/charges");
fetch("https://api.stripe.com/v1/charges", { method: "POST", ...init });
fetch("https://api.stripe.com/v1/charges", { ...init, method: "POST" });
fetch("https://api.stripe.com/v1/charges", { method: "POST", [key]: value });
fetch("https://api.stripe.com/v1/charges", { method: "POST", ...(body ? { body } : {}) });
"#,
        ),
    ]);
    assert_eq!(
        rows,
        [
            "a.ts:2 fetch POST /v1/charges",
            "a.ts:3 fetch GET /v1/charges/{charge}",
            "a.ts:4 fetch POST /v1/charges/{charge}/capture",
            "a.ts:5 fetch POST /v1/charges",
            "a.ts:6 globalThis.fetch GET /v1/charges",
            "a.ts:7 fetch -",
            "a.ts:8 fetch -",
            "a.ts:9 fetch -",
            "a.ts:14 fetch GET /v1/charges",
            "a.ts:17 fetch -",
            "a.ts:18 fetch POST /v1/charges",
            "a.ts:19 fetch -",
            "a.ts:20 fetch POST /v1/charges",
        ]
    );
}

#[test]
fn commands_and_routes_name_their_operation_in_an_argument() {
    let rows = bound_in(
        r#"import { S3Client, PutObjectCommand } from "@aws-sdk/client-s3";
import { Octokit } from "@octokit/rest";
const s3 = new S3Client({}); const command = new PutObjectCommand({ Bucket: "b", Key: "k" });
await s3.send(command);
const octokit = new Octokit();
await octokit.request("POST /repos/{owner}/{repo}/issues", { title: "t" });
await octokit.request(`GET /repos/${owner}/${repo}/pulls`);
await octokit.paginate(octokit.issues.listForRepo, { owner, repo });
await octokit.request(route);
"#,
    );
    assert_eq!(
        rows,
        [
            "4 s3.send PUT /{Key+} (PutObject)",
            "6 octokit.request POST /repos/{owner}/{repo}/issues",
            "7 octokit.request GET /repos/{owner}/{repo}/pulls",
            "8 octokit.paginate GET /repos/{owner}/{repo}/issues",
            "9 octokit.request -",
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
fn nothing_of_the_source_but_names_reaches_the_facts() {
    let analysis = analysed(&[(
        "a.ts",
        r#"import Stripe from "stripe";
const stripe = new Stripe("sk_live_canary1", { apiVersion: "2023-10-16" });
stripe.charges.create({ description: "canary2", metadata: { note: `canary3 ${x}` } });
fetch("https://api.stripe.com/v1/charges?secret=canary4");
"#,
    )]);
    let text = format!(
        "{}{}",
        serde_json::to_string(&analysis.files).unwrap(),
        serde_json::to_string(&analysis.clients).unwrap()
    );
    assert!(!text.contains("canary"), "{text}");
}

fn hashes(analysis: &Analysis) -> BTreeMap<&str, &str> {
    analysis.files.iter().map(|file| (file.path.as_str(), file.facts_hash.as_str())).collect()
}

#[test]
fn facts_move_with_what_they_depend_on_and_with_nothing_else() {
    let lib = "import Stripe from 'stripe';\nexport const stripe = new Stripe('k');\n";
    let user = "import { stripe } from './lib';\nexport async function pay() { return (await stripe.charges.create({})).id; }\n";
    let other = "import { pay } from './user';\npay();\n";
    let before = analysed(&[("lib.ts", lib), ("user.ts", user), ("other.ts", other)]);
    let again = analysed(&[("other.ts", other), ("user.ts", user), ("lib.ts", lib)]);
    assert_eq!(before, again);
    let lib_moved = format!("// one line more\n\n{lib}");
    let after = analysed(&[("lib.ts", &lib_moved), ("user.ts", user), ("other.ts", other)]);
    let (old, new) = (hashes(&before), hashes(&after));
    assert_ne!(old["lib.ts"], new["lib.ts"]);
    assert_eq!(old["user.ts"], new["user.ts"]);
    assert_eq!(old["other.ts"], new["other.ts"]);
    assert_eq!(before.clients, after.clients);
    // Only the module that exports the client changes: so does what its importer binds.
    let own = analysed(&[
        ("lib.ts", "export const stripe = { charges: { create() {} } };\n"),
        ("user.ts", user),
        ("other.ts", other),
    ]);
    assert_ne!(old["user.ts"], hashes(&own)["user.ts"]);
    assert!(file(&own, "user.ts").call_sites.is_empty());
    assert_eq!(old["other.ts"], hashes(&own)["other.ts"]);
}

#[test]
fn calls_are_edges_through_every_way_of_importing() {
    let target = "export function target(x: number) { return x + 1; }
export default function main() { return 1; }
export { target as renamed };
export const alias = target;
export const api = { run: target, own() { return 2; } };
";
    let analysis = analysed(&[
        ("lib/target.ts", target),
        ("lib/index.ts", "export * from './target';\nexport { default as barrel } from './target';\n"),
        ("decoy.ts", "export function target() {}\n"),
        (
            "calls.ts",
            "import main, { target, target as two, renamed, alias, api } from './lib/target';
import * as ns from './lib/target';
import { target as star, barrel } from './lib';
const common = require('./lib/target');
export function f() { target(1); two(1); renamed(1); alias(1); api.run(1); api.own(); main(); ns.target(1); star(1); barrel(); common.target(1); }
export async function g() { const m = await import('./lib/target'); m.target(1); const h = target; h(1); }
export function shadow(target: (x: number) => number) { return target(1); }
export function missing() { return gone(1); }
class A { a() { this.b(); } b() {} static c() {} }
export function methods() { A.c(); new A().b(); }
",
        ),
    ]);
    let calls = file(&analysis, "calls.ts");
    let edges: Vec<String> = calls
        .edges
        .iter()
        .map(|edge| format!("{} {} {}", edge.from, edge.to.replace("lib/target.ts", "t"), edge.via))
        .collect();
    let t = |name: &str, via: &str| format!("f#0 t#{name}#0 {via}");
    assert_eq!(
        edges,
        [
            t("target", "import"),
            t("target", "import"),
            t("target", "import"),
            t("target", "import"),
            t("target", "import"),
            t("api.own", "import"),
            t("main", "import"),
            t("target", "import"),
            t("target", "reexport"),
            t("main", "reexport"),
            t("target", "type"),
            "g#0 t#target#0 type".to_owned(),
            "g#0 t#target#0 type".to_owned(),
            "A.a#0 calls.ts#A.b#0 this".to_owned(),
            "methods#0 calls.ts#A.c#0 type".to_owned(),
            "methods#0 calls.ts#A#0 local".to_owned(),
            "methods#0 calls.ts#A.b#0 type".to_owned(),
        ]
    );
    let unresolved: Vec<String> = calls.unresolved.iter().map(|call| format!("{} {}", call.from, call.name)).collect();
    assert_eq!(unresolved, ["shadow#0 target"]);
}

#[test]
fn conflicting_stars_and_cycles_of_reexports_lead_nowhere() {
    let analysis = analysed(&[
        ("a.ts", "export function f() {}\n"),
        ("b.ts", "export function f() {}\nexport * from './index';\n"),
        ("index.ts", "export * from './a';\nexport * from './b';\nexport * from './index';\n"),
        ("use.ts", "import { f, g } from './index';\nf(); g();\n"),
    ]);
    assert_eq!(file(&analysis, "use.ts").edges, []);
}

#[test]
fn a_parameter_without_a_type_is_what_every_caller_gives() {
    let lib = "export function run({ stripe }) { stripe.charges.create({}); }
export function mixed(client) { client.charges.create({}); }
export class Service { constructor(client) { this.client = client; } go() { this.client.charges.create({}); } }
export function unused(client) { client.charges.create({}); }
";
    let main = r#"import Stripe from "stripe"; import { run, mixed, Service } from "./lib";
const stripe = new Stripe("k");
run({ stripe }); mixed(stripe); mixed({ charges: { create() {} } }); new Service(stripe).go();
"#;
    let test = r#"import { run } from "./lib"; run({ stripe: { charges: { create: jest.fn() } } });"#;
    assert_eq!(
        bound(&[("lib.js", lib), ("main.js", main), ("lib.test.js", test)]),
        ["lib.js:1 stripe.charges.create POST /v1/charges", "lib.js:3 this.client.charges.create POST /v1/charges"]
    );
}

#[test]
fn a_function_that_wraps_a_request_binds_where_it_is_called() {
    let text = r#"
class Api {
  private base = "https://api.stripe.com/v1";
  private async fetch<T>(path: string, options: Options = {}): Promise<T> {
    const { body, ...rest } = options;
    const url = `${this.base}${path}`;
    const response = await fetch(url, { ...rest, body: body ? JSON.stringify(body) : undefined });
    return response.json();
  }
  get(id: string) { return this.fetch(`/charges/${id}?expand=x`); }
  create(amount: number) { return this.fetch("/charges", { method: "POST", body: { amount } }); }
  any(path: string) { return this.fetch(path); }
}
"#;
    let analysis = analysed(&[("a.ts", text)]);
    let rows: Vec<_> = sites(&analysis)
        .iter()
        .map(|(_, site)| (site.line, site.operation.as_ref().map_or("-", |it| it.as_str()), site.args_keys.join(",")))
        .collect();
    assert_eq!(
        rows,
        [
            (7, "-", String::new()),
            (10, "GET /v1/charges/{charge}", String::new()),
            (11, "POST /v1/charges", "amount".to_owned()),
        ]
    );
}

#[test]
fn a_base_url_out_of_data_is_not_the_vendors_own() {
    let site = |options: &str| {
        let text = format!(
            r#"import OpenAI from "openai"; import {{ createClient }} from "@supabase/supabase-js";
async function f() {{
  const {{ data }} = await createClient("u", "k").from("models").select("*").single();
  return new OpenAI({{ {options} }}).chat.completions.create({{}});
}}"#
        );
        let analysis = analysed(&[("a.ts", &text)]);
        let sites = sites(&analysis);
        sites.iter().find(|(_, site)| site.vendor == "openai").unwrap().1.operation.clone()
    };
    assert_eq!(site("baseURL: data.base_url"), None);
    assert!(site("baseURL: process.env.URL || 'https://api.openai.com/v1'").is_some());
    assert!(site("apiKey: data.key").is_some());
}

#[test]
fn what_oxc_cannot_parse_binds_where_a_name_has_one_meaning() {
    let text = "import Stripe from 'stripe';
const stripe = new Stripe('k');
const account = await stripe.accounts.retrieve('a');
function pay(amount) { return stripe.charges.create({ amount }); }
function broken( { const = ; }
";
    let analysis = analysed(&[("a.ts", text)]);
    assert_eq!(analysis.files[0].parser, "fallback");
    let rows: Vec<_> = sites(&analysis)
        .iter()
        .map(|(_, site)| (site.line, site.operation.as_ref().unwrap().as_str(), site.args_keys.join(",")))
        .collect();
    let amount = "amount".to_owned();
    assert_eq!(rows, [(3, "GET /v1/accounts/{account}", String::new()), (4, "POST /v1/charges", amount)]);
    assert_eq!(bound_in(&text.replace("pay(amount)", "pay(stripe)")), Vec::<String>::new());
}

#[test]
fn long_ways_and_deep_options_are_followed_in_bounded_stack() {
    let ways = (0..3_000).map(|at| format!("const {{ s: s{} }} = {{ s: s{at} }}; s{}.on();\n", at + 1, at + 1));
    let hosts = vec!["a"; 2_000].join(" || ");
    let text = format!(
        "import Stripe from 'stripe';\nconst s0 = new Stripe('k');\n{}s3000.charges.create({{}});\nnew Stripe('k', {{ host: {hosts} }});\n",
        ways.collect::<String>()
    );
    assert_eq!(bound_in(&text), ["3003 s3000.charges.create POST /v1/charges"]);
}

#[test]
fn objects_that_hold_themselves_are_evaluated_in_bounded_time() {
    let mut text = String::from("import Stripe from 'stripe';\nlet x: any = { a: 1 };\n");
    for _ in 0..200 {
        text.push_str("x = { ...x, ...x, self: x };\n");
    }
    text.push_str("x.self.self.stripe.charges.create({ ...x });\nclass A { b = this.b ?? this.c; c = this.b; }\nnew A().b.c.d();\n");
    assert_eq!(bound_in(&text), Vec::<String>::new());
}

#[test]
fn plain_requests_show_the_keys_of_bodies_and_queries_and_what_is_read_of_the_answer() {
    let shown = |text: &str| {
        let site = only(text);
        let keys = |all: &[String]| all.join(" ");
        let complete = if site.args_complete { "all" } else { "some" };
        format!("{} | {complete} | {}", keys(&site.args_keys), keys(&site.response_fields_read))
    };
    let url = "https://api.stripe.com/v1/charges";
    let cases = [
        (
            format!("import a from 'axios'; const {{ data }} = await a.post('{url}', {{ amount: 1 }}); data.id;"),
            "amount | all | data.id",
        ),
        (
            format!("import a from 'axios'; (await a.get('{url}', {{ params: {{ limit: 1 }} }})).data.has_more;"),
            "limit | all | data.has_more",
        ),
        (format!("import a from 'axios'; a.get('{url}', options);"), " | some | "),
        (
            format!("import g from 'got'; (await g.post('{url}', {{ json: {{ amount: 1 }} }}).json()).id;"),
            "amount | all | id",
        ),
        (
            format!("import s from 'superagent'; (await s.post('{url}').set('a', 'b').send({{ amount: 1 }})).body.id;"),
            "amount | all | body.id",
        ),
        (
            format!("fetch('{url}', {{ method: 'POST', body: new URLSearchParams({{ amount: '1' }}).toString() }});"),
            "amount | all | ",
        ),
        (
            "import h from 'https'; h.request({ host: 'api.stripe.com', path: '/v1/charges', method: 'POST' });"
                .to_owned(),
            " | some | ",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(&text), expected, "{text}");
    }
}

#[test]
fn the_version_and_the_envelope_of_plain_requests_are_their_clients() {
    let analysis = analysed(&[(
        "a.ts",
        r#"import axios from "axios";
const stripe = axios.create({ baseURL: "https://api.stripe.com/v1", headers: { "Stripe-Version": "2024-06-20" } });
stripe.get("/charges");
fetch("https://api.stripe.com/v1/charges");
"#,
    )]);
    let mut clients: Vec<_> =
        analysis.clients.iter().map(|it| (it.envelope.as_deref(), it.api_version.as_deref())).collect();
    clients.sort_unstable();
    assert_eq!(clients, [(None, None), (Some("data"), Some("2024-06-20"))]);
}
