//! Where clients come from: each way of getting at one, with what looks like it and is not.

use super::{CREATE, analysed, bound, bound_in, sites};

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
fn a_client_that_only_a_type_names_has_its_package_and_one_that_all_callers_give_is_that_one() {
    let source = r#"import Stripe from "stripe";
interface Context { pay: Stripe }
export const typed = (context: Context) => context.pay.charges.create({});
const make = () => new Stripe("k", { apiVersion: "2024-06-20" });
const given = (stripe: Stripe) => stripe.charges.create({});
given(make());
given(make());
const either = (stripe: Stripe) => stripe.charges.create({});
either(make());
either(new Stripe("k"));
const member = (context: Context) => context.pay.charges.create({});
member({ pay: make() });
const members = (context: Context) => context.pay.charges.create({});
members({ pay: make() });
members({ pay: new Stripe("k") });
"#;
    let analysis = analysed(&[("package.json", r#"{"dependencies":{"stripe":"17.7.0"}}"#), ("a.ts", source)]);
    let pins: Vec<_> = sites(&analysis)
        .iter()
        .map(|(_, site)| {
            let client = analysis.clients.iter().find(|client| Some(&client.id) == site.client.as_ref()).unwrap();
            (site.line, (client.sdk_version.as_deref(), client.api_version.as_deref()))
        })
        .collect();
    let (known, unknown) = ((Some("17.7.0"), Some("2024-06-20")), (Some("17.7.0"), None));
    let expected = [(3, unknown), (5, known), (8, unknown), (11, known), (13, unknown)];
    assert_eq!(pins, expected);
}
