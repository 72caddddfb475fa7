//! Storing large indexes while questions are asked: see `tests/load/README.md`.

mod made;
mod ways;

use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, PgConnection};
use sync_core::clock::Clock as _;
use sync_core::ids::RepositoryId;
use sync_core::principal::Principal;
use sync_server::jobs::snapshot_file::SnapshotFile;
use sync_store::{PoolOptions, Store, Swap};

use super::asking::{ASKED, Asking, load_average};
use crate::answers::{World, generated};

struct Bench {
    world: World,
    /// The connections of those who ask.
    asked: Store,
    /// The connections of the worker.
    worker: Store,
    superuser: PgConnection,
    repository: RepositoryId,
}

impl Bench {
    async fn start() -> Self {
        let mut world = World::empty().await;
        world.adopt(&generated::feeds()).await;
        let small = world.register(ASKED, 1).await;
        world.index(small, "main", &generated::repository()).await;
        let repository = world.register("acme/large", 2).await;
        let asked = Store::connect(&world.database.app_url, PoolOptions::default()).await.unwrap();
        let worker = Store::connect(&world.database.app_url, PoolOptions::default()).await.unwrap();
        let mut superuser = world.database.superuser().await;
        sqlx::query("ANALYZE").execute(&mut superuser).await.unwrap();
        Self { world, asked, worker, superuser, repository }
    }

    async fn store(&mut self, ref_name: &str, snapshot: SnapshotFile) -> (Swap, Duration) {
        let began = Instant::now();
        let mut tx = self.worker.begin_write(&Principal::service(self.world.organization, "load")).await.unwrap();
        let swap = snapshot.swap_in(&mut tx, self.repository, ref_name, self.world.clock.now()).await.unwrap();
        tx.commit().await.unwrap();
        (swap, began.elapsed())
    }

    async fn wal(&mut self) -> i64 {
        self.number("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").await
    }

    async fn number(&mut self, query: &'static str) -> i64 {
        sqlx::query_scalar(query).fetch_one(&mut self.superuser).await.unwrap()
    }

    /// What the tables of the index hold, and what of it is dead.
    async fn tables(&mut self) -> String {
        let rows: Vec<(String, i64, i64, i64, i64)> = sqlx::query_as(
            "SELECT relname::text, n_live_tup, n_dead_tup, autovacuum_count + vacuum_count,
                    pg_total_relation_size(relid) / 1048576
             FROM pg_stat_user_tables WHERE schemaname = 'sync' AND n_live_tup + n_dead_tup > 100 ORDER BY relname",
        )
        .fetch_all(&mut self.superuser)
        .await
        .unwrap();
        let shown = rows.iter().map(|(name, live, dead, vacuumed, size)| {
            format!("    {name}: {live} live, {dead} dead, vacuumed {vacuumed} times, {size} MiB")
        });
        shown.collect::<Vec<_>>().join("\n")
    }

    async fn end(self) {
        self.asked.close().await;
        self.worker.close().await;
        self.world.end().await;
    }
}

fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().unwrap() / 1024
}

/// From now on `VmHWM:` is what is held at most.
fn forget_peak() -> u64 {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    status("VmRSS:")
}

/// `SYNC_FIGURES_SYMBOLS` says how many symbols (a million).
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measured by hand: see tests/load/README.md"]
async fn a_million_symbols_are_stored_while_questions_are_asked() {
    let symbols = std::env::var("SYNC_FIGURES_SYMBOLS").ok().map_or(1_000_000, |text| text.parse().unwrap());
    let files = made::files_for(symbols);
    let first = made::snapshot(files, 0);
    let bytes = first.file.metadata().unwrap().len() >> 20;
    let mut bench = Bench::start().await;
    let asking = Asking::begin(&bench.world, &bench.asked);
    tokio::time::sleep(Duration::from_secs(5)).await;
    println!("before: {}; load {}", asking.end().await, load_average());

    let (held, wal) = (forget_peak(), bench.wal().await);
    let asking = Asking::begin(&bench.world, &bench.asked);
    let (swap, took) = bench.store("main", first).await;
    let during = asking.end().await;
    let counts = &swap.index.counts;
    println!(
        "{} symbols, {} edges, {} files, {bytes} MiB of lines stored in {:.1} s; meanwhile {during}; WAL {} MiB; \
         memory {held} to at most {} MiB; load {}",
        counts.symbols,
        counts.edges,
        counts.files,
        took.as_secs_f64(),
        (bench.wal().await - wal) >> 20,
        status("VmHWM:"),
        load_average()
    );
    println!("{}", bench.tables().await);

    for (what, ref_name, version) in [
        ("the same again", "main", 0),
        ("one file in fifty changed", "main", 1),
        ("a branch, one in fifty more", "branch", 2),
    ] {
        let next = made::snapshot(files, version);
        let wal = bench.wal().await;
        let asking = Asking::begin(&bench.world, &bench.asked);
        let (swap, took) = bench.store(ref_name, next).await;
        let during = asking.end().await;
        println!(
            "{what}: {} changed, stored in {:.2} s; meanwhile {during}; WAL {} MiB",
            swap.changed_files,
            took.as_secs_f64(),
            (bench.wal().await - wal) >> 20
        );
    }
    let asking = Asking::begin(&bench.world, &bench.asked);
    tokio::time::sleep(Duration::from_secs(5)).await;
    println!("after: {}\n{}", asking.end().await, bench.tables().await);
    bench.end().await;
}

/// A twentieth of it, so that making the snapshots takes no longer than storing them.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measured by hand: see tests/load/README.md"]
async fn twenty_swaps_leave_no_more_dead_rows_than_are_vacuumed() {
    let files = made::files_for(100_000);
    let mut bench = Bench::start().await;
    let (_, took) = bench.store("main", made::snapshot(files, 0)).await;
    println!("first: {:.2} s\n{}", took.as_secs_f64(), bench.tables().await);
    let mut times = Vec::new();
    let asking = Asking::begin(&bench.world, &bench.asked);
    for version in 1..=20 {
        let (swap, took) = bench.store("main", made::snapshot(files, version)).await;
        times.push(format!("{}: {:.2} s", swap.changed_files, took.as_secs_f64()));
    }
    println!("changed files and time of each swap: {}; meanwhile {}", times.join(", "), asking.end().await);
    println!("{}", bench.tables().await);
    // Autovacuum looks once a minute where nothing else is said.
    let vacuum = "VACUUM (ANALYZE) sync.ref_paths, sync.facts, sync.call_sites";
    sqlx::query(AssertSqlSafe(vacuum)).execute(&mut bench.superuser).await.unwrap();
    println!("vacuumed:\n{}", bench.tables().await);
    bench.end().await;
}
