//! `GET /v1/organization`.

use std::collections::BTreeSet;

use http::Method;
use schemars::JsonSchema;
use serde::Serialize;
use sync_core::ids::{OrganizationId, PrincipalId};
use sync_core::policy::Operation;
use sync_core::principal::{PrincipalKind, Readable, Role, Scope};

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;

/// Says whose a credential is.
pub(super) struct GetOrganization;

/// The organization and the member that the credential stands for.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Organization {
    /// Its id.
    #[schemars(schema_with = "words::organization_id")]
    id: OrganizationId,
    /// Its short name.
    name: String,
    /// Its name for people, where it has one.
    display_name: Option<String>,
    /// Who the credential acts as.
    principal: Caller,
}

/// Who a credential acts as.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Caller {
    /// The member's id.
    #[schemars(schema_with = "words::principal_id")]
    id: PrincipalId,
    /// Name for people.
    name: String,
    /// A person or a machine.
    #[schemars(schema_with = "words::principal_kind")]
    kind: PrincipalKind,
    /// What the member is in the organization.
    #[schemars(schema_with = "words::role")]
    role: Role,
    /// What the credential can be used for: its scopes as far as the role allows them.
    #[schemars(schema_with = "words::scopes")]
    scopes: BTreeSet<Scope>,
    /// Whether every repository can be read, or only those that were granted.
    reads_all: bool,
}

impl Endpoint for GetOrganization {
    const OPERATION: Operation = Operation::GetOrganization;
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/v1/organization";
    const TAG: &'static str = "identity";
    const SUMMARY: &'static str = "Whose credential this is";
    const DESCRIPTION: &'static str =
        "The organization that the credential belongs to, the member it acts as, and what it can be used for.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Nothing;
    type Output = Organization;
}

impl Answer for GetOrganization {
    async fn answer(call: &Call, reading: &mut Reading, _: Input<Self>) -> Result<Organization, Problem> {
        view(call, reading).await
    }
}

/// The organization as whoever asks sees it.
pub(super) async fn view(call: &Call, reading: &mut Reading) -> Result<Organization, Problem> {
    let organization = reading.tx.own_organization().await?;
    let display_name = reading.tx.display_name().await?;
    let principal = call.principal();
    reading.rows(1);
    Ok(Organization {
        id: organization.id,
        name: organization.slug,
        display_name,
        principal: Caller {
            id: principal.id,
            name: principal.name.clone(),
            kind: principal.kind,
            role: principal.role,
            scopes: Scope::ALL.into_iter().filter(|scope| principal.has(*scope)).collect(),
            reads_all: principal.readable == Readable::All,
        },
    })
}
