//! `syncd secrets rotate`.

use sync_core::clock::Clock as _;
use sync_core::ids::OrganizationId;
use sync_core::principal::Principal;
use sync_store::{PoolOptions, Store};
use time::OffsetDateTime;

use super::{Failure, say};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::secrets::{KeyRing, SecretError};

/// How many secrets are encrypted anew in one transaction.
const AT_ONCE: u32 = 100;

/// `syncd secrets …`
#[derive(Debug, clap::Subcommand)]
pub(super) enum SecretsCommand {
    /// Encrypt every stored secret anew with SYNC_SECRET_KEY; then the keys of SYNC_PREVIOUS_SECRET_KEYS are not needed.
    ///
    /// Example: SYNC_PREVIOUS_SECRET_KEYS=$OLD_KEY syncd secrets rotate
    Rotate,
}

/// Runs a command on secrets.
pub(super) async fn run(command: &SecretsCommand, config: &Config) -> Result<(), Failure> {
    let SecretsCommand::Rotate = command;
    let ring = ring(config)?;
    let options = PoolOptions { max_connections: 1, ..PoolOptions::default() };
    let store = Store::connect(config.database_url()?, options).await?;
    let mut system = store.system("secrets rotate").await?;
    let organizations = system.organizations().await?;
    system.commit().await?;
    let now = SystemClock.now();
    let mut renewed = 0;
    for organization in organizations {
        renewed += rotate(&store, &ring, organization.id, now).await?;
    }
    store.close().await;
    say(&format!("{renewed} secrets encrypted anew with the key {}", ring.current_id()))
}

/// The ring of the configured keys.
fn ring(config: &Config) -> Result<KeyRing, Failure> {
    Ok(KeyRing::derive(config.secret_key()?, config.previous_secret_keys())?)
}

async fn rotate(
    store: &Store,
    ring: &KeyRing,
    organization: OrganizationId,
    now: OffsetDateTime,
) -> Result<u64, Failure> {
    let mut renewed = 0;
    loop {
        let mut tx = store.begin_change(&Principal::service(organization, "secrets rotate")).await?;
        let rows = tx.secrets_of_other_keys(ring.current_id(), AT_ONCE).await?;
        if rows.is_empty() {
            return Ok(renewed);
        }
        for row in &rows {
            let sealed = ring.reseal(organization, row.purpose, &row.name, &row.sealed)?;
            tx.put_secret(row.purpose, &row.name, &sealed, now).await?;
        }
        tx.commit().await?;
        renewed += rows.len() as u64;
    }
}

impl From<SecretError> for Failure {
    fn from(error: SecretError) -> Self {
        let text = error.to_string();
        match text.split_once("; next: ") {
            Some((what, next)) => Self::failed(what, next),
            None => Self::failed(text, "report it"),
        }
    }
}
