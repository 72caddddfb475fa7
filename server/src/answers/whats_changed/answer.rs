//! How the answer to `sync_whats_changed` is made.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sync_core::ids::ChangeId;
use sync_core::provenance::{Envelope, FeedProvenance, Status};
use sync_store::{ChangeRow as StoredChange, Index, Repository};

use super::super::cursor::{self, Bound, Cursors};
use super::super::envelope::Answer;
use super::super::error::{AnswerError, Code};
use super::super::page::{self, clip};
use super::super::target::{self, Absence, Choice, Target};
use super::super::{changes, freshness, since};
use super::{WhatsChanged, WhatsChangedQuestion};
use crate::audit::{Asker, Reading};

/// Makes the answer.
pub(in crate::answers) async fn answer(
    reading: &mut Reading,
    asker: &Asker,
    cursors: &Cursors,
    question: &WhatsChangedQuestion,
) -> Result<Answer<WhatsChanged>, AnswerError> {
    let here = here(reading, asker, question).await?;
    let now = reading.now;
    let Some(feed) = reading.tx.feed(&question.vendor).await? else {
        cursors.vendors.must_know(reading, here.index(), &question.vendor).await?;
        let mut envelope = here.envelope(vec![freshness::never(&question.vendor)]);
        envelope.status = Status::NoFeed;
        let shown = sync_core::text::shown(&question.vendor, 60);
        let explanation = format!("No feed of {shown} was ever loaded, so that nothing is known of what it changed.");
        return Ok(Answer { envelope, body: empty(Some(Absence::new("no_feed", explanation))) });
    };
    let feeds = vec![freshness::provenance(&feed, Some(feed.version), now)];
    if let Some(id) = &question.change_id {
        cursor::unused(question.cursor.as_deref())?;
        return one(reading, &here, feeds, question, id).await;
    }
    let bound = {
        let index = here.index().map(|index| index.id.to_string()).unwrap_or_default();
        let arguments = question.bound_arguments();
        Bound::to(asker, "sync_whats_changed", &arguments, &index, &freshness::versions(&feeds))
    };
    let since = match &question.since {
        Some(text) => Some(since::read(reading, Some(&question.vendor), text).await?),
        None => None,
    };
    let after: Option<u32> = match &question.cursor {
        Some(cursor) => Some(cursors.open(&bound, cursor)?),
        None => None,
    };
    let found = reading.tx.changes(&question.vendor, since.as_ref(), after, question.limit + 1).await?;
    let used = used_here(reading, here.index(), &question.vendor, &found.rows).await?;
    let mut rows: Vec<_> = found
        .rows
        .iter()
        .map(|row| {
            let used = used.as_ref().map(|used| used.get(&row.change.group_id).copied().unwrap_or(0));
            changes::row(&row.change, row.group_size, used)
        })
        .collect();
    let envelope = here.envelope(feeds);
    let mut body = WhatsChanged { total: found.total, ..empty(here.absence.clone()) };
    let unfilled = Answer { envelope: envelope.clone(), body: body.clone() };
    let fitting = page::fitting(&rows, question.limit, &unfilled, page::budget(question.limit))?;
    if fitting < rows.len()
        && let Some(last) = found.rows.get(fitting - 1)
    {
        body.next_cursor = Some(cursors.seal(&bound, &last.position)?);
    }
    rows.truncate(fitting);
    reading.rows(rows.len());
    body.changes = rows;
    Ok(Answer { envelope, body })
}

async fn one(
    reading: &mut Reading,
    here: &Here,
    feeds: Vec<FeedProvenance>,
    question: &WhatsChangedQuestion,
    id: &ChangeId,
) -> Result<Answer<WhatsChanged>, AnswerError> {
    let row = reading.tx.change(id).await?.filter(|row| row.change.vendor == question.vendor);
    let Some(row) = row else {
        return Err(AnswerError::new(
            Code::ChangeNotFound,
            format!("The feed of {} has no change {id}.", sync_core::text::shown(&question.vendor, 60)),
            "Call sync_whats_changed with the vendor alone to list its changes.",
        ));
    };
    let rows = [row];
    let used = used_here(reading, here.index(), &question.vendor, &rows).await?;
    let [row] = &rows;
    let used = used.as_ref().map(|used| used.get(&row.change.group_id).copied().unwrap_or(0));
    reading.rows(1);
    let body = WhatsChanged {
        changes: vec![changes::row(&row.change, row.group_size, used)],
        total: 1,
        change: Some(changes::record(&row.change)),
        ..empty(here.absence.clone())
    };
    Ok(Answer { envelope: here.envelope(feeds), body })
}

/// Where `used_here` is counted. Changes are the same everywhere, so that this question is answered without it too.
#[derive(Debug)]
struct Here {
    repository: Option<Repository>,
    index: Option<Box<Index>>,
    absence: Option<Absence>,
}

impl Here {
    fn index(&self) -> Option<&Index> {
        self.index.as_deref()
    }

    fn envelope(&self, feeds: Vec<FeedProvenance>) -> Envelope {
        match (&self.repository, &self.index) {
            (Some(repository), Some(index)) => freshness::envelope(repository, index, feeds),
            (repository, _) => freshness::without_index(repository.as_ref(), feeds),
        }
    }
}

async fn here(reading: &mut Reading, asker: &Asker, question: &WhatsChangedQuestion) -> Result<Here, AnswerError> {
    let nowhere = |repository, absence| Here { repository, index: None, absence };
    Ok(match target::choose(reading, asker, question.repository.as_deref(), None).await? {
        Choice::One(repository) => match target::index_of(reading, repository, question.ref_name.as_deref()).await? {
            Target::Index(repository, index) => {
                Here { repository: Some(repository), index: Some(index), absence: None }
            }
            Target::Absent(repository, absence) => nowhere(repository, Some(absence)),
        },
        Choice::Several(names, total) => {
            let mut explanation =
                format!("used_here is null: {total} repositories are visible to you. Name one with `repository`: ");
            explanation.push_str(&names.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", "));
            nowhere(None, Some(Absence::new("repository_required", explanation)))
        }
        Choice::None => {
            nowhere(None, Some(Absence::new("never_indexed", "used_here is null: no repository is visible to you.")))
        }
    })
}

/// Call sites in product code by group: those of the group's operations. A group about no operation has none.
async fn used_here(
    reading: &mut Reading,
    index: Option<&Index>,
    vendor: &str,
    rows: &[StoredChange],
) -> Result<Option<BTreeMap<String, u64>>, AnswerError> {
    let Some(index) = index else { return Ok(None) };
    let calls: BTreeMap<String, u64> = reading
        .tx
        .operations_used(index, vendor)
        .await?
        .into_iter()
        .map(|used| (used.operation_erased, used.call_sites))
        .collect();
    let groups: Vec<String> = rows.iter().map(|row| row.change.group_id.clone()).collect();
    let mut used: BTreeMap<String, u64> = BTreeMap::new();
    for (group, operation) in reading.tx.operations_of_groups(vendor, &groups).await? {
        *used.entry(group).or_default() += calls.get(&operation).copied().unwrap_or(0);
    }
    Ok(Some(used))
}

fn empty(absence: Option<Absence>) -> WhatsChanged {
    WhatsChanged {
        changes: Vec::new(),
        total: 0,
        next_cursor: None,
        reason: absence.as_ref().map(|absence| absence.reason.to_owned()),
        explanation: absence.map(|absence| clip(&absence.explanation, page::EXPLANATION)),
        change: None,
    }
}

impl WhatsChangedQuestion {
    /// What a cursor is bound to.
    fn bound_arguments(&self) -> Value {
        json!({"vendor": self.vendor, "since": self.since, "repository": self.repository, "ref": self.ref_name})
    }

    /// What the audit log digests.
    pub(in crate::answers) fn arguments(&self) -> Value {
        let mut arguments = self.bound_arguments();
        arguments["change_id"] = json!(self.change_id);
        arguments["limit"] = json!(self.limit);
        arguments["cursor"] = json!(self.cursor);
        arguments
    }
}
