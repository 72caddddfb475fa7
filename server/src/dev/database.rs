//! The database of `syncd dev`: the configured one, or a private Postgres in the data folder.

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use sync_store::{Maintenance, Passwords, PoolOptions, Store, StoreError};
use time::OffsetDateTime;

use super::data_dir::DataDir;
use super::error::DevError;
use super::settings::Settings;
use crate::postgres::{self, EmbeddedPostgres};

/// The owner's, the service's and the worker's role on a private server.
pub(super) const OWNER_ROLE: &str = "sync_owner";
pub(super) const SERVICE_ROLE: &str = "sync_app";
pub(super) const MAINTENANCE_ROLE: &str = "sync_maintainer";
/// Its database.
pub(super) const DATABASE: &str = "sync";

/// How often the first connection for requests is tried, each time for as long as a request waits for one.
const CONNECT_ATTEMPTS: u32 = 10;

/// How long the start waits for a connection and a statement.
const PATIENCE: Duration = Duration::from_mins(1);

/// Where the tables are.
pub(super) struct Database {
    /// As the service's role.
    pub(super) service_url: SecretString,
    /// As the tables' owner.
    pub(super) owner_url: SecretString,
    /// As the worker's role for the care of the audit log; none where the database is a configured one without it.
    pub(super) maintenance_url: Option<SecretString>,
    private: Option<EmbeddedPostgres>,
}

/// What is said of a configured database that cannot be used.
fn configured(error: &StoreError, variable: &str) -> DevError {
    DevError::failed(
        format!("the database that {variable} names cannot be used: {error}"),
        format!(
            "start it or correct {variable}; without SYNC_DATABASE_URL and SYNC_OWNER_DATABASE_URL a private one is started"
        ),
    )
}

impl Database {
    /// Takes the configured database, or starts the private server and waits until it answers.
    pub(super) fn open(settings: &Settings, data: &DataDir) -> Result<Self, DevError> {
        if let Some((service_url, owner_url)) = settings.database(data)? {
            return Ok(Self { service_url, owner_url, maintenance_url: settings.maintenance()?, private: None });
        }
        let how = postgres::Settings { binaries: settings.postgres_binaries(), ..postgres::Settings::default() };
        let server = EmbeddedPostgres::start(&data.path("postgres"), &how)
            .map_err(|error| DevError::said(&error.to_string()))?;
        Ok(Self {
            service_url: server.url(SERVICE_ROLE, DATABASE).into(),
            owner_url: server.url(OWNER_ROLE, DATABASE).into(),
            maintenance_url: Some(server.url(MAINTENANCE_ROLE, DATABASE).into()),
            private: Some(server),
        })
    }

    /// Makes what is missing, migrates, and gives the store for the start's own work.
    pub(super) async fn prepare(&self, now: OffsetDateTime) -> Result<Store, DevError> {
        if let Some(server) = &self.private {
            sync_store::create_database(&server.superuser_url(), OWNER_ROLE, DATABASE).await?;
        }
        let said = |error: StoreError, variable| match &self.private {
            Some(_) => DevError::from(error),
            None => configured(&error, variable),
        };
        sync_store::migrate(self.owner_url.expose_secret(), Passwords::default(), now)
            .await
            .map_err(|error| said(error, "SYNC_OWNER_DATABASE_URL"))?;
        // Nobody's request waits for the start, and the machine may be busy building: it has the patience that
        // requests have not.
        let patient = PoolOptions {
            max_connections: 4,
            acquire_timeout: PATIENCE,
            statement_timeout: PATIENCE,
            ..PoolOptions::default()
        };
        Store::connect(self.service_url.expose_secret(), patient)
            .await
            .map_err(|error| said(error, "SYNC_DATABASE_URL"))
    }

    /// The store that requests are answered from.
    pub(super) async fn serve(&self, connections: u32) -> Result<Store, DevError> {
        let options = PoolOptions { max_connections: connections, ..PoolOptions::default() };
        let mut attempts = 1..CONNECT_ATTEMPTS;
        loop {
            match Store::connect(self.service_url.expose_secret(), options.clone()).await {
                Err(error) if error.is_unavailable() && attempts.next().is_some() => {}
                connected => return Ok(connected?),
            }
        }
    }

    /// The database as the worker's role.
    pub(super) async fn maintain(&self) -> Result<Option<Maintenance>, DevError> {
        let Some(url) = &self.maintenance_url else { return Ok(None) };
        let options = PoolOptions { max_connections: 2, acquire_timeout: PATIENCE, ..PoolOptions::default() };
        Ok(Some(Maintenance::connect(url.expose_secret(), options).await?))
    }

    /// Stops the private server, and waits until it is gone.
    pub(super) fn stop(self) {
        if let Some(server) = self.private {
            server.stop();
        }
    }
}
