//! Every way in which a served feed can be wrong, and those in which it is right.

use std::path::{Path, PathBuf};

use sync_core::change::VendorFeed;
use time::macros::datetime;
use time::{Duration, OffsetDateTime};

use super::embedded_feeds;
use crate::feed::keys::KeySet;
use crate::feed::publish::{Lifetimes, PublishError, publish};
use crate::feed::verify::{Loaded, VerifiedFeed, Verifier, VerifyError};

pub(super) const NOW: OffsetDateTime = datetime!(2026-11-30 12:00 UTC);

/// Two small feeds.
pub(super) fn small_feeds() -> Vec<VendorFeed> {
    let small = |feed: &&VendorFeed| ["notion", "slack"].contains(&feed.vendor.as_str());
    embedded_feeds().iter().filter(small).cloned().collect()
}

/// A published feed, its keys, and a consumer that pinned its first root and has seen nothing yet.
pub(super) struct Probe {
    dir: tempfile::TempDir,
    keys: KeySet,
    root: Vec<u8>,
}

impl Probe {
    pub(super) async fn published() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let keys = KeySet::generate(NOW).await.unwrap();
        let root = keys.pinned_root().to_vec();
        let mut probe = Self { dir, keys, root };
        probe.publish(NOW).await;
        probe
    }

    pub(super) async fn publish(&mut self, now: OffsetDateTime) -> u64 {
        self.publish_feeds(&small_feeds(), now).await
    }

    async fn publish_feeds(&mut self, feeds: &[VendorFeed], now: OffsetDateTime) -> u64 {
        let public = self.public();
        publish(feeds, &public, &mut self.keys, None, now, Lifetimes::default()).await.unwrap().version
    }

    pub(super) fn public(&self) -> PathBuf {
        self.dir.path().join("public")
    }

    /// A consumer that starts anew, at an address, with a datastore of that name.
    pub(super) fn verifier(&self, address: &str, datastore: &str) -> Verifier {
        Verifier::new(address, self.root.clone(), self.dir.path().join(datastore)).unwrap()
    }

    async fn load_with(&self, datastore: &str, last: Option<u64>, now: OffsetDateTime) -> Result<Loaded, VerifyError> {
        self.verifier(self.public().to_str().unwrap(), datastore).load(last, now).await
    }

    async fn load(&self) -> Result<VerifiedFeed, VerifyError> {
        match self.load_with("seen", None, NOW).await? {
            Loaded::New(feed) => Ok(feed),
            Loaded::Unchanged { .. } => panic!("nothing was held"),
        }
    }

    fn metadata(&self, name: &str) -> PathBuf {
        self.public().join("metadata").join(name)
    }

    fn target(&self, vendor: &str) -> PathBuf {
        let suffix = format!(".{vendor}.json");
        let mut entries = std::fs::read_dir(self.public().join("targets")).unwrap();
        entries
            .find_map(|entry| Some(entry.unwrap().path()).filter(|p| p.to_string_lossy().ends_with(&suffix)))
            .unwrap()
    }
}

fn edit(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

/// Another letter in the middle, so that the length and the JSON stay as they were.
fn flip(bytes: &mut [u8]) {
    let letters: Vec<usize> = (0..bytes.len()).filter(|&n| bytes[n].is_ascii_lowercase()).collect();
    let middle = letters[letters.len() / 2];
    bytes[middle] = if bytes[middle] == b'x' { b'y' } else { b'x' };
}

#[tokio::test]
async fn what_was_published_is_what_is_verified() {
    let dir = tempfile::tempdir().unwrap();
    let mut keys = KeySet::generate(NOW).await.unwrap();
    let feeds = embedded_feeds();
    publish(feeds, dir.path(), &mut keys, None, NOW, Lifetimes::default()).await.unwrap();
    let root = keys.pinned_root().to_vec();
    let verifier = Verifier::new(dir.path().to_str().unwrap(), root, dir.path().join("seen")).unwrap();
    let Loaded::New(feed) = verifier.load(None, NOW).await.unwrap() else { panic!("nothing was held") };
    assert_eq!(feed.version, 1);
    assert_eq!(feed.expires, NOW + Duration::days(14));
    assert_eq!(feed.feeds, feeds);
    assert_eq!(feed.raw.keys().collect::<Vec<_>>(), feeds.iter().map(|feed| &feed.vendor).collect::<Vec<_>>());
    let unchanged = verifier.load(Some(1), NOW).await.unwrap();
    assert_eq!(unchanged, Loaded::Unchanged { version: 1, expires: NOW + Duration::days(14) });
}

#[tokio::test]
async fn an_altered_target_is_refused() {
    let probe = Probe::published().await;
    edit(&probe.target("slack"), |bytes| flip(bytes));
    assert!(matches!(probe.load().await, Err(VerifyError::Altered(_))));
}

#[tokio::test]
async fn a_longer_target_is_refused() {
    let probe = Probe::published().await;
    edit(&probe.target("slack"), |bytes| bytes.push(b' '));
    assert!(matches!(probe.load().await, Err(VerifyError::Oversized(_))));
}

#[tokio::test]
async fn a_truncated_target_is_refused() {
    let probe = Probe::published().await;
    edit(&probe.target("slack"), |bytes| bytes.truncate(bytes.len() / 2));
    assert!(matches!(probe.load().await, Err(VerifyError::Altered(_))));
}

#[tokio::test]
async fn a_missing_target_is_unreachable() {
    let probe = Probe::published().await;
    std::fs::remove_file(probe.target("slack")).unwrap();
    assert!(matches!(probe.load().await, Err(VerifyError::Unreachable(_))));
}

#[tokio::test]
async fn altered_metadata_is_refused() {
    for name in ["1.targets.json", "1.snapshot.json"] {
        let probe = Probe::published().await;
        edit(&probe.metadata(name), |bytes| flip(bytes));
        assert!(matches!(probe.load().await, Err(VerifyError::Altered(_))), "{name}");
    }
    let probe = Probe::published().await;
    edit(&probe.metadata("timestamp.json"), |bytes| {
        let text = String::from_utf8(bytes.clone()).unwrap().replace("2026-12-14", "2036-12-14");
        *bytes = text.into_bytes();
    });
    assert!(matches!(probe.load().await, Err(VerifyError::Signature(_))));
}

#[tokio::test]
async fn truncated_metadata_is_refused() {
    let probe = Probe::published().await;
    edit(&probe.metadata("timestamp.json"), |bytes| bytes.truncate(bytes.len() / 2));
    assert!(matches!(probe.load().await, Err(VerifyError::Altered(_))));
}

#[tokio::test]
async fn a_strangers_signature_is_refused() {
    let (probe, stranger) = (Probe::published().await, Probe::published().await);
    for name in ["timestamp.json", "1.snapshot.json", "1.targets.json"] {
        std::fs::copy(stranger.metadata(name), probe.metadata(name)).unwrap();
    }
    assert!(matches!(probe.load().await, Err(VerifyError::Signature(_))));
}

#[tokio::test]
async fn an_older_version_is_refused_by_what_the_consumer_remembers() {
    let mut probe = Probe::published().await;
    let first = std::fs::read(probe.metadata("timestamp.json")).unwrap();
    assert_eq!(probe.publish(NOW + Duration::HOUR).await, 2);
    assert_eq!(probe.load().await.unwrap().version, 2);
    std::fs::write(probe.metadata("timestamp.json"), first).unwrap();
    // By the datastore alone, and by the version that the store kept alone.
    assert!(matches!(probe.load_with("seen", None, NOW).await, Err(VerifyError::RolledBack(_))));
    assert!(matches!(probe.load_with("lost", Some(2), NOW).await, Err(VerifyError::RolledBack(_))));
    // Nothing remembered, nothing noticed: which is why both are kept.
    assert!(matches!(probe.load_with("new", None, NOW).await, Ok(Loaded::New(_))));
}

#[tokio::test]
async fn an_expired_feed_is_not_adopted_by_our_clock() {
    let mut probe = Probe::published().await;
    let day = Duration::DAY;
    assert!(probe.load_with("seen", None, NOW + 14 * day - Duration::SECOND).await.is_ok());
    let expired = probe.load_with("seen", None, NOW + 14 * day).await;
    assert!(matches!(expired, Err(VerifyError::Expired { role: "timestamp", at }) if at == NOW + 14 * day));
    assert!(matches!(
        probe.load_with("seen", None, NOW + 1000 * day).await,
        Err(VerifyError::Expired { role: "root", .. })
    ));
    // Published again, it is adopted again.
    assert_eq!(probe.publish(NOW + 14 * day).await, 2);
    assert!(probe.load_with("seen", Some(1), NOW + 14 * day).await.is_ok());
}

#[tokio::test]
async fn every_role_expires() {
    let mut probe = Probe::published().await;
    let (public, feeds) = (probe.public(), small_feeds());
    let lifetimes = Lifetimes { targets: Duration::days(2), timestamp: Duration::days(20) };
    publish(&feeds, &public, &mut probe.keys, None, NOW, lifetimes).await.unwrap();
    let later = NOW + Duration::days(3);
    assert!(matches!(
        probe.load_with("seen", None, later).await,
        Err(VerifyError::Expired { role: "snapshot" | "targets", .. })
    ));
}

#[tokio::test]
async fn an_unknown_major_format_is_refused() {
    let mut probe = Probe::published().await;
    let mut feeds = small_feeds();
    feeds[0].format = 2;
    probe.publish_feeds(&feeds, NOW).await;
    assert!(matches!(probe.load().await, Err(VerifyError::UnknownFormat { found: 2 })));
}

#[tokio::test]
async fn a_vendors_file_speaks_for_no_other() {
    let mut probe = Probe::published().await;
    let mut feeds = small_feeds();
    feeds[0].changes[0].vendor = "stripe".to_owned();
    probe.publish_feeds(&feeds, NOW).await;
    assert!(matches!(probe.load().await, Err(VerifyError::Malformed { .. })));
}

#[tokio::test]
async fn a_rotated_root_is_followed_and_old_keys_are_not() {
    let mut probe = Probe::published().await;
    let before = std::fs::read(probe.metadata("timestamp.json")).unwrap();
    assert_eq!(probe.load().await.unwrap().version, 1);
    probe.keys.rotate(NOW).await.unwrap();
    assert_eq!(probe.publish(NOW).await, 2);
    // A consumer that was there and one that comes anew, both pinned at the first root.
    assert_eq!(probe.load().await.unwrap().version, 2);
    assert!(matches!(probe.load_with("new", None, NOW).await, Ok(Loaded::New(_))));
    // What the revoked key signed is refused, and so is what was served before.
    std::fs::write(probe.metadata("timestamp.json"), before).unwrap();
    assert!(matches!(probe.load().await, Err(VerifyError::Signature(_))));
}

#[tokio::test]
async fn a_replay_after_a_rotation_is_refused_by_the_datastore_alone() {
    let mut probe = Probe::published().await;
    probe.keys.rotate(NOW).await.unwrap();
    probe.publish(NOW).await;
    let second = std::fs::read(probe.metadata("timestamp.json")).unwrap();
    probe.publish(NOW).await;
    assert_eq!(probe.load().await.unwrap().version, 3);
    std::fs::write(probe.metadata("timestamp.json"), second).unwrap();
    assert!(matches!(probe.load().await, Err(VerifyError::RolledBack(_))));
}

#[tokio::test]
async fn a_root_that_only_its_own_key_signed_is_refused() {
    let probe = Probe::published().await;
    let mut stranger = KeySet::generate(NOW).await.unwrap();
    stranger.rotate(NOW).await.unwrap();
    std::fs::write(probe.metadata("2.root.json"), &stranger.roots()[1]).unwrap();
    assert!(matches!(probe.load().await, Err(VerifyError::Signature(_))));
}

#[tokio::test]
async fn a_root_is_renewed_in_time_and_chained() {
    let mut probe = Probe::published().await;
    let later = NOW + Duration::days(500);
    assert_eq!(probe.publish(later).await, 2);
    assert_eq!(probe.keys.roots().len(), 2);
    assert!(probe.load_with("seen", None, NOW + Duration::days(501)).await.is_ok());
}

#[tokio::test]
async fn what_is_no_root_and_no_address_is_said_so() {
    let probe = Probe::published().await;
    let dir = probe.dir.path().to_owned();
    let public = probe.public();
    let verifier = Verifier::new(public.to_str().unwrap(), b"{}".to_vec(), dir.join("seen")).unwrap();
    assert!(matches!(verifier.load(None, NOW).await, Err(VerifyError::Root(_))));
    let ftp = Verifier::new("ftp://feeds.example.com/", probe.root.clone(), dir.join("seen")).unwrap();
    assert!(matches!(ftp.load(None, NOW).await, Err(VerifyError::Address(_))));
    let nowhere = probe.verifier(dir.join("nothing").to_str().unwrap(), "seen");
    assert!(matches!(nowhere.load(None, NOW).await, Err(VerifyError::Unreachable(_))));
}

#[tokio::test]
async fn a_version_that_does_not_rise_and_another_root_are_not_published() {
    let mut probe = Probe::published().await;
    let (public, feeds) = (probe.public(), small_feeds());
    let again = publish(&feeds, &public, &mut probe.keys, Some(1), NOW, Lifetimes::default()).await;
    assert!(matches!(again, Err(PublishError::VersionFalls { given: 1, last: 1 })));
    let mut others = KeySet::generate(NOW).await.unwrap();
    let other = publish(&feeds, &public, &mut others, None, NOW, Lifetimes::default()).await;
    assert!(matches!(other, Err(PublishError::OtherRoot(_))));
    assert_eq!(probe.load().await.unwrap().version, 1);
}
