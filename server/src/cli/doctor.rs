//! `syncd doctor`: checks what the service stands on, one line each.

use std::path::Path;
use std::process::ExitCode;

use sync_core::clock::Clock as _;
use sync_store::{Maintenance, PoolOptions, Store};
use time::OffsetDateTime;

use super::{FAILED, Failure, say};
use crate::audit::maintain;
use crate::clock::SystemClock;
use crate::config::Config;

/// No release of Sync is older: a clock before it has not been set.
const EARLIEST: OffsetDateTime = time::macros::datetime!(2026-11-01 0:00 UTC);

type Check = Result<String, (String, String)>;

/// Checks everything, also after a failure, and says what to do about each.
pub(super) async fn run(
    file: Option<&Path>,
    environment: impl IntoIterator<Item = (String, String)>,
) -> Result<ExitCode, Failure> {
    let config = match Config::load(file, environment) {
        Ok(config) => config,
        Err(error) => {
            say(&format!("FAIL configuration: {error}"))?;
            return Ok(ExitCode::from(FAILED));
        }
    };
    let checks: [(&str, Check); 8] = [
        ("configuration", Ok(format!("served as {}", config.public_url()))),
        ("secret key", secret_key(&config)),
        ("seal key", seal_key(&config)),
        ("issuers", Ok(format!("{} configured, every given key readable", config.issuers.len()))),
        ("clock", clock()),
        ("database role and row security", database(&config).await),
        ("maintenance role", maintenance(&config).await),
        ("heads of the audit log", heads(&config)),
    ];
    let mut failed = false;
    for (name, check) in checks {
        match check {
            Ok(found) => say(&format!("ok   {name}: {found}"))?,
            Err((what, next)) => {
                failed = true;
                say(&format!("FAIL {name}: {what}; next: {next}"))?;
            }
        }
    }
    Ok(if failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

fn secret_key(config: &Config) -> Check {
    match config.secret_key() {
        Ok(_) => Ok("set".to_owned()),
        Err(_) => Err((
            "not set".to_owned(),
            "put `openssl rand -hex 32` into SYNC_SECRET_KEY or SYNC_SECRET_KEY_FILE".to_owned(),
        )),
    }
}

/// Where the service answers there should be none; where `syncd worker` runs there has to be one.
fn seal_key(config: &Config) -> Check {
    match (config.seal_key(), config.maintenance_database_url()) {
        (Ok(_), _) => match maintain::keys(config) {
            Ok(keys) => Ok(format!("seals as {}", keys.current().id())),
            Err(error) => Err(parted(&error.to_string(), "set another SYNC_SEAL_KEY")),
        },
        (Err(_), Err(_)) => Ok("not set; only `syncd worker` and `syncd audit verify` want it".to_owned()),
        (Err(_), Ok(_)) => Err((
            "not set, and without it `syncd worker` does not start".to_owned(),
            "put `openssl rand -hex 32` into SYNC_SEAL_KEY or SYNC_SEAL_KEY_FILE".to_owned(),
        )),
    }
}

/// `Maintenance::connect` itself refuses another role and a schema it was not made for.
async fn maintenance(config: &Config) -> Check {
    let Ok(url) = config.maintenance_database_url() else {
        return match config.seal_key() {
            Err(_) => Ok("not set; only `syncd worker` wants it".to_owned()),
            Ok(_) => {
                Ok("not set, so that this is no place to run `syncd worker`, which seals the audit log".to_owned())
            }
        };
    };
    let options = PoolOptions { max_connections: 1, ..PoolOptions::default() };
    match Maintenance::connect(url, options).await {
        Ok(maintenance) => {
            maintenance.close().await;
            Ok("connected as the role that seals the audit log".to_owned())
        }
        Err(error) => Err(parted(&Failure::from(error).to_string(), "run `syncd migrate`")),
    }
}

/// Heads that stay in the database are what its owner can remove unseen.
fn heads(config: &Config) -> Check {
    if config.maintenance_database_url().is_err() {
        return Ok("not sent from here".to_owned());
    }
    match maintain::heads(config) {
        Ok(heads) if heads.go_somewhere() => Ok("they leave the database".to_owned()),
        Ok(_) => Err((
            "signed heads stay in the database, where its owner can remove the newest of them unseen".to_owned(),
            "set audit_heads_file or audit_heads_url".to_owned(),
        )),
        Err(error) => Err(parted(&error.to_string(), "set another audit_heads_url")),
    }
}

/// A message as what happened and what to do.
fn parted(text: &str, otherwise: &str) -> (String, String) {
    let (what, next) = text.split_once("; next: ").unwrap_or((text, otherwise));
    (what.to_owned(), next.to_owned())
}

fn clock() -> Check {
    let now = SystemClock.now();
    if now >= EARLIEST {
        return Ok(sync_core::clock::rfc3339_millis(now));
    }
    Err((format!("it says {now}, before this release was made"), "set the machine's clock".to_owned()))
}

/// `Store::connect` itself refuses a role that may bypass row security and a schema it was not made for.
async fn database(config: &Config) -> Check {
    let url = match config.database_url() {
        Ok(url) => url,
        Err(error) => {
            return Err(parted(&error.to_string(), "set SYNC_DATABASE_URL"));
        }
    };
    let store = match Store::connect(url, PoolOptions { max_connections: 1, ..PoolOptions::default() }).await {
        Ok(store) => store,
        Err(error) => {
            return Err(parted(&Failure::from(error).to_string(), "run `syncd migrate`"));
        }
    };
    let answer = store.may_record().await;
    store.close().await;
    match answer {
        Ok(true) => Ok("connected as a role that row security binds and that may write the audit log".to_owned()),
        Ok(false) => Err(("the role may not write the audit log".to_owned(), "run `syncd migrate`".to_owned())),
        Err(error) => Err((error.to_string(), "look at the database's log".to_owned())),
    }
}
