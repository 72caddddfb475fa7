//! The mirrors on a worker's disk: one folder a source, within a quota; what is lost costs time only.

use std::io;
use std::path::{Path, PathBuf};

use sync_core::ids::{OrganizationId, RepositoryId};
use sync_ingest::git::{self, Held};

use super::room;

/// Where mirrors are and how much they may take.
#[derive(Debug, Clone)]
pub struct Mirrors {
    root: PathBuf,
    quota: u64,
}

impl Mirrors {
    /// Mirrors below `root`, which take at most `quota` bytes after [`Mirrors::make_room`].
    pub fn new(root: PathBuf, quota: u64) -> Self {
        Self { root, quota }
    }

    /// The folder of a source's mirror, which need not be there.
    pub fn folder(&self, organization: OrganizationId, repository: RepositoryId) -> PathBuf {
        self.root.join(organization.to_string()).join(repository.to_string())
    }

    /// Keeps a repository that a fetch gave while it is read; nothing where it is gone, so that it has to be fetched
    /// again.
    pub fn hold(repository: &Path) -> io::Result<Option<Held>> {
        git::hold(repository)
    }

    /// Removes mirrors, the least recently used first, until the rest is within the quota. One that is used stays.
    pub fn make_room(&self) -> io::Result<()> {
        room::make(&self.root, self.quota, "lock", git::remove)
    }

    /// Removes a source's mirror; whether it is gone. One that is used has to be asked for again.
    pub fn erase(&self, organization: OrganizationId, repository: RepositoryId) -> io::Result<bool> {
        git::remove(&self.folder(organization, repository))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, SystemTime};

    use time::OffsetDateTime;

    use super::*;

    #[test]
    fn the_least_recently_used_goes_first_and_one_that_is_used_stays() {
        let root = tempfile::tempdir().unwrap();
        let mirrors = Mirrors::new(root.path().to_owned(), 2500);
        let now = OffsetDateTime::UNIX_EPOCH;
        let organization = OrganizationId::at(now);
        let sources: Vec<_> = (0..4).map(|_| RepositoryId::at(now)).collect();
        for (age, source) in sources.iter().enumerate() {
            let folder = mirrors.folder(organization, *source);
            fs::create_dir_all(folder.join("1")).unwrap();
            fs::write(folder.join("1/HEAD"), vec![b'x'; 1000]).unwrap();
            let lock = fs::File::create(folder.join("lock")).unwrap();
            lock.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1000 - age as u64)).unwrap();
        }
        let exists = |n: usize| mirrors.folder(organization, sources[n]).exists();
        let held = Mirrors::hold(&mirrors.folder(organization, sources[3]).join("1")).unwrap().unwrap();
        mirrors.make_room().unwrap();
        assert_eq!([exists(0), exists(1), exists(2), exists(3)], [true, false, false, true]);
        assert!(!mirrors.erase(organization, sources[3]).unwrap());
        drop(held);
        assert!(mirrors.erase(organization, sources[3]).unwrap() && !exists(3));
        assert!(mirrors.erase(organization, sources[3]).unwrap(), "what is not there is gone");
        assert!(Mirrors::new(root.path().join("none"), 0).make_room().is_ok());
    }
}
