//! `GET /v1/tokens`.

use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use sync_core::ids::{PrincipalId, TokenId};
use sync_core::policy::Operation;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::page::{self, Page};
use super::views::TokenView;
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;

/// The tokens of the organization.
pub(super) struct ListTokens;

/// Which of them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// Only those of this member.
    #[schemars(schema_with = "words::principal_id")]
    principal: Option<PrincipalId>,
    /// How many at most; 20 where nothing is said.
    #[schemars(schema_with = "words::limit")]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

impl Endpoint for ListTokens {
    const OPERATION: Operation = Operation::ListTokens;
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/v1/tokens";
    const TAG: &'static str = "identity";
    const SUMMARY: &'static str = "The tokens of the organization";
    const DESCRIPTION: &'static str = "All of them, oldest first, revoked and expired ones too; with `principal`, those of one member. No secret is among what is shown.";
    type Path = Nothing;
    type Query = Asked;
    type Body = Nothing;
    type Output = Page<TokenView>;
}

impl Answer for ListTokens {
    async fn answer(call: &Call, reading: &mut Reading, input: Input<Self>) -> Result<Page<TokenView>, Problem> {
        let query = input.query;
        let asked = page::Asked::of::<Self>(call, query.limit, &query.principal)?;
        let after = asked.after::<TokenId>(call, query.cursor.as_deref())?;
        let (rows, total) = reading.tx.tokens(query.principal, after, asked.fetch()).await?;
        let rows = rows.into_iter().map(TokenView::from).collect();
        let page = asked.page(call, rows, Some(total), |row| row.id)?;
        reading.rows(page.items.len());
        Ok(page)
    }
}
