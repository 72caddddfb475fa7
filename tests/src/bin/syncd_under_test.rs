//! The executable that tests start where Sync starts itself: `syncd`, and of `sync-ingest` what `syncd` has not.

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("feed") { sync_ingest::cli::main() } else { sync_server::cli::main() }
}
