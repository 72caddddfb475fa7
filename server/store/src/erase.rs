//! A source goes, with every row that was made of it. What the audit log says of it stays.

use sync_core::ids::{JobId, RepositoryId};

use crate::error::StoreError;
use crate::tx::Tx;

/// In the order in which rows refer to each other; `$1` is the repository.
const ROWS: [&str; 17] = [
    "DELETE FROM sync.webhook_deliveries d USING sync.webhook_endpoints e
     WHERE e.organization_id = d.organization_id AND e.id = d.endpoint_id AND e.repository_id = $1",
    // An endpoint's secrets have its id in their names, with what else its own code puts there.
    "DELETE FROM sync.secrets s USING sync.webhook_endpoints e
     WHERE e.organization_id = s.organization_id AND e.repository_id = $1 AND s.purpose = 'webhook_secret'
       AND position(replace(e.id::text, '-', '') IN replace(s.name, '-', '')) > 0",
    "DELETE FROM sync.secrets
     WHERE purpose = 'repository_credential' AND name = 'src_' || replace(($1::uuid)::text, '-', '')",
    "DELETE FROM sync.webhook_endpoints WHERE repository_id = $1",
    "DELETE FROM sync.findings x USING sync.refs f
     WHERE f.organization_id = x.organization_id AND f.ref_key = x.ref_key AND f.repository_id = $1",
    "DELETE FROM sync.joined_feeds x USING sync.refs f
     WHERE f.organization_id = x.organization_id AND f.ref_key = x.ref_key AND f.repository_id = $1",
    "DELETE FROM sync.clients x USING sync.indexes i
     WHERE i.organization_id = x.organization_id AND i.id = x.index_id AND i.repository_id = $1",
    "DELETE FROM sync.indexed_commits x USING sync.refs f
     WHERE f.organization_id = x.organization_id AND f.ref_key = x.ref_key AND f.repository_id = $1",
    "DELETE FROM sync.ref_paths x USING sync.refs f
     WHERE f.organization_id = x.organization_id AND f.ref_key = x.ref_key AND f.repository_id = $1",
    "DELETE FROM sync.indexes WHERE repository_id = $1",
    "DELETE FROM sync.refs WHERE repository_id = $1",
    "DELETE FROM sync.call_sites x USING sync.facts f
     WHERE f.organization_id = x.organization_id AND f.file_key = x.file_key AND f.repository_id = $1",
    "DELETE FROM sync.call_counts x USING sync.facts f
     WHERE f.organization_id = x.organization_id AND f.file_key = x.file_key AND f.repository_id = $1",
    "DELETE FROM sync.facts WHERE repository_id = $1",
    "DELETE FROM sync.grants WHERE repository_id = $1",
    "DELETE FROM routing.job_tickets t
     WHERE t.id <> $2 AND EXISTS (SELECT FROM sync.jobs j WHERE j.id = t.id AND j.repository_id = $1)",
    "DELETE FROM sync.jobs WHERE repository_id = $1 AND id <> $2",
];

impl Tx {
    /// Removes a source and all that is stored of it but the job that does so, in the caller's transaction; gives the
    /// number of rows. [`StoreError::NotFound`] where there is none. Needs [`crate::Store::begin_write`].
    pub async fn erase_source(&mut self, repository: RepositoryId, job: Option<JobId>) -> Result<u64, StoreError> {
        self.lock_repository(repository).await?;
        let job = job.map_or_else(uuid::Uuid::nil, JobId::uuid);
        let mut rows = 0;
        for delete in ROWS {
            let query = sqlx::query(delete).bind(repository.uuid());
            let query = if delete.contains("$2") { query.bind(job) } else { query };
            rows += query.execute(self.connection()).await?.rows_affected();
        }
        let gone = sqlx::query("DELETE FROM sync.repositories WHERE id = $1")
            .bind(repository.uuid())
            .execute(self.connection())
            .await?;
        Ok(rows + gone.rows_affected())
    }
}
