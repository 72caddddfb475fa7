//! A tree of files to index: a git commit read without a work tree, or a plain folder.
//!
//! Neither form follows a symlink, enters a submodule or runs anything; which files count is decided by
//! [`crate::walk`].

mod folder;
mod git;
mod inspect;

use std::path::{Path, PathBuf};

use sync_core::text::shown;

pub use folder::Folder;
pub(crate) use folder::MAX_ENTRIES as FOLDER_ENTRIES;
pub use git::Commit;
pub(crate) use git::{TREE_BYTES, reason};

/// The folders that reading the tree at `path` needs.
pub(crate) fn folders(path: &Path) -> Vec<PathBuf> {
    inspect::folders(path)
}

/// What is indexed.
#[derive(Debug)]
pub enum Tree {
    /// A git commit.
    Commit(Box<Commit>),
    /// A plain folder.
    Folder(Folder),
}

/// Something in a folder of the tree.
#[derive(Debug)]
pub struct Entry {
    /// Its name as bytes: names need not be UTF-8.
    pub name: Vec<u8>,
    /// What it is.
    pub kind: Kind,
    /// How to read it.
    pub node: Node,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A symlink, never followed.
    Symlink,
    /// Another repository's commit.
    Submodule,
    /// A device, pipe or socket.
    Special,
}

/// How a tree finds an entry again.
#[derive(Debug, Clone)]
pub enum Node {
    /// A git object.
    Object(gix::ObjectId),
    /// In a folder, the path says it.
    Path,
}

/// The bytes of a file.
#[derive(Debug)]
pub struct Content {
    /// Git blob id of the bytes, in hexadecimal.
    pub hash: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// An entry that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is gone, damaged, or not permitted.
    #[error("{0}")]
    Unreadable(String),
    /// It is larger than asked for.
    #[error("larger than {0} bytes")]
    TooLarge(u64),
}

/// A path that cannot be indexed at all.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nothing is there.
    #[error("there is nothing at `{0}`")]
    Missing(String),
    /// A file, say.
    #[error("`{0}` is not a folder")]
    NotAFolder(String),
    /// A repository that git cannot read.
    #[error("the git repository `{path}` cannot be read: {reason}")]
    Repository {
        /// Where.
        path: String,
        /// Why.
        reason: String,
    },
    /// A repository that would have to be read elsewhere than where it is.
    #[error("the git repository `{path}` is not read: {reason}")]
    Elsewhere {
        /// Where.
        path: String,
        /// Why.
        reason: String,
    },
    /// No such revision.
    #[error("`{rev}` names no commit of `{path}`: {reason}")]
    Revision {
        /// Where.
        path: String,
        /// As given.
        rev: String,
        /// Why.
        reason: String,
    },
    /// A revision of something without history.
    #[error("`{path}` is a plain folder, which has no revision `{rev}`")]
    FolderHasNoRevision {
        /// Where.
        path: String,
        /// As given.
        rev: String,
    },
}

impl OpenError {
    /// What to do about it.
    pub const fn next_step(&self) -> &'static str {
        match self {
            Self::Missing(_) | Self::NotAFolder(_) => "give the path of a git repository or of a folder",
            Self::Repository { .. } => "check it with `git fsck`, or clone it again",
            Self::Elsewhere { .. } => "index a clone of it (`git clone --no-local`), which is whole in itself",
            Self::Revision { .. } => "give a branch, tag or commit that `git rev-parse` knows in that repository",
            Self::FolderHasNoRevision { .. } => "leave out the revision, or give the path of the git repository",
        }
    }
}

impl Tree {
    /// Opens a path: a git repository (bare, or the commit of one with a work tree: files that are not committed are
    /// not seen) at `rev`, or else a plain folder.
    pub fn open(path: &Path, rev: Option<&str>) -> Result<Self, OpenError> {
        let shown_path = shown(&path.to_string_lossy(), 200);
        let metadata = std::fs::metadata(path).map_err(|_| OpenError::Missing(shown_path.clone()))?;
        if !metadata.is_dir() {
            return Err(OpenError::NotAFolder(shown_path));
        }
        if Commit::is_repository(path) {
            return Commit::open(path, rev).map(|commit| Self::Commit(Box::new(commit)));
        }
        if let Some(rev) = rev {
            return Err(OpenError::FolderHasNoRevision { path: shown_path, rev: shown(rev, 100) });
        }
        Ok(Self::Folder(Folder::new(path)))
    }

    /// The root folder.
    pub const fn root(&self) -> Node {
        match self {
            Self::Commit(commit) => Node::Object(commit.tree_id()),
            Self::Folder(_) => Node::Path,
        }
    }

    /// A reader; one per thread.
    pub fn reader(&self) -> Reader<'_> {
        match self {
            Self::Commit(commit) => Reader::Commit(Box::new(commit.reader())),
            Self::Folder(folder) => Reader::Folder(folder),
        }
    }
}

/// Reads folders and files of a tree.
#[derive(Debug)]
pub enum Reader<'a> {
    /// Of a commit.
    Commit(Box<git::CommitReader>),
    /// Of a folder.
    Folder(&'a Folder),
}

impl Reader<'_> {
    /// The entries of a folder, ascending by the bytes of their names.
    pub fn list(&self, path: &str, node: &Node) -> Result<Vec<Entry>, ReadError> {
        let mut entries = match (self, node) {
            (Self::Commit(reader), Node::Object(id)) => reader.list(*id)?,
            (Self::Folder(folder), _) => folder.list(path)?,
            (Self::Commit(_), Node::Path) => return Err(ReadError::Unreadable("it is no git object".to_owned())),
        };
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// How large a file is, without reading it.
    pub fn size(&self, path: &str, node: &Node) -> Result<u64, ReadError> {
        match (self, node) {
            (Self::Commit(reader), Node::Object(id)) => reader.size(*id),
            (Self::Folder(folder), _) => folder.size(path),
            (Self::Commit(_), Node::Path) => Err(ReadError::Unreadable("it is no git object".to_owned())),
        }
    }

    /// The bytes of a file of at most `limit` bytes.
    pub fn read(&self, path: &str, node: &Node, limit: u64) -> Result<Content, ReadError> {
        match (self, node) {
            (Self::Commit(reader), Node::Object(id)) => reader.read(*id, limit),
            (Self::Folder(folder), _) => folder.read(path, limit),
            (Self::Commit(_), Node::Path) => Err(ReadError::Unreadable("it is no git object".to_owned())),
        }
    }

    /// Whether ignore files say which entries count: not in a commit, since what is committed is not ignored.
    pub const fn honours_ignore_files(&self) -> bool {
        matches!(self, Self::Folder(_))
    }
}
