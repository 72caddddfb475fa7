//! The join: which vendor change meets which call site, and whether it already applies. Pure.

use serde::{Deserialize, Serialize};
use time::Date;

use crate::change::{ChangeKind, Severity};
use crate::graph::{CallSite, Client, Context};
use crate::ids::{ChangeId, FindingId};
use crate::operation::Operation;
use crate::rung::BindingSource;

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
    /// Why the severity was lowered: `args_not_visible`, `response_not_visible`.
    pub reason: Option<String>,
    /// When the vendor switches the old behaviour off.
    pub sunset: Option<Date>,
    /// The binding's rung.
    pub binding_source: BindingSource,
    /// Whether the call stands in a test.
    pub context: Context,
}
