//! `sync://feed/{vendor}`: a vendor's feed as this service holds it.

use serde::Serialize;

use super::whats_changed::ChangeRow;

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
    /// Where the whole file is.
    pub source: Option<String>,
}
