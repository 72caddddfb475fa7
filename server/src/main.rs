//! `syncd`: see [`sync_server::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    sync_server::cli::main()
}
