//! `POST /v1/issuers`.

use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use sync_core::ids::IssuerId;
use sync_core::policy::Operation;
use sync_core::principal::Role;
use sync_store::{IssuerRow, StoreError};

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::views::{IssuerView, owners_issuer, reads_no_more};
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;
use crate::identity::issuers;

/// Trust an issuer of JSON Web Tokens.
pub(super) struct CreateIssuer;

/// An issuer to trust.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewIssuer")]
pub(super) struct Wanted {
    /// As in the claim `iss`, byte for byte: an https address.
    #[schemars(schema_with = "words::https_address")]
    issuer: String,
    /// The claim that has to be this organization's short name or id. The issuer sets it, not its users.
    #[schemars(schema_with = "words::claim")]
    organization_claim: String,
    /// An audience that is accepted beside the service's own addresses.
    #[serde(default)]
    #[schemars(schema_with = "words::optional_audience")]
    audience: Option<String>,
    /// Accepted signature algorithms; RS256, ES256 and EdDSA where nothing is said.
    #[serde(default)]
    #[schemars(schema_with = "words::optional_algorithms")]
    algorithms: Option<Vec<String>>,
    /// Where its keys are; where its OpenID configuration says, where nothing is said.
    #[serde(default)]
    #[schemars(schema_with = "words::optional_https_address")]
    jwks_url: Option<String>,
    /// What a principal becomes at first sight; member where nothing is said.
    #[serde(default)]
    #[schemars(schema_with = "words::optional_default_role")]
    default_role: Option<Role>,
    /// Whether it then reads every repository, which is so where nothing is said, or only those that are granted.
    reads_all: Option<bool>,
}

impl Endpoint for CreateIssuer {
    const OPERATION: Operation = Operation::CreateIssuer;
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/v1/issuers";
    const TAG: &'static str = "identity";
    const SUMMARY: &'static str = "Trust an issuer of JSON Web Tokens";
    const DESCRIPTION: &'static str = "Its access tokens are accepted from now on where the named claim is the short name or the id of this organization, and their audience is this service. Its keys are found by its OpenID configuration, or at `jwks_url`. Who comes with such a token becomes a member at first sight. Where an owner comes by it, only an owner does this.";
    const SUCCESS: StatusCode = StatusCode::CREATED;
    type Path = Nothing;
    type Query = Nothing;
    type Body = Wanted;
    type Output = IssuerView;
}

impl Answer for CreateIssuer {
    async fn answer(call: &Call, reading: &mut Reading, input: Input<Self>) -> Result<IssuerView, Problem> {
        let wanted = input.body;
        let row = IssuerRow {
            id: IssuerId::at(reading.now),
            issuer: wanted.issuer,
            audience: wanted.audience,
            algorithms: wanted.algorithms.unwrap_or_else(issuers::default_algorithms),
            jwks_url: wanted.jwks_url,
            organization_claim: Some(wanted.organization_claim),
            default_role: wanted.default_role.unwrap_or(Role::Member),
            reads_all: wanted.reads_all.unwrap_or(true),
            created_at: reading.now,
        };
        issuers::check_new(&row, &call.app.config.private_issuer_hosts)
            .map_err(|(argument, allowed)| Problem::invalid_argument(argument, allowed))?;
        owners_issuer(call, reading, &row.issuer).await?;
        reads_no_more(call, row.reads_all)?;
        match reading.tx.create_issuer(&row).await {
            Ok(()) => {}
            Err(StoreError::Conflict(_)) => {
                return Err(Problem::conflict(
                    "issuer_known",
                    "The organization trusts that issuer already.",
                    "Delete the one that is there first; GET /v1/issuers lists them.",
                ));
            }
            Err(error) => return Err(error.into()),
        }
        reading.rows(1);
        Ok(row.into())
    }
}
