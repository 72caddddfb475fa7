//! Bar 17: files made to kill their parser, under the limits that the service sets: each is indexed or recorded with a
//! reason, and its neighbours are indexed.

use std::time::Instant;

use sync_server::jobs::index_child::{self, IndexRequest};

use crate::ingest::EXECUTABLE;
use crate::ingest::repository::Repository;

/// An index has its wall time also where the machine is busy.
const PARTS: usize = 3;

/// Text around text, many times.
fn around(open: &str, inner: &str, close: &str, times: usize) -> String {
    format!("{}{inner}{}", open.repeat(times), close.repeat(times))
}

pub(crate) fn bombs() -> Vec<(&'static str, String)> {
    let long = "n".repeat(100_000);
    vec![
        ("a01.ts", "&new !".repeat(17_000)),
        ("a02.ts", around("[", "", "]", 200_000)),
        ("a03.ts", around("(", "1", ")", 200_000)),
        ("a04.ts", around("[(", "1", ")]", 120_000)),
        ("a05.ts", "[".repeat(400_000)),
        ("a06.ts", format!("x = {}", around("{a:", "1", "}", 100_000))),
        ("a07.ts", around("`${", "1", "}`", 80_000)),
        ("a08.ts", format!("type X = {};", around("A<", "B", ">", 100_000))),
        ("a09.ts", format!("type X = {};", around("{a:", "B", "}", 80_000))),
        ("a10.ts", format!("{}1", "a=>".repeat(150_000))),
        ("a11.ts", format!("x = {}1", "!".repeat(400_000))),
        ("a12.ts", format!("x = {}1", "- ".repeat(200_000))),
        ("a13.ts", format!("x = 1{}", "+1".repeat(200_000))),
        ("a14.ts", format!("x = a{}", ".b".repeat(200_000))),
        ("a15.ts", format!("x = a{}", "()".repeat(200_000))),
        ("a16.ts", format!("x = a{}", "?.[0]".repeat(90_000))),
        ("a17.ts", format!("x = {}1", "a ? b : ".repeat(60_000))),
        ("a18.ts", format!("{}x", "if(a){".repeat(80_000))),
        ("a19.ts", around("function f(){", "", "}", 35_000)),
        ("a20.ts", around("class A{m(){", "", "}}", 35_000)),
        ("a21.ts", format!("x = /{}/", "(a*)*".repeat(90_000))),
        ("a22.ts", format!("x = \"{}", "\\u{0}".repeat(90_000))),
        ("a23.ts", format!("/*{}", "*".repeat(450_000))),
        ("a24.ts", format!("import {{ {long} as {long} }} from '{long}';\n")),
        ("a25.ts", "async ".repeat(80_000)),
        ("a26.ts", format!("x = {}", "await ".repeat(80_000))),
        ("a27.ts", "<".repeat(400_000)),
        ("a28.tsx", format!("x = {}", around("<a>", "", "</a>", 60_000))),
        ("a29.tsx", format!("x = {}", "<a b={".repeat(80_000))),
        ("a30.ts", format!("declare {}", "namespace a { ".repeat(35_000))),
        ("a31.ts", format!("enum E {{{}}}", "a=1<<1,".repeat(60_000))),
        ("a32.ts", "@a(".repeat(150_000)),
        ("a33.ts", format!("label{}", ":l".repeat(200_000))),
        ("a34.ts", format!("type T = {} never", "a extends b ? c : ".repeat(25_000))),
        ("a35.vue", format!("<script>{}</script>", around("[", "", "]", 200_000))),
        ("a36.py", around("(", "1", ")", 200_000)),
        ("a37.py", "lambda x:".repeat(50_000)),
        ("a38.py", format!("x = {}", "not ".repeat(120_000))),
        ("a39.go", format!("package m\nvar x = {}", around("(", "1", ")", 200_000))),
        ("a40.go", format!("package m\nvar x {}int", "[]".repeat(200_000))),
        ("a41.rs", format!("fn f() {{ {} }}", around("(", "1", ")", 200_000))),
        ("a42.rs", format!("type T = {};", around("A<", "B", ">", 100_000))),
    ]
}

/// Indexes a part of the bombs, each with a neighbour.
#[expect(clippy::print_stdout, reason = "for whoever looks with `--nocapture`: how each ended")]
async fn explode(part: usize) {
    let bombs: Vec<_> = bombs().into_iter().skip(part).step_by(PARTS).collect();
    let remote = Repository::with(&[]);
    for (name, text) in &bombs {
        assert!(text.len() < 512 << 10, "{name} would not be parsed at all");
        remote.write(name, text.as_bytes());
        remote.write(&format!("{name}.neighbour.ts"), b"export const neighbour = 1;\n");
    }
    let commit = remote.commit();
    let request = IndexRequest {
        executable: EXECUTABLE.into(),
        path: remote.path().to_owned(),
        rev: Some(commit),
        ref_name: None,
        cache: None,
        gate: "auto",
        known: None,
        spool: std::env::temp_dir(),
    };
    let started = Instant::now();
    let snapshot = sync_tests::facts::whole(index_child::run(&request).await.unwrap().unwrap());
    println!("{} bombs in {:?}: {:?}", bombs.len(), started.elapsed(), snapshot.skipped);
    let paths: Vec<_> = snapshot.files.iter().map(|file| file.path.as_str()).collect();
    for (name, _) in &bombs {
        let is_indexed = paths.contains(name);
        let is_recorded = snapshot.skipped.iter().any(|skipped| skipped.path == *name);
        assert!(is_indexed != is_recorded, "{name}");
        assert!(paths.contains(&format!("{name}.neighbour.ts").as_str()), "{name}");
    }
    let known = ["parse_error", "parse_timeout", "parse_memory", "parse_overflow", "parse_crash", "facts_too_large"];
    assert!(snapshot.skipped.iter().all(|skipped| known.contains(&skipped.reason.as_str())), "{:?}", snapshot.skipped);
    assert!(snapshot.header.partial);
}

#[tokio::test]
async fn a_bomb_costs_itself_and_its_neighbours_are_indexed() {
    explode(0).await;
}

#[tokio::test]
async fn another_bomb_costs_itself_and_its_neighbours_are_indexed() {
    explode(1).await;
}

#[tokio::test]
async fn a_further_bomb_costs_itself_and_its_neighbours_are_indexed() {
    explode(2).await;
}
