//! A plain folder.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::{Content, Entry, Kind, Node, ReadError};

/// Most entries of one folder that are listed: they are held in memory until they are sorted.
pub(crate) const MAX_ENTRIES: usize = 1_000_000;

/// A folder on disk; paths below it are given with `/`.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// How many repositories stand in this folder or one level below, counted to two.
    pub fn count_repositories(&self) -> usize {
        let folders_of = |path: &Path| {
            std::fs::read_dir(path)
                .into_iter()
                .flatten()
                .flatten()
                .take(1000)
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path())
                .collect::<Vec<_>>()
        };
        let is_repository = |path: &PathBuf| path.join(".git").exists();
        let (repositories, others): (Vec<_>, Vec<_>) = folders_of(&self.root).into_iter().partition(is_repository);
        let below = others.iter().flat_map(|folder| folders_of(folder)).filter(is_repository);
        repositories.iter().cloned().chain(below).take(2).count()
    }

    pub(super) fn list(&self, path: &str) -> Result<Vec<Entry>, ReadError> {
        let listed = std::fs::read_dir(self.root.join(path)).map_err(unreadable)?;
        let entries: Vec<Entry> = listed
            .take(MAX_ENTRIES + 1)
            .map(|entry| {
                let entry = entry.map_err(unreadable)?;
                let kind = entry.file_type().map_err(unreadable)?;
                let kind = if kind.is_symlink() {
                    Kind::Symlink
                } else if kind.is_dir() {
                    Kind::Folder
                } else if kind.is_file() {
                    Kind::File
                } else {
                    Kind::Special
                };
                Ok(Entry { name: entry.file_name().as_bytes().to_vec(), kind, node: Node::Path })
            })
            .collect::<Result<_, _>>()?;
        if entries.len() > MAX_ENTRIES { Err(ReadError::TooLarge(MAX_ENTRIES as u64)) } else { Ok(entries) }
    }

    pub(super) fn size(&self, path: &str) -> Result<u64, ReadError> {
        Ok(std::fs::symlink_metadata(self.root.join(path)).map_err(unreadable)?.len())
    }

    pub(super) fn read(&self, path: &str, limit: u64) -> Result<Content, ReadError> {
        // What stands at the path may have been replaced since it was listed: by a symlink, which is not followed, or
        // by a pipe, which must not hang.
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(self.root.join(path))
            .map_err(unreadable)?;
        let bytes = read_at_most(&file, limit)?;
        let hash = gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, &bytes)
            .map_err(|error| ReadError::Unreadable(error.to_string()))?;
        Ok(Content { hash: hash.to_hex().to_string(), bytes })
    }
}

fn read_at_most(file: &File, limit: u64) -> Result<Vec<u8>, ReadError> {
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(ReadError::Unreadable("it is no file any more".to_owned()));
    }
    if metadata.len() > limit {
        return Err(ReadError::TooLarge(limit));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    file.take(limit + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > limit {
        return Err(ReadError::TooLarge(limit));
    }
    Ok(bytes)
}

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err takes")]
fn unreadable(error: std::io::Error) -> ReadError {
    ReadError::Unreadable(error.to_string())
}
