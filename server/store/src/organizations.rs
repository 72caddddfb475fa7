//! `routing.organizations`: which organizations there are. No private value of theirs.

use sync_core::ids::OrganizationId;
use time::OffsetDateTime;

use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

use crate::error::StoreError;
use crate::tx::{SystemTx, Tx};

/// Whether an organization is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrganizationState {
    /// Served.
    Active,
    /// Known, refused: nobody of it is let in, nothing of it is fetched, and all that it has is kept.
    Suspended,
}

impl OrganizationState {
    /// The word in rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
        }
    }
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
        insert(self.connection(), id, slug, now).await
    }

    /// By short name.
    pub async fn organization_by_slug(&mut self, slug: &str) -> Result<Option<Organization>, StoreError> {
        sqlx::query_as("SELECT id, slug, state FROM routing.organizations WHERE slug = $1")
            .bind(slug)
            .fetch_optional(self.connection())
            .await?
            .map(OrganizationRow::read)
            .transpose()
    }

    /// By id.
    pub async fn organization(&mut self, id: OrganizationId) -> Result<Option<Organization>, StoreError> {
        sqlx::query_as("SELECT id, slug, state FROM routing.organizations WHERE id = $1")
            .bind(id.uuid())
            .fetch_optional(self.connection())
            .await?
            .map(OrganizationRow::read)
            .transpose()
    }

    /// Every organization, by id.
    pub async fn organizations(&mut self) -> Result<Vec<Organization>, StoreError> {
        let rows: Vec<OrganizationRow> =
            sqlx::query_as("SELECT id, slug, state FROM routing.organizations ORDER BY id")
                .fetch_all(self.connection())
                .await?;
        rows.into_iter().map(OrganizationRow::read).collect()
    }
}

impl Tx {
    /// Creates the organization that this transaction is of, so that what is said of it commits with it;
    /// [`StoreError::Conflict`] where the slug is taken.
    pub async fn create_own_organization(
        &mut self,
        slug: &str,
        now: OffsetDateTime,
    ) -> Result<Organization, StoreError> {
        let id = self.organization();
        insert(self.connection(), id, slug, now).await
    }

    /// The organization's name for people, where it has one.
    pub async fn display_name(&mut self) -> Result<Option<String>, StoreError> {
        let name: Option<Option<String>> = sqlx::query_scalar("SELECT display_name FROM sync.organization_profiles")
            .fetch_optional(self.connection())
            .await?;
        Ok(name.flatten())
    }

    /// Gives the organization a name for people, or none.
    pub async fn set_display_name(&mut self, name: Option<&str>, now: OffsetDateTime) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO sync.organization_profiles (display_name, changed_at) VALUES ($1, $2)
             ON CONFLICT (organization_id) DO UPDATE SET display_name = $1, changed_at = $2",
        )
        .bind(name)
        .bind(now)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Says whether the organization is served.
    pub async fn set_organization_state(&mut self, state: OrganizationState) -> Result<(), StoreError> {
        sqlx::query("UPDATE routing.organizations SET state = $1 WHERE id = sync.current_organization()")
            .bind(state.as_str())
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// The organization that this transaction is of.
    pub async fn own_organization(&mut self) -> Result<Organization, StoreError> {
        sqlx::query_as::<_, OrganizationRow>(
            "SELECT id, slug, state FROM routing.organizations WHERE id = sync.current_organization()",
        )
        .fetch_one(self.connection())
        .await?
        .read()
    }
}

async fn insert(
    connection: &mut PgConnection,
    id: OrganizationId,
    slug: &str,
    now: OffsetDateTime,
) -> Result<Organization, StoreError> {
    sqlx::query("INSERT INTO routing.organizations (id, slug, state, created_at) VALUES ($1, $2, 'active', $3)")
        .bind(id.uuid())
        .bind(slug)
        .bind(now)
        .execute(connection)
        .await?;
    Ok(Organization { id, slug: slug.to_owned(), state: OrganizationState::Active })
}

#[derive(FromRow)]
struct OrganizationRow {
    id: Uuid,
    slug: String,
    state: String,
}

impl OrganizationRow {
    fn read(self) -> Result<Organization, StoreError> {
        let known = [OrganizationState::Active, OrganizationState::Suspended];
        let state = known
            .into_iter()
            .find(|state| state.as_str() == self.state)
            .ok_or_else(|| StoreError::unreadable("organization state", &self.state))?;
        Ok(Organization { id: OrganizationId::from_uuid(self.id), slug: self.slug, state })
    }
}
