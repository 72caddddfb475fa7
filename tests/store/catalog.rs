//! What the database's own catalog says of the fences: a table that is forgotten fails here.

use sqlx::PgConnection;
use sync_store::{Passwords, PoolOptions, Store, StoreError};
use sync_tests::{TestDatabase, with_database};

const POLICY: &str = "(organization_id = (NULLIF(current_setting('sync.organization'::text, true), ''::text))::uuid)";

/// Without row security, since nothing private may ever be in them.
const PUBLIC_TABLES: [&str; 9] = [
    "feed.changes",
    "feed.sources",
    "feed.vendors",
    "feed.versions",
    "public._sqlx_migrations",
    "routing.advertised_issuers",
    "routing.issuer_routes",
    "routing.organizations",
    "routing.refusals",
];

async fn names(connection: &mut PgConnection, sql: &'static str) -> Vec<String> {
    sqlx::query_scalar(sql).fetch_all(connection).await.unwrap()
}

#[test]
fn every_private_table_is_fenced_and_every_other_is_listed() {
    with_database(async |database: &TestDatabase| {
        let mut connection = database.superuser().await;
        let open = names(
            &mut connection,
            "SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
               AND NOT (c.relrowsecurity AND c.relforcerowsecurity) ORDER BY 1",
        )
        .await;
        assert_eq!(open, PUBLIC_TABLES);
        let other_policies = names(
            &mut connection,
            "SELECT c.relname || ': ' || coalesce(string_agg(pg_get_expr(p.polqual, p.polrelid), ' and '), 'none')
             FROM pg_class c LEFT JOIN pg_policy p ON p.polrelid = c.oid
             WHERE c.relnamespace = 'sync'::regnamespace AND c.relkind IN ('r', 'p')
             GROUP BY c.oid, c.relname
             HAVING count(*) <> 1
                 OR bool_or(p.polqual IS NULL OR p.polcmd <> '*' OR NOT p.polpermissive OR p.polroles <> '{0}'
                            OR (p.polwithcheck IS NOT NULL
                                AND pg_get_expr(p.polwithcheck, p.polrelid) <> pg_get_expr(p.polqual, p.polrelid)))",
        )
        .await;
        assert_eq!(other_policies, Vec::<String>::new());
        let texts = names(&mut connection, "SELECT DISTINCT pg_get_expr(polqual, polrelid) FROM pg_policy").await;
        assert_eq!(texts, [POLICY]);
    });
}

#[test]
fn every_private_key_index_and_reference_is_led_by_the_organization() {
    with_database(async |database: &TestDatabase| {
        let mut connection = database.superuser().await;
        let indexes = names(
            &mut connection,
            "SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
             LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
             WHERE c.relnamespace = 'sync'::regnamespace AND a.attname IS DISTINCT FROM 'organization_id'",
        )
        .await;
        assert_eq!(indexes, Vec::<String>::new());
        let without_key = names(
            &mut connection,
            "SELECT c.relname::text FROM pg_class c
             WHERE c.relnamespace = 'sync'::regnamespace AND c.relkind IN ('r', 'p')
               AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)",
        )
        .await;
        assert_eq!(without_key, Vec::<String>::new());
        let references = names(
            &mut connection,
            "SELECT conname::text FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
             JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
             WHERE c.relnamespace = 'sync'::regnamespace AND k.contype = 'f' AND a.attname <> 'organization_id'",
        )
        .await;
        assert_eq!(references, Vec::<String>::new());
    });
}

#[test]
fn the_service_owns_nothing_and_no_view_runs_as_its_owner() {
    with_database(async |database: &TestDatabase| {
        let mut connection = database.superuser().await;
        let owned = names(
            &mut connection,
            "SELECT c.relname::text FROM pg_class c WHERE pg_get_userbyid(c.relowner) IN ('sync_app', 'sync_maintainer')
             UNION ALL SELECT p.proname::text FROM pg_proc p WHERE pg_get_userbyid(p.proowner) IN ('sync_app', 'sync_maintainer')
             UNION ALL SELECT n.nspname::text FROM pg_namespace n WHERE pg_get_userbyid(n.nspowner) IN ('sync_app', 'sync_maintainer')
             UNION ALL SELECT d.datname::text FROM pg_database d WHERE pg_get_userbyid(d.datdba) IN ('sync_app', 'sync_maintainer')",
        )
        .await;
        assert_eq!(owned, Vec::<String>::new());
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
        let views = names(
            &mut connection,
            "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE c.relkind IN ('v', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
               AND NOT coalesce('security_invoker=true' = ANY (c.reloptions), false)",
        )
        .await;
        assert_eq!(views, Vec::<String>::new());
        let definers = names(
            &mut connection,
            "SELECT p.proname::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
             WHERE p.prosecdef AND n.nspname NOT IN ('pg_catalog', 'information_schema')
               AND (NOT coalesce(array_to_string(p.proconfig, ',') LIKE '%search_path=%', false)
                    OR has_function_privilege('sync_app', p.oid, 'EXECUTE'))",
        )
        .await;
        assert_eq!(definers, Vec::<String>::new());
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
