//! `syncd index` as a child: source code is read in another process, and what comes back goes to the disk first.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::Duration;

use sync_ingest::snapshot::{Limits, SnapshotError};

use super::child::{self, ChildError};
use super::snapshot_file::SnapshotFile;

/// Longest index, by the wall. The child has the same limit and says more when it is reached.
const WALL: Duration = Duration::from_secs(310);

/// What to index.
#[derive(Debug, Clone)]
pub struct IndexRequest {
    /// The executable that knows the command `index`: always explicit, since tests have one of their own.
    pub executable: PathBuf,
    /// A git repository or a plain folder.
    pub path: PathBuf,
    /// What to read of a git repository.
    pub rev: Option<String>,
    /// Ref name for the header.
    pub ref_name: Option<String>,
    /// Folder that keeps what is known of the files of this source, and of no other.
    pub cache: Option<PathBuf>,
    /// `on` or `auto`.
    pub gate: &'static str,
    /// The last index of it: where the next would be the same, none is made.
    pub known: Option<Known>,
    /// Where its snapshot is kept, in a file without a name, until it is stored.
    pub spool: PathBuf,
}

/// What an index was made of.
#[derive(Debug, Clone)]
pub struct Known {
    /// The commit.
    pub commit: String,
    /// Version of the analyzer.
    pub analyzer: String,
    /// Version of the catalog.
    pub catalog: String,
}

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum IndexChildError {
    /// The child failed or refused.
    #[error(transparent)]
    Child(#[from] ChildError),
    /// The child wrote something that is no sound snapshot.
    #[error("the indexer wrote a snapshot that is refused: {0}")]
    Snapshot(#[from] SnapshotError),
    /// The disk does not take it.
    #[error("the snapshot cannot be written to {}: {reason}", folder.display())]
    Disk {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        reason: io::Error,
    },
}

/// Runs the child and gives its snapshot, of which the header was read; nothing where the known index is still that of the
/// repository. Dropping the future kills the child.
pub async fn run(request: &IndexRequest) -> Result<Option<SnapshotFile>, IndexChildError> {
    let mut command = child::command(&request.executable, "index");
    // The child bounds itself and leaves the network, as far as the system lets it.
    command.arg(&request.path).arg("--limits").args(["--gate", request.gate]);
    if let Some(Known { commit, analyzer, catalog }) = &request.known {
        command.arg(format!("--known={commit},{analyzer},{catalog}"));
    }
    if let Some(cache) = &request.cache {
        command.arg("--cache").arg(cache);
    }
    if let Some(rev) = &request.rev {
        command.arg(format!("--rev={rev}"));
    }
    if let Some(ref_name) = &request.ref_name {
        command.arg(format!("--ref={ref_name}"));
    }
    let disk = |reason| IndexChildError::Disk { folder: request.spool.clone(), reason };
    let spool = tempfile::tempfile_in(&request.spool).map_err(disk)?;
    match child::run("the indexer", command, WALL, |out| spooled(out, spool)).await?.map_err(disk)? {
        Err(SnapshotError::Empty) if request.known.is_some() => Ok(None),
        snapshot => Ok(Some(snapshot?)),
    }
}

/// Takes what the child writes. More than a snapshot may have breaks it off, and what is there is then no whole snapshot.
fn spooled(out: impl Read, mut spool: File) -> io::Result<Result<SnapshotFile, SnapshotError>> {
    io::copy(&mut out.take(Limits::default().bytes), &mut spool)?;
    Ok(SnapshotFile::open(spool))
}

#[cfg(test)]
mod tests {
    use super::super::child::tests::scripted;
    use super::*;

    async fn run_script(script: &str, known: Option<Known>) -> Result<Option<SnapshotFile>, IndexChildError> {
        let folder = tempfile::tempdir().unwrap();
        let executable = scripted(&folder, script);
        let path = "/repository".into();
        let spool = folder.path().to_owned();
        run(&IndexRequest { executable, path, rev: None, ref_name: None, cache: None, gate: "auto", known, spool })
            .await
    }

    #[tokio::test]
    async fn what_is_no_snapshot_is_refused() {
        let error = run_script("echo half a snapshot", None).await.unwrap_err().to_string();
        assert!(error.contains("line 1"), "{error}");
        assert!(matches!(run_script("exit 0", None).await, Err(IndexChildError::Snapshot(SnapshotError::Empty))));
    }

    #[tokio::test]
    async fn nothing_written_means_unchanged_only_where_something_is_known() {
        let known = Known { commit: "3f2a".into(), analyzer: "a/1".into(), catalog: "c".into() };
        let script = r#"case "$*" in *--known=3f2a,a/1,c*) exit 0;; esac; exit 1"#;
        assert!(run_script(script, Some(known)).await.unwrap().is_none());
    }
}
