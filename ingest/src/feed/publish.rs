//! Writing a signed feed: static files in their final layout for a CDN.
//!
//! ```text
//! metadata/timestamp.json          the one file that changes; short time to live
//! metadata/<n>.{root,targets,snapshot}.json   immutable
//! targets/<sha256>.<vendor>.json   immutable; targets/<sha256>.index.json lists the vendors
//! ```

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sync_core::change::{FEED_FORMAT, VendorFeed};
use time::{Duration, OffsetDateTime};
use tough::editor::RepositoryEditor;
use tough::editor::signed::PathExists;
use tough::schema::{Signed, Timestamp};

use super::assemble::AssembleError;
use super::keys::{KeyError, KeySet, timestamp};

/// Name of the target that lists the others.
pub const INDEX_TARGET: &str = "index.json";

/// How long each role's word is good. A consumer refuses to adopt a feed past the earliest.
#[derive(Debug, Clone, Copy)]
pub struct Lifetimes {
    /// Of the list of targets and of the snapshot.
    pub targets: Duration,
    /// Of the timestamp: how long a replay of it can go unnoticed.
    pub timestamp: Duration,
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self { targets: Duration::days(90), timestamp: Duration::days(14) }
    }
}

/// What was published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// Version of the feed.
    pub version: u64,
    /// When it has to be published again at the latest.
    pub expires: OffsetDateTime,
    /// Vendors, sorted.
    pub vendors: Vec<String>,
    /// Changes in all vendors.
    pub changes: usize,
}

/// The content of [`INDEX_TARGET`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedIndexFile {
    /// Major version of the format.
    pub format: u32,
    /// One entry a vendor, sorted.
    pub vendors: Vec<IndexEntry>,
}

/// One vendor of the index target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexEntry {
    /// Vendor id; its target is `<vendor>.json`.
    pub vendor: String,
    /// Number of changes.
    pub changes: usize,
}

/// Why nothing was published. The files of the last publication are as they were.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The records do not make a feed.
    #[error(transparent)]
    Records(#[from] AssembleError),
    /// The keys are not usable.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// The output folder belongs to another feed.
    #[error(
        "`{0}` holds a feed with another root; next: give the key folder that published it, or another output folder"
    )]
    OtherRoot(PathBuf),
    /// A version that is not above the last one.
    #[error("version {given} is not above the published version {last}; next: leave the version out, it rises by one")]
    VersionFalls {
        /// What was asked for.
        given: u64,
        /// What is there.
        last: u64,
    },
    /// A file cannot be read or written.
    #[error("`{path}`: {reason}; next: check that the output folder can be written and has room")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// The signer refused.
    #[error("the feed could not be signed: {0}; next: check that the key folder is the one its root names")]
    Sign(String),
}

/// Signs `feeds` and writes them to `out_dir` as version `version` (absent: the last one plus one). What is published
/// stays readable at every moment: `timestamp.json` is replaced last, by rename.
pub async fn publish(
    feeds: &[VendorFeed],
    out_dir: &Path,
    keys: &mut KeySet,
    version: Option<u64>,
    now: OffsetDateTime,
    lifetimes: Lifetimes,
) -> Result<Published, PublishError> {
    let metadata = out_dir.join("metadata");
    check_root(&metadata, keys)?;
    let last = last_version(out_dir);
    let version = version.unwrap_or(last + 1);
    let number = NonZeroU64::new(version).filter(|_| version > last);
    let Some(number) = number else { return Err(PublishError::VersionFalls { given: version, last }) };
    keys.renew_root(now).await?;

    let staging = tempfile::Builder::new()
        .prefix(".staging-")
        .tempdir_in(create_dir(out_dir)?)
        .map_err(|error| file_error(out_dir, &error))?;
    let (inputs, signed_dir) = (staging.path().join("inputs"), staging.path().join("metadata"));
    let names = write_inputs(feeds, &inputs)?;
    let root_path = staging.path().join("root.json");
    let current_root = keys.roots().last().map_or(&[][..], Vec::as_slice);
    std::fs::write(&root_path, current_root).map_err(|error| file_error(&root_path, &error))?;

    let expires = (now + lifetimes.targets).min(now + lifetimes.timestamp);
    let sign = |error: &dyn std::fmt::Display| PublishError::Sign(error.to_string());
    let long = timestamp(now + lifetimes.targets).map_err(PublishError::Sign)?;
    let short = timestamp(now + lifetimes.timestamp).map_err(PublishError::Sign)?;
    let mut editor = RepositoryEditor::new(&root_path).await.map_err(|error| sign(&error))?;
    editor.add_target_paths(names).await.map_err(|error| sign(&error))?;
    editor.targets_version(number).map_err(|error| sign(&error))?;
    editor.targets_expires(long).map_err(|error| sign(&error))?;
    editor.snapshot_version(number).snapshot_expires(long).timestamp_version(number).timestamp_expires(short);
    let signed = editor.sign(&keys.online_sources()).await.map_err(|error| sign(&error))?;
    signed.write(&signed_dir).await.map_err(|error| sign(&error))?;
    let targets = out_dir.join("targets");
    create_dir(&targets)?;
    signed.copy_targets(&inputs, &targets, PathExists::Skip).await.map_err(|error| sign(&error))?;

    create_dir(&metadata)?;
    for (n, root) in keys.roots().iter().enumerate() {
        let path = metadata.join(format!("{}.root.json", n + 1));
        if !path.exists() {
            replace(&path, root)?;
        }
    }
    for name in [format!("{version}.targets.json"), format!("{version}.snapshot.json"), "timestamp.json".to_owned()] {
        let from = signed_dir.join(&name);
        let bytes = std::fs::read(&from).map_err(|error| file_error(&from, &error))?;
        replace(&metadata.join(&name), &bytes)?;
    }
    Ok(Published {
        version,
        expires,
        vendors: feeds.iter().map(|feed| feed.vendor.clone()).collect(),
        changes: feeds.iter().map(|feed| feed.changes.len()).sum(),
    })
}

/// The version that `out_dir` serves, 0 where it serves none.
pub fn last_version(out_dir: &Path) -> u64 {
    std::fs::read(out_dir.join("metadata/timestamp.json"))
        .ok()
        .and_then(|bytes| serde_json::from_slice::<Signed<Timestamp>>(&bytes).ok())
        .map_or(0, |timestamp| timestamp.signed.version.get())
}

/// A feed keeps its first root for ever: with another, every consumer that pinned it would be cut off.
fn check_root(metadata: &Path, keys: &KeySet) -> Result<(), PublishError> {
    match std::fs::read(metadata.join("1.root.json")) {
        Ok(there) if there != keys.pinned_root() => Err(PublishError::OtherRoot(metadata.to_owned())),
        _ => Ok(()),
    }
}

fn write_inputs(feeds: &[VendorFeed], dir: &Path) -> Result<Vec<PathBuf>, PublishError> {
    create_dir(dir)?;
    let mut paths = Vec::new();
    let mut write = |name: String, bytes: Vec<u8>| {
        let path = dir.join(name);
        std::fs::write(&path, bytes).map_err(|error| file_error(&path, &error))?;
        paths.push(path);
        Ok::<_, PublishError>(())
    };
    let index = FeedIndexFile {
        format: FEED_FORMAT,
        vendors: feeds
            .iter()
            .map(|feed| IndexEntry { vendor: feed.vendor.clone(), changes: feed.changes.len() })
            .collect(),
    };
    write(INDEX_TARGET.to_owned(), to_json(&index)?)?;
    for feed in feeds {
        write(format!("{}.json", feed.vendor), to_json(feed)?)?;
    }
    Ok(paths)
}

fn to_json<T: Serialize>(value: &T) -> Result<Vec<u8>, PublishError> {
    serde_json::to_vec(value).map_err(|error| PublishError::Sign(error.to_string()))
}

fn create_dir(dir: &Path) -> Result<&Path, PublishError> {
    std::fs::create_dir_all(dir).map_err(|error| file_error(dir, &error))?;
    Ok(dir)
}

/// Writes by rename, so that whoever reads at the moment gets the old file or the new one.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), PublishError> {
    let staged = path.with_extension("new");
    std::fs::write(&staged, bytes).map_err(|error| file_error(&staged, &error))?;
    std::fs::rename(&staged, path).map_err(|error| file_error(path, &error))
}

fn file_error(path: &Path, error: &std::io::Error) -> PublishError {
    PublishError::File { path: path.to_owned(), reason: error.to_string() }
}
