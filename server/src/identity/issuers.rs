//! Whose JSON Web Tokens are accepted: the operator's issuers, out of the configuration, and each organization's own,
//! out of the store.

use std::sync::Arc;

use jsonwebtoken::{Algorithm, DecodingKey};
use sync_core::clock::Clock;
use sync_core::ids::OrganizationId;
use sync_core::issuer_route::IssuerRoute;
use sync_core::principal::Role;
use sync_store::{IssuerRow, Store, StoreError};
use time::OffsetDateTime;

use super::fetch::Fetcher;
use super::jwks::{KeySets, KeySource, NoKey};
use super::jwt::{ALGORITHMS, BadJwt, DEFAULT_ALGORITHMS, Rules, Unverified, Verified};
use crate::config::{Config, IssuerConfig};

/// The most claims of a token by which its organization is looked for.
const MAX_ROUTING_CLAIMS: usize = 64;

/// Issuers of tokens, and their keys.
pub struct Issuers {
    configured: Vec<Arc<Trusted>>,
    keys: KeySets,
    public_url: String,
}

/// An issuer that is trusted, and with what.
#[derive(Debug)]
pub struct Trusted {
    rules: Rules,
    keys: Keys,
    /// Whose tokens these are.
    pub organization: TrustedFor,
    /// What a principal becomes at first sight.
    pub default_role: Role,
    /// Whether it then reads every repository of the organization.
    pub reads_all: bool,
}

/// Whose tokens an issuer's are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustedFor {
    /// All of them this organization's, by name.
    Named(String),
    /// The organization's that the claim names.
    Claim(String),
    /// This organization's; the claim has to name it where one is given.
    Own(OrganizationId),
}

enum Keys {
    Fixed(Box<DecodingKey>),
    Published(KeySource),
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed(_) => f.write_str("a fixed key"),
            Self::Published(source) => source.fmt(f),
        }
    }
}

/// Why a token stands for nobody.
#[derive(Debug)]
pub enum NotVerified {
    /// It is not accepted.
    Bad(BadJwt),
    /// Its issuer's keys cannot be had at present.
    KeysUnavailable,
    /// The store cannot be asked.
    Store(StoreError),
}

impl From<BadJwt> for NotVerified {
    fn from(error: BadJwt) -> Self {
        Self::Bad(error)
    }
}

impl From<StoreError> for NotVerified {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Issuers {
    /// The configured issuers; the error says which cannot be and why.
    pub fn read(config: &Config, clock: Arc<dyn Clock>) -> Result<Self, String> {
        let fetcher = Arc::new(Fetcher::new(&config.private_issuer_hosts));
        let configured = config
            .issuers
            .iter()
            .map(|issuer| Trusted::configured(issuer, &fetcher).map(Arc::new))
            .collect::<Result<_, _>>()?;
        Ok(Self { configured, keys: KeySets::new(clock, fetcher), public_url: config.public_url() })
    }

    /// Who vouches for the token, before anything of it is believed: the operator's issuer of that name, else the
    /// issuer of the one organization that the token leads to.
    pub async fn trusted(&self, token: &Unverified<'_>, store: &Store) -> Result<Arc<Trusted>, NotVerified> {
        if let Some(known) = self.configured.iter().find(|known| known.rules.admit(token) != Err(BadJwt::UnknownIssuer))
        {
            return Ok(known.clone());
        }
        let issuer = token.issuer();
        let mut routes = vec![IssuerRoute::whole(issuer)];
        routes
            .extend(token.texts(MAX_ROUTING_CLAIMS).map(|(claim, value)| IssuerRoute::by_claim(issuer, claim, value)));
        let mut tx = store.system("authenticate").await?;
        let found = tx.routed_issuers(&routes).await?;
        tx.commit().await?;
        // What the operator said of all tokens of an issuer goes before what an organization says of some.
        let (organization, id) = match (found.iter().find(|route| route.whole), found.as_slice()) {
            (Some(whole), _) => (whole.organization, whole.issuer),
            (None, [one]) => (one.organization, one.issuer),
            (None, []) => return Err(BadJwt::UnknownIssuer.into()),
            (None, _) => return Err(BadJwt::Ambiguous.into()),
        };
        let mut tx = store.authenticate(organization).await?;
        let row = tx.issuer(id).await?;
        tx.commit().await?;
        let row = row.filter(|row| row.issuer == issuer).ok_or(BadJwt::UnknownIssuer)?;
        Ok(Arc::new(Trusted::of_organization(organization, row)?))
    }

    /// Checks a token with the keys of who vouches for it.
    pub async fn verify(
        &self,
        trusted: &Trusted,
        token: &Unverified<'_>,
        now: OffsetDateTime,
    ) -> Result<Verified, NotVerified> {
        trusted.rules.admit(token)?;
        let check = |key: &DecodingKey| trusted.rules.verify(token, key, &self.public_url, now);
        let source = match &trusted.keys {
            Keys::Fixed(key) => return Ok(check(key)?),
            Keys::Published(source) => source,
        };
        let found = self.keys.find(source, |set| {
            // Of the keys that it may be signed with, the first whose signature holds; without an id, which names the
            // key, none that holds means that the key is not among them.
            let mut failed = None;
            for key in set.matching(token.key_id(), token.algorithm()) {
                match check(key) {
                    Err(BadJwt::Signature) => failed = token.key_id().map(|_| Err(BadJwt::Signature)),
                    checked => return Some(checked),
                }
            }
            failed
        });
        match found.await {
            Ok(checked) => Ok(checked?),
            Err(NoKey::Unknown) => Err(BadJwt::UnknownKey.into()),
            Err(NoKey::Unavailable) => Err(NotVerified::KeysUnavailable),
        }
    }

    /// Names of the operator's issuers.
    pub fn configured(&self) -> impl Iterator<Item = &str> {
        self.configured.iter().map(|trusted| trusted.rules.issuer())
    }
}

impl Trusted {
    fn configured(configured: &IssuerConfig, fetcher: &Fetcher) -> Result<Self, String> {
        let fault = |reason: String| format!("issuer `{}`: {reason}", configured.issuer);
        let organization = match (&configured.organization, &configured.organization_claim) {
            (Some(organization), None) => TrustedFor::Named(organization.clone()),
            (None, Some(claim)) => TrustedFor::Claim(claim.clone()),
            _ => return Err(fault("needs either `organization` or `organization_claim`".to_owned())),
        };
        let default_role = configured.default_role.unwrap_or(Role::Member);
        if !may_be_default(default_role) {
            return Err(fault(format!("`default_role` cannot be {default_role}")));
        }
        let rules =
            Rules::read(&configured.issuer, configured.audience.as_deref(), &configured.algorithms()).map_err(fault)?;
        let keys = match (&configured.public_key_pem, &configured.jwks_url) {
            (Some(_), Some(_)) => return Err(fault("has both `public_key_pem` and `jwks_url`".to_owned())),
            (Some(pem), None) => Keys::Fixed(Box::new(fixed_key(&rules, pem).map_err(fault)?)),
            (None, jwks_url) => {
                let address = jwks_url.as_ref().unwrap_or(&configured.issuer);
                fetcher.admit(address).map_err(|reason| fault(format!("`{address}` {reason}")))?;
                Keys::Published(KeySource { issuer: configured.issuer.clone(), jwks_url: jwks_url.clone() })
            }
        };
        Ok(Self { rules, keys, organization, default_role, reads_all: true })
    }

    fn of_organization(organization: OrganizationId, row: IssuerRow) -> Result<Self, StoreError> {
        let rules = Rules::read(&row.issuer, row.audience.as_deref(), &row.algorithms)
            .map_err(|reason| StoreError::Bug(format!("stored issuer {}: {reason}", row.id)))?;
        Ok(Self {
            rules,
            keys: Keys::Published(KeySource { issuer: row.issuer, jwks_url: row.jwks_url }),
            organization: TrustedFor::Own(organization),
            default_role: if may_be_default(row.default_role) { row.default_role } else { Role::Member },
            reads_all: row.reads_all,
        })
    }
}

/// Whether an issuer may say that its principals begin as that: nobody administers by somebody else's word.
pub fn may_be_default(role: Role) -> bool {
    matches!(role, Role::Member | Role::Auditor | Role::Ingest)
}

/// Claims that the issuer's users choose themselves, or that say something else than whose they are.
const NOT_OF_ORGANIZATIONS: [&str; 21] = [
    "iss",
    "sub",
    "aud",
    "exp",
    "nbf",
    "iat",
    "jti",
    "scope",
    "scp",
    "azp",
    "client_id",
    "name",
    "given_name",
    "family_name",
    "middle_name",
    "nickname",
    "preferred_username",
    "profile",
    "picture",
    "website",
    "email",
];

/// What is wrong with an issuer that somebody wants to be trusted: which part of it, and what is allowed there.
pub fn check_new(row: &IssuerRow, private_hosts: &[String]) -> Result<(), (&'static str, String)> {
    const ADDRESS: &str = "an https address on the internet, of at most 512 characters";
    let fetcher = Fetcher::new(private_hosts);
    let printable =
        |text: &str, most: usize| (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    for (part, address) in [("issuer", Some(&row.issuer)), ("jwks_url", row.jwks_url.as_ref())] {
        let Some(address) = address else { continue };
        if !printable(address, 512) {
            return Err((part, ADDRESS.to_owned()));
        }
        fetcher.admit(address).map_err(|reason| (part, format!("{ADDRESS}; this one {reason}")))?;
    }
    if let Some(claim) = &row.organization_claim
        && (!printable(claim, 200) || NOT_OF_ORGANIZATIONS.contains(&claim.as_str()))
    {
        let allowed = "a claim that the issuer sets and its users cannot, of 1 to 200 printable characters";
        return Err(("organization_claim", allowed.to_owned()));
    }
    if row.audience.as_ref().is_some_and(|audience| !printable(audience, 512)) {
        return Err(("audience", "1 to 512 printable characters".to_owned()));
    }
    if !may_be_default(row.default_role) {
        return Err(("default_role", "member, auditor or ingest".to_owned()));
    }
    let twice = (1..row.algorithms.len()).any(|at| row.algorithms[..at].contains(&row.algorithms[at]));
    if twice || Rules::read(&row.issuer, None, &row.algorithms).is_err() {
        return Err(("algorithms", format!("a list out of {}, each once", ALGORITHMS.join(", "))));
    }
    Ok(())
}

/// Whether the issuers of a configuration can be read; the text says which cannot and why.
pub fn check(config: &Config) -> Result<(), String> {
    let fetcher = Fetcher::new(&config.private_issuer_hosts);
    config.issuers.iter().try_for_each(|issuer| Trusted::configured(issuer, &fetcher).map(|_| ()))
}

/// The algorithms that are accepted where nobody says which.
pub fn default_algorithms() -> Vec<String> {
    DEFAULT_ALGORITHMS.map(str::to_owned).to_vec()
}

fn fixed_key(rules: &Rules, pem: &str) -> Result<DecodingKey, String> {
    let algorithms = rules.algorithms();
    let first = algorithms[0];
    if algorithms.iter().any(|algorithm| algorithm.family() != first.family()) {
        return Err("`algorithms` are of different kinds of keys, but there is one key".to_owned());
    }
    let pem = pem.as_bytes();
    match first {
        Algorithm::ES256 | Algorithm::ES384 => DecodingKey::from_ec_pem(pem),
        Algorithm::EdDSA => DecodingKey::from_ed_pem(pem),
        _ => DecodingKey::from_rsa_pem(pem),
    }
    .map_err(|error| format!("`public_key_pem` is not a public key for {first:?}: {error}"))
}
