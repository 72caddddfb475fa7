//! `routing.organizations`: which organizations there are. No private value of theirs.

use sync_core::ids::OrganizationId;
use time::OffsetDateTime;

use crate::error::StoreError;
use crate::tx::SystemTx;

/// Whether an organization is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrganizationState {
    /// Served.
    Active,
    /// Known, refused.
    Suspended,
}

/// An organization as routing knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Organization {
    /// The tenant.
    pub id: OrganizationId,
    /// Its short name, unique.
    pub slug: String,
    /// Whether it is served.
    pub state: OrganizationState,
}

impl SystemTx {
    /// Creates an organization; [`StoreError::Conflict`] where the slug is taken.
    pub async fn create_organization(
        &mut self,
        id: OrganizationId,
        slug: &str,
        now: OffsetDateTime,
    ) -> Result<Organization, StoreError> {
        let _ = (id, slug, now);
        Err(crate::tx::pending())
    }

    /// By short name.
    pub async fn organization_by_slug(&mut self, slug: &str) -> Result<Option<Organization>, StoreError> {
        let _ = slug;
        Err(crate::tx::pending())
    }

    /// By id.
    pub async fn organization(&mut self, id: OrganizationId) -> Result<Option<Organization>, StoreError> {
        let _ = id;
        Err(crate::tx::pending())
    }

    /// Every organization, by id.
    pub async fn organizations(&mut self) -> Result<Vec<Organization>, StoreError> {
        Err(crate::tx::pending())
    }
}
