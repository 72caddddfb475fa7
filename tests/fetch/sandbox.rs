//! What the children of a service are while they run: no environment, no sockets, no privileges, bounded.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use sync_server::jobs::index_child::{self, IndexRequest};

use crate::ingest::EXECUTABLE;
use crate::ingest::repository::Repository;

/// Processes whose parent is `parent`.
fn children_of(parent: &str) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// What the kernel says of a process.
struct Seen {
    status: BTreeMap<String, String>,
    limits: String,
    environment: Vec<u8>,
    niceness: i32,
}

fn look(process: &str) -> Option<Seen> {
    let folder = Path::new("/proc").join(process);
    let status = std::fs::read_to_string(folder.join("status")).ok()?;
    let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
    let status = status.lines().filter_map(|line| line.split_once(':'));
    Some(Seen {
        status: status.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect(),
        limits: std::fs::read_to_string(folder.join("limits")).ok()?,
        environment: std::fs::read(folder.join("environ")).ok()?,
        // The seventeenth behind the name, which may have spaces in it.
        niceness: stat.rsplit_once(") ")?.1.split(' ').nth(16)?.parse().ok()?,
    })
}

impl Seen {
    fn has_limit(&self, name: &str, value: u64) -> bool {
        self.limits.lines().any(|line| line.starts_with(name) && line.contains(&format!(" {value} ")))
    }
}

#[tokio::test]
async fn an_index_and_its_parsers_have_no_environment_no_sockets_and_limits() {
    // Arrows nested so deep keep a parser busy for as long as it is let.
    let remote = Repository::with(&[("a.ts", &format!("{}1", "a=>".repeat(150_000)))]);
    let commit = remote.commit();
    let folder = tempfile::tempdir().unwrap();
    let (said, script) = (folder.path().join("pid"), folder.path().join("executable"));
    std::fs::write(&script, format!("#!/bin/sh\necho $$ > {}\nexec {EXECUTABLE} \"$@\"\n", said.display())).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
    let request = IndexRequest {
        executable: script,
        path: remote.path().to_owned(),
        rev: Some(commit),
        ref_name: None,
        cache: None,
        gate: "auto",
        known: None,
        spool: std::env::temp_dir(),
    };
    let looking = async {
        loop {
            let index = std::fs::read_to_string(&said).unwrap_or_default().trim().to_owned();
            let parser = children_of(&index).into_iter().next();
            if !index.is_empty()
                && let Some(parser) = parser
                && let (Some(index), Some(parser)) = (look(&index), look(&parser))
                // A process is its parent until it has become the other one.
                && parser.environment.starts_with(b"MALLOC_ARENA_MAX=1\0")
                && parser.has_limit("Max file size", 0)
            {
                return (index, parser);
            }
            tokio::task::yield_now().await;
        }
    };
    let (snapshot, (index, parser)) = tokio::join!(index_child::run(&request), looking);
    assert!(snapshot.unwrap().unwrap().header.partial);
    for seen in [&index, &parser] {
        // Containers may refuse a network of its own, which is looked at where the sandbox is.
        assert_eq!(seen.status["Seccomp"], "2", "no sockets");
        assert_eq!(seen.status["NoNewPrivs"], "1");
        assert!(seen.has_limit("Max core file size", 0));
        assert!(seen.niceness >= 10, "who asks is served first");
    }
    let names: Vec<_> = index.environment.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    assert!(names.iter().all(|name| name.is_empty() || name.starts_with("PWD=")), "{names:?}");
    assert_eq!(parser.environment, b"MALLOC_ARENA_MAX=1\0");
    assert!(index.has_limit("Max address space", 4 << 30) && index.has_limit("Max open files", 1024));
    assert!(index.has_limit("Max cpu time", 600) && index.has_limit("Max file size", 4 << 30));
}
