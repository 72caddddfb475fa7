//! Configuration: the embedded `deploy/syncd.toml`, a file over it, `SYNC_…` variables over both.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use sync_core::principal::Role;
use url::Url;

use crate::http::limits::Quotas;
use crate::identity::issuers;

/// The reference: every key with its default and what it means.
pub const REFERENCE: &str = include_str!("../../deploy/syncd.toml");

const PREFIX: &str = "SYNC_";
const SECRETS: [&str; 7] = [
    "database_url",
    "owner_database_url",
    "maintenance_database_url",
    "secret_key",
    "previous_secret_keys",
    "seal_key",
    "previous_seal_keys",
];

/// `SYNC_…` variables that are no keys: the file's own path, and those of our other executables.
const NOT_KEYS: [&str; 3] = ["SYNC_CONFIG", "SYNC_PG_BIN", "SYNC_TOKEN"];

/// The shortest secret key, in bytes.
const MIN_SECRET_KEY_BYTES: usize = 32;

/// What is in force, as typed values. See `deploy/syncd.toml` for the meaning of each.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Address of MCP, health and metadata.
    pub listen: SocketAddr,
    /// Origin under which clients reach the service, once known: see [`Config::public_url`].
    #[serde(rename = "public_url", deserialize_with = "optional_url")]
    public: Option<Url>,
    /// Further accepted `Host` names.
    pub allowed_hosts: Vec<String>,
    /// Accepted browser origins.
    pub allowed_origins: Vec<String>,
    /// Proxies of ours in front.
    pub forwarded_hops: usize,
    /// The database as the service's role.
    #[serde(deserialize_with = "optional_secret")]
    database_url: Option<SecretString>,
    /// The database as the owner.
    #[serde(deserialize_with = "optional_secret")]
    owner_database_url: Option<SecretString>,
    /// The database as the maintenance role.
    #[serde(deserialize_with = "optional_secret")]
    maintenance_database_url: Option<SecretString>,
    /// Connections, at most.
    pub database_connections: u32,
    /// Source of derived keys.
    #[serde(deserialize_with = "optional_secret")]
    secret_key: Option<SecretString>,
    /// What it was before, for secrets that were stored then.
    #[serde(deserialize_with = "optional_secret")]
    previous_secret_keys: Option<SecretString>,
    /// Source of the keys that seal the audit log.
    #[serde(deserialize_with = "optional_secret")]
    seal_key: Option<SecretString>,
    /// Those that sealed before.
    #[serde(deserialize_with = "optional_secret")]
    previous_seal_keys: Option<SecretString>,
    /// File that signed heads are appended to; empty: none.
    #[serde(deserialize_with = "optional_path")]
    pub audit_heads_file: Option<PathBuf>,
    /// Address that signed heads are posted to.
    #[serde(deserialize_with = "optional_address")]
    pub audit_heads_url: Option<Url>,
    /// Days that sealed audit rows are kept; 0: for ever.
    pub audit_retention_days: u32,
    /// Accepted issuers of JSON Web Tokens.
    pub issuers: Vec<IssuerConfig>,
    /// Hosts of issuers that may have addresses of a private network, or of this machine.
    pub private_issuer_hosts: Vec<String>,
    /// Requests a minute of one principal.
    principal_requests_per_minute: u32,
    /// Requests a minute of one organization whose plan says nothing else.
    organization_requests_per_minute: u32,
    /// Requests a minute from one address prefix with credentials that are not accepted.
    stranger_requests_per_minute: u32,
    /// Seconds that requests in flight may take after SIGTERM.
    pub shutdown_grace_s: u64,
    /// tracing's filter.
    pub log: String,
    /// How log lines look.
    pub log_format: LogFormat,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// One accepted issuer of JSON Web Tokens.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IssuerConfig {
    /// The `iss` claim, byte for byte.
    pub issuer: String,
    /// An audience accepted beside the service's own addresses.
    #[serde(default)]
    pub audience: Option<String>,
    /// Names of accepted signature algorithms.
    #[serde(default, rename = "algorithms")]
    named_algorithms: Vec<String>,
    /// The issuer's public key, PEM.
    #[serde(default)]
    pub public_key_pem: Option<String>,
    /// Where the issuer publishes its keys; with neither, as its OpenID configuration says.
    #[serde(default)]
    pub jwks_url: Option<String>,
    /// The organization (name) that all its tokens belong to.
    #[serde(default)]
    pub organization: Option<String>,
    /// The claim that names the organization.
    #[serde(default)]
    pub organization_claim: Option<String>,
    /// What a principal becomes at first sight.
    #[serde(default)]
    pub default_role: Option<Role>,
}

impl IssuerConfig {
    /// Names of accepted signature algorithms.
    pub fn algorithms(&self) -> Vec<String> {
        if self.named_algorithms.is_empty() { issuers::default_algorithms() } else { self.named_algorithms.clone() }
    }
}

/// Why the configuration does not stand; each message names the key.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("cannot read the configuration {path}: {source}; next: check the path given by --config or SYNC_CONFIG")]
    Unreadable {
        /// As given.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is no TOML.
    #[error("{path} is not valid TOML: {reason}; next: compare it with `syncd config print --reference`")]
    Syntax {
        /// As given.
        path: PathBuf,
        /// Where and why.
        reason: String,
    },
    /// A key that does not exist.
    #[error("unknown configuration key `{key}` ({origin}); next: `syncd config print --reference` lists every key")]
    Unknown {
        /// The key.
        key: String,
        /// The file or variable that gave it.
        origin: String,
    },
    /// A value that cannot be used.
    #[error(
        "bad value for configuration key `{key}` ({origin}): {reason}; next: correct it; `syncd config print --reference` describes the key"
    )]
    Bad {
        /// The key.
        key: String,
        /// The file or variable that gave it.
        origin: String,
        /// What is wrong.
        reason: String,
    },
    /// A key this command cannot do without.
    #[error("configuration key `{key}` is not set; next: set {variable} or {variable}_FILE")]
    Missing {
        /// The key.
        key: &'static str,
        /// Its variable.
        variable: &'static str,
    },
}

impl Config {
    /// Reads the reference, `file` over it, and `environment` over both.
    pub fn load(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let mut sources = Sources::reference()?;
        if let Some(path) = file {
            sources.overlay_file(path)?;
        }
        sources.overlay_environment(environment)?;
        sources.typed()
    }

    /// The origin under which clients reach the service, without a trailing slash.
    pub fn public_url(&self) -> String {
        match &self.public {
            Some(url) => url.origin().ascii_serialization(),
            None => format!("http://{}", self.listen),
        }
    }

    /// How much may be asked.
    pub fn quotas(&self) -> Quotas {
        Quotas {
            principal: self.principal_requests_per_minute,
            organization: self.organization_requests_per_minute,
            strangers: self.stranger_requests_per_minute,
        }
    }

    /// Puts the address that was really bound in the place of the asked one (port 0 becomes a number).
    pub fn bound_to(&mut self, address: SocketAddr) {
        self.listen = address;
    }

    /// The database as the service's role.
    pub fn database_url(&self) -> Result<&str, ConfigError> {
        required(self.database_url.as_ref(), "database_url", "SYNC_DATABASE_URL")
    }

    /// The database as the owner.
    pub fn owner_database_url(&self) -> Result<&str, ConfigError> {
        required(self.owner_database_url.as_ref(), "owner_database_url", "SYNC_OWNER_DATABASE_URL")
    }

    /// The database as the maintenance role.
    pub fn maintenance_database_url(&self) -> Result<&str, ConfigError> {
        required(self.maintenance_database_url.as_ref(), "maintenance_database_url", "SYNC_MAINTENANCE_DATABASE_URL")
    }

    /// The bytes that the keys which seal the audit log are derived from.
    pub fn seal_key(&self) -> Result<&[u8], ConfigError> {
        required(self.seal_key.as_ref(), "seal_key", "SYNC_SEAL_KEY").map(str::as_bytes)
    }

    /// The same of those that sealed before.
    pub fn previous_seal_keys(&self) -> Vec<&[u8]> {
        self.previous_seal_keys.as_ref().map(separate).unwrap_or_default()
    }

    /// What the secret key was before.
    pub fn previous_secret_keys(&self) -> Vec<&[u8]> {
        self.previous_secret_keys.as_ref().map(separate).unwrap_or_default()
    }

    /// The bytes that keys are derived from.
    pub fn secret_key(&self) -> Result<&[u8], ConfigError> {
        required(self.secret_key.as_ref(), "secret_key", "SYNC_SECRET_KEY").map(str::as_bytes)
    }

    /// The text of `syncd config print`: what is in force, secrets hidden.
    pub fn print(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<String, ConfigError> {
        let mut sources = Sources::reference()?;
        if let Some(path) = file {
            sources.overlay_file(path)?;
        }
        sources.overlay_environment(environment)?;
        let mut lines = Vec::new();
        for (key, value) in &sources.values {
            let hidden = SECRETS.contains(&key.as_str()) && value.as_str() != Some("");
            let shown = if hidden { "\"…\"".to_owned() } else { value.to_string() };
            lines.push(match sources.origins.get(key) {
                Some(origin) => format!("{key} = {shown}  # {origin}"),
                None => format!("{key} = {shown}"),
            });
        }
        sources.typed()?;
        Ok(lines.join("\n"))
    }
}

/// Secrets that stand in one value, separated by commas or white space.
fn separate(secrets: &SecretString) -> Vec<&[u8]> {
    let separator = |c: char| c == ',' || c.is_whitespace();
    secrets.expose_secret().split(separator).filter(|one| !one.is_empty()).map(str::as_bytes).collect()
}

fn required<'a>(
    value: Option<&'a SecretString>,
    key: &'static str,
    variable: &'static str,
) -> Result<&'a str, ConfigError> {
    value.map(ExposeSecret::expose_secret).ok_or(ConfigError::Missing { key, variable })
}

/// The values in force and, where it is not the reference, who gave each.
struct Sources {
    values: toml::Table,
    origins: BTreeMap<String, String>,
}

impl Sources {
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

    fn typed(self) -> Result<Config, ConfigError> {
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

fn optional_secret<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<SecretString>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok((!text.is_empty()).then(|| SecretString::from(text)))
}

fn optional_url<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Url>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    let url = Url::parse(&text).map_err(|error| serde::de::Error::custom(format!("`{text}` is not a URL: {error}")))?;
    let bare = matches!(url.scheme(), "http" | "https") && matches!(url.path(), "" | "/");
    let bare = bare && url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    if bare {
        Ok(Some(url))
    } else {
        Err(serde::de::Error::custom(format!("`{text}` is not an http or https origin without a path")))
    }
}

fn optional_path<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok((!text.is_empty()).then(|| PathBuf::from(text)))
}

/// An address of somebody else's that we call: https, or http on this machine.
fn optional_address<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Url>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    let url = Url::parse(&text).map_err(|error| serde::de::Error::custom(format!("`{text}` is not a URL: {error}")))?;
    let local = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    if url.scheme() == "https" || url.scheme() == "http" && local {
        Ok(Some(url))
    } else {
        Err(serde::de::Error::custom(format!("`{text}` is not an https address (http is taken on this machine only)")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
        Config::load(None, pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn the_reference_stands_alone_and_is_overridden_by_the_environment() {
        let config = with(&[]).unwrap();
        assert_eq!(config.public_url(), "http://127.0.0.1:8787");
        assert!(config.database_url().unwrap_err().to_string().contains("SYNC_DATABASE_URL"));
        let config = with(&[
            ("SYNC_PUBLIC_URL", "https://sync.example.com/"),
            ("SYNC_ALLOWED_HOSTS", r#"["lb.internal"]"#),
            ("SYNC_FORWARDED_HOPS", "1"),
            ("PATH", "/bin"),
            ("SYNC_SERVICE_HOST", "10.0.0.1"),
            ("SYNC_PORT_8787_TCP", "tcp://10.0.0.1:8787"),
        ])
        .unwrap();
        assert_eq!(config.public_url(), "https://sync.example.com");
        assert_eq!((config.allowed_hosts, config.forwarded_hops), (vec!["lb.internal".to_owned()], 1));
    }

    #[test]
    fn a_wrong_key_or_value_is_named() {
        for (name, value, says) in [
            ("SYNC_LISTEM", "x", "`listem`"),
            ("SYNC_LISTEN", "nowhere", "`listen` (SYNC_LISTEN)"),
            ("SYNC_FORWARDED_HOPS", "many", "`forwarded_hops`"),
            ("SYNC_PUBLIC_URL", "https://sync.example.com/path", "`public_url`"),
            ("SYNC_SECRET_KEY", "short", "`secret_key`"),
            ("SYNC_ALLOWED_ORIGINS", r#"["app.example.com"]"#, "`allowed_origins`"),
            ("SYNC_LOG_FORMAT", "xml", "`log_format`"),
            (
                "SYNC_ISSUERS",
                r#"[{"issuer":"https://idp","algorithms":["RS256"],"jwks_url":"https://idp/jwks"}]"#,
                "`issuers`",
            ),
            ("SYNC_SECRET_KEY_FILE", "/nowhere/at/all", "`secret_key`"),
            ("SYNC_SEAL_KEY", "short", "`seal_key`"),
            ("SYNC_PREVIOUS_SECRET_KEYS", "short", "`previous_secret_keys`"),
            ("SYNC_PREVIOUS_SEAL_KEYS", "0123456789abcdef0123456789abcdef,short", "`previous_seal_keys`"),
            ("SYNC_AUDIT_HEADS_URL", "http://collector.example/heads", "`audit_heads_url`"),
            ("SYNC_AUDIT_RETENTION_DAYS", "-1", "`audit_retention_days`"),
        ] {
            let message = with(&[(name, value)]).unwrap_err().to_string();
            assert!(message.contains(says), "{name}: {message}");
            assert!(message.contains("; next: "), "{message}");
        }
    }

    #[test]
    fn secrets_come_from_files_and_are_not_printed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        std::fs::write(&path, "0123456789abcdef0123456789abcdef\n").unwrap();
        let environment = vec![("SYNC_SECRET_KEY_FILE".to_owned(), path.display().to_string())];
        let config = Config::load(None, environment.clone()).unwrap();
        assert_eq!(config.secret_key().unwrap(), b"0123456789abcdef0123456789abcdef");
        let printed = Config::print(None, environment).unwrap();
        assert!(printed.contains("secret_key = \"…\"  # SYNC_SECRET_KEY_FILE"), "{printed}");
        assert!(!format!("{config:?}{printed}").contains("0123456789abcdef"));
    }
}
