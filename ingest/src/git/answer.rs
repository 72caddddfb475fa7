//! What is asked of a fetch and what it answers, as the service and its child say it to each other.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What to look at or to bring.
#[derive(Clone, Serialize, Deserialize)]
pub struct FetchRequest {
    /// Where from: https, or a file URL.
    pub url: String,
    /// Refs as people name them: `HEAD`, a full name, the name of a branch or else a tag, a pattern over the names of
    /// branches (`release/*`), or all digits of a commit id.
    pub refs: Vec<String>,
    /// The folder of the mirror; without one the remote's heads are only listed.
    pub mirror: Option<PathBuf>,
    /// Whether the mirror is made anew whatever is there.
    pub fresh: bool,
    /// Who asks, where the remote wants to know. Nothing of it is written anywhere.
    pub credential: Option<Credential>,
    /// The only way out, unless the remote is a folder of this machine.
    pub proxy: Option<Proxy>,
    /// Where fetching ends.
    pub limits: FetchLimits,
}

/// A name and a password or token, for the remote's own host only.
#[derive(Clone, Serialize, Deserialize)]
pub struct Credential {
    /// The user; forges take any with a token.
    pub user: String,
    /// The password or token.
    pub secret: String,
}

/// A proxy that speaks `CONNECT`, and who may use it.
#[derive(Clone, Serialize, Deserialize)]
pub struct Proxy {
    /// A Unix socket that it listens on: reachable also for who has left the network.
    pub socket: Option<PathBuf>,
    /// `host:port`, where there is no socket or the network cannot be left.
    pub address: String,
    /// User of the proxy.
    pub user: String,
    /// The password, good for one fetch.
    pub secret: String,
}

/// Where fetching ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchLimits {
    /// Largest mirror, in bytes on disk and over the network.
    pub bytes: u64,
    /// Longest listing of refs, in bytes.
    pub listing_bytes: u64,
    /// Largest single object once it is unpacked, in bytes.
    pub object_bytes: u64,
    /// Most refs at once.
    pub refs: usize,
    /// Longest fetch in all.
    pub time: Duration,
    /// Longest silence of the remote.
    pub silence: Duration,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            bytes: 2 << 30,
            listing_bytes: 32 << 20,
            object_bytes: 512 << 20,
            refs: 100,
            time: Duration::from_mins(5),
            silence: Duration::from_mins(1),
        }
    }
}

/// What the child writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FetchAnswer {
    /// It is done.
    Done(Fetched),
    /// It is not, and nothing of it is left.
    Fault(Fault),
}

/// What was found, and where it is now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetched {
    /// The bare repository in the mirror that holds the heads; none where they were only listed.
    pub repository: Option<PathBuf>,
    /// What was asked for and is there.
    pub heads: Vec<Head>,
    /// What was asked for and is not there (any more).
    pub missing: Vec<String>,
    /// What is there and was not taken.
    pub left_out: Vec<LeftOut>,
    /// Whether the remote has no commit at all.
    pub empty: bool,
    /// Bytes that came over the network; 0 from a folder.
    pub bytes: u64,
    /// How the network was kept from the child.
    pub network: Network,
}

/// How far a process is kept from the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// It is in a network of its own, from which only the socket of the proxy leads out.
    Namespace,
    /// The kernel lets it connect to the port of the proxy only.
    Port,
    /// Nothing but its own code keeps it to the proxy.
    #[default]
    Open,
}

/// A ref of the remote and its commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// What it was asked as; for a pattern, the pattern.
    pub asked: String,
    /// Its full name, `HEAD`, or the commit id that was asked for.
    pub name: String,
    /// The branch that it is, where it is one: `main`. For `HEAD`, the one that `HEAD` names there.
    pub branch: Option<String>,
    /// Commit id in hexadecimal; of a listed tag, the tag's own where the remote does not say more.
    pub commit: String,
    /// The commit's time by its committer, in seconds since 1970; none where heads were only listed.
    pub committed_at: Option<i64>,
}

/// A ref that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name, made fit to be shown.
    pub name: String,
    /// `bad_name`, `no_commit` or `too_many`.
    pub reason: String,
}

/// Why there is nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{what}")]
pub struct Fault {
    /// Its kind.
    pub code: FaultCode,
    /// What happened, to what.
    pub what: String,
}

/// The kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultCode {
    /// What was asked is refused before anything was connected to.
    Refused,
    /// The remote wants to know who asks.
    CredentialWanted,
    /// The remote does not take the credential.
    CredentialRefused,
    /// There is no repository.
    NotFound,
    /// The host leads to an address that is not on the internet.
    AddressRefused,
    /// There is no answer, or one that says to come again.
    Unreachable,
    /// The answer is none of git's.
    Protocol,
    /// More than the limit.
    TooLarge,
    /// Longer than the limit.
    Timeout,
    /// The mirror cannot be written.
    Disk,
}

impl FaultCode {
    /// Whether the same may go well later without anybody doing anything.
    pub const fn heals(self) -> bool {
        matches!(self, Self::Unreachable | Self::Timeout | Self::Disk | Self::Protocol)
    }

    /// What to do about it.
    pub const fn next_step(self) -> &'static str {
        match self {
            Self::Refused => "give an address such as https://example.com/acme/billing and the names of branches",
            Self::CredentialWanted => "give the source a credential that may read it",
            Self::CredentialRefused => "give the source a new credential that may read it",
            Self::NotFound => "check the address in a browser; a private repository needs a credential",
            Self::AddressRefused => {
                "give a public address, or have the operator list the host as a private source host"
            }
            Self::Unreachable => "check the address in a browser, and that this machine reaches it",
            Self::Protocol => "check in a browser that a git repository is there",
            Self::TooLarge => "clone it by other means and give the path of the clone, or upload its snapshot from CI",
            Self::Timeout => "try again later, or clone it by other means and give the path of the clone",
            Self::Disk => "check the folder's permissions and free space",
        }
    }
}

impl Fault {
    /// A fault of a kind.
    pub fn new(code: FaultCode, what: impl Into<String>) -> Self {
        Self { code, what: what.into() }
    }
}

impl std::fmt::Debug for FetchRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Neither the credential nor the proxy's password.
        f.debug_struct("FetchRequest").field("url", &self.url).field("refs", &self.refs).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credential").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxy").field("address", &self.address).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_shown_by_chance() {
        let request = FetchRequest {
            url: "https://example.com/a".to_owned(),
            refs: vec!["HEAD".to_owned()],
            mirror: None,
            fresh: false,
            credential: Some(Credential { user: "u".to_owned(), secret: "canary-1".to_owned() }),
            proxy: Some(Proxy {
                socket: None,
                address: "127.0.0.1:1".to_owned(),
                user: "u".to_owned(),
                secret: "canary-2".to_owned(),
            }),
            limits: FetchLimits::default(),
        };
        let shown = format!("{request:?} {:?} {:?}", request.credential, request.proxy);
        assert!(!shown.contains("canary"), "{shown}");
    }
}
