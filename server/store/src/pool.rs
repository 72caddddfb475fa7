//! The pool, which never leaves this crate, and the doors that open transactions.

use std::time::Duration;

use sqlx::PgPool;
use sync_core::ids::OrganizationId;
use sync_core::principal::Principal;

use crate::error::StoreError;
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
            write_statement_timeout: Duration::from_secs(120),
        }
    }
}

/// The database, through the unprivileged application role. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    pool: PgPool,
    options: PoolOptions,
}

impl Store {
    /// Connects and checks that the role of `url` is neither superuser nor able to bypass row security, and that the
    /// schema is the one this build was made for.
    pub async fn connect(url: &str, options: PoolOptions) -> Result<Self, StoreError> {
        let _ = (url, options);
        Err(crate::tx::pending())
    }

    /// A reader's transaction: one snapshot for all its statements (REPEATABLE READ), rows of the principal's
    /// organization only. May write what concerns no index (an audit row, a token).
    pub async fn begin(&self, principal: &Principal) -> Result<Tx, StoreError> {
        let _ = principal;
        Err(crate::tx::pending())
    }

    /// A writer's transaction for swaps and joins: READ COMMITTED, so that it sees what was committed while it waited
    /// for a repository's lock, and long statements allowed.
    pub async fn begin_write(&self, principal: &Principal) -> Result<Tx, StoreError> {
        let _ = principal;
        Err(crate::tx::pending())
    }

    /// Before a principal is known: reaches tokens and members of that organization, and may record a refusal.
    pub async fn authenticate(&self, organization: OrganizationId) -> Result<AuthTx, StoreError> {
        let _ = organization;
        Err(crate::tx::pending())
    }

    /// Work of no organization: schemas `routing` and `feed` only.
    pub async fn system(&self, task: &'static str) -> Result<SystemTx, StoreError> {
        let _ = task;
        Err(crate::tx::pending())
    }

    /// Whether the database answers, for `/readyz`.
    pub async fn ping(&self) -> Result<(), StoreError> {
        let _ = (&self.pool, &self.options);
        Err(crate::tx::pending())
    }

    /// Closes every connection; calls after it are [`StoreError::Unavailable`].
    pub async fn close(&self) {
        self.pool.close().await;
    }
}
