//! Which files of a tree are read, and why the others are not.

mod content;
mod ignored;
mod report;
#[cfg(test)]
mod tests;

use rustc_hash::{FxHashMap, FxHashSet};
use sync_core::graph::MAX_PATH_BYTES;
use sync_core::text::shown;

pub use content::refuse as refuse_content;
pub use report::Report;

use crate::language::Language;
use crate::manifests::{self, Listing};
use crate::reason::Reason;
use crate::tree::{Entry, Kind, Node, ReadError, Reader, Tree};
use ignored::IgnoreStack;
pub(crate) use ignored::{IGNORE_FILE_BYTES, MAX_PATTERNS};

/// Largest source file that is read, in bytes.
pub const SOURCE_BYTES: u64 = 512 << 10;
/// Most bytes of manifests and lockfiles in all.
pub(crate) const MANIFESTS_BYTES: u64 = 128 << 20;

/// How much of a tree is walked.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most source files.
    pub sources: usize,
    /// Most entries of folders that are listed.
    pub entries: u64,
    /// Most bytes of files in those folders.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { sources: 20_000, entries: 200_000, bytes: 2 << 30 }
    }
}

/// A file that is to be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceEntry {
    /// Repository-relative path with `/`.
    pub path: String,
    /// By its name.
    pub language: Language,
    /// Git blob id of its bytes, in hexadecimal.
    pub content_hash: String,
    /// Its size.
    pub bytes: u64,
}

/// A file that looks like a source by its name and size; its bytes are looked at when it is read.
#[derive(Debug)]
pub struct Candidate {
    /// Repository-relative path with `/`.
    pub path: String,
    /// By its name.
    pub language: Language,
    /// How to read it.
    pub node: Node,
}

/// What a walk found.
#[derive(Debug)]
pub struct Walked {
    /// Files to read, ascending by path.
    pub candidates: Vec<Candidate>,
    /// Manifests and lockfiles.
    pub manifests: Listing,
    /// What was skipped and why the index is partial.
    pub report: Report,
    /// How large each object of a commit is whose size was asked for.
    pub(crate) sizes: Sizes,
    /// Whether the walk ended at [`Limits::entries`] or [`Limits::bytes`].
    pub tree_too_large: bool,
}

/// Walks a tree, without reading source files.
pub fn walk(tree: &Tree, limits: Limits) -> Walked {
    walk_again(tree, limits, &Known::default())
}

/// The same where something is known of some objects: looking that up is most of what a walk of a commit costs.
pub(crate) fn walk_again(tree: &Tree, limits: Limits, known: &Known) -> Walked {
    let reader = tree.reader();
    let mut walk = Walk {
        known,
        ignore: reader.honours_ignore_files(),
        reader,
        limits,
        entries: 0,
        bytes: 0,
        manifest_bytes: 0,
        found: Walked {
            candidates: Vec::new(),
            manifests: Listing::default(),
            report: Report::default(),
            sizes: Sizes::default(),
            tree_too_large: false,
        },
    };
    walk.run(tree.root());
    let mut found = walk.found;
    found.candidates.sort_by(|a, b| a.path.cmp(&b.path));
    found.manifests.sort();
    for candidate in found.candidates.drain(limits.sources.min(found.candidates.len())..) {
        found.report.fail(Reason::FileCap, &candidate.path);
    }
    found
}

/// Sizes of git objects, by id.
pub(crate) type Sizes = FxHashMap<gix::ObjectId, u64>;

/// What an earlier run found of the objects of a commit.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) sizes: Sizes,
    /// Manifests that were read.
    pub(crate) manifests: FxHashSet<String>,
}

struct Walk<'a> {
    known: &'a Known,
    reader: Reader<'a>,
    ignore: bool,
    limits: Limits,
    entries: u64,
    bytes: u64,
    manifest_bytes: u64,
    found: Walked,
}

/// A folder still to be listed; an own stack, since a hostile tree may be deeper than the program's.
struct Folder {
    /// Empty for the root, else ending in `/`.
    path: String,
    node: Node,
    ignores: IgnoreStack,
}

impl Walk<'_> {
    fn run(&mut self, root: Node) {
        let mut folders = vec![Folder { path: String::new(), node: root, ignores: IgnoreStack::default() }];
        while let Some(folder) = folders.pop() {
            let entries = match self.reader.list(&folder.path, &folder.node) {
                Ok(entries) => entries,
                Err(error) => {
                    let reason = match error {
                        ReadError::TooLarge(_) => Reason::FolderTooLarge,
                        ReadError::Unreadable(_) => Reason::Unreadable,
                    };
                    // The root is no path that a snapshot can say was skipped.
                    if folder.path.is_empty() {
                        self.found.report.note(reason, "./");
                    } else {
                        self.found.report.fail(reason, &folder.path);
                    }
                    continue;
                }
            };
            let mut below = self.visit(&folder, entries);
            if self.found.tree_too_large {
                // The root has no path of its own.
                let path = if folder.path.is_empty() { "./" } else { &folder.path };
                self.found.report.note(Reason::TreeTooLarge, path);
                return;
            }
            // The stack gives back the last one first.
            below.reverse();
            folders.append(&mut below);
        }
    }

    /// Looks at the entries of one folder; the folders among them come back.
    fn visit(&mut self, folder: &Folder, entries: Vec<Entry>) -> Vec<Folder> {
        // They are ascending by name.
        let flags: Vec<&'static str> = SIBLINGS.into_iter().filter(|name| has_file(&entries, name)).collect();
        let beside = |name: &str| flags.contains(&name);
        if !folder.path.is_empty() && beside("pyvenv.cfg") {
            self.found.report.skip(Reason::Vendored, &folder.path);
            return Vec::new();
        }
        let ignores =
            if self.ignore && beside(".gitignore") { self.with_ignore_file(folder) } else { folder.ignores.clone() };
        let mut below = Vec::new();
        for entry in entries {
            self.entries += 1;
            if self.entries > self.limits.entries || self.bytes > self.limits.bytes {
                self.found.tree_too_large = true;
                return below;
            }
            let slash = if entry.kind == Kind::Folder { "/" } else { "" };
            let Some(name) = usable_name(&entry.name) else {
                let path = format!("{}{}{slash}", folder.path, shown_name(&entry.name));
                let path = if path.len() > MAX_PATH_BYTES { shown(&path, 200) } else { path };
                self.found.report.skip(Reason::BadName, &path);
                continue;
            };
            let path = format!("{}{name}{slash}", folder.path);
            if path.len() > MAX_PATH_BYTES {
                self.found.report.fail(Reason::PathTooLong, &shown(&path, 200));
                continue;
            }
            match entry.kind {
                Kind::Symlink => self.found.report.skip(Reason::Symlink, &path),
                Kind::Submodule => self.found.report.skip(Reason::Submodule, &path),
                Kind::Special => self.found.report.skip(Reason::Special, &path),
                Kind::Folder => {
                    if let Some(reason) = skipped_folder(name, &beside) {
                        self.found.report.skip(reason, &path);
                    } else if ignores.is_ignored(&path, true) {
                        self.found.report.skip(Reason::Ignored, &path);
                    } else {
                        below.push(Folder { path, node: entry.node, ignores: ignores.clone() });
                    }
                }
                Kind::File => self.file(name, path, entry.node, &ignores),
            }
        }
        below
    }

    fn size(&mut self, path: &str, node: &Node) -> Result<u64, ReadError> {
        let Node::Object(id) = node else { return self.reader.size(path, node) };
        let size = self.known.sizes.get(id).map_or_else(|| self.reader.size(path, node), |size| Ok(*size))?;
        self.found.sizes.insert(*id, size);
        Ok(size)
    }

    fn file(&mut self, name: &str, path: String, node: Node, ignores: &IgnoreStack) {
        let size = self.size(&path, &node);
        self.bytes += size.as_ref().copied().unwrap_or_default();
        let language = Language::of_path(name);
        let manifest_limit = manifests::size_limit(name);
        if language.is_none() && manifest_limit.is_none() {
            return;
        }
        if ignores.is_ignored(&path, false) {
            if language.is_some() {
                self.found.report.skip(Reason::Ignored, &path);
            }
            return;
        }
        let Ok(size) = size else {
            self.found.report.fail(Reason::Unreadable, &path);
            return;
        };
        if let Some(limit) = manifest_limit {
            self.manifest(path, node, size, limit);
        } else if name.contains(".min.") {
            self.found.report.skip(Reason::Minified, &path);
        } else if size > SOURCE_BYTES {
            self.found.report.fail(Reason::TooLarge, &path);
        } else if let Some(language) = language {
            self.found.candidates.push(Candidate { path, language, node });
        }
    }

    fn manifest(&mut self, path: String, node: Node, size: u64, limit: u64) {
        let limit = limit.min(MANIFESTS_BYTES.saturating_sub(self.manifest_bytes));
        if let Node::Object(id) = &node
            && size <= limit
        {
            let hash = id.to_hex().to_string();
            if self.known.manifests.contains(&hash) {
                self.manifest_bytes += size;
                self.found.manifests.push_known(path, node, hash);
                return;
            }
        }
        match self.reader.read(&path, &node, limit) {
            Ok(content) => {
                self.manifest_bytes += content.bytes.len() as u64;
                self.found.manifests.push(path, node, content);
            }
            Err(ReadError::TooLarge(_)) => self.found.report.fail(Reason::ManifestTooLarge, &path),
            Err(ReadError::Unreadable(_)) => self.found.report.fail(Reason::Unreadable, &path),
        }
    }

    fn with_ignore_file(&mut self, folder: &Folder) -> IgnoreStack {
        let path = format!("{}.gitignore", folder.path);
        let reason = match self.reader.read(&path, &Node::Path, IGNORE_FILE_BYTES) {
            Ok(content) => match folder.ignores.with(&folder.path, &content.bytes) {
                Some(ignores) => return ignores,
                None => Reason::IgnoreFileTooLarge,
            },
            Err(ReadError::TooLarge(_)) => Reason::IgnoreFileTooLarge,
            Err(ReadError::Unreadable(_)) => Reason::Unreadable,
        };
        self.found.report.fail(reason, &path);
        folder.ignores.clone()
    }
}

/// Files that say something of the folder that they are in.
const SIBLINGS: [&str; 5] = [".gitignore", "Cargo.toml", "composer.json", "go.mod", "pyvenv.cfg"];

/// Whether a file of this name is among entries that are ascending by name.
fn has_file(entries: &[Entry], name: &str) -> bool {
    let at = entries.partition_point(|entry| entry.name.as_slice() < name.as_bytes());
    entries[at..].iter().take_while(|entry| entry.name == name.as_bytes()).any(|entry| entry.kind == Kind::File)
}

/// Why a folder of this name is not entered, whatever ignore files say.
fn skipped_folder(name: &str, beside: &dyn Fn(&str) -> bool) -> Option<Reason> {
    match name {
        "node_modules" | "site-packages" => Some(Reason::Vendored),
        "vendor" if beside("go.mod") || beside("composer.json") => Some(Reason::Vendored),
        "dist" | "build" | "graft" | "coverage" | "__pycache__" => Some(Reason::BuildOutput),
        "target" if beside("Cargo.toml") => Some(Reason::BuildOutput),
        _ if name.starts_with('.') => Some(Reason::Hidden),
        _ => None,
    }
}

/// Names that facts cannot carry are skipped: they are not UTF-8, hold control characters, or are none at all (which
/// only a forged tree object has).
fn usable_name(name: &[u8]) -> Option<&str> {
    let name = std::str::from_utf8(name).ok()?;
    let usable = !matches!(name, "" | "." | "..") && !name.contains(|c: char| c == '/' || c.is_control());
    usable.then_some(name)
}

/// An unusable name as a part of a path that may be told: it must not lead elsewhere there either.
fn shown_name(name: &[u8]) -> String {
    let name = shown(&String::from_utf8_lossy(name), 200).replace('/', "\u{fffd}");
    if matches!(name.as_str(), "" | "." | "..") { "\u{fffd}".to_owned() } else { name }
}
