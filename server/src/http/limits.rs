//! How much may be asked: of one principal, of one organization, and by strangers of one address prefix. Each process
//! counts by itself and keeps a bounded table, whatever keys it is shown.
//!
//! A credential that was accepted lately is known here by its hash, so that its flood is refused before the database is
//! asked who it is; other credentials are strangers' until they are accepted. A refused request of a principal is in the
//! audit log once a minute as itself, and the rest of that minute as a count, or refusing would cost as much as answering.

mod bucket;
pub mod throttled;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::response::Response;
use http::{HeaderName, HeaderValue, StatusCode, header};
use sha2::{Digest as _, Sha256};
use sync_core::clock::Clock;
use sync_core::ids::{OrganizationId, PrincipalId, WebhookId};
use sync_core::principal::Principal;
use time::{Duration, OffsetDateTime};

use super::problem::Problem;
use crate::audit::refusals::prefix;
use bucket::{Buckets, Standing};
use throttled::Throttled;

/// The most keys of one kind that are kept apart.
const MOST_KEYS: usize = 50_000;

/// The most credentials that are known by their hash.
const MOST_CREDENTIALS: usize = 20_000;

/// Deliveries a minute of one webhook endpoint: far more than a forge sends of one repository.
const DELIVERIES: u32 = 12_000;

/// Deliveries a minute from one address prefix that are not accepted. Forges send those of all their users from few
/// addresses, so that it takes more than one who set up a wrong secret.
const STRANGE_DELIVERIES: u32 = 6_000;

/// How long a credential is known after it was last accepted.
const KNOWN_FOR: Duration = Duration::minutes(10);

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// Requests a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    /// Of one principal.
    pub principal: u32,
    /// Of one organization, where its plan says nothing else.
    pub organization: u32,
    /// With credentials that are not accepted, from one address prefix.
    pub strangers: u32,
}

/// Counts requests.
pub struct Limits {
    clock: Arc<dyn Clock>,
    quotas: Quotas,
    principals: Buckets<(OrganizationId, PrincipalId)>,
    organizations: Buckets<OrganizationId>,
    strangers: Buckets<String>,
    deliveries: Buckets<(OrganizationId, WebhookId)>,
    strange_deliveries: Buckets<String>,
    known: Mutex<HashMap<[u8; 32], Known>>,
    /// Refused requests that are still to be written down.
    pub throttled: Throttled,
}

#[derive(Clone)]
struct Known {
    principal: Arc<Principal>,
    requests_per_minute: u32,
    accepted_at: OffsetDateTime,
}

/// How a principal stands after this request, for the headers of its response.
#[derive(Debug, Clone, Copy)]
pub struct Standings {
    principal: Standing,
    organization: Option<Standing>,
}

/// A request too many.
#[derive(Debug, Clone)]
pub struct TooMany {
    /// When to come back.
    pub retry_after_s: u64,
    /// Whose quota is used up: `principal`, `organization` or `address`.
    pub whose: &'static str,
    /// Requests a minute.
    pub quota: u32,
}

/// Whether a request may be answered, and how its principal stands either way.
pub type Counted = Result<Standings, (TooMany, Standings)>;

/// A credential as far as it can be named without keeping it.
#[derive(Clone, Copy)]
pub struct CredentialHash([u8; 32]);

impl CredentialHash {
    /// Of the value of an `Authorization` header.
    pub fn of(value: &[u8]) -> Self {
        Self(Sha256::digest(value).into())
    }
}

impl Limits {
    /// Nothing used yet.
    pub fn new(clock: Arc<dyn Clock>, quotas: Quotas) -> Self {
        Self {
            throttled: Throttled::new(clock.clone()),
            clock,
            quotas,
            principals: Buckets::new(MOST_KEYS),
            organizations: Buckets::new(MOST_KEYS),
            strangers: Buckets::new(MOST_KEYS),
            deliveries: Buckets::new(MOST_KEYS),
            strange_deliveries: Buckets::new(MOST_KEYS),
            known: Mutex::default(),
        }
    }

    /// Counts a request with a credential that was accepted lately, before anyone is asked about it; nothing where it was
    /// not.
    pub fn known(&self, credential: CredentialHash) -> Option<(Arc<Principal>, Counted)> {
        let now = self.clock.now();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get(&credential.0).filter(|known| now - known.accepted_at < KNOWN_FOR).cloned()?;
        let standings = self.spend(&known.principal, known.requests_per_minute, now);
        Some((known.principal, standings))
    }

    /// Remembers that a credential was accepted, with the organization's quota where its plan has one. Its first request
    /// is counted by [`Limits::known`], like those that follow.
    pub fn accepted(&self, credential: CredentialHash, principal: &Principal, requests_per_minute: Option<u32>) {
        let now = self.clock.now();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_CREDENTIALS && !known.contains_key(&credential.0) {
            known.retain(|_, known| now - known.accepted_at < KNOWN_FOR);
            if known.len() >= MOST_CREDENTIALS {
                return;
            }
        }
        let requests_per_minute = requests_per_minute.unwrap_or(self.quotas.organization);
        known.insert(
            credential.0,
            Known { principal: Arc::new(principal.clone()), requests_per_minute, accepted_at: now },
        );
    }

    /// Forgets a credential that is accepted no more.
    pub fn forget(&self, credential: CredentialHash) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(&credential.0);
    }

    /// Whether a stranger at that address may try a credential.
    pub fn stranger(&self, address: Option<IpAddr>) -> Result<(), TooMany> {
        let standing = self.strangers.peek(&place(address), self.quotas.strangers, self.clock.now());
        match standing.retry_after_s {
            None => Ok(()),
            Some(retry_after_s) => Err(TooMany { retry_after_s, whose: "address", quota: standing.quota }),
        }
    }

    /// Counts a credential from that address that was not accepted.
    pub fn not_accepted(&self, address: Option<IpAddr>) {
        self.strangers.spend(&place(address), self.quotas.strangers, self.clock.now());
    }

    /// Counts a delivery with a good signature.
    pub fn delivery(&self, organization: OrganizationId, endpoint: WebhookId) -> Result<(), TooMany> {
        let standing = self.deliveries.spend(&(organization, endpoint), DELIVERIES, self.clock.now());
        match standing.retry_after_s {
            None => Ok(()),
            Some(retry_after_s) => Err(TooMany { retry_after_s, whose: "webhook", quota: standing.quota }),
        }
    }

    /// Whether a delivery from that address is looked at.
    pub fn strange_delivery(&self, address: Option<IpAddr>) -> Result<(), TooMany> {
        let standing = self.strange_deliveries.peek(&place(address), STRANGE_DELIVERIES, self.clock.now());
        match standing.retry_after_s {
            None => Ok(()),
            Some(retry_after_s) => Err(TooMany { retry_after_s, whose: "address", quota: standing.quota }),
        }
    }

    /// Counts a delivery from that address that was not accepted.
    pub fn delivery_not_accepted(&self, address: Option<IpAddr>) {
        self.strange_deliveries.spend(&place(address), STRANGE_DELIVERIES, self.clock.now());
    }

    fn spend(&self, principal: &Principal, requests_per_minute: u32, now: OffsetDateTime) -> Counted {
        let own = self.principals.spend(&(principal.organization, principal.id), self.quotas.principal, now);
        if let Some(retry_after_s) = own.retry_after_s {
            let too_many = TooMany { retry_after_s, whose: "principal", quota: own.quota };
            return Err((too_many, Standings { principal: own, organization: None }));
        }
        let all = self.organizations.spend(&principal.organization, requests_per_minute, now);
        let standings = Standings { principal: own, organization: Some(all) };
        match all.retry_after_s {
            None => Ok(standings),
            Some(retry_after_s) => Err((TooMany { retry_after_s, whose: "organization", quota: all.quota }, standings)),
        }
    }
}

impl TooMany {
    /// What is said of it.
    pub fn problem(&self) -> Problem {
        let (quota, whose) = (self.quota, self.whose);
        let detail = match whose {
            "address" => format!("More than {quota} credentials a minute from this address were not accepted."),
            whose => format!("More than {quota} requests a minute were sent, the most of one {whose}."),
        };
        Problem {
            retry_after_s: Some(self.retry_after_s),
            ..Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "rate_limited",
                detail,
                format!("Wait {} s (Retry-After), then send fewer requests a minute.", self.retry_after_s),
            )
        }
    }
}

impl Standings {
    /// Puts the standing into a response's headers (draft-ietf-httpapi-ratelimit-headers).
    pub fn stamp(&self, response: &mut Response) {
        let named = [("principal", Some(self.principal)), ("organization", self.organization)];
        let known = || named.iter().filter_map(|(name, standing)| standing.map(|standing| (*name, standing)));
        let policies: Vec<String> =
            known().map(|(name, standing)| format!("\"{name}\";q={};w=60", standing.quota)).collect();
        let limits: Vec<String> = known()
            .map(|(name, standing)| format!("\"{name}\";r={};t={}", standing.remaining, standing.reset_s))
            .collect();
        for (name, values) in [(POLICY, policies), (LIMIT, limits)] {
            if let Ok(value) = HeaderValue::from_str(&values.join(", ")) {
                response.headers_mut().insert(name, value);
            }
        }
        debug_assert!(
            response.status() != StatusCode::TOO_MANY_REQUESTS || response.headers().contains_key(header::RETRY_AFTER)
        );
    }
}

/// Where strangers are counted together.
fn place(address: Option<IpAddr>) -> String {
    address.map_or_else(String::new, prefix)
}
