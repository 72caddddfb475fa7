//! The executable that tests start where Sync starts itself: `syncd`, and of `sync-ingest` what `syncd` has not.

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("feed" | "upload") => sync_ingest::cli::main(),
        _ => sync_server::cli::main(),
    }
}
