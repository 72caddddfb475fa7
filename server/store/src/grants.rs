//! Which repositories a member reads who does not read all of them.

use sync_core::ids::{PrincipalId, RepositoryId};
use time::OffsetDateTime;

use sqlx::FromRow;
use uuid::Uuid;

use crate::convert::count;
use crate::error::StoreError;
use crate::tx::Tx;

/// A grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantRow {
    /// Who reads.
    pub principal: PrincipalId,
    /// Name of who reads.
    pub principal_name: String,
    /// What is read.
    pub repository: RepositoryId,
    /// Name of what is read.
    pub repository_name: String,
    /// Since when.
    pub granted_at: OffsetDateTime,
}

/// Which grants are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GrantFilter {
    /// Those of this member.
    pub principal: Option<PrincipalId>,
    /// Those for this repository.
    pub repository: Option<RepositoryId>,
}

impl Tx {
    /// Grants by member and repository, after the one of these, at most `limit`; and how many there are.
    pub async fn grants(
        &mut self,
        filter: GrantFilter,
        after: Option<(PrincipalId, RepositoryId)>,
        limit: u32,
    ) -> Result<(Vec<GrantRow>, u64), StoreError> {
        let (principal, repository) =
            (filter.principal.map(PrincipalId::uuid), filter.repository.map(RepositoryId::uuid));
        let rows: Vec<GrantColumns> = sqlx::query_as(
            "SELECT g.principal_id, p.name AS principal_name, g.repository_id, r.name AS repository_name, g.granted_at
             FROM sync.grants g
             JOIN sync.principals p ON p.organization_id = g.organization_id AND p.id = g.principal_id
             JOIN sync.repositories r ON r.organization_id = g.organization_id AND r.id = g.repository_id
             WHERE ($1::uuid IS NULL OR g.principal_id = $1) AND ($2::uuid IS NULL OR g.repository_id = $2)
               AND ($3::uuid IS NULL OR (g.principal_id, g.repository_id) > ($3, $4::uuid))
             ORDER BY g.principal_id, g.repository_id LIMIT $5",
        )
        .bind(principal)
        .bind(repository)
        .bind(after.map(|(principal, _)| principal.uuid()))
        .bind(after.map(|(_, repository)| repository.uuid()))
        .bind(i64::from(limit))
        .fetch_all(self.connection())
        .await?;
        let total: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM sync.grants g
             WHERE ($1::uuid IS NULL OR g.principal_id = $1) AND ($2::uuid IS NULL OR g.repository_id = $2)",
        )
        .bind(principal)
        .bind(repository)
        .fetch_one(self.connection())
        .await?;
        Ok((rows.into_iter().map(GrantColumns::read).collect(), count(total)))
    }

    /// One grant.
    pub async fn grant_of(
        &mut self,
        principal: PrincipalId,
        repository: RepositoryId,
    ) -> Result<Option<GrantRow>, StoreError> {
        let filter = GrantFilter { principal: Some(principal), repository: Some(repository) };
        Ok(self.grants(filter, None, 1).await?.0.pop())
    }

    /// Lets a member read a repository; gives whether it is new.
    pub async fn grant(
        &mut self,
        principal: PrincipalId,
        repository: RepositoryId,
        now: OffsetDateTime,
    ) -> Result<bool, StoreError> {
        let done = sqlx::query(
            "INSERT INTO sync.grants (principal_id, repository_id, granted_at) VALUES ($1, $2, $3)
             ON CONFLICT DO NOTHING",
        )
        .bind(principal.uuid())
        .bind(repository.uuid())
        .bind(now)
        .execute(self.connection())
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Takes a grant back; [`StoreError::NotFound`] where there is none.
    pub async fn revoke_grant(&mut self, principal: PrincipalId, repository: RepositoryId) -> Result<(), StoreError> {
        let gone = sqlx::query("DELETE FROM sync.grants WHERE principal_id = $1 AND repository_id = $2")
            .bind(principal.uuid())
            .bind(repository.uuid())
            .execute(self.connection())
            .await?;
        if gone.rows_affected() == 0 {
            return Err(StoreError::NotFound(format!("a grant of {repository} to {principal}")));
        }
        Ok(())
    }
}

#[derive(FromRow)]
struct GrantColumns {
    principal_id: Uuid,
    principal_name: String,
    repository_id: Uuid,
    repository_name: String,
    granted_at: OffsetDateTime,
}

impl GrantColumns {
    fn read(self) -> GrantRow {
        GrantRow {
            principal: PrincipalId::from_uuid(self.principal_id),
            principal_name: self.principal_name,
            repository: RepositoryId::from_uuid(self.repository_id),
            repository_name: self.repository_name,
            granted_at: self.granted_at,
        }
    }
}
