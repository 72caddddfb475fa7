//! How the answer to `sync_explain_call_site` is made.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sync_core::change::VendorChange;
use sync_core::graph::{CallSite, Client};
use sync_core::provenance::{ContextSavings, Envelope, Status};
use sync_store::{CallSiteRow, FindingRow, Index, PathState, Repository};

use super::super::envelope::Answer;
use super::super::error::AnswerError;
use super::super::page::{self, clip, clip_path};
use super::super::target::{self, Absence, Target};
use super::super::{absence, evidence, freshness};
use super::{ExplainCallSite, ExplainQuestion, KnownChange, NearCallSite};
use crate::audit::{Asker, Reading};

/// The most known changes that are listed.
const MAX_CHANGES: u32 = 20;
/// How many near call sites are named where there is none at the line.
const NEAREST: u32 = 3;

/// What the savings are estimated from.
const BASIS: &str = "reading the file and the file of its client";

/// Makes the answer.
pub(in crate::answers) async fn answer(
    reading: &mut Reading,
    asker: &Asker,
    question: &ExplainQuestion,
) -> Result<Answer<ExplainCallSite>, AnswerError> {
    let named = question.repository.as_deref();
    let target = target::find(reading, asker, named, question.ref_name.as_deref(), Some(&question.file)).await?;
    let (repository, index) = match target {
        Target::Index(repository, index) => (repository, index),
        Target::Absent(repository, absence) => {
            let envelope = freshness::without_index(repository.as_ref(), Vec::new());
            return Ok(absent(envelope, question, &absence, Vec::new()));
        }
    };
    let sites = reading.tx.call_sites_at(&index, &question.file, question.line).await?;
    let Some(chosen) = choose(&sites, question) else {
        let envelope = freshness::envelope(&repository, &index, Vec::new());
        return nothing_there(reading, envelope, &index, question).await;
    };
    explain(reading, &repository, &index, &sites, chosen).await
}

/// Several call sites may span a line: that at the column, else the first that starts on the line, else the innermost.
fn choose<'a>(sites: &'a [CallSiteRow], question: &ExplainQuestion) -> Option<&'a CallSiteRow> {
    let at_column = question
        .column
        .and_then(|column| sites.iter().find(|site| site.line == question.line && site.column == column));
    let on_line = || sites.iter().filter(|site| site.line == question.line).min_by_key(|site| site.column);
    at_column.or_else(on_line).or_else(|| sites.first())
}

async fn explain(
    reading: &mut Reading,
    repository: &Repository,
    index: &Index,
    sites: &[CallSiteRow],
    site: &CallSiteRow,
) -> Result<Answer<ExplainCallSite>, AnswerError> {
    let Some((call, bytes)) = reading.tx.call_site(index, &site.path, site.ordinal).await? else {
        tracing::error!(path = site.path, ordinal = site.ordinal, "a call site's row has no facts");
        return Err(AnswerError::internal());
    };
    let client = match &call.client {
        Some(id) => reading.tx.client(index, id).await?,
        None => None,
    };
    let evidence = evidence::resolve(reading, index, &site.path, &call.evidence).await?;
    let (known_changes, known_changes_total) = known_changes(reading, index, site).await?;
    let feeds = freshness::joined(reading, index, [site.vendor.as_str()]).await?;
    let mut envelope = freshness::envelope(repository, index, feeds);
    envelope.binding_source = Some(site.binding_source);
    let mut body = ExplainCallSite {
        evidence,
        known_changes,
        known_changes_total,
        also_on_line: sites.iter().filter(|other| *other != site).take(NEAREST as usize).map(near).collect(),
        ..described(site, &call, client.as_ref())
    };
    body.evidence.truncate(12);
    reading.rows(1);
    let constructed = client.as_ref().and_then(|client| client.constructed_at.split_once('#'));
    let of_client = match constructed {
        Some((path, _)) if path != site.path => reading.tx.file_bytes(index, path).await?,
        _ => None,
    };
    let mut answer = Answer { envelope, body };
    let shortened = shorten(&mut answer)?;
    answer.envelope.context_savings = ContextSavings::estimate(
        1 + u64::from(of_client.is_some()),
        bytes + of_client.unwrap_or_default(),
        shortened as u64,
        BASIS,
    );
    Ok(answer)
}

fn described(site: &CallSiteRow, call: &CallSite, client: Option<&Client>) -> ExplainCallSite {
    let text = |text: &Option<String>| text.as_deref().map(|text| clip(text, page::NAME));
    let list = |list: &[String]| list.iter().map(|text| clip(text, page::NAME)).collect();
    ExplainCallSite {
        file: clip_path(&site.path),
        line: Some(site.line),
        end_line: Some(site.end_line),
        column: Some(site.column),
        symbol: Some(clip(&site.symbol, page::NAME)),
        chain: Some(clip(&site.chain, page::LONG)),
        operation: site.operation.as_ref().map(|operation| clip(operation.as_str(), page::LONG)),
        vendor: Some(clip(&site.vendor, page::WORD)),
        args_keys: list(&call.args_keys),
        args_complete: Some(call.args_complete),
        response_fields_read: list(&call.response_fields_read),
        response_complete: Some(call.response_complete),
        sdk_package: client.and_then(|client| text(&client.package)),
        sdk_version: client.and_then(|client| text(&client.sdk_version)),
        sdk_version_source: client.map(|client| clip(&client.sdk_version_source, page::WORD)),
        api_version: client.and_then(|client| text(&client.api_version)),
        api_version_source: client.map(|client| clip(&client.api_version_source, page::WORD)),
        context: Some(site.context.as_str().to_owned()),
        ..ExplainCallSite::default()
    }
}

/// Changes that meet this call, then the others of its operation.
async fn known_changes(
    reading: &mut Reading,
    index: &Index,
    site: &CallSiteRow,
) -> Result<(Vec<KnownChange>, u64), AnswerError> {
    let today = reading.now.date();
    let mut met: BTreeMap<String, FindingRow> = BTreeMap::new();
    let mut changes: BTreeMap<String, VendorChange> = BTreeMap::new();
    if index.current {
        for (row, change) in reading.tx.findings_at(index, &site.path, site.line).await? {
            if row.finding.chain == site.chain && row.finding.vendor == site.vendor {
                let id = row.finding.change_id.to_string();
                changes.extend(change.map(|change| (id.clone(), change)));
                met.insert(id, row);
            }
        }
    }
    let mut changes: Vec<VendorChange> = changes.into_values().collect();
    let mut total = changes.len() as u64;
    if let Some(operation) = &site.operation {
        let (of_operation, count) =
            reading.tx.changes_of_operation(&site.vendor, &operation.erased(), MAX_CHANGES).await?;
        let beside = |id: &str| !met.contains_key(id);
        let known_beside = met
            .values()
            .filter(|row| row.finding.operation.as_ref().is_none_or(|met| met.erased() != operation.erased()));
        total = count + known_beside.count() as u64;
        changes.extend(of_operation.into_iter().filter(|change| beside(change.change_id.as_str())));
        total = total.max(changes.len() as u64);
    }
    changes.truncate(MAX_CHANGES as usize);
    let listed = changes.into_iter().map(|change| {
        let finding = met.get(change.change_id.as_str()).map(|row| &row.finding);
        KnownChange {
            change_id: change.change_id.to_string(),
            change_kind: clip(change.change_kind.as_str(), page::WORD),
            field: (!change.field.is_empty()).then(|| clip(&change.field, page::NAME)),
            severity: finding.map_or(change.severity, |finding| finding.severity).as_str(),
            finding_id: finding.map(|finding| finding.finding_id.to_string()),
            applies: finding.map(|finding| finding.window.applies(today).as_str()),
        }
    });
    Ok((listed.collect(), total))
}

/// Takes from the end of the longest list until the answer fits; gives its bytes. What was taken is counted.
fn shorten(answer: &mut Answer<ExplainCallSite>) -> Result<usize, AnswerError> {
    let room = page::DEFAULT_BYTES - 120;
    let mut bytes = page::size(answer)?;
    let body = &mut answer.body;
    let mut changes = page::size(&body.known_changes)?;
    let mut fields = page::size(&body.response_fields_read)?;
    let mut arguments = page::size(&body.args_keys)?;
    let mut steps = page::size(&body.evidence)?;
    while bytes > room {
        let longest = changes.max(fields).max(arguments).max(steps);
        let (list, taken) = if longest == changes {
            (&mut changes, body.known_changes.pop().map(|change| page::size(&change)))
        } else if longest == fields {
            body.left_out += 1;
            body.response_complete = Some(false);
            (&mut fields, body.response_fields_read.pop().map(|field| page::size(&field)))
        } else if longest == arguments {
            body.left_out += 1;
            body.args_complete = Some(false);
            (&mut arguments, body.args_keys.pop().map(|key| page::size(&key)))
        } else {
            body.left_out += 1;
            (&mut steps, body.evidence.pop().map(|step| page::size(&step)))
        };
        // With the comma before it.
        let Some(taken) = taken.transpose()?.map(|taken| taken + 1) else { break };
        *list = list.saturating_sub(taken);
        bytes = bytes.saturating_sub(taken);
    }
    Ok(bytes)
}

async fn nothing_there(
    reading: &mut Reading,
    envelope: Envelope,
    index: &Index,
    question: &ExplainQuestion,
) -> Result<Answer<ExplainCallSite>, AnswerError> {
    let file = sync_core::text::shown(&question.file, 120);
    if let Some(absence) = absence::of_path(reading, index, &question.file).await? {
        return Ok(absent(envelope, question, &absence, Vec::new()));
    }
    if let PathState::Folder { .. } = reading.tx.path_state(index, &question.file).await? {
        let absence =
            Absence::new("path_not_indexed", format!("`{file}` is a folder; ask with the path of a file in it."));
        return Ok(absent(envelope, question, &absence, Vec::new()));
    }
    let nearest = reading.tx.nearest_call_sites(index, &question.file, question.line, NEAREST).await?;
    let absence = if nearest.is_empty() {
        Absence::new(
            "no_vendor_call_sites",
            format!("`{file}` is indexed and no call in it was found to reach a vendor."),
        )
    } else {
        Absence::new(
            "no_call_site_at_line",
            format!(
                "No call at line {} of `{file}` was found to reach a vendor. The nearest that do are in `nearest`.",
                question.line
            ),
        )
    };
    let nearest = nearest.iter().map(near).collect();
    Ok(absent(envelope, question, &absence, nearest))
}

fn near(site: &CallSiteRow) -> NearCallSite {
    NearCallSite {
        line: site.line,
        column: site.column,
        chain: clip(&site.chain, page::LONG),
        operation: site.operation.as_ref().map(|operation| clip(operation.as_str(), page::LONG)),
    }
}

fn absent(
    mut envelope: Envelope,
    question: &ExplainQuestion,
    absence: &Absence,
    nearest: Vec<NearCallSite>,
) -> Answer<ExplainCallSite> {
    envelope.status = Status::NotIndexed;
    let body = ExplainCallSite {
        file: clip_path(&question.file),
        reason: Some(absence.reason.to_owned()),
        explanation: Some(clip(&absence.explanation, page::EXPLANATION)),
        nearest,
        ..ExplainCallSite::default()
    };
    Answer { envelope, body }
}

impl ExplainQuestion {
    /// What the audit log digests.
    pub(in crate::answers) fn arguments(&self) -> Value {
        json!({
            "file": self.file, "line": self.line, "column": self.column, "repository": self.repository,
            "ref": self.ref_name,
        })
    }
}
