//! Configuration: the embedded `deploy/syncd.toml`, a file over it, `SYNC_…` variables over both.

mod error;
mod sources;
mod values;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use sync_core::principal::Role;
use time::Duration;
use url::Url;

pub use error::ConfigError;
use sources::Sources;
use values::{optional_address, optional_path, optional_secret, optional_url};

use crate::http::limits::Quotas;
use crate::identity::issuers;
use crate::secrets::KeyRing;

/// The reference: every key with its default and what it means.
pub const REFERENCE: &str = include_str!("../../deploy/syncd.toml");

/// What is in force, as typed values. See `deploy/syncd.toml` for the meaning of each.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Address of everything on HTTP.
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
    /// Jobs that a worker runs at a time; 0: none.
    pub worker_slots: usize,
    /// Where a worker keeps mirrors and caches.
    pub worker_data_dir: PathBuf,
    /// Room for all mirrors of a worker, in MiB.
    mirror_quota_mib: u64,
    /// Room for what a worker knows of files, in MiB.
    cache_quota_mib: u64,
    /// Seconds between two looks at the remote heads of a source; 0: never.
    sweep_every_s: u64,
    /// Hosts of sources that may have addresses of a private network, or of this machine.
    pub private_source_hosts: Vec<String>,
    /// Whether folders and `file:` addresses of the worker's machine may be sources.
    pub local_sources: bool,
    /// Seconds that requests and jobs in flight may take after SIGTERM.
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

impl Config {
    /// Reads the reference, `file` over it, and `environment` over both.
    pub fn load(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        Sources::read(file, environment)?.typed()
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

    /// Room for all mirrors of a worker, in bytes.
    pub fn mirror_quota(&self) -> u64 {
        self.mirror_quota_mib.saturating_mul(1 << 20)
    }

    /// How much room (in bytes) what a worker knows of files may take.
    pub fn cache_quota(&self) -> u64 {
        self.cache_quota_mib.saturating_mul(1 << 20)
    }

    /// How often the remote of a source is looked at; none: never.
    pub fn sweep_every(&self) -> Option<Duration> {
        (self.sweep_every_s > 0).then(|| Duration::seconds(i64::try_from(self.sweep_every_s).unwrap_or(i64::MAX)))
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

    /// The keys that stored secrets are encrypted with.
    pub fn key_ring(&self) -> Result<KeyRing, ConfigError> {
        KeyRing::derive(self.secret_key()?, self.previous_secret_keys()).map_err(|error| ConfigError::Bad {
            key: "secret_key".to_owned(),
            origin: "configuration".to_owned(),
            reason: error.to_string(),
        })
    }

    /// The text of `syncd config print`: what is in force, secrets hidden.
    pub fn print(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<String, ConfigError> {
        let sources = Sources::read(file, environment)?;
        let text = sources.text();
        sources.typed()?;
        Ok(text)
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
