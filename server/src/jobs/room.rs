//! What a worker keeps on its disk stays within bounds: one folder a source, the least recently used goes first, and what is
//! lost costs time only.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sync_ingest::git;

/// The folder of a source as it lies on the disk.
struct Found {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// Removes folders of sources below `root` (`organization/source`), the least recently used first, until the rest takes at
/// most `quota` bytes. When one was used its file `mark` says, by when that was changed. `remove` says whether it did: what
/// is in use stays.
pub(super) fn make(root: &Path, quota: u64, mark: &str, remove: impl Fn(&Path) -> io::Result<bool>) -> io::Result<()> {
    let mut found = Vec::new();
    for organization in folders(root)? {
        for path in folders(&organization)? {
            let used = fs::metadata(path.join(mark)).and_then(|it| it.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            found.push(Found { bytes: git::size_of(&path), path, used });
        }
    }
    let mut total: u64 = found.iter().map(|one| one.bytes).sum();
    found.sort_by_key(|one| one.used);
    for Found { path, bytes, .. } in found {
        if total <= quota {
            break;
        }
        if remove(&path)? {
            total -= bytes;
            tracing::info!(folder = %path.display(), bytes, "what was kept of a source is removed to keep the quota");
        }
    }
    Ok(())
}

fn folders(parent: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(parent) {
        Ok(entries) => Ok(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
