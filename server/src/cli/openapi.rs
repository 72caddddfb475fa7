//! `syncd openapi`: the committed description of `/v1`.

use std::path::PathBuf;

use super::{Failure, say};
use crate::http::v1::openapi;

/// Where to, or whether it is there.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Change nothing; fail where the file is not what this build serves.
    #[arg(long)]
    check: bool,
    /// The folder of the file.
    #[arg(long, value_name = "DIR", default_value = "openapi")]
    dir: PathBuf,
}

/// Writes the file, or compares it.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let path = args.dir.join(openapi::FILE);
    let shown = path.display();
    if args.check {
        let found = std::fs::read_to_string(&path).map_err(|error| {
            Failure::failed(format!("cannot read {shown}: {error}"), "run it in the repository's root, or give --dir")
        })?;
        if found != openapi::text() {
            return Err(Failure::failed(format!("{shown} is stale"), "run `syncd openapi` and commit the file"));
        }
        return say(&format!("{shown} is what this build serves"));
    }
    std::fs::write(&path, openapi::text()).map_err(|error| {
        Failure::failed(format!("cannot write {shown}: {error}"), "run it in the repository's root, or give --dir")
    })?;
    say(&format!("{shown} written"))
}
