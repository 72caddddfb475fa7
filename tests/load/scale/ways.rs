//! Rows on their way into a table under row security: as arrays (UNNEST), and by COPY into a temporary table and INSERT …
//! SELECT from there.

use std::time::Instant;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use sync_core::ids::OrganizationId;
use uuid::Uuid;

use super::made;
use crate::answers::World;

/// Rows of a statement, as the store sends them for files of this size.
const AT_ONCE: usize = 250;

/// Facts as they are stored: hash and compressed body.
fn facts(files: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    (0..files)
        .map(|at| {
            let facts = made::file(at, files, 0).seal().unwrap();
            let body = zstd::encode_all(&serde_json::to_vec(&facts).unwrap()[..], 3).unwrap();
            (hex::decode(&facts.facts_hash).unwrap(), body)
        })
        .collect()
}

/// COPY's binary form: each row is its number of columns, and each column its length and bytes.
fn binary(repository: Uuid, rows: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut out = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0".to_vec();
    for (hash, body) in rows {
        out.extend(3_i16.to_be_bytes());
        for column in [&repository.as_bytes()[..], hash, body] {
            out.extend(i32::try_from(column.len()).unwrap().to_be_bytes());
            out.extend(column);
        }
    }
    out.extend((-1_i16).to_be_bytes());
    out
}

async fn wal(connection: &mut PgConnection) -> i64 {
    let query = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint";
    sqlx::query_scalar(query).fetch_one(connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measured by hand: see tests/load/README.md"]
async fn arrays_beside_copy() {
    let rows = facts(made::files_for(1_000_000));
    let bytes: usize = rows.iter().map(|(_, body)| body.len()).sum();
    println!("{} rows of {} bytes", rows.len(), bytes / rows.len());
    let world = World::empty().await;
    let repository = Uuid::from_u128(7);
    for turn in 0..3 {
        for copied in [false, true] {
            let mut connection = PgConnection::connect(&world.database.app_url).await.unwrap();
            let before = wal(&mut connection).await;
            let began = Instant::now();
            let mut tx = connection.begin().await.unwrap();
            set_organization(&mut tx, world.organization).await;
            if copied {
                sqlx::query(
                    "CREATE TEMPORARY TABLE incoming (repository_id uuid, facts_hash bytea, body bytea) ON COMMIT DROP",
                )
                .execute(&mut *tx)
                .await
                .unwrap();
                let mut copy = tx.copy_in_raw("COPY pg_temp.incoming FROM STDIN WITH (FORMAT binary)").await.unwrap();
                for piece in binary(repository, &rows).chunks(256 << 10) {
                    copy.send(piece.to_vec()).await.unwrap();
                }
                copy.finish().await.unwrap();
                sqlx::query(
                    "INSERT INTO sync.facts (repository_id, facts_hash, body)
                     SELECT repository_id, facts_hash, body FROM pg_temp.incoming RETURNING facts_hash, file_key",
                )
                .fetch_all(&mut *tx)
                .await
                .unwrap();
            } else {
                for some in rows.chunks(AT_ONCE) {
                    sqlx::query(
                        "INSERT INTO sync.facts (repository_id, facts_hash, body)
                         SELECT $1, u.facts_hash, u.body FROM unnest($2::bytea[], $3::bytea[]) AS u (facts_hash, body)
                         RETURNING facts_hash, file_key",
                    )
                    .bind(repository)
                    .bind(some.iter().map(|(hash, _)| &hash[..]).collect::<Vec<_>>())
                    .bind(some.iter().map(|(_, body)| &body[..]).collect::<Vec<_>>())
                    .fetch_all(&mut *tx)
                    .await
                    .unwrap();
                }
            }
            tx.commit().await.unwrap();
            let took = began.elapsed().as_secs_f64();
            let what = if copied { "COPY and INSERT … SELECT" } else { "UNNEST" };
            println!("{turn}: {what}: {took:.2} s, WAL {} MiB", (wal(&mut connection).await - before) >> 20);
            let mut superuser = world.database.superuser().await;
            sqlx::query("TRUNCATE sync.facts").execute(&mut superuser).await.unwrap();
            connection.close().await.unwrap();
        }
    }
    world.end().await;
}

async fn set_organization(connection: &mut PgConnection, organization: OrganizationId) {
    let set = format!("SET LOCAL sync.organization = '{}'", organization.uuid());
    sqlx::query(AssertSqlSafe(set)).execute(connection).await.unwrap();
}
