//! The feed of `syncd dev`: the embedded records, published with a key made in the data directory, which only `dev`
//! trusts, and then verified like any feed.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use time::{Duration, OffsetDateTime};

use super::assemble::vendor_feeds;
use super::keys::KeySet;
use super::publish::{Lifetimes, PublishError, last_version, publish};
use super::records::{embedded_digest, embedded_records};

/// A development feed: what a [`super::Verifier`] needs.
#[derive(Debug, Clone)]
pub struct DevFeed {
    /// Folder that serves it.
    pub dir: PathBuf,
    /// The root to pin.
    pub root: Vec<u8>,
    /// Folder for the verifier's datastore.
    pub datastore: PathBuf,
    /// Its version.
    pub version: u64,
    /// Whether it was published just now.
    pub is_new: bool,
}

/// When what is published is published anew.
#[derive(Debug, Clone, Copy)]
pub struct Renewal {
    /// When less than this of its life is left.
    pub before: Duration,
    /// When its version is below this one, which a consumer has seen already.
    pub at_least: u64,
}

/// What was published last, kept beside the feed.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    version: u64,
    records: String,
    #[serde(with = "time::serde::timestamp")]
    expires: OffsetDateTime,
}

/// Publishes the embedded records below `data_dir`, above every version there and seen, unless the same records are
/// published already and `renewal` does not ask for it.
pub async fn publish_dev(data_dir: &Path, renewal: Renewal, now: OffsetDateTime) -> Result<DevFeed, PublishError> {
    let base = data_dir.join("feed");
    let (key_dir, dir, kept_path) = (base.join("keys"), base.join("public"), base.join("published.json"));
    let mut keys = if KeySet::exists(&key_dir) { KeySet::read(&key_dir)? } else { KeySet::generate(now).await? };
    let records = embedded_digest();
    let serves = |kept: &Kept| {
        kept.records == records
            && kept.version == last_version(&dir)
            && kept.version >= renewal.at_least
            && kept.expires - now >= renewal.before
    };
    let kept = std::fs::read(&kept_path).ok().and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok());
    let (version, is_new) = if let Some(kept) = kept.filter(serves) {
        (kept.version, false)
    } else {
        let feeds = vendor_feeds(&embedded_records()?)?;
        keys.renew_root(now).await?;
        keys.write(&key_dir)?;
        let version = last_version(&dir).max(renewal.at_least) + 1;
        let published = publish(&feeds, &dir, &mut keys, Some(version), now, Lifetimes::default()).await?;
        keep(&kept_path, &Kept { version, records, expires: published.expires })?;
        (version, true)
    };
    Ok(DevFeed { dir, root: keys.pinned_root().to_vec(), datastore: base.join("seen"), version, is_new })
}

/// Lost at a kill, or stale: then it is published once more, which does no harm.
fn keep(path: &Path, kept: &Kept) -> Result<(), PublishError> {
    let bytes = serde_json::to_vec(kept).map_err(|error| PublishError::Sign(error.to_string()))?;
    std::fs::write(path, bytes).map_err(|error| PublishError::File { path: path.to_owned(), reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_is_published_once_and_anew_before_it_expires() {
        let folder = tempfile::tempdir().unwrap();
        let begin = OffsetDateTime::UNIX_EPOCH + Duration::days(20_000);
        let renewal = Renewal { before: Duration::days(7), at_least: 0 };
        let mut seen = Vec::new();
        for (now, at_least) in [
            (begin, 0),
            (begin + Duration::days(1), 0),
            (begin + Duration::days(8), 0),
            (begin + Duration::days(9), 2),
            (begin + Duration::days(9), 5),
        ] {
            let feed = publish_dev(folder.path(), Renewal { at_least, ..renewal }, now).await.unwrap();
            seen.push((feed.version, feed.is_new));
        }
        assert_eq!(seen, [(1, true), (1, false), (2, true), (2, false), (6, true)]);
    }
}
