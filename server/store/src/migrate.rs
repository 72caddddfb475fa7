//! Migrations, embedded from `migrations/`, applied by the owner.

use time::OffsetDateTime;

use crate::error::StoreError;

/// Applies every migration that is missing, as the owner role of `owner_url` (which needs CREATEROLE unless `sync_app`
/// and `sync_maintainer` exist), gives `sync_app` the password where one is given, and makes the audit partitions of
/// the months around `now`. Gives the versions applied.
pub async fn migrate(owner_url: &str, app_password: Option<&str>, now: OffsetDateTime) -> Result<Vec<i64>, StoreError> {
    let _ = (owner_url, app_password, now);
    Err(crate::tx::pending())
}

/// What [`migrate`] would apply: (version, description) in order.
pub async fn pending_migrations(owner_url: &str) -> Result<Vec<(i64, String)>, StoreError> {
    let _ = owner_url;
    Err(crate::tx::pending())
}

/// On a private server: makes the owner role (not a superuser), and a database of that owner, where they are missing.
/// `superuser_url` names the maintenance database.
pub async fn create_database(superuser_url: &str, owner: &str, database: &str) -> Result<(), StoreError> {
    let _ = (superuser_url, owner, database);
    Err(crate::tx::pending())
}
