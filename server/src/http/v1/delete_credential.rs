//! `DELETE /v1/sources/{source}/credential`.

use http::Method;
use sync_core::policy::Operation;
use sync_store::SecretPurpose;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::source_views::{SourcePath, found};
use crate::audit::Reading;
use crate::http::problem::Problem;
use crate::sources::provider::not_registered;

/// Forget what a source is fetched with.
pub(super) struct DeleteCredential;

impl Endpoint for DeleteCredential {
    const OPERATION: Operation = Operation::DeleteCredential;
    const METHOD: Method = Method::DELETE;
    const PATH: &'static str = "/v1/sources/{source}/credential";
    const TAG: &'static str = "provider";
    const SUMMARY: &'static str = "Forget what a source is fetched with";
    const DESCRIPTION: &'static str =
        "It is gone at once; revoke it at the forge too. Where none is stored, nothing happens.";
    const SUBJECT: &'static str = "source";
    fn absent() -> Problem {
        not_registered()
    }
    type Path = SourcePath;
    type Query = Nothing;
    type Body = Nothing;
    type Output = Nothing;
}

impl Answer for DeleteCredential {
    async fn answer(_: &Call, reading: &mut Reading, input: Input<Self>) -> Result<Nothing, Problem> {
        let source = found(reading, &input.path.source).await?;
        let purpose = SecretPurpose::RepositoryCredential;
        let gone = reading.tx.delete_secret(purpose, &source.id.to_string()).await?;
        reading.rows(usize::from(gone));
        Ok(Nothing {})
    }
}
