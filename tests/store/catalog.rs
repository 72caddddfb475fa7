//! What roles may do, and which databases are refused. The fences of tables are in `fences.rs`.

use sqlx::PgConnection;
use sync_store::{Passwords, PoolOptions, Store, StoreError};
use sync_tests::{TestDatabase, with_database};

async fn names(connection: &mut PgConnection, sql: &'static str) -> Vec<String> {
    sqlx::query_scalar(sql).fetch_all(connection).await.unwrap()
}

#[test]
fn the_roles_that_serve_are_above_nothing() {
    with_database(async |database: &TestDatabase| {
        let mut connection = database.superuser().await;
        let roles: Vec<(String, bool, bool, bool, bool)> = sqlx::query_as(
            "SELECT rolname::text, rolsuper, rolbypassrls, rolcanlogin, rolcreaterole FROM pg_roles
             WHERE rolname LIKE 'sync\\_%' ORDER BY rolname",
        )
        .fetch_all(&mut connection)
        .await
        .unwrap();
        assert_eq!(
            roles,
            [
                ("sync_app".to_owned(), false, false, true, false),
                ("sync_maintainer".to_owned(), false, false, true, false),
                ("sync_owner".to_owned(), false, false, true, true)
            ]
        );
    });
}

#[test]
fn the_audit_log_is_insert_only_for_the_service_and_its_partitions_are_closed_to_it() {
    with_database(async |database: &TestDatabase| {
        let mut connection = database.superuser().await;
        let rights = names(
            &mut connection,
            "SELECT c.relname || ' ' || r.kind FROM pg_class c,
                    unnest(ARRAY['SELECT','INSERT','UPDATE','DELETE','TRUNCATE']) AS r (kind)
             WHERE c.relnamespace = 'sync'::regnamespace AND c.relname LIKE 'audit\\_%' AND c.relkind IN ('r', 'p')
               AND has_table_privilege('sync_app', c.oid, r.kind) ORDER BY 1",
        )
        .await;
        assert_eq!(
            rights,
            [
                "audit_events SELECT",
                "audit_head_deliveries SELECT",
                "audit_outcomes SELECT",
                "audit_prunings SELECT",
                "audit_seal_records SELECT",
                "audit_seals SELECT"
            ]
        );
        // It writes rows, but neither says whose nor in which transaction: the seals go by those.
        let unsaid = names(
            &mut connection,
            "SELECT c.relname || ' ' || a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
             WHERE c.oid IN ('sync.audit_events'::regclass, 'sync.audit_outcomes'::regclass) AND a.attnum > 0
               AND NOT has_column_privilege('sync_app', c.oid, a.attnum, 'INSERT') ORDER BY 1",
        )
        .await;
        assert_eq!(
            unsaid,
            [
                "audit_events organization_id",
                "audit_events xid",
                "audit_outcomes organization_id",
                "audit_outcomes xid"
            ]
        );
        let partitions = names(
            &mut connection,
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'sync.audit_events'::regclass ORDER BY 1",
        )
        .await;
        assert_eq!(
            partitions,
            [
                "sync.audit_events_2026_11",
                "sync.audit_events_2026_12",
                "sync.audit_events_2027_01",
                "sync.audit_events_2027_02",
                "sync.audit_events_default"
            ]
        );
    });
}

#[test]
fn the_maintenance_role_reads_the_log_writes_seals_and_may_do_nothing_else() {
    with_database(async |database: &TestDatabase| {
        let mut connection = database.superuser().await;
        let rights = names(
            &mut connection,
            "SELECT c.oid::regclass || ' ' || r.kind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace,
                    unnest(ARRAY['SELECT','INSERT','UPDATE','DELETE','TRUNCATE','REFERENCES','TRIGGER']) AS r (kind)
             WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
               AND CASE WHEN c.relkind IN ('r', 'p', 'v', 'm') AND r.kind IN ('SELECT','INSERT','UPDATE','REFERENCES')
                        THEN has_any_column_privilege('sync_maintainer', c.oid, r.kind)
                        WHEN c.relkind IN ('r', 'p', 'v', 'm')
                        THEN has_table_privilege('sync_maintainer', c.oid, r.kind) END
             ORDER BY 1",
        )
        .await;
        assert_eq!(
            rights,
            [
                "_sqlx_migrations SELECT",
                "routing.organizations SELECT",
                "sync.audit_events SELECT",
                "sync.audit_head_deliveries INSERT",
                "sync.audit_head_deliveries SELECT",
                "sync.audit_head_deliveries UPDATE",
                "sync.audit_outcomes INSERT",
                "sync.audit_outcomes SELECT",
                "sync.audit_prunings INSERT",
                "sync.audit_prunings SELECT",
                "sync.audit_seal_records INSERT",
                "sync.audit_seal_records SELECT",
                "sync.audit_seals INSERT",
                "sync.audit_seals SELECT",
            ]
        );
        let functions = names(
            &mut connection,
            "SELECT p.proname::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
             WHERE p.prosecdef AND n.nspname NOT IN ('pg_catalog', 'information_schema')
               AND has_function_privilege('sync_maintainer', p.oid, 'EXECUTE') ORDER BY 1",
        )
        .await;
        assert_eq!(functions, ["drop_audit_partitions", "ensure_audit_partitions", "prune_audit"]);
    });
}

#[test]
fn a_role_that_may_bypass_row_security_is_refused_with_the_next_step() {
    with_database(async |database: &TestDatabase| {
        let refused = Store::connect(&database.superuser_url, PoolOptions::default()).await.unwrap_err();
        assert!(matches!(refused, StoreError::Refused(_)));
        assert!(refused.to_string().contains("row security") && refused.to_string().contains("sync_app"), "{refused}");
    });
}

#[test]
fn migrating_again_applies_nothing() {
    with_database(async |database: &TestDatabase| {
        assert_eq!(sync_store::pending_migrations(&database.owner_url).await.unwrap(), []);
        let applied = sync_store::migrate(&database.owner_url, Passwords::default(), sync_tests::NOW).await.unwrap();
        assert_eq!(applied, Vec::<i64>::new());
    });
}

#[test]
fn a_database_without_the_schema_is_refused_with_the_next_step() {
    with_database(async |database: &TestDatabase| {
        // Nobody uses the maintenance database's tables; the application role may connect to it.
        let mut address: url::Url = database.app_url.parse().unwrap();
        address.set_path("postgres");
        let refused = Store::connect(address.as_str(), PoolOptions::default()).await.unwrap_err();
        assert!(refused.to_string().contains("syncd migrate"), "{refused}");
    });
}
