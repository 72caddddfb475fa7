//! What cannot be started, and what is said about it.

use std::net::TcpListener;
use std::path::Path;
use std::process::Output;

use nix::sys::signal::Signal;

use super::{Dev, command, data_folder};
use crate::ingest::repository::Repository;

fn run(data: &Path, args: &[&str]) -> Output {
    command(data, args).output().unwrap()
}

/// Ends with the code and one error line that holds the words, and prints nothing else.
fn assert_refused(output: &Output, code: i32, words: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(output.stdout.is_empty());
    let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 1, "{said}");
    for word in words.iter().chain(&["; next: "]) {
        assert!(errors[0].contains(word), "`{word}` is not in: {said}");
    }
}

#[test]
fn what_is_no_repository_costs_nothing() {
    let folder = data_folder();
    let data = folder.path().join("data");
    for (repo, words) in [
        ("/nowhere/at/all", "cannot be opened"),
        ("git@example.com:acme/billing.git", "refused as a repository's address"),
        ("ssh://git@example.com/acme/billing.git", "refused as a repository's address"),
        ("https://ada:secret@example.com/acme/billing.git", "password"),
    ] {
        let output = run(&data, &["--repo", repo]);
        assert_refused(&output, 3, &[words]);
        assert!(!String::from_utf8_lossy(&output.stderr).contains("secret"));
    }
    assert_eq!(run(&data, &["--rev", "main"]).status.code(), Some(2));
    assert!(!data.exists());
}

#[test]
fn what_cannot_be_indexed_registers_nothing() {
    let folder = data_folder();
    let plain = Repository::with(&[("src/a.ts", "export const a = 1;")]);
    assert_refused(&run(folder.path(), &["--repo", plain.path().to_str().unwrap()]), 3, &["no_git_repo"]);
    let empty = Repository::with(&[]);
    empty.git(&["init", "-q"]);
    assert_refused(&run(folder.path(), &["--repo", empty.path().to_str().unwrap()]), 1, &["HEAD"]);
    let committed = Repository::with(&[("src/a.ts", "export const a = 1;")]);
    committed.commit();
    let path = committed.path().to_str().unwrap();
    assert_refused(&run(folder.path(), &["--repo", path, "--rev", "nope"]), 1, &["`nope` names no commit"]);
    assert_refused(&run(folder.path(), &["--repo", "file:///nowhere/at/all.git"]), 1, &["could not be fetched"]);

    let dev = Dev::start(folder.path(), &[]);
    let known = dev.ask("sync_repositories", &serde_json::json!({}));
    assert_eq!(known["total"], 1, "{known}");
    dev.end(Signal::SIGTERM);
}

#[test]
fn a_taken_port_and_a_taken_folder_are_named() {
    let folder = data_folder();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(folder.path(), &["--listen", &address]);
    assert_refused(&output, 3, &[&address, "--listen"]);
    assert!(!folder.path().join("postgres").exists(), "nothing was made");

    let dev = Dev::start(folder.path(), &[]);
    let pid = format!("process {}", dev.process.id());
    assert_refused(&run(folder.path(), &[]), 3, &["already runs", &pid, "--data-dir"]);
    dev.end(Signal::SIGTERM);
}

#[test]
fn a_known_repository_that_is_refused_says_so_and_its_last_index_still_answers() {
    let folder = data_folder();
    let repository = Repository::with(&[("src/a.ts", "export const a = 1;")]);
    repository.commit();
    let path = repository.path().to_str().unwrap().to_owned();
    let dev = Dev::start(folder.path(), &["--repo", &path]);
    let name = dev.ask("sync_repositories", &serde_json::json!({}))["repositories"][0]["name"].clone();
    dev.end(Signal::SIGTERM);

    let state = |expected: &str, reason: &str| {
        let dev = Dev::start(folder.path(), &[]);
        let known = dev.ask("sync_repositories", &serde_json::json!({"repository": name}));
        let row = &known["repositories"][0];
        assert_eq!((&row["state"], &row["counts"]["files"]), (&expected.into(), &1.into()), "{known}");
        assert!(row["state_reason"].as_str().unwrap_or_default().contains(reason), "{known}");
        dev.end(Signal::SIGTERM);
    };
    std::fs::rename(repository.path().join(".git"), repository.path().join("git")).unwrap();
    assert_refused(&run(folder.path(), &["--repo", &path]), 3, &["no_git_repo"]);
    state("gated", "no_git_repo");
    std::fs::create_dir(repository.path().join(".git")).unwrap();
    assert_refused(&run(folder.path(), &["--repo", &path]), 1, &["cannot be read"]);
    state("failed", "cannot be read");
    std::fs::remove_dir(repository.path().join(".git")).unwrap();
    std::fs::rename(repository.path().join("git"), repository.path().join(".git")).unwrap();
    Dev::start(folder.path(), &["--repo", &path]).end(Signal::SIGTERM);
    state("indexed", "");
}
