//! Key pairs of issuers, as PEM and as published keys.

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rsa;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

/// What stands before the raw key in a SubjectPublicKeyInfo.
const ED25519_SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
const P256_SPKI: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// An issuer's key pair.
pub(super) struct Keys {
    pub(super) algorithm: Algorithm,
    pub(super) private: EncodingKey,
    pub(super) public_pem: String,
    /// The public key as issuers publish it, without an id.
    pub(super) jwk: Value,
}

impl Keys {
    pub(super) fn ed25519() -> Self {
        let pkcs8 = Ed25519KeyPair::generate().unwrap().to_pkcs8v1().unwrap();
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(pkcs8.as_ref()).unwrap();
        let public = pair.public_key().as_ref();
        Self {
            algorithm: Algorithm::EdDSA,
            private: EncodingKey::from_ed_der(pkcs8.as_ref()),
            public_pem: pem("PUBLIC KEY", &[&ED25519_SPKI, public].concat()),
            jwk: json!({ "kty": "OKP", "crv": "Ed25519", "x": URL_SAFE_NO_PAD.encode(public) }),
        }
    }

    pub(super) fn p256() -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        let public = pair.public_key().as_ref();
        Self {
            algorithm: Algorithm::ES256,
            private: EncodingKey::from_ec_der(pair.to_pkcs8v1().unwrap().as_ref()),
            public_pem: pem("PUBLIC KEY", &[&P256_SPKI, public].concat()),
            jwk: json!({ "kty": "EC", "crv": "P-256", "x": URL_SAFE_NO_PAD.encode(&public[1..33]),
                         "y": URL_SAFE_NO_PAD.encode(&public[33..65]) }),
        }
    }

    pub(super) fn rsa() -> Self {
        let pair = rsa::KeyPair::generate(rsa::KeySize::Rsa2048).unwrap();
        let pkcs8 = AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'_>>::as_der(&pair).unwrap();
        let spki = AsDer::<aws_lc_rs::encoding::PublicKeyX509Der<'_>>::as_der(pair.public_key()).unwrap();
        let part = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let public = pair.public_key();
        Self {
            algorithm: Algorithm::RS256,
            private: EncodingKey::from_rsa_pem(pem("PRIVATE KEY", pkcs8.as_ref()).as_bytes()).unwrap(),
            public_pem: pem("PUBLIC KEY", spki.as_ref()),
            jwk: json!({ "kty": "RSA", "n": part(public.modulus().big_endian_without_leading_zero()),
                         "e": part(public.exponent().big_endian_without_leading_zero()) }),
        }
    }

    /// As published under an id.
    pub(super) fn published(&self, id: &str) -> Value {
        let mut key = self.jwk.clone();
        key["kid"] = json!(id);
        key["use"] = json!("sig");
        key
    }

    pub(super) fn header(&self, id: &str) -> Header {
        Header { kid: Some(id.to_owned()), ..Header::new(self.algorithm) }
    }

    pub(super) fn sign(&self, claims: &Value) -> String {
        self.sign_with(&Header::new(self.algorithm), claims)
    }

    pub(super) fn sign_with(&self, header: &Header, claims: &Value) -> String {
        jsonwebtoken::encode(header, claims, &self.private).unwrap()
    }

    /// With a header that jsonwebtoken would not write.
    pub(super) fn sign_raw(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", part(header), part(claims));
        let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &self.private, self.algorithm).unwrap();
        format!("{message}.{signature}")
    }
}

fn pem(label: &str, der: &[u8]) -> String {
    let body: Vec<String> =
        STANDARD.encode(der).as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", body.join("\n"))
}
