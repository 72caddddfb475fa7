//! JSON Web Tokens: what of one is believed, and when.
//!
//! The signature is checked with a key of the issuer that was configured, never with one that the token brings or
//! leads to: of its header only `alg`, `typ`, `crit` and `kid` are looked at, and `kid` only chooses among the issuer's
//! own keys. Times are checked against the service's clock, since jsonwebtoken reads the system's, and strictly: a
//! claim of the wrong type is a refusal, not an absent claim.

use std::collections::BTreeSet;

use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation};
use serde_json::{Map, Value};
use sync_core::principal::{PrincipalKind, Scope};
use time::OffsetDateTime;

/// The longest token that is looked at.
pub const MAX_JWT_BYTES: usize = 8 * 1024;

/// The longest `kid` that is looked for.
const MAX_KID_BYTES: usize = 256;

/// How far the clocks of an issuer and of this service may be apart, in seconds.
const LEEWAY_S: f64 = 30.0;

/// Algorithms that can be accepted: only signatures with a key pair, since with a shared secret the public key of one
/// issuer could sign for it.
pub const ALGORITHMS: [&str; 9] = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];

/// Algorithms that are accepted where nobody says which.
pub const DEFAULT_ALGORITHMS: [&str; 3] = ["RS256", "ES256", "EdDSA"];

/// A token that was read and is not believed.
pub struct Unverified<'a> {
    token: &'a str,
    header: Header,
    claims: Map<String, Value>,
    issuer: String,
}

/// What a token of an issuer has to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    issuer: String,
    /// An audience accepted beside the service's own addresses.
    audience: Option<String>,
    algorithms: Vec<Algorithm>,
}

/// What a good token says.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified {
    /// Its issuer.
    pub issuer: String,
    /// Its subject, the issuer's name of the principal.
    pub subject: String,
    /// What people call the subject.
    pub name: String,
    /// A machine where the subject is the client itself (RFC 9068), else a person.
    pub kind: PrincipalKind,
    /// What it may be used for; words that are no scopes of Sync are left out.
    pub scopes: BTreeSet<Scope>,
    claims: Map<String, Value>,
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
    /// An ID token or a refresh token, which are for others.
    #[error("the token is not an access token; send the access token that its issuer gave beside it")]
    NotAccess,
    /// The issuer publishes no such key.
    #[error("the token's signature is by a key that its issuer does not publish")]
    UnknownKey,
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
    /// Its claims lead to more than one organization.
    #[error("the token's claims name more than one organization; ask the operator to tell them apart")]
    Ambiguous,
}

impl<'a> Unverified<'a> {
    /// Reads a token without trust, only to know whose key to check it with.
    pub fn read(token: &'a str) -> Result<Self, BadJwt> {
        if token.len() > MAX_JWT_BYTES {
            return Err(BadJwt::Malformed);
        }
        let claims: Map<String, Value> =
            jsonwebtoken::dangerous::insecure_decode_claims(token).map_err(|_| BadJwt::Malformed)?;
        // `none` and unknown algorithms end here.
        let header = jsonwebtoken::decode_header(token).map_err(|_| BadJwt::Algorithm)?;
        let access_token = header.typ.as_deref().is_none_or(|kind| {
            let kind = kind.to_ascii_lowercase();
            matches!(kind.as_str(), "jwt" | "at+jwt" | "application/at+jwt")
        });
        if !access_token || header.crit.is_some() || header.kid.as_ref().is_some_and(|kid| kid.len() > MAX_KID_BYTES) {
            return Err(BadJwt::Header);
        }
        let issuer = text(&claims, "iss").ok_or(BadJwt::Claim("iss"))?.to_owned();
        Ok(Self { token, header, claims, issuer })
    }

    /// The issuer that it claims.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The key that it says it is signed with.
    pub fn key_id(&self) -> Option<&str> {
        self.header.kid.as_deref()
    }

    /// The algorithm that it says it is signed with.
    pub fn algorithm(&self) -> Algorithm {
        self.header.alg
    }

    /// Its claims that are texts, at most so many.
    pub fn texts(&self, most: usize) -> impl Iterator<Item = (&str, &str)> {
        self.claims.keys().filter_map(|claim| Some((claim.as_str(), text(&self.claims, claim)?))).take(most)
    }
}

impl Rules {
    /// For the issuer of that name; the error says what of it cannot be.
    pub fn read(issuer: &str, audience: Option<&str>, algorithms: &[String]) -> Result<Self, String> {
        let algorithms = algorithms
            .iter()
            .map(|name| accepted_algorithm(name).ok_or_else(|| format!("`{name}` is not an accepted algorithm")))
            .collect::<Result<Vec<_>, _>>()?;
        if algorithms.is_empty() {
            return Err("`algorithms` is empty".to_owned());
        }
        Ok(Self { issuer: issuer.to_owned(), audience: audience.map(str::to_owned), algorithms })
    }

    /// The issuer, byte for byte.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The accepted algorithms; at least one.
    pub fn algorithms(&self) -> &[Algorithm] {
        &self.algorithms
    }

    /// Whether the token may be checked with a key at all.
    pub fn admit(&self, token: &Unverified<'_>) -> Result<(), BadJwt> {
        if token.issuer != self.issuer {
            return Err(BadJwt::UnknownIssuer);
        }
        if self.algorithms.contains(&token.header.alg) { Ok(()) } else { Err(BadJwt::Algorithm) }
    }

    /// Checks the token with a key of its issuer, at the instant `now`, for the service at `public_url`.
    pub fn verify(
        &self,
        token: &Unverified<'_>,
        key: &DecodingKey,
        public_url: &str,
        now: OffsetDateTime,
    ) -> Result<Verified, BadJwt> {
        self.admit(token)?;
        let mut validation = Validation::new(token.header.alg);
        validation.set_required_spec_claims(&["exp", "aud", "iss", "sub"]);
        validation.set_issuer(&[&self.issuer]);
        // These three are checked in `check_claims`: the times against our clock, the audience as a prefix.
        validation.validate_exp = false;
        validation.validate_nbf = false;
        validation.validate_aud = false;
        let claims = jsonwebtoken::decode::<Map<String, Value>>(token.token, key, &validation)
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
        self.check_claims(claims, public_url, now)
    }

    fn check_claims(
        &self,
        claims: Map<String, Value>,
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
        if !is_access(&claims) {
            return Err(BadJwt::NotAccess);
        }
        let subject = text(&claims, "sub").ok_or(BadJwt::Claim("sub"))?.to_owned();
        let name = ["name", "preferred_username", "email"].into_iter().find_map(|claim| text(&claims, claim));
        let is_client = text(&claims, "client_id") == Some(&subject);
        Ok(Verified {
            issuer: self.issuer.clone(),
            name: sync_core::text::shown(name.unwrap_or(&subject), 200),
            kind: if is_client { PrincipalKind::Service } else { PrincipalKind::User },
            scopes: scopes(&claims),
            subject,
            claims,
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

impl Verified {
    /// A claim's text, as signed.
    pub fn text(&self, claim: &str) -> Option<&str> {
        text(&self.claims, claim)
    }
}

/// One of [`ALGORITHMS`].
pub(super) fn accepted_algorithm(name: &str) -> Option<Algorithm> {
    ALGORITHMS.contains(&name).then(|| name.parse().ok()).flatten()
}

/// Whether the claims are those of an access token. ID tokens are for the client that asked for them: they carry its
/// `nonce` or digests of what was given with them; some issuers say the kind in `typ` or `token_use`.
fn is_access(claims: &Map<String, Value>) -> bool {
    let of_id_token = ["nonce", "at_hash", "c_hash", "s_hash"].into_iter().any(|claim| claims.contains_key(claim));
    let says = |claim: &str, access: &[&str]| match claims.get(claim) {
        None => true,
        Some(value) => value.as_str().is_some_and(|kind| access.iter().any(|word| kind.eq_ignore_ascii_case(word))),
    };
    !of_id_token && says("typ", &["bearer", "at+jwt", "jwt"]) && says("token_use", &["access"])
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
