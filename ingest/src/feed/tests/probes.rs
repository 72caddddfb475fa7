//! Every way in which a served feed can be wrong, and the one in which it is right.

use std::path::PathBuf;

use time::macros::datetime;
use time::{Duration, OffsetDateTime};

use super::embedded_feeds;
use crate::feed::keys::KeySet;
use crate::feed::publish::{Lifetimes, publish};
use crate::feed::verify::{Loaded, VerifiedFeed, Verifier, VerifyError};

const NOW: OffsetDateTime = datetime!(2026-11-30 12:00 UTC);

/// A published feed, its keys, and a consumer that has seen nothing yet.
struct Probe {
    dir: tempfile::TempDir,
    keys: KeySet,
}

impl Probe {
    async fn published() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut probe = Self { dir, keys: KeySet::generate(NOW).await.unwrap() };
        probe.publish(NOW).await;
        probe
    }

    async fn publish(&mut self, now: OffsetDateTime) -> u64 {
        let (feeds, public) = (embedded_feeds(), self.public());
        publish(&feeds, &public, &mut self.keys, None, now, Lifetimes::default()).await.unwrap().version
    }

    fn public(&self) -> PathBuf {
        self.dir.path().join("public")
    }

    fn verifier(&self) -> Verifier {
        let root = self.keys.pinned_root().to_vec();
        Verifier::new(self.public().to_str().unwrap(), root, self.dir.path().join("seen")).unwrap()
    }

    async fn load(&self) -> Result<VerifiedFeed, VerifyError> {
        match self.verifier().load(None, NOW).await? {
            Loaded::New(feed) => Ok(feed),
            Loaded::Unchanged { .. } => panic!("nothing was held"),
        }
    }
}

#[tokio::test]
async fn what_was_published_is_what_is_verified() {
    let probe = Probe::published().await;
    let feed = probe.load().await.unwrap();
    assert_eq!(feed.version, 1);
    assert_eq!(feed.expires, NOW + Duration::days(14));
    assert_eq!(feed.feeds, embedded_feeds());
}
