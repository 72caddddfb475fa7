//! What is never bound, and what is a call site of no known operation.

use super::{analysed, bound, bound_in, only, sites};

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
fn a_client_of_another_host_is_not_the_vendors() {
    let rows = bound_in(
        r#"import OpenAI from "openai";
new OpenAI({ baseURL: "https://models.example/v1" }).chat.completions.create({});
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
fn a_client_that_is_pointed_elsewhere_after_it_was_made_is_not_the_vendors() {
    let other = r#"import OpenAI from "openai";
export function swap(c: OpenAI) { c.baseURL = process.env.U!; }
export function touch(c: OpenAI) { c.timeout = 3; }
export function own(c: OpenAI) { c.baseURL = "https://api.openai.com/v1"; }
"#;
    let text = r#"import OpenAI from "openai"; import { swap, touch, own } from "./swap";
const a = new OpenAI(); swap(a);
a.models.list();
const b = new OpenAI(); touch(b); own(b);
b.models.list();
const c = new OpenAI(); function here(x: OpenAI) { x.baseURL = "https://x.example/v1"; } here(c);
c.models.list();
const d = new OpenAI(); Object.assign(d, { baseURL: process.env.U });
d.models.list();
const e = new OpenAI(); Object.assign(e, { timeout: 3 });
e.models.list();
"#;
    let expected = [
        "a.ts:3 a.models.list -",
        "a.ts:5 b.models.list GET /models",
        "a.ts:7 c.models.list -",
        "a.ts:9 d.models.list -",
        "a.ts:11 e.models.list GET /models",
    ];
    assert_eq!(bound(&[("a.ts", text), ("swap.ts", other)]), expected);
}

#[test]
fn a_class_that_extends_a_vendors_is_made_by_its_own_super() {
    let rows = bound_in(
        r#"import OpenAI from "openai";
class Far extends OpenAI { constructor() { super({ baseURL: "https://far.example/v1" }); } go() { return this.models.list(); } }
new Far().models.list();
class Near extends OpenAI { constructor() { super({ apiKey: "k" }); } }
new Near().models.list();
class Field extends OpenAI { baseURL = process.env.U!; constructor() { super({ apiKey: "k" }); } }
new Field().models.list();
class Open extends OpenAI { constructor(options: any) { super(options); } }
new Open({ baseURL: "https://far.example/v1" }).models.list();
class Bare extends OpenAI {}
new Bare({ baseURL: "https://far.example/v1" }).models.list();
"#,
    );
    let expected = [
        "2 this.models.list -",
        "3 new Far().models.list -",
        "5 new Near().models.list GET /models",
        "7 new Field().models.list -",
        "9 new Open().models.list -",
        "11 new Bare().models.list -",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn a_client_by_its_type_alone_is_none_where_one_is_given_that_goes_elsewhere() {
    let rows = bound_in(
        r#"import { S3Client, HeadObjectCommand } from "@aws-sdk/client-s3"; import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
function same(s3: S3Client): S3Client { try { if (s3) return s3; } catch {} return s3; }
function far() { return new S3Client({ endpoint: process.env.E }); }
const moved = same(new S3Client({ endpoint: process.env.E }));
moved.send(new HeadObjectCommand({ Bucket: "b" }));
export function filled({ s3 }: { s3?: S3Client } = {}) { s3 ??= far(); return s3.send(new HeadObjectCommand({ Bucket: "b" })); }
export function signs(s3: S3Client | null = null) { if (!s3) s3 = far(); return getSignedUrl(s3, new HeadObjectCommand({ Bucket: "b" })); }
export function given(s3: S3Client) { return getSignedUrl(s3, new HeadObjectCommand({ Bucket: "b" })); }
given(far());
export function own(s3: S3Client) { return getSignedUrl(s3, new HeadObjectCommand({ Bucket: "b" })); }
own(new S3Client({}));
class Holds { constructor(private readonly s3: S3Client) {} go() { return this.s3.send(new HeadObjectCommand({ Bucket: "b" })); } }
new Holds(far()).go();
"#,
    );
    let head = "HEAD /{Key+} (HeadObject)";
    let expected = [
        "5 moved.send -".to_owned(),
        "6 s3.send -".to_owned(),
        "7 getSignedUrl -".to_owned(),
        "8 getSignedUrl -".to_owned(),
        format!("10 getSignedUrl {head}"),
        "12 this.s3.send -".to_owned(),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn each_class_has_the_client_that_it_gives_to_the_class_it_extends() {
    let rows = bound_in(
        r#"import OpenAI from "openai"; import Stripe from "stripe";
class Base { client: OpenAI; constructor({ client }: { client: OpenAI }) { this.client = client; } go() { return this.client.models.list(); } }
class Own extends Base { constructor() { super({ client: new OpenAI({ apiKey: "k" }) }); } own() { return this.client.models.list(); } }
class Far extends Base { constructor() { super({ client: new OpenAI({ baseURL: "https://far.example/v1" }) }); } far() { return this.client.models.list(); } }
class Under extends Own { under() { return this.client.models.list(); } }
class Plain { constructor(client) { this.client = client; } }
class Pays extends Plain { constructor() { super(new Stripe("k")); } pay() { return this.client.charges.create({}); } }
class Mocks extends Plain { constructor() { super({ charges: { create() {} } }); } pay() { return this.client.charges.create({}); } }
"#,
    );
    let expected = [
        "2 this.client.models.list -",
        "3 this.client.models.list GET /models",
        "4 this.client.models.list -",
        "5 this.client.models.list GET /models",
        "7 this.client.charges.create POST /v1/charges",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn a_table_of_a_dozen_classes_gives_each_what_any_is_given() {
    let plugins: Vec<String> = (0..12).map(|at| format!("p{at}")).collect();
    let mut files = vec![(
        "main.js".to_owned(),
        format!(
            "const Stripe = require('stripe');\nconst TABLE = {{ {} }};\nmodule.exports = (name) => new TABLE[name](new Stripe('k')).sync();",
            plugins.iter().map(|name| format!("{name}: require('./{name}')")).collect::<Vec<_>>().join(", ")
        ),
    )];
    files.extend(plugins.iter().map(|name| {
        let text = "module.exports = class { constructor(stripe) { this.stripe = stripe; } sync() { return this.stripe.charges.create({}); } };";
        (format!("{name}.js"), text.to_owned())
    }));
    let files: Vec<_> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
    let rows = bound(&files);
    assert_eq!(rows.len(), 12, "{rows:?}");
    assert!(rows.iter().all(|row| row.ends_with("POST /v1/charges")), "{rows:?}");
}
