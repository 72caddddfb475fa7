//! Starts and ends.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{Dev, command, data_folder, processes_of};

const EXPECTED: &str = include_str!("../../fixtures/repositories/billing.findings.json");

/// Checks the fixture's findings exactly: one more or less is a failure.
fn assert_expected(dev: &Dev) {
    let expected: Vec<Value> = serde_json::from_str(EXPECTED).unwrap();
    let findings: Vec<String> = dev
        .at_risk()
        .iter()
        .map(|finding| {
            let mut kept = json!({});
            for key in expected[0].as_object().unwrap().keys() {
                kept[key] = finding[key].clone();
            }
            kept.to_string()
        })
        .collect();
    assert_eq!(findings.join("\n"), expected.iter().map(Value::to_string).collect::<Vec<_>>().join("\n"));
}

fn assert_nothing_left(data: &Path) {
    assert_eq!(processes_of(data), Vec::<String>::new());
    assert!(!data.join("postgres/data/postmaster.pid").exists(), "the database did not stop by itself");
}

#[test]
fn the_fixture_can_be_asked_and_the_next_start_gives_the_same_address_and_token() {
    let folder = data_folder();
    let dev = Dev::start(folder.path(), &[]);
    assert_expected(&dev);
    let keys: Vec<&str> = dev.announcement.as_object().unwrap().keys().map(String::as_str).collect();
    for key in [
        "mcp_url",
        "api_url",
        "otlp_http_url",
        "otlp_grpc_url",
        "token",
        "organization",
        "repository",
        "database_url",
        "owner_database_url",
    ] {
        assert!(keys.contains(&key), "{key} is missing");
    }
    assert_eq!((dev.text("organization"), dev.text("repository")), ("dev", "example/billing"));
    let mode = fs::metadata(folder.path().join("token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let before = dev.ask("sync_whats_at_risk", &json!({}));
    let token = dev.text("token").to_owned();
    let (status, said) = dev.end(Signal::SIGTERM);
    assert!(status.success(), "{said}");
    assert!(!said.contains(&token), "the token is told where only progress belongs: {said}");
    assert_nothing_left(folder.path());

    let dev = Dev::start(folder.path(), &[]);
    assert_eq!(dev.text("token"), token);
    assert_expected(&dev);
    let after = dev.ask("sync_whats_at_risk", &json!({}));
    let instant = |answer: &Value| answer["indexed_at"].as_str().unwrap().to_owned();
    assert!(instant(&after) > instant(&before), "the next start confirms the index");
    assert_eq!(after["feeds"][0]["version"], before["feeds"][0]["version"], "the feed was not due");
    let (status, said) = dev.end(Signal::SIGINT);
    assert!(status.success(), "{said}");
    assert_nothing_left(folder.path());
}

#[test]
fn a_kill_leaves_what_the_next_start_goes_on_from() {
    let folder = data_folder();
    let dev = Dev::start(folder.path(), &[]);
    let token = dev.text("token").to_owned();
    let (status, _) = dev.end(Signal::SIGKILL);
    assert_eq!(status.signal(), Some(9));
    // At once, while the database that was left behind still ends.
    let dev = Dev::start(folder.path(), &[]);
    assert_eq!(dev.text("token"), token);
    assert_expected(&dev);
    dev.end(Signal::SIGTERM);
    assert_nothing_left(folder.path());
}

#[test]
fn a_start_may_be_left_at_any_step() {
    let folder = data_folder();
    for step in ["everything is kept", "the database answers", "indexing", "feed version"] {
        let mut process = command(folder.path(), &[]).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let seen = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains(step)));
        assert!(seen.is_some(), "it never came to `{step}`");
        let pid = nix::unistd::Pid::from_raw(process.id().try_into().unwrap());
        nix::sys::signal::kill(pid, Signal::SIGINT).unwrap();
        // Read on, so that it can say what it has to.
        lines.for_each(drop);
        let status = process.wait().unwrap();
        // Before the handler is in place the signal itself ends it.
        assert!(status.success() || status.signal() == Some(2), "`{step}`: {status}");
        if status.success() {
            assert_nothing_left(folder.path());
        }
    }
    let dev = Dev::start(folder.path(), &[]);
    assert_expected(&dev);
    dev.end(Signal::SIGTERM);
}
