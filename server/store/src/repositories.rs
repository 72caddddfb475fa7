//! Registered repositories. What the principal may not read is not found.

use sync_core::ids::RepositoryId;
use sync_core::principal::Readable;
use time::OffsetDateTime;

use sqlx::FromRow;
use uuid::Uuid;

use crate::convert;
use crate::error::StoreError;
use crate::tx::Tx;

/// What a repository's indexing is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepositoryState {
    /// Registered, not looked at yet.
    Registered,
    /// Being fetched and indexed.
    Indexing,
    /// The default branch has an index.
    Indexed,
    /// Refused by the gate; `state_reason` says by which word of it. An older index still answers.
    Gated,
    /// The last try failed; `state_reason` says why. An older index still answers.
    Failed,
    /// It is being erased.
    Deleting,
}

impl RepositoryState {
    /// The word used in rows and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Registered => "registered",
            Self::Indexing => "indexing",
            Self::Indexed => "indexed",
            Self::Gated => "gated",
            Self::Failed => "failed",
            Self::Deleting => "deleting",
        }
    }

    fn read(word: &str) -> Result<Self, StoreError> {
        [Self::Registered, Self::Indexing, Self::Indexed, Self::Gated, Self::Failed, Self::Deleting]
            .into_iter()
            .find(|state| state.as_str() == word)
            .ok_or_else(|| StoreError::unreadable("repository state", word))
    }
}

/// Whether a repository is indexed at all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Gate {
    /// Unless nobody can have meant to: a home folder, more than a repository has.
    #[default]
    Auto,
    /// Yes; partly where it is too large.
    On,
    /// No.
    Off,
}

impl Gate {
    /// Every setting.
    pub const ALL: [Self; 3] = [Self::Auto, Self::On, Self::Off];

    /// The word used in rows and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

/// How a repository is kept up to date.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceSettings {
    /// Patterns of refs that are kept beside the default branch; at most 20.
    pub tracked_refs: Vec<String>,
    /// Whether it is indexed at all.
    pub gate: Gate,
}

/// A registered repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Its id.
    pub id: RepositoryId,
    /// Its name, unique in the organization.
    pub name: String,
    /// `github`, `gitlab`, …; absent for a local one.
    pub provider: Option<String>,
    /// Where it is cloned from, without credentials.
    pub clone_url: Option<String>,
    /// The ref that answers where none is named.
    pub default_branch: String,
    /// What indexing is doing.
    pub state: RepositoryState,
    /// Why, where that needs saying.
    pub state_reason: Option<String>,
    /// Since when.
    pub state_at: OffsetDateTime,
    /// How it is kept up to date.
    pub settings: SourceSettings,
    /// Since when its code may be fetched from where it lies, and by whose word.
    pub egress_consent: Option<(OffsetDateTime, String)>,
}

/// A repository to register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRepository<'a> {
    /// Its id.
    pub id: RepositoryId,
    /// `[a-z0-9._-]+(/[a-z0-9._-]+)*`, at most 100 characters.
    pub name: &'a str,
    /// `github`, `gitlab`, …; absent for a local one.
    pub provider: Option<&'a str>,
    /// Where it is cloned from, without credentials.
    pub clone_url: Option<&'a str>,
    /// The ref that answers where none is named.
    pub default_branch: &'a str,
}

/// Columns of [`RepositoryColumns`], before further joins and a WHERE.
macro_rules! select_repository {
    ($rest:literal) => {
        concat!(
            "SELECT r.id, r.name, r.provider, r.clone_url, r.default_branch, r.state, r.state_reason, r.state_at,
                    r.tracked_refs, r.gate, r.egress_consent_at, r.egress_consent_by
             FROM sync.repositories r ",
            $rest
        )
    };
}

impl Tx {
    /// Registers a repository; [`StoreError::Conflict`] where the name is taken, [`StoreError::OverLimit`] where the
    /// organization's plan allows no more.
    pub async fn register_repository(
        &mut self,
        repository: &NewRepository<'_>,
        now: OffsetDateTime,
    ) -> Result<Repository, StoreError> {
        self.require_room_for_a_source().await?;
        sqlx::query(
            "INSERT INTO sync.repositories
                 (id, name, provider, clone_url, default_branch, state, state_at, created_at)
             VALUES ($1, $2, $3, $4, $5, 'registered', $6, $6)",
        )
        .bind(repository.id.uuid())
        .bind(repository.name)
        .bind(repository.provider)
        .bind(repository.clone_url)
        .bind(repository.default_branch)
        .bind(now)
        .execute(self.connection())
        .await?;
        // Whoever registers it goes on with it in this transaction; what holds beyond it is a grant.
        if let Readable::Only(ids) = &mut self.readable {
            ids.insert(repository.id);
        }
        Ok(Repository {
            id: repository.id,
            name: repository.name.to_owned(),
            provider: repository.provider.map(str::to_owned),
            clone_url: repository.clone_url.map(str::to_owned),
            default_branch: repository.default_branch.to_owned(),
            state: RepositoryState::Registered,
            state_reason: None,
            state_at: now,
            settings: SourceSettings::default(),
            egress_consent: None,
        })
    }

    /// By name, if the principal may read it.
    pub async fn repository_by_name(&mut self, name: &str) -> Result<Option<Repository>, StoreError> {
        let readable = self.readable_ids();
        sqlx::query_as(select_repository!("WHERE r.name = $1 AND ($2::uuid[] IS NULL OR r.id = ANY ($2))"))
            .bind(name)
            .bind(readable)
            .fetch_optional(self.connection())
            .await?
            .map(RepositoryColumns::read)
            .transpose()
    }

    /// By id, if the principal may read it.
    pub async fn repository(&mut self, id: RepositoryId) -> Result<Option<Repository>, StoreError> {
        let readable = self.readable_ids();
        sqlx::query_as(select_repository!("WHERE r.id = $1 AND ($2::uuid[] IS NULL OR r.id = ANY ($2))"))
            .bind(id.uuid())
            .bind(readable)
            .fetch_optional(self.connection())
            .await?
            .map(RepositoryColumns::read)
            .transpose()
    }

    /// Those that the principal may read, by name, after `after`, at most `limit`.
    pub async fn visible_repositories(
        &mut self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Repository>, StoreError> {
        let readable = self.readable_ids();
        let rows: Vec<RepositoryColumns> = sqlx::query_as(select_repository!(
            "WHERE r.name > $1 AND ($2::uuid[] IS NULL OR r.id = ANY ($2)) ORDER BY r.name LIMIT $3"
        ))
        .bind(after.unwrap_or(""))
        .bind(readable)
        .bind(i64::from(limit))
        .fetch_all(self.connection())
        .await?;
        rows.into_iter().map(RepositoryColumns::read).collect()
    }

    /// How many the principal may read.
    pub async fn count_visible_repositories(&mut self) -> Result<u64, StoreError> {
        let readable = self.readable_ids();
        let n: i64 =
            sqlx::query_scalar("SELECT count(*) FROM sync.repositories r WHERE $1::uuid[] IS NULL OR r.id = ANY ($1)")
                .bind(readable)
                .fetch_one(self.connection())
                .await?;
        Ok(convert::count(n))
    }

    /// Readable repositories whose default branch's current index holds exactly this path; by name, at most `limit`.
    pub async fn repositories_with_path(&mut self, path: &str, limit: u32) -> Result<Vec<Repository>, StoreError> {
        let readable = self.readable_ids();
        let rows: Vec<RepositoryColumns> = sqlx::query_as(select_repository!(
            "JOIN sync.refs f
               ON f.organization_id = r.organization_id AND f.repository_id = r.id AND f.name = r.default_branch
             JOIN sync.ref_paths p
               ON p.organization_id = f.organization_id AND p.ref_key = f.ref_key AND p.path = $1
              AND p.from_seq <= f.seq AND p.to_seq > f.seq AND p.file_key IS NOT NULL
             WHERE $2::uuid[] IS NULL OR r.id = ANY ($2)
             ORDER BY r.name LIMIT $3"
        ))
        .bind(path)
        .bind(readable)
        .bind(i64::from(limit))
        .fetch_all(self.connection())
        .await?;
        rows.into_iter().map(RepositoryColumns::read).collect()
    }

    /// Says what indexing is doing.
    pub async fn set_repository_state(
        &mut self,
        id: RepositoryId,
        state: RepositoryState,
        reason: Option<&str>,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        let done =
            sqlx::query("UPDATE sync.repositories SET state = $2, state_reason = $3, state_at = $4 WHERE id = $1")
                .bind(id.uuid())
                .bind(state.as_str())
                .bind(reason.map(convert::text))
                .bind(now)
                .execute(self.connection())
                .await?;
        found(id, done.rows_affected())
    }

    /// Says where a repository is from now on, and at whose.
    pub async fn set_source_address(
        &mut self,
        id: RepositoryId,
        provider: Option<&str>,
        clone_url: Option<&str>,
    ) -> Result<(), StoreError> {
        let done = sqlx::query("UPDATE sync.repositories SET provider = $2, clone_url = $3 WHERE id = $1")
            .bind(id.uuid())
            .bind(provider)
            .bind(clone_url)
            .execute(self.connection())
            .await?;
        found(id, done.rows_affected())
    }

    /// Says how a repository is kept up to date.
    pub async fn set_source_settings(&mut self, id: RepositoryId, settings: &SourceSettings) -> Result<(), StoreError> {
        let done = sqlx::query("UPDATE sync.repositories SET tracked_refs = $2, gate = $3 WHERE id = $1")
            .bind(id.uuid())
            .bind(&settings.tracked_refs)
            .bind(settings.gate.as_str())
            .execute(self.connection())
            .await?;
        found(id, done.rows_affected())
    }

    /// Says that somebody, by name, allows to fetch its code, or takes that back.
    pub async fn set_egress_consent(
        &mut self,
        id: RepositoryId,
        by: Option<&str>,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        let done =
            sqlx::query("UPDATE sync.repositories SET egress_consent_at = $2, egress_consent_by = $3 WHERE id = $1")
                .bind(id.uuid())
                .bind(by.map(|_| now))
                .bind(by)
                .execute(self.connection())
                .await?;
        found(id, done.rows_affected())
    }

    /// Which of these are registered.
    pub async fn known_repositories(&mut self, ids: &[RepositoryId]) -> Result<Vec<RepositoryId>, StoreError> {
        let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
        let known: Vec<Uuid> = sqlx::query_scalar("SELECT id FROM sync.repositories WHERE id = ANY ($1)")
            .bind(ids)
            .fetch_all(self.connection())
            .await?;
        Ok(known.into_iter().map(RepositoryId::from_uuid).collect())
    }

    /// The source whose remote has to be looked at soonest, if that is due: locked until the transaction ends, and passed
    /// over by others that look. Say with [`Tx::set_sweep_at`] when it is again.
    pub async fn source_to_sweep(&mut self, now: OffsetDateTime) -> Result<Option<Repository>, StoreError> {
        // As the index has it; `coalesce` is not trusted by row security, which would then look at every source.
        sqlx::query_as(select_repository!(
            "WHERE CASE WHEN r.sweep_at IS NULL THEN '-infinity'::timestamptz ELSE r.sweep_at END <= $1
               AND r.clone_url IS NOT NULL AND r.state <> 'deleting'
             ORDER BY CASE WHEN r.sweep_at IS NULL THEN '-infinity'::timestamptz ELSE r.sweep_at END, r.id
             LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED"
        ))
        .bind(now)
        .fetch_optional(self.connection())
        .await?
        .map(RepositoryColumns::read)
        .transpose()
    }

    /// Says when the remote of a source is looked at next.
    pub async fn set_sweep_at(&mut self, id: RepositoryId, at: OffsetDateTime) -> Result<(), StoreError> {
        let done = sqlx::query("UPDATE sync.repositories SET sweep_at = $2 WHERE id = $1")
            .bind(id.uuid())
            .bind(at)
            .execute(self.connection())
            .await?;
        found(id, done.rows_affected())
    }

    /// A repository whose job was taken back is what it was before.
    pub(crate) async fn leave_indexing(&mut self, id: RepositoryId, now: OffsetDateTime) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE sync.repositories r
             SET state_at = $2, state_reason = NULL,
                 state = CASE WHEN EXISTS (SELECT FROM sync.refs f
                                           WHERE f.organization_id = r.organization_id AND f.repository_id = r.id
                                             AND f.name = r.default_branch AND f.current_index IS NOT NULL)
                              THEN 'indexed' ELSE 'registered' END
             WHERE r.id = $1 AND r.state = 'indexing'",
        )
        .bind(id.uuid())
        .bind(now)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Moves the default branch (a repository whose remote renamed it).
    pub async fn set_default_branch(&mut self, id: RepositoryId, branch: &str) -> Result<(), StoreError> {
        let done = sqlx::query("UPDATE sync.repositories SET default_branch = $2 WHERE id = $1")
            .bind(id.uuid())
            .bind(branch)
            .execute(self.connection())
            .await?;
        found(id, done.rows_affected())
    }
}

fn found(id: RepositoryId, rows: u64) -> Result<(), StoreError> {
    if rows == 0 { Err(StoreError::NotFound(format!("repository {id}"))) } else { Ok(()) }
}

#[derive(FromRow)]
struct RepositoryColumns {
    id: Uuid,
    name: String,
    provider: Option<String>,
    clone_url: Option<String>,
    default_branch: String,
    state: String,
    state_reason: Option<String>,
    state_at: OffsetDateTime,
    tracked_refs: Vec<String>,
    gate: String,
    egress_consent_at: Option<OffsetDateTime>,
    egress_consent_by: Option<String>,
}

impl RepositoryColumns {
    fn read(self) -> Result<Repository, StoreError> {
        Ok(Repository {
            id: RepositoryId::from_uuid(self.id),
            name: self.name,
            provider: self.provider,
            clone_url: self.clone_url,
            default_branch: self.default_branch,
            state: RepositoryState::read(&self.state)?,
            state_reason: self.state_reason,
            state_at: self.state_at,
            settings: SourceSettings {
                tracked_refs: self.tracked_refs,
                gate: Gate::ALL
                    .into_iter()
                    .find(|gate| gate.as_str() == self.gate)
                    .ok_or_else(|| StoreError::unreadable("gate", &self.gate))?,
            },
            egress_consent: self.egress_consent_at.zip(self.egress_consent_by),
        })
    }
}
