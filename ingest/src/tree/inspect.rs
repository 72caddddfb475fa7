//! What a git folder may hold: a repository is read as it is, and nothing in it may lead the reader elsewhere or hold it
//! up. Git itself follows all of this; who indexes what others made must not.

use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

/// Largest of the small files that say where things are, in bytes.
const POINTER_BYTES: u64 = 4096;
/// Largest configuration that is looked into, in bytes.
const CONFIG_BYTES: u64 = 1 << 20;
/// Entries that are looked at; a repository with more is taken as it is.
const MAX_ENTRIES: usize = 500_000;
/// Parts of a git folder that are never read.
const UNREAD: [&str; 8] = ["hooks", "logs", "lfs", "modules", "worktrees", "rr-cache", "info", "index"];

/// Why a repository is not opened, in words.
type Reason = String;

/// Looks at the repository at `path`: its git folder may be `path` itself, `.git` in it, or where a `.git` file leads, if
/// what is there says that it belongs to `path`.
pub(super) fn inspect(path: &Path) -> Result<(), Reason> {
    let dot_git = path.join(".git");
    let git = match fs::symlink_metadata(&dot_git) {
        Ok(found) if found.is_dir() => dot_git,
        Ok(found) if found.is_file() => linked(path, &dot_git)?,
        Ok(_) => return Err("its `.git` is neither a folder nor a file".to_owned()),
        Err(_) => path.to_owned(),
    };
    let common = common(&git)?;
    look_through(&common)?;
    if common != git {
        look_through(&git)?;
    }
    alternates(&common)
}

/// The folders that reading the tree at `path` needs: itself, and where its git folder is elsewhere, that.
pub(super) fn folders(path: &Path) -> Vec<PathBuf> {
    let mut folders = vec![path.to_owned()];
    let dot_git = path.join(".git");
    if fs::symlink_metadata(&dot_git).is_ok_and(|found| found.is_file())
        && let Ok(git) = linked(path, &dot_git)
    {
        folders.extend(common(&git));
        folders.push(git);
    }
    folders
}

/// The git folder that a `.git` file names. It counts only where it names this folder too (a linked work tree, a
/// submodule): anybody can write a file that names somebody's repository.
fn linked(path: &Path, file: &Path) -> Result<PathBuf, Reason> {
    let text = pointer(file)?;
    let target = text.strip_prefix("gitdir:").map(str::trim).ok_or("its `.git` file names no git folder")?;
    let git = fs::canonicalize(path.join(target)).map_err(|_| "its `.git` file leads nowhere".to_owned())?;
    let own = fs::canonicalize(path).map_err(|error| error.to_string())?;
    let is_own = |named: PathBuf| fs::canonicalize(named).is_ok_and(|named| named == own);
    let from_work_tree = pointer(&git.join("gitdir")).ok().and_then(|named| {
        let named = git.join(named.trim());
        (named.file_name() == Some(OsStr::new(".git"))).then(|| named.parent().map(Path::to_owned)).flatten()
    });
    if from_work_tree.is_some_and(is_own) || work_tree(&git).is_some_and(is_own) {
        return Ok(git);
    }
    Err("its `.git` file leads to a repository that does not know this folder".to_owned())
}

/// `core.worktree` of a git folder, as git writes it for submodules.
fn work_tree(git: &Path) -> Option<PathBuf> {
    let config = text(&git.join("config"), CONFIG_BYTES).ok()?;
    let mut in_core = false;
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            in_core = line == "[core]";
        } else if in_core
            && let Some((name, value)) = line.split_once('=')
            && name.trim().eq_ignore_ascii_case("worktree")
        {
            return Some(git.join(value.trim()));
        }
    }
    None
}

/// The folder that holds what linked work trees share: the git folder itself, or one above it.
fn common(git: &Path) -> Result<PathBuf, Reason> {
    let file = git.join("commondir");
    if fs::symlink_metadata(&file).is_err() {
        return Ok(git.to_owned());
    }
    let named = git.join(pointer(&file)?.trim());
    let leads = || "its `commondir` leads out of the repository".to_owned();
    let (common, git) = (fs::canonicalize(named).map_err(|_| leads())?, fs::canonicalize(git).map_err(|_| leads())?);
    if git.starts_with(&common) && common.join("objects").is_dir() { Ok(common) } else { Err(leads()) }
}

/// Nothing that a reader would follow out of the folder, or wait for.
fn look_through(git: &Path) -> Result<(), Reason> {
    let mut folders = vec![git.to_owned()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        // What cannot be listed is said where it is read.
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            seen += 1;
            if seen > MAX_ENTRIES {
                return Ok(());
            }
            let is_unread = folder == git && UNREAD.iter().any(|name| entry.file_name() == *name);
            let Ok(kind) = entry.file_type() else { continue };
            if is_unread {
                continue;
            }
            if kind.is_dir() {
                folders.push(entry.path());
            } else if let Some(what) = odd(kind) {
                let path = entry.path();
                let path = path.strip_prefix(git).unwrap_or(&path).to_string_lossy().into_owned();
                return Err(format!("`{path}` in its git folder is {what}"));
            }
        }
    }
    Ok(())
}

fn odd(kind: FileType) -> Option<&'static str> {
    if kind.is_symlink() {
        return Some("a symlink, which may lead out of it");
    }
    (!kind.is_file()).then_some("neither a file nor a folder")
}

/// Object folders of other repositories, whose objects git takes for this one's.
fn alternates(common: &Path) -> Result<(), Reason> {
    let file = common.join("objects").join("info").join("alternates");
    if fs::symlink_metadata(&file).is_err() {
        return Ok(());
    }
    let objects = fs::canonicalize(common.join("objects")).map_err(|error| error.to_string())?;
    for line in pointer(&file)?.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let inside = fs::canonicalize(objects.join(line)).is_ok_and(|path| path.starts_with(&objects));
        if !inside {
            return Err("it borrows objects of another repository (`objects/info/alternates`)".to_owned());
        }
    }
    Ok(())
}

/// The text of a small file that says where something is.
fn pointer(file: &Path) -> Result<String, Reason> {
    text(file, POINTER_BYTES)
}

fn text(file: &Path, limit: u64) -> Result<String, Reason> {
    let name = || file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let metadata = fs::symlink_metadata(file).map_err(|error| format!("`{}`: {error}", name()))?;
    if !metadata.is_file() || metadata.len() > limit {
        return Err(format!("`{}` is no small file", name()));
    }
    let text: io::Result<String> = fs::read_to_string(file);
    text.map_err(|error| format!("`{}`: {error}", name()))
}
