//! `fetch`: lists the heads of a remote repository or brings them into a mirror. Only `syncd` offers it.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use clap::Args;

use super::{FAILED, OK, say_error};
use crate::git::{FetchAnswer, FetchRequest, fetch};

/// Largest request, in bytes.
const MAX_REQUEST: u64 = 1 << 20;

/// Fetches what a request on stdin asks for, and answers on stdout; both are JSON.
#[derive(Debug, Args)]
pub struct FetchArgs {}

/// Runs `fetch`. A fault is an answer too; only what is no request fails.
pub fn run_fetch(_args: &FetchArgs) -> ExitCode {
    let mut text = Vec::new();
    let request: FetchRequest = match io::stdin()
        .take(MAX_REQUEST)
        .read_to_end(&mut text)
        .and_then(|_| serde_json::from_slice(&text).map_err(io::Error::other))
    {
        Ok(request) => request,
        Err(_) => {
            // What is wrong with it is not said: it may hold a credential.
            say_error("stdin holds no request to fetch", "this command is for syncd itself");
            return ExitCode::from(FAILED);
        }
    };
    let answer = match fetch(&request) {
        Ok(fetched) => FetchAnswer::Done(fetched),
        Err(fault) => FetchAnswer::Fault(fault),
    };
    let written = serde_json::to_vec(&answer).map_err(io::Error::other).and_then(|text| io::stdout().write_all(&text));
    ExitCode::from(if written.is_ok() { OK } else { FAILED })
}
