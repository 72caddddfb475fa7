//! The command line of `sync-ingest`, whose parts `syncd` offers too.
//!
//! Errors go to stderr as `error: what; next: what to do`. Exit codes: 0 done (also when partial), 1 failed, 2 bad
//! use, 3 refused by the gate.

mod catalog;
mod feed;
mod fetch;
mod index;
mod parse;
mod upload;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use catalog::{CatalogArgs, run_catalog};
pub use feed::run_feed;
pub use fetch::{FetchArgs, run_fetch};
pub use index::{IndexArgs, run_index};
pub use parse::run_parse;
pub use upload::{UploadArgs, run_upload};

use crate::feed::cli::FeedArgs;
use crate::pool::ParseCommand;

/// Done.
pub const OK: u8 = 0;
/// Failed.
pub const FAILED: u8 = 1;
/// Refused by the gate.
pub const REFUSED: u8 = 3;

/// Turns code into snapshots and vendor records into feeds. Needs no database, and no network but for `upload` and `feed verify URL`.
#[derive(Debug, Parser)]
#[command(name = "sync-ingest", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Index(IndexArgs),
    Upload(UploadArgs),
    Feed(FeedArgs),
    Catalog(CatalogArgs),
    /// Parses files given on stdin; the index starts this by itself.
    #[command(hide = true)]
    Parse,
}

/// Runs `sync-ingest` with the process's arguments.
pub fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Index(args) => match std::env::current_exe() {
            Ok(executable) => run_index(&args, ParseCommand { executable, args: vec!["parse".into()] }),
            Err(error) => fail(&format!("the path of this executable is unknown: {error}"), "run it by its path"),
        },
        Command::Upload(args) => run_upload(&args),
        Command::Feed(args) => run_feed(args),
        Command::Catalog(args) => run_catalog(&args),
        Command::Parse => run_parse(),
    }
}

/// Says what went wrong and what to do, and gives the exit code for it.
pub fn fail(what: &str, next: &str) -> ExitCode {
    say_error(what, next);
    ExitCode::from(FAILED)
}

/// Writes an error to stderr.
pub fn say_error(what: &str, next: &str) {
    // Nobody is left to tell when stderr is closed.
    let _ = writeln!(std::io::stderr(), "error: {what}; next: {next}");
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_does_not_contradict_itself() {
        super::Cli::command().debug_assert();
    }
}
