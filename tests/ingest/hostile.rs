//! Repositories made to escape, to run something, or to never end.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::repository::Repository;
use super::{EXECUTABLE, Snapshot, snapshot_of};

#[test]
fn nothing_of_a_repository_or_its_users_configuration_is_run() {
    let canary = tempfile::tempdir().unwrap();
    let touch = |name: &str| format!("touch {}", canary.path().join(name).display());
    let folder =
        Repository::with(&[("a.ts", "export const a = 1;\n"), (".gitattributes", "*.ts filter=evil diff=evil\n")]);
    folder.commit();
    for (key, name) in [
        ("core.fsmonitor", "fsmonitor"),
        ("core.sshCommand", "ssh"),
        ("core.pager", "pager"),
        ("core.editor", "editor"),
        ("filter.evil.smudge", "smudge"),
        ("filter.evil.clean", "clean"),
        ("filter.evil.process", "process"),
        ("diff.evil.textconv", "textconv"),
        ("credential.helper", "credential"),
        ("uploadpack.packObjectsHook", "pack"),
    ] {
        folder.git(&["config", key, &touch(name)]);
    }
    for hook in ["post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"] {
        let path = folder.path().join(".git/hooks").join(hook);
        folder.write(&format!(".git/hooks/{hook}"), format!("#!/bin/sh\n{}\n", touch(hook)).as_bytes());
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join(".gitconfig"), format!("[core]\n\tfsmonitor = {}\n", touch("global"))).unwrap();
    let output = Command::new(EXECUTABLE)
        .arg("index")
        .arg(folder.path())
        .env("HOME", home.path())
        .env("GIT_DIR", "/nonexistent")
        .env("GIT_EXTERNAL_DIFF", touch("environment"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(Snapshot::read(output.stdout).paths(), ["a.ts"]);
    let touched: Vec<_> = std::fs::read_dir(canary.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(touched.is_empty(), "{touched:?}");
}

#[test]
fn indexing_writes_nothing_into_the_repository() {
    fn files(folder: &Path, found: &mut Vec<(String, u64)>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let metadata = entry.metadata().unwrap();
            if metadata.is_dir() {
                files(&entry.path(), found);
            } else {
                found.push((entry.path().display().to_string(), metadata.len()));
            }
        }
        found.sort();
    }
    let folder = Repository::with(&[("a.ts", "export const a = 1;\n"), ("package-lock.json", "{}")]);
    folder.commit();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    files(folder.path(), &mut before);
    snapshot_of(folder.path(), &[]);
    files(folder.path(), &mut after);
    assert_eq!(before, after);
}

#[test]
fn a_tree_that_holds_itself_many_times_ends_at_the_limit() {
    let folder = Repository::with(&[("a.ts", "export const a = 1;\n")]);
    folder.commit();
    let mut tree = folder.git(&["rev-parse", "HEAD^{tree}"]);
    for _ in 0..10 {
        let entries = (0..10).fold(String::new(), |mut text, n| {
            let _ = writeln!(text, "040000 tree {tree}\td{n}");
            text
        });
        tree = folder.git_with_input(&["mktree"], &entries);
    }
    let commit = folder.git(&["commit-tree", "-m", "bomb", &tree]);
    let snapshot = snapshot_of(folder.path(), &["--rev", &commit, "--max-entries", "3000"]);
    assert_eq!(snapshot.reasons(), [("tree_too_large", 1)]);
    assert!(!snapshot.files.is_empty() && snapshot.files.len() < 3000);
}

#[test]
fn paths_deeper_than_a_database_takes_are_recorded_and_others_walked() {
    let folder = Repository::with(&[]);
    folder.git(&["init", "-q"]);
    let (deep, deeper) = ("d/".repeat(500), "e/".repeat(2100));
    let text = "export const a = 1;\n";
    let file = |path: &str| format!("M 100644 inline {path}x.ts\ndata {}\n{text}\n", text.len());
    let import = format!(
        "commit refs/heads/trunk\ncommitter T <t@example.com> 0 +0000\ndata 1\nm\n{}{}",
        file(&deep),
        file(&deeper)
    );
    folder.git_with_input(&["fast-import", "--quiet"], &import);
    let snapshot = snapshot_of(folder.path(), &["--rev", "trunk"]);
    assert_eq!(snapshot.paths(), [format!("{deep}x.ts")]);
    assert_eq!(snapshot.reasons(), [("path_too_long", 1)]);
}
