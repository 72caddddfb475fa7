//! Installs a package into a folder of its own and runs `walk.mjs` in it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use semver::Version;

use super::RecordError;
use super::lines::{End, Recording};

const WALKER: &str = include_str!("walk.mjs");
/// Members of members that are followed.
const DEPTH: usize = 8;
/// Methods that are called.
const METHODS: usize = 10_000;
/// How long an installation may take.
const INSTALL: Duration = Duration::from_mins(5);
/// What the walker gets beyond its own time before it is ended.
const GRACE: Duration = Duration::from_secs(10);
/// How often a program is asked whether it has ended.
const WATCH: Duration = Duration::from_millis(20);

/// Records a package: `spec` is `name@version` or `name`, `clients` how its clients are made, by prefix.
pub(super) fn record(
    package: &str,
    version: Option<&str>,
    clients: &[(String, String)],
    seconds: u64,
) -> Result<(Version, Recording), RecordError> {
    let folder = tempfile::tempdir().map_err(|error| RecordError::Folder(error.to_string()))?;
    let path = folder.path();
    let wrote = |name: &str, text: &str| {
        std::fs::write(path.join(name), text).map_err(|error| RecordError::Folder(error.to_string()))
    };
    wrote("package.json", "{\"private\": true}\n")?;
    wrote("walk.mjs", WALKER)?;
    let spec = version.map_or_else(|| package.to_owned(), |version| format!("{package}@{version}"));
    let mut npm = Command::new("npm");
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--loglevel=error", "--", &spec]);
    let (ended, said) = run(npm.current_dir(path), path, INSTALL, "npm")?;
    if !ended {
        return Err(RecordError::Slow { what: "npm install", seconds: INSTALL.as_secs() });
    }
    let manifest = path.join("node_modules").join(package).join("package.json");
    let Ok(manifest) = std::fs::read_to_string(manifest) else {
        return Err(RecordError::NotInstalled { spec, reason: last_words(&said) });
    };
    let installed = serde_json::from_str::<serde_json::Value>(&manifest).ok();
    let installed = installed.as_ref().and_then(|manifest| manifest["version"].as_str()).unwrap_or_default();
    let installed = installed.trim_start_matches('v');
    let version = Version::parse(installed)
        .map_err(|error| RecordError::NotInstalled { spec, reason: format!("its version `{installed}`: {error}") })?;
    let given: serde_json::Map<String, serde_json::Value> =
        clients.iter().map(|(prefix, made)| (prefix.clone(), made.as_str().into())).collect();
    let spec = serde_json::json!({
        "package": package, "clients": given, "depth": DEPTH, "methods": METHODS, "seconds": seconds,
    });
    let mut node = Command::new("node");
    // Nothing of this process's environment is the package's business.
    node.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", path);
    node.args(["walk.mjs", "recorded.jsonl", &spec.to_string()]).current_dir(path);
    let (_, said) = run(&mut node, path, Duration::from_secs(seconds) + GRACE, "node")?;
    let text = std::fs::read_to_string(path.join("recorded.jsonl")).unwrap_or_default();
    let (mut recording, reason) = Recording::read(&text).map_err(RecordError::Unreadable)?;
    if recording.clients.is_empty() {
        recording.clients = clients.to_vec();
    }
    let reason = || reason.clone().unwrap_or_else(|| last_words(&said));
    match recording.end {
        End::NoPackage => Err(RecordError::NotLoaded { package: package.to_owned(), reason: reason() }),
        End::NoClient => Err(RecordError::NoClient(reason())),
        _ if recording.calls.is_empty() => {
            Err(RecordError::Nothing { package: package.to_owned(), methods: recording.methods, reason: reason() })
        }
        _ => Ok((version, recording)),
    }
}

/// Runs a program to its end or its time's; whether it ended by itself, and what it said on stderr.
fn run(
    command: &mut Command,
    folder: &Path,
    limit: Duration,
    name: &'static str,
) -> Result<(bool, String), RecordError> {
    let said = folder.join("said");
    let file = std::fs::File::create(&said).map_err(|error| RecordError::Folder(error.to_string()))?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
    let mut child = command.spawn().map_err(|error| RecordError::NoProgram { name, reason: error.to_string() })?;
    let ended = wait(&mut child, limit);
    let said = std::fs::read(said).map(|said| String::from_utf8_lossy(&said).into_owned()).unwrap_or_default();
    Ok((ended, said))
}

fn wait(child: &mut Child, limit: Duration) -> bool {
    let start = Instant::now();
    while start.elapsed() < limit {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(WATCH),
            _ => return true,
        }
    }
    // It may have ended meanwhile; either way it is gone after this.
    let _ = child.kill();
    let _ = child.wait();
    false
}

/// The last line that says something.
fn last_words(said: &str) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let telling =
        lines.iter().find(|line| line.contains("notarget") || line.contains("404") || line.contains("Error:"));
    telling.or(lines.last()).map_or_else(|| "it said nothing".to_owned(), |line| line.chars().take(200).collect())
}
