//! `syncd fetch` as a child: the one process that has the network and writes a mirror.

use std::path::Path;
use std::time::Duration;

use sync_ingest::git::RemoteUrl;

use super::child::{self, ChildError};

/// Longest fetch, by the wall.
const WALL: Duration = Duration::from_mins(15);

/// What of the environment the network needs: a proxy, and further certificate authorities.
const NETWORK: [&str; 8] =
    ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Brings a bare mirror of the repository at `url` into `mirror`, new or up to date, with only what `rev` (by default
/// the remote's `HEAD`) needs. Dropping the future kills the child.
pub async fn run(executable: &Path, url: &RemoteUrl, rev: Option<&str>, mirror: &Path) -> Result<(), ChildError> {
    let mut command = child::command(executable, "fetch");
    command.arg(url.as_str()).arg(mirror);
    if let Some(rev) = rev {
        command.arg(format!("--rev={rev}"));
    }
    command.envs(NETWORK.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    child::run("the fetch", command, WALL, drop).await
}
