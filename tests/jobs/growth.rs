//! What jobs, deliveries and sweeps ask of the database does not grow with what is there: the rows that each of them reads
//! are counted by the database, beside many thousands that have nothing to do with it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sqlx::PgConnection;
use sync_core::ids::{JobId, LeaseId, WebhookId};
use sync_store::{Forge, JobCause, JobKind, JobProblem, JobReport, NewJob, PoolOptions, Store, StoreError, Tx};
use sync_tests::{NOW, TestDatabase, with_database};
use time::Duration;

use super::{LEASE, Queue, Source};

/// Rows of each kind that are there.
const MANY: i32 = 20_000;

/// Most rows of tables and entries of indexes that one of them reads. What all of them read anyway (organizations that have
/// anything queued, the columns of a source) is some tens.
const FEW: i64 = 400;

/// Sources, jobs, tickets, refs, endpoints and deliveries of the same organization, and as many organizations.
async fn crowd(superuser: &mut PgConnection, source: &Source) {
    let ours = source.principal.organization.uuid();
    for statement in [
        "INSERT INTO routing.organizations (id, slug, state, created_at)
         SELECT gen_random_uuid(), 'crowd-' || n, 'active', $2 FROM generate_series(1, $3) n",
        "INSERT INTO routing.job_turns (organization_id, turn)
         SELECT id, row_number() OVER () FROM routing.organizations WHERE id <> $1",
        "INSERT INTO sync.repositories (organization_id, id, name, clone_url, default_branch, state, state_at, created_at, sweep_at)
         SELECT $1, gen_random_uuid(), 'crowd/' || n, CASE WHEN n % 3 > 0 THEN 'https://git.example/' || n END, 'main',
                'registered', $2, $2, CASE WHEN n % 3 > 0 THEN $2 + interval '1 day' END
         FROM generate_series(1, $3) n",
        "INSERT INTO sync.jobs (organization_id, id, repository_id, kind, ref_name, cause, payload, state, enqueued_at, run_at, ended_at)
         SELECT $1, gen_random_uuid(), r.id, 'reindex', 'main', 'sweep', 'null', s.state, $2, $2 + interval '1 day',
                CASE WHEN s.state = 'done' THEN $2 END
         FROM sync.repositories r, (VALUES ('queued'), ('done')) s (state) WHERE r.name LIKE 'crowd/%' AND $3 > 0",
        "INSERT INTO routing.job_tickets (id, organization_id, kind, priority, run_at, state, serial_key, dedupe_key, enqueued_at)
         SELECT j.id, $1, 'reindex', p.priority, j.run_at, 'waiting', sha256(j.id::text::bytea), sha256(j.id::text::bytea), $2
         FROM sync.jobs j, (VALUES (0), (4), (9)) p (priority)
         WHERE j.state = 'queued' AND p.priority = (ARRAY[0, 4, 9])[1 + abs(hashtext(j.id::text)) % 3] AND $3 > 0",
        "INSERT INTO sync.refs (organization_id, repository_id, name, origin, expires_at)
         SELECT $1, id, 'feature', 'requested', $2 + interval '1 day' FROM sync.repositories WHERE name LIKE 'crowd/%' AND $3 > 0",
        "INSERT INTO sync.webhook_endpoints (organization_id, id, repository_id, provider, created_at)
         SELECT $1, gen_random_uuid(), id, 'github', $2 FROM sync.repositories WHERE name LIKE 'crowd/%' AND $3 > 0",
        "INSERT INTO sync.webhook_deliveries (organization_id, endpoint_id, delivery_key, job_id, received_at)
         SELECT $1, id, sha256(id::text::bytea), gen_random_uuid(), $2 FROM sync.webhook_endpoints WHERE $3 > 0",
    ] {
        let query = sqlx::query(statement).bind(ours).bind(NOW).bind(MANY);
        query.execute(&mut *superuser).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    sqlx::query("ANALYZE").execute(&mut *superuser).await.unwrap();
    // What this connection read itself is told now, and not in the middle of what is counted.
    sqlx::query("SELECT pg_stat_force_next_flush()").execute(&mut *superuser).await.unwrap();
    sqlx::query("SELECT 1").execute(superuser).await.unwrap();
}

/// What was read of each table: rows that scans of the whole gave, and entries that indexes gave.
async fn read(superuser: &mut PgConnection) -> BTreeMap<String, i64> {
    let rows: Vec<(String, i64)> = sqlx::query_as(
        "SELECT t.schemaname || '.' || t.relname, t.seq_tup_read + coalesce(sum(i.idx_tup_read), 0)::bigint
         FROM pg_stat_user_tables t LEFT JOIN pg_stat_user_indexes i ON i.relid = t.relid
         WHERE t.schemaname IN ('sync', 'routing') GROUP BY 1, t.seq_tup_read",
    )
    .fetch_all(superuser)
    .await
    .unwrap();
    rows.into_iter().collect()
}

async fn backends(superuser: &mut PgConnection) -> BTreeSet<i32> {
    let query = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()";
    let pids: Vec<i32> = sqlx::query_scalar(query).fetch_all(superuser).await.unwrap();
    pids.into_iter().collect()
}

/// Does it with a connection of its own, which tells what it read when it ends.
async fn reads<T>(
    database: &TestDatabase,
    superuser: &mut PgConnection,
    what: &str,
    does: impl AsyncFnOnce(&Store) -> Result<T, StoreError>,
) -> T {
    let (there, before) = (backends(superuser).await, read(superuser).await);
    let options = PoolOptions { max_connections: 1, ..TestDatabase::pool() };
    let store = Store::connect(&database.app_url, options).await.unwrap();
    let done = does(&store).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    store.close().await;
    while !backends(superuser).await.is_subset(&there) {
        tokio::task::yield_now().await;
    }
    let after = read(superuser).await;
    for (table, now) in after {
        let rows = now - before.get(&table).copied().unwrap_or_default();
        assert!(rows <= FEW, "{what} reads {rows} rows of {table}");
    }
    done
}

/// Does it in a transaction of the source's organization that changes little.
async fn changes<T>(
    store: &Store,
    source: &Source,
    does: impl AsyncFnOnce(&mut Tx) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut tx = store.begin_change(&source.principal).await?;
    let done = does(&mut tx).await?;
    tx.commit().await?;
    Ok(done)
}

fn problem() -> JobProblem {
    JobProblem { reason: "it failed".to_owned(), next_step: "try again".to_owned() }
}

#[test]
fn queues_deliveries_and_sweeps_read_no_more_where_there_is_more() {
    with_database(async |database: &TestDatabase| {
        let queue = Queue::of(&database.store);
        let source = queue.one_source().await;
        let superuser = &mut database.superuser().await;
        crowd(superuser, &source).await;
        let lease = LeaseId::at(NOW);
        let (repository, nothing) = (source.repository, JobReport::default());
        let job = |cause| NewJob {
            id: JobId::at(NOW),
            repository,
            kind: JobKind::Reindex,
            ref_name: None,
            cause,
            payload: &Value::Null,
            run_at: NOW,
        };
        let none = reads(database, superuser, "a look for a ticket", async |store| {
            let mut tx = store.system("test").await?;
            let none = tx.claim(LeaseId::at(NOW), NOW + LEASE, NOW).await?;
            tx.commit().await?;
            Ok(none)
        });
        assert_eq!(none.await, None, "nothing of the crowd is due");
        for (number, what) in ["a request", "a request for the same"].into_iter().enumerate() {
            let enqueued = reads(database, superuser, what, async |store| {
                changes(store, &source, async |tx| tx.enqueue(&job(JobCause::Sweep), NOW).await).await
            });
            assert_eq!(enqueued.await.merged, number == 1);
        }
        let ticket = reads(database, superuser, "taking a ticket", async |store| {
            let mut tx = store.system("test").await?;
            let ticket = tx.claim(lease, NOW + LEASE, NOW).await?;
            tx.commit().await?;
            Ok(ticket)
        });
        let ticket = ticket.await.unwrap();
        reads(database, superuser, "a heartbeat", async |store| {
            let mut tx = store.system("test").await?;
            let held = tx.heartbeat(&[lease], NOW + LEASE).await?;
            tx.commit().await?;
            Ok(held)
        })
        .await;
        reads(database, superuser, "the begin of a run", async |store| {
            changes(store, &source, async |tx| tx.begin_job(&ticket, NOW).await).await
        })
        .await;
        reads(database, superuser, "another try", async |store| {
            changes(store, &source, async |tx| tx.retry_job(&ticket, &problem(), &nothing, NOW, NOW).await).await
        })
        .await;
        let ticket = queue.take().await.unwrap();
        reads(database, superuser, "the end of a run", async |store| {
            changes(store, &source, async |tx| tx.finish_job(&ticket, &nothing, NOW).await).await
        })
        .await;
        reads(database, superuser, "the jobs of a source", async |store| {
            changes(store, &source, async |tx| tx.jobs_of(repository, 50).await).await
        })
        .await;

        let endpoint = WebhookId::at(NOW);
        reads(database, superuser, "a delivery", async |store| {
            changes(store, &source, async |tx| {
                tx.put_webhook(endpoint, repository, Forge::Github, None, NOW).await?;
                tx.lock_webhook(endpoint).await?;
                tx.webhook_delivery(endpoint, &[1; 32]).await?;
                tx.remember_delivery(endpoint, &[1; 32], ticket.id, NOW).await?;
                tx.note_delivery(endpoint, "push", None, NOW).await
            })
            .await
        })
        .await;
        reads(database, superuser, "the door of a delivery", async |store| {
            let mut tx = store.authenticate(source.principal.organization).await?;
            let door = tx.webhook(endpoint).await?;
            tx.commit().await?;
            Ok(door)
        })
        .await;

        let mut due = Vec::new();
        for what in ["the source to be looked at", "no source to be looked at"] {
            let found = reads(database, superuser, what, async |store| {
                changes(store, &source, async |tx| {
                    let found = tx.source_to_sweep(NOW).await?;
                    if let Some(found) = &found {
                        tx.set_sweep_at(found.id, NOW + Duration::HOUR).await?;
                    }
                    Ok(found)
                })
                .await
            });
            due.push(found.await.map(|found| found.id));
        }
        assert_eq!(due, [Some(repository), None]);
        reads(database, superuser, "the refs of a source", async |store| {
            changes(store, &source, async |tx| tx.refs(repository).await).await
        })
        .await;
        reads(database, superuser, "what is over", async |store| {
            changes(store, &source, async |tx| {
                tx.forget_jobs(NOW - Duration::DAY, 9).await?;
                tx.forget_deliveries(NOW - Duration::DAY, 9).await?;
                tx.expired_refs(NOW, 9).await
            })
            .await
        })
        .await;
    });
}
