//! Manifests and lockfiles that were written to cost time or to be believed: each is read, or a problem that says why.

use super::tests::{UNKNOWN, pinned};
use super::*;

/// What the root gets of `stripe`, for which its manifest asks with `^2`, and the problems.
fn asked(name: &str, bytes: impl Into<Vec<u8>>) -> (Pinned, Vec<Problem>) {
    let manifest = br#"{"name":"app","dependencies":{"stripe":"^2"}}"#.to_vec();
    let files = [("package.json".to_owned(), manifest), (name.to_owned(), bytes.into())];
    let (pins, problems) = Pins::read(&Manifests { files: files.into() }, &|_| true);
    (pins.sdk_version("a.ts", "stripe"), problems)
}

fn is_refused(name: &str, bytes: impl Into<Vec<u8>>, reason: Reason) {
    let (found, problems) = asked(name, bytes);
    let told: Vec<_> = problems.iter().map(|problem| (problem.path.as_str(), problem.reason)).collect();
    assert_eq!(told, [(name, reason)]);
    assert!(!problems[0].detail.is_empty());
    if reason == Reason::LockfileUnreadable {
        assert_eq!(found, pinned("^2", "manifest_range"), "{name}");
    }
}

#[test]
fn what_multiplies_or_nests_is_refused() {
    let lines = |text: &str, count: usize| text.repeat(count);
    let staircase = (1..1_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect::<Vec<_>>().concat();
    for text in [
        "importers: &a\n  .: *a\n".to_owned(),
        "a: &a [x]\nimporters:\n  .:\n    dependencies: *a\n".to_owned(),
        "importers:\n  .:\n    <<: *missing\n".to_owned(),
        "importers:\n  ? &x a\n  : b\n".to_owned(),
        format!("importers:\n{staircase}"),
        format!("importers: {}", lines("- ", 200_000)),
        format!("importers:\n  {}x", lines("- ", 200_000)),
        format!("importers:\n  {}x", lines("? ", 100_000)),
        format!("importers: {}", lines("{a: ", 100_000)),
        format!("importers: {}x", lines("!a ", 100_000)),
        format!("importers:\n  'a{}", lines("''", 100_000)),
        "importers: 1\n---\nimporters: 2\n".to_owned(),
        "%YAML 9.9\n---\nimporters: {}\n...\n%".to_owned(),
        "\timporters:\n".to_owned(),
    ] {
        is_refused("pnpm-lock.yaml", text, Reason::LockfileUnreadable);
    }
    is_refused("pnpm-workspace.yaml", "catalog: &a\n  x: *a\n", Reason::ManifestUnreadable);
    is_refused("pnpm-workspace.yaml", format!("catalog: {}", "[".repeat(100_000)), Reason::ManifestUnreadable);
    for name in ["package-lock.json", "npm-shrinkwrap.json", "bun.lock"] {
        is_refused(name, format!(r#"{{"packages":{}"#, r#"{"a":"#.repeat(100_000)), Reason::LockfileUnreadable);
        is_refused(name, format!(r#"{{"workspaces":{}"#, "[".repeat(100_000)), Reason::LockfileUnreadable);
    }
    is_refused("sub/package.json", format!(r#"{{"dependencies":{}"#, "[".repeat(100_000)), Reason::ManifestUnreadable);
}

#[test]
fn what_is_no_text_is_refused_and_a_mark_of_order_is_not() {
    for name in ["package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock"] {
        is_refused(name, b"\"a\xff\":\n".to_vec(), Reason::LockfileUnreadable);
        is_refused(name, b"\xff\xfe{\0}\0".to_vec(), Reason::LockfileUnreadable);
    }
    is_refused("sub/package.json", b"{\"name\":\"\xff\"}".to_vec(), Reason::ManifestUnreadable);
    is_refused("pnpm-workspace.yaml", b"catalog:\n  \xff: 1\n".to_vec(), Reason::ManifestUnreadable);
    for (name, text) in [
        ("package-lock.json", r#"{"packages":{"node_modules/stripe":{"version":"2.1.0"}}}"#),
        ("pnpm-lock.yaml", "dependencies:\n  stripe: 2.1.0\n"),
        ("pnpm-lock.yaml", "importers:\r\n  .:\r\n    dependencies:\r\n      stripe: 2.1.0\r\n"),
        ("yarn.lock", "stripe@^2:\n  version \"2.1.0\"\n"),
        ("bun.lock", r#"{"packages":{"stripe":["stripe@2.1.0"]}}"#),
    ] {
        assert_eq!(asked(name, format!("\u{feff}{text}")), (pinned("2.1.0", "lockfile"), vec![]), "{name}");
    }
}

#[test]
fn of_two_of_one_name_the_last_counts_or_the_file_is_refused() {
    let twice = r#"{"dependencies":{"stripe":"^1"},"dependencies":{"stripe":"^3","stripe":"^4"}}"#;
    let files = [("package.json".to_owned(), twice.as_bytes().to_vec())];
    let (pins, problems) = Pins::read(&Manifests { files: files.into() }, &|_| true);
    assert_eq!((pins.sdk_version("a.ts", "stripe"), problems), (pinned("^4", "manifest_range"), vec![]));
    let entries = r#""node_modules/stripe":{"version":"1.0.0"},"node_modules/stripe":{"version":"2.0.0"}"#;
    let npm = format!(r#"{{"packages":{{{entries}}}}}"#);
    assert_eq!(asked("package-lock.json", npm), (pinned("2.0.0", "lockfile"), vec![]));
    is_refused("package-lock.json", r#"{"packages":{},"packages":{}}"#, Reason::LockfileUnreadable);
    is_refused("pnpm-lock.yaml", "importers: {}\nimporters: {}\n", Reason::LockfileUnreadable);
}

#[test]
fn what_a_lockfile_says_is_believed_only_where_it_is_a_version() {
    let long = format!("1.0.0-{}", "a".repeat(300));
    for version in
        ["", "latest", "1", "1.2", "../../etc/passwd", "99999999999999999999.0.0", "1.0.0\n", "\u{202e}1.0.0", &long]
    {
        let quoted = serde_json::to_string(version).unwrap();
        let npm = format!(r#"{{"packages":{{"node_modules/stripe":{{"version":{quoted}}}}}}}"#);
        assert_eq!(asked("package-lock.json", npm), (UNKNOWN, vec![]), "{version:?}");
        let pnpm = format!("dependencies:\n  stripe:\n    version: {quoted}\n");
        assert_eq!(asked("pnpm-lock.yaml", pnpm), (UNKNOWN, vec![]), "{version:?}");
    }
    // Another version than the manifest allows: what is installed counts, not what was asked for.
    let npm = r#"{"packages":{"node_modules/stripe":{"version":"99.0.0"}}}"#;
    assert_eq!(asked("package-lock.json", npm).0, pinned("99.0.0", "lockfile"));
    for (text, expected) in [
        (r#"{"packages":{"node_modules/stripe":{"version":2}}}"#, "invalid type"),
        (r#"{"packages":[]}"#, "invalid type"),
        (r#"{"packages":{"node_modules/stripe":null}}"#, "invalid type"),
    ] {
        let (found, problems) = asked("package-lock.json", text);
        assert_eq!(found, pinned("^2", "manifest_range"));
        assert!(problems[0].detail.contains(expected), "{}", problems[0].detail);
    }
    let manifest = format!(r#"{{"dependencies":{{"stripe":"{}"}}}}"#, "^1 || ".repeat(100));
    let files = [("package.json".to_owned(), manifest.into_bytes())];
    assert_eq!(Pins::read(&Manifests { files: files.into() }, &|_| true).0.sdk_version("a.ts", "stripe"), UNKNOWN);
}

#[test]
fn very_large_ones_are_read() {
    let npm = (0..60_000)
        .map(|n| format!(r#""node_modules/p{n}":{{"version":"1.0.{n}","x":{{}}}},"#))
        .collect::<Vec<_>>()
        .concat();
    let npm = format!(r#"{{"packages":{{{npm}"node_modules/stripe":{{"version":"2.2.0"}}}}}}"#);
    assert_eq!(asked("package-lock.json", npm), (pinned("2.2.0", "lockfile"), vec![]));
    let packages =
        (0..60_000).map(|n| format!("  p{n}@1.0.0:\n    resolution: {{integrity: x}}\n")).collect::<Vec<_>>().concat();
    let pnpm = format!("importers:\n  .:\n    dependencies:\n      stripe: 2.2.0\npackages:\n{packages}");
    assert_eq!(asked("pnpm-lock.yaml", pnpm), (pinned("2.2.0", "lockfile"), vec![]));
    let bun = (0..60_000).map(|n| format!(r#""p{n}":["p{n}@1.0.0",{{}}],"#)).collect::<Vec<_>>().concat();
    let bun = format!(r#"{{"packages":{{{bun}"stripe":["stripe@2.2.0"],}}}}"#);
    assert_eq!(asked("bun.lock", bun), (pinned("2.2.0", "lockfile"), vec![]));
}

#[test]
fn what_nobody_asks_for_is_not_kept_and_what_is_too_much_is_cut() {
    let is_stripe = |name: &str| name == "stripe";
    let read = |name: &str, text: String| {
        let manifest = br#"{"dependencies":{"stripe":"^2","other":"^1"}}"#.to_vec();
        let files = [("package.json".to_owned(), manifest), (name.to_owned(), text.into_bytes())];
        let (pins, problems) = Pins::read(&Manifests { files: files.into() }, &is_stripe);
        let told: Vec<_> = problems.into_iter().map(|problem| (problem.path, problem.reason)).collect();
        (pins.sdk_version("a.ts", "stripe"), pins.sdk_version("a.ts", "other"), told)
    };
    let lines = |count: usize, line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<Vec<_>>().concat();
    let wanted = pinned("2.2.0", "lockfile");
    let importer = |at: usize| format!("  p{at}:\n    dependencies:\n      other: 1.0.0\n      stripe: 2.2.0\n");
    for (name, text) in [
        (
            "yarn.lock",
            lines(9, &|at| format!("other@{at}:\n  version \"1.0.0\"\n")) + "stripe@^2:\n  version \"2.2.0\"\n",
        ),
        (
            "pnpm-lock.yaml",
            format!("importers:\n{}  .:\n    dependencies:\n      stripe: 2.2.0\n", lines(9, &importer)),
        ),
        (
            "package-lock.json",
            r#"{"packages":{"node_modules/other":{"version":"1.0.0"},"node_modules/stripe":{"version":"2.2.0"}}}"#
                .to_owned(),
        ),
        ("bun.lock", r#"{"packages":{"other":["other@1.0.0"],"stripe":["stripe@2.2.0"]},}"#.to_owned()),
    ] {
        assert_eq!(read(name, text), (wanted.clone(), UNKNOWN, vec![]), "{name}");
    }
    let manifest = || (pinned("^2", "manifest_range"), UNKNOWN);
    for (name, text) in [
        ("yarn.lock", lines(200_001, &|at| format!("stripe@{at}:\n  version \"1.0.0\"\n"))),
        ("pnpm-lock.yaml", format!("importers:\n{}", lines(100_001, &importer))),
        ("pnpm-lock.yaml", format!("importers:\n  .:\n{}", lines(100_000, &|at| format!("    p{at}: 1.0.0\n")))),
        (
            "package-lock.json",
            format!(
                "{{\"packages\":{{{}}}}}",
                lines(200_001, &|at| format!("\"{at}/node_modules/stripe\":{{}},")) + "\"\":{}"
            ),
        ),
        ("bun.lock", format!("{{\"workspaces\":{{{}}}}}", lines(200_001, &|at| format!("\"{at}\":{{}},")))),
    ] {
        let (stripe, other, told) = read(name, text);
        assert_eq!(((stripe, other), told), (manifest(), vec![(name.to_owned(), Reason::LockfileCut)]));
    }
    let (_, _, told) = read(
        "pnpm-workspace.yaml",
        format!("catalogs:\n{}", lines(100_000, &|at| format!("  c{at}: {{stripe: 1}}\n"))),
    );
    assert_eq!(told, [("pnpm-workspace.yaml".to_owned(), Reason::ManifestCut)]);
}
