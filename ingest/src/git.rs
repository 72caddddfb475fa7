//! Getting a repository: its newest commit only, bare, read-only, over https and nothing else.

mod url;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gix::bstr::ByteSlice;
use sync_core::text::shown;

pub use url::{RemoteUrl, UrlError, repository_name};

use crate::tree::reason;

/// How often a running fetch is held against its limits.
const WATCH: Duration = Duration::from_millis(100);

/// What to fetch and how much of it.
#[derive(Debug, Clone)]
pub struct FetchOptions {
    /// Branch, tag or full commit id; by default what `HEAD` names there.
    pub rev: Option<String>,
    /// Largest repository, in bytes on disk.
    pub max_bytes: u64,
    /// Longest fetch.
    pub max_time: Duration,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self { rev: None, max_bytes: 2 << 30, max_time: Duration::from_mins(5) }
    }
}

/// What was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Commit id in hexadecimal.
    pub commit: String,
    /// Branch that the commit is of, unless a commit id or a tag was asked for.
    pub branch: Option<String>,
}

/// A fetch that did not succeed; nothing of it is left.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The revision is no name or id that can be fetched.
    #[error("`{0}` is no branch, tag or full commit id")]
    Revision(String),
    /// The destination cannot be written.
    #[error("`{path}` cannot be written: {source}")]
    Destination {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The remote refused, is not there, or sent something wrong.
    #[error("`{url}` could not be fetched: {reason}")]
    Remote {
        /// From where.
        url: String,
        /// Why.
        reason: String,
    },
    /// Beyond [`FetchOptions::max_bytes`].
    #[error("`{url}` is larger than {limit} bytes (too_large)")]
    TooLarge {
        /// From where.
        url: String,
        /// The limit.
        limit: u64,
    },
    /// Beyond [`FetchOptions::max_time`].
    #[error("`{url}` was not fetched within {seconds} s (timeout)")]
    Timeout {
        /// From where.
        url: String,
        /// The limit.
        seconds: u64,
    },
}

impl FetchError {
    /// What to do about it.
    pub const fn next_step(&self) -> &'static str {
        match self {
            Self::Revision(_) => "give a branch, a tag, or all 40 digits of a commit id",
            Self::Destination { .. } => "check the folder's permissions and free space",
            Self::Remote { .. } => "check the address in a browser; a private repository needs a credential",
            Self::TooLarge { .. } => "clone it by other means and give the path of the clone",
            Self::Timeout { .. } => "try again later, or clone it by other means and give the path of the clone",
        }
    }
}

/// Fetches one commit into a bare repository at `destination`, which is replaced as a whole once the fetch has
/// succeeded. At most one fetch into a destination may run at a time: what an interrupted one left is removed.
///
/// Nothing of the user, the system or the environment configures it, no protocol but the address's own is possible
/// (redirects included), and nothing that was fetched is run or written as a file.
pub fn fetch_bare(url: &RemoteUrl, destination: &Path, options: &FetchOptions) -> Result<Fetched, FetchError> {
    let unwritable = |source| FetchError::Destination { path: destination.to_owned(), source };
    let fresh = beside(destination, "fetching");
    remove(&fresh).map_err(unwritable)?;
    if let Some(parent) = destination.parent() {
        fs::create_dir_all(parent).map_err(unwritable)?;
    }
    let fetched = watched(url, &fresh, options, |interrupt| fetch(url, &fresh, options, interrupt));
    let fetched = fetched.and_then(|fetched| {
        replace(&fresh, destination).map_err(unwritable)?;
        Ok(fetched)
    });
    if fetched.is_err() {
        // The error that is reported says more than one of cleaning up.
        let _ = remove(&fresh);
    }
    fetched
}

fn fetch(
    url: &RemoteUrl,
    folder: &Path,
    options: &FetchOptions,
    interrupt: &AtomicBool,
) -> Result<Fetched, FetchError> {
    let failed = |reason: String| FetchError::Remote { url: url.to_string(), reason };
    let isolated = gix::open::Options::isolated().with(gix::sec::Trust::Full).config_overrides([
        "protocol.allow=never".to_owned(),
        format!("protocol.{}.allow=always", url.scheme()),
        "credential.helper=".to_owned(),
    ]);
    let mut prepared = gix::clone::PrepareFetch::new(
        url.as_str(),
        folder,
        gix::create::Kind::Bare,
        gix::create::Options::default(),
        isolated,
    )
    .map_err(|error| failed(reason(&error)))?
    .with_shallow(gix::remote::fetch::Shallow::DepthAtRemote(std::num::NonZeroU32::MIN))
    .configure_remote(|remote| Ok(remote.with_fetch_tags(gix::remote::fetch::Tags::None)));
    let rev = options.rev.as_deref().filter(|rev| *rev != "HEAD");
    let bad_rev = |rev: &str| FetchError::Revision(shown(rev, 100));
    if let Some(rev) = rev {
        prepared = if is_commit_id(rev) {
            prepared.with_revision(Some(rev)).map_err(|_| bad_rev(rev))?
        } else {
            prepared.with_ref_name(Some(rev)).map_err(|_| bad_rev(rev))?
        };
    }
    let (repository, _) =
        prepared.fetch_only(gix::progress::Discard, interrupt).map_err(|error| failed(reason(&error)))?;
    let commit = repository
        .head_id()
        .map_err(|_| failed("it has no commit there; it may be empty".to_owned()))?
        .object()
        .and_then(gix::Object::peel_to_commit)
        .map_err(|error| failed(reason(&error)))?;
    let head = repository.head_name().map_err(|error| failed(reason(&error)))?;
    let branch = head.and_then(|name| {
        name.as_bstr().strip_prefix(b"refs/heads/".as_slice()).map(|name| name.to_str_lossy().into_owned())
    });
    Ok(Fetched { commit: commit.id.to_hex().to_string(), branch })
}

/// Runs a fetch with somebody watching its time and what it has written.
fn watched(
    url: &RemoteUrl,
    folder: &Path,
    options: &FetchOptions,
    run: impl FnOnce(&AtomicBool) -> Result<Fetched, FetchError>,
) -> Result<Fetched, FetchError> {
    let interrupt = AtomicBool::new(false);
    let done = (Mutex::new(false), Condvar::new());
    let started = Instant::now();
    let limit = |is_late: bool| {
        if is_late {
            return FetchError::Timeout { url: url.to_string(), seconds: options.max_time.as_secs() };
        }
        FetchError::TooLarge { url: url.to_string(), limit: options.max_bytes }
    };
    let (exceeded, result) = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut is_done = done.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            while !*is_done {
                is_done = match done.1.wait_timeout(is_done, WATCH) {
                    Ok((is_done, _)) => is_done,
                    Err(poisoned) => poisoned.into_inner().0,
                };
                let is_late = started.elapsed() > options.max_time;
                if is_late || size_of(folder) > options.max_bytes {
                    interrupt.store(true, Ordering::Relaxed);
                    return Some(limit(is_late));
                }
            }
            None
        });
        let result = run(&interrupt);
        *done.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = true;
        done.1.notify_all();
        (watcher.join().ok().flatten(), result)
    });
    // What was written since the watcher's last look counts too.
    let exceeded = exceeded.or_else(|| (size_of(folder) > options.max_bytes).then(|| limit(false)));
    exceeded.map_or(result, Err)
}

/// Bytes of the files below a folder, links not followed; what vanishes meanwhile counts nothing.
fn size_of(folder: &Path) -> u64 {
    let mut total = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) => total += metadata.len(),
                Err(_) => {}
            }
        }
    }
    total
}

fn replace(fresh: &Path, destination: &Path) -> io::Result<()> {
    let old = beside(destination, "replaced");
    remove(&old)?;
    match fs::rename(destination, &old) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::rename(fresh, destination)?;
    remove(&old)
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn beside(destination: &Path, suffix: &str) -> PathBuf {
    let mut name = destination.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    destination.with_file_name(name)
}

fn is_commit_id(rev: &str) -> bool {
    rev.len() == 40 && rev.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=trunk"])
            .args(args)
            .current_dir(folder)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A repository with two commits and a tag on the first.
    fn remote() -> (tempfile::TempDir, RemoteUrl) {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "-q"]);
        for name in ["a.ts", "b.ts"] {
            fs::write(folder.path().join(name), "export {}\n").unwrap();
            git(folder.path(), &["add", "."]);
            git(folder.path(), &["commit", "-qm", name]);
            git(folder.path(), &["tag", &format!("v-{name}")]);
        }
        let url = RemoteUrl::local(&format!("file://{}", folder.path().display())).unwrap();
        (folder, url)
    }

    #[test]
    fn the_newest_commit_alone_is_fetched_and_replaces_what_was_there() {
        let (source, url) = remote();
        let target = tempfile::tempdir().unwrap();
        let destination = target.path().join("mirror/acme");
        for _ in 0..2 {
            let fetched = fetch_bare(&url, &destination, &FetchOptions::default()).unwrap();
            assert_eq!(fetched.commit, git(source.path(), &["rev-parse", "HEAD"]));
            assert_eq!(fetched.branch.as_deref(), Some("trunk"));
        }
        assert_eq!(git(&destination, &["rev-list", "--all", "--count"]), "1");
        assert_eq!(git(&destination, &["rev-parse", "--is-bare-repository"]), "true");
        assert!(!destination.join("b.ts").exists(), "no work tree");
        assert_eq!(fs::read_dir(destination.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_tag_and_a_commit_can_be_asked_for_and_what_is_not_there_is_an_error_that_leaves_nothing() {
        let (source, url) = remote();
        let first = git(source.path(), &["rev-parse", "HEAD~1"]);
        let target = tempfile::tempdir().unwrap();
        let destination = target.path().join("mirror");
        let at = |rev: &str| FetchOptions { rev: Some(rev.to_owned()), ..FetchOptions::default() };
        assert_eq!(fetch_bare(&url, &destination, &at("v-a.ts")).unwrap().commit, first);
        fs::remove_dir_all(&destination).unwrap();
        for rev in ["absent", &"0".repeat(40), "..", "-x", "a b"] {
            let error = fetch_bare(&url, &destination, &at(rev)).unwrap_err();
            assert!(matches!(error, FetchError::Remote { .. } | FetchError::Revision(_)), "{rev}: {error}");
            assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0, "{rev}");
        }
    }

    #[test]
    fn a_fetch_ends_at_its_limits() {
        let (_source, url) = remote();
        let target = tempfile::tempdir().unwrap();
        let options = FetchOptions { max_bytes: 10, ..FetchOptions::default() };
        let error = fetch_bare(&url, &target.path().join("mirror"), &options).unwrap_err();
        assert!(matches!(error, FetchError::TooLarge { limit: 10, .. }), "{error}");
        assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0);
    }
}
