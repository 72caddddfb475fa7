//! JSON Web Tokens of configured issuers.
//!
//! The signature is checked with the key that the configuration names, never with one that the token names (`jku`,
//! `x5u`, `jwk` and `kid` are not read). Times are checked here against the service's clock, since jsonwebtoken reads
//! the system's, and strictly: a claim of the wrong type is a refusal, not an absent claim.

use std::collections::BTreeSet;

use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::{Map, Value};
use sync_core::principal::{PrincipalKind, Scope};
use time::OffsetDateTime;

use crate::config::IssuerConfig;

/// The longest token that is looked at.
pub const MAX_JWT_BYTES: usize = 8 * 1024;

/// How far the clocks of an issuer and of this service may be apart, in seconds.
const LEEWAY_S: f64 = 30.0;

/// The configured issuers, ready to check tokens.
#[derive(Debug, Default)]
pub struct Issuers(Vec<Issuer>);

struct Issuer {
    name: String,
    audience: Option<String>,
    validation: Validation,
    key: DecodingKey,
    organization: OrganizationSource,
}

impl std::fmt::Debug for Issuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Issuer({})", self.name)
    }
}

/// How a token's organization is known.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OrganizationSource {
    Fixed(String),
    Claim(String),
}

/// What a good token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Its issuer.
    pub issuer: String,
    /// Its subject, the issuer's name of the principal.
    pub subject: String,
    /// What people call the subject.
    pub name: String,
    /// A machine where the subject is the client itself (RFC 9068), else a person.
    pub kind: PrincipalKind,
    /// Name or id of the organization.
    pub organization: String,
    /// What it may be used for; words that are no scopes of Sync are left out.
    pub scopes: BTreeSet<Scope>,
}

/// Why a token is not accepted. The texts go into `error_description`: they hold nothing of the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadJwt {
    /// Not three parts of base64url JSON, or longer than anyone needs.
    #[error("the token is malformed; it is neither a Sync token nor a JSON Web Token")]
    Malformed,
    /// Nobody configured its issuer.
    #[error("the token's issuer is not accepted here")]
    UnknownIssuer,
    /// Not one of the issuer's configured algorithms; `none` and HMAC never are.
    #[error("the token's signature algorithm is not accepted for its issuer")]
    Algorithm,
    /// The header demands something or names another kind of token.
    #[error("the token's header is not that of an access token")]
    Header,
    /// The signature does not hold.
    #[error("the token's signature is invalid")]
    Signature,
    /// A claim is missing or has the wrong type.
    #[error("the token's claim `{0}` is missing or has the wrong type")]
    Claim(&'static str),
    /// Past its time.
    #[error("the token has expired; get a new one from its issuer")]
    Expired,
    /// Before its time.
    #[error("the token is not valid yet")]
    NotYet,
    /// Meant for another service.
    #[error("the token is not meant for this service; its audience must be this service's address")]
    Audience,
}

impl Issuers {
    /// Reads the configured issuers; the error says which and why.
    pub fn read(configured: &[IssuerConfig]) -> Result<Self, String> {
        configured.iter().map(Issuer::read).collect::<Result<_, _>>().map(Self)
    }

    /// Checks a token at the instant `now` for the service at `public_url`.
    pub fn verify(&self, token: &str, public_url: &str, now: OffsetDateTime) -> Result<Verified, BadJwt> {
        if token.len() > MAX_JWT_BYTES {
            return Err(BadJwt::Malformed);
        }
        // Read without trust, only to choose whose key to check with; `none` and unknown algorithms end here.
        let unchecked: Map<String, Value> =
            jsonwebtoken::dangerous::insecure_decode_claims(token).map_err(|_| BadJwt::Malformed)?;
        let header = jsonwebtoken::decode_header(token).map_err(|_| BadJwt::Algorithm)?;
        let access_token = header.typ.as_deref().is_none_or(|kind| {
            let kind = kind.to_ascii_lowercase();
            matches!(kind.as_str(), "jwt" | "at+jwt" | "application/at+jwt")
        });
        if !access_token || header.crit.is_some() {
            return Err(BadJwt::Header);
        }
        let claimed = unchecked.get("iss").and_then(Value::as_str).ok_or(BadJwt::Claim("iss"))?;
        let issuer = self.0.iter().find(|issuer| issuer.name == claimed).ok_or(BadJwt::UnknownIssuer)?;
        if !issuer.validation.algorithms.contains(&header.alg) {
            return Err(BadJwt::Algorithm);
        }
        let claims = jsonwebtoken::decode::<Map<String, Value>>(token, &issuer.key, &issuer.validation)
            .map_err(|error| match error.kind() {
                jsonwebtoken::errors::ErrorKind::MissingRequiredClaim(claim) => BadJwt::Claim(match claim.as_str() {
                    "exp" => "exp",
                    "aud" => "aud",
                    "sub" => "sub",
                    _ => "iss",
                }),
                _ => BadJwt::Signature,
            })?
            .claims;
        issuer.check_claims(&claims, public_url, now)
    }
}

impl Issuer {
    fn read(configured: &IssuerConfig) -> Result<Self, String> {
        let name = configured.issuer.clone();
        let fault = |reason: String| format!("issuer `{}`: {reason}", configured.issuer);
        let organization = match (&configured.organization, &configured.organization_claim) {
            (Some(organization), None) => OrganizationSource::Fixed(organization.clone()),
            (None, Some(claim)) => OrganizationSource::Claim(claim.clone()),
            _ => return Err(fault("needs either `organization` or `organization_claim`".to_owned())),
        };
        let algorithms = configured
            .algorithms
            .iter()
            .map(|name| accepted_algorithm(name).ok_or_else(|| fault(format!("`{name}` is not an accepted algorithm"))))
            .collect::<Result<Vec<_>, _>>()?;
        let first = *algorithms.first().ok_or_else(|| fault("`algorithms` is empty".to_owned()))?;
        if algorithms.iter().any(|algorithm| algorithm.family() != first.family()) {
            return Err(fault("`algorithms` are of different kinds of keys, but there is one key".to_owned()));
        }
        let pem = configured.public_key_pem.as_bytes();
        let key = match first {
            Algorithm::ES256 | Algorithm::ES384 => DecodingKey::from_ec_pem(pem),
            Algorithm::EdDSA => DecodingKey::from_ed_pem(pem),
            _ => DecodingKey::from_rsa_pem(pem),
        }
        .map_err(|error| fault(format!("`public_key_pem` is not a public key for {first:?}: {error}")))?;
        let mut validation = Validation::new(first);
        validation.algorithms = algorithms;
        validation.set_required_spec_claims(&["exp", "aud", "iss", "sub"]);
        validation.set_issuer(&[&name]);
        // These three are checked in `check_claims`: the times against our clock, the audience as a prefix.
        validation.validate_exp = false;
        validation.validate_nbf = false;
        validation.validate_aud = false;
        Ok(Self { name, audience: configured.audience.clone(), validation, key, organization })
    }

    fn check_claims(
        &self,
        claims: &Map<String, Value>,
        public_url: &str,
        now: OffsetDateTime,
    ) -> Result<Verified, BadJwt> {
        #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^53")]
        let now = now.unix_timestamp() as f64;
        let expires = claims.get("exp").and_then(Value::as_f64).ok_or(BadJwt::Claim("exp"))?;
        if expires + LEEWAY_S <= now {
            return Err(BadJwt::Expired);
        }
        if let Some(not_before) = claims.get("nbf") {
            let not_before = not_before.as_f64().ok_or(BadJwt::Claim("nbf"))?;
            if not_before - LEEWAY_S > now {
                return Err(BadJwt::NotYet);
            }
        }
        let audiences: Vec<&str> = match claims.get("aud") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(many)) => {
                many.iter().map(|one| one.as_str().ok_or(BadJwt::Claim("aud"))).collect::<Result<_, _>>()?
            }
            _ => return Err(BadJwt::Claim("aud")),
        };
        if !audiences.iter().any(|audience| self.is_for_us(audience, public_url)) {
            return Err(BadJwt::Audience);
        }
        let subject = text(claims, "sub").ok_or(BadJwt::Claim("sub"))?;
        let organization = match &self.organization {
            OrganizationSource::Fixed(name) => name.clone(),
            OrganizationSource::Claim(claim) => text(claims, claim).ok_or(BadJwt::Claim("organization"))?.to_owned(),
        };
        let name = ["name", "preferred_username", "email"].into_iter().find_map(|claim| text(claims, claim));
        Ok(Verified {
            issuer: self.name.clone(),
            subject: subject.to_owned(),
            name: sync_core::text::shown(name.unwrap_or(subject), 200),
            kind: if text(claims, "client_id") == Some(subject) { PrincipalKind::Service } else { PrincipalKind::User },
            organization,
            scopes: scopes(claims),
        })
    }

    /// The service's origin, its `/mcp` or anything below; or the issuer's own configured audience.
    fn is_for_us(&self, audience: &str, public_url: &str) -> bool {
        if self.audience.as_deref() == Some(audience) {
            return true;
        }
        match audience.strip_prefix(public_url) {
            Some("" | "/" | "/mcp") => true,
            Some(path) => path.starts_with("/mcp/"),
            None => false,
        }
    }
}

/// Whether the issuers of a configuration can be read; the text says which cannot and why.
pub fn check(configured: &[IssuerConfig]) -> Result<(), String> {
    Issuers::read(configured).map(|_| ())
}

/// Only signatures with a key pair: with a shared secret the public key of one issuer could sign for it.
fn accepted_algorithm(name: &str) -> Option<Algorithm> {
    Some(match name {
        "RS256" => Algorithm::RS256,
        "RS384" => Algorithm::RS384,
        "RS512" => Algorithm::RS512,
        "PS256" => Algorithm::PS256,
        "PS384" => Algorithm::PS384,
        "PS512" => Algorithm::PS512,
        "ES256" => Algorithm::ES256,
        "ES384" => Algorithm::ES384,
        "EdDSA" => Algorithm::EdDSA,
        _ => return None,
    })
}

/// A claim's text. Control characters stand in no name; a NUL could not even be looked up.
fn text<'a>(claims: &'a Map<String, Value>, claim: &str) -> Option<&'a str> {
    let good = |text: &&str| !text.is_empty() && text.len() <= 512 && !text.chars().any(char::is_control);
    claims.get(claim).and_then(Value::as_str).filter(good)
}

/// `scope` (RFC 9068, words in one text) or `scp` (a list or a text).
fn scopes(claims: &Map<String, Value>) -> BTreeSet<Scope> {
    ["scope", "scp"]
        .into_iter()
        .filter_map(|claim| claims.get(claim))
        .flat_map(|value| match value {
            Value::String(words) => words.split_whitespace().map(str::to_owned).collect(),
            Value::Array(words) => words.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        })
        .filter_map(|word| word.parse().ok())
        .collect()
}
