//! `DELETE /v1/sources/{source}`.

use http::{Method, StatusCode};
use sync_core::policy::Operation;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::source_views::{JobView, SourcePath, asked_job, locked};
use crate::audit::Reading;
use crate::http::problem::Problem;
use crate::sources::erase::erase;
use crate::sources::provider::not_registered;

/// Erase a source with all that is known of it.
pub(super) struct DeleteSource;

impl Endpoint for DeleteSource {
    const OPERATION: Operation = Operation::DeleteSource;
    const METHOD: Method = Method::DELETE;
    const PATH: &'static str = "/v1/sources/{source}";
    const TAG: &'static str = "provider";
    const SUMMARY: &'static str = "Erase a source with all that is known of it";
    const DESCRIPTION: &'static str = "Its credential and its webhook are gone at once. A job erases the rest, which cannot be taken back: indexes, findings, grants, queued jobs, mirror and cache. The audit log keeps its rows, and one that says what was erased.";
    const SUBJECT: &'static str = "source";
    const SUCCESS: StatusCode = StatusCode::ACCEPTED;
    fn absent() -> Problem {
        not_registered()
    }
    type Path = SourcePath;
    type Query = Nothing;
    type Body = Nothing;
    type Output = JobView;
}

impl Answer for DeleteSource {
    async fn answer(_: &Call, reading: &mut Reading, input: Input<Self>) -> Result<JobView, Problem> {
        let source = locked(reading, &input.path.source).await?;
        let job = erase(&mut reading.tx, source.id, reading.now).await?;
        asked_job(reading, job.id).await
    }
}
