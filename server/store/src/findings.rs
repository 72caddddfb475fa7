//! Findings of a ref's current index, made by the join.

use serde::{Deserialize, Serialize};
use sqlx::{FromRow, Postgres, QueryBuilder};
use sync_core::change::{ChangeKind, Severity, VendorChange};
use sync_core::ids::FindingId;
use sync_core::join::{Finding, Window};
use sync_core::operation::Operation;
use sync_core::rung::{BindingSource, Rung};
use time::{Date, OffsetDateTime};

use crate::call_sites::push_path;
use crate::convert::{binding_source, context, count, small, stored, stored_count, text};
use crate::error::StoreError;
use crate::feed::{JoinedFeed, Since, push_since, read_change};
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
        if !self.writer {
            return Err(StoreError::Bug("findings are written in a transaction of Store::begin_write".to_owned()));
        }
        if !index.current {
            return Err(StoreError::Bug("findings are kept for a ref's current index only".to_owned()));
        }
        if let Some(finding) = findings.iter().find(|f| f.binding_source != BindingSource::Rung(Rung::Static)) {
            return Err(StoreError::Refused(format!(
                "finding {} claims the rung `{}`, which nothing established",
                finding.finding_id, finding.binding_source
            )));
        }
        sqlx::query("DELETE FROM sync.findings WHERE ref_key = $1")
            .bind(index.ref_key)
            .execute(self.connection())
            .await?;
        self.write_findings(index.ref_key, findings).await?;
        sqlx::query("DELETE FROM sync.joined_feeds WHERE ref_key = $1")
            .bind(index.ref_key)
            .execute(self.connection())
            .await?;
        sqlx::query(
            "INSERT INTO sync.joined_feeds (ref_key, vendor, version, joined_at)
             SELECT $1, u.vendor, u.version, $4 FROM unnest($2::text[], $3::bigint[]) AS u (vendor, version)",
        )
        .bind(index.ref_key)
        .bind(feeds.iter().map(|feed| feed.vendor.as_str()).collect::<Vec<_>>())
        .bind(feeds.iter().map(|feed| stored_count(feed.version)).collect::<Vec<_>>())
        .bind(now)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// A page of findings in the order of [`FindingPosition`], after `after`, at most `limit`.
    pub async fn findings(
        &mut self,
        index: &Index,
        filter: &FindingFilter,
        after: Option<&FindingPosition>,
        limit: u32,
    ) -> Result<Vec<FindingRow>, StoreError> {
        let mut query = QueryBuilder::new(SELECT_FINDINGS);
        push_filter(&mut query, index, filter);
        if let Some(after) = after {
            let severity = rank(after.severity);
            query.push(" AND f.severity <= ").push_bind(severity);
            query.push(" AND (f.severity < ").push_bind(severity);
            query.push(" OR (f.path, f.line, f.finding_id) > (").push_bind(&after.path);
            query.push(", ").push_bind(stored(after.line));
            query.push(", ").push_bind(after.finding_id.as_str()).push("))");
        }
        query.push(" ORDER BY f.severity DESC, f.path, f.line, f.finding_id LIMIT ").push_bind(i64::from(limit));
        let rows: Vec<FindingColumns> = query.build_query_as().fetch_all(self.connection()).await?;
        rows.into_iter().map(FindingColumns::read).collect()
    }

    /// Counts of all findings that meet the filter, by vendor, severity and window.
    pub async fn summarize_findings(
        &mut self,
        index: &Index,
        filter: &FindingFilter,
    ) -> Result<Vec<SummaryRow>, StoreError> {
        let mut query = QueryBuilder::new(
            "SELECT f.vendor, f.severity, f.window_kind, f.window_date, count(*) FROM sync.findings f WHERE true",
        );
        push_filter(&mut query, index, filter);
        query.push(
            " GROUP BY f.vendor, f.severity, f.window_kind, f.window_date
              ORDER BY f.vendor, f.severity DESC, f.window_kind, f.window_date",
        );
        let rows: Vec<(String, i16, String, Option<Date>, i64)> =
            query.build_query_as().fetch_all(self.connection()).await?;
        rows.into_iter()
            .map(|(vendor, severity, kind, date, n)| {
                Ok(SummaryRow {
                    vendor,
                    severity: severity_of(severity)?,
                    window: window(&kind, date)?,
                    findings: count(n),
                })
            })
            .collect()
    }

    /// One finding of an index.
    pub async fn finding(&mut self, index: &Index, id: &FindingId) -> Result<Option<FindingRow>, StoreError> {
        let mut query = QueryBuilder::new(SELECT_FINDINGS);
        query.push(" AND f.ref_key = ").push_bind(index.ref_key);
        query.push(" AND f.finding_id = ").push_bind(id.as_str());
        query
            .build_query_as::<FindingColumns>()
            .fetch_optional(self.connection())
            .await?
            .map(FindingColumns::read)
            .transpose()
    }

    /// Findings of the call sites that start on a line, in page order, tests too; each with its change, where a feed still
    /// has it.
    pub async fn findings_at(
        &mut self,
        index: &Index,
        path: &str,
        line: u32,
    ) -> Result<Vec<(FindingRow, Option<VendorChange>)>, StoreError> {
        let rows: Vec<FindingAndChange> = sqlx::query_as(
            "SELECT f.finding_id, f.change_id, f.path, f.line, f.symbol, f.chain, f.vendor, f.operation, f.change_kind,
                    f.severity, f.window_kind, f.window_date, f.reason, f.sunset, f.binding_source, f.context,
                    (SELECT c.body::text FROM feed.changes c WHERE c.change_id = f.change_id) AS change
             FROM sync.findings f WHERE f.ref_key = $1 AND f.path = $2 AND f.line = $3
             ORDER BY f.severity DESC, f.path, f.line, f.finding_id",
        )
        .bind(index.ref_key)
        .bind(path)
        .bind(stored(line))
        .fetch_all(self.connection())
        .await?;
        rows.into_iter()
            .map(|row| Ok((row.finding.read()?, row.change.as_deref().map(read_change).transpose()?)))
            .collect()
    }

    /// The ids of every finding of an index, sorted: what a `base` has.
    pub async fn finding_ids(&mut self, index: &Index) -> Result<Vec<FindingId>, StoreError> {
        let rows: Vec<String> =
            sqlx::query_scalar("SELECT finding_id FROM sync.findings WHERE ref_key = $1 ORDER BY finding_id")
                .bind(index.ref_key)
                .fetch_all(self.connection())
                .await?;
        rows.iter().map(|id| id.parse().map_err(|error| StoreError::unreadable("finding id", error))).collect()
    }

    /// Which feed versions the findings of an index were joined with, by vendor.
    pub async fn joined_feeds(&mut self, index: &Index) -> Result<Vec<JoinedFeed>, StoreError> {
        let rows: Vec<(String, i64)> =
            sqlx::query_as("SELECT vendor, version FROM sync.joined_feeds WHERE ref_key = $1 ORDER BY vendor")
                .bind(index.ref_key)
                .fetch_all(self.connection())
                .await?;
        Ok(rows.into_iter().map(|(vendor, version)| JoinedFeed { vendor, version: count(version) }).collect())
    }

    async fn write_findings(&mut self, ref_key: i64, findings: &[Finding]) -> Result<(), StoreError> {
        let texts = |of: fn(&Finding) -> &str| findings.iter().map(|f| text(of(f))).collect::<Vec<_>>();
        let some = |of: fn(&Finding) -> Option<&str>| findings.iter().map(|f| of(f).map(text)).collect::<Vec<_>>();
        let (kinds, dates): (Vec<_>, Vec<_>) = findings.iter().map(|f| window_columns(f.window)).unzip();
        sqlx::query(
            "INSERT INTO sync.findings
                 (ref_key, finding_id, change_id, path, line, symbol, chain, vendor, operation, change_kind, severity,
                  window_kind, window_date, reason, sunset, binding_source, context)
             SELECT $1, u.* FROM unnest($2::text[], $3::text[], $4::text[], $5::integer[], $6::text[], $7::text[],
                                        $8::text[], $9::text[], $10::text[], $11::smallint[], $12::text[],
                                        $13::date[], $14::text[], $15::date[], $16::text[], $17::text[]) AS u",
        )
        .bind(ref_key)
        .bind(texts(|f| f.finding_id.as_str()))
        .bind(texts(|f| f.change_id.as_str()))
        .bind(texts(|f| &f.path))
        .bind(findings.iter().map(|f| stored(f.line)).collect::<Vec<_>>())
        .bind(texts(|f| &f.symbol))
        .bind(texts(|f| &f.chain))
        .bind(texts(|f| &f.vendor))
        .bind(some(|f| f.operation.as_ref().map(Operation::as_str)))
        .bind(texts(|f| f.change_kind.as_str()))
        .bind(findings.iter().map(|f| rank(f.severity)).collect::<Vec<_>>())
        .bind(kinds)
        .bind(dates)
        .bind(some(|f| f.reason.as_deref()))
        .bind(findings.iter().map(|f| f.sunset).collect::<Vec<_>>())
        .bind(texts(|f| f.binding_source.as_str()))
        .bind(texts(|f| f.context.as_str()))
        .execute(self.connection())
        .await?;
        Ok(())
    }
}

/// The columns of [`FindingColumns`]; conditions follow with AND.
const SELECT_FINDINGS: &str =
    "SELECT f.finding_id, f.change_id, f.path, f.line, f.symbol, f.chain, f.vendor, f.operation, f.change_kind,
            f.severity, f.window_kind, f.window_date, f.reason, f.sunset, f.binding_source, f.context
     FROM sync.findings f WHERE true";

fn push_filter(query: &mut QueryBuilder<Postgres>, index: &Index, filter: &FindingFilter) {
    query.push(" AND f.ref_key = ").push_bind(index.ref_key);
    if let Some(path) = &filter.path {
        push_path(query, "f.path", path);
    }
    if let Some(vendor) = &filter.vendor {
        query.push(" AND f.vendor = ").push_bind(vendor.clone());
    }
    if let Some(severity) = filter.severity {
        query.push(" AND f.severity >= ").push_bind(rank(severity));
    }
    if !filter.include_tests {
        query.push(" AND f.context = 'code'");
    }
    if let Some(since) = &filter.since {
        query.push(" AND EXISTS (SELECT FROM feed.changes c WHERE c.change_id = f.change_id");
        push_since(query, since);
        query.push(")");
    }
    if let Some(base) = &filter.absent_from {
        let base: Vec<String> = base.iter().map(ToString::to_string).collect();
        query.push(" AND f.finding_id <> ALL (").push_bind(base).push(")");
    }
}

/// Severities as the rows have them, in their order.
fn rank(severity: Severity) -> i16 {
    match severity {
        Severity::NonBreaking => 0,
        Severity::PotentiallyBreaking => 1,
        Severity::Breaking => 2,
    }
}

fn severity_of(rank: i16) -> Result<Severity, StoreError> {
    match rank {
        0 => Ok(Severity::NonBreaking),
        1 => Ok(Severity::PotentiallyBreaking),
        2 => Ok(Severity::Breaking),
        other => Err(StoreError::unreadable("severity", other)),
    }
}

fn window_columns(window: Window) -> (&'static str, Option<Date>) {
    match window {
        Window::Now => ("now", None),
        Window::OnUpgrade => ("on_upgrade", None),
        Window::Unknown => ("unknown", None),
        Window::Dated(day) => ("dated", Some(day)),
    }
}

fn window(kind: &str, date: Option<Date>) -> Result<Window, StoreError> {
    match (kind, date) {
        ("now", None) => Ok(Window::Now),
        ("on_upgrade", None) => Ok(Window::OnUpgrade),
        ("unknown", None) => Ok(Window::Unknown),
        ("dated", Some(day)) => Ok(Window::Dated(day)),
        (other, _) => Err(StoreError::unreadable("window", other)),
    }
}

#[derive(FromRow)]
struct FindingAndChange {
    #[sqlx(flatten)]
    finding: FindingColumns,
    change: Option<String>,
}

#[derive(FromRow)]
struct FindingColumns {
    finding_id: String,
    change_id: String,
    path: String,
    line: i32,
    symbol: String,
    chain: String,
    vendor: String,
    operation: Option<String>,
    change_kind: String,
    severity: i16,
    window_kind: String,
    window_date: Option<Date>,
    reason: Option<String>,
    sunset: Option<Date>,
    binding_source: String,
    context: String,
}

impl FindingColumns {
    fn read(self) -> Result<FindingRow, StoreError> {
        Ok(FindingRow {
            finding: Finding {
                finding_id: self.finding_id.parse().map_err(|error| StoreError::unreadable("finding id", error))?,
                change_id: self.change_id.parse().map_err(|error| StoreError::unreadable("change id", error))?,
                path: self.path,
                line: small(self.line),
                symbol: self.symbol,
                chain: self.chain,
                vendor: self.vendor,
                operation: self.operation.map(Operation::from_text),
                change_kind: ChangeKind::from_word(&self.change_kind),
                severity: severity_of(self.severity)?,
                window: window(&self.window_kind, self.window_date)?,
                reason: self.reason,
                sunset: self.sunset,
                binding_source: binding_source(&self.binding_source)?,
                context: context(&self.context)?,
            },
        })
    }
}
