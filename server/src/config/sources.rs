//! Where values come from, one over the other: the embedded reference, a file, `SYNC_…` variables.

use std::collections::BTreeMap;
use std::path::Path;

use secrecy::ExposeSecret as _;
use serde::Deserialize as _;
use url::Url;

use super::{Config, ConfigError, REFERENCE};
use crate::identity::issuers;

const PREFIX: &str = "SYNC_";

/// `SYNC_…` variables that are no keys: the file's own path, and those of our other executables.
const NOT_KEYS: [&str; 3] = ["SYNC_CONFIG", "SYNC_PG_BIN", "SYNC_TOKEN"];

/// The shortest secret key, in bytes.
const MIN_SECRET_KEY_BYTES: usize = 32;

/// Keys that are hidden where they are printed, and may be given as files.
const SECRETS: [&str; 7] = [
    "database_url",
    "owner_database_url",
    "maintenance_database_url",
    "secret_key",
    "previous_secret_keys",
    "seal_key",
    "previous_seal_keys",
];

/// The values in force and, where it is not the reference, who gave each.
pub(super) struct Sources {
    values: toml::Table,
    origins: BTreeMap<String, String>,
}

impl Sources {
    /// All of them, each over the one before: the reference, the file, the environment.
    pub(super) fn read(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let mut sources = Self::reference()?;
        if let Some(path) = file {
            sources.overlay_file(path)?;
        }
        sources.overlay_environment(environment)?;
        Ok(sources)
    }

    /// One line a key, with who gave it; secrets are hidden.
    pub(super) fn text(&self) -> String {
        let mut lines = Vec::new();
        for (key, value) in &self.values {
            let hidden = SECRETS.contains(&key.as_str()) && value.as_str() != Some("");
            let shown = if hidden { "\"…\"".to_owned() } else { value.to_string() };
            lines.push(match self.origins.get(key) {
                Some(origin) => format!("{key} = {shown}  # {origin}"),
                None => format!("{key} = {shown}"),
            });
        }
        lines.join("\n")
    }

    fn reference() -> Result<Self, ConfigError> {
        let values = REFERENCE
            .parse::<toml::Table>()
            .map_err(|error| ConfigError::Syntax { path: "deploy/syncd.toml".into(), reason: error.to_string() })?;
        Ok(Self { values, origins: BTreeMap::new() })
    }

    fn overlay_file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
        let table = text
            .parse::<toml::Table>()
            .map_err(|error| ConfigError::Syntax { path: path.to_owned(), reason: error.to_string() })?;
        for (key, value) in table {
            self.put(&key, value, path.display().to_string())?;
        }
        Ok(())
    }

    fn overlay_environment(
        &mut self,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<(), ConfigError> {
        let ours: BTreeMap<String, String> = environment
            .into_iter()
            .filter(|(name, _)| {
                name.starts_with(PREFIX) && !NOT_KEYS.contains(&name.as_str()) && !is_service_link(name)
            })
            .collect();
        for (name, given) in &ours {
            let key = name.trim_start_matches(PREFIX).to_ascii_lowercase();
            let secret_file = key.strip_suffix("_file").filter(|key| SECRETS.contains(key));
            let (key, text) = match secret_file {
                Some(key) => {
                    if ours.contains_key(name.trim_end_matches("_FILE")) {
                        return Err(bad(key, name, "is given as a value and as a file"));
                    }
                    let text = std::fs::read_to_string(given)
                        .map_err(|error| bad(key, name, &format!("cannot read {given}: {error}")))?;
                    (key.to_owned(), text.trim_end().to_owned())
                }
                None => (key, given.clone()),
            };
            let value = match self.values.get(&key) {
                Some(default) => parse_as(default, &text).map_err(|reason| bad(&key, name, &reason))?,
                None => toml::Value::String(text),
            };
            self.put(&key, value, name.clone())?;
        }
        Ok(())
    }

    fn put(&mut self, key: &str, value: toml::Value, origin: String) -> Result<(), ConfigError> {
        if !self.values.contains_key(key) {
            return Err(ConfigError::Unknown { key: sync_core::text::shown(key, 80), origin });
        }
        self.values.insert(key.to_owned(), value);
        self.origins.insert(key.to_owned(), origin);
        Ok(())
    }

    /// What they are together.
    pub(super) fn typed(self) -> Result<Config, ConfigError> {
        // One key at a time, so that a bad value is named by its key and by who gave it, whatever serde would say.
        let defaults = Self::reference()?.values;
        for (key, value) in &self.values {
            let mut alone = defaults.clone();
            alone.insert(key.clone(), value.clone());
            if let Err(error) = Config::deserialize(toml::Value::Table(alone)) {
                return Err(bad(key, self.origins.get(key).map_or("default", String::as_str), error.message()));
            }
        }
        let origin = |key: &str| self.origins.get(key).cloned().unwrap_or_else(|| "default".to_owned());
        let config = Config::deserialize(toml::Value::Table(self.values.clone()))
            .map_err(|error| bad("?", "configuration", error.message()))?;
        if let Some(key) = &config.secret_key
            && key.expose_secret().len() < MIN_SECRET_KEY_BYTES
        {
            return Err(bad("secret_key", &origin("secret_key"), "is shorter than 32 bytes"));
        }
        let too_short = |secret: &[u8]| secret.len() < MIN_SECRET_KEY_BYTES;
        if config.seal_key().is_ok_and(too_short) {
            return Err(bad("seal_key", &origin("seal_key"), "is shorter than 32 bytes"));
        }
        if config.previous_secret_keys().into_iter().any(too_short) {
            return Err(bad("previous_secret_keys", &origin("previous_secret_keys"), "one is shorter than 32 bytes"));
        }
        if config.previous_seal_keys().into_iter().any(too_short) {
            return Err(bad("previous_seal_keys", &origin("previous_seal_keys"), "one is shorter than 32 bytes"));
        }
        if config.database_connections == 0 {
            return Err(bad("database_connections", &origin("database_connections"), "must be at least 1"));
        }
        for (key, quota) in [
            ("principal_requests_per_minute", config.principal_requests_per_minute),
            ("organization_requests_per_minute", config.organization_requests_per_minute),
            ("stranger_requests_per_minute", config.stranger_requests_per_minute),
        ] {
            if quota == 0 {
                return Err(bad(key, &origin(key), "must be at least 1"));
            }
        }
        for accepted in &config.allowed_origins {
            let whole = Url::parse(accepted).is_ok_and(|url| url.origin().ascii_serialization() == *accepted);
            if !whole {
                return Err(bad(
                    "allowed_origins",
                    &origin("allowed_origins"),
                    &format!("`{accepted}` is not an origin like https://app.example.com"),
                ));
            }
        }
        issuers::check(&config).map_err(|reason| bad("issuers", &origin("issuers"), &reason))?;
        Ok(config)
    }
}

fn bad(key: &str, origin: &str, reason: &str) -> ConfigError {
    ConfigError::Bad { key: key.to_owned(), origin: origin.to_owned(), reason: reason.to_owned() }
}

/// What Kubernetes puts into every container for a service that is called `sync` or `sync-…`; nobody configured it.
fn is_service_link(name: &str) -> bool {
    let protocol = name.rsplit('_').next().unwrap_or_default();
    name.contains("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT")
        || name.ends_with("_PORT")
        || (name.contains("_PORT_") && matches!(protocol, "TCP" | "UDP" | "PROTO" | "PORT" | "ADDR"))
}

/// The variable's text as the type that the key's default has.
fn parse_as(default: &toml::Value, text: &str) -> Result<toml::Value, String> {
    match default {
        toml::Value::Integer(_) => {
            text.parse().map(toml::Value::Integer).map_err(|_| format!("`{text}` is not a whole number"))
        }
        toml::Value::Boolean(_) => {
            text.parse().map(toml::Value::Boolean).map_err(|_| format!("`{text}` is neither true nor false"))
        }
        toml::Value::Array(_) => serde_json::from_str(text).map_err(|error| format!("is not a JSON list: {error}")),
        _ => Ok(toml::Value::String(text.to_owned())),
    }
}
