//! The organization `dev` and its owner's token, the same at every start.

use std::collections::BTreeSet;

use subtle::ConstantTimeEq as _;
use sync_core::ids::{OrganizationId, PrincipalId, TokenId};
use sync_core::principal::{Principal, PrincipalKind, Role, Scope};
use sync_store::{NewMember, NewToken, Store, StoreError};
use time::OffsetDateTime;

use super::data_dir::DataDir;
use super::error::DevError;
use crate::identity::{random_secret, token};

/// Name of the organization.
pub(super) const ORGANIZATION: &str = "dev";

const TOKEN_FILE: &str = "token";
const OWNER: &str = "owner";
const TOKEN_NAME: &str = "syncd dev";

/// The organization and its owner's token.
pub(super) struct Owner {
    /// Acts for `syncd dev` itself.
    pub(super) principal: Principal,
    /// The owner's token.
    pub(super) token: String,
}

/// Makes the organization and the owner where they are missing. The token is the kept one as long as the database
/// knows it; a data folder whose database was thrown away gets a new one.
pub(super) async fn ensure(store: &Store, data: &DataDir, now: OffsetDateTime) -> Result<Owner, DevError> {
    let organization = organization(store, now).await?;
    let principal = Principal::service(organization, "dev");
    if let Some(kept) = data.secret(TOKEN_FILE)?
        && is_known(store, organization, &kept, now).await?
    {
        return Ok(Owner { principal, token: kept });
    }
    let random = random_secret().map_err(|_| DevError::no_randomness())?;
    let id = TokenId::at(now);
    let made = token::make(organization, id, random);
    let mut tx = store.begin(&principal).await?;
    let owner = if let Some(member) = tx.member_by_name(OWNER).await? {
        member
    } else {
        let new = NewMember {
            id: PrincipalId::at(now),
            name: OWNER,
            kind: PrincipalKind::User,
            role: Role::Owner,
            identity: None,
            reads_all: true,
        };
        tx.create_member(&new, now).await?
    };
    // One that was lost with the folder that kept it serves nobody any more.
    tx.revoke_tokens_named(owner.id, TOKEN_NAME, now).await?;
    let scopes: BTreeSet<Scope> = Scope::ALL.into_iter().collect();
    let new = NewToken {
        id,
        principal: owner.id,
        name: TOKEN_NAME,
        secret_hash: made.secret_hash,
        scopes: &scopes,
        expires_at: None,
    };
    tx.create_token(&new, now).await?;
    // Kept before it is committed: a kill between the two leaves a token that is not known, and so a new one.
    data.keep_secret(TOKEN_FILE, &made.text)?;
    tx.commit().await?;
    Ok(Owner { principal, token: made.text })
}

async fn organization(store: &Store, now: OffsetDateTime) -> Result<OrganizationId, StoreError> {
    let mut tx = store.system("dev").await?;
    let organization = match tx.organization_by_slug(ORGANIZATION).await? {
        Some(known) => known,
        None => tx.create_organization(OrganizationId::at(now), ORGANIZATION, now).await?,
    };
    tx.commit().await?;
    Ok(organization.id)
}

async fn is_known(
    store: &Store,
    organization: OrganizationId,
    kept: &str,
    now: OffsetDateTime,
) -> Result<bool, StoreError> {
    let Ok(presented) = token::parse(kept) else { return Ok(false) };
    if presented.organization != organization {
        return Ok(false);
    }
    let mut tx = store.authenticate(organization).await?;
    let row = tx.token(presented.id).await?;
    tx.commit().await?;
    Ok(row.is_some_and(|row| {
        bool::from(row.secret_hash.ct_eq(&presented.secret_hash))
            && row.revoked_at.is_none()
            && row.expires_at.is_none_or(|at| at > now)
    }))
}
