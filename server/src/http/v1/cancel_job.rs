//! `POST /v1/jobs/{job}/cancel`.

use http::Method;
use sync_core::policy::Operation;
use sync_store::{JobKind, JobState};

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::source_views::{JobPath, JobView, asked_job};
use crate::audit::Reading;
use crate::http::problem::Problem;

/// Take a job back.
pub(super) struct CancelJob;

impl Endpoint for CancelJob {
    const OPERATION: Operation = Operation::CancelJob;
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/v1/jobs/{job}/cancel";
    const TAG: &'static str = "provider";
    const SUMMARY: &'static str = "Take a job back";
    const DESCRIPTION: &'static str = "One that runs is ended within seconds, and nothing of it is kept; the last index still answers. One that was taken back before stays so.";
    const SUBJECT: &'static str = "job";
    type Path = JobPath;
    type Query = Nothing;
    type Body = Nothing;
    type Output = JobView;
}

impl Answer for CancelJob {
    async fn answer(_: &Call, reading: &mut Reading, input: Input<Self>) -> Result<JobView, Problem> {
        let id = input.path.job;
        let job = reading.tx.job(id).await?.ok_or_else(|| Problem::not_found(Self::SUBJECT))?;
        if job.kind == JobKind::Erase {
            return Err(Problem::conflict(
                "erase_goes_on",
                "A source that is being erased is erased: part of it is gone already.",
                "Wait until the job has ended, then register the repository anew.",
            ));
        }
        if let Some(source) = reading.tx.repository(job.repository).await? {
            reading.about(source.id, &source.name);
        }
        let open = reading.tx.cancel_job(id, reading.now).await?;
        if !open && job.state != JobState::Cancelled {
            return Err(Problem::conflict(
                "job_ended",
                format!("The job ended before: it is {}.", job.state.as_str()),
                "POST /v1/sources/{source}/refresh asks for another.",
            ));
        }
        asked_job(reading, id).await
    }
}
