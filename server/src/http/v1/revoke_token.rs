//! `DELETE /v1/tokens/{token}`.

use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use sync_core::ids::TokenId;
use sync_core::policy::Operation;
use sync_store::StoreError;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::views::owners_only;
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;

/// Revoke a token.
pub(super) struct RevokeToken;

/// Which token.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Named {
    /// Its id.
    #[schemars(schema_with = "words::token_id")]
    token: TokenId,
}

impl Endpoint for RevokeToken {
    const OPERATION: Operation = Operation::RevokeToken;
    const METHOD: Method = Method::DELETE;
    const PATH: &'static str = "/v1/tokens/{token}";
    const TAG: &'static str = "identity";
    const SUMMARY: &'static str = "Revoke a token";
    const DESCRIPTION: &'static str = "It is refused from now on, and within ten seconds by every other process of the service. One that was revoked before stays so. An owner's is revoked by owners.";
    const SUBJECT: &'static str = "token";
    type Path = Named;
    type Query = Nothing;
    type Body = Nothing;
    type Output = Nothing;
}

impl Answer for RevokeToken {
    async fn answer(call: &Call, reading: &mut Reading, input: Input<Self>) -> Result<Nothing, Problem> {
        let not_found = || Problem::not_found(Self::SUBJECT);
        let known = reading.tx.token_info(input.path.token).await?.ok_or_else(not_found)?;
        let member = reading.tx.lock_member(known.principal).await?.ok_or_else(not_found)?;
        owners_only(call, [member.role])?;
        match reading.tx.revoke_token(input.path.token, reading.now).await {
            Ok(()) => {}
            Err(StoreError::NotFound(_)) => return Err(not_found()),
            Err(error) => return Err(error.into()),
        }
        reading.rows(1);
        Ok(Nothing {})
    }
}
