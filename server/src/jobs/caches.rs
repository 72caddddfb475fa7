//! What a worker knows of the files of each source: one folder a source, within a quota; what is lost costs time only.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use sync_core::ids::{OrganizationId, RepositoryId};

use super::{place, room};

/// The file by which a cache is known to be used, and since when it was not.
const MARK: &str = "used";

/// Where caches are and how much they may take.
#[derive(Debug, Clone)]
pub struct Caches {
    root: PathBuf,
    quota: u64,
}

/// A cache that stays while this does.
#[derive(Debug)]
pub struct HeldCache {
    /// Its folder.
    pub folder: PathBuf,
    _lock: Flock<File>,
}

impl Caches {
    /// Caches below `root`, which take at most `quota` bytes after [`Caches::make_room`].
    pub fn new(root: PathBuf, quota: u64) -> Self {
        Self { root, quota }
    }

    /// The folder of a source's cache, which need not be there: for that source and no other.
    pub fn folder(&self, organization: OrganizationId, repository: RepositoryId) -> PathBuf {
        self.root.join(organization.to_string()).join(repository.to_string())
    }

    /// Makes the cache of a source where there is none, and keeps it while it is used. Several runs may use it at once; while
    /// it is being removed this waits.
    pub fn hold(&self, organization: OrganizationId, repository: RepositoryId) -> io::Result<HeldCache> {
        let folder = self.folder(organization, repository);
        loop {
            place::make(&folder)?;
            let mark = File::options().create(true).truncate(true).write(true).open(folder.join(MARK));
            let mark = match mark {
                // Removed between the two.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                mark => mark?,
            };
            let lock = Flock::lock(mark, FlockArg::LockShared).map_err(|(_, error)| error)?;
            // Else who had it removed it.
            if folder.join(MARK).exists() {
                return Ok(HeldCache { folder, _lock: lock });
            }
        }
    }

    /// Removes caches, the least recently used first, until the rest is within the quota. One that is used stays.
    pub fn make_room(&self) -> io::Result<()> {
        room::make(&self.root, self.quota, MARK, remove)
    }

    /// Removes a source's cache, used or not: a run of a source that is erased finds another way.
    pub fn erase(&self, organization: OrganizationId, repository: RepositoryId) -> io::Result<()> {
        gone(fs::remove_dir_all(self.folder(organization, repository)))
    }
}

/// Removes a cache that nobody uses; whether it did.
fn remove(folder: &Path) -> io::Result<bool> {
    let mark = File::options().create(true).truncate(false).write(true).open(folder.join(MARK))?;
    match Flock::lock(mark, FlockArg::LockExclusiveNonblock) {
        // The mark goes with the rest; who waited for it looks whether it is still there.
        Ok(_lock) => gone(fs::remove_dir_all(folder)).map(|()| true),
        Err((_, Errno::EWOULDBLOCK)) => Ok(false),
        Err((_, error)) => Err(error.into()),
    }
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use time::OffsetDateTime;

    use super::*;

    #[test]
    fn the_least_recently_used_goes_first_and_one_that_is_used_stays() {
        let root = tempfile::tempdir().unwrap();
        let caches = Caches::new(root.path().to_owned(), 2500);
        let now = OffsetDateTime::UNIX_EPOCH;
        let organization = OrganizationId::at(now);
        let sources: Vec<_> = (0..4).map(|_| RepositoryId::at(now)).collect();
        let mut held = Vec::new();
        for (age, source) in sources.iter().enumerate() {
            let cache = caches.hold(organization, *source).unwrap();
            fs::write(cache.folder.join("parsed-1.pack"), vec![b'x'; 1000]).unwrap();
            let mark = File::options().write(true).open(cache.folder.join(MARK)).unwrap();
            mark.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1000 - age as u64)).unwrap();
            held.push(cache);
        }
        let exists = |n: usize| caches.folder(organization, sources[n]).exists();
        // The oldest is used, by two runs.
        let again = caches.hold(organization, sources[3]).unwrap();
        File::options()
            .write(true)
            .open(again.folder.join(MARK))
            .unwrap()
            .set_modified(SystemTime::UNIX_EPOCH)
            .unwrap();
        held.truncate(0);
        caches.make_room().unwrap();
        assert_eq!([exists(0), exists(1), exists(2), exists(3)], [true, false, false, true]);
        drop(again);
        Caches { quota: 1000, ..caches.clone() }.make_room().unwrap();
        assert_eq!([exists(0), exists(3)], [true, false]);
        // Being used makes it the newest.
        drop(caches.hold(organization, sources[2]).unwrap());
        fs::write(caches.folder(organization, sources[2]).join("parsed-1.pack"), vec![b'x'; 1000]).unwrap();
        Caches { quota: 1000, ..caches.clone() }.make_room().unwrap();
        assert_eq!([exists(0), exists(2)], [false, true]);
        caches.erase(organization, sources[2]).unwrap();
        caches.erase(organization, sources[2]).unwrap();
        assert!(!exists(2));
        assert!(Caches::new(root.path().join("none"), 0).make_room().is_ok());
    }
}
