//! Counts of call sites say what the call sites say, whatever made them.

use sync_core::graph::{CallSite, Context};
use sync_tests::facts;
use sync_tests::facts::SnapshotFacts;
use sync_tests::{Canary, NOW, TestDatabase, TwoOrganizations, with_database};

/// Rows of (file, vendor, rung, context, call sites, mapped), of every organization, from the counts and from the
/// call sites.
async fn both_ways(database: &TestDatabase) -> [Vec<(i64, String, String, String, i64, i64)>; 2] {
    let mut superuser = database.superuser().await;
    let kept = "SELECT file_key, vendor, binding_source, context, call_sites::bigint, mapped::bigint
                FROM sync.call_counts ORDER BY 1, 2, 3, 4";
    let counted = "SELECT file_key, vendor, binding_source, context, count(*), count(operation)
                   FROM sync.call_sites GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4";
    [
        sqlx::query_as(kept).fetch_all(&mut superuser).await.unwrap(),
        sqlx::query_as(counted).fetch_all(&mut superuser).await.unwrap(),
    ]
}

async fn swap(database: &TestDatabase, who: &Canary, commit: u32) {
    let at = NOW + time::Duration::seconds(i64::from(commit));
    let mut tx = database.store.begin_write(&who.principal).await.unwrap();
    facts::swap(&mut tx, who.repository, "trunk", &snapshot(commit), at).await.unwrap();
    tx.commit().await.unwrap();
}

fn snapshot(commit: u32) -> SnapshotFacts {
    let unmapped = CallSite { vendor: "resend".to_owned(), operation: None, ..facts::call("mail", 4) };
    let test = CallSite { context: Context::Test, call_ordinal: commit, ..facts::call("tested", 9) };
    let files = vec![
        facts::file("src/a.ts", vec![facts::call("a", 1), facts::call("b", 2), unmapped, test]),
        facts::file("src/none.ts", vec![]),
    ];
    facts::snapshot(&format!("{commit:040}"), vec![], files)
}

#[test]
fn counts_come_and_go_with_the_call_sites() {
    with_database(async |database: &TestDatabase| {
        let alpha = TwoOrganizations::create(&database.store).await.unwrap().alpha;
        let before = both_ways(database).await;
        assert_eq!(before[0], before[1]);
        for commit in 0..52 {
            swap(database, &alpha, commit).await;
        }
        // 50 kept versions of one file, each with three rows.
        let [kept, counted] = both_ways(database).await;
        assert_eq!(kept.len(), before[0].len() + 150);
        assert_eq!(kept, counted);
    });
}

#[test]
fn what_was_indexed_before_there_were_counts_is_counted_by_the_migration() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        swap(database, &both.alpha, 0).await;
        swap(database, &both.beta, 1).await;
        let before = both_ways(database).await;
        let mut superuser = database.superuser().await;
        for back in [
            "DROP TABLE sync.call_counts",
            "DROP INDEX sync.call_sites_vendor",
            "DELETE FROM _sqlx_migrations WHERE version = 9",
        ] {
            sqlx::query(back).execute(&mut superuser).await.unwrap();
        }
        assert_eq!(sync_store::migrate(&database.owner_url, sync_store::Passwords::default(), NOW).await.unwrap(), [9]);
        assert_eq!(both_ways(database).await, before);
        let forced: bool =
            sqlx::query_scalar("SELECT relforcerowsecurity FROM pg_class WHERE oid = 'sync.call_sites'::regclass")
                .fetch_one(&mut superuser)
                .await
                .unwrap();
        assert!(forced);
    });
}
