//! What the fuzz targets in `server/fuzz` do with bytes: everything here reads what strangers send before anyone knows who
//! they are, or what a forge or a client says, and none of it may end in a panic. The same functions run over a small
//! corpus in an ordinary test, so that targets keep working.

use http::header::HeaderName;
use http::{HeaderMap, HeaderValue};
use jsonwebtoken::DecodingKey;
use serde_json::Value;
use sync_core::cursor::CursorKey;
use sync_core::ids::{EventId, OrganizationId, PrincipalId, TokenId};
use sync_store::Forge;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::identity::jwt::{ALGORITHMS, Rules, Unverified};
use crate::identity::{keys_for_fuzzing, presented_for_fuzzing, token};
use crate::webhooks::{EndpointAddress, event, signature};

/// The secret that [`webhook`] signs with.
const SECRET: &str = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

/// The value of an `Authorization` header, and the address of a webhook.
///
/// # Panics
/// Where a token is accepted that is not the one that was made: a bug.
pub fn token(bytes: &[u8]) {
    let _ = presented_for_fuzzing(bytes);
    let text = String::from_utf8_lossy(bytes);
    let _ = text.parse::<EndpointAddress>();
    let random: [u8; 32] = std::array::from_fn(|at| bytes.get(at).copied().unwrap_or_default());
    let id = TokenId::from_uuid(Uuid::from_bytes(std::array::from_fn(|at| random[at])));
    let organization = OrganizationId::from_uuid(Uuid::from_bytes(std::array::from_fn(|at| random[16 + at])));
    let made = token::make(organization, id, random);
    let read = token::parse(&made.text).map(|read| (read.organization, read.id, read.secret_hash));
    assert_eq!(read, Ok((organization, id, made.secret_hash)), "what is made can be read");
    if let Ok(read) = token::parse(&text) {
        assert!(token::is_own(&text) && text.len() == made.text.len(), "{read:?}");
    }
}

/// A JSON Web Token of nobody knows whom.
///
/// # Panics
/// Where one is believed that nobody signed: a bug.
pub fn jwt(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(token) = Unverified::read(text) else { return };
    let _ = (token.issuer().len(), token.key_id(), token.texts(16).count());
    let algorithms = ALGORITHMS.map(str::to_owned);
    let Ok(rules) = Rules::read(token.issuer(), None, &algorithms) else { return };
    let key = DecodingKey::from_ed_der(&[7; 32]);
    let believed = rules.verify(&token, &key, "https://sync.example", OffsetDateTime::UNIX_EPOCH);
    assert!(believed.is_err(), "nobody signed it");
}

/// The keys that an issuer publishes.
pub fn keys(bytes: &[u8]) {
    keys_for_fuzzing(bytes);
}

/// A delivery: the first byte says of which forge; then lines of headers, an empty line, and the body. Once as it came,
/// and once signed, so that it is parsed.
///
/// # Panics
/// Where a delivery is believed that nobody signed, or one that was signed is not: a bug.
pub fn webhook(bytes: &[u8]) {
    let forges = [Forge::Github, Forge::Gitlab, Forge::Gitea, Forge::Forgejo, Forge::Bitbucket];
    let Some((first, rest)) = bytes.split_first() else { return };
    let forge = forges[usize::from(*first) % forges.len()];
    let end = rest.windows(2).position(|two| two == b"\n\n").unwrap_or(rest.len());
    let (head, body) = rest.split_at(end);
    let body = bytes::Bytes::copy_from_slice(body.get(2..).unwrap_or_default());
    let mut headers = HeaderMap::new();
    for line in head.split(|byte| *byte == b'\n').take(32) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (HeaderName::from_bytes(&line[..colon]), HeaderValue::from_bytes(&line[colon + 1..]));
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    let now = OffsetDateTime::UNIX_EPOCH;
    let verify = |headers: &HeaderMap| signature::verify(forge, headers, body.clone(), &[SECRET.as_bytes()], now);
    if forge != Forge::Gitlab {
        assert!(verify(&headers).is_none(), "nobody signed it");
    }
    let (name, value) = signature::sign(forge, SECRET, &body);
    let Ok(value) = HeaderValue::from_str(&value) else { return };
    headers.insert(name, value);
    let Some(verified) = verify(&headers) else { return };
    event::key(forge, &headers, &verified);
    let _ = event::read(forge, &headers, &verified);
}

/// A page's cursor: text that nobody sealed, and what a sealed one could hold.
///
/// # Panics
/// Where a cursor is opened that nobody sealed, or a sealed one is not: a bug.
pub fn cursor(bytes: &[u8]) {
    let key = CursorKey::new([7; 32]);
    let bound = ["organization", "principal", "tool", "{}", "index", "feeds"];
    let text = String::from_utf8_lossy(bytes);
    assert!(key.open::<Value>(&bound, &text).is_err(), "nobody sealed it");
    let Ok(position) = serde_json::from_slice::<Value>(bytes) else { return };
    let Ok(sealed) = key.seal(&bound, &position) else { return };
    if key.open::<Value>(&bound, &sealed).is_ok() {
        let _ = key.open::<(i128, EventId)>(&bound, &sealed);
        let _ = key.open::<(String, PrincipalId)>(&bound, &sealed);
        let _ = key.open::<(u8, String, u32, String)>(&bound, &sealed);
        assert!(key.open::<Value>(&bound[1..], &sealed).is_err(), "it was sealed for another question");
    }
}

/// The query of a list of the audit log.
pub fn filter(bytes: &[u8]) {
    crate::http::v1::audit_query_for_fuzzing(&String::from_utf8_lossy(bytes));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each target over what stands in its corpus, whole and cut anywhere, and with each byte turned.
    fn run(target: fn(&[u8]), corpus: &str) {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(corpus);
        let mut seeds = 0;
        for entry in std::fs::read_dir(&folder).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            target(&bytes);
            for parts in 1..16 {
                target(&bytes[..bytes.len() * parts / 16]);
            }
            for at in 0..bytes.len().min(256) {
                let mut turned = bytes.clone();
                turned[at] ^= 0x41;
                target(&turned);
            }
            seeds += 1;
        }
        assert!(seeds > 0, "{corpus} has no seed");
    }

    #[test]
    fn every_target_stands_its_seeds() {
        run(token, "token");
        run(jwt, "jwt");
        run(keys, "keys");
        run(webhook, "webhook");
        run(cursor, "cursor");
        run(filter, "filter");
    }
}
