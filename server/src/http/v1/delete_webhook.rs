//! `DELETE /v1/sources/{source}/webhook`.

use http::Method;
use sync_core::policy::Operation;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::source_views::{SourcePath, found};
use crate::audit::Reading;
use crate::http::problem::Problem;
use crate::sources::provider::not_registered;

/// Forget the endpoint of a source's webhook.
pub(super) struct DeleteWebhook;

impl Endpoint for DeleteWebhook {
    const OPERATION: Operation = Operation::DeleteWebhook;
    const METHOD: Method = Method::DELETE;
    const PATH: &'static str = "/v1/sources/{source}/webhook";
    const TAG: &'static str = "provider";
    const SUMMARY: &'static str = "Forget the endpoint of a source's webhook";
    const DESCRIPTION: &'static str = "Its deliveries are refused from now on, as those to no endpoint are. The source follows its remote by the sweep. Where there is none, nothing happens.";
    const SUBJECT: &'static str = "source";
    fn absent() -> Problem {
        not_registered()
    }
    type Path = SourcePath;
    type Query = Nothing;
    type Body = Nothing;
    type Output = Nothing;
}

impl Answer for DeleteWebhook {
    async fn answer(_: &Call, reading: &mut Reading, input: Input<Self>) -> Result<Nothing, Problem> {
        let source = found(reading, &input.path.source).await?;
        let gone = reading.tx.forget_webhook(source.id).await?;
        reading.rows(usize::from(gone));
        Ok(Nothing {})
    }
}
