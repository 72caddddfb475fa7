//! `DELETE /v1/grants/{principal}/{repository}`.

use http::Method;
use sync_core::policy::Operation;
use sync_store::StoreError;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::views::GrantPath;
use crate::audit::Reading;
use crate::http::problem::Problem;

/// Take a grant back.
pub(super) struct DeleteGrant;

impl Endpoint for DeleteGrant {
    const OPERATION: Operation = Operation::DeleteGrant;
    const METHOD: Method = Method::DELETE;
    const PATH: &'static str = "/v1/grants/{principal}/{repository}";
    const TAG: &'static str = "identity";
    const SUMMARY: &'static str = "Take a grant back";
    const DESCRIPTION: &'static str =
        "The member reads the repository no longer, unless its `reads_all` is true. It counts at once.";
    const SUBJECT: &'static str = "grant";
    type Path = GrantPath;
    type Query = Nothing;
    type Body = Nothing;
    type Output = Nothing;
}

impl Answer for DeleteGrant {
    async fn answer(_: &Call, reading: &mut Reading, input: Input<Self>) -> Result<Nothing, Problem> {
        let GrantPath { principal, repository } = input.path;
        let not_found = || Problem::not_found(Self::SUBJECT);
        let known = repository.find(&mut reading.tx).await?.ok_or_else(not_found)?;
        reading.about(known.id, &known.name);
        match reading.tx.revoke_grant(principal, known.id).await {
            Ok(()) => {}
            Err(StoreError::NotFound(_)) => return Err(not_found()),
            Err(error) => return Err(error.into()),
        }
        reading.rows(1);
        Ok(Nothing {})
    }
}
