//! Ignore files of plain folders: git itself says which files they leave, and the walk has to find the same.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use sync_ingest::tree::Tree;
use sync_ingest::walk::{Limits, walk};

use super::repository::Repository;

/// Sources that a walk finds in a folder.
fn walked(folder: &Path) -> BTreeSet<String> {
    let walked = walk(&Tree::open(folder, None).unwrap(), Limits::default());
    walked.candidates.into_iter().map(|candidate| candidate.path).collect()
}

/// Sources that git would add.
fn added(folder: &Path) -> BTreeSet<String> {
    let elsewhere = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.arg("--git-dir").arg(elsewhere.path().join("git")).arg("--work-tree").arg(folder).args(args);
        command.current_dir(folder).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q"]);
    let listed = git(&["ls-files", "-z", "--others", "--exclude-standard"]);
    listed.split('\0').filter(|path| path.strip_suffix(".ts").is_some()).map(str::to_owned).collect()
}

#[test]
fn what_is_ignored_is_what_git_ignores() {
    let files = [
        "a.ts",
        "b.ts",
        "#hash.ts",
        "!bang.ts",
        "space .ts",
        " lead.ts",
        "back\\slash.ts",
        "star*.ts",
        "[x].ts",
        "logs/a.ts",
        "logs/keep/b.ts",
        "logs/keep/c.ts",
        "src/logs/a.ts",
        "src/a.ts",
        "src/deep/er/a.ts",
        "src/deep/er/b.ts",
        "only/only.ts",
        "x/only",
        "folder.ts/in.ts",
        "tail /a.ts",
        "private/a.ts",
        "private/open/a.ts",
        "q/one.ts",
        "q/two.ts",
        "é.ts",
        "Case.ts",
    ];
    for (root, nested) in [
        ("private/\n", ("private", "!a.ts\n!open/\n")),
        ("private/\n!private/open/\n!private/a.ts\n", ("", "")),
        ("private/*\n!private/open/\n", ("private/open", "")),
        ("\\#hash.ts\n\\!bang.ts\n", ("", "")),
        ("#hash.ts\n!bang.ts\n", ("", "")),
        ("space\\ .ts\ntail\\ \n", ("", "")),
        ("a.ts   \ntail \n", ("", "")),
        ("a.ts\t\nb.ts\\ \n lead.ts\n", ("", "")),
        ("logs/**\n!logs/keep/\n", ("", "")),
        ("logs/**\n!logs/**/\n!logs/keep/b.ts\n", ("", "")),
        ("**/logs\n", ("", "")),
        ("/logs\n", ("", "")),
        ("src/**/a.ts\n", ("", "")),
        ("src/**\n!src/deep/er/b.ts\n", ("", "")),
        ("**/er/**\n", ("", "")),
        ("a**.ts\n**.ts\n", ("", "")),
        ("folder.ts/\nonly/\n", ("", "")),
        ("only\n", ("", "")),
        ("*.ts\n!a.ts\n!*/\n", ("src", "a.ts\n")),
        ("*\n!*/\n!src/**/a.ts\n", ("src/deep", "!b.ts\n")),
        ("*.ts\n", ("q", "!*\ntwo.ts\n")),
        ("q/\n", ("q", "!one.ts\n")),
        ("back\\\\slash.ts\nstar\\*.ts\n\\[x\\].ts\n", ("", "")),
        ("[a-b].ts\n[!a].ts\n[^a].ts\n", ("", "")),
        ("[\n[a\nb[.ts\n\\\n", ("", "")),
        ("a.ts\r\nlogs/\r\n", ("", "")),
        ("\u{feff}a.ts\nb.ts\n", ("", "")),
        ("é.ts\ncase.ts\n?.ts\n", ("", "")),
        ("/\n//\n/*\n!/src\n", ("", "")),
        ("!\n!!a.ts\n!\\#\n", ("", "")),
        ("src/a.ts/\nsrc//a.ts\n./a.ts\n../b.ts\n", ("", "")),
        ("{a,b}.ts\n", ("", "")),
        ("a.ts\n!a.ts\na.ts\n", ("", "")),
    ] {
        let folder = Repository::with(&files.map(|path| (path, "")));
        folder.write(".gitignore", root.as_bytes());
        let (at, text) = nested;
        if !text.is_empty() {
            folder.write(&format!("{at}/.gitignore"), text.as_bytes());
        }
        assert_eq!(walked(folder.path()), added(folder.path()), "{root:?} and {text:?} in {at:?}");
    }
}

#[test]
fn what_is_never_read_cannot_be_ignored_back_in() {
    let folder = Repository::with(&[
        ("node_modules/a.ts", ""),
        (".hidden/a.ts", ""),
        ("dist/a.ts", ""),
        ("vendor/a.ts", ""),
        ("go.mod", ""),
        ("a.min.ts", ""),
        ("b.ts", ""),
    ]);
    folder
        .write(".gitignore", b"!node_modules\n!node_modules/**\n!.hidden/\n!dist/\n!dist/a.ts\n!vendor/\n!*.min.ts\n");
    assert_eq!(walked(folder.path()), ["b.ts".to_owned()].into());
}

/// Parts of patterns.
const PARTS: [&str; 19] =
    ["a", "b", "ab", "a.ts", "*", "**", "?", "/", "/", "!", "#", "\\", "[ab]", "[!a]", " ", "*.ts", "**/", "/**", "x"];

/// A line of these parts, but for asterisks that stand together and not between slashes: by its documentation git takes
/// those for one, and then matches more with them.
fn line(parts: &[&str]) -> String {
    let mut line = String::new();
    for part in parts {
        let bounded = line.is_empty() || line == "!" || line.ends_with('/');
        let many = part.starts_with("**") && !bounded || part.starts_with('*') && line.ends_with('*');
        if !many && (part.starts_with('/') || !line.ends_with("**")) {
            line.push_str(part);
        }
    }
    line
}

fn patterns() -> impl Strategy<Value = String> {
    let line = prop::collection::vec(prop::sample::select(&PARTS[..]), 1..5).prop_map(|parts| line(&parts));
    prop::collection::vec(line, 1..5).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_patterns_leave_what_git_leaves(root in patterns(), nested in patterns()) {
        let files = [
            "a.ts", "b.ts", "ab.ts", "#a.ts", "!a.ts", "x.ts", "a/a.ts", "a/b.ts", "a/b/a.ts", "a/b/ab.ts", "b/a.ts",
            "b/a/x.ts", "b/a/b/a.ts", "ab/a/b/x.ts", "a b/a.ts", "x/x/x/a.ts",
        ];
        let folder = Repository::with(&files.map(|path| (path, "")));
        folder.write(".gitignore", root.as_bytes());
        folder.write("a/.gitignore", nested.as_bytes());
        prop_assert_eq!(walked(folder.path()), added(folder.path()), "{:?} and {:?} in a/", root, nested);
    }
}
