//! `sync-ingest upload` as a process, and the jobs of `deploy/ci` as their forges would run them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use http::StatusCode;
use serde_json::{Value, json};
use sync_core::principal::Scope;
use sync_tests::service::{Reply, TestService};
use sync_tests::{TestDatabase, TwoOrganizations, with_database};
use tokio::process::Command;

use crate::ingest::EXECUTABLE;
use crate::ingest::repository::Repository;

const SOURCE: &str = "import Stripe from 'stripe';\nconst stripe = new Stripe('k');\n\nexport function pay() {\n  return stripe.charges.create({ amount: 1 });\n}\n";

fn code() -> Repository {
    Repository::with(&[("src/a.ts", SOURCE), ("package.json", "{\"dependencies\":{\"stripe\":\"^17.0.0\"}}\n")])
}

fn command(program: impl AsRef<std::ffi::OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env_clear().env("HOME", "/nonexistent").kill_on_drop(true);
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
}

/// Indexes a repository into a file beside it.
async fn index(repository: &Repository, out: &Path) {
    let done = command(EXECUTABLE, repository.path()).args(["index", ".", "--ref", "main", "--out"]).arg(out).output();
    let done = done.await.unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
}

async fn upload(snapshot: &Path, url: &str, token: Option<&str>, more: &[&str]) -> Output {
    let mut command = command(EXECUTABLE, Path::new("/"));
    command.arg("upload").arg(snapshot).args(["--url", url]).args(more);
    if let Some(token) = token {
        command.env("SYNC_TOKEN", token);
    }
    command.output().await.unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The one error that was said, where it ended with exit code 1 and nothing on stdout.
fn error_of(output: &Output) -> String {
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{said}");
    assert!(said.starts_with("error: ") && said.contains("; next: ") && said.lines().count() == 1, "{said}");
    said
}

async fn answered_commit(service: &TestService, token: &str) -> Value {
    let arguments = json!({ "repository": "acme/billing", "file": "src/a.ts", "line": 5 });
    let answer = service.call(token, "sync_explain_call_site", arguments).await.json();
    let answer = &answer["result"]["structuredContent"];
    assert_eq!((&answer["status"], &answer["operation"]), (&json!("ok"), &json!("POST /v1/charges")), "{answer}");
    answer["commit"].clone()
}

#[test]
fn what_was_indexed_is_sent_stored_and_answered_from_and_each_refusal_says_why() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let token = service.token(&both.alpha.principal, &[Scope::SourcesWrite, Scope::GraphRead], None).await.1;
        let repository = code();
        let first = repository.commit();
        let snapshots = tempfile::tempdir().unwrap();
        let (plain, packed) = (snapshots.path().join("a.ndjson"), snapshots.path().join("a.ndjson.zst"));
        index(&repository, &plain).await;
        index(&repository, &packed).await;

        let sent = upload(&plain, &service.url, Some(&token), &["--source", "acme/billing"]).await;
        assert!(sent.status.success(), "{}", text(&sent.stderr));
        let told: Value = serde_json::from_slice(&sent.stdout).unwrap();
        assert_eq!((&told["commit"], &told["ref"], &told["changed_files"]), (&json!(first), &json!("main"), &json!(1)));
        assert_eq!(answered_commit(&service, &token).await, json!(first));
        // The same again, compressed, by the source's id and behind a slash.
        let id = both.alpha.repository.to_string();
        let again = upload(&packed, &format!("{}/", service.url), Some(&token), &["--source", &id]).await;
        assert!(again.status.success(), "{}", text(&again.stderr));
        let again: Value = serde_json::from_slice(&again.stdout).unwrap();
        assert_eq!((&again["index_id"], &again["changed_files"]), (&told["index_id"], &json!(0)));

        // A run of an older commit that ends later has nothing to do, and ends well.
        repository.write("src/b.ts", b"export const b = 1;\n");
        let second = repository.commit();
        let newer = snapshots.path().join("b.ndjson.zst");
        index(&repository, &newer).await;
        let at = |time: &'static str| ["--source", "acme/billing", "--committed-at", time];
        let later = upload(&newer, &service.url, Some(&token), &at("2026-11-30T10:00:00+01:00")).await;
        assert!(later.status.success(), "{}", text(&later.stderr));
        let late = upload(&plain, &service.url, Some(&token), &at("2026-11-30T09:00:00+01:00")).await;
        assert_eq!((late.status.code(), late.stdout.len()), (Some(0), 0), "{}", text(&late.stderr));
        assert!(text(&late.stderr).contains(&second), "{}", text(&late.stderr));
        assert_eq!(answered_commit(&service, &token).await, json!(second));

        let reader = service.reader(&both.alpha.principal).await;
        let folder = Repository::with(&[("a.ts", SOURCE)]);
        let of_a_folder = snapshots.path().join("folder.ndjson");
        index(&folder, &of_a_folder).await;
        let cut = snapshots.path().join("cut.ndjson");
        let whole = std::fs::read(&plain).unwrap();
        std::fs::write(&cut, &whole[..whole.len() - 10]).unwrap();
        let missing = snapshots.path().join("missing.ndjson");
        let here = &service.url;
        let known = ["--source", "acme/billing"];
        for (snapshot, url, token, more, expected) in [
            (&plain, here.as_str(), None, &known[..], "there is no token in SYNC_TOKEN"),
            (&plain, here, Some("two words\n!"), &known, "the token in SYNC_TOKEN is none"),
            (&plain, here, Some("sync_nonsense"), &known, "the service answered 401"),
            (&plain, here, Some(reader.as_str()), &known, "sources:write"),
            (&plain, here, Some(&token), &["--source", "acme/other"], "GET /v1/sources"),
            (&cut, here, Some(&token), &known, "truncated"),
            (&of_a_folder, here, Some(&token), &known, "is of no commit"),
            (&missing, here, Some(&token), &known, "cannot be read"),
            (&plain, "http://sync.example.com", Some(&token), &known, "is not https"),
            (&plain, here, Some(&token), &["--source", "acme/billing", "--ref", "a b"], "`ref`"),
            (&plain, here, Some(&token), &["--source", "acme/billing", "--committed-at", "now"], "committed_at"),
        ] {
            let said = error_of(&upload(snapshot, url, token, more).await);
            assert!(said.contains(expected), "{expected}: {said}");
            assert!(token.is_none_or(|token| !said.contains(token)), "no token is told: {said}");
        }
        assert_eq!(answered_commit(&service, &token).await, json!(second));
        let usage = command(EXECUTABLE, Path::new("/")).arg("upload").output().await.unwrap();
        assert_eq!(usage.status.code(), Some(2), "{}", text(&usage.stderr));
        service.stop().await;
    });
}

/// A service that is busy a few times, as its `Retry-After` says, and then is not.
async fn busy_at_first(times: usize) -> (String, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let answer = move |body: axum::body::Bytes| {
        let counted = counted.clone();
        async move {
            assert!(body.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]), "each try sends all of it, compressed");
            if counted.fetch_add(1, Ordering::SeqCst) < times {
                let problem = json!({ "code": "unavailable", "detail": "Other uploads are under way.", "next_step": "Try again." });
                (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "0")], problem.to_string())
            } else {
                (StatusCode::CREATED, [("retry-after", "0")], "{\"index_id\":\"idx_1\"}".to_owned())
            }
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    (url, asked)
}

#[tokio::test]
async fn a_service_that_is_busy_is_asked_again_but_not_for_ever() {
    let repository = code();
    repository.commit();
    let folder = tempfile::tempdir().unwrap();
    let snapshot = folder.path().join("a.ndjson");
    index(&repository, &snapshot).await;
    let (url, asked) = busy_at_first(2).await;
    let sent = upload(&snapshot, &url, Some("sync_token"), &["--source", "acme/billing"]).await;
    assert_eq!((sent.status.code(), text(&sent.stdout).trim()), (Some(0), "{\"index_id\":\"idx_1\"}"));
    assert_eq!(text(&sent.stderr).matches("it is tried again in 0 s").count(), 2, "{}", text(&sent.stderr));
    assert_eq!(asked.load(Ordering::SeqCst), 3);
    let (url, asked) = busy_at_first(100).await;
    let sent = upload(&snapshot, &url, Some("sync_token"), &["--source", "acme/billing"]).await;
    assert_eq!((sent.status.code(), sent.stdout.len()), (Some(1), 0));
    assert_eq!(asked.load(Ordering::SeqCst), 5, "the first and four more");
    assert!(text(&sent.stderr).ends_with("under way; next: Try again\n"), "{}", text(&sent.stderr));
}

/// A job of `deploy/ci`.
fn job(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/ci").join(name);
    serde_yaml_ng::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Runs a job's script in a fresh clone, as a runner does: each step stops at its first error.
async fn run(script: &str, folder: &Path, environment: &BTreeMap<String, String>) {
    let done = command("bash", folder).args(["-e", "-o", "pipefail", "-c", script]).envs(environment).output();
    let done = done.await.unwrap();
    assert!(done.status.success(), "{script}\n{}{}", text(&done.stdout), text(&done.stderr));
}

/// A runner: a clone, a folder of its own, and a place to fetch `sync-ingest` from.
struct Runner {
    repository: Repository,
    commit: String,
    temp: tempfile::TempDir,
    token: String,
}

impl Runner {
    async fn of(service: &TestService, both: &TwoOrganizations) -> Self {
        let repository = code();
        let commit = repository.commit();
        let temp = tempfile::tempdir().unwrap();
        let token = service.token(&both.alpha.principal, &[Scope::SourcesWrite, Scope::GraphRead], None).await.1;
        Self { repository, commit, temp, token }
    }

    /// The variables that a user of the job sets.
    fn set(&self, service: &TestService) -> BTreeMap<String, String> {
        // What is fetched is small here, and starts the executable under test.
        let fetched = self.temp.path().join("released");
        let script = format!("#!/bin/sh\nexec '{EXECUTABLE}' \"$@\"\n");
        std::fs::write(&fetched, &script).unwrap();
        let digest = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(script.as_bytes()));
        [
            ("SYNC_URL", service.url.clone()),
            ("SYNC_SOURCE", "acme/billing".to_owned()),
            ("SYNC_TOKEN", self.token.clone()),
            ("SYNC_INGEST_URL", format!("file://{}", fetched.display())),
            ("SYNC_INGEST_SHA256", digest),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}

#[test]
fn the_job_for_github_actions_does_what_it_says() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        // Its commit is of today, whenever that is.
        service.clock.advance(time::Duration::days(36_500));
        let runner = Runner::of(&service, &both).await;
        let set = runner.set(&service);
        let filled = |text: &str| {
            let mut filled = text.replace("${{ github.ref_name }}", "main");
            for (name, value) in &set {
                for context in ["vars", "secrets"] {
                    filled = filled.replace(&format!("${{{{ {context}.{name} }}}}"), value);
                }
            }
            assert!(!filled.contains("${{"), "{filled}");
            filled
        };
        let job = job("github-actions.yml");
        let steps = job["jobs"]["index"]["steps"].as_array().unwrap();
        assert_eq!(job["permissions"], json!({ "contents": "read" }));
        let mut ran = 0;
        for step in steps {
            let Some(script) = step["run"].as_str() else {
                assert!(step["uses"].as_str().unwrap().starts_with("actions/"), "{step}");
                continue;
            };
            assert!(!script.contains("${{"), "what others choose is no part of a script: {script}");
            let mut environment: BTreeMap<String, String> = step["env"]
                .as_object()
                .map(|given| {
                    given.iter().map(|(name, value)| (name.clone(), filled(value.as_str().unwrap()))).collect()
                })
                .unwrap_or_default();
            environment.insert("RUNNER_TEMP".to_owned(), runner.temp.path().display().to_string());
            run(script, runner.repository.path(), &environment).await;
            ran += 1;
        }
        assert_eq!(ran, 3);
        assert_eq!(answered_commit(&service, &runner.token).await, json!(runner.commit));
        service.stop().await;
    });
}

#[test]
fn the_job_for_gitlab_ci_does_what_it_says() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let runner = Runner::of(&service, &both).await;
        let job = job("gitlab-ci.yml");
        let lines = |part: &str| -> Vec<String> {
            let lines = job["sync"][part].as_array().unwrap();
            lines.iter().map(|line| line.as_str().unwrap().to_owned()).collect()
        };
        let mut environment = runner.set(&service);
        environment.extend([
            ("CI_COMMIT_BRANCH".to_owned(), "main".to_owned()),
            ("CI_COMMIT_TIMESTAMP".to_owned(), "2026-11-30T10:00:00+01:00".to_owned()),
        ]);
        let bin: PathBuf = runner.temp.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        environment.insert("PATH".to_owned(), format!("{}:{path}", bin.display()));
        // The image brings nothing; here all of it is there.
        let before = lines("before_script").into_iter().filter(|line| !line.starts_with("apt-get"));
        let before = before.map(|line| line.replace("/usr/local/bin", &bin.display().to_string()));
        let script: Vec<String> = before.chain(lines("script")).collect();
        assert_eq!(script.len(), 5, "{script:?}");
        run(&script.join("\n"), runner.repository.path(), &environment).await;
        assert_eq!(answered_commit(&service, &runner.token).await, json!(runner.commit));
        let source = format!("{}/v1/sources/{}", service.url, both.alpha.repository);
        let source = Reply::of(service.client.get(source).bearer_auth(&runner.token)).await.json();
        assert_eq!(source["refs"][0]["committed_at"], "2026-11-30T09:00:00.000Z", "{source}");
        service.stop().await;
    });
}
