//! `sync_explain_call_site`: what one line of code depends on, and how that is known.

mod answer;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::arguments::{Arguments, Kind, Parameter, REF, REPOSITORY};
use super::error::AnswerError;
use super::evidence::Evidence;
use super::schema::Opaque;

pub(super) use answer::answer;

/// What the tool takes.
pub const PARAMETERS: [Parameter; 5] = [
    Parameter::required("file", Kind::Path, "File, relative to the repository's root."),
    Parameter::required("line", Kind::Number(1, 10_000_000), "Line of the call, from 1."),
    Parameter::optional("column", Kind::Number(1, 10_000_000), "Column, where several calls share the line."),
    REPOSITORY,
    REF,
];

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainQuestion {
    /// Path of the file.
    pub file: String,
    /// Line of the call.
    pub line: u32,
    /// Column of the call.
    pub column: Option<u32>,
    /// Repository name.
    pub repository: Option<String>,
    /// Ref name.
    pub ref_name: Option<String>,
}

impl ExplainQuestion {
    /// Reads the tool's arguments.
    pub fn read(given: &Map<String, Value>) -> Result<Self, AnswerError> {
        let arguments = Arguments::check(&PARAMETERS, given)?;
        let file = arguments.text("file").ok_or_else(|| {
            let given = given.get("file").cloned().unwrap_or_default();
            AnswerError::invalid_argument("file", &given, "the path of a file, as `src/billing.ts`")
        })?;
        Ok(Self {
            file,
            line: arguments.number("line").unwrap_or(1),
            column: arguments.number("column"),
            repository: arguments.text("repository"),
            ref_name: arguments.text("ref"),
        })
    }
}

/// What a call site depends on. Where there is none at the line, everything is null or empty but `reason`,
/// `explanation` and `nearest`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ExplainCallSite {
    /// Path of the file.
    pub file: String,
    /// Line where the call starts.
    pub line: Option<u32>,
    /// Line where it ends.
    pub end_line: Option<u32>,
    /// Column where it starts, in UTF-16 units.
    pub column: Option<u32>,
    /// Qualified name of the enclosing symbol; empty at module level.
    pub symbol: Option<String>,
    /// Member names and `()`, never arguments.
    pub chain: Option<String>,
    /// As the vendor writes it; null where it is not provable.
    pub operation: Option<String>,
    /// Vendor id.
    pub vendor: Option<String>,
    /// Argument keys visible at the call.
    pub args_keys: Vec<String>,
    /// Whether these are all.
    pub args_complete: Option<bool>,
    /// Response fields read.
    pub response_fields_read: Vec<String>,
    /// Whether these are all.
    pub response_complete: Option<bool>,
    /// Package of the client.
    pub sdk_package: Option<String>,
    /// Version of the package, or the range of the manifest.
    pub sdk_version: Option<String>,
    /// `lockfile`, `manifest_range` or `unknown`.
    pub sdk_version_source: Option<String>,
    /// API version pinned.
    pub api_version: Option<String>,
    /// `literal`, `header`, `sdk_default`, `account_default`, `environment` or `unknown`.
    pub api_version_source: Option<String>,
    /// `test` for a call in a test, else `code`.
    pub context: Option<String>,
    /// The steps that led to the binding.
    pub evidence: Vec<Evidence>,
    /// Changes of the operation, those that meet this call first; at most 20, fewer where the answer grows too large.
    pub known_changes: Vec<KnownChange>,
    /// How many there are.
    pub known_changes_total: u64,
    /// Further call sites on the line.
    #[schemars(with = "Vec<Opaque>")]
    pub also_on_line: Vec<NearCallSite>,
    /// Fields of the call left out of the lists above because the answer grew too large.
    pub left_out: u64,
    /// Why there is no call site to explain: `no_call_site_at_line`, `path_not_indexed`, `skipped`,
    /// `no_vendor_call_sites`, `never_indexed`, `gated` or `ref_not_indexed`.
    pub reason: Option<String>,
    /// That reason in a sentence, with the next step.
    pub explanation: Option<String>,
    /// With `no_call_site_at_line`: the 3 nearest of the file.
    pub nearest: Vec<NearCallSite>,
}

/// A change of the operation, to drill down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KnownChange {
    /// For `sync_whats_changed`.
    pub change_id: String,
    /// What kind of change.
    pub change_kind: String,
    /// The field it is about; absent where it is about none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub field: Option<String>,
    /// Of the finding where it meets this call, else of the change.
    pub severity: &'static str,
    /// For `sync_whats_at_risk`, where the change meets this call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub finding_id: Option<String>,
    /// When it applies, where it meets this call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub applies: Option<&'static str>,
}

/// A call site near by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NearCallSite {
    /// Line where it starts.
    pub line: u32,
    /// Column where it starts.
    pub column: u32,
    /// Chain as written.
    pub chain: String,
    /// As the vendor writes it.
    pub operation: Option<String>,
}
