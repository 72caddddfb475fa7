//! `GET /v1/members`.

use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use sync_core::ids::PrincipalId;
use sync_core::policy::Operation;
use sync_core::principal::Role;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::page::{self, Page};
use super::views::MemberView;
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;

/// The members of the organization.
pub(super) struct ListMembers;

/// Which of them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// Only members with this role.
    #[schemars(schema_with = "words::role")]
    role: Option<Role>,
    /// How many at most; 20 where nothing is said.
    #[schemars(schema_with = "words::limit")]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

impl Endpoint for ListMembers {
    const OPERATION: Operation = Operation::ListMembers;
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/v1/members";
    const TAG: &'static str = "identity";
    const SUMMARY: &'static str = "The members of the organization";
    const DESCRIPTION: &'static str = "Everybody and everything that can act in the organization, oldest first: people, and service principals such as CI. With `role`, those of one role.";
    type Path = Nothing;
    type Query = Asked;
    type Body = Nothing;
    type Output = Page<MemberView>;
}

impl Answer for ListMembers {
    async fn answer(call: &Call, reading: &mut Reading, input: Input<Self>) -> Result<Page<MemberView>, Problem> {
        let query = input.query;
        let asked = page::Asked::of::<Self>(call, query.limit, &query.role)?;
        let after = asked.after::<PrincipalId>(call, query.cursor.as_deref())?;
        let (rows, total) = reading.tx.members(query.role, after, asked.fetch()).await?;
        let rows = rows.into_iter().map(MemberView::from).collect();
        let page = asked.page(call, rows, Some(total), |row| row.id)?;
        reading.rows(page.items.len());
        Ok(page)
    }
}
