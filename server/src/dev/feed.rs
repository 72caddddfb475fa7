//! The feed of embedded records: published with a key of this data folder, verified like any feed, and published anew
//! long before it expires.

use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use sync_core::clock::Clock;
use sync_ingest::feed::{Loaded, PublishError, Renewal, Verifier, VerifyError, publish_dev};
use sync_store::{FeedSource, Store, StoreError, VerifiedFeed};
use time::OffsetDateTime;

use super::data_dir::DataDir;
use super::error::DevError;
use super::progress::Progress;
use crate::jobs::refresh_feed;

/// How the store calls the place that this feed comes from.
const SOURCE: &str = "dev";

/// The root that is pinned is the first one.
const ROOT_VERSION: u64 = 1;

/// How often the feed is checked while this runs.
const CHECK_EVERY: Duration = Duration::from_hours(1);

/// Published anew when less than this of its life is left.
const RENEW_BEFORE: time::Duration = time::Duration::days(7);

/// Publishes what is due, verifies it and adopts it; every answer's findings follow.
pub(super) async fn refresh(store: &Store, data: &DataDir, now: OffsetDateTime) -> Result<Refreshed, FeedFailed> {
    let mut tx = store.system("dev").await?;
    let seen = tx.feed_source(SOURCE).await?.map(|source| source.version);
    tx.commit().await?;
    let renewal = Renewal { before: RENEW_BEFORE, at_least: seen.unwrap_or(0) };
    let feed = publish_dev(&data.path(""), renewal, now).await?;
    let address = feed.dir.to_string_lossy();
    let verifier = Verifier::new(&address, feed.root, feed.datastore)?;
    let (version, expires_at, vendors) = match verifier.load(seen, now).await? {
        Loaded::Unchanged { version, expires } => (version, expires, Vec::new()),
        Loaded::New(adopted) => {
            let digest = |vendor: &str| adopted.raw.get(vendor).map(|bytes| hex::encode(Sha256::digest(bytes)));
            let vendors: Vec<_> =
                adopted.feeds.iter().filter_map(|feed| Some((digest(&feed.vendor)?, feed.clone()))).collect();
            (adopted.version, adopted.expires, vendors)
        }
    };
    let source =
        FeedSource { name: SOURCE.to_owned(), root_version: ROOT_VERSION, version, expires_at, checked_at: now };
    let feeds: Vec<_> =
        vendors.iter().map(|(sha256, feed)| VerifiedFeed { version, sha256: sha256.as_str(), feed }).collect();
    let changed = refresh_feed::adopt(store, &source, &feeds, now).await?;
    Ok(Refreshed { version, changed })
}

/// What a refresh did.
pub(super) struct Refreshed {
    version: u64,
    changed: Vec<String>,
}

impl Refreshed {
    /// Says it.
    pub(super) fn tell(&self, progress: Progress) {
        let changed = if self.changed.is_empty() { "nothing new".to_owned() } else { self.changed.join(", ") };
        progress.say(&format!("feed version {} is verified: {changed}", self.version));
    }
}

/// Checks the feed now and then for as long as the process runs. A failure leaves the last good feed, with its age.
pub(super) async fn keep_fresh(store: Store, data: Arc<DataDir>, clock: Arc<dyn Clock>, progress: Progress) {
    loop {
        tokio::time::sleep(CHECK_EVERY).await;
        if let Err(error) = refresh(&store, &data, clock.now()).await {
            progress.say(&format!("the feed could not be refreshed: {}", DevError::from(error)));
        }
    }
}

/// Why there is no feed.
#[derive(Debug, thiserror::Error)]
pub(super) enum FeedFailed {
    #[error(transparent)]
    Publish(#[from] PublishError),
    #[error(transparent)]
    Verify(#[from] VerifyError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<FeedFailed> for DevError {
    fn from(error: FeedFailed) -> Self {
        match error {
            FeedFailed::Store(error) => error.into(),
            other => Self::said(&other.to_string()),
        }
    }
}
