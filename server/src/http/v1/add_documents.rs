//! `POST /v1/sources/{source}/documents`: declined.

use http::{Method, StatusCode};
use sync_core::policy::Operation;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::source_views::SourcePath;
use crate::audit::Reading;
use crate::http::problem::Problem;
use crate::sources::provider::{ProviderCode, not_registered};

/// Add documents to a source, which this provider declines.
pub(super) struct AddDocuments;

impl Endpoint for AddDocuments {
    const OPERATION: Operation = Operation::AddDocuments;
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/v1/sources/{source}/documents";
    const TAG: &'static str = "provider";
    const SUMMARY: &'static str = "Declined: add documents to a source";
    const DESCRIPTION: &'static str =
        "This provider reads repositories and takes no single documents: the answer is always CAPABILITY_UNSUPPORTED.";
    const SUBJECT: &'static str = "source";
    const SUCCESS: StatusCode = StatusCode::NO_CONTENT;
    const FAILURES: &'static [StatusCode] = &[StatusCode::NOT_IMPLEMENTED];
    fn absent() -> Problem {
        not_registered()
    }
    type Path = SourcePath;
    type Query = Nothing;
    type Body = Nothing;
    type Output = Nothing;
}

impl Answer for AddDocuments {
    async fn answer(_: &Call, _: &mut Reading, _: Input<Self>) -> Result<Nothing, Problem> {
        Err(ProviderCode::CapabilityUnsupported.problem(
            "Sync reads repositories and takes no single documents.",
            "Push to the repository, or POST /v1/sources/{source}/refresh; GET /v1/provider names what is backed.",
        ))
    }
}
