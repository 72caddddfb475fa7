//! `POST /v1/sources/{source}/refresh`.

use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use sync_core::policy::Operation;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::source_views::{JobView, SourcePath, asked_job, found};
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;
use crate::sources::provider::not_registered;
use crate::sources::refresh::refresh;
use crate::sources::register::check_ref;

/// Bring a ref of a source up to date.
pub(super) struct RefreshSource;

/// Which ref.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SourceRefresh")]
pub(super) struct Asked {
    /// A branch, or a full name such as `refs/pull/7/head`; the default branch, where nothing is said.
    #[serde(default)]
    #[schemars(schema_with = "words::optional_ref_name")]
    r#ref: Option<String>,
}

impl Endpoint for RefreshSource {
    const OPERATION: Operation = Operation::RefreshSource;
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/v1/sources/{source}/refresh";
    const TAG: &'static str = "provider";
    const SUMMARY: &'static str = "Bring a ref of a source up to date";
    const DESCRIPTION: &'static str = "Answers with the job that does it; one that waits for the same ref already takes the request on. Another ref than the default branch and those that are followed is kept for 14 days: a branch, or the head of a pull request (`refs/pull/7/head`; at GitLab `refs/merge-requests/7/head`).";
    const SUBJECT: &'static str = "source";
    const SUCCESS: StatusCode = StatusCode::ACCEPTED;
    const BODY_OPTIONAL: bool = true;
    fn absent() -> Problem {
        not_registered()
    }
    type Path = SourcePath;
    type Query = Nothing;
    type Body = Asked;
    type Output = JobView;
}

impl Answer for RefreshSource {
    async fn answer(_: &Call, reading: &mut Reading, input: Input<Self>) -> Result<JobView, Problem> {
        let source = found(reading, &input.path.source).await?;
        if let Some(name) = &input.body.r#ref {
            check_ref("ref", name)?;
        }
        let job = refresh(&mut reading.tx, &source, input.body.r#ref.as_deref(), reading.now).await?;
        asked_job(reading, job.id).await
    }
}
