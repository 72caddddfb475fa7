//! Which index answers: the current one of a ref, or that of a commit that is still kept.

use sync_core::graph::{Client, PartialReason};
use sync_core::ids::{IndexId, RepositoryId};
use time::OffsetDateTime;

use sqlx::FromRow;
use uuid::Uuid;

use crate::convert::count;
use crate::error::StoreError;
use crate::tx::Tx;

/// Totals of an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexCounts {
    /// Files with facts.
    pub files: u64,
    /// Paths skipped, a folder once.
    pub skipped: u64,
    /// Symbols.
    pub symbols: u64,
    /// Resolved calls between symbols.
    pub edges: u64,
    /// Calls whose target is not known.
    pub unresolved: u64,
    /// Calls that reach, or may reach, a vendor.
    pub call_sites: u64,
}

/// The graph of one repository at one commit of one ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Changes with the content, not with a commit that changed nothing.
    pub id: IndexId,
    /// Whose.
    pub repository: RepositoryId,
    /// Of which ref.
    pub ref_name: String,
    /// The commit; absent for a plain folder.
    pub commit: Option<String>,
    /// When that commit was last stored or confirmed.
    pub indexed_at: OffsetDateTime,
    /// A newer head of the ref, when one is known.
    pub head_commit: Option<String>,
    /// Whether it is the ref's current index; findings and joined feeds are kept for that one only.
    pub current: bool,
    /// Version of the analyzer.
    pub analyzer: String,
    /// Version of the catalog.
    pub catalog: String,
    /// What the gate was set to and said.
    pub gate: String,
    /// Whether something that should have been read was not.
    pub partial: bool,
    /// Why, counted.
    pub partial_reasons: Vec<PartialReason>,
    /// Totals.
    pub counts: IndexCounts,
    pub(crate) ref_key: i64,
    pub(crate) seq: i64,
}

/// Columns of [`IndexColumns`] but the reasons and the commit's, which come first, and what comes after FROM.
macro_rules! select_index {
    ($reasons:literal, $commit:literal, $($rest:literal),+) => {
        concat!(
            "SELECT ",
            $reasons,
            "::text AS partial_reasons, ",
            $commit,
            ", i.id, i.repository_id, f.name AS ref_name, f.head_commit, f.current_index = i.id AS current,
               i.analyzer, i.catalog, i.gate, i.partial, i.files,
               i.skipped, i.symbols, i.edges, i.unresolved, i.call_sites, i.ref_key, i.seq
             FROM sync.refs f ",
            $($rest),+
        )
    };
}

/// The current index of each ref `f`.
macro_rules! select_current_index {
    ($reasons:literal, $rest:literal) => {
        select_index!(
            $reasons,
            "f.commit_id, f.indexed_at",
            "JOIN sync.indexes i ON i.organization_id = f.organization_id AND i.id = f.current_index WHERE f.repository_id = $1 "
        , $rest)
    };
}

impl Tx {
    /// The current index of a ref.
    pub async fn current_index(
        &mut self,
        repository: RepositoryId,
        ref_name: &str,
    ) -> Result<Option<Index>, StoreError> {
        self.one_index(select_current_index!("i.partial_reasons", "AND f.name = $2"), repository, ref_name).await
    }

    /// The same as an answer says it: its reasons for being partial are without their files and limits, which are long
    /// and of which an answer shows nothing.
    pub async fn answering_index(
        &mut self,
        repository: RepositoryId,
        ref_name: &str,
    ) -> Result<Option<Index>, StoreError> {
        let statement = select_current_index!("coalesce(i.reason_counts, i.partial_reasons)", "AND f.name = $2");
        self.one_index(statement, repository, ref_name).await
    }

    async fn one_index(
        &mut self,
        statement: &'static str,
        repository: RepositoryId,
        name: &str,
    ) -> Result<Option<Index>, StoreError> {
        sqlx::query_as(statement)
            .bind(repository.uuid())
            .bind(name)
            .fetch_optional(self.connection())
            .await?
            .map(IndexColumns::read)
            .transpose()
    }

    /// The index of a commit, of whichever ref has it, if it is among the last 50 of that ref. `commit` is complete.
    pub async fn index_by_commit(
        &mut self,
        repository: RepositoryId,
        commit: &str,
    ) -> Result<Option<Index>, StoreError> {
        sqlx::query_as(select_index!(
            "i.partial_reasons",
            "c.commit_id, c.indexed_at",
            "JOIN sync.indexed_commits c ON c.organization_id = f.organization_id AND c.ref_key = f.ref_key
             JOIN sync.indexes i ON i.organization_id = c.organization_id AND i.id = c.index_id
             WHERE f.repository_id = $1 AND c.commit_id = $2
             ORDER BY f.current_index = i.id DESC, c.indexed_at DESC, f.name LIMIT 1"
        ))
        .bind(repository.uuid())
        .bind(commit)
        .fetch_optional(self.connection())
        .await?
        .map(IndexColumns::read)
        .transpose()
    }

    /// The current index of every ref of a repository, by ref name.
    pub async fn current_indexes(&mut self, repository: RepositoryId) -> Result<Vec<Index>, StoreError> {
        let rows: Vec<IndexColumns> = sqlx::query_as(select_current_index!("i.partial_reasons", "ORDER BY f.name"))
            .bind(repository.uuid())
            .fetch_all(self.connection())
            .await?;
        rows.into_iter().map(IndexColumns::read).collect()
    }

    /// Notes the head that a ref is known to have, indexed or not; forgotten once that commit is indexed.
    pub async fn set_head_commit(
        &mut self,
        repository: RepositoryId,
        ref_name: &str,
        commit: &str,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO sync.refs AS f (repository_id, name, head_commit) VALUES ($1, $2, $3)
             ON CONFLICT (organization_id, repository_id, name)
             DO UPDATE SET head_commit = nullif(excluded.head_commit, f.commit_id)",
        )
        .bind(repository.uuid())
        .bind(ref_name)
        .bind(commit)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// The vendor clients of an index, by id.
    pub async fn clients(&mut self, index: &Index) -> Result<Vec<Client>, StoreError> {
        let rows: Vec<String> =
            sqlx::query_scalar("SELECT body::text FROM sync.clients WHERE index_id = $1 ORDER BY client_id")
                .bind(index.id.uuid())
                .fetch_all(self.connection())
                .await?;
        rows.iter().map(|body| read_client(body)).collect()
    }

    /// One client of an index.
    pub async fn client(&mut self, index: &Index, id: &str) -> Result<Option<Client>, StoreError> {
        let row: Option<String> =
            sqlx::query_scalar("SELECT body::text FROM sync.clients WHERE index_id = $1 AND client_id = $2")
                .bind(index.id.uuid())
                .bind(id)
                .fetch_optional(self.connection())
                .await?;
        row.as_deref().map(read_client).transpose()
    }
}

fn read_client(body: &str) -> Result<Client, StoreError> {
    serde_json::from_str(body).map_err(|error| StoreError::unreadable("client", error))
}

#[derive(FromRow)]
struct IndexColumns {
    commit_id: Option<String>,
    indexed_at: OffsetDateTime,
    id: Uuid,
    repository_id: Uuid,
    ref_name: String,
    head_commit: Option<String>,
    current: bool,
    analyzer: String,
    catalog: String,
    gate: String,
    partial: bool,
    partial_reasons: String,
    files: i64,
    skipped: i64,
    symbols: i64,
    edges: i64,
    unresolved: i64,
    call_sites: i64,
    ref_key: i64,
    seq: i64,
}

impl IndexColumns {
    fn read(self) -> Result<Index, StoreError> {
        Ok(Index {
            id: IndexId::from_uuid(self.id),
            repository: RepositoryId::from_uuid(self.repository_id),
            ref_name: self.ref_name,
            commit: self.commit_id,
            indexed_at: self.indexed_at,
            head_commit: self.head_commit,
            current: self.current,
            analyzer: self.analyzer,
            catalog: self.catalog,
            gate: self.gate,
            partial: self.partial,
            partial_reasons: serde_json::from_str(&self.partial_reasons)
                .map_err(|error| StoreError::unreadable("partial reasons", error))?,
            counts: IndexCounts {
                files: count(self.files),
                skipped: count(self.skipped),
                symbols: count(self.symbols),
                edges: count(self.edges),
                unresolved: count(self.unresolved),
                call_sites: count(self.call_sites),
            },
            ref_key: self.ref_key,
            seq: self.seq,
        })
    }
}
