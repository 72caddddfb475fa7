//! Members, their tokens and what they may read.

use std::collections::BTreeSet;

use sync_core::ids::{PrincipalId, RepositoryId, TokenId};
use sync_core::principal::{PrincipalKind, Readable, Role, Scope};

use time::OffsetDateTime;

use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

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
    /// What it is in the organization.
    pub role: Role,
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
    /// What it is in the organization.
    pub role: Role,
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

    /// The member with that identity at an identity provider.
    pub async fn member_by_identity(&mut self, issuer: &str, subject: &str) -> Result<Option<Member>, StoreError> {
        member_by_identity(self.connection(), issuer, subject).await
    }

    /// Creates a member at first sight; where another request was first, gives that one's.
    pub async fn create_member(&mut self, member: &NewMember<'_>, now: OffsetDateTime) -> Result<Member, StoreError> {
        create_member(self.connection(), member, now).await
    }
}

impl Tx {
    /// Creates a member; where its identity (or, without one, its name) is a member already, gives that one.
    pub async fn create_member(&mut self, member: &NewMember<'_>, now: OffsetDateTime) -> Result<Member, StoreError> {
        create_member(self.connection(), member, now).await
    }

    /// The member of that name that has no identity elsewhere, as the command line creates them.
    pub async fn member_by_name(&mut self, name: &str) -> Result<Option<Member>, StoreError> {
        member_by_name(self.connection(), name).await
    }

    /// Whether the organization has no member yet, so that the next one is its first.
    pub async fn has_no_member(&mut self) -> Result<bool, StoreError> {
        let known: bool =
            sqlx::query_scalar("SELECT EXISTS (SELECT FROM sync.principals)").fetch_one(self.connection()).await?;
        Ok(!known)
    }

    /// Lets a member read a repository.
    pub async fn grant(
        &mut self,
        principal: PrincipalId,
        repository: RepositoryId,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO sync.grants (principal_id, repository_id, granted_at) VALUES ($1, $2, $3)
             ON CONFLICT DO NOTHING",
        )
        .bind(principal.uuid())
        .bind(repository.uuid())
        .bind(now)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Stores a token's hash.
    pub async fn create_token(&mut self, token: &NewToken<'_>, now: OffsetDateTime) -> Result<(), StoreError> {
        let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.as_str()).collect();
        sqlx::query(
            "INSERT INTO sync.tokens (id, principal_id, name, secret_hash, scopes, created_at, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(token.id.uuid())
        .bind(token.principal.uuid())
        .bind(token.name)
        .bind(&token.secret_hash[..])
        .bind(scopes)
        .bind(now)
        .bind(token.expires_at)
        .execute(self.connection())
        .await?;
        Ok(())
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
struct MemberColumns {
    id: Uuid,
    name: String,
    kind: String,
    role: String,
    reads_all: bool,
    disabled_at: Option<OffsetDateTime>,
    granted: Vec<Uuid>,
}

impl MemberColumns {
    fn read(self) -> Result<Member, StoreError> {
        let kind = match self.kind.as_str() {
            "user" => PrincipalKind::User,
            "service" => PrincipalKind::Service,
            other => return Err(StoreError::unreadable("principal kind", other)),
        };
        let role = self.role.parse().map_err(|error| StoreError::unreadable("role", error))?;
        let readable = if self.reads_all {
            Readable::All
        } else {
            Readable::Only(self.granted.into_iter().map(RepositoryId::from_uuid).collect())
        };
        Ok(Member {
            id: PrincipalId::from_uuid(self.id),
            name: self.name,
            kind,
            role,
            readable,
            disabled_at: self.disabled_at,
        })
    }
}

/// Columns of [`MemberColumns`], before a WHERE.
macro_rules! select_member {
    ($rest:literal) => {
        concat!(
            "SELECT p.id, p.name, p.kind, p.role, p.reads_all, p.disabled_at,
                    ARRAY(SELECT g.repository_id FROM sync.grants g WHERE g.principal_id = p.id) AS granted
             FROM sync.principals p ",
            $rest
        )
    };
}

async fn member_by_identity(
    connection: &mut PgConnection,
    issuer: &str,
    subject: &str,
) -> Result<Option<Member>, StoreError> {
    sqlx::query_as(select_member!("WHERE p.issuer = $1 AND p.subject = $2"))
        .bind(issuer)
        .bind(subject)
        .fetch_optional(connection)
        .await?
        .map(MemberColumns::read)
        .transpose()
}

async fn member_by_name(connection: &mut PgConnection, name: &str) -> Result<Option<Member>, StoreError> {
    sqlx::query_as(select_member!("WHERE p.issuer IS NULL AND p.name = $1"))
        .bind(name)
        .fetch_optional(connection)
        .await?
        .map(MemberColumns::read)
        .transpose()
}

async fn create_member(
    connection: &mut PgConnection,
    member: &NewMember<'_>,
    now: OffsetDateTime,
) -> Result<Member, StoreError> {
    sqlx::query(
        "INSERT INTO sync.principals (id, name, kind, role, issuer, subject, reads_all, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT DO NOTHING",
    )
    .bind(member.id.uuid())
    .bind(member.name)
    .bind(member.kind.as_str())
    .bind(member.role.as_str())
    .bind(member.identity.map(|(issuer, _)| issuer))
    .bind(member.identity.map(|(_, subject)| subject))
    .bind(member.reads_all)
    .bind(now)
    .execute(&mut *connection)
    .await?;
    let found = match member.identity {
        Some((issuer, subject)) => member_by_identity(connection, issuer, subject).await?,
        None => member_by_name(connection, member.name).await?,
    };
    // Absent only where the row of another transaction is there but not visible in this one's snapshot yet.
    found.ok_or_else(|| StoreError::Unavailable(format!("member `{}` is being created elsewhere", member.name)))
}
