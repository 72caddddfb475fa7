//! `sync-ingest feed publish|verify`: the command line around [`crate::feed::cli`].

use std::io::Write;
use std::process::ExitCode;

use time::OffsetDateTime;

use super::{FAILED, OK};
use crate::feed::cli::{FeedArgs, run};

/// Runs the command by the system's clock and says what came of it.
pub fn run_feed(args: FeedArgs) -> ExitCode {
    #[expect(clippy::disallowed_methods, reason = "the command line is where the clock comes from")]
    let now = OffsetDateTime::now_utc();
    let (said, code) = match run(args, now) {
        Ok(said) => (writeln!(std::io::stdout(), "{said}"), OK),
        // The errors of feeds carry their next step.
        Err(error) => (writeln!(std::io::stderr(), "error: {error:#}"), FAILED),
    };
    // Nobody is left to tell where the stream is closed.
    let _ = said;
    ExitCode::from(code)
}
