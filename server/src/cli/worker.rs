//! `syncd worker`.

use std::sync::Arc;

use sync_store::{Maintenance, PoolOptions};

use super::Failure;
use crate::audit::maintain::{self, Maintainer};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::shutdown::Shutdown;

/// One round is made after the other, so that few connections are enough.
const CONNECTIONS: u32 = 2;

/// Works until SIGTERM or Ctrl-C.
pub(super) async fn run(config: Config) -> Result<(), Failure> {
    crate::log::init(&config)?;
    let options = PoolOptions { max_connections: CONNECTIONS, ..PoolOptions::default() };
    let keys = maintain::keys(&config)?;
    let heads = maintain::heads(&config)?;
    let maintenance = Maintenance::connect(config.maintenance_database_url()?, options).await?;
    if !heads.go_somewhere() {
        tracing::warn!(
            "signed heads of the audit log stay in the database, where its owner can remove the newest of them unseen; \
             next: set audit_heads_file or audit_heads_url"
        );
    }
    let shutdown = Shutdown::at_signal()
        .map_err(|error| Failure::failed(format!("signals cannot be handled: {error}"), "report it"))?;
    tracing::info!(key_id = keys.current().id(), "working");
    let maintainer = Maintainer::new(maintenance, keys, heads, maintain::kept(&config), Arc::new(SystemClock));
    maintainer.run(shutdown).await;
    Ok(())
}
