//! What a mirror does over https: what is new comes, and nothing that happens to a fetch leaves it broken.

use std::path::{Path, PathBuf};

use sync_ingest::git::{FaultCode, Network, RemoteUrl};
use sync_server::jobs::fetch_child::{self, FetchOrder};
use sync_server::jobs::index_child::{self, IndexRequest};

use super::Fetcher;
use super::forge::Forge;
use crate::ingest::EXECUTABLE;
use crate::ingest::repository::Repository;

/// The files that an index of a commit reads, by the child that the service runs.
pub(super) async fn indexed(repository: PathBuf, commit: &str) -> Vec<String> {
    let request = IndexRequest {
        executable: EXECUTABLE.into(),
        path: repository,
        rev: Some(commit.to_owned()),
        ref_name: Some("main".to_owned()),
        cache: None,
        gate: "auto",
        known: None,
        spool: std::env::temp_dir(),
    };
    let snapshot = sync_tests::facts::whole(index_child::run(&request).await.unwrap().unwrap());
    assert_eq!(snapshot.header.commit.as_deref(), Some(commit));
    snapshot.files.into_iter().map(|file| file.path).collect()
}

#[tokio::test]
async fn a_push_brings_what_is_new_and_the_index_reads_it_from_the_mirror() {
    let forge = Forge::start().await;
    let remote =
        Repository::with(&[("a.ts", "export const a = 1;\n"), ("b.ts", &"export const b = 1;\n".repeat(3000))]);
    let first = remote.commit();
    let url = forge.serve(remote.path(), "acme");
    let worker = Fetcher::of(&forge).await;
    let fetched = worker.fetch(&url, &["HEAD"]).await.unwrap();
    assert_eq!(fetched.heads[0].commit, first);
    assert_ne!(fetched.network, Network::Open, "a system that this is tested on keeps a fetch to its proxy");
    assert_eq!(indexed(fetched.repository.clone().unwrap(), &first).await, ["a.ts", "b.ts"]);

    remote.write("a.ts", b"export const a = 2;\n");
    remote.write("c.ts", b"export const c = 1;\n");
    let second = remote.commit();
    let next = worker.fetch(&url, &["HEAD", "trunk", "gone"]).await.unwrap();
    assert_eq!(next.repository, fetched.repository);
    assert!(next.heads.iter().all(|head| head.commit == second) && next.missing == ["gone"], "{next:?}");
    assert_eq!(indexed(next.repository.clone().unwrap(), &second).await, ["a.ts", "b.ts", "c.ts"]);

    let listed = worker.heads(&url, &["HEAD"]).await.unwrap();
    assert_eq!((listed.heads[0].commit.as_str(), listed.repository), (second.as_str(), None));
    assert!(listed.bytes > 0 && listed.bytes < 10_000, "{}", listed.bytes);
    let idle = worker.fetch(&url, &["HEAD"]).await.unwrap();
    assert!(idle.bytes < 10_000, "nothing is sent twice: {}", idle.bytes);
}

#[tokio::test]
async fn a_mirror_keeps_no_configuration_of_the_source_and_no_hooks() {
    let forge = Forge::start().await;
    let remote = Repository::with(&[("a.ts", "export const a = 1;\n")]);
    remote.commit();
    let url = forge.serve(remote.path(), "acme");
    let worker = Fetcher::of(&forge).await;
    let fetched = worker.fetch(&url, &["HEAD"]).await.unwrap();
    let repository = fetched.repository.unwrap();
    let config = std::fs::read_to_string(repository.join("config")).unwrap();
    assert!(!config.contains("remote") && !config.contains("localhost"), "{config}");
    assert!(!repository.join("hooks").exists());
}

#[tokio::test]
async fn fetches_that_are_killed_at_any_time_leave_a_mirror_that_the_next_one_uses() {
    let forge = Forge::start().await;
    let lines: Vec<String> = (0..10_000).map(|n| format!("export const n{n} = {};\n", n * 7919)).collect();
    let text = lines.concat();
    let remote = Repository::with(&[("a.ts", &text)]);
    remote.commit();
    let url = forge.serve(remote.path(), "acme");
    let worker = Fetcher::of(&forge).await;
    let parsed = RemoteUrl::local(&url).unwrap();
    let refs = ["HEAD".to_owned()];
    let executable = Path::new(EXECUTABLE);
    let order = FetchOrder { executable, url: &parsed, refs: &refs, credential: None, limits: worker.limits };
    for round in 0..10_u32 {
        remote.write("b.ts", format!("export const b = {round};\n").as_bytes());
        remote.commit();
        let mirror = worker.mirror();
        let killed = fetch_child::run(&worker.egress, &order, &mirror, round % 3 == 0);
        // Each time a little later; the child dies with the future.
        let _ = tokio::time::timeout(std::time::Duration::from_millis(u64::from(round) * 12), killed).await;
    }
    let head = remote.git(&["rev-parse", "HEAD"]);
    let fetched = worker.fetch(&url, &["HEAD"]).await.unwrap();
    assert_eq!(fetched.heads[0].commit, head);
    assert_eq!(indexed(fetched.repository.unwrap(), &head).await, ["a.ts", "b.ts"]);
    let left: Vec<_> = std::fs::read_dir(worker.mirror()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), 2, "a lock and one repository: {left:?}");
}

#[tokio::test]
async fn a_remote_that_is_gone_is_told_from_one_that_does_not_answer() {
    let forge = Forge::start().await;
    let worker = Fetcher::of(&forge).await;
    let (code, what) = worker.fault(&forge.url("absent")).await;
    assert_eq!(code, FaultCode::NotFound, "{what}");
    let url = forge.url("acme");
    drop(forge);
    let (code, what) = worker.fault(&url).await;
    assert_eq!(code, FaultCode::Unreachable, "{what}");
    assert!(!worker.mirror().join("1").exists());
}
