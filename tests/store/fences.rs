//! What the database's own catalog says of the fences, now, after each migration by itself, and of what a later one might
//! forget: a table, a view, a function, a key, a right.

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use sync_tests::{TestDatabase, with_database};

use super::upgrade::{MIGRATOR, as_of};

/// Without row security, since nothing private may ever be in them.
pub(super) const PUBLIC_TABLES: [&str; 11] = [
    "feed.changes",
    "feed.sources",
    "feed.vendors",
    "feed.versions",
    "public._sqlx_migrations",
    "routing.advertised_issuers",
    "routing.issuer_routes",
    "routing.job_tickets",
    "routing.job_turns",
    "routing.organizations",
    "routing.refusals",
];

/// Functions that the service may call.
const CALLABLE: [&str; 1] = ["sync.current_organization"];

/// What a fault is called, and the objects that have it. `$1` is the list of public tables, `$2` that of functions.
const CHECKS: [(&str, &str); 13] = [
    (
        "is neither fenced nor listed as public",
        "SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind IN ('r', 'p', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
           AND NOT (c.relrowsecurity AND c.relforcerowsecurity) AND n.nspname || '.' || c.relname <> ALL ($1)",
    ),
    (
        "has not the one policy",
        "SELECT c.oid::regclass::text FROM pg_class c LEFT JOIN pg_policy p ON p.polrelid = c.oid
         WHERE c.relnamespace = 'sync'::regnamespace AND c.relkind IN ('r', 'p')
         GROUP BY c.oid
         HAVING count(*) <> 1
             OR bool_or(p.polqual IS NULL OR p.polcmd <> '*' OR NOT p.polpermissive OR p.polroles <> '{0}'
                        OR pg_get_expr(p.polqual, p.polrelid) <>
                           '(organization_id = (NULLIF(current_setting(''sync.organization''::text, true), ''''::text))::uuid)'
                        OR (p.polwithcheck IS NOT NULL
                            AND pg_get_expr(p.polwithcheck, p.polrelid) <> pg_get_expr(p.polqual, p.polrelid)))",
    ),
    (
        "says of its rows not whose they are",
        "SELECT c.oid::regclass::text FROM pg_class c
         WHERE c.relnamespace = 'sync'::regnamespace AND c.relkind IN ('r', 'p')
           AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'organization_id'
                                                       AND a.attnotnull AND a.atttypid = 'uuid'::regtype)",
    ),
    (
        "is an index that the organization does not lead",
        "SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
         LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
         WHERE c.relnamespace = 'sync'::regnamespace AND a.attname IS DISTINCT FROM 'organization_id'",
    ),
    (
        "has no primary key",
        "SELECT c.oid::regclass::text FROM pg_class c
         WHERE c.relnamespace = 'sync'::regnamespace AND c.relkind IN ('r', 'p')
           AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)",
    ),
    (
        "is a reference that may leave the organization",
        "SELECT k.conname::text FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
         JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
         WHERE c.relnamespace = 'sync'::regnamespace AND k.contype = 'f' AND a.attname <> 'organization_id'",
    ),
    (
        "belongs to a role that serves",
        "SELECT c.oid::regclass::text FROM pg_class c WHERE pg_get_userbyid(c.relowner) IN ('sync_app', 'sync_maintainer')
         UNION ALL SELECT p.oid::regproc::text FROM pg_proc p WHERE pg_get_userbyid(p.proowner) IN ('sync_app', 'sync_maintainer')
         UNION ALL SELECT n.nspname::text FROM pg_namespace n WHERE pg_get_userbyid(n.nspowner) IN ('sync_app', 'sync_maintainer')
         UNION ALL SELECT d.datname::text FROM pg_database d WHERE pg_get_userbyid(d.datdba) IN ('sync_app', 'sync_maintainer')",
    ),
    (
        "is a view that runs as its owner",
        "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind IN ('v', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
           AND NOT coalesce('security_invoker=true' = ANY (c.reloptions), false)",
    ),
    (
        "runs as its owner on whatever search path, or for the service",
        "SELECT p.oid::regproc::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
         WHERE p.prosecdef AND n.nspname NOT IN ('pg_catalog', 'information_schema')
           AND (NOT coalesce(array_to_string(p.proconfig, ',') LIKE '%search_path=%', false)
                OR has_function_privilege('sync_app', p.oid, 'EXECUTE'))",
    ),
    (
        "is a function that the service may call and that is not listed",
        "SELECT n.nspname || '.' || p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
         WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')
           AND has_function_privilege('sync_app', p.oid, 'EXECUTE') AND n.nspname || '.' || p.proname <> ALL ($2)",
    ),
    (
        "is a schema that nobody knows",
        "SELECT n.nspname::text FROM pg_namespace n
         WHERE n.nspname NOT IN ('sync', 'routing', 'feed', 'public', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'",
    ),
    (
        "is a schema that the service may add to",
        "SELECT n.nspname::text FROM pg_namespace n
         WHERE n.nspname NOT LIKE 'pg\\_%' AND (has_schema_privilege('sync_app', n.oid, 'CREATE')
                                                OR has_schema_privilege('sync_maintainer', n.oid, 'CREATE'))",
    ),
    (
        "gives rights to everybody",
        "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(c.relacl) r
         WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND r.grantee = 0",
    ),
];

/// Every fault, named with its object.
async fn faults(connection: &mut PgConnection) -> Vec<String> {
    let mut found = Vec::new();
    for (fault, check) in CHECKS {
        // Both lists stand in every statement, so that all of them take the same parameters.
        let sql = format!("SELECT DISTINCT f FROM ({check}) found (f) WHERE $1::text[] <> $2::text[] ORDER BY 1");
        let objects: Vec<String> = sqlx::query_scalar(AssertSqlSafe(sql))
            .bind(PUBLIC_TABLES.as_slice())
            .bind(CALLABLE.as_slice())
            .fetch_all(&mut *connection)
            .await
            .unwrap_or_else(|error| panic!("{check}: {error}"));
        found.extend(objects.into_iter().map(|object| format!("{object} {fault}")));
    }
    found
}

#[test]
fn every_private_table_is_fenced_and_every_other_is_listed() {
    with_database(async |database: &TestDatabase| {
        let mut connection = database.superuser().await;
        assert_eq!(faults(&mut connection).await, Vec::<String>::new());
        let public: Vec<String> = sqlx::query_scalar(
            "SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
               AND NOT c.relrowsecurity ORDER BY 1",
        )
        .fetch_all(&mut connection)
        .await
        .unwrap();
        assert_eq!(public, PUBLIC_TABLES);
    });
}

#[test]
fn the_fences_stand_after_each_migration() {
    with_database(async |database: &TestDatabase| {
        let mut superuser = database.superuser().await;
        let mut owner = as_of(database, 1).await;
        for migration in MIGRATOR.iter() {
            MIGRATOR.run_to(migration.version, &mut owner).await.unwrap();
            assert_eq!(faults(&mut superuser).await, Vec::<String>::new(), "after {}", migration.description);
        }
        owner.close().await.unwrap();
    });
}

#[test]
fn what_a_migration_forgets_is_found() {
    const TABLE: &str = "(organization_id uuid NOT NULL, id uuid, PRIMARY KEY (organization_id, id))";
    with_database(async |database: &TestDatabase| {
        let mut superuser = database.superuser().await;
        for (planted, fault) in [
            (format!("CREATE TABLE sync.x {TABLE}"), "sync.x is neither fenced"),
            (format!("CREATE TABLE sync.x {TABLE}; ALTER TABLE sync.x ENABLE ROW LEVEL SECURITY"), "sync.x is neither fenced"),
            ("CREATE TABLE feed.x (id int)".to_owned(), "feed.x is neither fenced"),
            ("CREATE TABLE public.x (id int)".to_owned(), "public.x is neither fenced"),
            (format!("CREATE TABLE sync.x {TABLE} PARTITION BY LIST (id); SELECT sync.fence('sync.x');
                      CREATE TABLE sync.y PARTITION OF sync.x DEFAULT"), "sync.y is neither fenced"),
            ("CREATE POLICY more ON sync.tokens USING (true)".to_owned(), "sync.tokens has not the one policy"),
            ("ALTER POLICY organization ON sync.tokens TO sync_app".to_owned(), "sync.tokens has not the one policy"),
            ("ALTER POLICY organization ON sync.tokens WITH CHECK (true)".to_owned(), "sync.tokens has not the one policy"),
            ("CREATE INDEX x ON sync.tokens (name)".to_owned(), "sync.x is an index that"),
            ("CREATE UNIQUE INDEX x ON sync.tokens (lower(name))".to_owned(), "sync.x is an index that"),
            ("CREATE TABLE sync.x (organization_id uuid NOT NULL); SELECT sync.fence('sync.x')".to_owned(), "sync.x has no primary key"),
            (format!("CREATE TABLE sync.x {TABLE}; ALTER TABLE sync.x ALTER COLUMN organization_id SET NOT NULL;
                      CREATE TABLE sync.y (organization_id uuid, id uuid PRIMARY KEY)"), "sync.y says of its rows not"),
            ("CREATE TABLE routing.y (id uuid PRIMARY KEY); ALTER TABLE sync.tokens ADD CONSTRAINT x FOREIGN KEY (id)
              REFERENCES routing.y".to_owned(), "x is a reference that"),
            ("ALTER TABLE feed.sources OWNER TO sync_app".to_owned(), "feed.sources belongs to"),
            ("CREATE VIEW sync.x AS SELECT * FROM sync.tokens".to_owned(), "sync.x is a view that"),
            ("CREATE MATERIALIZED VIEW feed.x AS SELECT 1 AS one".to_owned(), "feed.x is a view that"),
            ("CREATE FUNCTION sync.x() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'; REVOKE ALL ON FUNCTION sync.x FROM PUBLIC".to_owned(),
             "sync.x runs as its owner"),
            ("CREATE FUNCTION sync.x() RETURNS int LANGUAGE sql AS 'SELECT 1'".to_owned(), "sync.x is a function that the service"),
            ("CREATE SCHEMA x".to_owned(), "x is a schema that nobody"),
            ("GRANT CREATE ON SCHEMA feed TO sync_app".to_owned(), "feed is a schema that the service may"),
            ("GRANT SELECT ON feed.sources TO PUBLIC".to_owned(), "feed.sources gives rights"),
        ] {
            let mut tx = superuser.begin().await.unwrap();
            tx.execute(AssertSqlSafe(planted.clone())).await.unwrap_or_else(|error| panic!("{planted}: {error}"));
            let found = faults(&mut tx).await;
            assert!(found.iter().any(|found| found.starts_with(fault)), "{planted}: {found:?}");
            tx.rollback().await.unwrap();
        }
        assert_eq!(faults(&mut superuser).await, Vec::<String>::new());
    });
}
