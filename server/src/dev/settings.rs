//! What is configured: the environment, with what `syncd dev` brings itself.

use std::net::SocketAddr;
use std::path::PathBuf;

use secrecy::{ExposeSecret as _, SecretString};

use super::DevArgs;
use super::data_dir::{DataDir, default_root_of};
use super::database::Database;
use super::error::DevError;
use crate::config::Config;
use crate::identity::random_secret;
use crate::postgres;

/// What the data folder calls the source of derived keys.
pub(super) const SECRET_KEY_FILE: &str = "secret_key";
/// What it calls the source of the key that seals.
pub(super) const SEAL_KEY_FILE: &str = "seal_key";
/// What it calls the file of signed heads.
pub(super) const HEADS_FILE: &str = "audit-heads.ndjson";

/// What it calls the file with the address that is listened on, which other commands find the server by.
pub(super) const LISTEN_FILE: &str = "listen";

/// The environment of the process, with `--listen` and the keys that have no default.
pub(super) struct Settings {
    file: Option<PathBuf>,
    environment: Vec<(String, String)>,
    data_dir: Option<PathBuf>,
}

impl Settings {
    /// What the process was given.
    pub(super) fn new(args: &DevArgs, file: Option<PathBuf>, environment: Vec<(String, String)>) -> Self {
        let mut settings = Self { file, environment, data_dir: args.data_dir.clone() };
        if let Some(listen) = args.listen {
            settings.set("SYNC_LISTEN", listen.to_string());
        }
        if settings.file.is_none() && settings.get("SYNC_LOG").is_none() {
            // What goes well is told as progress, what an agent asked wrongly is told to the agent, and on a busy
            // machine a slow statement is no news.
            settings.set("SYNC_LOG", "warn,rmcp=error,sqlx::query=error".to_owned());
        }
        settings
    }

    /// What is in force.
    pub(super) fn config(&self) -> Result<Config, DevError> {
        Config::load(self.file.as_deref(), self.environment.iter().cloned())
            .map_err(|error| DevError::said(&error.to_string()))
    }

    /// The folder to keep everything in.
    pub(super) fn data_root(&self) -> Result<PathBuf, DevError> {
        self.data_dir.clone().or_else(|| default_root_of(&self.environment)).ok_or_else(|| {
            DevError::refused("this user has no home folder to keep anything in", "name a folder with --data-dir")
        })
    }

    /// The configured database; none where there is none configured. One address without the other is refused, and so
    /// are those of the private server in this folder: they would be asked before it is started.
    pub(super) fn database(&self, data: &DataDir) -> Result<Option<(SecretString, SecretString)>, DevError> {
        let config = self.config()?;
        let private = postgres::host_of(&data.path("postgres"));
        let of_this_folder = |url: &str| url.contains(&private);
        for (url, variable) in [
            (config.database_url(), "SYNC_DATABASE_URL"),
            (config.owner_database_url(), "SYNC_OWNER_DATABASE_URL"),
            (config.maintenance_database_url(), "SYNC_MAINTENANCE_DATABASE_URL"),
        ] {
            if url.is_ok_and(of_this_folder) {
                return Err(DevError::refused(
                    format!("{variable} names the private database of this folder, which `syncd dev` starts by itself"),
                    format!("unset {variable}; other commands find it with `syncd --dev`"),
                ));
            }
        }
        match (config.database_url(), config.owner_database_url()) {
            (Ok(service), Ok(owner)) => Ok(Some((service.into(), owner.into()))),
            (Err(_), Err(_)) => Ok(None),
            (Err(missing), Ok(_)) | (Ok(_), Err(missing)) => Err(DevError::said(&missing.to_string())),
        }
    }

    /// The configured database as the maintenance role; none where it is not configured.
    pub(super) fn maintenance(&self) -> Result<Option<SecretString>, DevError> {
        Ok(self.config()?.maintenance_database_url().ok().map(Into::into))
    }

    /// Where Postgres's binaries are, where that is said.
    pub(super) fn postgres_binaries(&self) -> Option<PathBuf> {
        self.get("SYNC_PG_BIN").filter(|path| !path.is_empty()).map(PathBuf::from)
    }

    /// Adds the database and, where none are configured, the secrets that this folder keeps.
    pub(super) fn complete(&mut self, data: &DataDir, database: &Database) -> Result<(), DevError> {
        let config = self.config()?;
        if config.database_url().is_err() {
            self.set("SYNC_DATABASE_URL", database.service_url.expose_secret().to_owned());
            self.set("SYNC_OWNER_DATABASE_URL", database.owner_url.expose_secret().to_owned());
        }
        if config.secret_key().is_err() {
            self.set("SYNC_SECRET_KEY", kept_secret(data, SECRET_KEY_FILE)?);
        }
        if config.seal_key().is_err() {
            self.set("SYNC_SEAL_KEY", kept_secret(data, SEAL_KEY_FILE)?);
        }
        if self.file.is_none() && self.get("SYNC_LOCAL_SOURCES").is_none() && is_for_its_user_alone(config.listen) {
            self.set("SYNC_LOCAL_SOURCES", "true".to_owned());
        }
        if config.audit_heads_file.is_none() {
            self.set("SYNC_AUDIT_HEADS_FILE", data.path(HEADS_FILE).display().to_string());
        }
        Ok(())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.environment.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn set(&mut self, name: &str, value: String) {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_owned(), value));
    }
}

/// Whether who runs it is its only user, since nobody else reaches it: then folders of the machine may be sources.
pub(super) fn is_for_its_user_alone(listen: SocketAddr) -> bool {
    listen.ip().is_loopback()
}

/// The secret that the data folder keeps under a name, made at first use.
fn kept_secret(data: &DataDir, name: &str) -> Result<String, DevError> {
    if let Some(kept) = data.secret(name)? {
        return Ok(kept);
    }
    let made = hex::encode(random_secret().map_err(|_| DevError::no_randomness())?);
    data.keep_secret(name, &made)?;
    Ok(made)
}
