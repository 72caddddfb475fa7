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
pub(super) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
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

#[test]
fn sources_of_other_languages_that_are_made_to_kill_cost_themselves() {
    let around = |open: &str, inner: &str, close: &str, times: usize| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    let long = "n".repeat(100_000);
    let sources = [
        ("a.py", around("(", "1", ")", 250_000)),
        ("c.py", "lambda x:".repeat(55_000)),
        ("d.py", (0..900).map(|at| format!("{}if x:\n", " ".repeat(at))).collect::<Vec<_>>().concat()),
        ("f.py", format!("x = '''{}", "f'{".repeat(100_000))),
        ("g.py", "\\\n".repeat(200_000)),
        ("h.py", format!("class {long}:\n  def {long}(self): pass\n")),
        ("m.go", format!("package m\nvar x = {}", around("(", "1", ")", 250_000))),
        ("o.go", format!("package m\nvar x {}int", "[]".repeat(250_000))),
        ("q.go", format!("package m\nfunc {long}() {{ {long}() }}\n")),
    ];
    let folder = Repository::with(&[("z.py", "def last():\n    pass\n"), ("z.go", "package m\n\nfunc last() {}\n")]);
    for (name, text) in &sources {
        folder.write(name, text.as_bytes());
    }
    folder.write("latin.py", b"x = '\xe9'\n");
    folder.write("marked.py", "\u{feff}def marked():\r\n    pass\r\n".as_bytes());
    let snapshot = snapshot_of(folder.path(), &[]);
    for (path, _) in &sources {
        let is_indexed = snapshot.paths().contains(path);
        let is_recorded = snapshot.skips().iter().any(|(skipped, _)| skipped == path);
        assert!(is_indexed != is_recorded, "{path}");
    }
    assert!(snapshot.skips().contains(&("latin.py", "parse_error")));
    let symbols = |path: &str| {
        let facts = snapshot.files.iter().find(|facts| facts.path == path).unwrap();
        facts.symbols.iter().map(|symbol| (symbol.name.clone(), symbol.line)).collect::<Vec<_>>()
    };
    assert_eq!(symbols("z.py"), [("last".to_owned(), 1)]);
    assert_eq!(symbols("z.go"), [("last".to_owned(), 3)]);
    assert_eq!(symbols("marked.py"), [("marked".to_owned(), 1)]);
    for path in ["h.py", "q.go"] {
        assert!(symbols(path).iter().all(|(name, _)| name.len() <= 1024));
    }
    let shortened = snapshot.header.partial_reasons.iter().find(|reason| reason.reason == "name_too_long").unwrap();
    assert_eq!(shortened.files, ["h.py", "q.go"]);
}

#[test]
fn a_line_of_half_a_megabyte_is_parsed_to_its_last_column() {
    let functions =
        (0..9_000).map(|n| format!("function f{n}(a,b){{return a?g(b,{n}):f{n}(b,a)}}")).collect::<Vec<_>>().concat();
    let text = format!("{functions}export{{f0}};");
    assert!(text.len() > 380_000 && text.len() < 512 << 10);
    let folder = among_neighbours(&[("m.ts", text)]);
    let snapshot = snapshot_of(folder.path(), &[]);
    assert!(!snapshot.header.partial);
    let facts = &snapshot.files.iter().find(|facts| facts.path == "m.ts").unwrap();
    assert_eq!((facts.symbols.len(), facts.lines), (9_000, 1));
    assert_eq!(facts.edges.len(), 9_000, "each calls itself");
}

#[test]
fn marks_of_order_and_ends_of_lines_of_other_systems_change_no_place() {
    let text = "import Stripe from 'stripe';\nconst stripe = new Stripe('k');\n\nexport function pay() {\n  return stripe.charges.create({ amount: 1 });\n}\n";
    let folder = Repository::with(&[("a.ts", text)]);
    folder.write("b.ts", format!("\u{feff}{text}").as_bytes());
    folder.write("c.ts", text.replace('\n', "\r\n").as_bytes());
    folder.write("d.ts", format!("\u{feff}{}", text.replace('\n', "\r\n")).as_bytes());
    folder.write("package.json", "\u{feff}{\"dependencies\":{\"stripe\":\"^17.0.0\"}}\r\n".as_bytes());
    let snapshot = snapshot_of(folder.path(), &[]);
    assert!(!snapshot.header.partial);
    for facts in &snapshot.files {
        assert_eq!(facts.lines, snapshot.files[0].lines, "{}", facts.path);
        assert_eq!(facts.symbols, snapshot.files[0].symbols, "{}", facts.path);
        let places: Vec<_> = facts.call_sites.iter().map(|site| (site.line, site.column, site.callee_column)).collect();
        assert_eq!(places, [(5, 10, 25)], "{}", facts.path);
        assert!(facts.call_sites[0].operation.is_some());
    }
    let versions: Vec<_> = snapshot.header.clients.iter().map(|client| client.sdk_version.as_deref()).collect();
    assert_eq!(versions, vec![Some("^17.0.0"); 4]);
}

#[test]
fn names_have_a_length_and_say_that_they_had_a_greater_one() {
    let long = "n".repeat(100_000);
    let folder = among_neighbours(&[
        (
            "a.ts",
            format!("export const {long} = () => 1;\nexport class {long}2 {{ {long}() {{ return {long}(); }} }}\n"),
        ),
        ("m.ts", format!("import {{ {long} }} from './a';\nexport const short = () => {long}();\n{long}.{long}();\n")),
        ("q.ts", format!("const x = {}{{f(){{}}}}{};\n", "{a:".repeat(2_000), "}".repeat(2_000))),
    ]);
    let snapshot = snapshot_of(folder.path(), &[]);
    assert!(snapshot.bytes.len() < 100_000, "{} bytes", snapshot.bytes.len());
    assert_eq!(snapshot.reasons(), [("name_too_long", 3)]);
    assert_eq!(snapshot.header.partial_reasons[0].files, ["a.ts", "m.ts", "q.ts"]);
    let file = |path: &str| snapshot.files.iter().find(|facts| facts.path == path).unwrap();
    let (first, user) = (file("a.ts"), file("m.ts"));
    assert!(first.symbols.iter().all(|symbol| symbol.qualified.len() <= 1024 && symbol.name.len() <= 1024));
    // What is called is found all the same.
    let target = format!("a.ts#{}#0", first.symbols[0].qualified);
    assert!(user.edges.iter().any(|edge| edge.to == target), "{:?}", user.edges.len());
    assert_eq!(user.imports[0].names, [first.symbols[0].name.clone()]);
}
