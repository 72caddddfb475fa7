//! `GET /v1/sources`.

use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use sync_core::policy::Operation;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::page::{self, Page};
use super::source_views::SourceView;
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;

/// Which sources there are.
pub(super) struct ListSources;

/// Which of them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// Only the one of exactly this name.
    #[serde(default)]
    #[schemars(schema_with = "words::repository_name")]
    name: Option<String>,
    /// How many at most; 20 where nothing is said.
    #[serde(default)]
    #[schemars(schema_with = "words::limit")]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

impl Endpoint for ListSources {
    const OPERATION: Operation = Operation::ListSources;
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/v1/sources";
    const TAG: &'static str = "provider";
    const SUMMARY: &'static str = "Which sources there are";
    const DESCRIPTION: &'static str = "Those that you may see, by name.";
    type Path = Nothing;
    type Query = Asked;
    type Body = Nothing;
    type Output = Page<SourceView>;
}

impl Answer for ListSources {
    async fn answer(call: &Call, reading: &mut Reading, input: Input<Self>) -> Result<Page<SourceView>, Problem> {
        let query = input.query;
        if query.name.as_deref().is_some_and(|name| !crate::sources::names::is_repository(name)) {
            return Err(Problem::invalid_argument("name", "a repository's name, such as acme/billing"));
        }
        let asked = page::Asked::of::<Self>(call, query.limit, &query.name)?;
        let after = asked.after::<String>(call, query.cursor.as_deref())?;
        let (rows, total) = if let Some(name) = &query.name {
            let found = reading.tx.repository_by_name(name).await?;
            let found = found.filter(|found| after.as_deref().is_none_or(|after| found.name.as_str() > after));
            let total = u64::from(found.is_some());
            (found.into_iter().collect(), total)
        } else {
            let rows = reading.tx.visible_repositories(after.as_deref(), asked.fetch()).await?;
            (rows, reading.tx.count_visible_repositories().await?)
        };
        let rows = rows.into_iter().map(SourceView::from).collect();
        let page = asked.page(call, rows, Some(total), |row: &SourceView| row.name().to_owned())?;
        reading.rows(page.items.len());
        Ok(page)
    }
}
