//! `GET /v1/jobs/{job}`.

use http::Method;
use sync_core::policy::Operation;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::source_views::{JobPath, JobView};
use crate::audit::Reading;
use crate::http::problem::Problem;

/// What a job is doing.
pub(super) struct GetJob;

impl Endpoint for GetJob {
    const OPERATION: Operation = Operation::GetJob;
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/v1/jobs/{job}";
    const TAG: &'static str = "provider";
    const SUMMARY: &'static str = "What a job is doing";
    const DESCRIPTION: &'static str = "Jobs that ended are shown for 30 days.";
    const SUBJECT: &'static str = "job";
    type Path = JobPath;
    type Query = Nothing;
    type Body = Nothing;
    type Output = JobView;
}

impl Answer for GetJob {
    async fn answer(_: &Call, reading: &mut Reading, input: Input<Self>) -> Result<JobView, Problem> {
        let job = reading.tx.job(input.path.job).await?.ok_or_else(|| Problem::not_found(Self::SUBJECT))?;
        // A source that was erased has no name any more, and its job is still there.
        if let Some(source) = reading.tx.repository(job.repository).await? {
            reading.about(source.id, &source.name);
        }
        reading.rows(1);
        Ok(job.into())
    }
}
