//! `PATCH /v1/organization`.

use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use sync_core::policy::Operation;
use sync_core::principal::Role;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::get_organization::{self, Organization};
use super::views::named;
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;

/// Change what an organization says of itself.
pub(super) struct ChangeOrganization;

/// What changes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OrganizationChange")]
pub(super) struct Wanted {
    /// Name for people; null: none.
    // Has to be said: an empty body removes nothing.
    #[serde(deserialize_with = "said")]
    #[schemars(required, schema_with = "words::optional_name")]
    display_name: Option<String>,
}

fn said<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(deserializer)
}

impl Endpoint for ChangeOrganization {
    const OPERATION: Operation = Operation::ChangeOrganization;
    const METHOD: Method = Method::PATCH;
    const PATH: &'static str = "/v1/organization";
    const TAG: &'static str = "identity";
    const SUMMARY: &'static str = "Change the organization";
    const DESCRIPTION: &'static str = "Its name for people, which only an owner changes. Its short name (`name`) stays as it was created: claims of JSON Web Tokens name it. Its plan is the operator's to change: `syncd organization plan`.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Wanted;
    type Output = Organization;
}

impl Answer for ChangeOrganization {
    async fn answer(call: &Call, reading: &mut Reading, input: Input<Self>) -> Result<Organization, Problem> {
        let display_name = match &input.body.display_name {
            Some(name) => Some(named("display_name", name)?),
            None => None,
        };
        if call.principal().role != Role::Owner {
            return Err(Problem::new(
                StatusCode::FORBIDDEN,
                "forbidden",
                "Only an owner changes the organization.",
                "Ask an owner of the organization; GET /v1/members?role=owner lists them.",
            ));
        }
        reading.tx.set_display_name(display_name, reading.now).await?;
        get_organization::view(call, reading).await
    }
}
