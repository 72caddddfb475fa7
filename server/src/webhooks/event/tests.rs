//! What is taken from the bodies in `fixtures/webhooks`, and what is not taken from bodies that are none.

use std::path::Path;

use bytes::Bytes;
use serde::Deserialize;
use time::OffsetDateTime;

use super::*;
use crate::webhooks::signature::{sign, verify};

#[derive(Deserialize)]
struct Expected {
    provider: String,
    body: String,
    headers: Headers,
    event: String,
    path: Option<String>,
    said: Vec<String>,
}

type Headers = std::collections::BTreeMap<String, String>;

fn verified(forge: Forge, body: &[u8]) -> Verified {
    let (name, value) = sign(forge, "secret", body);
    let headers: HeaderMap = [(name, value.parse().unwrap())].into_iter().collect();
    verify(forge, &headers, Bytes::copy_from_slice(body), &[b"secret"], OffsetDateTime::UNIX_EPOCH).unwrap()
}

fn headers(pairs: &Headers) -> HeaderMap {
    pairs.iter().map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap())).collect()
}

fn expected() -> Vec<(Expected, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/webhooks");
    let all: Vec<Expected> = serde_json::from_slice(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap();
    all.into_iter()
        .map(|one| {
            let body = std::fs::read(folder.join(&one.body)).unwrap();
            (one, body)
        })
        .collect()
}

#[test]
fn each_body_says_what_is_expected_of_it() {
    let all = expected();
    assert!(all.len() >= 28);
    for (one, body) in all {
        let forge = Forge::named(&one.provider).unwrap();
        let read = read(forge, &headers(&one.headers), &verified(forge, &body)).unwrap();
        let said: Vec<String> = read.said.iter().map(|said| format!("{said:?}")).collect();
        assert_eq!((read.event, read.path, said), (one.event, one.path, one.said), "{}", one.body);
    }
}

#[test]
fn what_is_cut_or_of_another_kind_is_unreadable_and_never_a_panic() {
    for (one, body) in expected() {
        let forge = Forge::named(&one.provider).unwrap();
        for length in [0, 1, body.len() / 2, body.len().saturating_sub(3)] {
            let cut = read(forge, &headers(&one.headers), &verified(forge, &body[..length]));
            let passed_over = one.event == "issues" || one.event == "diagnostics:ping";
            assert_eq!(cut.is_ok(), passed_over, "{} cut at {length}", one.body);
        }
        let form = read(forge, &headers(&one.headers), &verified(forge, b"payload=%7B%7D"));
        assert!(form.is_ok() || form.unwrap_err().0.contains("application/json"), "{}", one.body);
        let told = read(forge, &HeaderMap::new(), &verified(forge, &body)).unwrap_err();
        assert!(told.0.contains("; next: "), "{told}");
    }
}

#[test]
fn a_delivery_is_known_again_by_its_id_and_its_body() {
    let of = |id: &str, body: &[u8]| {
        let headers: HeaderMap =
            [(HeaderName::from_static("x-github-delivery"), id.parse().unwrap())].into_iter().collect();
        key(Forge::Github, &headers, &verified(Forge::Github, body))
    };
    assert_eq!(of("1", b"{}"), of("1", b"{}"));
    assert_ne!(of("1", b"{}"), of("2", b"{}"));
    assert_ne!(of("1", b"{}"), of("1", b"[]"));
}
