//! Findings of a ref's current index, made by the join.

use serde::{Deserialize, Serialize};
use sync_core::change::Severity;
use sync_core::ids::FindingId;
use sync_core::join::{Finding, Window};
use time::OffsetDateTime;

use crate::error::StoreError;
use crate::feed::{JoinedFeed, Since};
use crate::indexes::Index;
use crate::tx::Tx;

/// Which findings are meant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FindingFilter {
    /// A file, or a folder with everything below it.
    pub path: Option<String>,
    /// Vendor id.
    pub vendor: Option<String>,
    /// At least this severe.
    pub severity: Option<Severity>,
    /// By changes after this.
    pub since: Option<Since>,
    /// Findings of call sites in tests too.
    pub include_tests: bool,
    /// Not these (the findings of a base).
    pub absent_from: Option<Vec<FindingId>>,
}

/// A finding's place in the order of pages: severest first, then path, line, id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingPosition {
    /// Its severity.
    pub severity: Severity,
    /// Path of its call site.
    pub path: String,
    /// Line of its call site.
    pub line: u32,
    /// Its id.
    pub finding_id: FindingId,
}

/// A stored finding.
#[derive(Debug, Clone, PartialEq)]
pub struct FindingRow {
    /// As the join made it.
    pub finding: Finding,
}

impl FindingRow {
    /// Where the next page goes on.
    pub fn position(&self) -> FindingPosition {
        FindingPosition {
            severity: self.finding.severity,
            path: self.finding.path.clone(),
            line: self.finding.line,
            finding_id: self.finding.finding_id.clone(),
        }
    }
}

/// Findings alike, counted over all pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryRow {
    /// Vendor id.
    pub vendor: String,
    /// Severity.
    pub severity: Severity,
    /// When they concern the call site; the clock makes `applies` of it.
    pub window: Window,
    /// How many.
    pub findings: u64,
}

impl Tx {
    /// Replaces the findings of a current index, and says which feed versions were joined. Refuses a rung that nothing
    /// established. Needs the repository's lock.
    pub async fn replace_findings(
        &mut self,
        index: &Index,
        findings: &[Finding],
        feeds: &[JoinedFeed],
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        let _ = (index, findings, feeds, now);
        Err(crate::tx::pending())
    }

    /// A page of findings in the order of [`FindingPosition`], after `after`, at most `limit`.
    pub async fn findings(
        &mut self,
        index: &Index,
        filter: &FindingFilter,
        after: Option<&FindingPosition>,
        limit: u32,
    ) -> Result<Vec<FindingRow>, StoreError> {
        let _ = (index, filter, after, limit);
        Err(crate::tx::pending())
    }

    /// Counts of all findings that meet the filter, by vendor, severity and window.
    pub async fn summarize_findings(
        &mut self,
        index: &Index,
        filter: &FindingFilter,
    ) -> Result<Vec<SummaryRow>, StoreError> {
        let _ = (index, filter);
        Err(crate::tx::pending())
    }

    /// One finding of an index.
    pub async fn finding(&mut self, index: &Index, id: &FindingId) -> Result<Option<FindingRow>, StoreError> {
        let _ = (index, id);
        Err(crate::tx::pending())
    }

    /// Findings that stand at one call site's line, in page order.
    pub async fn findings_at(&mut self, index: &Index, path: &str, line: u32) -> Result<Vec<FindingRow>, StoreError> {
        let _ = (index, path, line);
        Err(crate::tx::pending())
    }

    /// The ids of every finding of an index, sorted: what a `base` has.
    pub async fn finding_ids(&mut self, index: &Index) -> Result<Vec<FindingId>, StoreError> {
        let _ = index;
        Err(crate::tx::pending())
    }

    /// Which feed versions the findings of an index were joined with, by vendor.
    pub async fn joined_feeds(&mut self, index: &Index) -> Result<Vec<JoinedFeed>, StoreError> {
        let _ = index;
        Err(crate::tx::pending())
    }
}
