//! Whether a delivery is from who has the secret. Compared in constant time, over the bytes as they came, before anything of
//! them is parsed: what is parsed is a [`Verified`], and only [`verify`] makes one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderName};
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq as _};
use sync_store::Forge;
use time::{Duration, OffsetDateTime};

use super::setup::SECRET_PREFIX;

/// A signature of GitHub, and of those who sign as it does.
pub const HUB_SIGNATURE_256: HeaderName = HeaderName::from_static("x-hub-signature-256");
/// A signature of Bitbucket.
pub const HUB_SIGNATURE: HeaderName = HeaderName::from_static("x-hub-signature");
/// A signature of Gitea.
pub const GITEA_SIGNATURE: HeaderName = HeaderName::from_static("x-gitea-signature");
/// A signature of Forgejo.
pub const FORGEJO_SIGNATURE: HeaderName = HeaderName::from_static("x-forgejo-signature");
/// The secret itself, as GitLab sends it.
pub const GITLAB_TOKEN: HeaderName = HeaderName::from_static("x-gitlab-token");
/// The signatures of Standard Webhooks, which newer GitLabs send.
pub const STANDARD_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
/// The delivery's id, which those sign.
pub const STANDARD_ID: HeaderName = HeaderName::from_static("webhook-id");
/// When it was sent, which those sign.
pub const STANDARD_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");

/// How far a timestamp that is signed may be from our clock.
const TOLERANCE: Duration = Duration::minutes(5);

/// The most signatures of one delivery that are looked at.
const MOST_SIGNATURES: usize = 8;

/// The body of a delivery whose sender has the secret.
#[derive(Debug, Clone)]
pub struct Verified(Bytes);

impl Verified {
    /// The body as it came.
    pub fn body(&self) -> &[u8] {
        &self.0
    }
}

/// The delivery, where one of the secrets signed it. All of them are tried, whichever is right.
pub fn verify(
    forge: Forge,
    headers: &HeaderMap,
    body: Bytes,
    secrets: &[&[u8]],
    now: OffsetDateTime,
) -> Option<Verified> {
    let mut good = Choice::from(0);
    for secret in secrets {
        good |= Choice::from(u8::from(signed(forge, headers, &body, secret, now)));
    }
    bool::from(good).then_some(Verified(body))
}

fn signed(forge: Forge, headers: &HeaderMap, body: &[u8], secret: &[u8], now: OffsetDateTime) -> bool {
    let hex =
        |name: &HeaderName, prefix: &[u8]| one(headers, name).and_then(|value| lower_hex(value.strip_prefix(prefix)?));
    match forge {
        Forge::Github => hex(&HUB_SIGNATURE_256, b"sha256=").is_some_and(|mac| is_mac(secret, &[body], &mac)),
        Forge::Bitbucket => hex(&HUB_SIGNATURE, b"sha256=").is_some_and(|mac| is_mac(secret, &[body], &mac)),
        Forge::Gitea => hex(&GITEA_SIGNATURE, b"").is_some_and(|mac| is_mac(secret, &[body], &mac)),
        // Older Forgejos sign under the name of what they were made from.
        Forge::Forgejo => {
            let name = if headers.contains_key(FORGEJO_SIGNATURE) { &FORGEJO_SIGNATURE } else { &GITEA_SIGNATURE };
            hex(name, b"").is_some_and(|mac| is_mac(secret, &[body], &mac))
        }
        Forge::Gitlab if headers.contains_key(STANDARD_SIGNATURE) => standard(headers, body, secret, now),
        Forge::Gitlab => one(headers, &GITLAB_TOKEN).is_some_and(|token| is_secret(secret, token)),
    }
}

/// The value of a header that is there once: of two, which would count?
fn one<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h [u8]> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    values.next().is_none().then(|| first.as_bytes())
}

/// 32 bytes as forges write them, and in no other way.
fn lower_hex(text: &[u8]) -> Option<[u8; 32]> {
    let lower = text.len() == 64 && text.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let mut bytes = [0; 32];
    (lower && hex::decode_to_slice(text, &mut bytes).is_ok()).then_some(bytes)
}

fn is_mac(secret: &[u8], parts: &[&[u8]], given: &[u8]) -> bool {
    // HMAC takes keys of every length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else { return false };
    for part in parts {
        mac.update(part);
    }
    mac.verify_slice(given).is_ok()
}

/// Compared by their hashes, so that the time tells neither how much of it is right nor how long it is.
fn is_secret(secret: &[u8], given: &[u8]) -> bool {
    Sha256::digest(secret).ct_eq(&Sha256::digest(given)).into()
}

/// Standard Webhooks: `v1,<base 64>`, several with spaces between, over id, time and body.
fn standard(headers: &HeaderMap, body: &[u8], secret: &[u8], now: OffsetDateTime) -> bool {
    let (Some(id), Some(sent), Some(given)) =
        (one(headers, &STANDARD_ID), one(headers, &STANDARD_TIMESTAMP), one(headers, &STANDARD_SIGNATURE))
    else {
        return false;
    };
    let seconds = std::str::from_utf8(sent).ok().and_then(|text| text.parse::<i64>().ok());
    let Some(at) = seconds.and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok()) else { return false };
    if (now - at).abs() > TOLERANCE {
        return false;
    }
    let Some(key) = secret.strip_prefix(SECRET_PREFIX.as_bytes()).and_then(|text| STANDARD.decode(text).ok()) else {
        return false;
    };
    let mut good = Choice::from(0);
    for signature in given.split(|b| *b == b' ').take(MOST_SIGNATURES) {
        let mac = signature.strip_prefix(b"v1,").and_then(|text| STANDARD.decode(text).ok());
        let right = mac.is_some_and(|mac| is_mac(&key, &[id, b".", sent, b".", body], &mac));
        good |= Choice::from(u8::from(right));
    }
    good.into()
}

/// The value of the header by which a forge of that kind signs, and its name: what `syncd trigger` sends.
pub fn sign(forge: Forge, secret: &str, body: &[u8]) -> (HeaderName, String) {
    let mac = || {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return String::new() };
        mac.update(body);
        hex::encode(mac.finalize().into_bytes())
    };
    match forge {
        Forge::Github => (HUB_SIGNATURE_256, format!("sha256={}", mac())),
        Forge::Bitbucket => (HUB_SIGNATURE, format!("sha256={}", mac())),
        Forge::Gitea => (GITEA_SIGNATURE, mac()),
        Forge::Forgejo => (FORGEJO_SIGNATURE, mac()),
        Forge::Gitlab => (GITLAB_TOKEN, secret.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: OffsetDateTime = OffsetDateTime::UNIX_EPOCH;

    fn given(pairs: &[(&HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| ((*name).clone(), value.parse().unwrap())).collect()
    }

    fn good(forge: Forge, headers: &HeaderMap, body: &[u8], secret: &[u8], now: OffsetDateTime) -> bool {
        verify(forge, headers, Bytes::copy_from_slice(body), &[b"another", secret], now).is_some()
    }

    /// Published by GitHub: docs.github.com, "Validating webhook deliveries".
    #[test]
    fn the_published_vector_of_github_passes_and_every_forgery_of_it_does_not() {
        let (secret, body) = (&b"It's a Secret to Everybody"[..], &b"Hello, World!"[..]);
        let mac = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let with = |value: &str| given(&[(&HUB_SIGNATURE_256, value)]);
        let right = format!("sha256={mac}");
        assert!(good(Forge::Github, &with(&right), body, secret, NOW));
        assert_eq!(sign(Forge::Github, "It's a Secret to Everybody", body), (HUB_SIGNATURE_256, right.clone()));
        for forged in [
            mac.to_owned(),
            format!("sha256={}", &mac[..63]),
            format!("sha256={}", mac.to_uppercase()),
            format!("SHA256={mac}"),
            format!("sha1={mac}"),
            format!("sha256={}", "0".repeat(64)),
            format!("sha256= {mac}"),
            "sha256=".to_owned(),
        ] {
            assert!(!good(Forge::Github, &with(&forged), body, secret, NOW), "{forged}");
        }
        assert!(!good(Forge::Github, &HeaderMap::new(), body, secret, NOW));
        assert!(!good(Forge::Github, &with(&right), b"Hello, World! ", secret, NOW));
        assert!(!good(Forge::Github, &with(&right), body, b"another secret", NOW));
        // In the header of another forge it is nothing; of two in one, none counts.
        assert!(!good(Forge::Github, &given(&[(&HUB_SIGNATURE, &right)]), body, secret, NOW));
        assert!(!good(
            Forge::Github,
            &given(&[(&HUB_SIGNATURE_256, &right), (&HUB_SIGNATURE_256, &right)]),
            body,
            secret,
            NOW
        ));
        assert!(verify(Forge::Github, &with(&right), Bytes::from_static(body), &[], NOW).is_none());
    }

    #[test]
    fn each_forge_signs_in_its_own_way() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        for forge in Forge::ALL {
            let (name, value) = sign(forge, secret, b"{}");
            assert!(good(forge, &given(&[(&name, &value)]), b"{}", secret.as_bytes(), NOW), "{forge:?}");
            assert!(!good(forge, &given(&[(&name, &value[1..])]), b"{}", secret.as_bytes(), NOW), "{forge:?}");
            let others = Forge::ALL.into_iter().filter(|other| sign(*other, secret, b"{}").0 != name);
            for other in others.filter(|other| (forge, *other) != (Forge::Gitea, Forge::Forgejo)) {
                assert!(!good(other, &given(&[(&name, &value)]), b"{}", secret.as_bytes(), NOW), "{forge:?} {other:?}");
            }
        }
    }

    /// The vector of Standard Webhooks' own libraries.
    #[test]
    fn a_signing_token_of_gitlab_counts_where_it_is_sent() {
        let secret = b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let (id, sent, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", &br#"{"test": 2432232314}"#[..]);
        let right = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        let now = OffsetDateTime::from_unix_timestamp(1_614_265_330).unwrap();
        let with = |signature: &str, sent: &str| {
            given(&[(&STANDARD_ID, id), (&STANDARD_TIMESTAMP, sent), (&STANDARD_SIGNATURE, signature)])
        };
        assert!(good(Forge::Gitlab, &with(right, sent), body, secret, now));
        assert!(good(
            Forge::Gitlab,
            &with(&format!("v1a,AAAA v1,AAAA {right}"), sent),
            body,
            secret,
            now + Duration::MINUTE
        ));
        assert!(!good(Forge::Gitlab, &with(right, sent), body, secret, now + Duration::minutes(6)), "replayed later");
        assert!(!good(Forge::Gitlab, &with(right, "1614265331"), body, secret, now));
        assert!(!good(Forge::Gitlab, &with("v1,AAAA", sent), body, secret, now));
        // A wrong signature is not made good by the token beside it.
        let mut both = with("v1,AAAA", sent);
        both.insert(GITLAB_TOKEN, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap());
        assert!(!good(Forge::Gitlab, &both, body, secret, now));
    }
}
