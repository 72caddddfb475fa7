//! `parse`: the child that an index starts.

use std::process::ExitCode;

/// Parses files from stdin until it ends.
pub fn run_parse() -> ExitCode {
    match crate::pool::serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => super::fail(&format!("the parse child ended: {error}"), "start `index`, which runs it"),
    }
}
