//! `upload`: sends a snapshot to a running Sync.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use url::Url;

use super::{OK, fail, say_error};
use crate::upload::{Upload, UploadError, Uploaded, upload};

/// Sends a snapshot to a running Sync, from CI for instance: no source code leaves, and none is fetched.
///
/// The token comes from `SYNC_TOKEN`; it needs the scope `sources:write`. Sending the same again changes nothing.
///
/// Example: sync-ingest index . --out snapshot.ndjson.zst && sync-ingest upload snapshot.ndjson.zst --url https://sync.example.com --source acme/billing
#[derive(Debug, Args)]
pub struct UploadArgs {
    /// What `sync-ingest index --out` wrote.
    snapshot: PathBuf,
    /// Where Sync is.
    #[arg(long)]
    url: Url,
    /// The source that the snapshot is of: its name, or its id (`src_…`).
    #[arg(long)]
    source: String,
    /// The branch whose newest commit it is [default: as the snapshot says, else the source's default branch].
    #[arg(long = "ref")]
    ref_name: Option<String>,
    /// When the commit was made, as `git show -s --format=%cI` says: runs of CI may then end in any order, the newest
    /// commit stays, and the others end well.
    #[arg(long)]
    committed_at: Option<String>,
}

/// Runs `upload`.
pub fn run_upload(args: &UploadArgs) -> ExitCode {
    let Ok(token) = std::env::var("SYNC_TOKEN") else {
        return fail("there is no token in SYNC_TOKEN", "put one of the scope sources:write there");
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("nothing can be sent from here: {error}"), "report it"),
    };
    let wanted = Upload {
        snapshot: &args.snapshot,
        url: &args.url,
        source: &args.source,
        ref_name: args.ref_name.as_deref(),
        committed_at: args.committed_at.as_deref(),
        token: token.trim(),
    };
    let told = |error: &UploadError, pause: std::time::Duration| {
        say_error(&error.to_string(), &format!("it is tried again in {} s", pause.as_secs()));
    };
    match runtime.block_on(upload(&wanted, told)) {
        Ok(Uploaded::Newer(said)) => {
            // As below.
            let _ = writeln!(std::io::stderr(), "nothing was stored, nor has to be: {said}");
            ExitCode::from(OK)
        }
        Ok(Uploaded::Stored(answer)) => {
            // Nobody is left to tell when stdout is closed, and it is uploaded.
            let _ = writeln!(std::io::stdout(), "{}", answer.trim_end());
            ExitCode::from(OK)
        }
        Err(error) => fail(&error.to_string(), error.next_step()),
    }
}
