//! A database of its own for a test that writes, and what must be true of it when the test is over.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::Result;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use sync_core::ids::OrganizationId;
use sync_store::{PoolOptions, Store};

use crate::cluster::{block_on, cluster, on_another_thread};

/// A migrated, empty database.
pub struct TestDatabase {
    /// Through the unprivileged application role, at most 4 connections.
    pub store: Store,
    /// Address for the application role.
    pub app_url: String,
    /// Address for the owner, who is no superuser: row security holds for it too.
    pub owner_url: String,
    /// Address for the worker's maintenance role.
    pub maintenance_url: String,
    /// Address for the superuser, who sees through row security.
    pub superuser_url: String,
    name: String,
    finished: bool,
}

static MADE: AtomicU32 = AtomicU32::new(0);

/// How long a connection that was given back may take to end its transaction.
const SETTLING: Duration = Duration::from_secs(3);

/// Runs a test on a database of its own, on a runtime of its own, and checks afterwards that nothing is left open.
pub fn with_database(test: impl AsyncFnOnce(&TestDatabase)) {
    block_on(async {
        let database = TestDatabase::create().await;
        test(&database).await;
        database.finish().await;
    });
}

impl TestDatabase {
    /// A fresh one. A test that does not use [`with_database`] ends with [`TestDatabase::finish`].
    pub async fn create() -> Self {
        let cluster = cluster();
        let name = format!("sync_test_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        must(cluster.create_database(&name).await);
        let app_url = cluster.url_for("sync_app", &name);
        let store = must(Store::connect(&app_url, Self::pool()).await.map_err(Into::into));
        Self {
            store,
            app_url,
            owner_url: cluster.url_for("sync_owner", &name),
            maintenance_url: cluster.url_for("sync_maintainer", &name),
            superuser_url: cluster.superuser_url(&name),
            name,
            finished: false,
        }
    }

    /// Bounds of a test's pool: many tests share one server.
    pub fn pool() -> PoolOptions {
        PoolOptions {
            max_connections: 4,
            acquire_timeout: Duration::from_secs(10),
            statement_timeout: Duration::from_secs(30),
            ..PoolOptions::default()
        }
    }

    /// A connection of the owner that sees the organization's rows, to plant what the service would refuse to write.
    pub async fn owner_in(&self, organization: OrganizationId) -> PgConnection {
        let mut connection = must(PgConnection::connect(&self.owner_url).await.map_err(Into::into));
        let set = format!("SET sync.organization = '{}'", organization.uuid());
        must(connection.execute(AssertSqlSafe(set)).await.map_err(Into::into));
        connection
    }

    /// A connection of the superuser, who sees every organization's rows.
    pub async fn superuser(&self) -> PgConnection {
        must(PgConnection::connect(&self.superuser_url).await.map_err(Into::into))
    }

    /// Asserts what must be true after every test, and drops the database.
    ///
    /// # Panics
    /// Where the test left a transaction or an audit event open.
    pub async fn finish(mut self) {
        self.finished = true;
        let left = must(self.what_is_left().await);
        self.store.close().await;
        must(cluster().drop_database(&self.name).await);
        assert!(left.is_empty(), "the test left behind: {}", left.join("; "));
    }

    /// The last statements of transactions that stay open though nothing is asked of them. A dropped transaction is
    /// rolled back by a task of the pool that may not have run yet, so this waits for a while.
    pub async fn open_transactions(&self) -> Result<Vec<String>> {
        let mut connection = PgConnection::connect(&self.superuser_url).await?;
        let mut waited = Duration::ZERO;
        let idle = loop {
            let idle: Vec<String> = sqlx::query_scalar(
                "SELECT query FROM pg_stat_activity
                 WHERE datname = current_database() AND state LIKE 'idle in transaction%'",
            )
            .fetch_all(&mut connection)
            .await?;
            if idle.is_empty() || waited >= SETTLING {
                break idle;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            waited += Duration::from_millis(10);
        };
        connection.close().await?;
        Ok(idle)
    }

    async fn what_is_left(&self) -> Result<Vec<String>> {
        let mut left = Vec::new();
        let idle = self.open_transactions().await?;
        left.extend(idle.into_iter().map(|query| format!("an open transaction, idle after `{query}`")));
        let mut connection = PgConnection::connect(&self.superuser_url).await?;
        let open: Vec<String> = sqlx::query_scalar(
            "SELECT e.action FROM sync.audit_events e
             WHERE e.outcome IS NULL
               AND NOT EXISTS (SELECT FROM sync.audit_outcomes o
                               WHERE o.organization_id = e.organization_id AND o.event_id = e.event_id)",
        )
        .fetch_all(&mut connection)
        .await?;
        left.extend(open.into_iter().map(|action| format!("an audit event of `{action}` without an outcome")));
        connection.close().await?;
        Ok(left)
    }
}

impl Drop for TestDatabase {
    /// After a failure only: nothing is asserted on top of it.
    fn drop(&mut self) {
        if !self.finished {
            let name = self.name.clone();
            // The server ends with the process; a database that cannot be dropped now goes with it.
            let _ = on_another_thread(|| block_on(cluster().drop_database(&name)));
        }
    }
}

fn must<T>(result: Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("the harness failed: {error:#}"))
}
