//! Whatever is sent in the places that take text of a caller's own making: cursors, credentials, filters, idempotency
//! keys. It is read or refused with a reason, and nothing else. Hundreds of cases in the test command; by hand as many as
//! `SYNC_MALFORMED_CASES` says:
//! `SYNC_MALFORMED_CASES=20000 cargo test -p sync-tests http::malformed -- --nocapture`.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use sync_core::cursor::{CursorExpired, CursorKey};
use sync_core::ids::{OrganizationId, TokenId};
use sync_core::principal::Scope;
use sync_server::identity::token;
use sync_tests::service::{Reply, TestService};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};

/// A stream of numbers that is the same at each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    fn pick<'a>(&mut self, among: &[&'a str]) -> &'a str {
        among[self.below(among.len())]
    }

    /// Something that is near a good text, or nothing like it.
    fn text(&mut self, good: &str) -> String {
        let mut chars: Vec<char> = good.chars().collect();
        match self.below(6) {
            0 => return String::new(),
            1 => return self.pick(STRANGE).to_owned(),
            2 => return self.pick(STRANGE).repeat(1 + self.below(100)),
            3 => chars.truncate(self.below(chars.len())),
            4 => chars.extend(self.pick(STRANGE).chars()),
            _ => {}
        }
        for _ in 0..=self.below(3) {
            let strange: Vec<char> = self.pick(STRANGE).chars().collect();
            let (at, with) = (self.below(chars.len() + 1), strange[self.below(strange.len())]);
            match chars.get_mut(at) {
                Some(char) => *char = with,
                None => chars.push(with),
            }
        }
        chars.into_iter().collect()
    }
}

const STRANGE: &[&str] = &[
    "\u{0}",
    "\u{7f}",
    "é",
    "𝒳",
    "\u{202e}",
    "\u{feff}",
    "'",
    "\"",
    "\\",
    "%",
    "%00",
    "%ff",
    "_",
    "-",
    "--",
    ";",
    "../",
    "{}",
    "[]",
    "null",
    "NaN",
    "1e999",
    "-1",
    "99999999999999999999",
    "2026-02-30T00:00:00Z",
    "9999-12-31T23:59:60+99:99",
    "\r\n",
    "\t",
    " ",
    ",",
    "Bearer ",
    "sync_",
    "eyJhbGciOiJub25lIn0.e30.",
    "A",
    "=",
    "/",
    "+",
    "\u{d7ff}",
    "🙂",
    "00000000-0000",
];

fn cases() -> usize {
    std::env::var("SYNC_MALFORMED_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300)
}

#[test]
fn nothing_but_a_sealed_cursor_opens_and_nothing_but_a_made_token_is_one() {
    let key = CursorKey::new([7; 32]);
    let bound = ["org", "principal", "tool", "{}"];
    let cursor = key.seal(&bound, &json!(["src/a.ts", 3])).unwrap();
    let made = token::make(OrganizationId::at(NOW), TokenId::at(NOW), [7; 32]).text;
    let mut numbers = Numbers(1);
    for _ in 0..cases() * 100 {
        let text = numbers.text(&cursor);
        let opened = key.open::<serde_json::Value>(&bound, &text);
        assert!(text == cursor || opened == Err(CursorExpired), "{text:?}");
        let bytes: Vec<u8> = (0..numbers.below(64)).map(|_| numbers.next().to_le_bytes()[0]).collect();
        let text = URL_SAFE_NO_PAD.encode(bytes);
        assert_eq!(key.open::<serde_json::Value>(&bound, &text), Err(CursorExpired), "{text:?}");
        let text = numbers.text(&made);
        assert!(text == made || token::parse(&text).is_err(), "{text:?}");
    }
}

#[test]
fn whatever_stands_in_a_filter_a_cursor_a_key_or_a_credential_is_read_or_refused() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let (_, token) = service.token(&both.alpha.principal, &[Scope::Admin, Scope::AuditRead], None).await;
        // Two requests are two rows, and two pages of one.
        for _ in 0..2 {
            assert_eq!(get(&service, &token, "/organization", &[]).await.status, 200);
        }
        let page = get(&service, &token, "/audit", &[("limit", "1")]).await;
        let cursor = page.json()["next_cursor"].as_str().unwrap().to_owned();
        let good = [
            ("principal", "prn_01234"),
            ("repository", "acme/billing"),
            ("action", "mcp.tools/call:sync_repositories"),
            ("outcome", "ok"),
            ("from", "2026-11-30T12:00:00Z"),
            ("to", "2026-12-01T12:00:00.123+01:00"),
            ("limit", "20"),
            ("cursor", cursor.as_str()),
        ];
        let mut numbers = Numbers(2);
        let mut statuses = std::collections::BTreeMap::<u16, usize>::new();
        for case in 0..cases() {
            let reply = match case % 3 {
                0 => {
                    let values: Vec<(&str, String)> = (0..=numbers.below(3))
                        .map(|_| {
                            let (name, value) = good[numbers.below(good.len())];
                            (name, numbers.text(value))
                        })
                        .collect();
                    let query: Vec<(&str, &str)> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
                    let path = numbers.pick(&["/audit", "/members", "/tokens", "/usage", "/grants", "/issuers"]);
                    get(&service, &token, path, &query).await
                }
                1 => {
                    let Some(key) = header(&numbers.text("c0ffee00-1111-2222-3333-444455556666")) else { continue };
                    let request = service.client.post(format!("{}/v1/members", service.url)).bearer_auth(&token);
                    let body = json!({ "name": format!("m{case}"), "role": "ingest" });
                    Reply::of(request.header("idempotency-key", key).json(&body)).await
                }
                _ => {
                    let Some(credential) = header(&numbers.text(&format!("Bearer {token}"))) else { continue };
                    let request = service.client.get(format!("{}/v1/organization", service.url));
                    let reply = Reply::of(request.header("authorization", credential.clone())).await;
                    let own = credential.as_bytes() == format!("Bearer {token}").as_bytes();
                    assert!(reply.status == 401 || (own && reply.status == 200) || reply.status == 431, "{reply:?}");
                    reply
                }
            };
            assert!(reply.status < 500, "{reply:?}");
            if reply.status >= 400 && reply.status != 431 {
                assert_eq!(reply.header("content-type"), "application/problem+json", "{reply:?}");
                assert!(!reply.json()["next_step"].as_str().unwrap().is_empty(), "{reply:?}");
            }
            *statuses.entry(reply.status).or_default() += 1;
        }
        println!("{} requests, by status {statuses:?}", cases());
        service.stop().await;
    });
}

async fn get(service: &TestService, token: &str, path: &str, query: &[(&str, &str)]) -> Reply {
    let mut address: url::Url = format!("{}/v1{path}", service.url).parse().unwrap();
    address.query_pairs_mut().extend_pairs(query);
    Reply::of(service.client.get(address).bearer_auth(token)).await
}

/// As a header's value, where it can be one: others cannot be sent.
fn header(text: &str) -> Option<reqwest::header::HeaderValue> {
    reqwest::header::HeaderValue::from_bytes(text.as_bytes()).ok()
}
