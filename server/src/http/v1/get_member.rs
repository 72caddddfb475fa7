//! `GET /v1/members/{principal}`.

use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use sync_core::ids::PrincipalId;
use sync_core::policy::Operation;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::views::MemberView;
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;

/// One member.
pub(super) struct GetMember;

/// Which member.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Named {
    /// Its id.
    #[schemars(schema_with = "words::principal_id")]
    principal: PrincipalId,
}

impl Endpoint for GetMember {
    const OPERATION: Operation = Operation::GetMember;
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/v1/members/{principal}";
    const TAG: &'static str = "identity";
    const SUMMARY: &'static str = "One member";
    const DESCRIPTION: &'static str = "The member, its role and what it may read.";
    const SUBJECT: &'static str = "member";
    type Path = Named;
    type Query = Nothing;
    type Body = Nothing;
    type Output = MemberView;
}

impl Answer for GetMember {
    async fn answer(_: &Call, reading: &mut Reading, input: Input<Self>) -> Result<MemberView, Problem> {
        let row = reading.tx.member(input.path.principal).await?.ok_or_else(|| Problem::not_found(Self::SUBJECT))?;
        reading.rows(1);
        Ok(row.into())
    }
}
