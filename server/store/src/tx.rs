//! Transactions: the only way to the tables. `commit(self)` is the only way out with effect.

use sqlx::PgConnection;
use sync_core::ids::{OrganizationId, RepositoryId};
use sync_core::principal::Readable;
use uuid::Uuid;

use crate::connections::Held;
use crate::error::StoreError;

/// A transaction of an organization, opened for a principal. Its methods stand in one file per table family.
pub struct Tx {
    pub(crate) inner: Held,
    pub(crate) organization: OrganizationId,
    pub(crate) readable: Readable,
    pub(crate) writer: bool,
}

impl Tx {
    /// Makes everything done here durable; returns when it is.
    pub async fn commit(self) -> Result<(), StoreError> {
        Ok(self.inner.commit().await?)
    }

    /// The organization whose rows this transaction sees.
    pub fn organization(&self) -> OrganizationId {
        self.organization
    }

    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        self.inner.connection()
    }

    /// Ids that the principal may read, or nothing for "all": what statements take as a parameter.
    pub(crate) fn readable_ids(&self) -> Option<Vec<Uuid>> {
        match &self.readable {
            Readable::All => None,
            Readable::Only(ids) => Some(ids.iter().map(|id: &RepositoryId| id.uuid()).collect()),
        }
    }
}

/// A transaction of an organization whose caller is not known yet.
pub struct AuthTx {
    pub(crate) inner: Held,
    pub(crate) organization: OrganizationId,
}

impl AuthTx {
    /// Makes everything done here durable.
    pub async fn commit(self) -> Result<(), StoreError> {
        Ok(self.inner.commit().await?)
    }

    /// The organization that the caller claims.
    pub fn organization(&self) -> OrganizationId {
        self.organization
    }

    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        self.inner.connection()
    }
}

/// A transaction of no organization.
pub struct SystemTx {
    pub(crate) inner: Held,
}

impl SystemTx {
    /// Makes everything done here durable.
    pub async fn commit(self) -> Result<(), StoreError> {
        Ok(self.inner.commit().await?)
    }

    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        self.inner.connection()
    }
}
