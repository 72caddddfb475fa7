//! `PUT /v1/grants/{principal}/{repository}`.

use http::Method;
use sync_core::policy::Operation;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::views::{GrantPath, GrantView};
use crate::audit::Reading;
use crate::http::problem::Problem;

/// Let a member read a repository.
pub(super) struct PutGrant;

impl Endpoint for PutGrant {
    const OPERATION: Operation = Operation::PutGrant;
    const METHOD: Method = Method::PUT;
    const PATH: &'static str = "/v1/grants/{principal}/{repository}";
    const TAG: &'static str = "identity";
    const SUMMARY: &'static str = "Let a member read a repository";
    const DESCRIPTION: &'static str =
        "The grant counts at once, and for members whose `reads_all` is false. One that is there stays as it is.";
    const SUBJECT: &'static str = "member or repository";
    type Path = GrantPath;
    type Query = Nothing;
    type Body = Nothing;
    type Output = GrantView;
}

impl Answer for PutGrant {
    async fn answer(_: &Call, reading: &mut Reading, input: Input<Self>) -> Result<GrantView, Problem> {
        let GrantPath { principal, repository } = input.path;
        let not_found = || Problem::not_found(Self::SUBJECT);
        // Whoever does not read a repository cannot give it to others either.
        let known = repository.find(&mut reading.tx).await?.ok_or_else(not_found)?;
        reading.tx.member(principal).await?.ok_or_else(not_found)?;
        reading.about(known.id, &known.name);
        reading.tx.grant(principal, known.id, reading.now).await?;
        reading.rows(1);
        reading.tx.grant_of(principal, known.id).await?.map(GrantView::from).ok_or_else(Problem::internal)
    }
}
