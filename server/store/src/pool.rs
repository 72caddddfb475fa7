//! The pool, which never leaves this crate, and the doors that open transactions.

use std::str::FromStr as _;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection as _, Executor as _, PgPool};
use sync_core::ids::OrganizationId;
use sync_core::principal::Principal;

use crate::connections::{Connections, Held};
use crate::error::StoreError;
use crate::migrate::MIGRATOR;
use crate::tx::{AuthTx, SystemTx, Tx};

/// Bounds of the pool.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// Most connections held.
    pub max_connections: u32,
    /// How long a call waits for a connection before it is [`StoreError::Unavailable`]; under the 2 s budget.
    pub acquire_timeout: Duration,
    /// Longest statement of [`Store::begin`], [`Store::authenticate`] and [`Store::system`].
    pub statement_timeout: Duration,
    /// Longest statement of [`Store::begin_write`].
    pub write_statement_timeout: Duration,
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self {
            max_connections: 16,
            acquire_timeout: Duration::from_millis(1500),
            statement_timeout: Duration::from_millis(1500),
            write_statement_timeout: Duration::from_mins(2),
        }
    }
}

/// A connection that nobody used for so long is asked whether it lives before it is given out: the database may have
/// been started anew meanwhile. One that was just used is not, which is a round trip less for each answer of a service
/// that has work; where it died all the same, its transaction is begun again on another.
const ASK_AFTER: Duration = Duration::from_millis(500);

/// A connection that sits in an open transaction longer than this is ended by the server: whoever held it is gone.
const IDLE_IN_TRANSACTION: Duration = Duration::from_mins(5);

/// The database, through the unprivileged application role. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    connections: Connections,
    write_statement_timeout: Duration,
}

impl Store {
    /// Connects and checks that the role of `url` is neither superuser nor able to bypass row security, and that the
    /// schema is the one this build was made for.
    pub async fn connect(url: &str, options: PoolOptions) -> Result<Self, StoreError> {
        // One more for who listens to jobs being queued, which takes a connection out for good.
        let with_listener =
            PoolOptions { max_connections: options.max_connections.saturating_add(1), ..options.clone() };
        let pool = connect(url, &with_listener, "SYNC_DATABASE_URL", "sync_app").await?;
        let connections = Connections::new(pool, options.max_connections, options.acquire_timeout);
        Ok(Self { connections, write_statement_timeout: options.write_statement_timeout })
    }

    /// A reader's transaction: one snapshot for all its statements (REPEATABLE READ), rows of the principal's
    /// organization only. May write what concerns no index (an audit row, a token).
    pub async fn begin(&self, principal: &Principal) -> Result<Tx, StoreError> {
        let organization = principal.organization.uuid();
        let inner = self
            .open(format!("BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL sync.organization = '{organization}'"))
            .await?;
        Ok(Tx { inner, organization: principal.organization, readable: principal.readable.clone(), writer: false })
    }

    /// A transaction that changes a few rows within a request: READ COMMITTED, so that it sees what was committed while
    /// it waited for a row, with the time limit of a reader.
    pub async fn begin_change(&self, principal: &Principal) -> Result<Tx, StoreError> {
        let organization = principal.organization.uuid();
        let inner = self
            .open(format!("BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL sync.organization = '{organization}'"))
            .await?;
        Ok(Tx { inner, organization: principal.organization, readable: principal.readable.clone(), writer: false })
    }

    /// A writer's transaction for swaps and joins: READ COMMITTED, so that it sees what was committed while it waited
    /// for a repository's lock, and long statements allowed.
    pub async fn begin_write(&self, principal: &Principal) -> Result<Tx, StoreError> {
        let inner = self
            .open(format!(
                "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL sync.organization = '{}'; \
                 SET LOCAL statement_timeout = {}",
                principal.organization.uuid(),
                self.write_statement_timeout.as_millis()
            ))
            .await?;
        Ok(Tx { inner, organization: principal.organization, readable: principal.readable.clone(), writer: true })
    }

    /// Before a principal is known: reaches tokens and members of that organization, and may record a refusal.
    pub async fn authenticate(&self, organization: OrganizationId) -> Result<AuthTx, StoreError> {
        let inner = self.open(format!("BEGIN; SET LOCAL sync.organization = '{}'", organization.uuid())).await?;
        Ok(AuthTx { inner, organization })
    }

    /// Work of no organization: schemas `routing` and `feed` only. The task names the work in the server's activity.
    pub async fn system(&self, task: &'static str) -> Result<SystemTx, StoreError> {
        let task = task.replace('\'', "''");
        let inner = self.open(format!("BEGIN; SET LOCAL application_name = 'syncd:{task}'")).await?;
        Ok(SystemTx { inner })
    }

    pub(crate) fn pool(&self) -> &PgPool {
        self.connections.pool()
    }

    /// Begins a transaction, with all that belongs to its beginning in one round trip. Nothing is done yet where that
    /// fails, so that a connection which turns out to be dead gives way to the next.
    async fn open(&self, begin: String) -> Result<Held, StoreError> {
        for _ in 0..self.pool().options().get_max_connections() {
            match self.connections.begin(&begin).await {
                Err(error) if is_gone(&error) => {}
                told => return Ok(told?),
            }
        }
        Ok(self.connections.begin(&begin).await?)
    }

    /// Closes every connection; calls after it are [`StoreError::Unavailable`].
    pub async fn close(&self) {
        self.connections.close().await;
    }
}

/// Connects to `url`, which `variable` configures, and checks that its role is neither superuser nor able to bypass row
/// security, and that the schema is the one this build was made for. `expected` is the role that it should be.
pub(crate) async fn connect(
    url: &str,
    options: &PoolOptions,
    variable: &str,
    expected: &str,
) -> Result<PgPool, StoreError> {
    let connect = PgConnectOptions::from_str(url)
        .map_err(|e| {
            StoreError::Refused(format!(
                "the database address is not one: {e}; next: check {variable}, postgres://role@host/database"
            ))
        })?
        .application_name("syncd")
        .options([
            // The ROLLBACK at every release would otherwise be answered with a warning each time.
            ("client_min_messages", "error".to_owned()),
            ("statement_timeout", options.statement_timeout.as_millis().to_string()),
            ("idle_in_transaction_session_timeout", IDLE_IN_TRANSACTION.as_millis().to_string()),
        ]);
    let pool = PgPoolOptions::new()
        .max_connections(options.max_connections)
        .acquire_timeout(options.acquire_timeout)
        .test_before_acquire(false)
        .before_acquire(|connection, meta| {
            Box::pin(async move {
                if meta.idle_for >= ASK_AFTER {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
        .after_release(|connection, _| {
            // A `begin()` future that is dropped midway returns its connection inside an open transaction that
            // sqlx does not know of; the next borrower's writes would be lost with it.
            Box::pin(async move {
                connection.execute("ROLLBACK").await?;
                Ok(true)
            })
        })
        .connect_with(connect)
        .await?;
    check_role(&pool, expected).await?;
    check_schema(&pool).await?;
    Ok(pool)
}

/// Whether the connection is dead, and the database maybe not.
fn is_gone(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) => true,
        // The server says so on its way out: terminated, crashed.
        sqlx::Error::Database(database) => matches!(database.code().as_deref(), Some("57P01" | "57P02")),
        _ => false,
    }
}

async fn check_role(pool: &PgPool, expected: &str) -> Result<(), StoreError> {
    let (role, above): (String, bool) = sqlx::query_as(
        "SELECT rolname::text, rolsuper OR rolbypassrls FROM pg_catalog.pg_roles WHERE rolname = current_user",
    )
    .fetch_one(pool)
    .await?;
    if above {
        return Err(StoreError::Refused(format!(
            "the database role `{role}` may bypass row security, so tenants would not be kept apart; \
             next: connect as `{expected}`, which `syncd migrate` creates"
        )));
    }
    Ok(())
}

async fn check_schema(pool: &PgPool) -> Result<(), StoreError> {
    let next = "next: run `syncd migrate` with the owner's address";
    let applied: Vec<i64> = sqlx::query_scalar("SELECT version FROM _sqlx_migrations WHERE success")
        .fetch_all(pool)
        .await
        .map_err(|error| match error {
            // 42P01: no such table; 42501: the grant of the first migration is missing.
            sqlx::Error::Database(database) if matches!(database.code().as_deref(), Some("42P01" | "42501")) => {
                StoreError::Refused(format!("the database has no schema of Sync; {next}"))
            }
            other => other.into(),
        })?;
    match MIGRATOR.iter().find(|migration| !applied.contains(&migration.version)) {
        None => Ok(()),
        Some(missing) => Err(StoreError::Refused(format!(
            "the database lacks migration {} ({}); {next}",
            missing.version, missing.description
        ))),
    }
}
