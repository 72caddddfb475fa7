//! `GET /v1/usage`.

use std::collections::BTreeMap;

use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sync_core::policy::Operation;
use sync_store::{Holdings, Plan};
use time::{Date, Month};

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use crate::audit::Reading;
use crate::http::problem::Problem;
use crate::usage::month_of;

/// The most months that are shown at once.
const MAX_MONTHS: u8 = 36;

/// What the organization used, by month, and what its plan allows.
pub(super) struct GetUsage;

/// Which months.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// How many months back, this one among them; 3 where nothing is said.
    #[schemars(range(min = 1, max = 36))]
    months: Option<u8>,
}

/// What is used and what may be.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Usage {
    /// What the organization may use.
    plan: PlanView,
    /// What it has at this moment.
    now: Now,
    /// What it used, this month first. Months without any use are left out.
    months: Vec<MonthView>,
}

/// A plan. A limit that is null does not limit.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Plan")]
struct PlanView {
    /// What it is called; the code `over_limit` names it.
    name: String,
    /// Registered sources.
    sources: Option<u64>,
    /// Call sites in the current indexes of all branches.
    call_sites: Option<u64>,
    /// Spans a second.
    spans_per_second: Option<u64>,
    /// Requests a minute, of the whole organization.
    requests_per_minute: Option<u64>,
    /// The tools that may be called; null: all.
    tools: Option<Vec<String>>,
}

/// What an organization has.
#[derive(Debug, Serialize, JsonSchema)]
struct Now {
    /// Registered sources.
    sources: u64,
    /// Call sites in the current indexes of all branches.
    call_sites: u64,
    /// Members that are let in.
    members: u64,
}

/// One month of use.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MonthOfUse")]
struct MonthView {
    /// The month: `2026-11`.
    month: String,
    /// How often each was used: `requests` of known principals, and `tool_calls` among them. Counted to within
    /// seconds; what the audit log holds is exact.
    used: BTreeMap<String, u64>,
}

impl Endpoint for GetUsage {
    const OPERATION: Operation = Operation::GetUsage;
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/v1/usage";
    const TAG: &'static str = "usage";
    const SUMMARY: &'static str = "What is used, by month, and what the plan allows";
    const DESCRIPTION: &'static str =
        "The organization's plan with its limits, what it has now, and what it used in each of the last months.";
    type Path = Nothing;
    type Query = Asked;
    type Body = Nothing;
    type Output = Usage;
}

impl Answer for GetUsage {
    async fn answer(_: &Call, reading: &mut Reading, input: Input<Self>) -> Result<Usage, Problem> {
        let months = input.query.months.unwrap_or(3);
        if !(1..=MAX_MONTHS).contains(&months) {
            return Err(Problem::invalid_argument("months", format!("a whole number from 1 to {MAX_MONTHS}")));
        }
        let this = month_of(reading.now);
        let from = earlier(this, months - 1);
        let plan = reading.tx.plan().await?;
        let Holdings { sources, call_sites, members } = reading.tx.holdings().await?;
        let mut used: Vec<MonthView> = Vec::new();
        for row in reading.tx.usage(from, this).await? {
            let month = format!("{:04}-{:02}", row.month.year(), u8::from(row.month.month()));
            if used.last().is_none_or(|last| last.month != month) {
                used.push(MonthView { month, used: BTreeMap::new() });
            }
            if let Some(last) = used.last_mut() {
                last.used.insert(row.what, row.count);
            }
        }
        reading.rows(used.len());
        let Plan {
            name,
            sources: most_sources,
            call_sites: most_call_sites,
            spans_per_second,
            requests_per_minute,
            tools,
        } = plan;
        Ok(Usage {
            plan: PlanView {
                name,
                sources: most_sources,
                call_sites: most_call_sites,
                spans_per_second,
                requests_per_minute,
                tools,
            },
            now: Now { sources, call_sites, members },
            months: used,
        })
    }
}

/// The first day of the month so many months before.
fn earlier(month: Date, months: u8) -> Date {
    let mut month = month;
    for _ in 0..months {
        let previous = month.month().previous();
        let year = if previous == Month::December { month.year() - 1 } else { month.year() };
        month = Date::from_calendar_date(year, previous, 1).unwrap_or(month);
    }
    month
}

#[cfg(test)]
mod tests {
    use time::macros::date;

    use super::*;

    #[test]
    fn months_before() {
        assert_eq!(earlier(date!(2026 - 11 - 01), 0), date!(2026 - 11 - 01));
        assert_eq!(earlier(date!(2026 - 02 - 01), 2), date!(2025 - 12 - 01));
        assert_eq!(earlier(date!(2026 - 01 - 01), 35), date!(2023 - 02 - 01));
    }
}
