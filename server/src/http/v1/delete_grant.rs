//! `DELETE /v1/grants/{principal}/{repository}`.

use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use sync_core::ids::{PrincipalId, RepositoryId};
use sync_core::policy::Operation;
use sync_store::StoreError;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;

/// Take a grant back.
pub(super) struct DeleteGrant;

/// Which grant.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Named {
    /// Who reads.
    #[schemars(schema_with = "words::principal_id")]
    principal: PrincipalId,
    /// What is read.
    #[schemars(schema_with = "words::repository_id")]
    repository: RepositoryId,
}

impl Endpoint for DeleteGrant {
    const OPERATION: Operation = Operation::DeleteGrant;
    const METHOD: Method = Method::DELETE;
    const PATH: &'static str = "/v1/grants/{principal}/{repository}";
    const TAG: &'static str = "identity";
    const SUMMARY: &'static str = "Take a grant back";
    const DESCRIPTION: &'static str =
        "The member reads the repository no longer, unless its `reads_all` is true. It counts at once.";
    const SUBJECT: &'static str = "grant";
    type Path = Named;
    type Query = Nothing;
    type Body = Nothing;
    type Output = Nothing;
}

impl Answer for DeleteGrant {
    async fn answer(_: &Call, reading: &mut Reading, input: Input<Self>) -> Result<Nothing, Problem> {
        let Named { principal, repository } = input.path;
        let not_found = || Problem::not_found(Self::SUBJECT);
        let known = reading.tx.repository(repository).await?.ok_or_else(not_found)?;
        reading.about(known.id, &known.name);
        match reading.tx.revoke_grant(principal, repository).await {
            Ok(()) => {}
            Err(StoreError::NotFound(_)) => return Err(not_found()),
            Err(error) => return Err(error.into()),
        }
        reading.rows(1);
        Ok(Nothing {})
    }
}
