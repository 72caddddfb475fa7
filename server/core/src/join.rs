//! The join: which vendor change meets which call site, and whether it already applies. Pure.

mod index;
mod meet;
mod path;
mod window;

use serde::{Deserialize, Serialize};
use time::Date;

use crate::change::{ChangeKind, Severity};
use crate::graph::{CallSite, Client, Context};
use crate::ids::{ChangeId, FindingId, RepositoryId};
use crate::operation::Operation;
use crate::rung::BindingSource;

pub use index::FeedIndex;

/// Every vendor change of the index that meets a call site, one finding each, sorted by (path, line, chain, change).
///
/// Where the pin is past the change, code has lived with it: there a finding needs a use that can only be of before,
/// and a use that is not visible, or fits both, is none. At the very version of the change it still is one.
///
/// The order of `sites` and of the feeds does not matter. A call site without an operation meets only changes of its
/// SDK's surface; a change of an unknown kind, or an addition, meets nothing.
pub fn join(repository: RepositoryId, sites: &[Site<'_>], index: &FeedIndex<'_>) -> Vec<Finding> {
    let repository = repository.to_string();
    let mut findings = Vec::new();
    for site in sites {
        index.for_each_candidate(site, |change| {
            let Some(met) = meet::meet(change, site) else { return };
            let standing = window::standing(change, site.client, index);
            if standing.is_past && !met.telling {
                return;
            }
            findings.push(Finding {
                finding_id: finding_id(&repository, &change.change_id, site),
                change_id: change.change_id.clone(),
                path: site.path.to_owned(),
                line: site.call.line,
                symbol: site.call.symbol.clone(),
                chain: site.call.chain.clone(),
                vendor: change.vendor.clone(),
                operation: site.call.operation.clone(),
                change_kind: change.change_kind.clone(),
                severity: met.severity,
                window: standing.window,
                reason: met.reason.map(str::to_owned),
                sunset: change.sunset,
                binding_source: BindingSource::Rung(site.call.binding_source),
                context: site.call.context,
            });
        });
    }
    findings.sort_by(|a, b| {
        (&a.path, a.line, &a.chain, &a.change_id, &a.finding_id).cmp(&(
            &b.path,
            b.line,
            &b.chain,
            &b.change_id,
            &b.finding_id,
        ))
    });
    findings
}

/// Hash of (repository, change, path, symbol, chain, n-th in symbol), without ref: the finding keeps its id while its
/// line moves. The symbol carries its ordinal, since two symbols of a file may share a name.
pub fn finding_id(repository: &str, change: &ChangeId, site: &Site<'_>) -> FindingId {
    let call = site.call;
    FindingId::of(&[
        repository,
        change.as_str(),
        site.path,
        &format!("{}#{}", call.symbol, call.symbol_ordinal),
        &call.chain,
        &call.call_ordinal.to_string(),
    ])
}

/// A call site with what the join needs around it.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// Path of its file.
    pub path: &'a str,
    /// The call.
    pub call: &'a CallSite,
    /// Its client, which carries the pins.
    pub client: Option<&'a Client>,
}

/// When a change concerns a call site, as far as pins tell. Independent of the day, so that a stored finding does not
/// age; [`Window::applies`] gives the word of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// The pin is at or past the change.
    Now,
    /// The pin is before the change.
    OnUpgrade,
    /// No pin is known, or it does not compare.
    Unknown,
    /// The change takes effect on a day, whatever the pin.
    Dated(Date),
}

/// The word of the day: `now`, `on_upgrade`, `on_date` or `unknown`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Applies {
    /// It already does.
    Now,
    /// When the pinned version is moved.
    OnUpgrade,
    /// On the sunset day.
    OnDate,
    /// Not known.
    Unknown,
}

impl Applies {
    /// The word used in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::OnUpgrade => "on_upgrade",
            Self::OnDate => "on_date",
            Self::Unknown => "unknown",
        }
    }
}

impl Window {
    /// Whether the change applies on `today`.
    pub fn applies(self, today: Date) -> Applies {
        match self {
            Self::OnUpgrade => Applies::OnUpgrade,
            Self::Unknown => Applies::Unknown,
            Self::Dated(day) if day > today => Applies::OnDate,
            Self::Now | Self::Dated(_) => Applies::Now,
        }
    }

    /// The word and the day under which a row keeps it: `now`, `on_upgrade`, `unknown`, or `dated` with the day.
    pub const fn to_row(self) -> (&'static str, Option<Date>) {
        match self {
            Self::Now => ("now", None),
            Self::OnUpgrade => ("on_upgrade", None),
            Self::Unknown => ("unknown", None),
            Self::Dated(day) => ("dated", Some(day)),
        }
    }

    /// Reads what [`Window::to_row`] wrote; nothing for a word that it does not write.
    pub fn from_row(word: &str, day: Option<Date>) -> Option<Self> {
        match (word, day) {
            ("now", None) => Some(Self::Now),
            ("on_upgrade", None) => Some(Self::OnUpgrade),
            ("unknown", None) => Some(Self::Unknown),
            ("dated", Some(day)) => Some(Self::Dated(day)),
            _ => None,
        }
    }
}

/// A vendor change that meets a call site.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Hash of (repository, change_id, path, symbol, chain, n-th in symbol), without ref.
    pub finding_id: FindingId,
    /// The change.
    pub change_id: ChangeId,
    /// Path of the call site's file.
    pub path: String,
    /// Line of the call site.
    pub line: u32,
    /// Enclosing symbol.
    pub symbol: String,
    /// Chain as written.
    pub chain: String,
    /// Vendor id.
    pub vendor: String,
    /// The call site's operation.
    pub operation: Option<Operation>,
    /// Kind of the change.
    pub change_kind: ChangeKind,
    /// Severity of the change, raised or lowered by the use.
    pub severity: Severity,
    /// When it concerns the call site.
    pub window: Window,
    /// Why the severity was lowered: `args_not_visible`, `value_not_visible`, `response_not_visible`.
    pub reason: Option<String>,
    /// When the vendor switches the old behaviour off.
    pub sunset: Option<Date>,
    /// The binding's rung.
    pub binding_source: BindingSource,
    /// Whether the call stands in a test.
    pub context: Context,
}

#[cfg(test)]
mod tests;
