//! `fetch`: brings one commit of a remote repository into a bare mirror. Only `syncd` offers it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::{FAILED, OK, REFUSED, say_error};
use crate::git::{FetchOptions, RemoteUrl, fetch_bare};

/// Fetches one commit of a repository into a bare mirror.
#[derive(Debug, Args)]
pub struct FetchArgs {
    /// Where from: https, or a file URL.
    url: String,
    /// The mirror, replaced once the fetch has succeeded.
    mirror: PathBuf,
    /// Branch, tag or full commit id [default: HEAD].
    #[arg(long)]
    rev: Option<String>,
}

/// Runs `fetch`.
pub fn run_fetch(args: &FetchArgs) -> ExitCode {
    let url = match RemoteUrl::local(&args.url) {
        Ok(url) => url,
        Err(error) => {
            say_error(&error.to_string(), error.next_step());
            return ExitCode::from(REFUSED);
        }
    };
    let options = FetchOptions { rev: args.rev.clone(), ..FetchOptions::default() };
    match fetch_bare(&url, &args.mirror, &options) {
        Ok(_) => ExitCode::from(OK),
        Err(error) => {
            say_error(&error.to_string(), error.next_step());
            ExitCode::from(FAILED)
        }
    }
}
