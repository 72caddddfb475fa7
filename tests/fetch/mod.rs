//! Repositories are fetched by a child, through the proxy, from a forge that these tests run: what works, and what a
//! hostile address, server or repository can do.

pub(crate) mod bombs;
mod credentials;
mod forge;
mod hostile_addresses;
mod hostile_repositories;
mod hostile_servers;
mod mirrors;
mod packs;
mod sandbox;
mod untouched;

use std::path::{Path, PathBuf};

use sync_ingest::git::{Credential, FaultCode, FetchLimits, Fetched, RemoteUrl};
use sync_server::jobs::egress::{Egress, EgressPolicy};
use sync_server::jobs::fetch_child::{self, FetchError, FetchOrder};

use self::forge::Forge;
use crate::ingest::EXECUTABLE;

/// A worker's part of a fetch: its proxy and its folder of mirrors.
struct Fetcher {
    egress: Egress,
    folder: tempfile::TempDir,
    limits: FetchLimits,
    credential: Option<Credential>,
}

impl Fetcher {
    /// Trusts the forge's certificates and lets its host be on this machine.
    async fn of(forge: &Forge) -> Self {
        Self::with(&["localhost"], forge.certificates()).await
    }

    async fn with(private_hosts: &[&str], certificates: &Path) -> Self {
        let private_hosts = private_hosts.iter().map(|host| (*host).to_owned()).collect();
        let policy =
            EgressPolicy { private_hosts, certificates: Some(certificates.to_owned()), ..EgressPolicy::default() };
        Self {
            egress: Egress::start(policy).await.unwrap(),
            folder: tempfile::tempdir().unwrap(),
            limits: FetchLimits::default(),
            credential: None,
        }
    }

    fn mirror(&self) -> PathBuf {
        self.folder.path().join("organization/source")
    }

    async fn fetch(&self, url: &str, refs: &[&str]) -> Result<Fetched, FetchError> {
        self.ask(url, refs, true).await
    }

    async fn heads(&self, url: &str, refs: &[&str]) -> Result<Fetched, FetchError> {
        self.ask(url, refs, false).await
    }

    async fn ask(&self, url: &str, refs: &[&str], into_mirror: bool) -> Result<Fetched, FetchError> {
        let url = RemoteUrl::local(url).unwrap();
        let refs: Vec<_> = refs.iter().map(|text| (*text).to_owned()).collect();
        let (executable, credential) = (Path::new(EXECUTABLE), self.credential.clone());
        let order = FetchOrder { executable, url: &url, refs: &refs, credential, limits: self.limits };
        if into_mirror {
            fetch_child::run(&self.egress, &order, &self.mirror(), false).await
        } else {
            fetch_child::heads(&self.egress, &order).await
        }
    }

    /// What a fetch fails with.
    async fn fault(&self, url: &str) -> (FaultCode, String) {
        match self.fetch(url, &["HEAD"]).await {
            Err(FetchError::Fault(fault)) => (fault.code, fault.what),
            other => panic!("{url}: {other:?}"),
        }
    }
}

/// All names and contents below a folder that hold a text.
fn holding(folder: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        let is_in = bytes.windows(text.len()).any(|window| window == text.as_bytes());
        if is_in || path.to_string_lossy().contains(text) {
            found.push(path);
        }
    }
    found
}
