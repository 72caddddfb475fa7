//! `syncd index` as a child: source code is read in another process, and what comes back is believed line by line.

use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use sync_ingest::snapshot::{Limits, Reader, Record, SnapshotError};
use sync_store::SnapshotFacts;

use super::child::{self, ChildError};

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
}

/// Runs the child and reads its snapshot; nothing where the known index is still that of the repository. Dropping the
/// future kills the child.
pub async fn run(request: &IndexRequest) -> Result<Option<SnapshotFacts>, IndexChildError> {
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
    match child::run("the indexer", command, WALL, read_snapshot).await? {
        Err(SnapshotError::Empty) if request.known.is_some() => Ok(None),
        snapshot => Ok(Some(snapshot?)),
    }
}

fn read_snapshot(from: impl Read) -> Result<SnapshotFacts, SnapshotError> {
    let mut reader = Reader::new(from, Limits::default())?;
    let mut snapshot = SnapshotFacts { header: reader.header().clone(), skipped: Vec::new(), files: Vec::new() };
    while let Some(record) = reader.next_record()? {
        match record {
            Record::Skipped(skipped) => snapshot.skipped.push(skipped),
            Record::File(facts) => snapshot.files.push(*facts),
        }
    }
    Ok(snapshot)
}

#[cfg(test)]
mod tests {
    use super::super::child::tests::scripted;
    use super::*;

    async fn run_script(script: &str, known: Option<Known>) -> Result<Option<SnapshotFacts>, IndexChildError> {
        let folder = tempfile::tempdir().unwrap();
        let executable = scripted(&folder, script);
        let path = "/repository".into();
        run(&IndexRequest { executable, path, rev: None, ref_name: None, cache: None, gate: "auto", known }).await
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
        assert_eq!(run_script(script, Some(known)).await.unwrap(), None);
    }
}
