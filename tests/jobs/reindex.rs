//! From a push to an index: real repositories, real children, a clock that stands.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration as StdDuration;

use serde_json::{Value, json};
use sync_core::clock::Clock as _;
use sync_core::ids::{JobId, RepositoryId};
use sync_server::jobs::AllJobs;
use sync_server::jobs::caches::Caches;
use sync_server::jobs::egress::{Egress, EgressPolicy};
use sync_server::jobs::mirrors::Mirrors;
use sync_server::jobs::place::{FOLDER, LocalSources, WorkerFolders};
use sync_server::jobs::reindex::{REQUESTED_FOR, Reindex};
use sync_server::jobs::remote::RemoteAccess;
use sync_server::jobs::worker::{Ended, Worker, WorkerOptions};
use sync_store::{
    Gate, Index, Job, JobCause, JobKind, JobState, NewJob, NewRepository, RefOrigin, RepositoryState, SourceSettings,
    Store,
};
use sync_tests::{NOW, TestDatabase, facts, with_database};
use tempfile::TempDir;

use super::{Queue, Source};
use crate::ingest::repository::Repository;

pub(super) const EXECUTABLE: &str = env!("CARGO_BIN_EXE_syncd-under-test");

/// A worker that runs one job when told to.
struct Bench<'a> {
    queue: Queue<'a>,
    worker: Worker,
    source: Source,
    folder: TempDir,
}

pub(super) async fn remotes_in(folder: &Path) -> RemoteAccess {
    RemoteAccess {
        executable: EXECUTABLE.into(),
        egress: Arc::new(Egress::start(EgressPolicy::default()).await.unwrap()),
        mirrors: Mirrors::new(WorkerFolders::below(folder).unwrap().mirrors(), u64::MAX),
        keys: None,
        last_fetch_will_do: false,
    }
}

pub(super) fn caches_in(folder: &Path) -> Caches {
    Caches::new(WorkerFolders::below(folder).unwrap().caches(), u64::MAX)
}

async fn jobs_in(folder: &Path, local: bool) -> Arc<AllJobs> {
    Arc::new(AllJobs {
        reindex: Reindex {
            executable: EXECUTABLE.into(),
            caches: caches_in(folder),
            spool: folder.to_owned(),
            remotes: remotes_in(folder).await,
            local: LocalSources { allowed: local, ..LocalSources::default() },
            told: Arc::new(|_| {}),
        },
    })
}

impl<'a> Bench<'a> {
    async fn of(store: &'a Store, address: &str) -> Self {
        Self::with(store, address, true).await
    }

    async fn with(store: &'a Store, address: &str, local: bool) -> Self {
        let queue = Queue::of(store);
        let principal = queue.organization("acme").await;
        let repository = RepositoryId::at(NOW);
        let mut tx = store.begin_change(&principal).await.unwrap();
        let new = NewRepository {
            id: repository,
            name: "acme/billing",
            provider: None,
            clone_url: Some(address),
            default_branch: "HEAD",
        };
        tx.register_repository(&new, NOW).await.unwrap();
        tx.commit().await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let options = WorkerOptions { slots: 1, listen: false, grace: StdDuration::ZERO };
        let jobs = jobs_in(folder.path(), local).await;
        let worker = Worker::new(store.clone(), queue.clock.clone(), jobs, options);
        Self { source: Source { principal, repository }, queue, worker, folder }
    }

    /// Asks for a ref and works it off.
    async fn index(&self, ref_name: Option<&str>) -> (Ended, Job) {
        let job = self.queue.ask(&self.source, JobCause::Person, ref_name, &Value::Null).await;
        (self.work_off().await, self.queue.job(&self.source, job.id).await)
    }

    async fn work_off(&self) -> Ended {
        self.worker.work_off(self.worker.take().await.unwrap().unwrap()).await
    }

    /// What lies on the worker's disk, but for what belongs to a mirror or a cache.
    fn kept(&self) -> Vec<PathBuf> {
        let (mut kept, mut folders) = (Vec::new(), vec![self.folder.path().to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let depth = path.strip_prefix(self.folder.path()).unwrap().components().count();
                if path.is_dir() && depth < 3 {
                    folders.push(path.clone());
                }
                kept.push(path);
            }
        }
        kept.sort();
        kept
    }

    async fn current(&self, ref_name: &str) -> Option<Index> {
        let mut tx = self.queue.store.begin(&self.source.principal).await.unwrap();
        let index = tx.current_index(self.source.repository, ref_name).await.unwrap();
        tx.commit().await.unwrap();
        index
    }

    async fn registered(&self) -> sync_store::Repository {
        let mut tx = self.queue.store.begin(&self.source.principal).await.unwrap();
        let repository = tx.repository(self.source.repository).await.unwrap().unwrap();
        tx.commit().await.unwrap();
        repository
    }

    async fn settle(&self, settings: SourceSettings) {
        let mut tx = self.queue.store.begin_change(&self.source.principal).await.unwrap();
        tx.set_source_settings(self.source.repository, &settings).await.unwrap();
        tx.commit().await.unwrap();
    }
}

async fn count(database: &TestDatabase, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(&mut database.superuser().await).await.unwrap()
}

/// Which versions of which rows the tables of an index have: any write makes others.
async fn row_versions(database: &TestDatabase) -> Vec<String> {
    let mut versions = Vec::new();
    for table in ["facts", "ref_paths", "call_sites", "call_counts", "indexes", "clients", "findings", "joined_feeds"] {
        let sql = format!(
            "SELECT count(*) || coalesce(string_agg(ctid || '=' || xmin, ' ' ORDER BY ctid), '') FROM sync.{table}"
        );
        let query = sqlx::query_scalar(sqlx::AssertSqlSafe(sql));
        versions.push(query.fetch_one(&mut database.superuser().await).await.unwrap());
    }
    versions
}

fn shop() -> Repository {
    Repository::with(&[
        ("package.json", r#"{"name": "shop", "dependencies": {"stripe": "17.7.0"}}"#),
        ("src/client.ts", "import Stripe from \"stripe\";\nexport const stripe = new Stripe(\"\");\n"),
        (
            "src/charge.ts",
            "import { stripe } from \"./client\";\nexport const charge = () => stripe.charges.create({});\n",
        ),
        ("src/a.ts", "export const a = 1;\n"),
        ("README.md", "A shop.\n"),
    ])
}

#[test]
fn a_push_becomes_an_answer_and_what_did_not_change_is_not_written() {
    with_database(async |database: &TestDatabase| {
        let repository = shop();
        let first = repository.commit();
        let (_bare, path) = repository.bare_clone();
        let bench = Bench::of(&database.store, &format!("file://{}", path.display())).await;
        let (ended, job) = bench.index(None).await;
        assert_eq!(ended, Ended::Done, "{job:?}");
        // What HEAD names is the default branch from now on.
        assert_eq!(bench.registered().await.default_branch, "trunk");
        assert_eq!(bench.registered().await.state, RepositoryState::Indexed);
        let index = bench.current("trunk").await.unwrap();
        assert_eq!((index.commit.as_deref(), index.counts.call_sites), (Some(&*first), 1));
        for phase in ["waited", "fetch", "index", "store"] {
            assert!(job.timings.contains_key(phase), "{:?}", job.timings);
        }
        assert_eq!(job.result.as_ref().unwrap()["commit"], json!(first));

        let (_, job) = bench.index(None).await;
        assert_eq!(job.result.unwrap(), json!({"commit": first, "ref": "trunk", "confirmed": true}));

        // One file of three: one row of facts and of paths is new, and one path's row ends.
        let rows = "SELECT (SELECT count(*) FROM sync.facts) * 100 + (SELECT count(*) FROM sync.ref_paths)";
        let before = count(database, rows).await;
        repository.write("src/a.ts", b"export const b = 2;\n");
        let second = repository.commit();
        repository.git(&["push", "-q", path.to_str().unwrap(), "HEAD:trunk"]);
        let (_, job) = bench.index(None).await;
        assert_eq!(job.result.as_ref().unwrap()["changed_files"], json!(1));
        assert_eq!(count(database, rows).await, before + 101);
        assert_eq!(bench.current("trunk").await.unwrap().commit, Some(second));

        // A commit that changes nothing that is indexed: not a row but the header's.
        repository.write("README.md", b"A shop, described.\n");
        let third = repository.commit();
        repository.git(&["push", "-q", path.to_str().unwrap(), "HEAD:trunk"]);
        let index = bench.current("trunk").await.unwrap();
        let before = row_versions(database).await;
        let (_, job) = bench.index(None).await;
        assert_eq!(job.result.unwrap()["confirmed"], json!(true));
        let now = bench.current("trunk").await.unwrap();
        assert_eq!((now.id, now.commit), (index.id, Some(third)));
        assert_eq!(row_versions(database).await, before);
    });
}

#[test]
fn a_branch_costs_its_difference_and_is_kept_for_what_names_it() {
    with_database(async |database: &TestDatabase| {
        let repository = shop();
        repository.commit();
        repository.git(&["checkout", "-q", "-b", "release/1"]);
        repository.write("src/a.ts", b"export const released = 1;\n");
        let released = repository.commit();
        repository.git(&["checkout", "-q", "-b", "feature"]);
        repository.git(&["checkout", "-q", "trunk"]);
        let (_bare, path) = repository.bare_clone();
        // The head of a pull request is on no branch.
        repository.git(&["push", "-q", path.to_str().unwrap(), &format!("{released}:refs/pull/7/head")]);
        let bench = Bench::of(&database.store, &format!("file://{}", path.display())).await;
        bench.settle(SourceSettings { tracked_refs: vec!["release/*".to_owned()], gate: Gate::Auto }).await;
        bench.index(None).await;
        let facts = count(database, "SELECT count(*) FROM sync.facts").await;
        for ref_name in ["release/1", "feature", "refs/pull/7/head"] {
            assert_eq!(bench.index(Some(ref_name)).await.0, Ended::Done);
            assert_eq!(bench.current(ref_name).await.unwrap().commit.as_ref(), Some(&released));
        }
        assert_eq!(count(database, "SELECT count(*) FROM sync.facts").await, facts + 1);
        let mut tx = database.store.begin(&bench.source.principal).await.unwrap();
        let refs = tx.refs(bench.source.repository).await.unwrap();
        tx.commit().await.unwrap();
        let kept: Vec<_> = refs.iter().map(|row| (row.name.as_str(), row.origin, row.expires_at)).collect();
        assert_eq!(
            kept,
            [
                ("feature", RefOrigin::Requested, Some(NOW + REQUESTED_FOR)),
                ("refs/pull/7/head", RefOrigin::Requested, Some(NOW + REQUESTED_FOR)),
                ("release/1", RefOrigin::Tracked, None),
                ("trunk", RefOrigin::Default, None)
            ]
        );
    });
}

#[test]
fn what_cannot_be_fetched_or_may_not_be_indexed_says_why_and_the_last_index_answers() {
    with_database(async |database: &TestDatabase| {
        let repository = shop();
        let first = repository.commit();
        let (bare, path) = repository.bare_clone();
        let bench = Bench::of(&database.store, &format!("file://{}", path.display())).await;
        bench.index(None).await;
        let (ended, job) = bench.index(Some("no/such/branch")).await;
        assert_eq!((ended, job.state), (Ended::Buried, JobState::Dead));
        assert_eq!(job.result, Some(json!({"code": "ref_not_found"})));
        assert!(job.reason.unwrap().contains("has no `no/such/branch`"));
        assert_eq!(bench.registered().await.state, RepositoryState::Indexed, "another ref's trouble is not its own");

        bench.settle(SourceSettings { gate: Gate::Off, ..SourceSettings::default() }).await;
        let (ended, job) = bench.index(None).await;
        assert_eq!((ended, job.state, job.result), (Ended::Buried, JobState::Dead, Some(json!({"code": "gated"}))));
        assert_eq!(bench.registered().await.state, RepositoryState::Gated);
        assert_eq!(bench.current("trunk").await.unwrap().commit.as_ref(), Some(&first));

        bench.settle(SourceSettings::default()).await;
        drop(bare);
        let (ended, job) = bench.index(None).await;
        assert_eq!((ended, job.state), (Ended::Retried, JobState::Queued));
        assert!(job.reason.unwrap().contains("could not be fetched"));
        assert_eq!(bench.registered().await.state, RepositoryState::Failed);
        assert_eq!(bench.current("trunk").await.unwrap().commit.as_ref(), Some(&first));
    });
}

#[test]
fn a_repository_that_is_too_large_says_so_leaves_nothing_on_the_disk_and_the_last_index_answers() {
    with_database(async |database: &TestDatabase| {
        let repository = shop();
        let first = repository.commit();
        let (_bare, path) = repository.bare_clone();
        let bench = Bench::of(&database.store, &format!("file://{}", path.display())).await;
        bench.index(None).await;
        let before = bench.kept();
        // Ten thousand million files in eleven trees.
        let mut tree = repository.git(&["rev-parse", "HEAD^{tree}"]);
        for _ in 0..10 {
            let entries = (0..10).map(|n| format!("040000 tree {tree}\td{n}\n")).collect::<Vec<_>>().concat();
            tree = repository.git_with_input(&["mktree"], &entries);
        }
        let commit = repository.git(&["commit-tree", "-p", "HEAD", "-m", "bomb", &tree]);
        repository.git(&["push", "-q", path.to_str().unwrap(), &format!("{commit}:trunk")]);
        let (ended, job) = bench.index(None).await;
        assert_eq!((ended, job.state, job.attempts), (Ended::Buried, JobState::Dead, 1));
        assert_eq!(job.result, Some(json!({"code": "too_large"})));
        assert!(job.reason.unwrap().contains("too_large") && job.next_step.is_some());
        assert_eq!(bench.registered().await.state, RepositoryState::Gated);
        assert_eq!(bench.current("trunk").await.unwrap().commit.as_ref(), Some(&first));
        assert_eq!(bench.kept(), before, "folders of a source and nothing else");
    });
}

#[test]
fn nothing_is_fetched_without_consent_or_from_this_machine_unasked() {
    for (address, local, code) in [
        ("https://git.example/acme/billing", true, "not_consented"),
        ("https://git.example/acme/billing", false, "not_consented"),
        ("file:///srv/git/billing.git", false, "refused"),
    ] {
        with_database(async |database: &TestDatabase| {
            let bench = Bench::with(&database.store, address, local).await;
            let (ended, job) = bench.index(None).await;
            assert_eq!((ended, job.result.unwrap()), (Ended::Buried, json!({"code": code})));
            assert!(job.next_step.is_some());
            assert!(!job.timings.contains_key("fetch"), "{:?}", job.timings);
            assert_eq!(std::fs::read_dir(bench.folder.path()).unwrap().count(), 0);
        });
    }
}

#[test]
fn an_index_that_was_stored_meanwhile_is_not_replaced_by_an_older_fetch() {
    with_database(async |database: &TestDatabase| {
        let repository = shop();
        let commit = repository.commit();
        let bench = Bench::of(&database.store, &format!("file://{}", repository.path().display())).await;
        let mut tx = database.store.begin_change(&bench.source.principal).await.unwrap();
        let address = format!("file://{}", repository.path().display());
        tx.set_source_address(bench.source.repository, Some(FOLDER), Some(&address)).await.unwrap();
        tx.set_default_branch(bench.source.repository, "trunk").await.unwrap();
        tx.set_repository_state(bench.source.repository, RepositoryState::Indexed, None, NOW).await.unwrap();
        tx.commit().await.unwrap();
        bench.queue.push(&bench.source).await;
        let ticket = bench.worker.take().await.unwrap().unwrap();
        // Its lock holds the run where it stores, until something newer is there.
        let mut upload = database.store.begin_write(&bench.source.principal).await.unwrap();
        let newer = facts::snapshot(&"b".repeat(40), vec![], vec![]);
        let now = bench.queue.clock.now();
        facts::swap(&mut upload, bench.source.repository, "trunk", &newer, now).await.unwrap();
        let worker = bench.worker.clone();
        let id = ticket.id;
        let running = tokio::spawn(async move { worker.work_off(ticket).await });
        let mut superuser = database.superuser().await;
        loop {
            let waits: bool = sqlx::query_scalar(
                "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
                                  AND wait_event_type = 'Lock' AND query LIKE '%FOR NO KEY UPDATE%')",
            )
            .fetch_one(&mut superuser)
            .await
            .unwrap();
            if waits {
                break;
            }
            tokio::task::yield_now().await;
        }
        upload.commit().await.unwrap();
        assert_eq!(running.await.unwrap(), Ended::Retried);
        let job = bench.queue.job(&bench.source, id).await;
        assert_eq!(job.result, Some(json!({"code": "moved_meanwhile"})));
        assert_eq!(bench.current("trunk").await.unwrap().commit, newer.header.commit);
        bench.queue.clock.set(job.run_at);
        assert_eq!(bench.work_off().await, Ended::Done);
        assert_eq!(bench.current("trunk").await.unwrap().commit, Some(commit));
    });
}

#[test]
fn an_erased_source_leaves_nothing_but_the_word_that_it_was_erased() {
    with_database(async |database: &TestDatabase| {
        let repository = shop();
        repository.commit();
        let (_bare, path) = repository.bare_clone();
        let bench = Bench::of(&database.store, &format!("file://{}", path.display())).await;
        bench.index(None).await;
        let kept = walk(bench.folder.path());
        assert!(kept > 3, "{kept}");
        // One that waits is erased with the rest.
        bench.queue.ask(&bench.source, JobCause::Sweep, Some("later"), &Value::Null).await;
        let now = bench.queue.clock.now();
        let mut tx = database.store.begin_change(&bench.source.principal).await.unwrap();
        tx.set_repository_state(bench.source.repository, RepositoryState::Deleting, None, now).await.unwrap();
        let new = NewJob {
            id: JobId::at(now),
            repository: bench.source.repository,
            kind: JobKind::Erase,
            ref_name: None,
            cause: JobCause::Person,
            payload: &Value::Null,
            run_at: now,
        };
        let erase = tx.enqueue(&new, now).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(bench.work_off().await, Ended::Done);
        assert_eq!(bench.worker.take().await.unwrap(), None);
        let job = bench.queue.job(&bench.source, erase.id).await;
        assert_eq!((job.state, job.kind), (JobState::Done, JobKind::Erase));
        let mut superuser = database.superuser().await;
        let tables: Vec<String> = sqlx::query_scalar(
            "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
             WHERE c.relnamespace IN ('sync'::regnamespace, 'routing'::regnamespace) AND c.relkind IN ('r', 'p')
               AND NOT c.relispartition AND a.attname = 'organization_id' ORDER BY 1",
        )
        .fetch_all(&mut superuser)
        .await
        .unwrap();
        let mut left = Vec::new();
        for table in tables {
            let rows: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}")))
                .fetch_one(&mut superuser)
                .await
                .unwrap();
            if rows > 0 {
                left.push((table, rows));
            }
        }
        let left: Vec<_> = left.iter().map(|(table, rows)| (table.as_str(), *rows)).collect();
        assert_eq!(left, [("routing.job_turns", 1), ("sync.audit_events", 2), ("sync.jobs", 1)]);
        let last: String = sqlx::query_scalar("SELECT action || ' ' || outcome || ' ' || repository_name FROM sync.audit_events WHERE action = 'job.erase'")
            .fetch_one(&mut superuser)
            .await
            .unwrap();
        assert_eq!(last, "job.erase ok acme/billing");
        assert_eq!(files(bench.folder.path()), 0, "files are left");
    });
}

fn walk(folder: &Path) -> usize {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            if path.is_dir() { 1 + walk(&path) } else { 1 }
        })
        .sum()
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            if path.is_dir() { files(&path) } else { 1 }
        })
        .sum()
}
