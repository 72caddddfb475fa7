//! A mirror on disk: a folder with bare repositories, of which the one with the highest number counts.
//!
//! Only one process at a time writes to a mirror; whoever reads a repository in it holds that repository, and one that
//! is held is not removed. A new number appears by a rename, and what a killed process left is cleared by the next: so a
//! mirror can be killed at any time, and two fetches into it follow one another.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use super::answer::Head;
use super::watch::size_of;

/// Held by the one that writes.
const LOCK: &str = "lock";
/// What of the remote is in a repository.
const HEADS: &str = "sync-heads.json";
/// Ends of names of what is not finished or not needed.
const UNFINISHED: &str = ".new";
const REMOVED: &str = ".old";
/// Most packs that a repository gathers before it is made anew: each costs a look for every object.
const MAX_PACKS: usize = 50;
/// Largest file of heads that is read, in bytes.
const MAX_HEADS: u64 = 1 << 20;

/// A mirror that nobody else writes to.
#[derive(Debug)]
pub(super) struct Mirror {
    folder: PathBuf,
    _lock: Flock<File>,
}

/// A repository of a mirror that is not removed while this lives.
#[derive(Debug)]
pub struct Held(#[expect(dead_code, reason = "held until it is dropped")] Flock<File>);

/// What of the remote a repository has, by the name of the ref.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Heads(BTreeMap<String, Head>);

impl Mirror {
    /// Makes the folder where there is none and waits until nobody else writes to it.
    pub(super) fn lock(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let file = File::options().create(true).truncate(true).write(true).open(folder.join(LOCK))?;
        let lock = Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| error)?;
        // The time of this file says when the mirror was last used.
        io::Write::write_all(&mut &*lock, b"\n")?;
        Ok(Self { folder: folder.to_owned(), _lock: lock })
    }

    /// The repository that counts.
    pub(super) fn current(&self) -> Option<PathBuf> {
        current(&self.folder)
    }

    /// A folder for a new repository, with nothing in it.
    pub(super) fn begin(&self) -> io::Result<PathBuf> {
        self.clear()?;
        let fresh = self.folder.join(format!("{}{UNFINISHED}", next_number(&self.folder)));
        Ok(fresh)
    }

    /// Makes a new repository the one that counts.
    pub(super) fn finish(&self, fresh: &Path) -> io::Result<PathBuf> {
        let finished = self.folder.join(next_number(&self.folder).to_string());
        fs::rename(fresh, &finished)?;
        Ok(finished)
    }

    /// Removes what was not finished, and repositories that do not count any more and that nobody holds.
    pub(super) fn clear(&self) -> io::Result<()> {
        let current = self.current();
        for entry in fs::read_dir(&self.folder)?.flatten() {
            let path = entry.path();
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) || Some(&path) == current.as_ref() {
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(UNFINISHED) || name.ends_with(REMOVED) {
                fs::remove_dir_all(&path)?;
            } else if let Some(_alone) = alone(&path)? {
                let removed = self.folder.join(format!("{name}{REMOVED}"));
                fs::rename(&path, &removed)?;
                fs::remove_dir_all(&removed)?;
            }
        }
        Ok(())
    }
}

/// The repository of a mirror that counts; none where nothing was fetched yet.
pub fn current(mirror: &Path) -> Option<PathBuf> {
    numbers(mirror).max().map(|number| mirror.join(number.to_string()))
}

/// What the last fetch brought for what was asked so then; none where it is not there.
pub fn last_head(mirror: &Path, asked: &str) -> Option<(PathBuf, Head)> {
    let repository = current(mirror)?;
    let heads = Heads::read(&repository);
    let head = heads.0.into_values().find(|head| head.asked == asked)?;
    Some((repository, head))
}

/// Holds a repository of a mirror; none where it is not there any more.
pub fn hold(repository: &Path) -> io::Result<Option<Held>> {
    let Ok(folder) = File::open(repository) else { return Ok(None) };
    match Flock::lock(folder, FlockArg::LockSharedNonblock) {
        // Between the look and the lock it may have been removed.
        Ok(held) => Ok(repository.join("HEAD").exists().then_some(Held(held))),
        Err((_, Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, error)) => Err(error.into()),
    }
}

/// Removes a whole mirror unless somebody writes to it or reads from it; whether it did.
pub fn remove(mirror: &Path) -> io::Result<bool> {
    let file = match File::options().create(true).truncate(false).write(true).open(mirror.join(LOCK)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    let Some(_lock) = tried(Flock::lock(file, FlockArg::LockExclusiveNonblock))? else { return Ok(false) };
    let mut held = Vec::new();
    for number in numbers(mirror).collect::<Vec<_>>() {
        match alone(&mirror.join(number.to_string()))? {
            Some(lock) => held.push(lock),
            None => return Ok(false),
        }
    }
    fs::remove_dir_all(mirror)?;
    Ok(true)
}

fn numbers(mirror: &Path) -> impl Iterator<Item = u64> {
    let entries = fs::read_dir(mirror).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn next_number(mirror: &Path) -> u64 {
    numbers(mirror).max().unwrap_or_default() + 1
}

/// The lock of a folder that nobody holds.
fn alone(folder: &Path) -> io::Result<Option<Flock<File>>> {
    tried(Flock::lock(File::open(folder)?, FlockArg::LockExclusiveNonblock))
}

fn tried(lock: Result<Flock<File>, (File, Errno)>) -> io::Result<Option<Flock<File>>> {
    match lock {
        Ok(lock) => Ok(Some(lock)),
        Err((_, Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, error)) => Err(error.into()),
    }
}

/// Removes what a killed fetch left in a repository: locks, and packs that were not finished.
pub(super) fn sweep(repository: &Path) -> io::Result<()> {
    let mut folders = vec![repository.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)?.flatten() {
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                folders.push(path);
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let is = |kind: &str| path.extension().is_some_and(|extension| extension == kind);
            let is_loose_pack = folder.ends_with("objects/pack") && !name.starts_with("pack-");
            // Nothing that a fetch writes, and something that a reader would follow or wait for.
            let is_odd = !entry.file_type()?.is_file();
            // A pack without its index is not used, and an index without its pack is an error to whoever reads.
            let is_alone = is("idx") && !path.with_extension("pack").exists();
            if is("lock") || is_loose_pack || is_odd || is_alone {
                fs::remove_file(&path)?;
            }
        }
    }
    Ok(())
}

/// Bytes of the largest repository in a mirror, also of one that is not finished.
pub(super) fn largest(mirror: &Path) -> u64 {
    let entries = fs::read_dir(mirror).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().is_dir()).map(|entry| size_of(&entry.path())).max().unwrap_or_default()
}

/// Whether a repository has gathered so much that another is cheaper.
pub(super) fn is_worn(repository: &Path) -> bool {
    let packs = fs::read_dir(repository.join("objects/pack")).into_iter().flatten().flatten();
    packs.filter(|entry| entry.path().extension().is_some_and(|kind| kind == "pack")).count() >= MAX_PACKS
}

impl Heads {
    /// What a repository says that it has; nothing where it says nothing that can be read.
    pub(super) fn read(repository: &Path) -> Self {
        let path = repository.join(HEADS);
        let text = fs::metadata(&path).ok().filter(|found| found.len() <= MAX_HEADS).and_then(|_| fs::read(&path).ok());
        text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    /// Commit ids in hexadecimal.
    pub(super) fn commits(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(|head| head.commit.as_str())
    }

    /// Notes what was brought and what is gone.
    pub(super) fn note(&mut self, heads: &[Head], missing: &[String], max: usize) {
        self.0.retain(|name, head| !missing.contains(name) && !missing.contains(&head.asked));
        for head in heads {
            self.0.insert(head.name.clone(), head.clone());
        }
        // Beyond that the oldest are forgotten; they come again when they are asked for.
        while self.0.len() > max {
            let Some(oldest) = self.0.iter().min_by_key(|(_, head)| head.committed_at).map(|(name, _)| name.clone())
            else {
                return;
            };
            self.0.remove(&oldest);
        }
    }

    /// Replaces what a repository says that it has.
    pub(super) fn write(&self, repository: &Path) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(repository)?;
        serde_json::to_writer(&mut file, self)?;
        file.persist(repository.join(HEADS)).map_err(|error| error.error)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(mirror: &Mirror) -> PathBuf {
        let fresh = mirror.begin().unwrap();
        fs::create_dir_all(&fresh).unwrap();
        fs::write(fresh.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        mirror.finish(&fresh).unwrap()
    }

    #[test]
    fn the_newest_repository_counts_and_one_that_is_held_stays_until_it_is_let_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        let mirror = Mirror::lock(&path).unwrap();
        assert_eq!(mirror.current(), None);
        let first = made(&mirror);
        let held = hold(&first).unwrap().unwrap();
        let second = made(&mirror);
        assert_eq!(current(&path), Some(second.clone()));
        mirror.clear().unwrap();
        assert!(first.exists(), "it is held");
        drop(held);
        mirror.clear().unwrap();
        assert!(!first.exists() && second.exists());
        assert!(hold(&first).unwrap().is_none(), "it is gone");
    }

    #[test]
    fn a_mirror_is_removed_whole_unless_it_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m");
        let mirror = Mirror::lock(&path).unwrap();
        let repository = made(&mirror);
        assert!(!remove(&path).unwrap(), "it is written to");
        drop(mirror);
        let held = hold(&repository).unwrap();
        assert!(!remove(&path).unwrap(), "it is read from");
        assert!(repository.join("HEAD").exists());
        drop(held);
        assert!(remove(&path).unwrap());
        assert!(!path.exists());
        assert!(remove(&path).unwrap(), "there is nothing to remove");
    }

    #[test]
    fn what_a_killed_fetch_left_is_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let mirror = Mirror::lock(folder.path()).unwrap();
        let repository = made(&mirror);
        fs::create_dir_all(folder.path().join("2.new/objects")).unwrap();
        fs::create_dir_all(folder.path().join("0.old")).unwrap();
        let pack = repository.join("objects/pack");
        fs::create_dir_all(&pack).unwrap();
        for name in ["pack-1.pack", "pack-1.idx", "pack-2.idx", ".tmpabc", "tmp_pack_x"] {
            fs::write(pack.join(name), "x").unwrap();
        }
        fs::write(repository.join("shallow.lock"), "").unwrap();
        mirror.clear().unwrap();
        sweep(&repository).unwrap();
        let mut left: Vec<_> = fs::read_dir(&pack).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["pack-1.idx", "pack-1.pack"]);
        assert!(!repository.join("shallow.lock").exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the lock and the repository");
    }
}
