//! `GET /v1/issuers`.

use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use sync_core::ids::IssuerId;
use sync_core::policy::Operation;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::page::{self, Page};
use super::views::IssuerView;
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;

/// The issuers that the organization trusts.
pub(super) struct ListIssuers;

/// Which of them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// How many at most; 20 where nothing is said.
    #[schemars(schema_with = "words::limit")]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

impl Endpoint for ListIssuers {
    const OPERATION: Operation = Operation::ListIssuers;
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/v1/issuers";
    const TAG: &'static str = "identity";
    const SUMMARY: &'static str = "The issuers that the organization trusts";
    const DESCRIPTION: &'static str = "Whose JSON Web Tokens are accepted for this organization, oldest first. What the operator configured for the whole service is not among them.";
    type Path = Nothing;
    type Query = Asked;
    type Body = Nothing;
    type Output = Page<IssuerView>;
}

impl Answer for ListIssuers {
    async fn answer(call: &Call, reading: &mut Reading, input: Input<Self>) -> Result<Page<IssuerView>, Problem> {
        let query = input.query;
        let asked = page::Asked::of::<Self>(call, query.limit, &())?;
        let after = asked.after::<IssuerId>(call, query.cursor.as_deref())?;
        let (rows, total) = reading.tx.issuers(after, asked.fetch()).await?;
        let rows = rows.into_iter().map(IssuerView::from).collect();
        let page = asked.page(call, rows, Some(total), |row| row.id)?;
        reading.rows(page.items.len());
        Ok(page)
    }
}
