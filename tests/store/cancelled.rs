//! sqlx 0.9: a `begin()` future dropped midway returns its connection inside an open transaction, and later writes on
//! that connection are reported as done and lost. axum drops handlers when clients leave, so this happens.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use sync_core::ids::OrganizationId;
use sync_core::principal::Principal;
use sync_store::{PoolOptions, Store};
use sync_tests::{NOW, TestDatabase, with_database};

#[test]
fn a_begin_that_was_dropped_midway_leaves_no_open_transaction() {
    with_database(async |database: &TestDatabase| {
        let principal = Principal::service(OrganizationId::at(NOW), "test");
        // Wherever it is dropped: at the pool's ping, at BEGIN or at its answer. Nobody uses these connections again,
        // since the next transaction's own end would hide what was left open.
        let mut stores = Vec::new();
        for polls in 1..6 {
            let one = PoolOptions { max_connections: 1, ..TestDatabase::pool() };
            let store = Store::connect(&database.app_url, one).await.unwrap();
            poll_times(store.begin(&principal), polls).await;
            stores.push(store);
        }
        assert_eq!(database.open_transactions().await.unwrap(), Vec::<String>::new());
    });
}

#[test]
fn writes_after_a_begin_that_was_dropped_midway_are_durable() {
    with_database(async |database: &TestDatabase| {
        // One connection, so that the next borrower gets the one that was left.
        let one = PoolOptions { max_connections: 1, ..TestDatabase::pool() };
        let store = Store::connect(&database.app_url, one).await.unwrap();
        let principal = Principal::service(OrganizationId::at(NOW), "test");
        for n in 0..20 {
            for polls in 1..4 {
                poll_times(store.begin(&principal), polls).await;
            }
            let mut system = store.system("test").await.unwrap();
            system.create_organization(OrganizationId::at(NOW), &format!("org-{n}"), NOW).await.unwrap();
            system.commit().await.unwrap();
        }
        store.close().await;
        let durable: i64 = sqlx::query_scalar("SELECT count(*) FROM routing.organizations")
            .fetch_one(&mut database.superuser().await)
            .await
            .unwrap();
        assert_eq!(durable, 20);
    });
}

#[test]
fn many_tasks_that_leave_at_random_bleed_into_no_other_organization() {
    with_database(async |database: &TestDatabase| {
        let two = sync_tests::TwoOrganizations::create(&database.store).await.unwrap();
        let mut tasks = Vec::new();
        for n in 0..200_u32 {
            let store = database.store.clone();
            let mine = if n % 2 == 0 { two.alpha.clone() } else { two.beta.clone() };
            tasks.push(tokio::spawn(async move {
                if n % 3 == 0 {
                    poll_times(store.begin(&mine.principal), n % 5 + 1).await;
                }
                let mut tx = store.begin(&mine.principal).await.unwrap();
                let found = tx.repository_by_name("acme/billing").await.unwrap().unwrap();
                assert_eq!(found.id, mine.repository);
                if n % 7 == 0 {
                    return;
                }
                tx.commit().await.unwrap();
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
}

/// Polls a future when it asks for it, so often at most, then drops it.
async fn poll_times<T>(future: impl Future<Output = T>, times: u32) {
    let mut future = pin!(future);
    let mut left = times;
    poll_fn(|context| {
        left -= 1;
        if future.as_mut().poll(context).is_ready() || left == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
