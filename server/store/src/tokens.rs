//! Tokens of members: stored as hashes, at most two of a name live at a time.

use std::collections::BTreeSet;

use sync_core::ids::{PrincipalId, TokenId};
use sync_core::principal::Scope;
use time::{Duration, OffsetDateTime};

use sqlx::FromRow;
use uuid::Uuid;

use crate::convert::count;
use crate::error::StoreError;
use crate::members::{Member, MemberColumns};
use crate::tx::{AuthTx, Tx};

/// How many tokens of one principal and name live at a time: one, and its successor while it is rolled out.
pub const LIVE_TOKENS_A_NAME: i64 = 2;

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
    /// Whether its organization is served at all.
    pub organization_active: bool,
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

/// A token as it is listed: all but what its secret is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenInfo {
    /// The token.
    pub id: TokenId,
    /// Whose it is.
    pub principal: PrincipalId,
    /// Name of whose it is.
    pub principal_name: String,
    /// What it is called.
    pub name: String,
    /// What it may be used for.
    pub scopes: BTreeSet<Scope>,
    /// Since when it is.
    pub created_at: OffsetDateTime,
    /// From when it is refused, if ever.
    pub expires_at: Option<OffsetDateTime>,
    /// Since when it is revoked, if it is.
    pub revoked_at: Option<OffsetDateTime>,
    /// Last use, to the minute.
    pub last_used_at: Option<OffsetDateTime>,
    /// The token that it took the place of.
    pub replaces: Option<TokenId>,
}

impl TokenInfo {
    /// Whether it is accepted at that instant, as far as it goes by the token.
    pub fn is_live(&self, now: OffsetDateTime) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|at| at > now)
    }
}

/// Columns of [`InfoColumns`], before a WHERE.
macro_rules! select_info {
    ($rest:literal) => {
        concat!(
            "SELECT t.id, t.principal_id, p.name AS principal_name, t.name, t.scopes, t.created_at, t.expires_at,
                    t.revoked_at, t.last_used_at, t.replaces
             FROM sync.tokens t
             JOIN sync.principals p ON p.organization_id = t.organization_id AND p.id = t.principal_id ",
            $rest
        )
    };
}

impl AuthTx {
    /// The token with that id in this organization, revoked and expired ones too.
    pub async fn token(&mut self, id: TokenId) -> Result<Option<TokenRow>, StoreError> {
        let row: Option<(TokenColumns, MemberColumns)> = sqlx::query_as::<_, Joined>(
            "SELECT t.id AS token_id, t.name AS token_name, t.secret_hash, t.scopes, t.expires_at, t.revoked_at,
                    t.last_used_at, p.id, p.name, p.kind, p.role, p.reads_all, p.disabled_at,
                    ARRAY(SELECT g.repository_id FROM sync.grants g WHERE g.principal_id = p.id) AS granted,
                    EXISTS (SELECT FROM routing.organizations o
                            WHERE o.id = t.organization_id AND o.state = 'active') AS organization_active
             FROM sync.tokens t
             JOIN sync.principals p ON p.organization_id = t.organization_id AND p.id = t.principal_id
             WHERE t.id = $1",
        )
        .bind(id.uuid())
        .fetch_optional(self.connection())
        .await?
        .map(|joined| (joined.token, joined.member));
        row.map(|(token, member)| token.read(member.read()?)).transpose()
    }

    /// Notes the use of a token; writes at most once a minute a token.
    pub async fn touch_token(&mut self, id: TokenId, now: OffsetDateTime) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE sync.tokens SET last_used_at = $2
             WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $2 - interval '1 minute')",
        )
        .bind(id.uuid())
        .bind(now)
        .execute(self.connection())
        .await?;
        Ok(())
    }
}

impl Tx {
    /// Tokens, oldest first, after the one of that id, at most `limit`, of one principal where one is named; and how many there are.
    pub async fn tokens(
        &mut self,
        principal: Option<PrincipalId>,
        after: Option<TokenId>,
        limit: u32,
    ) -> Result<(Vec<TokenInfo>, u64), StoreError> {
        let rows: Vec<InfoColumns> = sqlx::query_as(select_info!(
            "WHERE ($1::uuid IS NULL OR t.principal_id = $1) AND ($2::uuid IS NULL OR t.id > $2) ORDER BY t.id LIMIT $3"
        ))
        .bind(principal.map(PrincipalId::uuid))
        .bind(after.map(TokenId::uuid))
        .bind(i64::from(limit))
        .fetch_all(self.connection())
        .await?;
        let total: i64 =
            sqlx::query_scalar("SELECT count(*) FROM sync.tokens t WHERE $1::uuid IS NULL OR t.principal_id = $1")
                .bind(principal.map(PrincipalId::uuid))
                .fetch_one(self.connection())
                .await?;
        Ok((rows.into_iter().map(InfoColumns::read).collect(), count(total)))
    }

    /// One token, revoked and expired ones too.
    pub async fn token_info(&mut self, id: TokenId) -> Result<Option<TokenInfo>, StoreError> {
        let row: Option<InfoColumns> =
            sqlx::query_as(select_info!("WHERE t.id = $1")).bind(id.uuid()).fetch_optional(self.connection()).await?;
        Ok(row.map(InfoColumns::read))
    }

    /// Stores a token's hash. [`StoreError::NotFound`] where there is no such principal, [`StoreError::Conflict`]
    /// `two_live_tokens` where two of that name live.
    pub async fn create_token(&mut self, token: &NewToken<'_>, now: OffsetDateTime) -> Result<(), StoreError> {
        self.insert_token(token, None, now).await
    }

    /// Gives a live token a successor of the same principal, name and scopes, that lives as long as it did from its
    /// beginning. The old one ends when the overlap does, or sooner where it would anyway.
    pub async fn rotate_token(
        &mut self,
        old: TokenId,
        id: TokenId,
        secret_hash: [u8; 32],
        overlap: Duration,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        let not_found = || StoreError::NotFound(format!("token {old}"));
        // The lock is what two rotations at a time meet at; only then is it read.
        sqlx::query("SELECT FROM sync.tokens WHERE id = $1 FOR UPDATE")
            .bind(old.uuid())
            .fetch_optional(self.connection())
            .await?
            .ok_or_else(not_found)?;
        let known = self.token_info(old).await?.ok_or_else(not_found)?;
        if !known.is_live(now) {
            return Err(StoreError::Conflict("token_not_live".to_owned()));
        }
        let token = NewToken {
            id,
            principal: known.principal,
            name: &known.name,
            secret_hash,
            scopes: &known.scopes,
            expires_at: known.expires_at.map(|at| now + (at - known.created_at)),
        };
        self.insert_token(&token, Some(old), now).await?;
        sqlx::query("UPDATE sync.tokens SET expires_at = least(expires_at, $2) WHERE id = $1")
            .bind(old.uuid())
            .bind(now + overlap)
            .execute(self.connection())
            .await?;
        Ok(())
    }

    async fn insert_token(
        &mut self,
        token: &NewToken<'_>,
        replaces: Option<TokenId>,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        // Two that are made at a time would both count one.
        sqlx::query("SELECT FROM sync.principals WHERE id = $1 FOR UPDATE")
            .bind(token.principal.uuid())
            .fetch_optional(self.connection())
            .await?
            .ok_or_else(|| StoreError::NotFound(format!("principal {}", token.principal)))?;
        let live: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM sync.tokens WHERE principal_id = $1 AND name = $2 AND revoked_at IS NULL
               AND (expires_at IS NULL OR expires_at > $3)",
        )
        .bind(token.principal.uuid())
        .bind(token.name)
        .bind(now)
        .fetch_one(self.connection())
        .await?;
        if live >= LIVE_TOKENS_A_NAME {
            return Err(StoreError::Conflict("two_live_tokens".to_owned()));
        }
        let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.as_str()).collect();
        sqlx::query(
            "INSERT INTO sync.tokens (id, principal_id, name, secret_hash, scopes, created_at, expires_at, replaces)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        )
        .bind(token.id.uuid())
        .bind(token.principal.uuid())
        .bind(token.name)
        .bind(&token.secret_hash[..])
        .bind(scopes)
        .bind(now)
        .bind(token.expires_at)
        .bind(replaces.map(TokenId::uuid))
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Revokes every live token of a principal that has that name; gives how many there were.
    pub async fn revoke_tokens_named(
        &mut self,
        principal: PrincipalId,
        name: &str,
        now: OffsetDateTime,
    ) -> Result<u64, StoreError> {
        let done = sqlx::query(
            "UPDATE sync.tokens SET revoked_at = $3 WHERE principal_id = $1 AND name = $2 AND revoked_at IS NULL",
        )
        .bind(principal.uuid())
        .bind(name)
        .bind(now)
        .execute(self.connection())
        .await?;
        Ok(done.rows_affected())
    }

    /// Revokes a token; [`StoreError::NotFound`] where there is none, no effect where it was revoked before.
    pub async fn revoke_token(&mut self, id: TokenId, now: OffsetDateTime) -> Result<(), StoreError> {
        let done = sqlx::query("UPDATE sync.tokens SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1")
            .bind(id.uuid())
            .bind(now)
            .execute(self.connection())
            .await?;
        if done.rows_affected() == 0 {
            return Err(StoreError::NotFound(format!("token {id}")));
        }
        Ok(())
    }
}

#[derive(FromRow)]
struct Joined {
    #[sqlx(flatten)]
    token: TokenColumns,
    #[sqlx(flatten)]
    member: MemberColumns,
}

#[derive(FromRow)]
struct TokenColumns {
    token_id: Uuid,
    token_name: String,
    secret_hash: Vec<u8>,
    scopes: Vec<String>,
    expires_at: Option<OffsetDateTime>,
    revoked_at: Option<OffsetDateTime>,
    last_used_at: Option<OffsetDateTime>,
    organization_active: bool,
}

impl TokenColumns {
    fn read(self, member: Member) -> Result<TokenRow, StoreError> {
        let secret_hash = self.secret_hash.try_into().map_err(|_| StoreError::unreadable("token", "hash length"))?;
        // A scope that this build does not know was given by a newer one: it allows nothing here.
        let scopes = self.scopes.iter().filter_map(|word| word.parse().ok()).collect();
        Ok(TokenRow {
            id: TokenId::from_uuid(self.token_id),
            member,
            name: self.token_name,
            secret_hash,
            scopes,
            expires_at: self.expires_at,
            revoked_at: self.revoked_at,
            last_used_at: self.last_used_at,
            organization_active: self.organization_active,
        })
    }
}

#[derive(FromRow)]
struct InfoColumns {
    id: Uuid,
    principal_id: Uuid,
    principal_name: String,
    name: String,
    scopes: Vec<String>,
    created_at: OffsetDateTime,
    expires_at: Option<OffsetDateTime>,
    revoked_at: Option<OffsetDateTime>,
    last_used_at: Option<OffsetDateTime>,
    replaces: Option<Uuid>,
}

impl InfoColumns {
    fn read(self) -> TokenInfo {
        TokenInfo {
            id: TokenId::from_uuid(self.id),
            principal: PrincipalId::from_uuid(self.principal_id),
            principal_name: self.principal_name,
            name: self.name,
            scopes: self.scopes.iter().filter_map(|word| word.parse().ok()).collect(),
            created_at: self.created_at,
            expires_at: self.expires_at,
            revoked_at: self.revoked_at,
            last_used_at: self.last_used_at,
            replaces: self.replaces.map(TokenId::from_uuid),
        }
    }
}
