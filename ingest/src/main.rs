//! `sync-ingest`: see [`sync_ingest::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    sync_ingest::cli::main()
}
