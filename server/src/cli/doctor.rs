//! `syncd doctor`: checks what the service stands on, one line each.

use std::path::Path;
use std::process::ExitCode;

use sync_core::clock::Clock as _;
use sync_store::{PoolOptions, Store};
use time::OffsetDateTime;

use super::{FAILED, Failure, say};
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
    let checks: [(&str, Check); 5] = [
        ("configuration", Ok(format!("served as {}", config.public_url()))),
        ("secret key", secret_key(&config)),
        ("issuers", Ok(format!("{} configured, every given key readable", config.issuers.len()))),
        ("clock", clock()),
        ("database role and row security", database(&config).await),
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
            let text = error.to_string();
            let (what, next) = text.split_once("; next: ").unwrap_or((&text, "set SYNC_DATABASE_URL"));
            return Err((what.to_owned(), next.to_owned()));
        }
    };
    let store = match Store::connect(url, PoolOptions { max_connections: 1, ..PoolOptions::default() }).await {
        Ok(store) => store,
        Err(error) => {
            let text = Failure::from(error).to_string();
            let (what, next) = text.split_once("; next: ").unwrap_or((&text, "run `syncd migrate`"));
            return Err((what.to_owned(), next.to_owned()));
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
