//! What the sweep finds that nobody told of, and what it forgets.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::json;
use sync_core::clock::Clock as _;
use sync_core::ids::{OrganizationId, RepositoryId};
use sync_ingest::git::{Fetched, Head, RemoteUrl};
use sync_server::jobs::place::{LocalSources, WorkerFolders};
use sync_server::jobs::run::Fault;
use sync_server::jobs::sweep::{Remotes, Sweep};
use sync_store::{
    Gate, JobCause, JobProblem, JobReport, JobState, RefOrigin, Repository, SourceSettings, Store, Ticket,
};
use sync_tests::{NOW, TestDatabase, facts, with_database};
use tempfile::TempDir;
use time::Duration;

use super::reindex::caches_in;
use super::{Queue, Source};

const EVERY: Duration = Duration::minutes(15);

/// A remote that has what it is told, and remembers what it was asked.
#[derive(Default)]
struct Remote {
    has: Mutex<Fetched>,
    asked: Mutex<Vec<Vec<String>>>,
    forgot: Mutex<Vec<RepositoryId>>,
}

#[async_trait]
impl Remotes for Remote {
    async fn heads(
        &self,
        _: &Store,
        _: OrganizationId,
        _: &Repository,
        _: &RemoteUrl,
        refs: &[String],
    ) -> Result<Fetched, Fault> {
        self.asked.lock().unwrap().push(refs.to_vec());
        Ok(self.has.lock().unwrap().clone())
    }

    async fn forget(&self, _: OrganizationId, repository: RepositoryId) -> std::io::Result<bool> {
        self.forgot.lock().unwrap().push(repository);
        Ok(true)
    }
}

fn head(asked: &str, branch: &str, commit: char) -> Head {
    Head {
        asked: asked.to_owned(),
        name: format!("refs/heads/{branch}"),
        branch: Some(branch.to_owned()),
        commit: commit.to_string().repeat(40),
        committed_at: None,
    }
}

struct World<'a> {
    queue: Queue<'a>,
    remote: Arc<Remote>,
    sweep: Sweep,
    source: Source,
    folder: TempDir,
}

impl<'a> World<'a> {
    async fn of(database: &'a TestDatabase) -> Self {
        let queue = Queue::of(&database.store);
        let source = queue.one_source().await;
        let mut tx = database.store.begin_write(&source.principal).await.unwrap();
        tx.set_egress_consent(source.repository, Some("ada"), NOW).await.unwrap();
        facts::swap(&mut tx, source.repository, "main", &facts::snapshot(&"a".repeat(40), vec![], vec![]), NOW)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        let (remote, folder) = (Arc::new(Remote::default()), tempfile::tempdir().unwrap());
        let sweep = Sweep {
            store: database.store.clone(),
            clock: queue.clock.clone(),
            remotes: remote.clone(),
            local: LocalSources::default(),
            every: Some(EVERY),
            folders: WorkerFolders::below(folder.path()).unwrap(),
            caches: caches_in(folder.path()),
        };
        Self { queue, remote, sweep, source, folder }
    }

    fn has(&self, heads: Vec<Head>) {
        *self.remote.has.lock().unwrap() = Fetched { heads, ..Fetched::default() };
    }

    /// A round when all are due again.
    async fn later(&self) {
        self.queue.clock.advance(EVERY * 2);
        self.sweep.round().await;
    }

    async fn waiting(&self) -> Vec<(Option<String>, JobCause, serde_json::Value)> {
        let mut tx = self.queue.store.begin(&self.source.principal).await.unwrap();
        let jobs = tx.jobs_of(self.source.repository, 100).await.unwrap();
        tx.commit().await.unwrap();
        let waiting = jobs.into_iter().filter(|job| job.state == JobState::Queued);
        waiting.map(|job| (job.ref_name, job.cause, job.payload)).collect()
    }

    async fn bury(&self, ticket: &Ticket) {
        let mut tx = self.queue.store.begin_change(&self.source.principal).await.unwrap();
        let problem = JobProblem { reason: "no".to_owned(), next_step: "none".to_owned() };
        tx.bury_job(ticket, &problem, &JobReport::default(), self.queue.clock.now()).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn refs(&self) -> Vec<String> {
        let mut tx = self.queue.store.begin(&self.source.principal).await.unwrap();
        let refs = tx.refs(self.source.repository).await.unwrap();
        tx.commit().await.unwrap();
        refs.into_iter().map(|row| row.name).collect()
    }
}

#[test]
fn a_push_that_nobody_told_of_is_found_and_what_is_indexed_is_left_alone() {
    with_database(async |database: &TestDatabase| {
        let world = World::of(database).await;
        world.has(vec![head("HEAD", "main", 'a')]);
        world.sweep.round().await;
        assert_eq!(world.waiting().await, []);
        assert_eq!(*world.remote.asked.lock().unwrap(), [["HEAD"]]);
        // It is not due again, however often rounds are made.
        world.has(vec![head("HEAD", "main", 'b')]);
        world.sweep.round().await;
        assert_eq!(world.waiting().await, []);
        for _ in 0..2 {
            world.later().await;
            let expected = (Some("main".to_owned()), JobCause::Sweep, json!({"head": "b".repeat(40)}));
            assert_eq!(world.waiting().await, [expected]);
        }
        let mut tx = database.store.begin(&world.source.principal).await.unwrap();
        let index = tx.current_index(world.source.repository, "main").await.unwrap().unwrap();
        assert_eq!(index.head_commit, Some("b".repeat(40)), "answers say that a newer head is known");
        tx.commit().await.unwrap();
    });
}

#[test]
fn a_remote_behind_a_gate_that_is_off_is_not_asked() {
    with_database(async |database: &TestDatabase| {
        let world = World::of(database).await;
        world.has(vec![head("HEAD", "main", 'b')]);
        let mut tx = database.store.begin_change(&world.source.principal).await.unwrap();
        let off = SourceSettings { gate: Gate::Off, ..SourceSettings::default() };
        tx.set_source_settings(world.source.repository, &off).await.unwrap();
        tx.commit().await.unwrap();
        world.sweep.round().await;
        assert_eq!(world.waiting().await, []);
        assert_eq!(*world.remote.asked.lock().unwrap(), Vec::<Vec<String>>::new());
    });
}

#[test]
fn what_was_given_up_is_not_tried_again_at_once_but_after_some_hours_or_with_the_next_push() {
    with_database(async |database: &TestDatabase| {
        let world = World::of(database).await;
        world.has(vec![head("HEAD", "main", 'b')]);
        world.sweep.round().await;
        world.bury(&world.queue.take().await.unwrap()).await;
        world.later().await;
        assert_eq!(world.waiting().await, []);
        world.queue.clock.advance(Duration::hours(6));
        world.later().await;
        assert_eq!(world.waiting().await.len(), 1);
        world.bury(&world.queue.take().await.unwrap()).await;
        world.has(vec![head("HEAD", "main", 'c')]);
        world.later().await;
        assert_eq!(world.waiting().await.len(), 1);
    });
}

#[test]
fn a_renamed_default_branch_is_followed_and_tracked_branches_come_and_go() {
    with_database(async |database: &TestDatabase| {
        let world = World::of(database).await;
        let settings = SourceSettings { tracked_refs: vec!["release/*".to_owned()], ..SourceSettings::default() };
        let mut tx = database.store.begin_write(&world.source.principal).await.unwrap();
        let repository = world.source.repository;
        tx.set_source_settings(repository, &settings).await.unwrap();
        for (name, origin) in
            [("release/0", RefOrigin::Tracked), ("pr", RefOrigin::Requested), ("ci", RefOrigin::Uploaded)]
        {
            facts::swap(&mut tx, repository, name, &facts::snapshot(&"a".repeat(40), vec![], vec![]), NOW)
                .await
                .unwrap();
            tx.keep_ref(repository, name, origin, None).await.unwrap();
        }
        tx.commit().await.unwrap();
        world.has(vec![head("HEAD", "trunk", 'a'), head("release/*", "release/1", 'd'), head("pr", "pr", 'e')]);
        world.sweep.round().await;
        assert_eq!(*world.remote.asked.lock().unwrap(), [["HEAD", "release/*", "pr"]]);
        let mut names: Vec<_> = world.waiting().await.into_iter().filter_map(|(name, _, _)| name).collect();
        names.sort();
        assert_eq!(names, ["pr", "release/1", "trunk"]);
        let mut tx = database.store.begin(&world.source.principal).await.unwrap();
        assert_eq!(tx.repository(repository).await.unwrap().unwrap().default_branch, "trunk");
        tx.commit().await.unwrap();
        assert_eq!(world.refs().await, ["ci", "main", "pr"], "release/0 is not there any more");
        world.has(vec![head("HEAD", "trunk", 'a')]);
        world.remote.has.lock().unwrap().missing = vec!["pr".to_owned()];
        world.later().await;
        assert_eq!(world.refs().await, ["ci", "main"]);
    });
}

#[test]
fn refs_expire_jobs_are_forgotten_and_facts_that_are_shared_stay() {
    with_database(async |database: &TestDatabase| {
        let world = World::of(database).await;
        let repository = world.source.repository;
        let shared = facts::file("src/shared.ts", vec![facts::call("charge", 3)]);
        let own = facts::file("src/own.ts", vec![facts::call("refund", 3)]);
        let client = || vec![facts::client("2025-05-28.basil")];
        let mut tx = database.store.begin_write(&world.source.principal).await.unwrap();
        let main = facts::snapshot(&"b".repeat(40), client(), vec![shared.clone()]);
        facts::swap(&mut tx, repository, "main", &main, NOW).await.unwrap();
        let branch = facts::snapshot(&"c".repeat(40), client(), vec![shared, own]);
        facts::swap(&mut tx, repository, "feature", &branch, NOW).await.unwrap();
        tx.keep_ref(repository, "feature", RefOrigin::Requested, Some(NOW + Duration::days(14))).await.unwrap();
        tx.commit().await.unwrap();
        let job = world.queue.push(&world.source).await;
        world.queue.finish(&world.source, &world.queue.take().await.unwrap()).await.unwrap();
        world.queue.clock.advance(Duration::days(13));
        world.sweep.round().await;
        assert_eq!(world.refs().await, ["feature", "main"]);
        world.queue.clock.advance(Duration::days(18));
        world.sweep.round().await;
        assert_eq!(world.refs().await, ["main"]);
        let left: (i64, i64, i64) = sqlx::query_as(
            "SELECT (SELECT count(*) FROM sync.facts), (SELECT count(*) FROM sync.call_sites),
                    (SELECT count(*) FROM sync.ref_paths WHERE file_key IS NOT NULL)",
        )
        .fetch_one(&mut database.superuser().await)
        .await
        .unwrap();
        assert_eq!(left, (1, 1, 1));
        let mut tx = database.store.begin(&world.source.principal).await.unwrap();
        assert_eq!(tx.job(job.id).await.unwrap(), None);
        tx.commit().await.unwrap();
    });
}

#[test]
fn what_another_worker_erased_goes_from_this_ones_disk_too() {
    with_database(async |database: &TestDatabase| {
        let world = World::of(database).await;
        let folders = WorkerFolders::below(world.folder.path()).unwrap();
        let caches = caches_in(world.folder.path());
        let (organization, gone) = (world.source.principal.organization, RepositoryId::at(NOW));
        for (organization, repository) in
            [(organization, world.source.repository), (organization, gone), (OrganizationId::at(NOW), gone)]
        {
            std::fs::create_dir_all(caches.folder(organization, repository)).unwrap();
        }
        // What is no source's is left alone.
        let other = world.folder.path().join("caches/other");
        std::fs::create_dir_all(&other).unwrap();
        world.sweep.round().await;
        assert!(caches.folder(organization, world.source.repository).exists() && other.exists());
        assert_eq!(folders.kept().len(), 1);
        assert_eq!(*world.remote.forgot.lock().unwrap(), [gone, gone]);
    });
}
