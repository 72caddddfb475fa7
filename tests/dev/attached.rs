//! `syncd --dev`: the other commands on what a `syncd dev` started.

use std::path::Path;
use std::process::{Command, Output};

use nix::sys::signal::Signal;

use super::{Dev, EXECUTABLE, command, data_folder};
use crate::ingest::repository::Repository;

/// A command with `--dev`, in a shell whose environment names another database and another key.
fn attached(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    attached_with(folder, arguments, "")
}

/// The same with a token.
fn attached_with(folder: &Path, arguments: &[&str], token: &str) -> (Option<i32>, String, String) {
    let mut dev = std::ffi::OsString::from("--dev=");
    dev.push(folder);
    let Output { status, stdout, stderr } = Command::new(EXECUTABLE)
        .arg(dev)
        .args(arguments)
        .env_clear()
        .env("SYNC_DATABASE_URL", "postgres://nobody@localhost/elsewhere?host=/nowhere")
        .env("SYNC_SEAL_KEY_FILE", "/nowhere/at/all")
        .env("SYNC_TOKEN", token)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn commands_find_the_database_and_the_keys_of_what_runs() {
    let folder = data_folder();
    let (code, _, said) = attached(folder.path(), &["organization", "list"]);
    assert!(code == Some(3) && said.contains("no `syncd dev` keeps anything here"), "{said}");

    let dev = Dev::start(folder.path(), &[]);
    let (code, listed, said) = attached(folder.path(), &["organization", "list"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(listed.trim_end().ends_with("\tdev\tactive") && listed.lines().count() == 1, "{listed}");
    dev.ask("sync_repositories", &serde_json::json!({}));
    let (code, rows, said) = attached(folder.path(), &["audit", "tail", "--organization", "dev", "--lines", "1"]);
    assert!(code == Some(0) && rows.contains("mcp.tools/call:sync_repositories"), "{rows} {said}");
    // With the seal key of the folder too: whole, or nothing sealed yet, and never a missing key.
    let (code, verified, said) = attached(folder.path(), &["audit", "verify"]);
    assert!(code == Some(0) && verified.starts_with("dev: "), "{verified} {said}");
    let (code, checks, said) = attached(folder.path(), &["doctor"]);
    assert!(code == Some(0) && !checks.contains("FAIL"), "{checks} {said}");
    assert!(checks.contains("ok   maintenance role: connected as the role that seals the audit log"), "{checks}");
    let (code, _, said) = attached(folder.path(), &["dev"]);
    assert!(code == Some(3) && said.contains("--data-dir"), "{said}");
    let url = dev.text("database_url").to_owned();
    dev.end(Signal::SIGTERM);

    let (code, _, said) = attached(folder.path(), &["organization", "list"]);
    assert!(code == Some(1) && said.contains("no `syncd dev` runs on") && said.contains("; next: "), "{said}");
    // An address that was exported for other commands is said to be the folder's own, before anything is asked.
    let output = command(folder.path(), &[]).env("SYNC_DATABASE_URL", &url).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("next: unset SYNC_DATABASE_URL") && !said.contains("the database answers"), "{said}");
    // One of elsewhere that does not answer is named, too.
    let output = command(folder.path(), &[])
        .env("SYNC_DATABASE_URL", "postgres://sync_app@localhost/sync?host=/nowhere")
        .env("SYNC_OWNER_DATABASE_URL", "postgres://sync_owner@localhost/sync?host=/nowhere")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the database that SYNC_OWNER_DATABASE_URL names cannot be used"), "{said}");
    assert!(!said.contains("the database answers"), "{said}");
}

#[test]
fn a_repository_of_this_machine_is_registered_and_a_push_of_it_arrives() {
    let repository = Repository::with(&[("a.ts", "export const a = 1;\n")]);
    repository.commit();
    // The branch that a sample names where none is known yet: the first index may end before or after it is sent.
    repository.git(&["branch", "-m", "main"]);
    let address = format!("file://{}", repository.path().display());
    let folder = data_folder();
    let dev = Dev::start(folder.path(), &[]);
    // Which organization there is to work on is known, and where the server listens.
    let add = ["source", "add", &address, "--consent-egress", "--name", "acme/local"];
    let (code, added, said) = attached(folder.path(), &add);
    assert!(code == Some(0) && added.contains("\tacme/local\t"), "{added} {said}");
    let (code, listed, said) = attached(folder.path(), &["source", "list"]);
    assert!(code == Some(0) && listed.lines().count() == 2, "{listed} {said}");
    let push = ["trigger", "push", "--source", "acme/local"];
    let (code, told, said) = attached_with(folder.path(), &push, dev.text("token"));
    assert_eq!(code, Some(0), "{told} {said}");
    assert!(told.contains("answer   queued") && told.contains(" is done"), "{told}");
    assert!(told.contains(&format!("webhook  {}/webhooks/github/", dev.text("api_url"))), "{told}");

    let (code, told, said) = attached_with(folder.path(), &push, dev.text("token"));
    assert!(code == Some(1) && said.contains("--rotate") && said.contains("--secret-file"), "{told} {said}");
    assert_eq!(dev.patch("/v1/sources/acme%2Flocal", &serde_json::json!({ "gate": "off" })), 200);
    let (code, told, said) =
        attached_with(folder.path(), &["trigger", "push", "--source", "acme/local", "--rotate"], dev.text("token"));
    assert!(code == Some(3) && said.contains("gate") && !told.contains("secret"), "{told} {said}");
    dev.end(Signal::SIGTERM);
}
