//! `syncd migrate`.

use sync_core::clock::Clock as _;

use super::{Failure, say};
use crate::clock::SystemClock;
use crate::config::Config;

/// What can be asked of it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Say what would be applied, and apply nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Applies what is missing. The application role gets the password that `database_url` holds, if it holds one.
pub(super) async fn run(args: &Args, config: &Config) -> Result<(), Failure> {
    let owner = config.owner_database_url()?;
    if args.dry_run {
        let pending = sync_store::pending_migrations(owner).await?;
        if pending.is_empty() {
            return say("nothing to apply");
        }
        for (version, description) in pending {
            say(&format!("would apply {version} {description}"))?;
        }
        return Ok(());
    }
    let password = config
        .database_url()
        .ok()
        .and_then(|address| url::Url::parse(address).ok())
        .and_then(|address| address.password().map(str::to_owned));
    let applied = sync_store::migrate(owner, password.as_deref(), SystemClock.now()).await?;
    if applied.is_empty() {
        return say("nothing to apply");
    }
    for version in applied {
        say(&format!("applied {version}"))?;
    }
    Ok(())
}
