//! Migrations, embedded from `migrations/`, applied by the owner.

use sqlx::migrate::{Migrate as _, MigrateError, Migrator};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use time::OffsetDateTime;

use crate::error::StoreError;

pub(crate) static MIGRATOR: Migrator = sqlx::migrate!("../../migrations");

/// Audit partitions are made for the month of the clock and as many after it.
const AUDIT_MONTHS_AHEAD: i32 = 3;

/// Passwords for the roles that the migrations make; a role without one keeps what it has.
#[derive(Clone, Copy, Default)]
pub struct Passwords<'a> {
    /// Of `sync_app`, the service's role.
    pub app: Option<&'a str>,
    /// Of `sync_maintainer`, the worker's role for maintenance.
    pub maintainer: Option<&'a str>,
}

/// Applies every migration that is missing, as the owner role of `owner_url` (which needs CREATEROLE unless the roles
/// exist), sets the passwords, and makes the audit partitions of the months from `now` on. Gives the versions applied.
pub async fn migrate(owner_url: &str, passwords: Passwords<'_>, now: OffsetDateTime) -> Result<Vec<i64>, StoreError> {
    let mut connection = connect(owner_url).await?;
    let before = applied(&mut connection).await?;
    MIGRATOR.run(&mut connection).await.map_err(refused)?;
    for (role, password) in [("sync_app", passwords.app), ("sync_maintainer", passwords.maintainer)] {
        if let Some(password) = password {
            set_password(&mut connection, role, password).await?;
        }
    }
    sqlx::query("SELECT sync.ensure_audit_partitions($1, $2)")
        .bind(now.date())
        .bind(AUDIT_MONTHS_AHEAD + 1)
        .execute(&mut connection)
        .await?;
    connection.close().await?;
    Ok(MIGRATOR.iter().map(|m| m.version).filter(|version| !before.contains(version)).collect())
}

/// What [`migrate`] would apply: (version, description) in order.
pub async fn pending_migrations(owner_url: &str) -> Result<Vec<(i64, String)>, StoreError> {
    let mut connection = connect(owner_url).await?;
    let applied = applied(&mut connection).await?;
    connection.close().await?;
    Ok(MIGRATOR
        .iter()
        .filter(|migration| !applied.contains(&migration.version))
        .map(|migration| (migration.version, migration.description.to_string()))
        .collect())
}

/// On a private server: makes the owner role (not a superuser), and a database of that owner, where they are missing.
/// `superuser_url` names the maintenance database.
pub async fn create_database(superuser_url: &str, owner: &str, database: &str) -> Result<(), StoreError> {
    let mut connection = connect(superuser_url).await?;
    let (has_owner, has_database, create_owner, create_database): (bool, bool, String, String) = sqlx::query_as(
        "SELECT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = $1),
                EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = $2),
                format('CREATE ROLE %I LOGIN CREATEROLE NOSUPERUSER NOBYPASSRLS', $1),
                format('CREATE DATABASE %I OWNER %I TEMPLATE template0 ENCODING ''UTF8'' LOCALE ''C''', $2, $1)",
    )
    .bind(owner)
    .bind(database)
    .fetch_one(&mut connection)
    .await?;
    if !has_owner {
        connection.execute(AssertSqlSafe(create_owner)).await?;
    }
    if !has_database {
        connection.execute(AssertSqlSafe(create_database)).await?;
    }
    connection.close().await?;
    Ok(())
}

async fn connect(url: &str) -> Result<PgConnection, StoreError> {
    PgConnection::connect(url).await.map_err(|error| match error {
        sqlx::Error::Configuration(reason) => StoreError::Refused(format!(
            "the owner's database address is not one: {reason}; next: check SYNC_OWNER_DATABASE_URL, \
             postgres://role@host/database"
        )),
        other => other.into(),
    })
}

async fn applied(connection: &mut PgConnection) -> Result<Vec<i64>, StoreError> {
    let exists: bool =
        sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL").fetch_one(&mut *connection).await?;
    if !exists {
        return Ok(Vec::new());
    }
    let rows = connection.list_applied_migrations(&MIGRATOR.table_name).await.map_err(refused)?;
    Ok(rows.into_iter().map(|row| row.version).collect())
}

/// A password cannot be a parameter of ALTER ROLE; the server itself quotes it.
async fn set_password(connection: &mut PgConnection, role: &str, password: &str) -> Result<(), StoreError> {
    let statement: String = sqlx::query_scalar("SELECT format('ALTER ROLE %I PASSWORD %L', $1, $2)")
        .bind(role)
        .bind(password)
        .fetch_one(&mut *connection)
        .await?;
    connection.execute(AssertSqlSafe(statement)).await?;
    Ok(())
}

fn refused(error: MigrateError) -> StoreError {
    match error {
        MigrateError::Execute(error) => error.into(),
        MigrateError::ExecuteMigration(error, version) => StoreError::Refused(format!(
            "migration {version} failed and changed nothing: {error}; next: fix what it names and run `syncd migrate` again"
        )),
        MigrateError::VersionMissing(version) => StoreError::Refused(format!(
            "the database has migration {version}, which this build does not know; next: run a newer syncd"
        )),
        other => StoreError::Refused(format!(
            "the database's migrations are not this build's: {other}; next: restore the database or the build"
        )),
    }
}
