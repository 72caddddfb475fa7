//! Arguments, output, errors and exit codes.

use std::path::Path;
use std::process::{Command, Output};

use super::repository::Repository;
use super::{EXECUTABLE, Snapshot, run_index, snapshot_of};

fn error_of(output: &Output, code: i32) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert!(output.stdout.is_empty(), "an error writes no snapshot");
    text
}

#[test]
fn errors_say_what_and_what_next() {
    let folder = Repository::with(&[("a.ts", "")]);
    let file = folder.path().join("a.ts");
    let missing = folder.path().join("missing");
    let damaged = Repository::with(&[(".git/HEAD", "nonsense")]);
    for (path, args, expected) in [
        (missing.as_path(), vec![], "there is nothing at"),
        (file.as_path(), vec![], "is not a folder"),
        (folder.path(), vec!["--rev", "main"], "is a plain folder, which has no revision `main`"),
        (folder.path(), vec!["--catalog", "/nonexistent"], "the catalog cannot be used"),
        (damaged.path(), vec![], "cannot be read"),
    ] {
        let error = error_of(&run_index(path, &args), 1);
        assert!(error.starts_with("error: ") && error.contains(expected), "{error}");
        assert!(error.contains("; next: "), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    folder.commit();
    for rev in ["nonsense", "--help", "HEAD:a.ts", "0000000000000000000000000000000000000000"] {
        let error = error_of(&run_index(folder.path(), &[&format!("--rev={rev}")]), 1);
        assert!(error.contains("names no commit"), "{error}");
    }
}

#[test]
fn bad_use_is_exit_2_and_help_has_an_example() {
    let index = |args: &[&str]| Command::new(EXECUTABLE).arg("index").args(args).output().unwrap();
    assert_eq!(index(&[]).status.code(), Some(2));
    assert_eq!(index(&[".", "--gate", "maybe"]).status.code(), Some(2));
    assert_eq!(index(&[".", "--max-files", "many"]).status.code(), Some(2));
    let help = index(&["--help"]);
    assert!(help.status.success());
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.contains("Example:") && help.contains("syncd index . --out"), "{help}");
    let root = Command::new(EXECUTABLE).arg("--help").output().unwrap();
    assert!(!String::from_utf8(root.stdout).unwrap().contains("parse"), "the child is not for people");
}

#[test]
fn the_gate_refuses_with_exit_3_and_the_reason() {
    let plain = Repository::with(&[("a.ts", "")]);
    let several = Repository::with(&[("a/x.ts", ""), ("group/b/x.ts", "")]);
    for repository in ["a", "group/b"] {
        several.git(&["init", "-q", repository]);
    }
    let one = Repository::with(&[("a.ts", "")]);
    one.commit();
    let refused = |path: &Path, args: &[&str], reason: &str| {
        let error = error_of(&run_index(path, args), 3);
        assert!(error.contains(&format!("({reason})")) && error.contains("; next: "), "{error}");
    };
    refused(plain.path(), &["--gate", "auto"], "no_git_repo");
    refused(several.path(), &["--gate", "auto"], "several_repos");
    refused(one.path(), &["--gate", "off"], "disabled");
    assert_eq!(snapshot_of(several.path(), &[]).paths(), ["a/x.ts", "group/b/x.ts"]);
    let auto = snapshot_of(one.path(), &["--gate", "auto"]);
    assert_eq!(auto.header.gate, "auto");

    let home = |home: &Path| {
        let output = Command::new(EXECUTABLE).arg("index").arg(one.path()).env("HOME", home).output().unwrap();
        output.status.code()
    };
    assert_eq!(home(one.path()), Some(3), "a home folder, though it is a repository");
    assert_eq!(home(&one.path().join(".git")), Some(3), "a folder above a home");
    assert_eq!(home(plain.path()), Some(0));
}

#[test]
fn output_goes_to_a_file_whole_or_not_at_all_and_compressed_by_its_name() {
    let folder = Repository::with(&[("a.ts", "export const a = 1;\n")]);
    let out = tempfile::tempdir().unwrap();
    let plain = out.path().join("s.ndjson");
    let compressed = out.path().join("s.ndjson.zst");
    for path in [&plain, &compressed] {
        let output = run_index(folder.path(), &["--out", path.to_str().unwrap()]);
        assert!(output.status.success() && output.stdout.is_empty());
        assert!(output.stderr.is_empty(), "no progress where there is no terminal");
    }
    let plain_bytes = std::fs::read(&plain).unwrap();
    let compressed_bytes = std::fs::read(&compressed).unwrap();
    assert_eq!(compressed_bytes[..4], [0x28, 0xb5, 0x2f, 0xfd]);
    assert_eq!(Snapshot::read(compressed_bytes).files, Snapshot::read(plain_bytes.clone()).files);

    let refused = run_index(&folder.path().join("missing"), &["--out", plain.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(std::fs::read(&plain).unwrap(), plain_bytes, "the earlier snapshot stays");
    assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 2, "nothing else is left");
    let nowhere = run_index(folder.path(), &["--out", "/nonexistent/s.ndjson"]);
    let error = error_of(&nowhere, 1);
    assert!(error.contains("`/nonexistent/s.ndjson` cannot be written"), "{error}");
}

#[test]
fn a_parse_child_that_gets_nonsense_ends_with_an_error() {
    use std::io::Write;
    use std::process::Stdio;
    let mut child = Command::new(EXECUTABLE)
        .arg("parse")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&[0xff; 16]).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("error: the parse child ended"));
}

#[test]
fn a_pipe_is_written_to_and_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (source, pipe) = (folder.path().join("source"), folder.path().join("pipe"));
    std::fs::create_dir(&source).unwrap();
    std::fs::write(source.join("a.ts"), "export const one = 1;\n").unwrap();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read_to_string(pipe).unwrap()
    });
    let done = Command::new(EXECUTABLE).args(["index", "--out"]).args([&pipe, &source]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(reader.join().unwrap().starts_with(r#"{"kind":"header""#));
    assert!(!std::fs::metadata(&pipe).unwrap().is_file());
}
