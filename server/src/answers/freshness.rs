//! How fresh what an answer stands on is: by the clock, at the moment of the answer.

use std::collections::BTreeMap;

use sync_core::provenance::{ContextSavings, Envelope, FeedProvenance, FeedState, Status};
use sync_store::{FeedRow, Index, Repository};
use time::{Duration, OffsetDateTime};

use super::error::AnswerError;
use super::page::{self, clip};
use crate::audit::Reading;

/// A feed whose last verified check is older than this is stale: it is checked many times a day where all is well.
pub(super) const STALE_AFTER: Duration = Duration::hours(24);

/// The most feeds an envelope lists, worst state first; `feed_fetched_at` is the oldest of all.
pub(super) const MAX_FEEDS: usize = 8;

/// The most reasons an envelope lists.
const MAX_REASONS: usize = 6;

/// How fresh a feed is at `now`.
pub(super) fn state(feed: &FeedRow, now: OffsetDateTime) -> FeedState {
    if now >= feed.expires_at {
        FeedState::Expired
    } else if now - feed.fetched_at > STALE_AFTER {
        FeedState::Stale
    } else {
        FeedState::Fresh
    }
}

/// The feeds behind an answer about these vendors, by vendor: for each the version that findings were joined with,
/// none where the index was joined with none.
pub(super) async fn joined(
    reading: &mut Reading,
    index: &Index,
    vendors: impl IntoIterator<Item = &str>,
) -> Result<Vec<FeedProvenance>, AnswerError> {
    let vendors: Vec<&str> = vendors.into_iter().collect();
    let joined = reading.tx.feeds_joined(index, &vendors).await?;
    let now = reading.now;
    Ok(vendors
        .into_iter()
        .map(|vendor| match joined.iter().find(|(_, feed)| feed.vendor == vendor) {
            Some((version, feed)) => provenance(feed, Some(*version), now),
            None => never(vendor),
        })
        .collect())
}

/// A kept feed as an envelope lists it.
pub(super) fn provenance(row: &FeedRow, version: Option<u64>, now: OffsetDateTime) -> FeedProvenance {
    FeedProvenance { vendor: row.vendor.clone(), version, fetched_at: Some(row.fetched_at), state: state(row, now) }
}

/// A feed that was never loaded.
pub(super) fn never(vendor: &str) -> FeedProvenance {
    FeedProvenance { vendor: vendor.to_owned(), version: None, fetched_at: None, state: FeedState::None }
}

/// What of the feeds a cursor depends on.
pub(super) fn versions(feeds: &[FeedProvenance]) -> String {
    let mut out = String::new();
    for feed in feeds {
        out.push_str(&feed.vendor);
        out.push('=');
        out.push_str(&feed.version.map_or_else(|| "-".to_owned(), |version| version.to_string()));
        out.push(';');
    }
    out
}

/// The envelope of an answer from an index.
pub(super) fn envelope(repository: &Repository, index: &Index, feeds: Vec<FeedProvenance>) -> Envelope {
    Envelope {
        repository: Some(repository.name.clone()),
        ref_name: Some(clip(&index.ref_name, page::NAME)),
        commit: index.commit.as_deref().map(|commit| clip(commit, 64)),
        indexed_at: Some(index.indexed_at),
        head_commit: newer_head(index),
        partial: index.partial,
        partial_reasons: partial_reasons(index),
        ..without_index(None, feeds)
    }
}

/// The envelope of an answer from no index; from no single one where the repository is absent too.
pub(super) fn without_index(repository: Option<&Repository>, mut feeds: Vec<FeedProvenance>) -> Envelope {
    let feed_fetched_at = Envelope::oldest(&feeds);
    feeds.sort_by(|a, b| worst_first(a.state).cmp(&worst_first(b.state)).then_with(|| a.vendor.cmp(&b.vendor)));
    feeds.truncate(MAX_FEEDS);
    for feed in &mut feeds {
        feed.vendor = clip(&feed.vendor, page::WORD);
    }
    Envelope {
        status: Status::Ok,
        repository: repository.map(|repository| repository.name.clone()),
        ref_name: None,
        commit: None,
        indexed_at: None,
        head_commit: None,
        partial: false,
        partial_reasons: Vec::new(),
        binding_source: None,
        feed_fetched_at,
        feeds,
        context_savings: no_savings(),
    }
}

/// Of an answer that stands for no file.
pub(super) fn no_savings() -> ContextSavings {
    ContextSavings { tokens: 0, files: 0, basis: "no file stands behind this answer".to_owned() }
}

/// Why an index is partial, as `too_large: 3`, the first of them.
fn partial_reasons(index: &Index) -> Vec<String> {
    reasons(index, MAX_REASONS)
}

/// Why an index is partial, as `too_large: 3`, at most so many.
pub(super) fn reasons(index: &Index, most: usize) -> Vec<String> {
    let shown = index.partial_reasons.iter().take(most);
    shown.map(|reason| format!("{}: {}", clip(&reason.reason, page::WORD), reason.count)).collect()
}

/// Counts why an index is partial together with why others are.
pub(super) fn add_reasons(all: &mut BTreeMap<String, u64>, index: &Index) {
    for reason in &index.partial_reasons {
        *all.entry(clip(&reason.reason, page::WORD)).or_default() += reason.count;
    }
}

/// Why several indexes are partial, as an envelope lists it.
pub(super) fn listed(all: &BTreeMap<String, u64>) -> Vec<String> {
    all.iter().take(MAX_REASONS).map(|(reason, count)| format!("{reason}: {count}")).collect()
}

/// The head that is known and not indexed yet.
fn newer_head(index: &Index) -> Option<String> {
    index.head_commit.as_deref().filter(|head| index.commit.as_deref() != Some(*head)).map(|head| clip(head, 64))
}

const fn worst_first(state: FeedState) -> u8 {
    match state {
        FeedState::None => 0,
        FeedState::Expired => 1,
        FeedState::Stale => 2,
        FeedState::Fresh => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(fetched_at: OffsetDateTime, expires_at: OffsetDateTime) -> FeedRow {
        FeedRow {
            vendor: "stripe".to_owned(),
            version: 41,
            fetched_at,
            expires_at,
            license: String::new(),
            source: String::new(),
            changes: 0,
            groups: 0,
        }
    }

    #[test]
    fn a_feed_ages_by_the_clock() {
        let start = OffsetDateTime::UNIX_EPOCH;
        let feed = row(start, start + Duration::days(7));
        assert_eq!(state(&feed, start), FeedState::Fresh);
        assert_eq!(state(&feed, start + STALE_AFTER), FeedState::Fresh);
        assert_eq!(state(&feed, start + STALE_AFTER + Duration::SECOND), FeedState::Stale);
        assert_eq!(state(&feed, start + Duration::days(7)), FeedState::Expired);
    }

    #[test]
    fn the_worst_feeds_are_listed_first_and_the_oldest_instant_is_of_all() {
        let start = OffsetDateTime::UNIX_EPOCH;
        let mut feeds: Vec<FeedProvenance> = (0..20_u64)
            .map(|at| {
                let mut feed = provenance(&row(start, start + Duration::days(7)), Some(at), start + Duration::DAY);
                feed.vendor = format!("v{at:02}");
                feed.fetched_at = Some(start + Duration::hours(at.cast_signed()));
                feed
            })
            .collect();
        feeds[19].state = FeedState::Expired;
        let envelope = without_index(None, feeds.clone());
        assert_eq!(envelope.feeds.len(), MAX_FEEDS);
        assert_eq!(envelope.feeds[0].vendor, "v19");
        assert_eq!(envelope.feed_fetched_at, Some(start));
        // One that was never loaded has no instant, and takes none from the others: that it is missing is in the list.
        feeds.push(never("unknown"));
        let envelope = without_index(None, feeds);
        assert_eq!((envelope.feed_fetched_at, envelope.feeds[0].state), (Some(start), FeedState::None));
        assert_eq!(without_index(None, vec![never("unknown")]).feed_fetched_at, None);
    }
}
