//! The folder in which `syncd dev` keeps all it needs for a quick next start, and the lock that one process holds on
//! it.
//!
//! ```text
//! lock         held while a `syncd dev` runs
//! token        the owner's token, as printed (0600)
//! secret_key   what keys of cursors and digests are derived from (0600)
//! seal_key     what the key that seals the audit log is derived from (0600)
//! audit-heads.ndjson  signed heads of the audit log
//! postgres/    the private database
//! feed/        the signed feed of embedded records, and its key
//! fixture/     the repository that is indexed when none is given
//! mirrors/     bare clones of repositories given by URL
//! caches/      what is known of each repository's files, so that only what changed is parsed
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use super::error::DevError;

/// A data folder that is ours until this is dropped.
#[derive(Debug)]
pub struct DataDir {
    root: PathBuf,
    _lock: Flock<File>,
}

impl DataDir {
    /// Makes the folder where there is none and takes its lock; a folder that another `syncd dev` holds is refused.
    pub fn open(root: &Path) -> Result<Self, DevError> {
        let unusable = |error: io::Error| DevError::data_dir(root, &error);
        fs::create_dir_all(root).map_err(unusable)?;
        let root = root.canonicalize().map_err(unusable)?;
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            .open(root.join("lock"))
            .map_err(|error| DevError::data_dir(&root, &error))?;
        let mut lock = Flock::lock(file, FlockArg::LockExclusiveNonblock)
            .map_err(|(mut file, _)| DevError::locked(&root, read_pid(&mut file)))?;
        // Only for the message above; the lock itself is the kernel's and ends with the process, however it ends.
        let written = lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id()));
        written.map_err(|error| DevError::data_dir(&root, &error))?;
        Ok(Self { root, _lock: lock })
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Makes a folder in it that only this user may enter.
    pub fn private_folder(&self, name: &str) -> Result<PathBuf, DevError> {
        let path = self.path(name);
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .map_err(|error| DevError::data_dir(&path, &error))?;
        Ok(path)
    }

    /// What a secret file holds; none where there is no such file.
    pub fn secret(&self, name: &str) -> Result<Option<String>, DevError> {
        match fs::read_to_string(self.path(name)) {
            Ok(text) => Ok(Some(text.trim_end().to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(DevError::data_dir(&self.path(name), &error)),
        }
    }

    /// Keeps a secret for this user's eyes only. Written beside and renamed, so that a kill leaves the old or the new.
    pub fn keep_secret(&self, name: &str, text: &str) -> Result<(), DevError> {
        let path = self.path(name);
        let beside = self.path(&format!("{name}.new"));
        let write = || -> io::Result<()> {
            let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&beside)?;
            writeln!(file, "{text}")?;
            file.sync_all()?;
            fs::rename(&beside, &path)
        };
        write().map_err(|error| DevError::data_dir(&path, &error))
    }
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Where the folder is when none is named, for the user of this process with that environment.
pub(super) fn default_root_of(environment: &[(String, String)]) -> Option<PathBuf> {
    let path = |name: &str| environment.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.into());
    default_root(nix::unistd::Uid::effective().is_root(), path("XDG_DATA_HOME"), path("HOME"))
}

/// Where the folder is when none is named: for a user `$XDG_DATA_HOME/sync/dev`, else `~/.local/share/sync/dev`. For
/// root `/var/lib/sync/dev`: Postgres refuses to run as root and the user it then runs as cannot look below `/root`.
pub fn default_root(is_root: bool, data_home: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    if is_root {
        return Some(PathBuf::from("/var/lib/sync/dev"));
    }
    let base = data_home.filter(|path| path.is_absolute()).or_else(|| Some(home?.join(".local/share")))?;
    Some(base.join("sync/dev"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn one_folder_has_one_holder_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let held = DataDir::open(folder.path()).unwrap();
        let refused = DataDir::open(folder.path()).unwrap_err().to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        drop(held);
        DataDir::open(folder.path()).unwrap();
    }

    #[test]
    fn secrets_are_kept_for_one_user() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(folder.path()).unwrap();
        assert_eq!(data.secret("token").unwrap(), None);
        data.keep_secret("token", "sync_x").unwrap();
        assert_eq!(data.secret("token").unwrap().as_deref(), Some("sync_x"));
        let mode = fs::metadata(data.path("token")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_default_folder_follows_the_user() {
        let home = Some(PathBuf::from("/home/ada"));
        assert_eq!(default_root(true, None, home.clone()), Some("/var/lib/sync/dev".into()));
        assert_eq!(default_root(false, None, home.clone()), Some("/home/ada/.local/share/sync/dev".into()));
        assert_eq!(default_root(false, Some("/data".into()), home.clone()), Some("/data/sync/dev".into()));
        assert_eq!(default_root(false, Some("relative".into()), home), Some("/home/ada/.local/share/sync/dev".into()));
        assert_eq!(default_root(false, None, None), None);
    }
}
