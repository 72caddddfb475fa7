//! `syncd migrate`.

use sync_core::clock::Clock as _;
use sync_store::Passwords;

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

/// Applies what is missing. The service's role gets the password that `database_url` holds, if it holds one, and the
/// maintenance role that of `maintenance_database_url`.
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
    let app = config.database_url().ok().and_then(password);
    let maintainer = config.maintenance_database_url().ok().and_then(password);
    let passwords = Passwords { app: app.as_deref(), maintainer: maintainer.as_deref() };
    let applied = sync_store::migrate(owner, passwords, SystemClock.now()).await?;
    if applied.is_empty() {
        return say("nothing to apply");
    }
    for version in applied {
        say(&format!("applied {version}"))?;
    }
    Ok(())
}

fn password(address: &str) -> Option<String> {
    url::Url::parse(address).ok()?.password().map(str::to_owned)
}
