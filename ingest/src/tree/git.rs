//! A git commit, read object by object: no work tree, no filters, no hooks, no configuration but the repository's own.

use std::path::Path;

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::objs::tree::EntryKind;
use sync_core::text::shown;

use super::{Content, Entry, Kind, Node, OpenError, ReadError};

/// Largest folder that is decoded, in bytes of its tree object: about half a million names.
pub(crate) const TREE_BYTES: u64 = 32 << 20;

/// A commit of a repository.
#[derive(Debug)]
pub struct Commit {
    repository: gix::ThreadSafeRepository,
    id: ObjectId,
    tree: ObjectId,
    branch: Option<String>,
}

impl Commit {
    /// Whether git has something at this very path; folders above are not looked at.
    pub fn is_repository(path: &Path) -> bool {
        path.join(".git").exists() || gix::discover::is_git(path).is_ok()
    }

    /// Opens the repository at `path` and finds `rev`, by default `HEAD`.
    pub fn open(path: &Path, rev: Option<&str>) -> Result<Self, OpenError> {
        let shown_path = shown(&path.to_string_lossy(), 200);
        super::inspect::inspect(path)
            .map_err(|reason| OpenError::Elsewhere { path: shown_path.clone(), reason: shown(&reason, 300) })?;
        let repository = gix::ThreadSafeRepository::open_opts(path, isolated())
            .map_err(|error| OpenError::Repository { path: shown_path.clone(), reason: reason(&error) })?;
        let local = repository.to_thread_local();
        let rev_text = rev.unwrap_or("HEAD");
        let not_found =
            |reason: String| OpenError::Revision { path: shown_path.clone(), rev: shown(rev_text, 100), reason };
        let commit = local
            .rev_parse_single(rev_text)
            .map_err(|error| not_found(reason(&error)))?
            .object()
            .and_then(gix::Object::peel_to_commit)
            .map_err(|error| not_found(reason(&error)))?;
        let tree = commit.tree_id().map_err(|error| not_found(reason(&error)))?.detach();
        let branch = match rev {
            None | Some("HEAD") => {
                local.head_name().ok().flatten().map(|name| name.shorten().to_str_lossy().into_owned())
            }
            Some(_) => None,
        };
        let id = commit.id;
        drop(commit);
        drop(local);
        Ok(Self { repository, id, tree, branch })
    }

    /// The commit's id in hexadecimal.
    pub fn id(&self) -> String {
        self.id.to_hex().to_string()
    }

    /// The branch that `HEAD` names, where `HEAD` was asked for.
    pub fn branch(&self) -> Option<&str> {
        self.branch.as_deref()
    }

    /// The commit's root folder.
    pub(super) const fn tree_id(&self) -> ObjectId {
        self.tree
    }

    /// A reader; one per thread.
    pub(super) fn reader(&self) -> CommitReader {
        CommitReader(self.repository.to_thread_local())
    }
}

/// Options under which a repository on this machine is opened: nothing of the user, the system or the environment is
/// read, and who owns the files does not matter, since nothing of them is executed.
fn isolated() -> gix::open::Options {
    // Another object in place of the one that an id names would be kept under that id.
    gix::open::Options::isolated().with(gix::sec::Trust::Full).config_overrides(["core.useReplaceRefs=false"])
}

/// An error with its causes, in one bounded line.
pub(crate) fn reason(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    shown(&text, 300)
}

/// Reads objects; one per thread.
pub struct CommitReader(gix::Repository);

impl std::fmt::Debug for CommitReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CommitReader").field(&self.0.path()).finish()
    }
}

impl CommitReader {
    pub(super) fn list(&self, id: ObjectId) -> Result<Vec<Entry>, ReadError> {
        let object = self.object(id, TREE_BYTES)?;
        let tree = object.try_into_tree().map_err(|error| ReadError::Unreadable(reason(&error)))?;
        let tree = tree.decode().map_err(|error| ReadError::Unreadable(reason(&error)))?;
        Ok(tree
            .entries
            .iter()
            .map(|entry| Entry {
                name: entry.filename.to_vec(),
                kind: match entry.mode.kind() {
                    EntryKind::Tree => Kind::Folder,
                    EntryKind::Blob | EntryKind::BlobExecutable => Kind::File,
                    EntryKind::Link => Kind::Symlink,
                    EntryKind::Commit => Kind::Submodule,
                },
                node: Node::Object(entry.oid.to_owned()),
            })
            .collect())
    }

    pub(super) fn size(&self, id: ObjectId) -> Result<u64, ReadError> {
        let header = self.0.find_header(id).map_err(|error| ReadError::Unreadable(reason(&error)))?;
        Ok(header.size())
    }

    pub(super) fn read(&self, id: ObjectId, limit: u64) -> Result<Content, ReadError> {
        let mut blob =
            self.object(id, limit)?.try_into_blob().map_err(|error| ReadError::Unreadable(reason(&error)))?;
        Ok(Content { hash: id.to_hex().to_string(), bytes: blob.take_data() })
    }

    /// The size is looked at in the header, so that an object beyond the limit is never decompressed.
    fn object(&self, id: ObjectId, limit: u64) -> Result<gix::Object<'_>, ReadError> {
        if self.size(id)? > limit {
            return Err(ReadError::TooLarge(limit));
        }
        self.0.find_object(id).map_err(|error| ReadError::Unreadable(reason(&error)))
    }
}
