//! Who a bearer credential stands for: Sync's own tokens, and JSON Web Tokens of configured issuers.

pub mod advertised;
pub mod fetch;
pub mod issuers;
pub mod jwks;
pub mod jwt;
mod key_set;
mod known;
pub mod plans;
pub mod token;

use std::sync::Arc;

use subtle::ConstantTimeEq as _;
use sync_core::clock::Clock;
use sync_core::ids::{OrganizationId, PrincipalId};
use sync_core::principal::Principal;
use sync_store::{Member, NewMember, Organization, OrganizationState, Store, StoreError, TokenRow};
use time::OffsetDateTime;

use issuers::{Issuers, NotVerified, Trusted, TrustedFor};
use jwt::{BadJwt, Unverified, Verified};
use known::KnownTokens;
use token::PresentedToken;

/// Turns credentials into principals.
pub struct Authenticator {
    store: Store,
    clock: Arc<dyn Clock>,
    issuers: Issuers,
    tokens: KnownTokens,
}

/// Why a credential gives no principal.
#[derive(Debug)]
pub enum NotAuthenticated {
    /// No credential was given.
    Missing,
    /// One that is not accepted.
    Refused(Box<RefusedCredential>),
    /// The store cannot be asked; nothing is known of the credential.
    Unavailable,
    /// The keys of the credential's issuer cannot be had; it may be a good one.
    IssuerUnavailable,
}

/// A credential that is not accepted, and why.
#[derive(Debug)]
pub struct RefusedCredential {
    /// For the count of refusals and the audit row: `token_expired`.
    pub code: &'static str,
    /// For the caller; holds nothing of the credential nor of what it would have reached.
    pub description: String,
    /// Whose it was, where the secret was right (it has expired, say), so that the refusal is in that organization's
    /// audit log.
    pub principal: Option<Principal>,
}

impl Authenticator {
    /// Over a store, with the issuers that the operator trusts.
    pub fn new(store: Store, clock: Arc<dyn Clock>, issuers: Issuers) -> Self {
        Self { store, clock, issuers, tokens: KnownTokens::default() }
    }

    /// After something of an organization was changed through this process: its next requests see it.
    pub fn changed(&self, organization: OrganizationId) {
        self.tokens.forget(organization);
    }

    /// The principal of the value of an `Authorization` header.
    pub async fn authenticate(&self, authorization: Option<&[u8]>) -> Result<Principal, NotAuthenticated> {
        let value = authorization.ok_or(NotAuthenticated::Missing)?;
        let credential = bearer(value).ok_or_else(|| {
            refused("bad_authorization", "the Authorization header must be `Bearer` and a token", None)
        })?;
        if token::is_own(credential) { self.own_token(credential).await } else { self.jwt(credential).await }
    }

    async fn own_token(&self, credential: &str) -> Result<Principal, NotAuthenticated> {
        let presented =
            token::parse(credential).map_err(|error| refused("malformed_token", &error.to_string(), None))?;
        let now = self.clock.now();
        let row = match self.tokens.get(presented.organization, presented.id, now) {
            Some(row) => Some(row),
            None => self.token(&presented, now).await.map_err(|error| store_failed(&error))?,
        };
        // Compared also where there is no such token, so that both take the same way.
        let stored = row.as_ref().map_or([0; 32], |row| row.secret_hash);
        let same = bool::from(stored.ct_eq(&presented.secret_hash));
        let Some(row) = row.filter(|_| same) else {
            return Err(refused("unknown_token", "the token is not known here; it may belong to another Sync", None));
        };
        let principal = token_principal(presented.organization, &row);
        match token_fault(&row, now) {
            Some((code, description)) => Err(refused(code, description, Some(principal))),
            None => Ok(principal),
        }
    }

    /// The row of a token out of the store. Its use is noted where the secret is the right one.
    async fn token(
        &self,
        presented: &PresentedToken,
        now: OffsetDateTime,
    ) -> Result<Option<Arc<TokenRow>>, StoreError> {
        let since = self.tokens.reads();
        let mut tx = self.store.authenticate(presented.organization).await?;
        let Some(row) = tx.token(presented.id).await?.map(Arc::new) else { return Ok(None) };
        let accepted = bool::from(row.secret_hash.ct_eq(&presented.secret_hash)) && token_fault(&row, now).is_none();
        if accepted && row.last_used_at.is_none_or(|at| at <= now - LAST_USED) {
            tx.touch_token(row.id, now).await?;
        }
        tx.commit().await?;
        self.tokens.keep(since, presented.organization, &row, now);
        Ok(Some(row))
    }

    async fn jwt(&self, credential: &str) -> Result<Principal, NotAuthenticated> {
        let now = self.clock.now();
        let token = Unverified::read(credential).map_err(bad_jwt)?;
        let trusted = self.issuers.trusted(&token, &self.store).await.map_err(not_verified)?;
        let verified = self.issuers.verify(&trusted, &token, now).await.map_err(not_verified)?;
        let organization = self
            .organization(&trusted.organization, &verified)
            .await?
            .ok_or_else(|| refused("unknown_organization", "the token's organization is not served here", None))?;
        let active = organization.state == OrganizationState::Active;
        let member =
            self.member(&organization, &trusted, &verified, now).await.map_err(|error| store_failed(&error))?;
        let principal = Principal {
            organization: organization.id,
            id: member.id,
            name: member.name,
            kind: member.kind,
            role: member.role,
            scopes: verified.scopes,
            readable: member.readable,
            credential_id: format!("jwt:{}", sync_core::text::shown(&verified.issuer, 200)),
        };
        // The refusal is the organization's to know, as that of a token is.
        if !active {
            return Err(refused("organization_suspended", SUSPENDED, Some(principal)));
        }
        if member.disabled_at.is_some_and(|at| at <= now) {
            return Err(refused("member_disabled", MEMBER_DISABLED, Some(principal)));
        }
        Ok(principal)
    }

    async fn organization(
        &self,
        trusted_for: &TrustedFor,
        verified: &Verified,
    ) -> Result<Option<Organization>, NotAuthenticated> {
        let named = match trusted_for {
            TrustedFor::Named(name) => name,
            TrustedFor::Claim(claim) => verified.text(claim).ok_or_else(|| bad_jwt(BadJwt::Claim("organization")))?,
            TrustedFor::Own(id) => &id.to_string(),
        };
        let found = async {
            let mut tx = self.store.system("authenticate").await?;
            let found = match named.parse::<OrganizationId>() {
                Ok(id) => tx.organization(id).await?,
                Err(_) => tx.organization_by_slug(named).await?,
            };
            tx.commit().await?;
            Ok(found)
        };
        found.await.map_err(|error| store_failed(&error))
    }

    /// The member of that identity, made at first sight.
    async fn member(
        &self,
        organization: &Organization,
        trusted: &Trusted,
        verified: &Verified,
        now: OffsetDateTime,
    ) -> Result<Member, StoreError> {
        let mut tx = self.store.authenticate(organization.id).await?;
        let known = tx.member_by_identity(&verified.issuer, &verified.subject).await?;
        let member = if let Some(member) = known {
            member
        } else {
            let new = NewMember {
                id: PrincipalId::at(now),
                name: &verified.name,
                kind: verified.kind,
                role: trusted.default_role,
                identity: Some((&verified.issuer, &verified.subject)),
                reads_all: trusted.reads_all,
            };
            tx.create_member(&new, now).await?
        };
        tx.commit().await?;
        Ok(member)
    }
}

fn bad_jwt(error: BadJwt) -> NotAuthenticated {
    let code = if error == BadJwt::Expired { "token_expired" } else { "bad_jwt" };
    refused(code, &error.to_string(), None)
}

fn not_verified(error: NotVerified) -> NotAuthenticated {
    match error {
        NotVerified::Bad(error) => bad_jwt(error),
        // Never a bad token: it may be a good one, and clients throw away what is called bad.
        NotVerified::KeysUnavailable => NotAuthenticated::IssuerUnavailable,
        NotVerified::Store(error) => store_failed(&error),
    }
}

/// How exactly a token's last use is known. The statement that notes it is left out before, on every request but one.
const LAST_USED: time::Duration = time::Duration::minutes(1);

const MEMBER_DISABLED: &str = "the principal of this credential is disabled; ask an administrator of the organization";

const SUSPENDED: &str = "the organization of this credential is suspended: it is not served at present";

/// The token in `Bearer <token>`.
fn bearer(value: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(value).ok()?;
    let (scheme, credential) = text.split_once(' ')?;
    let credential = credential.trim();
    let well_formed = scheme.eq_ignore_ascii_case("bearer")
        && !credential.is_empty()
        && credential.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',');
    well_formed.then_some(credential)
}

fn token_principal(organization: OrganizationId, row: &TokenRow) -> Principal {
    Principal {
        organization,
        id: row.member.id,
        name: row.member.name.clone(),
        kind: row.member.kind,
        role: row.member.role,
        scopes: row.scopes.clone(),
        readable: row.member.readable.clone(),
        credential_id: row.id.to_string(),
    }
}

fn token_fault(row: &TokenRow, now: OffsetDateTime) -> Option<(&'static str, &'static str)> {
    if row.revoked_at.is_some_and(|at| at <= now) {
        return Some(("token_revoked", "the token was revoked; make a new one with `syncd token create`"));
    }
    if row.expires_at.is_some_and(|at| at <= now) {
        return Some(("token_expired", "the token has expired; make a new one with `syncd token create`"));
    }
    if !row.organization_active {
        return Some(("organization_suspended", SUSPENDED));
    }
    row.member.disabled_at.is_some_and(|at| at <= now).then_some(("member_disabled", MEMBER_DISABLED))
}

fn refused(code: &'static str, description: &str, principal: Option<Principal>) -> NotAuthenticated {
    NotAuthenticated::Refused(Box::new(RefusedCredential { code, description: description.to_owned(), principal }))
}

/// A store that cannot be asked never means that a credential is bad: clients would throw it away.
fn store_failed(error: &StoreError) -> NotAuthenticated {
    tracing::error!(%error, "a credential could not be checked");
    NotAuthenticated::Unavailable
}

/// Reads the value of an `Authorization` header as far as nobody is asked about it.
#[cfg(any(test, fuzzing))]
pub(crate) fn presented_for_fuzzing(value: &[u8]) -> Option<PresentedToken> {
    bearer(value).filter(|credential| token::is_own(credential)).and_then(|own| token::parse(own).ok())
}

/// Reads a published key set, and looks for keys of every kind in it.
#[cfg(any(test, fuzzing))]
pub(crate) fn keys_for_fuzzing(document: &[u8]) -> usize {
    let Ok(set) = key_set::KeySet::parse(document) else { return 0 };
    let algorithms = jwt::ALGORITHMS.iter().filter_map(|name| jwt::accepted_algorithm(name));
    algorithms.map(|algorithm| set.matching(None, algorithm).count() + set.matching(Some("a"), algorithm).count()).sum()
}

/// 32 bytes of the operating system's randomness, by the provider that TLS uses too.
pub fn random_secret() -> Result<[u8; 32], rustls::crypto::GetRandomFailed> {
    let mut bytes = [0; 32];
    rustls::crypto::aws_lc_rs::default_provider().secure_random.fill(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_single_bearer_credential_is_read() {
        assert_eq!(bearer(b"Bearer abc"), Some("abc"));
        assert_eq!(bearer(b"bearer abc"), Some("abc"));
        for wrong in [&b"abc"[..], b"Basic abc", b"Bearer ", b"Bearer a b", b"Bearer a,Bearer b", b"Bearer \xff", b""] {
            assert_eq!(bearer(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn secrets_differ() {
        assert_ne!(random_secret().unwrap(), random_secret().unwrap());
    }
}
