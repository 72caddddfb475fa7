//! `sync_repositories`: which repositories are visible, how fresh and how complete their indexes are.

mod answer;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::arguments::{Arguments, CURSOR, LIMIT, Parameter, REPOSITORY};
use super::error::AnswerError;

pub(super) use answer::answer;

/// What the tool takes.
pub const PARAMETERS: [Parameter; 3] = [LIMIT, CURSOR, REPOSITORY];

/// What is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepositoriesQuestion {
    /// Rows on a page.
    pub limit: u32,
    /// Continue after this page.
    pub cursor: Option<String>,
    /// Only this one.
    pub repository: Option<String>,
}

impl RepositoriesQuestion {
    /// Reads the tool's arguments.
    pub fn read(given: &Map<String, Value>) -> Result<Self, AnswerError> {
        let arguments = Arguments::check(&PARAMETERS, given)?;
        Ok(Self {
            limit: arguments.limit(),
            cursor: arguments.text("cursor"),
            repository: arguments.text("repository"),
        })
    }
}

/// The visible repositories.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Repositories {
    /// By name.
    pub repositories: Vec<RepositoryRow>,
    /// Over all pages.
    pub total: u64,
    /// Continues this page.
    pub next_cursor: Option<String>,
}

/// One repository.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RepositoryRow {
    /// Name, as `repository` takes it.
    pub name: String,
    /// The ref that answers come from where none is named.
    pub default_ref: String,
    /// Other indexed refs, at most 5.
    pub other_refs: Vec<String>,
    /// Commit of the default ref's index.
    pub commit: Option<String>,
    /// When that commit was last stored or confirmed.
    pub indexed_at: Option<String>,
    /// What indexing is doing: `registered`, `indexing`, `indexed`, `gated`, `failed` or `deleting`.
    pub state: String,
    /// Why, where that needs saying.
    pub state_reason: Option<String>,
    /// Why the index is partial, as `too_large: 3`.
    pub partial_reasons: Vec<String>,
    /// The same with the limit that was met, some of the files, and what to do: as many as fit.
    pub partial_details: Vec<PartialDetail>,
    /// What the default ref's index holds.
    pub counts: Option<IndexCounts>,
    /// Whether an index is made by itself: `on`, `off` or `auto`.
    pub gate: Option<String>,
    /// The last job that was asked for, as far as it is not known from the index.
    pub job: Option<JobLine>,
}

/// What was asked to be done to a repository last, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JobLine {
    /// Its id.
    pub id: String,
    /// `reindex` or `erase`.
    pub kind: String,
    /// Which ref.
    pub r#ref: Option<String>,
    /// `queued`, `running`, `done`, `dead` or `cancelled`.
    pub state: String,
    /// Runs that were begun.
    pub attempts: u32,
    /// Why the last run did not end well.
    pub reason: Option<String>,
    /// What to do about it.
    pub next_step: Option<String>,
}

/// One reason for which an index is partial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PartialDetail {
    /// `too_large`, `parse_timeout`, ….
    pub reason: String,
    /// How many files, all told.
    pub count: u64,
    /// Some of them.
    pub files: Vec<String>,
    /// The limit that was met.
    pub limit: Option<String>,
    /// What to do about it.
    pub next_step: Option<String>,
}

/// What an index holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct IndexCounts {
    /// Files.
    pub files: u64,
    /// Call sites, tests included.
    pub call_sites: u64,
    /// Call sites whose operation is not provable.
    pub unmapped: u64,
    /// Call sites by the rung of their binding.
    pub rungs: RungCounts,
    /// Findings in product code.
    pub findings: u64,
    /// Share of the call sites that production spans were seen of, 0 to 1.
    pub telemetry_coverage: f64,
}

/// Call sites by rung.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RungCounts {
    /// From syntax and the catalog.
    #[serde(rename = "static")]
    pub fixed: u64,
    /// Confirmed by the compiler.
    pub resolved: u64,
    /// Confirmed by production.
    pub observed: u64,
    /// Written before rungs were.
    pub unattributed: u64,
}
