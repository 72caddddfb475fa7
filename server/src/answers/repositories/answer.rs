//! How the answer to `sync_repositories` is made.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sync_core::clock::rfc3339_millis;
use sync_core::graph::PartialReason;
use sync_core::rung::{BindingSource, Rung};
use sync_ingest::reason::Reason;
use sync_store::{CallSiteCounts, CallSiteFilter, FindingFilter, Index, Job, Repository};
use time::OffsetDateTime;

use super::super::cursor::{Bound, Cursors};
use super::super::envelope::Answer;
use super::super::error::AnswerError;
use super::super::freshness;
use super::super::page::{self, clip, clip_path};
use super::super::target::{self, Choice};
use super::{IndexCounts, JobLine, PartialDetail, Repositories, RepositoriesQuestion, RepositoryRow, RungCounts};
use crate::audit::{Asker, Reading};

/// The most further refs that a row names.
const MAX_REFS: usize = 5;

/// The most reasons that a row names.
const MAX_REASONS: usize = 20;
/// The most files that a reason names.
const MAX_FILES: usize = 3;

/// Makes the answer.
pub(in crate::answers) async fn answer(
    reading: &mut Reading,
    asker: &Asker,
    cursors: &Cursors,
    question: &RepositoriesQuestion,
) -> Result<Answer<Repositories>, AnswerError> {
    let arguments = json!({"repository": question.repository});
    let bound = Bound::to(asker, "sync_repositories", &arguments, "", "");
    let after: Option<String> = match &question.cursor {
        Some(cursor) => Some(cursors.open(&bound, cursor)?),
        None => None,
    };
    let one = question.repository.is_some() || asker.pinned_repository.is_some();
    let (found, total) = if one {
        match target::choose(reading, asker, question.repository.as_deref(), None).await? {
            Choice::One(repository) => (vec![repository], 1),
            Choice::Several(..) | Choice::None => (Vec::new(), 0),
        }
    } else {
        let found = reading.tx.visible_repositories(after.as_deref(), question.limit + 1).await?;
        (found, reading.tx.count_visible_repositories().await?)
    };
    let envelope = freshness::without_index(None, Vec::new());
    let mut body = Repositories { repositories: Vec::new(), total, next_cursor: None };
    let mut empty = Answer { envelope: envelope.clone(), body: body.clone() };
    let budget = page::budget(question.limit);
    let mut oldest: Option<OffsetDateTime> = None;
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    for (at, repository) in found.iter().enumerate() {
        if at == question.limit as usize {
            break;
        }
        let (row, index) = row(reading, repository, budget).await?;
        body.repositories.push(row);
        // What is not whole of one of them is not whole of the answer.
        let before = empty.envelope.clone();
        if let Some(index) = index.as_ref().filter(|index| index.partial) {
            freshness::add_reasons(&mut reasons, index);
            empty.envelope.partial = true;
            empty.envelope.partial_reasons = freshness::listed(&reasons);
        }
        // The cost of the next row is known only when it is made, so that one too many is taken back.
        if page::fitting(&body.repositories, question.limit, &empty, budget)? < body.repositories.len() {
            body.repositories.pop();
            empty.envelope = before;
            break;
        }
        oldest = oldest.into_iter().chain(index.map(|index| index.indexed_at)).min();
    }
    let mut envelope = empty.envelope;
    let shown = body.repositories.len();
    if shown < found.len()
        && let Some(last) = shown.checked_sub(1).and_then(|at| found.get(at))
    {
        body.next_cursor = Some(cursors.seal(&bound, &last.name)?);
    }
    reading.rows(shown);
    envelope.indexed_at = oldest;
    Ok(Answer { envelope, body })
}

async fn row(
    reading: &mut Reading,
    repository: &Repository,
    budget: usize,
) -> Result<(RepositoryRow, Option<Index>), AnswerError> {
    let indexes = reading.tx.current_indexes(repository.id).await?;
    let index = indexes.iter().find(|index| index.ref_name == repository.default_branch);
    let counts = match index {
        Some(index) => Some(counts(reading, index).await?),
        None => None,
    };
    let other = indexes.iter().filter(|index| index.ref_name != repository.default_branch);
    let row = RepositoryRow {
        name: repository.name.clone(),
        default_ref: clip(&repository.default_branch, page::NAME),
        other_refs: other.take(MAX_REFS).map(|index| clip(&index.ref_name, page::NAME)).collect(),
        commit: index.and_then(|index| index.commit.as_deref()).map(|commit| clip(commit, 64)),
        indexed_at: index.map(|index| rfc3339_millis(index.indexed_at)),
        state: repository.state.as_str().to_owned(),
        state_reason: repository.state_reason.as_deref().map(|reason| clip(reason, page::LONG)),
        partial_reasons: index.map(|index| freshness::reasons(index, MAX_REASONS)).unwrap_or_default(),
        partial_details: match index {
            // The rest of the row has to fit too.
            Some(index) => partial_details(&index.partial_reasons, budget / 5)?,
            None => Vec::new(),
        },
        counts,
        gate: Some(repository.settings.gate.as_str().to_owned()),
        job: reading.tx.jobs_of(repository.id, 1).await?.first().map(job_line),
    };
    Ok((row, index.cloned()))
}

fn job_line(job: &Job) -> JobLine {
    JobLine {
        id: job.id.to_string(),
        kind: job.kind.as_str().to_owned(),
        r#ref: job.ref_name.as_deref().map(|name| clip(name, page::NAME)),
        state: job.state.as_str().to_owned(),
        attempts: job.attempts,
        reason: job.reason.as_deref().map(|reason| clip(reason, page::LONG)),
        next_step: job.next_step.as_deref().map(|next| clip(next, page::LONG)),
    }
}

/// As many of the details as fit, with as many files each.
fn partial_details(reasons: &[PartialReason], budget: usize) -> Result<Vec<PartialDetail>, AnswerError> {
    for most in (1..=MAX_FILES).rev() {
        let details: Vec<_> = reasons.iter().map(|reason| partial_detail(reason, most)).collect();
        if page::size(&details)? <= budget {
            return Ok(details);
        }
    }
    let mut details: Vec<_> = reasons.iter().take(MAX_REASONS).map(|reason| partial_detail(reason, 1)).collect();
    while page::size(&details)? > budget {
        details.pop();
    }
    Ok(details)
}

fn partial_detail(reason: &PartialReason, most: usize) -> PartialDetail {
    PartialDetail {
        reason: clip(&reason.reason, page::WORD),
        count: reason.count,
        files: reason.files.iter().take(most).map(|file| clip_path(file)).collect(),
        limit: reason.limit.as_deref().map(|limit| clip(limit, page::NAME)),
        next_step: Reason::of(&reason.reason).map(|reason| reason.about().next.to_owned()),
    }
}

async fn counts(reading: &mut Reading, index: &Index) -> Result<IndexCounts, AnswerError> {
    let all = CallSiteFilter { include_tests: true, ..CallSiteFilter::default() };
    let sites = reading.tx.count_call_sites(index, &all).await?;
    let findings = reading.tx.summarize_findings(index, &FindingFilter::default()).await?;
    let rungs = rungs(&sites);
    Ok(IndexCounts {
        files: index.counts.files,
        call_sites: sites.call_sites,
        unmapped: sites.call_sites.saturating_sub(sites.mapped),
        telemetry_coverage: share(rungs.observed, sites.call_sites),
        rungs,
        findings: findings.iter().map(|row| row.findings).sum(),
    })
}

fn rungs(sites: &CallSiteCounts) -> RungCounts {
    let of = |wanted| sites.by_binding_source.iter().filter(|(rung, _)| *rung == wanted).map(|(_, count)| count).sum();
    RungCounts {
        fixed: of(BindingSource::Rung(Rung::Static)),
        resolved: of(BindingSource::Rung(Rung::Resolved)),
        observed: of(BindingSource::Rung(Rung::Observed)),
        unattributed: of(BindingSource::Unattributed),
    }
}

/// A share from 0 to 1 with three decimals; 0 of nothing.
fn share(part: u64, whole: u64) -> f64 {
    let thousandths = (part * 1000).checked_div(whole).unwrap_or(0);
    f64::from(u32::try_from(thousandths).unwrap_or(1000)) / 1000.0
}

impl RepositoriesQuestion {
    /// What the audit log digests.
    pub(in crate::answers) fn arguments(&self) -> Value {
        json!({"limit": self.limit, "cursor": self.cursor, "repository": self.repository})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_name_files_limit_and_next_step_as_far_as_there_is_room() {
        let reason = |name: &str, files: &[&str], limit: Option<&str>| PartialReason {
            reason: name.to_owned(),
            count: 9,
            files: files.iter().map(|file| (*file).to_owned()).collect(),
            limit: limit.map(str::to_owned),
        };
        let reasons = [
            reason("parse_error", &["d.ts"], None),
            reason("too_large", &["a.ts", "b.ts", "c.ts", "d.ts"], Some("512 KiB a source")),
        ];
        let files = |budget: usize| -> Vec<Vec<String>> {
            partial_details(&reasons, budget).unwrap().into_iter().map(|detail| detail.files).collect()
        };
        assert_eq!(files(1000), [vec!["d.ts"], vec!["a.ts", "b.ts", "c.ts"]]);
        let all = page::size(&partial_details(&reasons, 1000).unwrap()).unwrap();
        assert_eq!(files(all - 1), [vec!["d.ts"], vec!["a.ts", "b.ts"]]);
        let first = page::size(&partial_details(&reasons[..1], 1000).unwrap()).unwrap();
        assert_eq!(files(first), [vec!["d.ts"]]);
        assert!(files(10).is_empty());
        let detail = partial_details(&reasons, 1000).unwrap().remove(1);
        assert_eq!((detail.reason.as_str(), detail.count), ("too_large", 9));
        assert_eq!(detail.limit.as_deref(), Some("512 KiB a source"));
        assert_eq!(detail.next_step.as_deref(), Some("split the file, or ignore it"));
    }

    #[test]
    fn shares_have_three_decimals_and_nothing_of_nothing_is_0() {
        let as_text = |part, whole| serde_json::to_string(&share(part, whole)).unwrap();
        assert_eq!(as_text(0, 0), "0.0");
        assert_eq!(as_text(1, 3), "0.333");
        assert_eq!(as_text(3, 3), "1.0");
    }
}
