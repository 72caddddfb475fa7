//! Lists: `limit`, and a cursor that only goes on where it was given.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::endpoint::{Call, Endpoint};
use crate::http::problem::Problem;

/// How many items of a list are given where the caller says nothing.
pub const DEFAULT_LIMIT: u32 = 20;

/// The most items of one page.
pub const MAX_LIMIT: u32 = 200;

/// One page of a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub struct Page<T> {
    /// The items, in the list's own order.
    pub items: Vec<T>,
    /// Where the next page begins; null where this is the last.
    pub next_cursor: Option<String>,
    /// How many there are on all pages; null where they are not counted.
    pub total: Option<u64>,
}

/// What one page is asked with: who asks which operation with which filters. Its cursors are good for nothing else.
pub struct Asked {
    bound: [String; 4],
    limit: u32,
}

impl Asked {
    /// `filters` is everything of the query but the limit and the cursor.
    pub fn of<E: Endpoint>(call: &Call, limit: Option<u32>, filters: &impl Serialize) -> Result<Self, Problem> {
        let limit = limit.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(Problem::invalid_argument("limit", format!("a whole number from 1 to {MAX_LIMIT}")));
        }
        let filters = serde_json::to_string(filters).map_err(|error| {
            tracing::error!(%error, "filters have no JSON");
            Problem::internal()
        })?;
        let principal = call.principal();
        let bound =
            [principal.organization.to_string(), principal.id.to_string(), E::OPERATION.name().to_owned(), filters];
        Ok(Self { bound, limit })
    }

    /// How many rows to fetch: one more than are given tells whether there is a next page.
    pub fn fetch(&self) -> u32 {
        self.limit + 1
    }

    /// The position after which this page begins.
    pub fn after<P: DeserializeOwned>(&self, call: &Call, cursor: Option<&str>) -> Result<Option<P>, Problem> {
        let bound = self.bound.each_ref().map(String::as_str);
        cursor.map(|cursor| call.app.cursors.open(&bound, cursor).map_err(|_| expired())).transpose()
    }

    /// The page of the rows that were fetched; `position` says where one stands in the list's order.
    pub fn page<T, P: Serialize>(
        &self,
        call: &Call,
        mut rows: Vec<T>,
        total: Option<u64>,
        position: impl Fn(&T) -> P,
    ) -> Result<Page<T>, Problem> {
        let more = rows.len() > self.limit as usize;
        rows.truncate(self.limit as usize);
        let bound = self.bound.each_ref().map(String::as_str);
        let next_cursor = match rows.last().filter(|_| more) {
            None => None,
            Some(last) => Some(call.app.cursors.seal(&bound, &position(last)).map_err(|error| {
                tracing::error!(%error, "a cursor has no JSON");
                Problem::internal()
            })?),
        };
        Ok(Page { items: rows, next_cursor, total })
    }
}

fn expired() -> Problem {
    Problem::new(
        http::StatusCode::BAD_REQUEST,
        "cursor_expired",
        "The cursor is not from this list, these filters or this principal.",
        "Ask again with the same filters and without `cursor`.",
    )
}
