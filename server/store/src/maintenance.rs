//! The door of the worker's maintenance: seals, outcomes of calls that never ended, partitions, retention. A role of its
//! own (`sync_maintainer`), which may do that and nothing else.

use sqlx::postgres::PgPool;
use sqlx::{AssertSqlSafe, PgConnection, Postgres, Transaction};
use sync_core::ids::OrganizationId;
use sync_core::seal::{Row, SignedHead, SignedPruning};
use time::{Date, OffsetDateTime};
use uuid::Uuid;

use crate::convert::{count, stored_count};
use crate::error::StoreError;
use crate::pool::{self, PoolOptions};
use crate::seals;

/// The database, through the maintenance role. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Maintenance {
    pool: PgPool,
    statement_timeout_ms: u128,
}

/// Where heads go when they leave the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HeadDestination {
    /// A file that is only appended to.
    File,
    /// An address that takes them.
    Webhook,
}

impl HeadDestination {
    /// The word used in rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Webhook => "webhook",
        }
    }
}

/// How long a change of partitions waits for those who read or write the log. They wait behind it, so it is short; the
/// next round tries again.
const LOCK_TIMEOUT_MS: u32 = 500;

impl Maintenance {
    /// Connects and checks, as [`crate::Store::connect`] does.
    pub async fn connect(url: &str, options: PoolOptions) -> Result<Self, StoreError> {
        let statement_timeout_ms = options.write_statement_timeout.as_millis();
        let pool = pool::connect(url, &options, "SYNC_MAINTENANCE_DATABASE_URL", "sync_maintainer").await?;
        Ok(Self { pool, statement_timeout_ms })
    }

    /// Every organization, by id: also those that are not served any more have a log.
    pub async fn organizations(&self) -> Result<Vec<OrganizationId>, StoreError> {
        let ids: Vec<Uuid> =
            sqlx::query_scalar("SELECT id FROM routing.organizations ORDER BY id").fetch_all(&self.pool).await?;
        Ok(ids.into_iter().map(OrganizationId::from_uuid).collect())
    }

    /// A transaction on the log of one organization: one snapshot for all statements.
    pub async fn begin(&self, organization: OrganizationId) -> Result<MaintenanceTx, StoreError> {
        let inner = self
            .pool
            .begin_with(AssertSqlSafe(format!(
                "BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL sync.organization = '{}'; \
                 SET LOCAL statement_timeout = {}",
                organization.uuid(),
                self.statement_timeout_ms
            )))
            .await?;
        Ok(MaintenanceTx { inner, organization })
    }

    /// Makes the partitions of `months` months from that of `first` on; gives the number made.
    pub async fn ensure_partitions(&self, first: Date, months: u32) -> Result<u64, StoreError> {
        let mut tx = self.change_partitions().await?;
        let made: i32 = sqlx::query_scalar("SELECT sync.ensure_audit_partitions($1, $2)")
            .bind(first)
            .bind(i32::try_from(months).unwrap_or(i32::MAX))
            .fetch_one(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(count(made.into()))
    }

    /// Drops the partitions of months that ended before a day and are empty; gives the number dropped.
    pub async fn drop_partitions(&self, before: Date) -> Result<u64, StoreError> {
        let mut tx = self.change_partitions().await?;
        let dropped: i32 =
            sqlx::query_scalar("SELECT sync.drop_audit_partitions($1)").bind(before).fetch_one(&mut *tx).await?;
        tx.commit().await?;
        Ok(count(dropped.into()))
    }

    /// Closes every connection.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    async fn change_partitions(&self) -> Result<Transaction<'static, Postgres>, StoreError> {
        let begin = format!("BEGIN; SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}");
        Ok(self.pool.begin_with(AssertSqlSafe(begin)).await?)
    }
}

/// A transaction of the maintenance of one organization's log.
pub struct MaintenanceTx {
    inner: Transaction<'static, Postgres>,
    organization: OrganizationId,
}

impl MaintenanceTx {
    /// Makes everything done here durable.
    pub async fn commit(self) -> Result<(), StoreError> {
        Ok(self.inner.commit().await?)
    }

    /// The organization whose log it is.
    pub fn organization(&self) -> OrganizationId {
        self.organization
    }

    fn connection(&mut self) -> &mut PgConnection {
        &mut self.inner
    }

    /// Whether this transaction is now the one that seals this organization; another one is where it is not.
    pub async fn lock_seals(&mut self) -> Result<bool, StoreError> {
        let name = format!("sync audit seals {}", self.organization.uuid());
        Ok(sqlx::query_scalar("SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))")
            .bind(name)
            .fetch_one(self.connection())
            .await?)
    }

    /// The first transaction id that this snapshot does not know the end of: rows of those below it are final.
    pub async fn horizon(&mut self) -> Result<u64, StoreError> {
        let text: String = sqlx::query_scalar("SELECT pg_snapshot_xmin(pg_current_snapshot())::text")
            .fetch_one(self.connection())
            .await?;
        seals::xid(&text)
    }

    /// The last seal.
    pub async fn last_seal(&mut self) -> Result<Option<SignedHead>, StoreError> {
        seals::last_seal(self.connection()).await
    }

    /// Rows of transactions from one until before another, whole transactions only and in the order of [`Row::key`], and
    /// the first transaction id that is not among them. About `limit` rows, unless one transaction wrote more.
    pub async fn rows_to_seal(
        &mut self,
        from_xid: u64,
        to_xid: u64,
        limit: u32,
    ) -> Result<(Vec<Row>, u64), StoreError> {
        let mut rows = seals::rows(self.connection(), from_xid, Some(to_xid), Some(limit + 1)).await?;
        if rows.len() <= limit as usize {
            return Ok((rows, to_xid));
        }
        // The transaction of the row behind the last one wanted is left for the next seal, with all that is behind it.
        let cut = rows[limit as usize].xid;
        if cut > from_xid && rows.first().is_some_and(|first| first.xid < cut) {
            rows.retain(|row| row.xid < cut);
            return Ok((rows, cut));
        }
        let rows = seals::rows(self.connection(), from_xid, Some(cut + 1), None).await?;
        Ok((rows, cut + 1))
    }

    /// Writes a seal and its records; [`StoreError::Conflict`] where another worker wrote that number.
    pub async fn insert_seal(&mut self, seal: &SignedHead, records: &[u8]) -> Result<(), StoreError> {
        let head = &seal.head;
        sqlx::query(
            "INSERT INTO sync.audit_seals (number, from_xid, to_xid, rows, root, previous, sealed_at, key_id, signature)
             VALUES ($1, ($2::text)::xid8, ($3::text)::xid8, $4, $5, $6, $7, $8, $9)",
        )
        .bind(stored_count(head.number))
        .bind(head.from_xid.to_string())
        .bind(head.to_xid.to_string())
        .bind(stored_count(head.rows))
        .bind(&head.root.0[..])
        .bind(&head.previous.0[..])
        .bind(head.time)
        .bind(&head.key_id)
        .bind(&seal.signature.0[..])
        .execute(self.connection())
        .await?;
        sqlx::query("INSERT INTO sync.audit_seal_records (number, records) VALUES ($1, $2)")
            .bind(stored_count(head.number))
            .bind(records)
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Writes the outcome `timeout` of events that began before an instant and have none; gives how many, at most 1000.
    pub async fn close_open_events(&mut self, before: OffsetDateTime, now: OffsetDateTime) -> Result<u64, StoreError> {
        let closed = sqlx::query(
            "INSERT INTO sync.audit_outcomes (event_id, time, outcome, code, duration_us)
             SELECT e.event_id, e.time, 'timeout', 'timeout', (extract(epoch FROM $2 - e.time) * 1000000)::bigint
             FROM sync.audit_events e
             WHERE e.outcome IS NULL AND e.time < $1
               AND NOT EXISTS (SELECT FROM sync.audit_outcomes o
                               WHERE o.organization_id = e.organization_id AND o.time = e.time
                                 AND o.event_id = e.event_id)
             ORDER BY e.time LIMIT 1000
             ON CONFLICT DO NOTHING",
        )
        .bind(before)
        .bind(now)
        .execute(self.connection())
        .await?;
        Ok(closed.rows_affected())
    }

    /// The last seal of the oldest that were made before an instant and hold rows still, of about `limit` rows in all.
    pub async fn seal_to_prune(&mut self, before: OffsetDateTime, limit: u64) -> Result<Option<u64>, StoreError> {
        let pruned = seals::last_pruning(self.connection()).await?.map_or(0, |last| last.pruning.through);
        let through: Option<i64> = sqlx::query_scalar(
            "SELECT max(number) FROM
                 (SELECT number, sealed_at, sum(rows) OVER (ORDER BY number) - rows AS before_it
                  FROM (SELECT number, sealed_at, rows FROM sync.audit_seals
                        WHERE number > $1 ORDER BY number LIMIT 10000) oldest) running
             WHERE before_it < $3
               AND number < coalesce((SELECT min(number) FROM sync.audit_seals
                                      WHERE number > $1 AND sealed_at >= $2), 9223372036854775807)",
        )
        .bind(stored_count(pruned))
        .bind(before)
        .bind(stored_count(limit))
        .fetch_one(self.connection())
        .await?;
        Ok(through.map(count))
    }

    /// Writes the statement that rows are removed and removes them; gives how many.
    pub async fn prune(&mut self, signed: &SignedPruning) -> Result<u64, StoreError> {
        let pruning = &signed.pruning;
        sqlx::query("INSERT INTO sync.audit_prunings (through, pruned_at, key_id, signature) VALUES ($1, $2, $3, $4)")
            .bind(stored_count(pruning.through))
            .bind(pruning.time)
            .bind(&pruning.key_id)
            .bind(&signed.signature.0[..])
            .execute(self.connection())
            .await?;
        let gone: i64 = sqlx::query_scalar("SELECT sync.prune_audit($1)")
            .bind(stored_count(pruning.through))
            .fetch_one(self.connection())
            .await?;
        Ok(count(gone))
    }

    /// The oldest heads that have not left for a destination, at most `limit`.
    pub async fn heads_to_deliver(
        &mut self,
        destination: HeadDestination,
        limit: u32,
    ) -> Result<Vec<SignedHead>, StoreError> {
        let through: Option<i64> =
            sqlx::query_scalar("SELECT through FROM sync.audit_head_deliveries WHERE destination = $1")
                .bind(destination.as_str())
                .fetch_optional(self.connection())
                .await?;
        seals::seals_after(self.connection(), through.map_or(0, count), limit).await
    }

    /// Notes that heads up to a number have left for a destination.
    pub async fn delivered(
        &mut self,
        destination: HeadDestination,
        through: u64,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO sync.audit_head_deliveries AS d (destination, through, delivered_at) VALUES ($1, $2, $3)
             ON CONFLICT (organization_id, destination) DO UPDATE
                 SET through = excluded.through, delivered_at = excluded.delivered_at
                 WHERE d.through < excluded.through",
        )
        .bind(destination.as_str())
        .bind(stored_count(through))
        .bind(now)
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
