//! `syncd fetch` as a child: the one process that has the network and writes a mirror.

use std::path::Path;
use std::time::Duration;

use url::Url;

use super::child::{self, ChildError};

/// Longest fetch, by the wall.
const WALL: Duration = Duration::from_secs(900);

/// Brings a bare mirror of the repository at `url` into `mirror`, new or up to date, with only what `rev` (by default
/// the remote's `HEAD`) needs. Dropping the future kills the child.
pub async fn run(executable: &Path, url: &Url, rev: Option<&str>, mirror: &Path) -> Result<(), ChildError> {
    let mut command = child::command(executable, "fetch");
    command.arg(url.as_str()).arg(mirror);
    if let Some(rev) = rev {
        command.arg(format!("--rev={rev}"));
    }
    child::run("the fetch", command, WALL, drop).await
}
