//! What a swap leaves behind: the last commits of the ref stay, everything older goes.

use crate::error::StoreError;
use crate::tx::Tx;

/// Indexed commits of a ref that are kept.
const KEPT_COMMITS: i64 = 50;

impl Tx {
    /// Forgets the commits of a ref beyond the last 50, the indexes that none of them needs, and facts that nothing
    /// refers to any more. The repository is locked.
    pub(super) async fn prune(&mut self, ref_key: i64) -> Result<(), StoreError> {
        sqlx::query(
            "DELETE FROM sync.indexed_commits c
             WHERE c.ref_key = $1 AND c.commit_id IN (
                 SELECT o.commit_id FROM sync.indexed_commits o WHERE o.ref_key = $1
                 ORDER BY o.indexed_at DESC, o.commit_id OFFSET $2)",
        )
        .bind(ref_key)
        .bind(KEPT_COMMITS)
        .execute(self.connection())
        .await?;
        let gone: Vec<uuid::Uuid> = sqlx::query_scalar(
            "DELETE FROM sync.indexes i USING sync.refs f
             WHERE i.ref_key = $1 AND f.organization_id = i.organization_id AND f.ref_key = i.ref_key
               AND i.id <> f.current_index
               AND NOT EXISTS (SELECT FROM sync.indexed_commits c
                               WHERE c.organization_id = i.organization_id AND c.ref_key = i.ref_key
                                 AND c.index_id = i.id)
             RETURNING i.id",
        )
        .bind(ref_key)
        .fetch_all(self.connection())
        .await?;
        if gone.is_empty() {
            return Ok(());
        }
        sqlx::query("DELETE FROM sync.clients WHERE index_id = ANY ($1)")
            .bind(&gone)
            .execute(self.connection())
            .await?;
        self.prune_paths(ref_key).await
    }

    /// Rows of paths that no kept index sees, then the facts behind them unless another row has them.
    async fn prune_paths(&mut self, ref_key: i64) -> Result<(), StoreError> {
        let unseen: Vec<Option<i64>> = sqlx::query_scalar(
            "DELETE FROM sync.ref_paths p
             WHERE p.ref_key = $1 AND p.to_seq < 9223372036854775807
               AND NOT EXISTS (SELECT FROM sync.indexes i
                               WHERE i.organization_id = p.organization_id AND i.ref_key = p.ref_key
                                 AND i.seq >= p.from_seq AND i.seq < p.to_seq)
             RETURNING p.file_key",
        )
        .bind(ref_key)
        .fetch_all(self.connection())
        .await?;
        self.prune_facts(&unseen.into_iter().flatten().collect::<Vec<_>>()).await
    }

    /// Facts of these keys that no path refers to any more, with what is searched of them.
    pub(crate) async fn prune_facts(&mut self, unseen: &[i64]) -> Result<(), StoreError> {
        if unseen.is_empty() {
            return Ok(());
        }
        let gone: Vec<i64> = sqlx::query_scalar(
            "DELETE FROM sync.facts f
             WHERE f.file_key = ANY ($1)
               AND NOT EXISTS (SELECT FROM sync.ref_paths p
                               WHERE p.organization_id = f.organization_id AND p.file_key = f.file_key)
             RETURNING f.file_key",
        )
        .bind(unseen)
        .fetch_all(self.connection())
        .await?;
        for forget in [
            "DELETE FROM sync.call_sites WHERE file_key = ANY ($1)",
            "DELETE FROM sync.call_counts WHERE file_key = ANY ($1)",
        ] {
            sqlx::query(forget).bind(&gone).execute(self.connection()).await?;
        }
        Ok(())
    }
}
