//! Transactions: the only way to the tables. `commit(self)` is the only way out with effect.

use sqlx::{Postgres, Transaction};
use sync_core::ids::OrganizationId;
use sync_core::principal::Readable;

use crate::error::StoreError;

/// A transaction of an organization, opened for a principal. Its methods stand in one file per table family.
pub struct Tx {
    pub(crate) inner: Transaction<'static, Postgres>,
    pub(crate) organization: OrganizationId,
    pub(crate) readable: Readable,
}

impl Tx {
    /// Makes everything done here durable; returns when it is.
    pub async fn commit(self) -> Result<(), StoreError> {
        let _ = (self.inner, self.readable);
        Err(pending())
    }

    /// The organization whose rows this transaction sees.
    pub fn organization(&self) -> OrganizationId {
        self.organization
    }
}

/// A transaction of an organization whose caller is not known yet.
pub struct AuthTx {
    pub(crate) inner: Transaction<'static, Postgres>,
    pub(crate) organization: OrganizationId,
}

impl AuthTx {
    /// Makes everything done here durable.
    pub async fn commit(self) -> Result<(), StoreError> {
        let _ = (self.inner, self.organization);
        Err(pending())
    }
}

/// A transaction of no organization.
pub struct SystemTx {
    pub(crate) inner: Transaction<'static, Postgres>,
}

impl SystemTx {
    /// Makes everything done here durable.
    pub async fn commit(self) -> Result<(), StoreError> {
        let _ = self.inner;
        Err(pending())
    }
}

pub(crate) fn pending() -> StoreError {
    StoreError::Bug("not written yet".to_owned())
}
