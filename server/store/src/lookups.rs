//! Small lookups that answers need beside pages: several changes at once, those of an operation, paths that call.

use sync_core::change::VendorChange;
use sync_core::ids::ChangeId;

use crate::convert::count;
use crate::error::StoreError;
use crate::feed::read_change;
use crate::indexes::Index;
use crate::tx::Tx;

impl Tx {
    /// Those of the changes that are in a feed, by id.
    pub async fn changes_by_id(&mut self, ids: &[ChangeId]) -> Result<Vec<VendorChange>, StoreError> {
        let ids: Vec<&str> = ids.iter().map(ChangeId::as_str).collect();
        let rows: Vec<String> =
            sqlx::query_scalar("SELECT body::text FROM feed.changes WHERE change_id = ANY ($1) ORDER BY change_id")
                .bind(ids)
                .fetch_all(self.connection())
                .await?;
        rows.iter().map(|body| read_change(body)).collect()
    }

    /// The changes of a vendor's operation (in its erased form), newest first, at most `limit`, and how many there are.
    pub async fn changes_of_operation(
        &mut self,
        vendor: &str,
        operation_erased: &str,
        limit: u32,
    ) -> Result<(Vec<VendorChange>, u64), StoreError> {
        let rows: Vec<(String, i64)> = sqlx::query_as(
            "SELECT body::text, count(*) OVER () FROM feed.changes
             WHERE vendor = $1 AND operation_erased = $2 ORDER BY position LIMIT $3",
        )
        .bind(vendor)
        .bind(operation_erased)
        .bind(i64::from(limit))
        .fetch_all(self.connection())
        .await?;
        let total = rows.first().map_or(0, |(_, total)| count(*total));
        Ok((rows.iter().map(|(body, _)| read_change(body)).collect::<Result<_, _>>()?, total))
    }

    /// The operations (in their erased form) that the changes of these groups are about, each once a group.
    pub async fn operations_of_groups(
        &mut self,
        vendor: &str,
        groups: &[String],
    ) -> Result<Vec<(String, String)>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT DISTINCT group_id, operation_erased FROM feed.changes
             WHERE vendor = $1 AND group_id = ANY ($2) AND operation_erased IS NOT NULL
             ORDER BY group_id, operation_erased",
        )
        .bind(vendor)
        .bind(groups)
        .fetch_all(self.connection())
        .await?)
    }

    /// Paths of files with call sites that begin with a text, sorted, at most `limit`.
    pub async fn calling_paths(&mut self, index: &Index, prefix: &str, limit: u32) -> Result<Vec<String>, StoreError> {
        Ok(sqlx::query_scalar(
            "SELECT p.path FROM sync.ref_paths p
             WHERE p.ref_key = $1 AND p.from_seq <= $2 AND p.to_seq > $2 AND p.call_sites > 0
                   AND p.path >= $3 AND starts_with(p.path, $3)
             ORDER BY p.path LIMIT $4",
        )
        .bind(index.ref_key)
        .bind(index.seq)
        .bind(prefix)
        .bind(i64::from(limit))
        .fetch_all(self.connection())
        .await?)
    }
}
