//! Files made to kill parsers: each is recorded, and its neighbours are indexed all the same.

use super::repository::Repository;
use super::{run_index, snapshot_of};

const NEIGHBOUR: &str = "export const neighbour = 1;\n";

/// Files before, between and after the killers, in the order in which children get them.
fn among_neighbours(killers: &[(&str, String)]) -> Repository {
    let folder = Repository::with(&[]);
    for (name, text) in killers {
        folder.write(name, text.as_bytes());
        for n in 0..4 {
            folder.write(&format!("{}-{n}.ts", name.trim_end_matches(".ts")), NEIGHBOUR.as_bytes());
        }
    }
    folder
}

#[test]
fn a_hundred_kilobytes_of_new_are_refused_or_recorded() {
    let folder = among_neighbours(&[("m.ts", "&new !".repeat(17_000))]);
    let snapshot = snapshot_of(folder.path(), &[]);
    assert_eq!(snapshot.paths(), ["m-0.ts", "m-1.ts", "m-2.ts", "m-3.ts"]);
    assert!(snapshot.header.partial);
    let (path, reason) = snapshot.skips()[0];
    assert_eq!(path, "m.ts");
    assert!(["parse_error", "parse_timeout", "parse_memory"].contains(&reason), "{reason}");
}

#[test]
fn nesting_beyond_any_stack_is_recorded_as_an_overflow() {
    let folder = among_neighbours(&[
        ("b.ts", format!("{}{}", "[".repeat(260_000), "]".repeat(260_000))),
        ("m.ts", format!("{}1{}", "(".repeat(260_000), ")".repeat(260_000))),
        ("y.ts", format!("{}{}", "[(".repeat(130_000), ")]".repeat(130_000))),
    ]);
    let snapshot = snapshot_of(folder.path(), &[]);
    assert_eq!(snapshot.skips(), [("b.ts", "parse_overflow"), ("m.ts", "parse_overflow"), ("y.ts", "parse_overflow")]);
    assert_eq!(snapshot.reasons(), [("parse_overflow", 3)]);
    assert_eq!(snapshot.files.len(), 12, "the neighbours are indexed");
    assert!(snapshot.files.iter().all(|facts| facts.symbols.len() == 1));
}

#[test]
fn deep_but_possible_nesting_is_parsed_or_recorded_and_ends_nothing_else() {
    let shapes: [(&str, String); 6] = [
        ("a.ts", "[".repeat(100_000)),
        ("b.ts", format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))),
        ("c.ts", "(".repeat(100_000)),
        ("d.ts", "`${".repeat(34_000)),
        ("e.ts", format!("type X = {}B{};", "A<".repeat(30_000), ">".repeat(30_000))),
        ("f.ts", format!("x = {}1{};", "{a:".repeat(30_000), "}".repeat(30_000))),
    ];
    let folder = among_neighbours(&shapes);
    let snapshot = snapshot_of(folder.path(), &[]);
    let neighbours = snapshot.files.iter().filter(|facts| facts.path.contains('-')).count();
    assert_eq!(neighbours, 24);
    for (path, _) in shapes {
        let is_indexed = snapshot.paths().contains(&path);
        let is_recorded = snapshot.skips().iter().any(|(skipped, _)| *skipped == path);
        assert!(is_indexed != is_recorded, "{path}");
    }
}

#[test]
fn bytes_that_are_no_text_are_recorded() {
    let folder = Repository::with(&[("a.ts", NEIGHBOUR)]);
    folder.write("latin.ts", b"export const a = '\xe9';\n");
    folder.write(
        "random.ts",
        &(0..4096_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0] | 1).collect::<Vec<_>>(),
    );
    let snapshot = snapshot_of(folder.path(), &[]);
    assert_eq!(snapshot.paths(), ["a.ts"]);
    assert_eq!(snapshot.skips(), [("latin.ts", "parse_error"), ("random.ts", "parse_error")]);
}

#[test]
fn the_limits_of_a_service_leave_room_for_the_killers_too() {
    let folder = among_neighbours(&[("b.ts", format!("{}{}", "[".repeat(260_000), "]".repeat(260_000)))]);
    let output = run_index(folder.path(), &["--limits"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let snapshot = super::Snapshot::read(output.stdout);
    assert_eq!(snapshot.skips(), [("b.ts", "parse_overflow")]);
    assert_eq!(snapshot.files.len(), 4);
}

/// Processes whose parent is `parent`.
fn children_of(parent: u32) -> Vec<u32> {
    let parent_of = |pid: u32| -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| parent_of(*pid) == Some(parent)).collect()
}

/// Looks until it is so, at most half a minute.
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !is_so() {
        assert!(start.elapsed().as_secs() < 30, "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn parse_children_die_with_an_index_that_is_killed() {
    use std::process::{Command, Stdio};
    // Arrows nested so deep keep a parser busy for as long as it is let.
    let folder = among_neighbours(&[("b.ts", format!("{}1", "a=>".repeat(170_000)))]);
    let mut index = Command::new(super::EXECUTABLE)
        .arg("index")
        .arg(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut children = Vec::new();
    eventually("no parse child was started", || {
        children = children_of(index.id());
        !children.is_empty()
    });
    index.kill().unwrap();
    index.wait().unwrap();
    let is_alive = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
    };
    eventually("a parse child outlived its index", || !children.iter().any(is_alive));
}
