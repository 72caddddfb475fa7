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
