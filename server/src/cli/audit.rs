//! `syncd audit …`

mod read;
mod verify;

use std::process::ExitCode;
use std::time::Duration;

use sync_store::{Organization, PoolOptions, Store};

use super::{Failure, say};
use crate::audit::maintain;
use crate::audit::seal_key::SealKeys;
use crate::config::Config;
use read::{ExportArgs, TailArgs};
use verify::VerifyArgs;

/// A whole log is read, seal by seal: no statement is short because a request waits for it.
const PATIENCE: Duration = Duration::from_mins(2);

/// `syncd audit …`
#[derive(Debug, clap::Subcommand)]
pub(super) enum AuditCommand {
    /// Prove the audit log whole, or name what is not: each edited, deleted or inserted row.
    ///
    /// Heads that left the database are what its owner cannot remove: those of `audit_heads_file` are compared where that
    /// file can be read, and those of --against.
    ///
    /// Example: syncd audit verify --organization acme --against heads.ndjson
    Verify(VerifyArgs),
    /// Print the newest rows of an organization's log, the oldest of them first, and with --follow what comes after them. That
    /// they were read is written down.
    ///
    /// Example: syncd audit tail --organization acme --lines 50
    Tail(TailArgs),
    /// Write an organization's log to stdout, the oldest row first. The last line says how many rows there are, and the last
    /// signed head. That it was exported is written down.
    ///
    /// Example: syncd audit export --organization acme --from 2026-11-01T00:00:00Z --format csv > audit.csv
    Export(ExportArgs),
    /// Print the public key that heads are signed with, for whoever checks them.
    ///
    /// Example: syncd audit key
    Key,
}

/// Runs a command on the audit log.
pub(super) async fn run(command: &AuditCommand, config: &Config) -> Result<ExitCode, Failure> {
    match command {
        AuditCommand::Verify(args) => verify::run(args, config).await,
        AuditCommand::Tail(args) => read::tail(args, config).await,
        AuditCommand::Export(args) => read::export(args, config).await,
        AuditCommand::Key => key(&maintain::keys(config)?),
    }
}

fn key(keys: &SealKeys) -> Result<ExitCode, Failure> {
    for (at, key) in keys.all().enumerate() {
        let since = if at == 0 { "seals now" } else { "sealed before" };
        say(&format!("{} ed25519 {} {since}", key.id(), hex::encode(key.public_key())))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn connect(config: &Config) -> Result<Store, Failure> {
    let options = PoolOptions { max_connections: 2, statement_timeout: PATIENCE, ..PoolOptions::default() };
    Ok(Store::connect(config.database_url()?, options).await?)
}

/// The organization of that name, or every one.
async fn organizations(store: &Store, name: Option<&str>) -> Result<Vec<Organization>, Failure> {
    let mut tx = store.system("audit").await?;
    let found = match name {
        None => tx.organizations().await?,
        Some(name) => {
            let known = tx.organization_by_slug(name).await?;
            let known = known.ok_or_else(|| {
                Failure::failed(format!("there is no organization `{name}`"), "check the name: syncd organization list")
            })?;
            vec![known]
        }
    };
    tx.commit().await?;
    Ok(found)
}
