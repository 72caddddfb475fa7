//! `sync_whats_at_risk`: which call sites meet a vendor change, and whether it already applies.

mod answer;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use sync_core::change::Severity;
use sync_core::ids::FindingId;

use super::arguments::{Arguments, CURSOR, Kind, LIMIT, MAX_NAME, Parameter, REF, REPOSITORY};
use super::error::AnswerError;
use super::evidence::Evidence;
use super::schema::Opaque;
use super::whats_changed::ChangeRecord;

pub(super) use answer::answer;

/// What the tool takes.
pub const PARAMETERS: [Parameter; 11] = [
    Parameter::optional("path", Kind::Path, "File or directory; default: the whole repository."),
    Parameter::optional("vendor", Kind::Text(MAX_NAME), "Vendor id, as stripe."),
    Parameter::optional(
        "severity",
        Kind::Word(&["breaking", "potentially_breaking", "non_breaking"]),
        "At least this severe.",
    ),
    Parameter::optional(
        "since",
        Kind::Text(MAX_NAME),
        "Only by changes after this: a version label of vendor, a date (2026-01-31) or a change_id.",
    ),
    Parameter::optional("base", Kind::Text(MAX_NAME), "An indexed ref or commit: only findings absent there."),
    Parameter::optional("finding_id", Kind::Text(MAX_NAME), "One finding, with evidence, change and life."),
    Parameter::optional("include_tests", Kind::Flag, "Also call sites in tests, mocks and stories."),
    LIMIT,
    CURSOR,
    REPOSITORY,
    REF,
];

/// What is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WhatsAtRiskQuestion {
    /// File or directory; the whole repository where absent.
    pub path: Option<String>,
    /// Only this vendor.
    pub vendor: Option<String>,
    /// Only findings at least this severe.
    pub severity: Option<Severity>,
    /// Only findings by changes after this version label, date or change.
    pub since: Option<String>,
    /// Only findings that are absent at this indexed ref or commit.
    pub base: Option<String>,
    /// One finding in detail.
    pub finding_id: Option<FindingId>,
    /// Also call sites in tests.
    pub include_tests: bool,
    /// Rows on a page.
    pub limit: u32,
    /// Continue after this page.
    pub cursor: Option<String>,
    /// Repository name.
    pub repository: Option<String>,
    /// Ref name.
    pub ref_name: Option<String>,
}

impl WhatsAtRiskQuestion {
    /// Reads the tool's arguments.
    pub fn read(given: &Map<String, Value>) -> Result<Self, AnswerError> {
        let arguments = Arguments::check(&PARAMETERS, given)?;
        let finding_id = arguments
            .text("finding_id")
            .map(|text| {
                text.parse::<FindingId>().map_err(|_| {
                    let allowed = "a finding_id of sync_whats_at_risk: `fnd_` and 32 hexadecimal digits";
                    AnswerError::invalid_argument("finding_id", &Value::from(text), allowed)
                })
            })
            .transpose()?;
        Ok(Self {
            path: arguments.text("path"),
            vendor: arguments.text("vendor"),
            severity: arguments.text("severity").as_deref().and_then(Severity::parse),
            since: arguments.text("since"),
            base: arguments.text("base"),
            finding_id,
            include_tests: arguments.flag("include_tests"),
            limit: arguments.limit(),
            cursor: arguments.text("cursor"),
            repository: arguments.text("repository"),
            ref_name: arguments.text("ref"),
        })
    }
}

/// What is at risk.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WhatsAtRisk {
    /// Most severe first, then by path and line.
    pub findings: Vec<RiskRow>,
    /// Over all pages.
    pub summary: RiskSummary,
    /// Call sites that were compared with the feeds. An empty list of findings means something only above 0.
    pub call_sites_checked: u64,
    /// Call sites of vendors whose feed was never loaded, which nothing could be compared with.
    pub call_sites_without_feed: u64,
    /// Why nothing could be checked: `path_not_indexed`, `skipped`, `no_vendor_call_sites`, `never_indexed`, `gated`
    /// or `ref_not_indexed`.
    pub reason: Option<String>,
    /// That reason in a sentence, with the next step; or that some call sites were not checked.
    pub explanation: Option<String>,
    /// Findings over all pages.
    pub total: u64,
    /// Continues this page.
    pub next_cursor: Option<String>,
    /// With `finding_id`: what stands behind the one finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Opaque")]
    pub detail: Option<RiskDetail>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RiskRow {
    /// Path of the file.
    pub file: String,
    /// Line of the call.
    pub line: u32,
    /// Qualified name of the enclosing symbol; empty at module level.
    pub symbol: String,
    /// As the vendor writes it.
    pub operation: Option<String>,
    /// Vendor id.
    pub vendor: String,
    /// What kind of change.
    pub change_kind: String,
    /// The field it is about, dotted; absent where it is about none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub field: Option<String>,
    /// For this use.
    pub severity: &'static str,
    /// `now`, `on_date`, `on_upgrade` or `unknown`.
    pub applies: &'static str,
    /// The day on which the vendor switches the old behaviour off.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub sunset: Option<String>,
    /// To ask on.
    pub finding_id: String,
    /// The rung of the binding.
    pub binding_source: String,
    /// `test` for a call in a test; absent for product code.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub context: Option<&'static str>,
}

/// Counts over all pages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RiskSummary {
    /// By severity.
    pub severity: SeverityCounts,
    /// By when it applies.
    pub applies: AppliesCounts,
    /// The vendors with the most findings, at most 5.
    pub vendors: Vec<VendorCount>,
}

/// Findings by severity.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SeverityCounts {
    /// The code stops working.
    pub breaking: u64,
    /// It depends on what is not visible.
    pub potentially_breaking: u64,
    /// Nothing has to change.
    pub non_breaking: u64,
}

/// Findings by when they apply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AppliesCounts {
    /// Already.
    pub now: u64,
    /// On a day to come.
    pub on_date: u64,
    /// When the pinned version is moved.
    pub on_upgrade: u64,
    /// Not known.
    pub unknown: u64,
}

/// Findings of one vendor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VendorCount {
    /// Vendor id.
    pub vendor: String,
    /// How many.
    pub findings: u64,
}

/// What stands behind one finding.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RiskDetail {
    /// Chain as written, never arguments.
    pub chain: String,
    /// Why the severity was lowered: `args_not_visible`, `response_not_visible`.
    pub severity_reason: Option<String>,
    /// The steps that led to the binding, as many as fit.
    pub evidence: Vec<Evidence>,
    /// How many steps there are.
    pub evidence_total: u64,
    /// The vendor change.
    pub change: Option<ChangeRecord>,
    /// What has become of it on this ref.
    pub life: Life,
}

/// The life of a finding on this ref.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Life {
    /// `open`: it is present at this commit.
    pub state: &'static str,
}
