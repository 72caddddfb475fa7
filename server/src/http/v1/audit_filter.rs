//! What narrows a list of the audit log and an export of it.

use serde::Serialize;
use serde_json::Value;
use sync_store::{AuditFilter, Outcome};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::http::problem::Problem;

/// How long a name, an id or an action may be.
pub(super) const LONGEST: usize = 200;

/// How a call ended, as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ended {
    /// Answered.
    Ok,
    /// The caller may not, or asked for nothing that is.
    Refused,
    /// It failed.
    Error,
    /// It took too long.
    Timeout,
}

/// The parameters as they were given.
#[derive(Debug, Default, Serialize)]
pub(super) struct Narrowing<'a> {
    pub(super) principal: Option<&'a str>,
    pub(super) repository: Option<&'a str>,
    pub(super) action: Option<&'a str>,
    pub(super) outcome: Option<Ended>,
    pub(super) from: Option<&'a str>,
    pub(super) to: Option<&'a str>,
}

impl Narrowing<'_> {
    /// What the store is asked. A principal and a repository are named by id or, as it was at that time, by name.
    pub(super) fn filter(&self) -> Result<AuditFilter, Problem> {
        for (name, text) in [("principal", self.principal), ("repository", self.repository), ("action", self.action)] {
            if text.is_some_and(|text| text.is_empty() || text.chars().count() > LONGEST) {
                return Err(Problem::invalid_argument(name, format!("a text of 1 to {LONGEST} characters")));
            }
        }
        let principal = self.principal.and_then(|text| text.parse().ok());
        let repository = self.repository.and_then(|text| text.parse().ok());
        let name = |text: Option<&str>, is_id: bool| text.filter(|_| !is_id).map(str::to_owned);
        Ok(AuditFilter {
            principal,
            principal_name: name(self.principal, principal.is_some()),
            repository,
            repository_name: name(self.repository, repository.is_some()),
            action: self.action.map(str::to_owned),
            outcome: self.outcome.map(|ended| match ended {
                Ended::Ok => Outcome::Ok,
                Ended::Refused => Outcome::Refused,
                Ended::Error => Outcome::Error,
                Ended::Timeout => Outcome::Timeout,
            }),
            from: instant("from", self.from)?,
            to: instant("to", self.to)?,
            below_xid: None,
            from_xid: None,
        })
    }

    /// The same for the audit row.
    pub(super) fn arguments(&self) -> Value {
        // Plain texts always have their JSON.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// An instant as it is sent.
pub(super) fn instant(name: &str, text: Option<&str>) -> Result<Option<OffsetDateTime>, Problem> {
    text.map(|text| {
        OffsetDateTime::parse(text, &Rfc3339)
            .map_err(|_| Problem::invalid_argument(name, "an instant like 2026-11-30T12:00:00Z"))
    })
    .transpose()
}
