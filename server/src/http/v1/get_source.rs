//! `GET /v1/sources/{source}`.

use http::Method;
use sync_core::policy::Operation;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::source_views::{SourcePath, SourceStatus, status};
use crate::audit::Reading;
use crate::http::problem::Problem;
use crate::sources::provider::not_registered;

/// How a source is.
pub(super) struct GetSource;

impl Endpoint for GetSource {
    const OPERATION: Operation = Operation::GetSource;
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/v1/sources/{source}";
    const TAG: &'static str = "provider";
    const SUMMARY: &'static str = "How a source is";
    const DESCRIPTION: &'static str = "Its settings, the refs that are kept with their commits, why an index is not whole, its last jobs with what went wrong and what to do about it, and its webhook.";
    const SUBJECT: &'static str = "source";
    fn absent() -> Problem {
        not_registered()
    }
    type Path = SourcePath;
    type Query = Nothing;
    type Body = Nothing;
    type Output = SourceStatus;
}

impl Answer for GetSource {
    async fn answer(call: &Call, reading: &mut Reading, input: Input<Self>) -> Result<SourceStatus, Problem> {
        status(call, reading, &input.path.source).await
    }
}
