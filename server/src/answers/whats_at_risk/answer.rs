//! How the answer to `sync_whats_at_risk` is made.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sync_core::change::Severity;
use sync_core::graph::Context;
use sync_core::ids::FindingId;
use sync_core::join::{Applies, FeedIndex, Finding, Site, Window, join};
use sync_core::provenance::{ContextSavings, Envelope, FeedProvenance, FeedState, Status};
use sync_core::rung::BindingSource;
use sync_core::text::is_commit;
use sync_store::{CallSiteCounts, CallSiteFilter, FindingFilter, FindingRow, Index, Repository, SummaryRow};
use time::Date;

use super::super::cursor::{self, Bound, Cursors};
use super::super::envelope::Answer;
use super::super::error::{AnswerError, Code};
use super::super::page::{self, clip, clip_path};
use super::super::target::{self, Absence, Target};
use super::super::{absence, changes, evidence, freshness, since};
use super::{
    AppliesCounts, Life, RiskDetail, RiskRow, RiskSummary, SeverityCounts, VendorCount, WhatsAtRisk,
    WhatsAtRiskQuestion,
};
use crate::audit::{Asker, Reading};

/// The most vendors that the summary lists.
const MAX_VENDORS: usize = 5;

/// What the savings of a page of findings are estimated from.
const BASIS: &str = "reading the files of this page's findings";

/// Makes the answer.
pub(in crate::answers) async fn answer(
    reading: &mut Reading,
    asker: &Asker,
    cursors: &Cursors,
    question: &WhatsAtRiskQuestion,
) -> Result<Answer<WhatsAtRisk>, AnswerError> {
    let named = question.repository.as_deref();
    let target = target::find(reading, asker, named, question.ref_name.as_deref(), question.path.as_deref()).await?;
    let (repository, index) = match target {
        Target::Index(repository, index) => (repository, index),
        Target::Absent(repository, absence) => {
            return Ok(absent(freshness::without_index(repository.as_ref(), Vec::new()), &absence, 0));
        }
    };
    if !index.current {
        let envelope = freshness::envelope(&repository, &index, Vec::new());
        let explanation = "That commit is indexed, but findings are kept for the current index of each ref only. Leave `ref` out, or name a ref; sync_explain_call_site answers at this commit.";
        return Ok(absent(envelope, &Absence::new("ref_not_indexed", explanation), 0));
    }
    if let Some(id) = &question.finding_id {
        return one(reading, &repository, &index, question, id).await;
    }
    many(reading, asker, cursors, &repository, &index, question).await
}

async fn many(
    reading: &mut Reading,
    asker: &Asker,
    cursors: &Cursors,
    repository: &Repository,
    index: &Index,
    question: &WhatsAtRiskQuestion,
) -> Result<Answer<WhatsAtRisk>, AnswerError> {
    if let Some(path) = &question.path
        && let Some(absence) = absence::of_path(reading, index, path).await?
    {
        return Ok(absent(freshness::envelope(repository, index, Vec::new()), &absence, 0));
    }
    if let Some(vendor) = &question.vendor {
        cursors.vendors.must_know(reading, Some(index), vendor).await?;
    }
    let sites = CallSiteFilter {
        path: question.path.clone(),
        vendor: question.vendor.clone(),
        include_tests: question.include_tests,
    };
    let counts = reading.tx.count_call_sites(index, &sites).await?;
    let vendors = counts.by_vendor.iter().map(|(vendor, _)| vendor.as_str());
    let feeds = freshness::joined(reading, index, vendors).await?;
    let feed_versions = freshness::versions(&feeds);
    // Of a vendor whose feed was never loaded nothing was compared: its call sites are counted as that, and not as checked.
    let without_feed = counts.call_sites - checked(&counts, &feeds);
    let no_feed = counts.call_sites > 0 && without_feed == counts.call_sites;
    let mut envelope = freshness::envelope(repository, index, feeds);
    if counts.call_sites == 0 {
        let absence = absence::no_call_sites(reading, index, &sites).await?;
        return Ok(absent(envelope, &absence, 0));
    }
    let base = match &question.base {
        Some(base) => Some(base_findings(reading, repository, base).await?),
        None => None,
    };
    if let (Some(None), Some(base)) = (&base, &question.base) {
        let shown = sync_core::text::shown(base, 80);
        let explanation = format!(
            "The base `{shown}` is not indexed, so that nothing can be compared with it. sync_repositories lists the refs that are; of each the last 50 indexed commits are kept."
        );
        return Ok(absent(envelope, &Absence::new("ref_not_indexed", explanation), 0));
    }
    let (absent_from, base_index) = base.flatten().unzip();
    let base_index = base_index.unwrap_or_default();
    let filter = FindingFilter {
        path: question.path.clone(),
        vendor: question.vendor.clone(),
        severity: question.severity,
        since: match &question.since {
            Some(text) => Some(since::read(reading, question.vendor.as_deref(), text).await?),
            None => None,
        },
        include_tests: question.include_tests,
        absent_from,
    };
    let arguments = question.bound_arguments();
    let index_id = format!("{}/{base_index}", index.id);
    let bound = Bound::to(asker, "sync_whats_at_risk", &arguments, &index_id, &feed_versions);
    let after = match &question.cursor {
        None => None,
        Some(cursor) => {
            let id: FindingId = cursors.open(&bound, cursor)?;
            Some(reading.tx.finding(index, &id).await?.ok_or(sync_core::cursor::CursorExpired)?.position())
        }
    };
    let today = reading.now.date();
    let summary = reading.tx.summarize_findings(index, &filter).await?;
    let total = summary.iter().map(|row| row.findings).sum();
    let found = reading.tx.findings(index, &filter, after.as_ref(), question.limit + 1).await?;
    let mut rows = rows(reading, &found, today).await?;

    if no_feed && total == 0 {
        envelope.status = Status::NoFeed;
    }
    let mut body = WhatsAtRisk {
        findings: Vec::new(),
        summary: summarized(&summary, today),
        call_sites_checked: counts.call_sites - without_feed,
        call_sites_without_feed: without_feed,
        reason: None,
        explanation: unchecked(envelope.status, without_feed),
        total,
        next_cursor: None,
        detail: None,
    };
    let empty = Answer { envelope: envelope.clone(), body: body.clone() };
    let fitting = page::fitting(&rows, question.limit, &empty, page::budget(question.limit))?;
    if fitting < rows.len()
        && let Some(last) = found.get(fitting - 1)
    {
        body.next_cursor = Some(cursors.seal(&bound, &last.finding.finding_id)?);
    }
    rows.truncate(fitting);
    reading.rows(rows.len());
    envelope.binding_source = BindingSource::agreed(found.iter().take(fitting).map(|row| row.finding.binding_source));
    body.findings = rows;
    let paths = found.iter().take(fitting).map(|row| row.finding.path.clone()).collect();
    with_savings(reading, index, paths, envelope, body).await
}

async fn one(
    reading: &mut Reading,
    repository: &Repository,
    index: &Index,
    question: &WhatsAtRiskQuestion,
    id: &FindingId,
) -> Result<Answer<WhatsAtRisk>, AnswerError> {
    let Some(row) = reading.tx.finding(index, id).await? else {
        return Err(AnswerError::new(
            Code::FindingNotFound,
            format!("{} at {} has no finding {id}.", repository.name, clip(&index.ref_name, page::NAME)),
            "It may be resolved there, or be of another repository or ref: call sync_whats_at_risk without finding_id.",
        ));
    };
    cursor::unused(question.cursor.as_deref())?;
    let today = reading.now.date();
    let finding = &row.finding;
    let feeds = freshness::joined(reading, index, [finding.vendor.as_str()]).await?;
    let mut envelope = freshness::envelope(repository, index, feeds);
    envelope.binding_source = Some(finding.binding_source);
    let change = reading.tx.change(&finding.change_id).await?;
    let facts = reading.tx.file(index, &finding.path).await?;
    let call = facts.as_ref().and_then(|facts| {
        let same = |call: &&sync_core::graph::CallSite| call.line == finding.line && call.chain == finding.chain;
        facts.call_sites.iter().find(same)
    });
    let mut steps = match call {
        Some(call) => evidence::resolve(reading, index, &finding.path, &call.evidence).await?,
        None => Vec::new(),
    };
    let summary =
        SummaryRow { vendor: finding.vendor.clone(), severity: finding.severity, window: finding.window, findings: 1 };
    let findings = rows(reading, std::slice::from_ref(&row), today).await?;
    reading.rows(1);
    let mut body = WhatsAtRisk {
        findings,
        summary: summarized(&[summary], today),
        call_sites_checked: 1,
        call_sites_without_feed: 0,
        reason: None,
        explanation: None,
        total: 1,
        next_cursor: None,
        detail: Some(RiskDetail {
            chain: clip(&finding.chain, page::LONG),
            severity_reason: finding.reason.as_deref().map(|reason| clip(reason, page::WORD)),
            evidence: Vec::new(),
            evidence_total: steps.len() as u64,
            change: change.map(|row| changes::record(&row.change)),
            life: Life { state: "open" },
        }),
    };
    let without = Answer { envelope: envelope.clone(), body: body.clone() };
    // The steps come last, since the change and the finding cannot be left out.
    let fitting = page::fitting_or_none(&steps, &without, page::DEFAULT_BYTES)?;
    steps.truncate(fitting);
    if let Some(detail) = &mut body.detail {
        detail.evidence = steps;
    }
    with_savings(reading, index, vec![row.finding.path], envelope, body).await
}

/// The findings of the base, and what a cursor depends on of it. The current index of a ref has them stored; those of
/// an older commit are joined anew with the feeds of today, so that only code makes the difference.
async fn base_findings(
    reading: &mut Reading,
    repository: &Repository,
    base: &str,
) -> Result<Option<(Vec<FindingId>, String)>, AnswerError> {
    if let Some(index) = reading.tx.current_index(repository.id, base).await? {
        return Ok(Some((reading.tx.finding_ids(&index).await?, index.id.to_string())));
    }
    if !is_commit(base) {
        return Ok(None);
    }
    let Some(index) = reading.tx.index_by_commit(repository.id, base).await? else { return Ok(None) };
    if index.current {
        return Ok(Some((reading.tx.finding_ids(&index).await?, index.id.to_string())));
    }
    let sites = reading.tx.indexed_sites(&index).await?;
    let mut vendors: Vec<String> = sites.iter().map(|site| site.call.vendor.clone()).collect();
    vendors.sort();
    vendors.dedup();
    let feeds: Vec<_> = reading.tx.vendor_feeds(&vendors).await?.into_iter().map(|(_, feed)| feed).collect();
    let sites: Vec<Site<'_>> =
        sites.iter().map(|site| Site { path: &site.path, call: &site.call, client: site.client.as_ref() }).collect();
    let found = join(repository.id, &sites, &FeedIndex::new(&feeds));
    Ok(Some((found.into_iter().map(|finding| finding.finding_id).collect(), index.id.to_string())))
}

async fn rows(reading: &mut Reading, found: &[FindingRow], today: Date) -> Result<Vec<RiskRow>, AnswerError> {
    let ids: Vec<_> = found.iter().map(|row| row.finding.change_id.clone()).collect();
    let fields: BTreeMap<_, _> = reading
        .tx
        .changes_by_id(&ids)
        .await?
        .into_iter()
        .map(|change| (change.change_id.clone(), change.field))
        .collect();
    let row = |finding: &Finding| RiskRow {
        file: clip_path(&finding.path),
        line: finding.line,
        symbol: clip(&finding.symbol, page::NAME),
        operation: finding.operation.as_ref().map(|operation| clip(operation.as_str(), page::LONG)),
        vendor: clip(&finding.vendor, page::WORD),
        change_kind: clip(finding.change_kind.as_str(), page::WORD),
        field: fields.get(&finding.change_id).filter(|field| !field.is_empty()).map(|field| clip(field, page::NAME)),
        severity: finding.severity.as_str(),
        applies: finding.window.applies(today).as_str(),
        sunset: finding.sunset.map(|day| day.to_string()),
        finding_id: finding.finding_id.to_string(),
        binding_source: finding.binding_source.to_string(),
        context: (finding.context == Context::Test).then_some("test"),
    };
    Ok(found.iter().map(|found| row(&found.finding)).collect())
}

fn summarized(rows: &[SummaryRow], today: Date) -> RiskSummary {
    let mut severity = SeverityCounts::default();
    let mut applies = AppliesCounts::default();
    let mut vendors: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows {
        *match row.severity {
            Severity::Breaking => &mut severity.breaking,
            Severity::PotentiallyBreaking => &mut severity.potentially_breaking,
            Severity::NonBreaking => &mut severity.non_breaking,
        } += row.findings;
        *match Window::applies(row.window, today) {
            Applies::Now => &mut applies.now,
            Applies::OnDate => &mut applies.on_date,
            Applies::OnUpgrade => &mut applies.on_upgrade,
            Applies::Unknown => &mut applies.unknown,
        } += row.findings;
        *vendors.entry(&row.vendor).or_default() += row.findings;
    }
    let mut vendors: Vec<VendorCount> = vendors
        .into_iter()
        .map(|(vendor, findings)| VendorCount { vendor: clip(vendor, page::WORD), findings })
        .collect();
    vendors.sort_by(|a, b| b.findings.cmp(&a.findings).then_with(|| a.vendor.cmp(&b.vendor)));
    vendors.truncate(MAX_VENDORS);
    RiskSummary { severity, applies, vendors }
}

/// How many call sites are of vendors whose feeds they were compared with.
fn checked(counts: &CallSiteCounts, feeds: &[FeedProvenance]) -> u64 {
    let loaded = |vendor: &str| feeds.iter().any(|feed| feed.vendor == vendor && feed.state != FeedState::None);
    counts.by_vendor.iter().filter(|(vendor, _)| loaded(vendor)).map(|(_, count)| count).sum()
}

/// That something was not compared with a feed, where that is so.
fn unchecked(status: Status, without_feed: u64) -> Option<String> {
    if status == Status::NoFeed {
        return Some("No feed of these vendors was ever loaded, so that nothing can be said of what they changed. It does not mean safe.".to_owned());
    }
    (without_feed > 0).then(|| {
        format!("{without_feed} of the call sites were not checked: no feed of their vendors (`feeds` with the state `none`) was ever loaded. It does not mean safe.")
    })
}

fn absent(mut envelope: Envelope, absence: &Absence, call_sites_checked: u64) -> Answer<WhatsAtRisk> {
    envelope.status = Status::NotIndexed;
    let body = WhatsAtRisk {
        findings: Vec::new(),
        summary: RiskSummary::default(),
        call_sites_checked,
        call_sites_without_feed: 0,
        reason: Some(absence.reason.to_owned()),
        explanation: Some(clip(&absence.explanation, page::EXPLANATION)),
        total: 0,
        next_cursor: None,
        detail: None,
    };
    Answer { envelope, body }
}

async fn with_savings(
    reading: &mut Reading,
    index: &Index,
    mut paths: Vec<String>,
    envelope: Envelope,
    body: WhatsAtRisk,
) -> Result<Answer<WhatsAtRisk>, AnswerError> {
    paths.sort();
    paths.dedup();
    let files = reading.tx.file_rows(index, &paths).await?;
    let bytes = files.iter().map(|file| file.bytes).sum();
    let mut answer = Answer { envelope, body };
    answer.envelope.context_savings =
        ContextSavings::estimate(files.len() as u64, bytes, page::size(&answer)? as u64, BASIS);
    Ok(answer)
}

impl WhatsAtRiskQuestion {
    /// What a cursor is bound to: everything that decides which rows there are, and in which order.
    fn bound_arguments(&self) -> Value {
        json!({
            "path": self.path, "vendor": self.vendor, "severity": self.severity, "since": self.since,
            "base": self.base, "include_tests": self.include_tests, "repository": self.repository,
            "ref": self.ref_name,
        })
    }

    /// What the audit log digests.
    pub(in crate::answers) fn arguments(&self) -> Value {
        let mut arguments = self.bound_arguments();
        arguments["finding_id"] = json!(self.finding_id);
        arguments["limit"] = json!(self.limit);
        arguments["cursor"] = json!(self.cursor);
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::date;

    #[test]
    fn the_summary_takes_the_word_of_the_day() {
        let row = |vendor: &str, severity, window, findings| SummaryRow {
            vendor: vendor.to_owned(),
            severity,
            window,
            findings,
        };
        let rows = [
            row("stripe", Severity::Breaking, Window::Dated(date!(2026 - 12 - 01)), 2),
            row("stripe", Severity::PotentiallyBreaking, Window::OnUpgrade, 1),
            row("github", Severity::Breaking, Window::Unknown, 5),
        ];
        let before = summarized(&rows, date!(2026 - 11 - 30));
        assert_eq!((before.applies.on_date, before.applies.now), (2, 0));
        assert_eq!((before.severity.breaking, before.severity.potentially_breaking), (7, 1));
        assert_eq!(before.vendors[0], VendorCount { vendor: "github".to_owned(), findings: 5 });
        let after = summarized(&rows, date!(2026 - 12 - 01));
        assert_eq!((after.applies.on_date, after.applies.now), (0, 2));
    }
}
