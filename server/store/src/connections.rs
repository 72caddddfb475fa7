//! Connections from one transaction to the next.
//!
//! A connection that comes back to sqlx's pool is asked two things, a round trip each: to roll back what may be open (see
//! `pool.rs`), and whether it lives. One whose transaction ended as it should needs neither: it is kept here and goes to
//! the next transaction as it is. Every other – its transaction was dropped, failed, or never quite began – goes back to
//! the pool.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, PgPool, Postgres};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// A connection that nobody used for so long is asked whether it lives: the database may have been started anew meanwhile.
const FRESH: Duration = Duration::from_millis(500);

/// As many connections as transactions may be open at once.
#[derive(Debug, Clone)]
pub(crate) struct Connections {
    pool: PgPool,
    /// One for each transaction that may be open.
    places: Arc<Semaphore>,
    /// How long one is waited for.
    patience: Duration,
    spare: Arc<Spare>,
}

/// Connections that are free, the last used on top; nothing once all is closed.
#[derive(Debug, Default)]
struct Spare(Mutex<Option<Vec<Free>>>);

/// A connection, and when it was used last.
type Free = (PoolConnection<Postgres>, Instant);

impl Connections {
    /// Of a pool, which has to allow as many connections.
    pub(crate) fn new(pool: PgPool, most: u32, patience: Duration) -> Self {
        let places = Arc::new(Semaphore::new(most.try_into().unwrap_or(Semaphore::MAX_PERMITS)));
        Self { pool, places, patience, spare: Arc::new(Spare(Mutex::new(Some(Vec::new())))) }
    }

    pub(crate) fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Begins a transaction with a text that does all that belongs to its beginning, in one round trip.
    pub(crate) async fn begin(&self, text: &str) -> Result<Held, sqlx::Error> {
        let place = tokio::time::timeout(self.patience, self.places.clone().acquire_owned()).await;
        let place = place.map_err(|_elapsed| sqlx::Error::PoolTimedOut)?.map_err(|_closed| sqlx::Error::PoolClosed)?;
        let connection = loop {
            match self.spare.take() {
                Some((connection, at)) if at.elapsed() < FRESH => break connection,
                Some((mut connection, _)) => {
                    if connection.ping().await.is_ok() {
                        break connection;
                    }
                }
                None => break self.pool.acquire().await?,
            }
        };
        let mut held = Held { connection, spare: self.spare.clone(), _place: place };
        held.connection.execute(AssertSqlSafe(text.to_owned())).await?;
        Ok(held)
    }

    /// Closes every connection, each when its transaction has ended.
    pub(crate) async fn close(&self) {
        self.places.close();
        drop(self.spare.lock().take());
        self.pool.close().await;
    }
}

impl Spare {
    /// The one that was used last, and when.
    fn take(&self) -> Option<Free> {
        self.lock().as_mut()?.pop()
    }

    fn keep(&self, connection: PoolConnection<Postgres>) {
        if let Some(spare) = self.lock().as_mut() {
            spare.push((connection, Instant::now()));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Vec<Free>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        // Given back, each would want a task, and there may be no runtime any more.
        for (connection, _) in self.lock().take().into_iter().flatten() {
            drop(connection.detach());
        }
    }
}

/// A connection inside a transaction. Dropped, it goes back to the pool, which rolls back.
#[derive(Debug)]
pub(crate) struct Held {
    connection: PoolConnection<Postgres>,
    spare: Arc<Spare>,
    _place: OwnedSemaphorePermit,
}

impl Held {
    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        &mut self.connection
    }

    /// Commits; returns when it is durable.
    pub(crate) async fn commit(mut self) -> Result<(), sqlx::Error> {
        self.connection.execute("COMMIT").await?;
        self.spare.keep(self.connection);
        Ok(())
    }
}
