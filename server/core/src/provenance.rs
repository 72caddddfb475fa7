//! The envelope of every answer: freshness is data (promise 4).

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::rung::BindingSource;

/// What kind of answer it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The question was answered.
    Ok,
    /// What was asked about is not in the index; `reason` says why. Never reads as "safe".
    NotIndexed,
    /// No feed of the vendor was ever loaded.
    NoFeed,
    /// Nothing moved since the version that the caller holds.
    NotModified,
}

/// How fresh a feed is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedState {
    /// Verified lately.
    Fresh,
    /// The last verified check is older than it should be.
    Stale,
    /// Its signature says it is past its time; served on, never adopted anew.
    Expired,
    /// Never loaded.
    None,
}

impl FeedState {
    /// The word used in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Stale => "stale",
            Self::Expired => "expired",
            Self::None => "none",
        }
    }
}

/// One feed behind an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedProvenance {
    /// Vendor id.
    pub vendor: String,
    /// Version of the feed behind the answer; null when none was ever loaded.
    pub version: Option<u64>,
    /// Last verified check.
    #[serde(with = "crate::clock::millis::option")]
    pub fetched_at: Option<OffsetDateTime>,
    /// How fresh that is.
    pub state: FeedState,
}

/// What an equivalent exploration of files would have cost: an estimate from stored sizes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextSavings {
    /// Tokens saved, floored at 0.
    pub tokens: u64,
    /// Files that would have been read.
    pub files: u64,
    /// How it was estimated.
    pub basis: String,
}

/// Bytes of source a token stands for, in the estimate of [`ContextSavings`].
const BYTES_PER_TOKEN: u64 = 4;

impl ContextSavings {
    /// `file_bytes` of `files` files against the answer's own size; `which` names the file set.
    pub fn estimate(files: u64, file_bytes: u64, answer_bytes: u64, which: &str) -> Self {
        Self {
            tokens: (file_bytes / BYTES_PER_TOKEN).saturating_sub(answer_bytes / BYTES_PER_TOKEN),
            files,
            basis: format!("{which}, at {BYTES_PER_TOKEN} bytes a token, less this answer"),
        }
    }
}

/// The envelope: on every answer, every field always present.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// What kind of answer it is.
    pub status: Status,
    /// Repository answered from; null when the answer spans several.
    pub repository: Option<String>,
    /// Ref answered from.
    #[serde(rename = "ref")]
    pub ref_name: Option<String>,
    /// Commit answered from.
    pub commit: Option<String>,
    /// When that commit was last stored or confirmed.
    #[serde(with = "crate::clock::millis::option")]
    pub indexed_at: Option<OffsetDateTime>,
    /// A newer head, when one is known.
    pub head_commit: Option<String>,
    /// Whether something that should have been read was not.
    pub partial: bool,
    /// Why.
    pub partial_reasons: Vec<String>,
    /// The rung of every row, where all agree.
    pub binding_source: Option<BindingSource>,
    /// The oldest `fetched_at` of `feeds`; one that was never loaded has none and is listed with the state `none`.
    #[serde(with = "crate::clock::millis::option")]
    pub feed_fetched_at: Option<OffsetDateTime>,
    /// The feeds behind the answer.
    pub feeds: Vec<FeedProvenance>,
    /// What the answer saved.
    pub context_savings: ContextSavings,
}

impl Envelope {
    /// The oldest instant of the feeds that were ever loaded; null where there are none. Those that were not are listed.
    pub fn oldest(feeds: &[FeedProvenance]) -> Option<OffsetDateTime> {
        feeds.iter().filter_map(|feed| feed.fetched_at).min()
    }
}
