//! `sync://feed/{vendor}`: a vendor's feed as this service holds it.

use serde::Serialize;
use sync_core::clock::rfc3339_millis;

use super::cursor::Cursors;
use super::error::AnswerError;
use super::page::{self, clip};
use super::whats_changed::ChangeRow;
use super::{changes, freshness};
use crate::audit::Reading;

/// The most groups that the resource shows.
const MAX_GROUPS: u32 = 50;

/// What the resource shows: header, state, the newest groups, and where the whole file is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeedDocument {
    /// Vendor id.
    pub vendor: String,
    /// Version of the feed; null when none was ever loaded.
    pub version: Option<u64>,
    /// Last verified check.
    pub fetched_at: Option<String>,
    /// `fresh`, `stale`, `expired` or `none`.
    pub state: &'static str,
    /// When its signature ends.
    pub expires_at: Option<String>,
    /// Data licence of the content.
    pub license: Option<String>,
    /// The newest groups of changes, at most 50, fewer where the document grows too large.
    pub changes: Vec<ChangeRow>,
    /// Groups in the whole feed.
    pub total: u64,
    /// The place that the whole file comes from.
    pub source: Option<String>,
}

/// Makes the document.
pub(super) async fn answer(
    reading: &mut Reading,
    cursors: &Cursors,
    vendor: &str,
) -> Result<FeedDocument, AnswerError> {
    let now = reading.now;
    let Some(feed) = reading.tx.feed(vendor).await? else {
        cursors.vendors.must_know(reading, None, vendor).await?;
        return Ok(FeedDocument {
            vendor: clip(vendor, page::WORD),
            version: None,
            fetched_at: None,
            state: sync_core::provenance::FeedState::None.as_str(),
            expires_at: None,
            license: None,
            changes: Vec::new(),
            total: 0,
            source: None,
        });
    };
    let found = reading.tx.changes(vendor, None, None, MAX_GROUPS).await?;
    let mut document = FeedDocument {
        vendor: clip(vendor, page::WORD),
        version: Some(feed.version),
        fetched_at: Some(rfc3339_millis(feed.fetched_at)),
        state: freshness::state(&feed, now).as_str(),
        expires_at: Some(rfc3339_millis(feed.expires_at)),
        license: Some(clip(&feed.license, page::LONG)),
        changes: Vec::new(),
        total: found.total,
        source: Some(clip(&feed.source, page::LONG)),
    };
    let mut rows: Vec<ChangeRow> =
        found.rows.iter().map(|row| changes::row(&row.change, row.group_size, None)).collect();
    rows.truncate(page::fitting(&rows, MAX_GROUPS, &document, page::MAX_BYTES)?);
    reading.rows(rows.len());
    document.changes = rows;
    Ok(document)
}
