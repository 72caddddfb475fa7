//! The public keys of an issuer, as it publishes them (RFC 7517).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::Value;

/// The most keys that are read of a set; issuers have a handful.
const MAX_KEYS: usize = 64;

/// The keys of an issuer that can check a signature.
pub struct KeySet(Vec<PublicKey>);

struct PublicKey {
    id: Option<String>,
    /// The only algorithm it is for, where it says so.
    algorithm: Option<Algorithm>,
    kind: Kind,
    key: DecodingKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rsa,
    P256,
    P384,
    Ed25519,
}

impl KeySet {
    /// Reads a published set. Keys are read one by one: one that cannot be used does not take the others with it. The
    /// text says why there is no usable key.
    pub fn parse(document: &[u8]) -> Result<Self, String> {
        let document: Value = serde_json::from_slice(document).map_err(|_| "is not JSON".to_owned())?;
        let published = document.get("keys").and_then(Value::as_array).ok_or("is not a key set: it has no `keys`")?;
        let keys: Vec<PublicKey> = published.iter().take(MAX_KEYS).filter_map(PublicKey::read).collect();
        if keys.is_empty() { Err("has no key that can check a signature".to_owned()) } else { Ok(Self(keys)) }
    }

    /// The keys that a signature of that algorithm may be checked with: those with the id, where one is named, else
    /// all of their kind.
    pub fn matching(&self, id: Option<&str>, algorithm: Algorithm) -> impl Iterator<Item = &DecodingKey> {
        self.0
            .iter()
            .filter(move |key| id.is_none() || key.id.as_deref() == id)
            .filter(move |key| key.can_check(algorithm))
            .map(|key| &key.key)
    }
}

impl PublicKey {
    fn read(published: &Value) -> Option<Self> {
        let text = |member: &str| published.get(member).and_then(Value::as_str);
        // A key whose private half stands beside it proves nothing.
        if published.get("d").is_some() || text("use").is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let operations = published.get("key_ops").and_then(Value::as_array);
        if operations.is_some_and(|operations| !operations.iter().any(|operation| operation == "verify")) {
            return None;
        }
        let bytes = |member: &str| text(member).and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
        let is_long = |member: &str, length: usize| bytes(member).is_some_and(|bytes| bytes.len() == length);
        let (kind, key) = match (text("kty")?, text("crv")) {
            ("RSA", _) => {
                let modulus = bytes("n")?;
                let significant = modulus.iter().skip_while(|byte| **byte == 0).count();
                // 2048 to 8192 bits: shorter is forgeable, longer only costs.
                if !(256..=1024).contains(&significant) || bytes("e")?.len() > 8 {
                    return None;
                }
                (Kind::Rsa, DecodingKey::from_rsa_components(text("n")?, text("e")?).ok()?)
            }
            ("EC", Some("P-256")) if is_long("x", 32) && is_long("y", 32) => {
                (Kind::P256, DecodingKey::from_ec_components(text("x")?, text("y")?).ok()?)
            }
            ("EC", Some("P-384")) if is_long("x", 48) && is_long("y", 48) => {
                (Kind::P384, DecodingKey::from_ec_components(text("x")?, text("y")?).ok()?)
            }
            ("OKP", Some("Ed25519")) if is_long("x", 32) => {
                (Kind::Ed25519, DecodingKey::from_ed_components(text("x")?).ok()?)
            }
            _ => return None,
        };
        let algorithm = match text("alg") {
            None => None,
            Some(name) => Some(super::jwt::accepted_algorithm(name)?),
        };
        Some(Self { id: text("kid").map(str::to_owned), algorithm, kind, key })
    }

    fn can_check(&self, algorithm: Algorithm) -> bool {
        let kind = match algorithm {
            Algorithm::ES256 => Kind::P256,
            Algorithm::ES384 => Kind::P384,
            Algorithm::EdDSA => Kind::Ed25519,
            _ => Kind::Rsa,
        };
        self.kind == kind && self.algorithm.is_none_or(|only| only == algorithm)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn encoded(length: usize) -> String {
        URL_SAFE_NO_PAD.encode(vec![0xab; length])
    }

    #[test]
    fn keys_that_cannot_be_used_do_not_take_the_others_with_them() {
        let rsa = json!({ "kty": "RSA", "kid": "r", "n": encoded(256), "e": "AQAB" });
        let with = |member: &str, value: Value| {
            let mut key = rsa.clone();
            key[member] = value;
            key
        };
        let unusable = [
            json!(null),
            json!("text"),
            json!({ "kty": "oct", "kid": "o", "k": encoded(32) }),
            json!({ "kty": "RSA", "kid": "short", "n": encoded(128), "e": "AQAB" }),
            json!({ "kty": "RSA", "kid": "endless", "n": encoded(1025), "e": "AQAB" }),
            json!({ "kty": "EC", "crv": "P-521", "kid": "e", "x": encoded(66), "y": encoded(66) }),
            json!({ "kty": "EC", "crv": "P-256", "kid": "e", "x": encoded(31), "y": encoded(32) }),
            json!({ "kty": "OKP", "crv": "X25519", "kid": "x", "x": encoded(32) }),
            with("use", json!("enc")),
            with("key_ops", json!(["sign"])),
            with("alg", json!("HS256")),
            with("d", json!("private")),
            with("n", json!("not base64url!")),
        ];
        for key in &unusable {
            let alone = KeySet::parse(json!({ "keys": [key] }).to_string().as_bytes());
            assert!(alone.is_err_and(|reason| reason.contains("no key")), "{key}");
        }
        let mut keys = unusable.to_vec();
        keys.push(with("alg", json!("RS256")));
        let ed = json!({ "kty": "OKP", "crv": "Ed25519", "use": "sig", "key_ops": ["verify"], "x": encoded(32) });
        keys.push(ed);
        let set = KeySet::parse(json!({ "keys": keys }).to_string().as_bytes()).unwrap();
        let count = |id, algorithm| set.matching(id, algorithm).count();
        assert_eq!((count(Some("r"), Algorithm::RS256), count(Some("r"), Algorithm::PS256)), (1, 0));
        assert_eq!((count(None, Algorithm::RS256), count(None, Algorithm::ES256)), (1, 0));
        assert_eq!((count(None, Algorithm::EdDSA), count(Some("other"), Algorithm::EdDSA)), (1, 0));
        for document in ["", "[]", "{}", r#"{"keys":{}}"#, r#"{"keys":[]}"#] {
            assert!(KeySet::parse(document.as_bytes()).is_err(), "{document}");
        }
    }
}
