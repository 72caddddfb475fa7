//! `fetch`: lists the heads of a remote repository or brings them into a mirror. Only `syncd` offers it.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use clap::Args;

use super::{FAILED, OK, say_error};
use crate::git::{Fault, FaultCode, FetchAnswer, FetchRequest, Fetched, Network, fetch};
use crate::{limits, sandbox};

/// Largest request, in bytes.
const MAX_REQUEST: u64 = 1 << 20;

/// Fetches what a request on stdin asks for, and answers on stdout; both are JSON.
#[derive(Debug, Args)]
pub struct FetchArgs {}

/// Runs `fetch`. A fault is an answer too; only what is no request fails.
pub fn run_fetch(_args: &FetchArgs) -> ExitCode {
    let mut text = Vec::new();
    let read = io::stdin().take(MAX_REQUEST).read_to_end(&mut text);
    let Ok(mut request) = read.and_then(|_| serde_json::from_slice::<FetchRequest>(&text).map_err(io::Error::other))
    else {
        // What is wrong with it is not said: it may hold a credential.
        say_error("stdin holds no request to fetch", "this command is for syncd itself");
        return ExitCode::from(FAILED);
    };
    let answer = match enter(&mut request).and_then(|network| Ok(Fetched { network, ..fetch(&request)? })) {
        Ok(fetched) => FetchAnswer::Done(fetched),
        Err(fault) => FetchAnswer::Fault(fault),
    };
    let written = serde_json::to_vec(&answer).map_err(io::Error::other).and_then(|text| io::stdout().write_all(&text));
    ExitCode::from(if written.is_ok() { OK } else { FAILED })
}

/// Gives up what a fetch does not need. One from a folder of this machine runs git itself there, and has no network to
/// be kept from.
fn enter(request: &mut FetchRequest) -> Result<Network, Fault> {
    let cannot = |reason: String| Fault::new(FaultCode::Disk, format!("a fetch cannot be limited: {reason}"));
    limits::enter_fetch(request.limits.bytes, request.limits.time).map_err(|error| cannot(error.to_string()))?;
    let Some(proxy) = request.proxy.as_ref().filter(|_| !request.url.starts_with("file:")) else {
        return Ok(Network::Open);
    };
    if let Some(mirror) = &request.mirror {
        // It has to be there to be let through.
        std::fs::create_dir_all(mirror).map_err(|error| cannot(format!("`{}`: {error}", mirror.display())))?;
    }
    let entered = sandbox::enter_fetch(proxy, request.mirror.as_deref());
    let (proxy, network, notes) = entered.map_err(|error| cannot(error.to_string()))?;
    for note in notes {
        let _ = writeln!(io::stderr(), "note: {note}");
    }
    request.proxy = Some(proxy);
    Ok(network)
}
