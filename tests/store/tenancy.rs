//! One tenant never sees another, enforced in the database.

use std::collections::BTreeSet;

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _};
use sync_core::ids::{OrganizationId, RepositoryId};
use sync_core::principal::{Principal, Readable};
use sync_store::{NewRepository, StoreError};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, facts, with_database};

/// Every table of schema `sync` that the service may read.
async fn readable_tables(connection: &mut PgConnection) -> Vec<String> {
    sqlx::query_scalar(
        "SELECT c.oid::regclass::text FROM pg_class c
         WHERE c.relnamespace = 'sync'::regnamespace AND c.relkind IN ('r', 'p')
           AND has_table_privilege('sync_app', c.oid, 'SELECT') ORDER BY 1",
    )
    .fetch_all(connection)
    .await
    .unwrap()
}

#[test]
fn without_an_organization_there_are_no_rows_and_none_can_be_written() {
    with_database(async |database: &TestDatabase| {
        TwoOrganizations::create(&database.store).await.unwrap();
        let tables = readable_tables(&mut database.superuser().await).await;
        assert!(tables.len() >= 14, "{tables:?}");
        let mut service = PgConnection::connect(&database.app_url).await.unwrap();
        for table in &tables {
            let count = format!("SELECT count(*) FROM {table}");
            let rows: i64 = service.fetch_one(AssertSqlSafe(count)).await.unwrap().get(0);
            assert_eq!(rows, 0, "{table}");
        }
        let refused = service
            .execute(AssertSqlSafe(format!(
                "INSERT INTO sync.joined_feeds (organization_id, ref_key, vendor, version, joined_at)
                 VALUES ('{}', 1, 'stripe', 1, '2026-11-30')",
                OrganizationId::at(NOW).uuid()
            )))
            .await
            .unwrap_err();
        assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "42501");
        let refused = service
            .execute("INSERT INTO sync.joined_feeds (ref_key, vendor, version, joined_at) VALUES (1, 'stripe', 1, '2026-11-30')")
            .await
            .unwrap_err();
        // The organization's default is NULL, and row security refuses NULL before the column does.
        assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "42501");
    });
}

#[test]
fn another_organizations_rows_are_invisible_in_every_table_and_cannot_be_touched() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let tables = readable_tables(&mut database.superuser().await).await;
        let mut service = PgConnection::connect(&database.app_url).await.unwrap();
        let beta = two.beta.principal.organization.uuid();
        service.execute(AssertSqlSafe(format!("SET sync.organization = '{beta}'"))).await.unwrap();
        for table in &tables {
            let foreign = format!("SELECT count(*) FROM {table} WHERE organization_id <> '{beta}'");
            assert_eq!(service.fetch_one(AssertSqlSafe(foreign)).await.unwrap().get::<i64, _>(0), 0, "{table}");
            let rows: Vec<String> =
                sqlx::query_scalar(AssertSqlSafe(format!("SELECT to_json(t)::text FROM {table} t")))
                    .fetch_all(&mut service)
                    .await
                    .unwrap();
            assert!(!rows.iter().any(|row| row.contains(two.alpha.canary)), "{table}");
        }
        let alpha = two.alpha.principal.organization.uuid();
        let changed = format!("UPDATE sync.repositories SET state = 'failed' WHERE organization_id = '{alpha}'");
        assert_eq!(service.execute(AssertSqlSafe(changed)).await.unwrap().rows_affected(), 0);
        let deleted = format!("DELETE FROM sync.facts WHERE organization_id = '{alpha}'");
        assert_eq!(service.execute(AssertSqlSafe(deleted)).await.unwrap().rows_affected(), 0);
        let planted = format!(
            "INSERT INTO sync.clients (organization_id, index_id, client_id, body) VALUES ('{alpha}', '{alpha}', 'c', '{{}}')"
        );
        let refused = service.execute(AssertSqlSafe(planted)).await.unwrap_err();
        assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "42501");
        service.close().await.unwrap();
    });
}

#[test]
fn the_setting_does_not_outlive_its_transaction() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        for _ in 0..8 {
            let mut tx = database.store.begin(&two.alpha.principal).await.unwrap();
            assert_eq!(tx.count_visible_repositories().await.unwrap(), 1);
            tx.commit().await.unwrap();
            let nobody = Principal::service(OrganizationId::at(NOW), "test");
            let mut tx = database.store.begin(&nobody).await.unwrap();
            assert_eq!(tx.count_visible_repositories().await.unwrap(), 0);
        }
    });
}

#[test]
fn a_foreign_repository_is_as_absent_as_one_that_never_was() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let mut tx = database.store.begin_write(&two.alpha.principal).await.unwrap();
        for id in [two.beta.repository, RepositoryId::at(NOW)] {
            assert_eq!(tx.repository(id).await.unwrap(), None);
            assert_eq!(tx.current_indexes(id).await.unwrap(), []);
            assert_eq!(tx.index_by_commit(id, &"a".repeat(40)).await.unwrap(), None);
            let missing = tx.lock_repository(id).await.unwrap_err();
            assert_eq!(missing.to_string(), format!("repository {id} was not found"));
        }
        // An index that was read elsewhere opens nothing here.
        let foreign = &two.beta.swap.index;
        let path = format!("src/{}.ts", two.beta.canary);
        assert_eq!(tx.file(foreign, &path).await.unwrap(), None);
        assert_eq!(tx.call_sites_of(foreign, &path).await.unwrap(), []);
        assert_eq!(tx.indexed_sites(foreign).await.unwrap(), []);
        assert_eq!(tx.clients(foreign).await.unwrap(), []);
    });
}

#[test]
fn the_same_name_in_two_organizations_is_no_conflict_and_twice_in_one_is() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let again = NewRepository {
            id: RepositoryId::at(NOW),
            name: "acme/billing",
            provider: None,
            clone_url: None,
            default_branch: "main",
        };
        let mut tx = database.store.begin(&two.alpha.principal).await.unwrap();
        let error = tx.register_repository(&again, NOW).await.unwrap_err();
        assert!(matches!(&error, StoreError::Conflict(name) if name == "repository_name_taken"), "{error}");
        drop(tx);
        let mut tx = database.store.begin(&two.alpha.principal).await.unwrap();
        let error = tx.register_repository(&NewRepository { name: "Acme", ..again }, NOW).await.unwrap_err();
        assert!(matches!(&error, StoreError::Conflict(name) if name == "repository_name_form"), "{error}");
    });
}

#[test]
fn what_the_principal_may_not_read_is_not_found() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let other = RepositoryId::at(NOW);
        let path = format!("src/{}.ts", two.alpha.canary);
        let mut tx = database.store.begin_write(&two.alpha.principal).await.unwrap();
        let new =
            NewRepository { id: other, name: "acme/web", provider: None, clone_url: None, default_branch: "main" };
        tx.register_repository(&new, NOW).await.unwrap();
        let snapshot = facts::snapshot(&"b".repeat(40), vec![], vec![facts::file(&path, vec![])]);
        facts::swap(&mut tx, other, "main", &snapshot, NOW).await.unwrap();
        let all: Vec<String> = names(&tx.visible_repositories(None, 50).await.unwrap());
        assert_eq!(all, ["acme/billing", "acme/web"]);
        assert_eq!(names(&tx.visible_repositories(Some("acme/billing"), 50).await.unwrap()), ["acme/web"]);
        assert_eq!(names(&tx.repositories_with_path(&path, 5).await.unwrap()), ["acme/billing", "acme/web"]);
        tx.commit().await.unwrap();

        let narrow = Principal { readable: Readable::Only(BTreeSet::from([other])), ..two.alpha.principal.clone() };
        let mut tx = database.store.begin(&narrow).await.unwrap();
        assert_eq!(names(&tx.visible_repositories(None, 50).await.unwrap()), ["acme/web"]);
        assert_eq!(tx.count_visible_repositories().await.unwrap(), 1);
        assert_eq!(tx.repository_by_name("acme/billing").await.unwrap(), None);
        assert_eq!(tx.repository(two.alpha.repository).await.unwrap(), None);
        assert_eq!(names(&tx.repositories_with_path(&path, 5).await.unwrap()), ["acme/web"]);
        assert_eq!(tx.repository_by_name("acme/web").await.unwrap().unwrap().id, other);
    });
}

fn names(repositories: &[sync_store::Repository]) -> Vec<String> {
    repositories.iter().map(|repository| repository.name.clone()).collect()
}
