//! The feed of `syncd dev`: the embedded records, published with a key made in the data directory, which only `dev`
//! trusts, and then verified like any feed.

use std::path::{Path, PathBuf};

use time::OffsetDateTime;

use super::assemble::vendor_feeds;
use super::keys::KeySet;
use super::publish::{Lifetimes, PublishError, Published, publish};
use super::records::embedded_records;

/// A development feed: what a [`super::Verifier`] needs.
#[derive(Debug, Clone)]
pub struct DevFeed {
    /// Folder that serves it.
    pub dir: PathBuf,
    /// The root to pin.
    pub root: Vec<u8>,
    /// Folder for the verifier's datastore.
    pub datastore: PathBuf,
    /// What was published.
    pub published: Published,
}

/// Publishes the embedded records below `data_dir`, one version above the last; call again before it expires.
pub async fn publish_dev(data_dir: &Path, now: OffsetDateTime) -> Result<DevFeed, PublishError> {
    let base = data_dir.join("feed");
    let (key_dir, dir) = (base.join("keys"), base.join("public"));
    let mut keys = if KeySet::exists(&key_dir) { KeySet::read(&key_dir)? } else { KeySet::generate(now).await? };
    let feeds = vendor_feeds(&embedded_records()?)?;
    keys.renew_root(now).await?;
    keys.write(&key_dir)?;
    let published = publish(&feeds, &dir, &mut keys, None, now, Lifetimes::default()).await?;
    Ok(DevFeed { dir, root: keys.pinned_root().to_vec(), datastore: base.join("seen"), published })
}
