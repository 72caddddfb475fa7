//! Where the code of a source is, and what its refs are called.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sync_core::ids::{OrganizationId, RepositoryId};
use sync_ingest::git::RemoteUrl;
use sync_store::Repository;

use super::run::{Fault, Problem};

/// The ref that a repository's own `HEAD` names, and what a ref is called where there is no branch: a detached head, or a
/// folder without git.
pub const HEAD: &str = "HEAD";

/// The provider of a source that is a folder of this machine and is indexed where it lies.
pub const FOLDER: &str = "folder";

/// What a worker allows of sources on its own machine.
#[derive(Debug, Clone, Default)]
pub struct LocalSources {
    /// Folders of this machine and `file:` addresses: for an operator who is the only user.
    pub allowed: bool,
    /// Where the source without an address is.
    pub builtin: Option<PathBuf>,
    /// Hosts that may be on a private network, with ports of their own.
    pub private_hosts: BTreeSet<String>,
}

/// Where the code of a source is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A folder that is indexed where it lies.
    Folder(PathBuf),
    /// A remote that is fetched first.
    Remote(RemoteUrl),
}

impl Place {
    /// Where that source's is; a fault where it may not be looked at.
    pub fn of(repository: &Repository, local: &LocalSources) -> Result<Self, Fault> {
        let lasting = |code, reason: String, next: &str| Err(Fault::Lasting(Problem::new(code, reason, next)));
        let Some(address) = &repository.clone_url else {
            return match &local.builtin {
                Some(folder) => Ok(Self::Folder(folder.clone())),
                None => lasting(
                    "no_address",
                    format!("{} has no address that it could be fetched from", repository.name),
                    "upload its snapshots, or register it with its clone URL",
                ),
            };
        };
        let file = address.strip_prefix("file://");
        if file.is_some() && !local.allowed {
            return lasting(
                "refused",
                format!("{} is on this machine, where the worker takes no sources from", repository.name),
                "set local_sources where you are the only user of the service, or register it with its https address",
            );
        }
        if let (Some(folder), Some(FOLDER)) = (file, repository.provider.as_deref()) {
            return Ok(Self::Folder(folder.into()));
        }
        // Consent is to code leaving where it is; a file stays on the machine.
        if file.is_none() && repository.egress_consent.is_none() {
            return lasting(
                "not_consented",
                format!("nobody allowed to fetch the code of {}", repository.name),
                "allow it: PUT /v1/sources/{id}/consent",
            );
        }
        let url =
            if local.allowed { RemoteUrl::local(address) } else { RemoteUrl::admitted(address, &local.private_hosts) };
        url.map(Self::Remote).or_else(|error| lasting("refused", error.to_string(), error.next_step()))
    }
}

/// The folders that a worker keeps: all of them can be lost, which costs time only.
#[derive(Debug, Clone)]
pub struct WorkerFolders(PathBuf);

impl WorkerFolders {
    /// Below that folder, which is made where it is missing and is for this user's eyes only.
    pub fn below(root: &Path) -> io::Result<Self> {
        make(root)?;
        Ok(Self(root.to_owned()))
    }

    /// What is known of the files of each source.
    pub fn caches(&self) -> PathBuf {
        self.0.join("caches")
    }

    /// Where files without a name are made.
    pub fn spool(&self) -> PathBuf {
        self.0.clone()
    }

    /// Where all mirrors are.
    pub fn mirrors(&self) -> PathBuf {
        self.0.join("mirrors")
    }

    /// The sources that something is kept of.
    pub fn kept(&self) -> BTreeSet<(OrganizationId, RepositoryId)> {
        let mut kept = BTreeSet::new();
        for root in [self.caches(), self.mirrors()] {
            for (organization, folder) in named_folders::<OrganizationId>(&root) {
                kept.extend(named_folders::<RepositoryId>(&folder).map(|(repository, _)| (organization, repository)));
            }
        }
        kept
    }
}

/// The folders in one that are named by an id. What cannot be read is nobody's.
fn named_folders<Id: FromStr>(parent: &Path) -> impl Iterator<Item = (Id, PathBuf)> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
}

/// Makes a folder that only this user may enter.
pub(super) fn make(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
