//! Which repository `--repo` means, what it is called, and what must be done before it can be indexed.

use std::path::{Path, PathBuf};

use url::Url;

use super::error::DevError;

/// The longest repository name.
const MAX_NAME: usize = 100;

/// A repository to index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// The embedded one.
    Fixture,
    /// A folder of this machine: a git repository, bare or not, or a plain folder.
    Folder(PathBuf),
    /// Cloned over HTTPS into the data folder first.
    Remote(Url),
}

impl Source {
    /// Reads what `--repo` was given.
    pub(super) fn parse(repo: Option<&str>) -> Result<Self, DevError> {
        let Some(repo) = repo else { return Ok(Self::Fixture) };
        if let Some((scheme, _)) = repo.split_once("://") {
            if scheme != "https" {
                return Err(DevError::refused(
                    format!("--repo {} is a {scheme} URL", sync_core::text::shown(repo, 200)),
                    "give an https URL, or the path of a clone on this machine",
                ));
            }
            return Self::remote(repo);
        }
        let path = Path::new(repo);
        path.canonicalize().map(Self::Folder).map_err(|error| {
            DevError::refused(
                format!("the repository {} cannot be opened: {error}", sync_core::text::shown(repo, 200)),
                "give the path of a git repository on this machine, or an https URL",
            )
        })
    }

    fn remote(repo: &str) -> Result<Self, DevError> {
        let refuse = |why: &str| {
            DevError::refused(format!("--repo is a URL {why}"), "give one like https://example.com/acme/billing.git")
        };
        let url = Url::parse(repo).map_err(|_| refuse("that cannot be read"))?;
        if !url.username().is_empty() || url.password().is_some() {
            // It would stand in process lists and in the shell's history.
            return Err(refuse("with a credential in it"));
        }
        if url.query().is_some() || url.fragment().is_some() || name_of(url.path()).is_none() {
            return Err(refuse("that names no repository"));
        }
        Ok(Self::Remote(url))
    }

    /// What the repository is called: a remote's path; a folder's own name.
    pub(super) fn name(&self) -> Result<String, DevError> {
        let name = match self {
            Self::Fixture => Some(super::fixture::NAME.to_owned()),
            Self::Remote(url) => name_of(url.path()),
            Self::Folder(path) => {
                // `acme/billing/.git` and `acme/billing` are the same repository.
                let path = if path.file_name().is_some_and(|name| name == ".git") {
                    path.parent().unwrap_or(path)
                } else {
                    path
                };
                path.file_name().and_then(|name| name_of(&name.to_string_lossy()))
            }
        };
        name.ok_or_else(|| {
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
            Self::Folder(path) => Url::from_file_path(path).ok().map(String::from),
            Self::Remote(url) => Some(url.to_string()),
        }
    }
}

/// A path as a repository name: `[a-z0-9._-]+(/[a-z0-9._-]+)*`; nothing where none is left of it.
fn name_of(path: &str) -> Option<String> {
    let parts: Vec<String> = path
        .strip_suffix(".git")
        .unwrap_or(path)
        .split('/')
        .filter(|part| !matches!(*part, "" | "." | ".."))
        .map(|part| {
            let word =
                |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c.to_ascii_lowercase() } else { '-' };
            part.chars().map(word).collect()
        })
        .collect();
    let name = parts.join("/");
    let meaningful = name.chars().any(|c| c.is_ascii_alphanumeric());
    (meaningful && name.len() <= MAX_NAME).then_some(name)
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
            "file:///etc",
            "https://user:secret@example.com/a/b",
            "https://example.com/",
            "/nowhere/at/all",
        ] {
            let error = Source::parse(Some(repo)).unwrap_err();
            assert!(error.is_refusal(), "{error}");
            assert!(!error.to_string().contains("secret"), "{error}");
            assert!(error.to_string().contains("; next: "), "{error}");
        }
    }
}
