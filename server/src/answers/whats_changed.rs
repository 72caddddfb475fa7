//! `sync_whats_changed`: what a vendor changed, and how much of it is used here.

mod answer;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use sync_core::ids::ChangeId;

use super::arguments::{Arguments, CURSOR, Kind, LIMIT, MAX_NAME, Parameter, REF, REPOSITORY};
use super::error::AnswerError;
use super::schema::Opaque;

pub(super) use answer::answer;

/// What the tool takes.
pub const PARAMETERS: [Parameter; 7] = [
    Parameter::required("vendor", Kind::Text(MAX_NAME), "Vendor id, as stripe."),
    Parameter::optional(
        "since",
        Kind::Text(MAX_NAME),
        "Only after this: an exact version label, a date (2026-01-31) or a change_id.",
    ),
    Parameter::optional("change_id", Kind::Text(MAX_NAME), "The full record of one change."),
    LIMIT,
    CURSOR,
    REPOSITORY,
    REF,
];

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhatsChangedQuestion {
    /// Vendor id.
    pub vendor: String,
    /// Only changes after this version label, date or change.
    pub since: Option<String>,
    /// One change in full.
    pub change_id: Option<ChangeId>,
    /// Rows on a page.
    pub limit: u32,
    /// Continue after this page.
    pub cursor: Option<String>,
    /// Repository in which `used_here` is counted; all visible ones where absent.
    pub repository: Option<String>,
    /// Ref name.
    pub ref_name: Option<String>,
}

impl WhatsChangedQuestion {
    /// Reads the tool's arguments.
    pub fn read(given: &Map<String, Value>) -> Result<Self, AnswerError> {
        let arguments = Arguments::check(&PARAMETERS, given)?;
        let change_id = arguments
            .text("change_id")
            .map(|text| {
                text.parse::<ChangeId>().map_err(|_| {
                    let allowed = "a change_id of sync_whats_changed: `chg_` and 32 hexadecimal digits";
                    AnswerError::invalid_argument("change_id", &Value::from(text), allowed)
                })
            })
            .transpose()?;
        Ok(Self {
            vendor: arguments.text("vendor").unwrap_or_default(),
            since: arguments.text("since"),
            change_id,
            limit: arguments.limit(),
            cursor: arguments.text("cursor"),
            repository: arguments.text("repository"),
            ref_name: arguments.text("ref"),
        })
    }
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WhatsChanged {
    /// Newest first, one row a group.
    pub changes: Vec<ChangeRow>,
    /// Groups over all pages.
    pub total: u64,
    /// Continues this page.
    pub next_cursor: Option<String>,
    /// Why there is nothing, or why `used_here` is not known.
    pub reason: Option<String>,
    /// That reason in a sentence, with the next step.
    pub explanation: Option<String>,
    /// With `change_id`: the full record.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Opaque")]
    pub change: Option<ChangeRecord>,
}

/// One group of changes: one edit of the vendor, which may have surfaced in several operations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangeRow {
    /// Of the group's first change.
    pub change_id: String,
    /// Its operation; null where it is about the SDK or the client.
    pub operation: Option<String>,
    /// How many further changes are in the group; absent where none.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(extend("type" = "integer"))]
    pub more_in_group: u64,
    /// What kind of change.
    pub change_kind: String,
    /// The field it is about; absent where it is about none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub field: Option<String>,
    /// JSON pointer into the vendor's schema.
    pub path_ptr: Option<String>,
    /// Before the use at a call site is known.
    pub severity: &'static str,
    /// The last version label without the change.
    pub from_version: Option<String>,
    /// The first version label with it.
    pub to_version: Option<String>,
    /// The day of publication.
    pub published_at: Option<String>,
    /// Call sites of the group's operations in the repository; null where that is not known.
    pub used_here: Option<u64>,
}

/// The full record of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangeRecord {
    /// Hash of what the change is.
    pub change_id: String,
    /// Vendor id.
    pub vendor: String,
    /// The operation.
    pub operation: Option<String>,
    /// What kind of change.
    pub change_kind: String,
    /// Where in the operation.
    pub location: String,
    /// Dotted field; empty where the change has none.
    pub field: String,
    /// JSON pointer into the vendor's schema.
    pub path_ptr: Option<String>,
    /// The enum value that came or went.
    pub value: Option<String>,
    /// What was there before, in the vendor's words.
    pub old: Option<String>,
    /// What is there now, in the vendor's words.
    pub new: Option<String>,
    /// Before the use at a call site is known.
    pub severity: &'static str,
    /// `api`, `sdk`, or null: by date alone.
    pub axis: Option<&'static str>,
    /// Package, on the SDK axis.
    pub package: Option<String>,
    /// Member chain of the SDK.
    pub chain: Option<String>,
    /// The last version label without the change.
    pub from_version: Option<String>,
    /// The first version label with it.
    pub to_version: Option<String>,
    /// The day on which the vendor switches the old behaviour off.
    pub sunset: Option<String>,
    /// The day of publication.
    pub published_at: Option<String>,
    /// What to use instead.
    pub replacement: Option<String>,
    /// `declared` by the vendor, or `derived` from two specifications.
    pub confidence: &'static str,
    /// Shared by the changes of one edit.
    pub group_id: String,
    /// Where the vendor says so.
    pub changelog_url: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
