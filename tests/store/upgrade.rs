//! What an upgrade does to a database that is in use.

use sqlx::migrate::Migrator;
use sqlx::{Connection as _, Executor as _, PgConnection};
use sync_core::ids::{OrganizationId, PrincipalId};
use sync_tests::{NOW, TestDatabase, with_database};

pub(super) static MIGRATOR: Migrator = sqlx::migrate!("../migrations");

/// The database as the release with that last migration left it, empty, and a connection of its owner.
pub(super) async fn as_of(database: &TestDatabase, version: i64) -> PgConnection {
    let mut owner = PgConnection::connect(&database.owner_url).await.unwrap();
    owner.execute("DROP SCHEMA sync, routing, feed CASCADE; DROP TABLE _sqlx_migrations").await.unwrap();
    MIGRATOR.run_to(version, &mut owner).await.unwrap();
    owner
}

#[test]
fn roles_come_from_what_tokens_are_for_so_that_nobody_loses_or_gains_anything() {
    with_database(async |database: &TestDatabase| {
        as_of(database, 9).await.close().await.unwrap();
        let mut superuser = database.superuser().await;
        for (slug, members) in [
            (
                "one",
                [
                    ("boss", "owner", vec![vec!["graph:read"], vec!["admin"]]),
                    ("reader", "member", vec![vec!["graph:read", "graph:propose", "sources:write"]]),
                    ("guest", "member", vec![]),
                    ("auditor", "auditor", vec![vec!["audit:read"]]),
                    ("ci", "ingest", vec![vec!["sources:write"], vec!["telemetry:write"]]),
                ]
                .as_slice(),
            ),
            // A mixture that only an administrator may have, though nothing here administers.
            ("two", [("both", "admin", vec![vec!["graph:read", "audit:read"]])].as_slice()),
        ] {
            let organization = OrganizationId::at(NOW).uuid();
            sqlx::query("INSERT INTO routing.organizations VALUES ($1, $2, 'active', $3)")
                .bind(organization)
                .bind(slug)
                .bind(NOW)
                .execute(&mut superuser)
                .await
                .unwrap();
            for (name, role, tokens) in members {
                let id = PrincipalId::at(NOW).uuid();
                sqlx::query(
                    "INSERT INTO sync.principals (organization_id, id, name, kind, reads_all, created_at, issuer, subject)
                     VALUES ($1, $2, $3, 'user', true, $4, $3, $5)",
                )
                .bind(organization)
                .bind(id)
                .bind(name)
                .bind(NOW)
                .bind(role)
                .execute(&mut superuser)
                .await
                .unwrap();
                for scopes in tokens.iter().chain([&vec!["admin"]]) {
                    sqlx::query(
                        "INSERT INTO sync.tokens
                             (organization_id, id, principal_id, name, secret_hash, scopes, created_at, revoked_at)
                         VALUES ($1, $2, $3, 'test', $4, $5, $6, $7)",
                    )
                    .bind(organization)
                    .bind(PrincipalId::at(NOW).uuid())
                    .bind(id)
                    .bind(&[0_u8; 32][..])
                    .bind(scopes)
                    .bind(NOW)
                    // The one that administers and that everybody had once.
                    .bind((tokens.is_empty() || !tokens.contains(scopes)).then_some(NOW))
                    .execute(&mut superuser)
                    .await
                    .unwrap();
                }
            }
        }
        sync_store::migrate(&database.owner_url, sync_store::Passwords::default(), NOW).await.unwrap();
        let roles: Vec<(String, String, String)> =
            sqlx::query_as("SELECT name, role, subject FROM sync.principals ORDER BY name")
                .fetch_all(&mut superuser)
                .await
                .unwrap();
        assert_eq!(roles.len(), 6);
        for (name, role, expected) in roles {
            assert_eq!(role, expected, "{name}");
        }
        // The older service does not know of roles and runs until it is replaced.
        let organization: uuid::Uuid =
            sqlx::query_scalar("SELECT id FROM routing.organizations LIMIT 1").fetch_one(&mut superuser).await.unwrap();
        let mut service = PgConnection::connect(&database.app_url).await.unwrap();
        sqlx::query("SELECT set_config('sync.organization', $1, false)")
            .bind(organization.to_string())
            .execute(&mut service)
            .await
            .unwrap();
        let role: String = sqlx::query_scalar(
            "INSERT INTO sync.principals (id, name, kind, reads_all, created_at)
             VALUES ($1, 'late', 'user', true, $2) RETURNING role",
        )
        .bind(PrincipalId::at(NOW).uuid())
        .bind(NOW)
        .fetch_one(&mut service)
        .await
        .unwrap();
        assert_eq!(role, "member");
    });
}
