//! Verifying a feed: the one door through which vendor changes come in.
//!
//! The Update Framework through `tough`, with our own transport and, since `tough` reads the system clock, our own
//! check of every role's expiry against the clock that the caller holds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sync_core::change::{FEED_FORMAT, VendorFeed};
use time::OffsetDateTime;
use tough::schema::{Root, Signed};
use tough::{ExpirationEnforcement, IntoVec, Repository, RepositoryLoader, TargetName, TransportErrorKind};
use url::Url;

use super::publish::{FeedIndexFile, INDEX_TARGET};
use super::transport::{BodyTooLarge, FeedTransport};

/// Fetches and verifies one feed. Keep one for the life of the process: it holds connections and tags.
#[derive(Debug)]
pub struct Verifier {
    metadata: Url,
    targets: Url,
    pinned_root: Vec<u8>,
    datastore: PathBuf,
    transport: FeedTransport,
}

/// A feed whose every byte was verified.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedFeed {
    /// Version; never falls.
    pub version: u64,
    /// The earliest expiry of the four roles.
    pub expires: OffsetDateTime,
    /// One a vendor, sorted by vendor.
    pub feeds: Vec<VendorFeed>,
    /// The signed bytes of each vendor's target.
    pub raw: BTreeMap<String, Vec<u8>>,
}

/// What a verified check found.
#[derive(Debug, Clone, PartialEq)]
pub enum Loaded {
    /// A version that the caller does not hold.
    New(VerifiedFeed),
    /// The version that the caller holds is the newest.
    Unchanged {
        /// That version.
        version: u64,
        /// The earliest expiry of the four roles.
        expires: OffsetDateTime,
    },
}

/// Why a feed was not adopted. The last good one serves on, with its real age.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The address is not one that feeds are fetched from.
    #[error("`{0}` is not a feed address; next: give a folder, a file: URL or an https: URL")]
    Address(String),
    /// Not fetched: the network, the server, or the file is not there.
    #[error(
        "the feed could not be fetched: {0}; next: check the address and the network, the last good feed serves on"
    )]
    Unreachable(String),
    /// A body larger than its signed size, or than any file of its kind.
    #[error("the feed was refused, a file is too large: {0}; next: fetch again, and report it if it stays")]
    Oversized(String),
    /// Not signed by the keys that the root names.
    #[error("the feed was refused, {0} is not signed by its keys; next: check that the pinned root is this feed's")]
    Signature(String),
    /// A file is not the one that was signed.
    #[error("the feed was refused, a file was altered: {0}; next: fetch again, and report it if it stays")]
    Altered(String),
    /// A version below one that was seen before.
    #[error("the feed was refused, its version fell: {0}; next: fetch again, an old copy was served")]
    RolledBack(String),
    /// Past its time by the caller's clock.
    #[error("the feed was refused, its {role} expired at {at}; next: publish again, or check this machine's clock")]
    Expired {
        /// `root`, `targets`, `snapshot` or `timestamp`.
        role: &'static str,
        /// When.
        at: OffsetDateTime,
    },
    /// A major format version that this build does not read.
    #[error("the feed is of format {found}, this build reads up to {FEED_FORMAT}; next: upgrade Sync")]
    UnknownFormat {
        /// The version found.
        found: u64,
    },
    /// Signed, but not a feed.
    #[error("the feed was refused, `{target}` is not a vendor's feed: {reason}; next: report it to the publisher")]
    Malformed {
        /// The target.
        target: String,
        /// Why.
        reason: String,
    },
    /// The pinned root is not one.
    #[error("the pinned root is not valid: {0}; next: give the publisher's root file")]
    Root(String),
    /// The folder that remembers what was seen cannot be used.
    #[error("the folder `{path}` that remembers the last feed cannot be used: {reason}; next: make it writable")]
    Datastore {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
}

impl Verifier {
    /// A verifier of the feed at `address` (a folder, a `file:` or an `https:` URL) with the root that is trusted.
    /// `datastore` is a folder of this process that persists: without it an old feed could be served as a new one.
    pub fn new(address: &str, pinned_root: Vec<u8>, datastore: PathBuf) -> Result<Self, VerifyError> {
        let base = base_url(address)?;
        let join = |part: &str| base.join(part).map_err(|_| VerifyError::Address(address.to_owned()));
        let transport = FeedTransport::new().map_err(|error| VerifyError::Unreachable(error.to_string()))?;
        Ok(Self { metadata: join("metadata/")?, targets: join("targets/")?, pinned_root, datastore, transport })
    }

    /// Fetches and verifies. `last_version` is the version that the caller adopted last, from its own store: it holds
    /// where the datastore was lost. `now` decides expiry.
    pub async fn load(&self, last_version: Option<u64>, now: OffsetDateTime) -> Result<Loaded, VerifyError> {
        std::fs::create_dir_all(&self.datastore).map_err(|error| self.datastore_error(&error))?;
        let root = self.trusted_root()?;
        let repository = RepositoryLoader::new(&root, self.metadata.clone(), self.targets.clone())
            .transport(self.transport.clone())
            .datastore(&self.datastore)
            .expiration_enforcement(ExpirationEnforcement::Unsafe)
            .load()
            .await
            .map_err(|error| self.explain(&error))?;
        self.remember_pin()?;
        let expires = earliest_expiry(&repository, now)?;
        let version = repository.targets().signed.version.get();
        match last_version {
            Some(last) if version < last => Err(VerifyError::RolledBack(format!(
                "version {version} was served, which is older than version {last}, known already"
            ))),
            Some(last) if version == last => Ok(Loaded::Unchanged { version, expires }),
            _ => {
                let (feeds, raw) = self.read_targets(&repository).await?;
                Ok(Loaded::New(VerifiedFeed { version, expires, feeds, raw }))
            }
        }
    }

    async fn read_targets(
        &self,
        repository: &Repository,
    ) -> Result<(Vec<VendorFeed>, BTreeMap<String, Vec<u8>>), VerifyError> {
        let index = self.read_target(repository, INDEX_TARGET).await?;
        check_format(INDEX_TARGET, &index)?;
        let index: FeedIndexFile = parse(INDEX_TARGET, &index)?;
        let mut feeds = Vec::new();
        let mut raw = BTreeMap::new();
        for entry in index.vendors {
            let target = format!("{}.json", entry.vendor);
            let bytes = self.read_target(repository, &target).await?;
            check_format(&target, &bytes)?;
            let feed: VendorFeed = parse(&target, &bytes)?;
            check_vendor(&target, &entry.vendor, &feed)?;
            feeds.push(feed);
            raw.insert(entry.vendor, bytes);
        }
        feeds.sort_by(|a, b| a.vendor.cmp(&b.vendor));
        Ok((feeds, raw))
    }

    /// A target's bytes, once all of them are there and their hash is right.
    async fn read_target(&self, repository: &Repository, name: &str) -> Result<Vec<u8>, VerifyError> {
        let malformed = |reason: &str| VerifyError::Malformed { target: name.to_owned(), reason: reason.to_owned() };
        let target = TargetName::new(name).map_err(|_| malformed("the name is not safe"))?;
        let stream = repository.read_target(&target).await.map_err(|error| self.explain(&error))?;
        let Some(stream) = stream else { return Err(malformed("it is listed in the index and was not signed")) };
        stream.into_vec().await.map_err(|error| self.explain(&error))
    }

    /// The root to start from: the newest one followed so far, where it was followed from the pinned one. `tough`
    /// forgets the versions seen whenever it meets a rotation between the root it starts from and the newest, so that
    /// starting from the pinned root for ever would let old feeds in after the first rotation.
    fn trusted_root(&self) -> Result<Vec<u8>, VerifyError> {
        serde_json::from_slice::<Signed<Root>>(&self.pinned_root)
            .map_err(|error| VerifyError::Root(error.to_string()))?;
        let same_pin = std::fs::read(self.pin_path()).is_ok_and(|pin| pin == self.pinned_root);
        let followed = std::fs::read(self.datastore.join("root.json"))
            .ok()
            .filter(|root| same_pin && serde_json::from_slice::<Signed<Root>>(root).is_ok());
        Ok(followed.unwrap_or_else(|| self.pinned_root.clone()))
    }

    fn remember_pin(&self) -> Result<(), VerifyError> {
        std::fs::write(self.pin_path(), &self.pinned_root).map_err(|error| self.datastore_error(&error))
    }

    fn pin_path(&self) -> PathBuf {
        self.datastore.join("pinned-root.json")
    }

    fn datastore_error(&self, error: &std::io::Error) -> VerifyError {
        VerifyError::Datastore { path: self.datastore.clone(), reason: error.to_string() }
    }

    /// Our word for what `tough` met; its causes are looked through, since it wraps them differently by file.
    fn explain(&self, error: &tough::error::Error) -> VerifyError {
        use tough::error::Error as E;
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
        let mut kind = None;
        while let Some(current) = cause {
            let text = current.to_string();
            if current.is::<BodyTooLarge>() {
                return VerifyError::Oversized(text);
            }
            if let Some(transport) = current.downcast_ref::<tough::TransportError>() {
                kind = Some(transport.kind());
            }
            match current.downcast_ref::<E>() {
                Some(E::MaxSizeExceeded { .. }) => return VerifyError::Oversized(text),
                Some(E::HashMismatch { .. } | E::VersionMismatch { .. } | E::ParseMetadata { .. }) => {
                    return VerifyError::Altered(text);
                }
                Some(E::VerifyTrustedMetadata { .. } | E::ParseTrustedMetadata { .. }) => {
                    return VerifyError::Root(text);
                }
                Some(E::VerifyMetadata { role, .. }) => return VerifyError::Signature(format!("{role} metadata")),
                Some(
                    E::OlderMetadata { .. }
                    | E::OlderSnapshotInTimestamp { .. }
                    | E::SnapshotRoleRollback { .. }
                    | E::SnapshotRoleMissing { .. },
                ) => return VerifyError::RolledBack(text),
                Some(
                    E::DatastoreInit { .. }
                    | E::DatastoreCreate { .. }
                    | E::DatastoreOpen { .. }
                    | E::DatastoreRemove { .. }
                    | E::DatastoreSerialize { .. }
                    | E::SystemTimeSteppedBackward { .. },
                ) => return VerifyError::Datastore { path: self.datastore.clone(), reason: text },
                _ => {}
            }
            cause = current.source();
        }
        match kind {
            Some(TransportErrorKind::UnsupportedUrlScheme) => VerifyError::Address(self.metadata.to_string()),
            Some(_) => VerifyError::Unreachable(error.to_string()),
            None => VerifyError::Altered(error.to_string()),
        }
    }
}

/// A folder or URL as a base that paths can be joined to.
fn base_url(address: &str) -> Result<Url, VerifyError> {
    let bad = || VerifyError::Address(sync_core::text::shown(address, 200));
    let url = match Url::parse(address) {
        Ok(url) if url.has_host() || url.scheme() == "file" => url,
        _ => {
            let path = std::path::absolute(Path::new(address)).map_err(|_| bad())?;
            Url::from_directory_path(path).map_err(|()| bad())?
        }
    };
    if url.path().ends_with('/') { Ok(url) } else { Url::parse(&format!("{url}/")).map_err(|_| bad()) }
}

/// The earliest expiry, or the role that is past it.
fn earliest_expiry(repository: &Repository, now: OffsetDateTime) -> Result<OffsetDateTime, VerifyError> {
    let roles = [
        ("root", repository.root().signed.expires),
        ("timestamp", repository.timestamp().signed.expires),
        ("snapshot", repository.snapshot().signed.expires),
        ("targets", repository.targets().signed.expires),
    ];
    let mut earliest = None;
    for (role, at) in roles {
        let at = OffsetDateTime::from_unix_timestamp(at.as_second())
            .map_err(|error| VerifyError::Malformed { target: role.to_owned(), reason: error.to_string() })?;
        if at <= now {
            return Err(VerifyError::Expired { role, at });
        }
        earliest = Some(earliest.map_or(at, |earliest: OffsetDateTime| earliest.min(at)));
    }
    Ok(earliest.unwrap_or(now))
}

/// The format is looked at before anything else, since another major may have another shape altogether.
fn check_format(target: &str, bytes: &[u8]) -> Result<(), VerifyError> {
    #[derive(serde::Deserialize)]
    struct Format {
        format: u64,
    }
    let Format { format } = parse(target, bytes)?;
    if format == 0 || format > u64::from(FEED_FORMAT) {
        return Err(VerifyError::UnknownFormat { found: format });
    }
    Ok(())
}

/// Reads one file of a feed: the signed metadata, the index, or a vendor's file, which is given back.
#[cfg(any(test, fuzzing))]
pub(crate) fn read_for_fuzzing(kind: u8, bytes: &[u8]) -> Option<VendorFeed> {
    use tough::schema::{Snapshot, Targets, Timestamp};

    match kind % 6 {
        0 => drop(serde_json::from_slice::<Signed<Root>>(bytes)),
        1 => drop(serde_json::from_slice::<Signed<Timestamp>>(bytes)),
        2 => drop(serde_json::from_slice::<Signed<Snapshot>>(bytes)),
        3 => drop(serde_json::from_slice::<Signed<Targets>>(bytes)),
        4 => drop(check_format(INDEX_TARGET, bytes).and_then(|()| parse::<FeedIndexFile>(INDEX_TARGET, bytes))),
        _ => {
            check_format("stripe.json", bytes).ok()?;
            let feed: VendorFeed = parse("stripe.json", bytes).ok()?;
            return check_vendor("stripe.json", "stripe", &feed).ok().map(|()| feed);
        }
    }
    None
}

/// A vendor's file speaks for that vendor alone.
fn check_vendor(target: &str, vendor: &str, feed: &VendorFeed) -> Result<(), VerifyError> {
    let stranger = std::iter::once(&feed.vendor)
        .chain(feed.changes.iter().map(|change| &change.vendor))
        .find(|name| *name != vendor);
    match stranger {
        Some(name) => Err(VerifyError::Malformed {
            target: target.to_owned(),
            reason: format!("it speaks for `{}`", sync_core::text::shown(name, 80)),
        }),
        None => Ok(()),
    }
}

fn parse<T: serde::de::DeserializeOwned>(target: &str, bytes: &[u8]) -> Result<T, VerifyError> {
    serde_json::from_slice(bytes)
        .map_err(|error| VerifyError::Malformed { target: target.to_owned(), reason: error.to_string() })
}
