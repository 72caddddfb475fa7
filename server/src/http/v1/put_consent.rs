//! `PUT /v1/sources/{source}/consent`.

use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use sync_core::policy::Operation;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::repository_named::RepositoryNamed;
use super::source_views::{SourcePath, SourceView, changeable, found};
use crate::audit::Reading;
use crate::http::problem::Problem;
use crate::sources::provider::not_registered;

/// Allow to fetch a source's code, or take that back.
pub(super) struct PutConsent;

/// What is allowed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ConsentChange")]
pub(super) struct Wanted {
    /// That Sync fetches the source's code from where it lies.
    egress: bool,
}

impl Endpoint for PutConsent {
    const OPERATION: Operation = Operation::PutConsent;
    const METHOD: Method = Method::PUT;
    const PATH: &'static str = "/v1/sources/{source}/consent";
    const TAG: &'static str = "provider";
    const SUMMARY: &'static str = "Allow to fetch a source's code, or take that back";
    const DESCRIPTION: &'static str = "Your name and the time are kept with it. Once it is taken back nothing is fetched any more; what is indexed still answers.";
    const SUBJECT: &'static str = "source";
    fn absent() -> Problem {
        not_registered()
    }
    type Path = SourcePath;
    type Query = Nothing;
    type Body = Wanted;
    type Output = SourceView;
}

impl Answer for PutConsent {
    async fn answer(call: &Call, reading: &mut Reading, input: Input<Self>) -> Result<SourceView, Problem> {
        let source = changeable(reading, &input.path.source).await?;
        let by = input.body.egress.then(|| call.principal().name.clone());
        reading.tx.set_egress_consent(source.id, by.as_deref(), reading.now).await?;
        reading.rows(1);
        Ok(found(reading, &RepositoryNamed::Id(source.id)).await?.into())
    }
}
