//! Issuers of JSON Web Tokens that an organization trusts, and how a token finds its organization.

use sync_core::ids::{IssuerId, OrganizationId};
use sync_core::issuer_route::IssuerRoute;
use sync_core::principal::Role;
use time::OffsetDateTime;

use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

use crate::convert::count;
use crate::error::StoreError;
use crate::tx::{AuthTx, SystemTx, Tx};

/// The most issuers that an organization may trust: each costs fetches.
pub const MAX_ISSUERS: u64 = 20;

/// An issuer as the organization trusts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerRow {
    /// Its id.
    pub id: IssuerId,
    /// The `iss` claim, byte for byte.
    pub issuer: String,
    /// An audience accepted beside the service's own addresses.
    pub audience: Option<String>,
    /// Names of accepted signature algorithms.
    pub algorithms: Vec<String>,
    /// Where its keys are; absent: as its OpenID configuration says.
    pub jwks_url: Option<String>,
    /// The claim that has to name the organization; absent: every token of the issuer is the organization's.
    pub organization_claim: Option<String>,
    /// What a principal becomes at first sight.
    pub default_role: Role,
    /// Whether it then reads every repository.
    pub reads_all: bool,
    /// Since when it is trusted.
    pub created_at: OffsetDateTime,
}

/// Where a route leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoutedIssuer {
    /// The organization.
    pub organization: OrganizationId,
    /// Its issuer.
    pub issuer: IssuerId,
    /// Whether every token of the issuer is that organization's.
    pub whole: bool,
}

/// Columns of [`IssuerColumns`], before a WHERE.
macro_rules! select_issuer {
    ($rest:literal) => {
        concat!(
            "SELECT i.id, i.issuer, i.audience, i.algorithms, i.jwks_url, i.organization_claim, i.default_role,
                    i.reads_all, i.created_at
             FROM sync.issuers i ",
            $rest
        )
    };
}
impl SystemTx {
    /// Where these routes lead, each issuer of an organization once.
    pub async fn routed_issuers(&mut self, routes: &[IssuerRoute]) -> Result<Vec<RoutedIssuer>, StoreError> {
        let routes: Vec<&[u8]> = routes.iter().map(|route| &route.as_bytes()[..]).collect();
        let rows: Vec<(Uuid, Uuid, bool)> = sqlx::query_as(
            "SELECT organization_id, issuer_id, bool_or(whole) FROM routing.issuer_routes WHERE route = ANY ($1)
             GROUP BY organization_id, issuer_id ORDER BY issuer_id",
        )
        .bind(routes)
        .fetch_all(self.connection())
        .await?;
        let read = |(organization, issuer, whole)| RoutedIssuer {
            organization: OrganizationId::from_uuid(organization),
            issuer: IssuerId::from_uuid(issuer),
            whole,
        };
        Ok(rows.into_iter().map(read).collect())
    }

    /// Issuers that clients are told about before it is known who they are, at most 20.
    pub async fn advertised_issuers(&mut self) -> Result<Vec<String>, StoreError> {
        let found = sqlx::query_scalar("SELECT issuer FROM routing.advertised_issuers ORDER BY issuer LIMIT 20");
        Ok(found.fetch_all(self.connection()).await?)
    }

    /// Tells clients about an issuer, or no longer.
    pub async fn advertise_issuer(&mut self, issuer: &str, advertise: bool) -> Result<(), StoreError> {
        let statement = if advertise {
            "INSERT INTO routing.advertised_issuers (issuer) VALUES ($1) ON CONFLICT DO NOTHING"
        } else {
            "DELETE FROM routing.advertised_issuers WHERE issuer = $1"
        };
        sqlx::query(statement).bind(issuer).execute(self.connection()).await?;
        Ok(())
    }
}

impl AuthTx {
    /// An issuer of the organization.
    pub async fn issuer(&mut self, id: IssuerId) -> Result<Option<IssuerRow>, StoreError> {
        issuer(self.connection(), id).await
    }
}

impl Tx {
    /// An issuer of the organization.
    pub async fn issuer(&mut self, id: IssuerId) -> Result<Option<IssuerRow>, StoreError> {
        issuer(self.connection(), id).await
    }

    /// Issuers of the organization, oldest first, after the one of that id, at most `limit`; and how many there are.
    pub async fn issuers(&mut self, after: Option<IssuerId>, limit: u32) -> Result<(Vec<IssuerRow>, u64), StoreError> {
        let rows: Vec<IssuerColumns> =
            sqlx::query_as(select_issuer!("WHERE $1::uuid IS NULL OR i.id > $1 ORDER BY i.id LIMIT $2"))
                .bind(after.map(IssuerId::uuid))
                .bind(i64::from(limit))
                .fetch_all(self.connection())
                .await?;
        let total = self.count_issuers().await?;
        Ok((rows.into_iter().map(IssuerColumns::read).collect::<Result<_, _>>()?, total))
    }

    /// Trusts an issuer. [`StoreError::Conflict`] `issuer_known` where the organization trusts it already, and
    /// `issuer_routed` where another organization has all of its tokens.
    pub async fn create_issuer(&mut self, issuer: &IssuerRow) -> Result<(), StoreError> {
        if self.count_issuers().await? >= MAX_ISSUERS {
            return Err(self.over_limit("issuers", MAX_ISSUERS).await?);
        }
        sqlx::query(
            "INSERT INTO sync.issuers (id, issuer, audience, algorithms, jwks_url, organization_claim, default_role,
                                       reads_all, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        )
        .bind(issuer.id.uuid())
        .bind(&issuer.issuer)
        .bind(&issuer.audience)
        .bind(&issuer.algorithms)
        .bind(&issuer.jwks_url)
        .bind(&issuer.organization_claim)
        .bind(issuer.default_role.as_str())
        .bind(issuer.reads_all)
        .bind(issuer.created_at)
        .execute(self.connection())
        .await?;
        for route in self.routes(issuer).await? {
            sqlx::query(
                "INSERT INTO routing.issuer_routes (route, organization_id, issuer_id, whole)
                 VALUES ($1, sync.current_organization(), $2, $3)",
            )
            .bind(&route.as_bytes()[..])
            .bind(issuer.id.uuid())
            .bind(issuer.organization_claim.is_none())
            .execute(self.connection())
            .await?;
        }
        Ok(())
    }

    /// Trusts an issuer no longer; [`StoreError::NotFound`] where there is none.
    pub async fn delete_issuer(&mut self, id: IssuerId) -> Result<(), StoreError> {
        sqlx::query(
            "DELETE FROM routing.issuer_routes WHERE organization_id = sync.current_organization() AND issuer_id = $1",
        )
        .bind(id.uuid())
        .execute(self.connection())
        .await?;
        let gone = sqlx::query("DELETE FROM sync.issuers WHERE id = $1").bind(id.uuid());
        match gone.execute(self.connection()).await?.rows_affected() {
            0 => Err(StoreError::NotFound(format!("issuer {id}"))),
            _ => Ok(()),
        }
    }

    /// An organization is named in a claim by its short name or by its id, and by nothing that others chose.
    async fn routes(&mut self, issuer: &IssuerRow) -> Result<Vec<IssuerRoute>, StoreError> {
        let Some(claim) = &issuer.organization_claim else { return Ok(vec![IssuerRoute::whole(&issuer.issuer)]) };
        let slug: String =
            sqlx::query_scalar("SELECT slug FROM routing.organizations WHERE id = sync.current_organization()")
                .fetch_one(self.connection())
                .await?;
        let by = |value: &str| IssuerRoute::by_claim(&issuer.issuer, claim, value);
        Ok(vec![by(&slug), by(&self.organization().to_string())])
    }

    async fn count_issuers(&mut self) -> Result<u64, StoreError> {
        let found: i64 = sqlx::query_scalar("SELECT count(*) FROM sync.issuers").fetch_one(self.connection()).await?;
        Ok(count(found))
    }
}

#[derive(FromRow)]
struct IssuerColumns {
    id: Uuid,
    issuer: String,
    audience: Option<String>,
    algorithms: Vec<String>,
    jwks_url: Option<String>,
    organization_claim: Option<String>,
    default_role: String,
    reads_all: bool,
    created_at: OffsetDateTime,
}

impl IssuerColumns {
    fn read(self) -> Result<IssuerRow, StoreError> {
        Ok(IssuerRow {
            id: IssuerId::from_uuid(self.id),
            issuer: self.issuer,
            audience: self.audience,
            algorithms: self.algorithms,
            jwks_url: self.jwks_url,
            organization_claim: self.organization_claim,
            default_role: self.default_role.parse().map_err(|error| StoreError::unreadable("role", error))?,
            reads_all: self.reads_all,
            created_at: self.created_at,
        })
    }
}

async fn issuer(connection: &mut PgConnection, id: IssuerId) -> Result<Option<IssuerRow>, StoreError> {
    sqlx::query_as(select_issuer!("WHERE i.id = $1"))
        .bind(id.uuid())
        .fetch_optional(connection)
        .await?
        .map(IssuerColumns::read)
        .transpose()
}
