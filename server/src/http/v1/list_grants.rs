//! `GET /v1/grants`.

use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use sync_core::ids::{PrincipalId, RepositoryId};
use sync_core::policy::Operation;
use sync_store::GrantFilter;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::page::{self, Page};
use super::repository_named::RepositoryNamed;
use super::views::GrantView;
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;

/// Which members read which repositories.
pub(super) struct ListGrants;

/// Which of them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// Only those of this member.
    #[schemars(schema_with = "words::principal_id")]
    principal: Option<PrincipalId>,
    /// Only those for this repository: its id or its name.
    #[schemars(schema_with = "words::repository_named")]
    repository: Option<RepositoryNamed>,
    /// How many at most; 20 where nothing is said.
    #[schemars(schema_with = "words::limit")]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

impl Endpoint for ListGrants {
    const OPERATION: Operation = Operation::ListGrants;
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/v1/grants";
    const TAG: &'static str = "identity";
    const SUMMARY: &'static str = "Which members read which repositories";
    const DESCRIPTION: &'static str = "Grants count for members whose `reads_all` is false; who reads all needs none.";
    type Path = Nothing;
    type Query = Asked;
    type Body = Nothing;
    type Output = Page<GrantView>;
}

impl Answer for ListGrants {
    async fn answer(call: &Call, reading: &mut Reading, input: Input<Self>) -> Result<Page<GrantView>, Problem> {
        let query = input.query;
        let asked = page::Asked::of::<Self>(call, query.limit, &(query.principal, &query.repository))?;
        let after = asked.after::<(PrincipalId, RepositoryId)>(call, query.cursor.as_deref())?;
        // An id is asked for as it is; a name of nothing has no grants, like an id of nothing.
        let repository = match &query.repository {
            None => None,
            Some(RepositoryNamed::Id(id)) => Some(*id),
            Some(named) => match named.find(&mut reading.tx).await? {
                Some(found) => Some(found.id),
                None => {
                    return asked.page(call, Vec::new(), Some(0), |row: &GrantView| (row.principal, row.repository));
                }
            },
        };
        let filter = GrantFilter { principal: query.principal, repository };
        let (rows, total) = reading.tx.grants(filter, after, asked.fetch()).await?;
        let rows = rows.into_iter().map(GrantView::from).collect();
        let page = asked.page(call, rows, Some(total), |row| (row.principal, row.repository))?;
        reading.rows(page.items.len());
        Ok(page)
    }
}
