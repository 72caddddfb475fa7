//! Members of an organization.

use sync_core::ids::{PrincipalId, RepositoryId};
use sync_core::principal::{PrincipalKind, Readable, Role};

use time::OffsetDateTime;

use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

use crate::convert::count;
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

/// A member as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberRow {
    /// The principal.
    pub id: PrincipalId,
    /// Name for people.
    pub name: String,
    /// Person or machine.
    pub kind: PrincipalKind,
    /// What it is in the organization.
    pub role: Role,
    /// Whether it reads every repository; else only the granted ones.
    pub reads_all: bool,
    /// (issuer, subject) of the identity provider, for members who come with a JWT.
    pub identity: Option<(String, String)>,
    /// Since when it is a member.
    pub created_at: OffsetDateTime,
    /// Since when it is shut out, if it is.
    pub disabled_at: Option<OffsetDateTime>,
}

/// What changes of a member; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberChange<'a> {
    /// Another name.
    pub name: Option<&'a str>,
    /// Another role.
    pub role: Option<Role>,
    /// Whether it reads every repository.
    pub reads_all: Option<bool>,
    /// Whether it is shut out.
    pub disabled: Option<bool>,
}

/// Columns of [`ListedColumns`], before a WHERE.
macro_rules! select_listed {
    ($rest:literal) => {
        concat!(
            "SELECT p.id, p.name, p.kind, p.role, p.reads_all, p.issuer, p.subject, p.created_at, p.disabled_at
             FROM sync.principals p ",
            $rest
        )
    };
}

impl AuthTx {
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

    /// Members, oldest first, after the one of that id, at most `limit`, of one role where one is named; and how many there are.
    pub async fn members(
        &mut self,
        role: Option<Role>,
        after: Option<PrincipalId>,
        limit: u32,
    ) -> Result<(Vec<MemberRow>, u64), StoreError> {
        let rows: Vec<ListedColumns> = sqlx::query_as(select_listed!(
            "WHERE ($1::text IS NULL OR p.role = $1) AND ($2::uuid IS NULL OR p.id > $2) ORDER BY p.id LIMIT $3"
        ))
        .bind(role.map(Role::as_str))
        .bind(after.map(PrincipalId::uuid))
        .bind(i64::from(limit))
        .fetch_all(self.connection())
        .await?;
        let total: i64 =
            sqlx::query_scalar("SELECT count(*) FROM sync.principals p WHERE $1::text IS NULL OR p.role = $1")
                .bind(role.map(Role::as_str))
                .fetch_one(self.connection())
                .await?;
        Ok((rows.into_iter().map(ListedColumns::read).collect::<Result<_, _>>()?, count(total)))
    }

    /// One member.
    pub async fn member(&mut self, id: PrincipalId) -> Result<Option<MemberRow>, StoreError> {
        sqlx::query_as(select_listed!("WHERE p.id = $1"))
            .bind(id.uuid())
            .fetch_optional(self.connection())
            .await?
            .map(ListedColumns::read)
            .transpose()
    }

    /// One member, locked until this transaction ends together with every owner who is let in: what is decided by its
    /// role, or by who is an owner, stays so. In a transaction of [`crate::Store::begin_write`].
    pub async fn lock_member(&mut self, id: PrincipalId) -> Result<Option<MemberRow>, StoreError> {
        // All at once and in one order, or two would wait for each other.
        sqlx::query(
            "SELECT FROM sync.principals WHERE id = $1 OR (role = 'owner' AND disabled_at IS NULL)
             ORDER BY id FOR UPDATE",
        )
        .bind(id.uuid())
        .fetch_all(self.connection())
        .await?;
        self.member(id).await
    }

    /// The roles of those who come by that issuer, let in or not, each once. Until this transaction ends, none of them gets
    /// another. In a transaction of [`crate::Store::begin_change`].
    pub async fn roles_by_issuer(&mut self, issuer: &str) -> Result<Vec<Role>, StoreError> {
        sqlx::query("SELECT FROM sync.principals WHERE role = 'owner' OR issuer = $1 ORDER BY id FOR UPDATE")
            .bind(issuer)
            .fetch_all(self.connection())
            .await?;
        let roles: Vec<String> =
            sqlx::query_scalar("SELECT DISTINCT role FROM sync.principals WHERE issuer = $1 ORDER BY role")
                .bind(issuer)
                .fetch_all(self.connection())
                .await?;
        roles.iter().map(|role| role.parse().map_err(|error| StoreError::unreadable("role", error))).collect()
    }

    /// Whether a member reads a repository that is not among these.
    pub async fn reads_more_than(&mut self, id: PrincipalId, these: &[RepositoryId]) -> Result<bool, StoreError> {
        let these: Vec<Uuid> = these.iter().map(|id| id.uuid()).collect();
        Ok(sqlx::query_scalar(
            "SELECT EXISTS (SELECT FROM sync.principals p WHERE p.id = $1 AND (p.reads_all OR EXISTS (
                 SELECT FROM sync.grants g WHERE g.principal_id = p.id AND g.repository_id <> ALL ($2))))",
        )
        .bind(id.uuid())
        .bind(these)
        .fetch_one(self.connection())
        .await?)
    }

    /// Creates a member without an identity elsewhere; [`StoreError::Conflict`] `principals_local_name` where there is
    /// one of that name.
    pub async fn add_member(&mut self, member: &NewMember<'_>, now: OffsetDateTime) -> Result<(), StoreError> {
        insert_member(self.connection(), member, false, now).await
    }

    /// Changes a member and gives it as it then is. [`StoreError::NotFound`] where there is none,
    /// [`StoreError::Conflict`] `last_owner` where the organization would be left without an owner who is let in.
    /// In a transaction of [`crate::Store::begin_write`], which sees what others did while it waited.
    pub async fn change_member(
        &mut self,
        id: PrincipalId,
        change: &MemberChange<'_>,
        now: OffsetDateTime,
    ) -> Result<MemberRow, StoreError> {
        let not_found = || StoreError::NotFound(format!("member {id}"));
        self.lock_member(id).await?.ok_or_else(not_found)?;
        let owners: Vec<Uuid> =
            sqlx::query_scalar("SELECT id FROM sync.principals WHERE role = 'owner' AND disabled_at IS NULL")
                .fetch_all(self.connection())
                .await?;
        let stays = change.role.is_none_or(|role| role == Role::Owner) && change.disabled != Some(true);
        if owners == [id.uuid()] && !stays {
            return Err(StoreError::Conflict("last_owner".to_owned()));
        }
        let changed = sqlx::query(
            "UPDATE sync.principals SET name = coalesce($2, name), role = coalesce($3, role),
                    reads_all = coalesce($4, reads_all),
                    disabled_at = CASE $5 WHEN true THEN coalesce(disabled_at, $6) WHEN false THEN NULL
                                  ELSE disabled_at END
             WHERE id = $1",
        )
        .bind(id.uuid())
        .bind(change.name)
        .bind(change.role.map(Role::as_str))
        .bind(change.reads_all)
        .bind(change.disabled)
        .bind(now)
        .execute(self.connection())
        .await?;
        if changed.rows_affected() == 0 {
            return Err(not_found());
        }
        self.member(id).await?.ok_or_else(not_found)
    }
}

#[derive(FromRow)]
pub(crate) struct MemberColumns {
    id: Uuid,
    name: String,
    kind: String,
    role: String,
    reads_all: bool,
    disabled_at: Option<OffsetDateTime>,
    granted: Vec<Uuid>,
}

impl MemberColumns {
    pub(crate) fn read(self) -> Result<Member, StoreError> {
        let kind = read_kind(&self.kind)?;
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

#[derive(FromRow)]
struct ListedColumns {
    id: Uuid,
    name: String,
    kind: String,
    role: String,
    reads_all: bool,
    issuer: Option<String>,
    subject: Option<String>,
    created_at: OffsetDateTime,
    disabled_at: Option<OffsetDateTime>,
}

impl ListedColumns {
    fn read(self) -> Result<MemberRow, StoreError> {
        Ok(MemberRow {
            id: PrincipalId::from_uuid(self.id),
            name: self.name,
            kind: read_kind(&self.kind)?,
            role: self.role.parse().map_err(|error| StoreError::unreadable("role", error))?,
            reads_all: self.reads_all,
            identity: self.issuer.zip(self.subject),
            created_at: self.created_at,
            disabled_at: self.disabled_at,
        })
    }
}

fn read_kind(word: &str) -> Result<PrincipalKind, StoreError> {
    word.parse().map_err(|error| StoreError::unreadable("principal kind", error))
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
    insert_member(connection, member, true, now).await?;
    let found = match member.identity {
        Some((issuer, subject)) => member_by_identity(connection, issuer, subject).await?,
        None => member_by_name(connection, member.name).await?,
    };
    // Absent only where the row of another transaction is there but not visible in this one's snapshot yet.
    found.ok_or_else(|| StoreError::Unavailable(format!("member `{}` is being created elsewhere", member.name)))
}

/// Inserts a member; one that is there is left alone where that is wanted, and a conflict where it is not.
async fn insert_member(
    connection: &mut PgConnection,
    member: &NewMember<'_>,
    unless_known: bool,
    now: OffsetDateTime,
) -> Result<(), StoreError> {
    const INSERT: &str = "INSERT INTO sync.principals (id, name, kind, role, issuer, subject, reads_all, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    const INSERT_UNLESS_KNOWN: &str =
        "INSERT INTO sync.principals (id, name, kind, role, issuer, subject, reads_all, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING";
    sqlx::query(if unless_known { INSERT_UNLESS_KNOWN } else { INSERT })
        .bind(member.id.uuid())
        .bind(member.name)
        .bind(member.kind.as_str())
        .bind(member.role.as_str())
        .bind(member.identity.map(|(issuer, _)| issuer))
        .bind(member.identity.map(|(_, subject)| subject))
        .bind(member.reads_all)
        .bind(now)
        .execute(connection)
        .await?;
    Ok(())
}
