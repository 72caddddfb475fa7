//! The executable that tests start where Sync starts itself: `index` and `parse`.

use std::process::ExitCode;

fn main() -> ExitCode {
    sync_ingest::cli::main()
}
