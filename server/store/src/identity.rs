//! Members, their tokens and what they may read.

use std::collections::BTreeSet;

use sync_core::ids::{PrincipalId, RepositoryId, TokenId};
use sync_core::principal::{PrincipalKind, Readable, Scope};

use time::OffsetDateTime;

use crate::error::StoreError;
use crate::tx::{AuthTx, Tx};

/// A principal as the organization knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The principal.
    pub id: PrincipalId,
    /// Name for people.
    pub name: String,
    /// Person or machine.
    pub kind: PrincipalKind,
    /// Which repositories it may read.
    pub readable: Readable,
    /// Since when it is shut out, if it is.
    pub disabled_at: Option<OffsetDateTime>,
}

/// A member to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMember<'a> {
    /// The principal.
    pub id: PrincipalId,
    /// Name for people, unique only by convention.
    pub name: &'a str,
    /// Person or machine.
    pub kind: PrincipalKind,
    /// (issuer, subject) of the identity provider, for members who come with a JWT.
    pub identity: Option<(&'a str, &'a str)>,
    /// Whether it reads every repository of the organization; else only the granted ones.
    pub reads_all: bool,
}

/// A token as stored, with its member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// The token.
    pub id: TokenId,
    /// Whose it is.
    pub member: Member,
    /// What it is called.
    pub name: String,
    /// SHA-256 of the secret.
    pub secret_hash: [u8; 32],
    /// What it may be used for.
    pub scopes: BTreeSet<Scope>,
    /// From when it is refused, if ever.
    pub expires_at: Option<OffsetDateTime>,
    /// Since when it is revoked, if it is.
    pub revoked_at: Option<OffsetDateTime>,
    /// Last use, to the minute.
    pub last_used_at: Option<OffsetDateTime>,
}

/// A token to create. The secret itself never comes here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken<'a> {
    /// The token.
    pub id: TokenId,
    /// Whose it is.
    pub principal: PrincipalId,
    /// What it is called.
    pub name: &'a str,
    /// SHA-256 of the secret.
    pub secret_hash: [u8; 32],
    /// What it may be used for.
    pub scopes: &'a BTreeSet<Scope>,
    /// From when it is refused, if ever.
    pub expires_at: Option<OffsetDateTime>,
}

impl AuthTx {
    /// The token with that id in this organization, revoked and expired ones too.
    pub async fn token(&mut self, id: TokenId) -> Result<Option<TokenRow>, StoreError> {
        let _ = id;
        Err(crate::tx::pending())
    }

    /// Notes the use of a token; writes at most once a minute a token.
    pub async fn touch_token(&mut self, id: TokenId, now: OffsetDateTime) -> Result<(), StoreError> {
        let _ = (id, now);
        Err(crate::tx::pending())
    }

    /// The member with that identity at an identity provider.
    pub async fn member_by_identity(&mut self, issuer: &str, subject: &str) -> Result<Option<Member>, StoreError> {
        let _ = (issuer, subject);
        Err(crate::tx::pending())
    }

    /// Creates a member at first sight; where another request was first, gives that one's.
    pub async fn create_member(&mut self, member: &NewMember<'_>, now: OffsetDateTime) -> Result<Member, StoreError> {
        let _ = (member, now);
        Err(crate::tx::pending())
    }
}

impl Tx {
    /// Creates a member; where its identity is a member already, gives that one.
    pub async fn create_member(&mut self, member: &NewMember<'_>, now: OffsetDateTime) -> Result<Member, StoreError> {
        let _ = (member, now);
        Err(crate::tx::pending())
    }

    /// The member of that name that has no identity elsewhere, as the command line creates them.
    pub async fn member_by_name(&mut self, name: &str) -> Result<Option<Member>, StoreError> {
        let _ = name;
        Err(crate::tx::pending())
    }

    /// Lets a member read a repository.
    pub async fn grant(
        &mut self,
        principal: PrincipalId,
        repository: RepositoryId,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        let _ = (principal, repository, now);
        Err(crate::tx::pending())
    }

    /// Stores a token's hash.
    pub async fn create_token(&mut self, token: &NewToken<'_>, now: OffsetDateTime) -> Result<(), StoreError> {
        let _ = (token, now);
        Err(crate::tx::pending())
    }

    /// Revokes a token; [`StoreError::NotFound`] where there is none, no effect where it was revoked before.
    pub async fn revoke_token(&mut self, id: TokenId, now: OffsetDateTime) -> Result<(), StoreError> {
        let _ = (id, now);
        Err(crate::tx::pending())
    }
}
