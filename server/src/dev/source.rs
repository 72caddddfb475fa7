//! Which repository `--repo` means, what it is called, and what must be done before it can be indexed.

use std::path::{Path, PathBuf};

use sync_core::text::shown;
use sync_ingest::git::{RemoteUrl, repository_name};

use super::error::DevError;

/// The longest repository name.
const MAX_NAME: usize = 100;

/// A repository to index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// The embedded one.
    Fixture,
    /// A folder of this machine: a git repository, bare or not.
    Folder(PathBuf),
    /// Fetched into the data folder first.
    Remote(RemoteUrl),
}

impl Source {
    /// Reads what `--repo` was given.
    pub(super) fn parse(repo: Option<&str>) -> Result<Self, DevError> {
        let Some(repo) = repo else { return Ok(Self::Fixture) };
        // `host:path` is what git takes for ssh.
        if repo.contains("://") || (repo.contains(':') && !Path::new(repo).exists()) {
            let refused = |error: sync_ingest::git::UrlError| DevError::refused(error.to_string(), error.next_step());
            return RemoteUrl::local(repo).map(Self::Remote).map_err(refused);
        }
        Path::new(repo).canonicalize().map(Self::Folder).map_err(|error| {
            DevError::refused(
                format!("the repository {} cannot be opened: {error}", shown(repo, 200)),
                "give the path of a git repository on this machine, or an https URL",
            )
        })
    }

    /// What the repository is called: a remote's path; a folder's own name.
    pub(super) fn name(&self) -> Result<String, DevError> {
        let name = match self {
            Self::Fixture => Some(super::fixture::NAME.to_owned()),
            Self::Remote(url) => Some(repository_name(url)),
            Self::Folder(path) => {
                // `acme/billing/.git` and `acme/billing` are the same repository.
                let path = if path.file_name().is_some_and(|name| name == ".git") {
                    path.parent().unwrap_or(path)
                } else {
                    path
                };
                path.file_name().map(|name| name_of(&name.to_string_lossy()))
            }
        };
        name.filter(|name| name.chars().any(|c| c.is_ascii_alphanumeric())).ok_or_else(|| {
            DevError::refused(
                "the repository's folder has no name that could be its own",
                "give a path that ends in a name of letters and digits",
            )
        })
    }

    /// Where it comes from, as the registry keeps it: tells two repositories of the same name apart.
    pub(super) fn origin(&self) -> Option<String> {
        match self {
            Self::Fixture => None,
            Self::Folder(path) => Some(format!("file://{}", path.display())),
            Self::Remote(url) => Some(url.to_string()),
        }
    }
}

/// A folder's name in the letters that repository names have.
fn name_of(folder: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c.to_ascii_lowercase() } else { '-' };
    folder.strip_suffix(".git").unwrap_or(folder).chars().map(plain).take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_url_or_the_folder() {
        let named = |repo: &str| Source::parse(Some(repo)).unwrap().name().unwrap();
        assert_eq!(named("https://example.com/Acme/Billing.git"), "acme/billing");
        assert_eq!(named("https://example.com/group/sub/thing/"), "group/sub/thing");
        let folder = tempfile::tempdir().unwrap();
        for (inside, name) in [("My App", "my-app"), ("billing.git", "billing"), ("billing/.git", "billing")] {
            let path = folder.path().join(inside);
            std::fs::create_dir_all(&path).unwrap();
            assert_eq!(named(path.to_str().unwrap()), name);
        }
        assert_eq!(Source::parse(None).unwrap().name().unwrap(), "example/billing");
    }

    #[test]
    fn what_is_no_repository_is_refused_with_the_next_step() {
        for repo in [
            "http://example.com/a/b",
            "ssh://git@example.com/a/b",
            "git@example.com:a/b",
            "https://user:secret@example.com/a/b",
            "/nowhere/at/all",
        ] {
            let error = Source::parse(Some(repo)).unwrap_err();
            assert!(error.is_refusal(), "{error}");
            assert!(!error.to_string().contains("secret"), "{error}");
            assert!(error.to_string().contains("; next: "), "{error}");
        }
    }
}
