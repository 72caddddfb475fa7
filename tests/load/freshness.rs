//! From a push to an answer, by phase, and how sources share a worker: see `tests/load/README.md`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use sync_core::clock::Clock as _;
use sync_core::ids::{JobId, OrganizationId, RepositoryId};
use sync_core::principal::Principal;
use sync_server::clock::SystemClock;
use sync_server::jobs::AllJobs;
use sync_server::jobs::caches::Caches;
use sync_server::jobs::egress::{Egress, EgressPolicy};
use sync_server::jobs::mirrors::Mirrors;
use sync_server::jobs::place::{LocalSources, WorkerFolders};
use sync_server::jobs::reindex::Reindex;
use sync_server::jobs::remote::RemoteAccess;
use sync_server::jobs::worker::{Worker, WorkerOptions};
use sync_server::shutdown::Shutdown;
use sync_store::{Gate, Job, JobCause, JobKind, NewJob, NewRepository, SourceSettings, Store};
use sync_tests::{NOW, TestDatabase, with_database};

use super::asking::load_average;
use crate::ingest::repository::Repository;

/// How often each is measured.
const RUNS: usize = 5;

/// The worker of a figure, and who asks it.
struct Bench {
    store: Store,
    shutdown: Shutdown,
    working: tokio::task::JoinHandle<()>,
    _folder: tempfile::TempDir,
}

impl Bench {
    async fn start(database: &TestDatabase, slots: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let folders = WorkerFolders::below(folder.path()).unwrap();
        let executable = super::executable();
        let remotes = RemoteAccess {
            executable: executable.clone(),
            egress: Arc::new(Egress::start(EgressPolicy::default()).await.unwrap()),
            mirrors: Mirrors::new(folders.mirrors(), u64::MAX),
            keys: None,
            last_fetch_will_do: false,
        };
        let local = LocalSources { allowed: true, ..LocalSources::default() };
        let caches = Caches::new(folders.caches(), u64::MAX);
        let spool = folders.spool();
        let reindex = Reindex { executable, caches, spool, remotes, local, told: Arc::new(|_| {}) };
        let options = WorkerOptions { slots, listen: true, grace: Duration::from_mins(1) };
        let store = database.store.clone();
        let worker = Worker::new(store.clone(), Arc::new(SystemClock), Arc::new(AllJobs { reindex }), options);
        let shutdown = Shutdown::default();
        let working = tokio::spawn(worker.run(shutdown.clone()));
        Self { store, shutdown, working, _folder: folder }
    }

    async fn organization(&self, slug: &str) -> Principal {
        let organization = OrganizationId::at(NOW);
        let mut system = self.store.system("test").await.unwrap();
        system.create_organization(organization, slug, NOW).await.unwrap();
        system.commit().await.unwrap();
        Principal::service(organization, "test")
    }

    async fn source(&self, principal: &Principal, name: &str, path: &Path) -> RepositoryId {
        let address = format!("file://{}", path.display());
        let id = RepositoryId::at(NOW);
        let new = NewRepository { id, name, provider: None, clone_url: Some(&address), default_branch: "trunk" };
        let mut tx = self.store.begin_change(principal).await.unwrap();
        tx.register_repository(&new, NOW).await.unwrap();
        tx.set_source_settings(id, &SourceSettings { gate: Gate::On, ..SourceSettings::default() }).await.unwrap();
        tx.commit().await.unwrap();
        id
    }

    async fn push(&self, principal: &Principal, repository: RepositoryId) -> JobId {
        let now = SystemClock.now();
        let mut tx = self.store.begin_change(principal).await.unwrap();
        let new = NewJob {
            id: JobId::at(now),
            repository,
            kind: JobKind::Reindex,
            ref_name: None,
            cause: JobCause::Webhook,
            payload: &Value::Null,
            run_at: now,
        };
        let job = tx.enqueue(&new, now).await.unwrap();
        tx.commit().await.unwrap();
        job.id
    }

    async fn done(&self, principal: &Principal, id: JobId) -> Job {
        loop {
            let mut tx = self.store.begin(principal).await.unwrap();
            let job = tx.job(id).await.unwrap().unwrap();
            tx.commit().await.unwrap();
            if job.ended_at.is_some() || job.reason.is_some() {
                assert_eq!(job.state, sync_store::JobState::Done, "{job:?}");
                return job;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn end(self) {
        self.shutdown.begin();
        self.working.await.unwrap();
    }
}

fn git(folder: &Path, args: &[&str]) {
    let identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
    assert!(Command::new("git").args(identity).args(args).current_dir(folder).status().unwrap().success());
}

/// Pushes that each change so many files, and what each took.
async fn pushes(what: &str, bench: &Bench, principal: &Principal, id: RepositoryId, mut push: impl FnMut(usize)) {
    let mut rows = Vec::new();
    for run in 0..RUNS {
        push(run);
        let begun = Instant::now();
        let job = bench.push(principal, id).await;
        let job = bench.done(principal, job).await;
        rows.push((begun.elapsed(), job));
    }
    rows.sort_by_key(|(took, _)| *took);
    let (took, job) = &rows[RUNS / 2];
    println!(
        "{what}: median {:.2} s of {RUNS} (best {:.2}, worst {:.2}), load {}; of it {:?}; {}",
        took.as_secs_f64(),
        rows[0].0.as_secs_f64(),
        rows[RUNS - 1].0.as_secs_f64(),
        load_average(),
        job.timings,
        job.result.as_ref().map(ToString::to_string).unwrap_or_default()
    );
}

/// Source files below a folder, sorted.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with(".git") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "ts" || extension == "tsx") {
            found.push(path);
        }
    }
    found.sort();
}

/// `SYNC_FIGURES_REPO` is a git repository (dub, where nothing else is said).
#[test]
#[ignore = "measured by hand: see tests/load/README.md"]
fn a_push_of_ten_files_to_a_large_repository() {
    let origin = std::env::var("SYNC_FIGURES_REPO").unwrap();
    with_database(async |database: &TestDatabase| {
        let folder = tempfile::tempdir().unwrap();
        let (work, bare) = (folder.path().join("work"), folder.path().join("bare"));
        git(folder.path(), &["clone", "-q", &origin, "work"]);
        git(&work, &["checkout", "-q", "-B", "trunk"]);
        git(folder.path(), &["clone", "-q", "--bare", "work", "bare"]);
        let bench = Bench::start(database, 1).await;
        let principal = bench.organization("acme").await;
        let id = bench.source(&principal, "acme/large", &bare).await;
        let begun = Instant::now();
        let job = bench.push(&principal, id).await;
        let job = bench.done(&principal, job).await;
        println!("first index: {:.2} s; of it {:?}; {:?}", begun.elapsed().as_secs_f64(), job.timings, job.result);
        let mut files = Vec::new();
        sources(&work, &mut files);
        let step = files.len() / 10;
        let edit = |run: usize| {
            for path in files.iter().step_by(step).take(10) {
                let text = std::fs::read_to_string(path).unwrap();
                std::fs::write(path, format!("{text}\nexport const edited{run} = {run};\n")).unwrap();
            }
            git(&work, &["commit", "-qam", "edit"]);
            git(&work, &["push", "-q", "../bare", "trunk"]);
        };
        pushes("10 files changed", &bench, &principal, id, edit).await;
        pushes("nothing that is indexed changed", &bench, &principal, id, |run| {
            std::fs::write(work.join("NOTES.txt"), run.to_string()).unwrap();
            git(&work, &["add", "-A"]);
            git(&work, &["commit", "-qm", "notes"]);
            git(&work, &["push", "-q", "../bare", "trunk"]);
        })
        .await;
        bench.end().await;
    });
}

#[test]
#[ignore = "measured by hand: see tests/load/README.md"]
fn a_push_of_three_thousand_files_of_ten_thousand() {
    with_database(async |database: &TestDatabase| {
        let text = |file: usize, run: usize| {
            format!(
                "import {{ stripe }} from \"../client\";\nexport const value{file} = {run};\n\
                 export function pay{file}(amount: number) {{\n  return stripe.charges.create({{ amount, currency: \"eur\" }});\n}}\n"
            )
        };
        let repository = Repository::with(&[
            ("package.json", r#"{"dependencies": {"stripe": "17.7.0"}}"#),
            ("src/client.ts", "import Stripe from \"stripe\";\nexport const stripe = new Stripe(\"\");\n"),
        ]);
        let write = |file: usize, run: usize| {
            repository.write(&format!("src/m{}/f{file}.ts", file / 100), text(file, run).as_bytes());
        };
        (0..10_000).for_each(|file| write(file, 0));
        repository.commit();
        let (_bare, path) = repository.bare_clone();
        let bench = Bench::start(database, 1).await;
        let principal = bench.organization("acme").await;
        let id = bench.source(&principal, "acme/generated", &path).await;
        let begun = Instant::now();
        let job = bench.push(&principal, id).await;
        let job = bench.done(&principal, job).await;
        println!("first index: {:.2} s; of it {:?}; {:?}", begun.elapsed().as_secs_f64(), job.timings, job.result);
        pushes("3,000 of 10,000 files changed", &bench, &principal, id, |run| {
            (0..3000).for_each(|file| write(file * 3, run + 1));
            repository.commit();
            repository.git(&["push", "-q", path.to_str().unwrap(), "HEAD:trunk"]);
        })
        .await;
        bench.end().await;
    });
}

#[test]
#[ignore = "measured by hand: see tests/load/README.md"]
fn a_hundred_sources_at_once_and_one_of_somebody_else() {
    with_database(async |database: &TestDatabase| {
        let repository = Repository::with(&[
            ("package.json", r#"{"dependencies": {"stripe": "17.7.0"}}"#),
            ("src/a.ts", "import Stripe from \"stripe\";\nexport const a = new Stripe(\"\").charges.create({});\n"),
        ]);
        repository.commit();
        let (_bare, path) = repository.bare_clone();
        let bench = Bench::start(database, 2).await;
        let (large, small) = (bench.organization("large").await, bench.organization("small").await);
        let mut sources = Vec::new();
        for number in 0..100 {
            sources.push(bench.source(&large, &format!("large/{number}"), &path).await);
        }
        let other = bench.source(&small, "small/one", &path).await;
        let begun = Instant::now();
        let mut jobs = Vec::new();
        for source in sources {
            jobs.push(bench.push(&large, source).await);
        }
        let queued = begun.elapsed();
        let asked = Instant::now();
        let its = bench.push(&small, other).await;
        bench.done(&small, its).await;
        let waited = asked.elapsed();
        for job in jobs {
            bench.done(&large, job).await;
        }
        let all = begun.elapsed();
        println!(
            "100 sources queued in {:.2} s; one of another organization asked after them: done after {:.2} s; all 101: {:.2} s, \
             {:.2} s a source in 2 slots; load {}",
            queued.as_secs_f64(),
            waited.as_secs_f64(),
            all.as_secs_f64(),
            all.as_secs_f64() / 101.0,
            load_average()
        );
        bench.end().await;
    });
}
