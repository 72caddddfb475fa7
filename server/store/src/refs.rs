//! The refs of a repository that are kept: why, until when, and how far each is.

use sync_core::ids::RepositoryId;
use time::OffsetDateTime;

use sqlx::FromRow;

use crate::error::StoreError;
use crate::tx::Tx;

/// Why a ref is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefOrigin {
    /// It is the default branch.
    Default,
    /// A pattern of the source names it.
    Tracked,
    /// Somebody asked for it; it expires.
    Requested,
    /// Snapshots of it were uploaded.
    Uploaded,
}

impl RefOrigin {
    /// Every origin.
    pub const ALL: [Self; 4] = [Self::Default, Self::Tracked, Self::Requested, Self::Uploaded];

    /// The word used in rows and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Tracked => "tracked",
            Self::Requested => "requested",
            Self::Uploaded => "uploaded",
        }
    }
}

/// A ref that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefRow {
    /// Its name.
    pub name: String,
    /// Why it is kept.
    pub origin: RefOrigin,
    /// From when on it is not, if ever.
    pub expires_at: Option<OffsetDateTime>,
    /// The commit that is indexed, if one is.
    pub commit: Option<String>,
    /// When that commit was made, as it says itself.
    pub committed_at: Option<OffsetDateTime>,
    /// When it was last stored or confirmed.
    pub indexed_at: Option<OffsetDateTime>,
    /// A newer head, when one is known.
    pub head_commit: Option<String>,
}

impl RefRow {
    /// Whether its time is not over.
    pub fn is_kept(&self, now: OffsetDateTime) -> bool {
        self.expires_at.is_none_or(|at| at > now)
    }
}

impl Tx {
    /// The refs of a repository that may be read, by name.
    pub async fn refs(&mut self, repository: RepositoryId) -> Result<Vec<RefRow>, StoreError> {
        let readable = self.readable_ids();
        let rows: Vec<RefColumns> = sqlx::query_as(
            "SELECT name, origin, expires_at, commit_id, committed_at, indexed_at, head_commit FROM sync.refs
             WHERE repository_id = $1 AND ($2::uuid[] IS NULL OR repository_id = ANY ($2)) ORDER BY name",
        )
        .bind(repository.uuid())
        .bind(readable)
        .fetch_all(self.connection())
        .await?;
        rows.into_iter().map(RefColumns::read).collect()
    }

    /// Keeps a ref, new or known, for that reason and so long.
    pub async fn keep_ref(
        &mut self,
        repository: RepositoryId,
        name: &str,
        origin: RefOrigin,
        expires_at: Option<OffsetDateTime>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO sync.refs (repository_id, name, origin, expires_at) VALUES ($1, $2, $3, $4)
             ON CONFLICT (organization_id, repository_id, name)
             DO UPDATE SET origin = excluded.origin, expires_at = excluded.expires_at",
        )
        .bind(repository.uuid())
        .bind(name)
        .bind(origin.as_str())
        .bind(expires_at)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Lets a ref expire now: its branch is gone. The default branch never expires. Gives whether there is such a ref.
    pub async fn expire_ref(
        &mut self,
        repository: RepositoryId,
        name: &str,
        now: OffsetDateTime,
    ) -> Result<bool, StoreError> {
        let done = sqlx::query(
            "UPDATE sync.refs f SET expires_at = least(f.expires_at, $3)
             FROM sync.repositories r
             WHERE f.repository_id = $1 AND f.name = $2 AND r.organization_id = f.organization_id
               AND r.id = f.repository_id AND r.default_branch <> f.name",
        )
        .bind(repository.uuid())
        .bind(name)
        .bind(now)
        .execute(self.connection())
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Notes when the indexed commit of a ref was made.
    pub async fn set_committed_at(
        &mut self,
        repository: RepositoryId,
        name: &str,
        committed_at: Option<OffsetDateTime>,
    ) -> Result<(), StoreError> {
        sqlx::query("UPDATE sync.refs SET committed_at = $3 WHERE repository_id = $1 AND name = $2")
            .bind(repository.uuid())
            .bind(name)
            .bind(committed_at)
            .execute(self.connection())
            .await?;
        Ok(())
    }
}

/// What a ref that is dropped leaves, in the order in which rows refer to each other; `$1` is the ref.
const ROWS_OF_A_REF: [&str; 4] = [
    "DELETE FROM sync.findings WHERE ref_key = $1",
    "DELETE FROM sync.joined_feeds WHERE ref_key = $1",
    "DELETE FROM sync.clients x USING sync.indexes i
     WHERE i.organization_id = x.organization_id AND i.id = x.index_id AND i.ref_key = $1",
    "DELETE FROM sync.indexed_commits WHERE ref_key = $1",
];

impl Tx {
    /// Drops a ref with its indexes, and the facts that no other ref shares; whether there was one. Needs
    /// [`crate::Store::begin_write`].
    pub async fn drop_ref(&mut self, repository: RepositoryId, name: &str) -> Result<bool, StoreError> {
        self.lock_repository(repository).await?;
        let key: Option<i64> =
            sqlx::query_scalar("SELECT ref_key FROM sync.refs WHERE repository_id = $1 AND name = $2")
                .bind(repository.uuid())
                .bind(name)
                .fetch_optional(self.connection())
                .await?;
        let Some(key) = key else { return Ok(false) };
        for delete in ROWS_OF_A_REF {
            sqlx::query(delete).bind(key).execute(self.connection()).await?;
        }
        let files: Vec<Option<i64>> =
            sqlx::query_scalar("DELETE FROM sync.ref_paths WHERE ref_key = $1 RETURNING file_key")
                .bind(key)
                .fetch_all(self.connection())
                .await?;
        sqlx::query("DELETE FROM sync.indexes WHERE ref_key = $1").bind(key).execute(self.connection()).await?;
        sqlx::query("DELETE FROM sync.refs WHERE ref_key = $1").bind(key).execute(self.connection()).await?;
        self.prune_facts(&files.into_iter().flatten().collect::<Vec<_>>()).await?;
        Ok(true)
    }

    /// Refs whose time is over, at most `limit`.
    pub async fn expired_refs(
        &mut self,
        now: OffsetDateTime,
        limit: u32,
    ) -> Result<Vec<(RepositoryId, String)>, StoreError> {
        let rows: Vec<(uuid::Uuid, String)> = sqlx::query_as(
            "SELECT repository_id, name FROM sync.refs WHERE expires_at <= $1 ORDER BY expires_at, ref_key LIMIT $2",
        )
        .bind(now)
        .bind(i64::from(limit))
        .fetch_all(self.connection())
        .await?;
        Ok(rows.into_iter().map(|(repository, name)| (RepositoryId::from_uuid(repository), name)).collect())
    }
}

#[derive(FromRow)]
struct RefColumns {
    name: String,
    origin: String,
    expires_at: Option<OffsetDateTime>,
    commit_id: Option<String>,
    committed_at: Option<OffsetDateTime>,
    indexed_at: Option<OffsetDateTime>,
    head_commit: Option<String>,
}

impl RefColumns {
    fn read(self) -> Result<RefRow, StoreError> {
        let origin = RefOrigin::ALL.into_iter().find(|origin| origin.as_str() == self.origin);
        Ok(RefRow {
            name: self.name,
            origin: origin.ok_or_else(|| StoreError::unreadable("origin of a ref", &self.origin))?,
            expires_at: self.expires_at,
            commit: self.commit_id,
            committed_at: self.committed_at,
            indexed_at: self.indexed_at,
            head_commit: self.head_commit,
        })
    }
}
