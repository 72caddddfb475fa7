//! `syncd dev` as a process: what a person who starts it sees, and what is left when it ends, however it ends.

mod administration;
mod attached;
mod lifecycle;
mod refusals;
mod repositories;

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The executable under test.
const EXECUTABLE: &str = env!("CARGO_BIN_EXE_syncd-under-test");

/// A data folder. Under root the database runs as another user, who has to reach it.
fn data_folder() -> TempDir {
    let folder = tempfile::Builder::new().prefix("sd").tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    folder
}

/// A `syncd dev` that runs.
struct Dev {
    process: Child,
    announcement: Value,
    stderr: Option<JoinHandle<String>>,
}

impl Dev {
    /// Starts it and waits until the first index can be asked; panics with what it said where it ends before.
    fn start(data: &Path, args: &[&str]) -> Self {
        let mut process = command(data, args).spawn().unwrap();
        let stderr = collect(process.stderr.take().unwrap());
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Ok(announcement) = serde_json::from_str(&line) else {
            panic!("it ended with {}: {}", process.wait().unwrap(), stderr.join().unwrap());
        };
        Self { process, announcement, stderr: Some(stderr) }
    }

    fn text(&self, key: &str) -> &str {
        self.announcement[key].as_str().unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.process.id().try_into().unwrap()), signal).unwrap();
    }

    /// Sends a signal and waits for the end; what it said on stderr comes back.
    fn end(mut self, signal: Signal) -> (ExitStatus, String) {
        self.signal(signal);
        let status = self.process.wait().unwrap();
        (status, self.stderr.take().unwrap().join().unwrap())
    }

    /// Calls a tool and gives the structured content.
    fn ask(&self, tool: &str, arguments: &Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}});
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let answer: Value = runtime.block_on(async {
            let request = reqwest::Client::new()
                .post(self.text("mcp_url"))
                .bearer_auth(self.text("token"))
                .header("Accept", "application/json, text/event-stream")
                .json(&body);
            request.send().await.unwrap().json().await.unwrap()
        });
        let result = &answer["result"]["structuredContent"];
        assert!(result.is_object(), "{answer}");
        result.clone()
    }

    /// Changes something of `/v1`; the status comes back.
    fn patch(&self, path: &str, body: &Value) -> u16 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let request = reqwest::Client::new().patch(format!("{}{path}", self.text("api_url")));
            request.bearer_auth(self.text("token")).json(body).send().await.unwrap().status().as_u16()
        })
    }

    /// What is at risk, over all pages.
    fn at_risk(&self) -> Vec<Value> {
        let mut findings = Vec::new();
        let mut arguments = json!({"repository": self.text("repository")});
        loop {
            let page = self.ask("sync_whats_at_risk", &arguments);
            findings.extend(page["findings"].as_array().unwrap().iter().cloned());
            if page["next_cursor"].is_null() {
                return findings;
            }
            arguments["cursor"] = page["next_cursor"].clone();
        }
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        // A test that failed halfway leaves nothing running either.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn command(data: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(EXECUTABLE);
    command.args(["dev", "--json", "--data-dir"]).arg(data).args(args);
    // Nothing of whoever runs the tests configures it, but where Postgres is.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("SYNC_") && name != "SYNC_PG_BIN") {
        command.env_remove(name);
    }
    command.env("SYNC_LISTEN", "127.0.0.1:0");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn collect(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = String::new();
        from.read_to_string(&mut text).unwrap();
        text
    })
}

/// Command lines of processes that have to do with the folder.
fn processes_of(data: &Path) -> Vec<String> {
    let data = data.to_str().unwrap();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(line) = fs::read(entry.path().join("cmdline")) else { continue };
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(data) {
            found.push(line);
        }
    }
    found
}
