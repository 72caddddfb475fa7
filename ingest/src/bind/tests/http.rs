//! Plain requests.

use super::{analysed, bound, bound_in, only, sites};

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
            (10, "GET /v1/charges/{charge}", "expand".to_owned()),
            (11, "POST /v1/charges", "amount".to_owned()),
        ]
    );
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

#[test]
fn members_of_a_response_are_no_fields_of_the_answer() {
    let url = "https://api.stripe.com/v1/charges";
    for (code, expected) in [
        (
            format!(
                "const r = await fetch('{url}'); if (!r.ok) throw new Error(r.status + r.statusText); const b = await r.json(); b.data;"
            ),
            "data",
        ),
        (
            format!(
                "import a from 'axios'; const r = await a.get('{url}'); r.status; r.headers.etag; r.data.has_more;"
            ),
            "data.has_more",
        ),
        (format!("import got from 'got'; const r = await got('{url}'); r.statusCode; r.body.data;"), "body.data"),
        (
            format!(
                "import {{ request }} from 'undici'; const {{ statusCode, body }} = await request('{url}'); const j = await body.json(); j.data; statusCode;"
            ),
            "data",
        ),
        (format!("import ky from 'ky'; (await ky('{url}').json()).data;"), "data"),
    ] {
        assert_eq!(only(&code).response_fields_read.join(","), expected, "{code}");
    }
}

#[test]
fn queries_show_their_keys_and_say_where_they_hide_some() {
    let shown = |code: &str| {
        let site = only(&format!("declare const id: any, more: any;\n{code}"));
        format!("{} {}", site.args_keys.join(","), if site.args_complete { "all" } else { "some" })
    };
    let url = "https://api.stripe.com/v1/charges";
    for (code, expected) in [
        (format!("fetch('{url}?limit=1&customer=c');"), "customer,limit all"),
        (format!("fetch(`{url}?limit=1&customer=${{id}}#top`);"), "customer,limit all"),
        (format!("fetch(`{url}/${{id}}`);"), " all"),
        (format!("fetch(`{url}?${{more}}`);"), " some"),
        (format!("fetch(`{url}${{more}}`);"), " some"),
        (format!("fetch('{url}?name=Jane Doe');"), " some"),
        (
            format!("const q = new URLSearchParams({{ limit: '1' }}); q.set('customer', id); fetch(`{url}?${{q}}`);"),
            "customer,limit all",
        ),
        (format!("const q = new URLSearchParams(more); fetch(`{url}?${{q.toString()}}`);"), " some"),
        (format!("const u = new URL('{url}'); u.searchParams.set('limit', '1'); fetch(u);"), "limit all"),
        (format!("const u = new URL('{url}'); u.searchParams.append(id, '1'); fetch(u.href);"), " some"),
        (
            format!("let u = '{url}'; u += '?limit=1'; if (id) u += `&customer=${{id}}`; fetch(u);"),
            "customer,limit all",
        ),
        (
            format!(
                "const b = new URLSearchParams(); b.append('amount', '1'); fetch('{url}', {{ method: 'POST', body: b }});"
            ),
            "amount all",
        ),
        (
            format!("const f = new FormData(); f.append('file', id); fetch('{url}', {{ method: 'POST', body: f }});"),
            "file all",
        ),
    ] {
        assert_eq!(shown(&code), expected, "{code}");
    }
}

#[test]
fn a_segment_may_begin_with_an_at() {
    let rows = bound_in(
        r"fetch('https://discord.com/api/oauth2/@me');
fetch(`https://discord.com/api/guilds/${id}/members/@me`, { method: 'PATCH' });
fetch(`https://discord.com/api/guilds/${id}/members/123`, { method: 'PATCH' });
fetch('https://me@discord.com/api/oauth2/@me');
",
    );
    let expected = [
        "1 fetch GET /oauth2/@me",
        "2 fetch PATCH /guilds/{guild_id}/members/@me",
        "3 fetch PATCH /guilds/{guild_id}/members/{user_id}",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn the_query_of_a_path_that_a_wrapper_is_given_among_options_is_seen() {
    let analysis = analysed(&[(
        "a.ts",
        r"const get = ({ endpoint, body }: { endpoint: string; body?: unknown }) =>
    fetch(`https://api.stripe.com/v1/${endpoint}`, { method: 'POST', body: JSON.stringify(body) });
get({ endpoint: `charges/${id}?${new URLSearchParams(rest)}`, body: { amount: 1 } });
",
    )]);
    let (_, site) = sites(&analysis).pop().unwrap();
    assert_eq!(site.operation.as_ref().map(sync_core::operation::Operation::as_str), Some("POST /v1/charges/{charge}"));
    assert_eq!((site.line, site.args_complete), (3, false), "{site:?}");
}
