//! `DELETE /v1/issuers/{issuer}`.

use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use sync_core::ids::IssuerId;
use sync_core::policy::Operation;
use sync_store::StoreError;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::views::owners_issuer;
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;

/// Trust an issuer no longer.
pub(super) struct DeleteIssuer;

/// Which issuer.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Named {
    /// Its id.
    #[schemars(schema_with = "words::issuer_id")]
    issuer: IssuerId,
}

impl Endpoint for DeleteIssuer {
    const OPERATION: Operation = Operation::DeleteIssuer;
    const METHOD: Method = Method::DELETE;
    const PATH: &'static str = "/v1/issuers/{issuer}";
    const TAG: &'static str = "identity";
    const SUMMARY: &'static str = "Trust an issuer no longer";
    const DESCRIPTION: &'static str = "Its tokens are refused from now on. Members who came with them stay, and come back with it. Where an owner comes by it, only an owner does this.";
    const SUBJECT: &'static str = "issuer";
    type Path = Named;
    type Query = Nothing;
    type Body = Nothing;
    type Output = Nothing;
}

impl Answer for DeleteIssuer {
    async fn answer(call: &Call, reading: &mut Reading, input: Input<Self>) -> Result<Nothing, Problem> {
        if let Some(known) = reading.tx.issuer(input.path.issuer).await? {
            owners_issuer(call, reading, &known.issuer).await?;
        }
        match reading.tx.delete_issuer(input.path.issuer).await {
            Ok(()) => {}
            Err(StoreError::NotFound(_)) => return Err(Problem::not_found(Self::SUBJECT)),
            Err(error) => return Err(error.into()),
        }
        reading.rows(1);
        Ok(Nothing {})
    }
}
