//! Workers and their children are killed at any moment; readers never see a mixture, and in the end everything is as if
//! nobody had been killed.
//!
//! `SYNC_TEST_KILLS` says how often (5 here; see `tests/long`).

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration as StdDuration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use sync_store::{Index, JobCause, JobState, Store};
use sync_tests::{TestDatabase, with_database};

use time::OffsetDateTime;

use super::reindex::EXECUTABLE;
use super::{Queue, Source};
use crate::ingest::repository::Repository;

/// Files of the repository, each of which says the number of the commit.
const FILES: usize = 30;

/// A `syncd worker` that is ended with the test.
struct Process(Child);

impl Process {
    fn start(database: &TestDatabase, folder: &Path) -> Self {
        let mut command = Command::new(EXECUTABLE);
        command.arg("worker").env_clear().env("SYNC_DATABASE_URL", &database.app_url);
        command.env("SYNC_WORKER_DATA_DIR", folder).env("SYNC_LOCAL_SOURCES", "true").env("SYNC_SWEEP_EVERY_S", "0");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Its children. What they start themselves is another matter: a parser that is killed costs its file
    /// (`tests/ingest/killers.rs`), and the index says so.
    fn children(&self) -> Vec<i32> {
        let Ok(threads) = std::fs::read_dir(format!("/proc/{}/task", self.0.id())) else { return Vec::new() };
        let children = threads.flatten().filter_map(|it| std::fs::read_to_string(it.path().join("children")).ok());
        children.flat_map(|ids| ids.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>()).collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Numbers that look random and are the same each time (xorshift).
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

fn write(repository: &Repository, number: usize) -> String {
    for file in 0..FILES {
        let mut text = "import Stripe from \"stripe\";\nconst stripe = new Stripe(\"\");\n".to_owned();
        writeln!(text, "export const charge_{number} = () => stripe.charges.create({{}});").unwrap();
        repository.write(&format!("src/f{file}.ts"), text.as_bytes());
    }
    repository.commit()
}

/// The number that all call sites of an index agree on.
async fn number_of(store: &Store, source: &Source) -> Option<(Index, String)> {
    let mut tx = store.begin(&source.principal).await.unwrap();
    let index = tx.current_index(source.repository, "trunk").await.unwrap()?;
    let sites = tx.indexed_sites(&index).await.unwrap();
    tx.commit().await.unwrap();
    let symbols: BTreeSet<String> = sites.iter().map(|site| site.call.symbol.clone()).collect();
    assert_eq!((sites.len(), symbols.len()), (FILES, 1), "a mixture: {symbols:?}");
    Some((index, symbols.into_iter().next().unwrap()))
}

/// Everything that is answered from, but what says when and whose.
async fn graph(database: &TestDatabase, source: &Source) -> Vec<String> {
    sqlx::query_scalar(
        "SELECT f.name || ' ' || f.commit_id || ' ' || encode(i.content_hash, 'hex') || ' ' || p.path || ' '
                || encode(p.facts_hash, 'hex') || ' ' || md5(x.body)
         FROM sync.refs f
         JOIN sync.indexes i ON i.id = f.current_index
         JOIN sync.ref_paths p ON p.ref_key = f.ref_key AND p.from_seq <= f.seq AND p.to_seq > f.seq
         JOIN sync.facts x ON x.file_key = p.file_key
         WHERE f.repository_id = $1 ORDER BY 1",
    )
    .bind(source.repository.uuid())
    .fetch_all(&mut database.superuser().await)
    .await
    .unwrap()
}

/// Lets all waiting end: leases run out and tries come due.
async fn let_time_pass(database: &TestDatabase) {
    sqlx::query(
        "UPDATE routing.job_tickets SET lease_until = lease_until - interval '1 hour',
                                        run_at = least(run_at, $1)",
    )
    .bind(OffsetDateTime::UNIX_EPOCH)
    .execute(&mut database.superuser().await)
    .await
    .unwrap();
}

async fn register(queue: &Queue<'_>, slug: &str, path: &Path) -> Source {
    let principal = queue.organization(slug).await;
    let source = queue.source(&principal, "acme/billing").await;
    let mut tx = queue.store.begin_change(&principal).await.unwrap();
    let address = format!("file://{}", path.display());
    tx.set_source_address(source.repository, None, Some(&address)).await.unwrap();
    tx.set_default_branch(source.repository, "trunk").await.unwrap();
    tx.commit().await.unwrap();
    source
}

async fn until_done(queue: &Queue<'_>, database: &TestDatabase, source: &Source) {
    loop {
        let mut tx = queue.store.begin(&source.principal).await.unwrap();
        let open =
            tx.jobs_of(source.repository, 200).await.unwrap().iter().filter(|job| job.ended_at.is_none()).count();
        tx.commit().await.unwrap();
        if open == 0 {
            return;
        }
        let_retries_come(database).await;
        // Only so that those who work have the machine.
        tokio::time::sleep(StdDuration::from_millis(20)).await;
    }
}

async fn let_retries_come(database: &TestDatabase) {
    sqlx::query("UPDATE routing.job_tickets SET run_at = least(run_at, $1) WHERE state = 'waiting'")
        .bind(OffsetDateTime::UNIX_EPOCH)
        .execute(&mut database.superuser().await)
        .await
        .unwrap();
}

#[test]
fn whoever_is_killed_the_graph_is_that_of_a_clean_run_and_no_reader_sees_a_mixture() {
    let kills = std::env::var("SYNC_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(5_usize);
    with_database(async |database: &TestDatabase| {
        let repository = Repository::with(&[("package.json", r#"{"dependencies": {"stripe": "17.7.0"}}"#)]);
        write(&repository, 0);
        let (_bare, path) = repository.bare_clone();
        let queue = Queue::of(&database.store);
        // The workers go by the machine's clock, and whatever that says, this is over.
        queue.clock.set(OffsetDateTime::UNIX_EPOCH);
        let source = register(&queue, "killed", &path).await;
        let folder = tempfile::tempdir().unwrap();
        let mut chance = Chance(0x5eed_cafe);
        let mut worker = Process::start(database, folder.path());
        queue.push(&source).await;
        until_done(&queue, database, &source).await;

        let (over, reads) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let reading = tokio::spawn({
            let (over, reads, store, source) = (over.clone(), reads.clone(), database.store.clone(), source.clone());
            async move {
                let mut last = 0;
                while !over.load(Ordering::Relaxed) {
                    let (_, symbol) = number_of(&store, &source).await.unwrap();
                    let number: usize = symbol.trim_start_matches("charge_").parse().unwrap();
                    assert!(number >= last, "{number} after {last}: an older index took the place of a newer one");
                    last = number;
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let mut killed = (0, 0);
        for number in 1..=kills {
            write(&repository, number);
            repository.git(&["push", "-q", path.to_str().unwrap(), "HEAD:trunk"]);
            let job = queue.ask(&source, JobCause::Webhook, None, &Value::Null).await;
            // Somewhere between being taken and being done; some come too late, which is a moment too.
            while queue.job(&source, job.id).await.state == JobState::Queued {
                tokio::task::yield_now().await;
            }
            for _ in 0..chance.below(60) {
                queue.job(&source, job.id).await;
            }
            let children = worker.children();
            if chance.below(2) == 0 && !children.is_empty() {
                let child = children[usize::try_from(chance.below(children.len() as u64)).unwrap()];
                // It may have ended just now.
                let _ = kill(Pid::from_raw(child), Signal::SIGKILL);
                killed.1 += 1;
            } else {
                worker.kill();
                killed.0 += 1;
                let_time_pass(database).await;
                worker = Process::start(database, folder.path());
            }
            if chance.below(3) == 0 {
                until_done(&queue, database, &source).await;
            }
        }
        until_done(&queue, database, &source).await;
        over.store(true, Ordering::Relaxed);
        reading.await.unwrap();
        worker.kill();
        assert!(reads.load(Ordering::Relaxed) > 0 && killed.0 + killed.1 == kills);

        // The same commit, by a worker that nobody disturbs, with nothing known before.
        let clean = register(&queue, "clean", &path).await;
        let clean_folder = tempfile::tempdir().unwrap();
        let mut undisturbed = Process::start(database, clean_folder.path());
        queue.push(&clean).await;
        until_done(&queue, database, &clean).await;
        undisturbed.kill();
        let (expected, found) = (graph(database, &clean).await, graph(database, &source).await);
        assert!(expected.len() >= FILES, "{expected:?}");
        assert_eq!(found, expected);
        let (_, symbol) = number_of(&database.store, &source).await.unwrap();
        assert_eq!(symbol, format!("charge_{kills}"));
        eprintln!("killed {} workers and {} children; {} reads", killed.0, killed.1, reads.load(Ordering::Relaxed));
    });
}
