//! Bar 16: repositories made to escape, to run something, to fill the disk or never to end. Each is served by git itself,
//! fetched and indexed as the service does it; what is sound in it is indexed, and nothing outside is read or written.

use std::fmt::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use sync_server::jobs::child::ChildError;
use sync_server::jobs::index_child::{self, IndexChildError, IndexRequest};
use sync_tests::facts::{self, SnapshotFacts};

use super::forge::Forge;
use super::untouched::Untouched;
use super::{Fetcher, holding};
use crate::ingest::EXECUTABLE;
use crate::ingest::repository::Repository;

const SOUND: &str = "export const sound = 1;\n";

/// What an index of the repository's head gives, after a fetch.
async fn index(remote: &Repository) -> Result<SnapshotFacts, IndexChildError> {
    let forge = Forge::start().await;
    let url = forge.serve(remote.path(), "hostile");
    let worker = Fetcher::of(&forge).await;
    let fetched = worker.fetch(&url, &["HEAD"]).await.unwrap();
    let cache = worker.folder.path().join("cache");
    let request = IndexRequest {
        executable: EXECUTABLE.into(),
        path: fetched.repository.unwrap(),
        rev: Some(fetched.heads[0].commit.clone()),
        ref_name: Some("main".to_owned()),
        cache: Some(cache.clone()),
        gate: "auto",
        known: None,
        spool: std::env::temp_dir(),
    };
    let snapshot = index_child::run(&request).await.map(Option::unwrap).map(facts::whole);
    // Nothing of a repository became a file by its name.
    assert_eq!(holding(worker.folder.path(), "sound.ts").iter().filter(|path| path.ends_with("sound.ts")).count(), 0);
    snapshot
}

fn paths(snapshot: &SnapshotFacts) -> Vec<&str> {
    snapshot.files.iter().map(|file| file.path.as_str()).collect()
}

fn skipped<'a>(snapshot: &'a SnapshotFacts, path: &str) -> Option<&'a str> {
    snapshot.skipped.iter().find(|skipped| skipped.path == path).map(|skipped| skipped.reason.as_str())
}

/// A repository with a sound file, and a head that has these entries of a tree beside it.
fn with_entries(entries: &[(&str, &str, &[u8])]) -> Repository {
    let remote = Repository::with(&[("sound.ts", SOUND)]);
    remote.commit();
    let blob = remote.git(&["rev-parse", "HEAD:sound.ts"]);
    let mut tree = Vec::new();
    let mut entries: Vec<_> = entries.to_vec();
    entries.push(("100644", &blob, b"sound.ts"));
    entries.sort_by_key(|(_, _, name)| name.to_vec());
    for (mode, id, name) in entries {
        tree.extend(mode.as_bytes());
        tree.push(b' ');
        tree.extend(name);
        tree.push(0);
        tree.extend(hex::decode(id).unwrap());
    }
    let path = remote.path().join("tree.bin");
    std::fs::write(&path, tree).unwrap();
    let tree = remote.git(&["hash-object", "-t", "tree", "-w", "--literally", "tree.bin"]);
    let commit = remote.git(&["commit-tree", "-m", "made", &tree]);
    remote.git(&["update-ref", "HEAD", &commit]);
    remote
}

#[tokio::test]
async fn symlinks_lead_nowhere() {
    let secret = tempfile::tempdir().unwrap();
    std::fs::write(secret.path().join("secret.ts"), "export const secretcanary = 1;\n").unwrap();
    let remote = Repository::with(&[("sound.ts", SOUND)]);
    symlink("/etc/passwd", remote.path().join("passwd.ts")).unwrap();
    symlink(secret.path(), remote.path().join("folder")).unwrap();
    symlink(secret.path().join("secret.ts"), remote.path().join("secret.ts")).unwrap();
    symlink("../../../../../../proc/self/environ", remote.path().join("environ.ts")).unwrap();
    symlink("loop.ts", remote.path().join("loop.ts")).unwrap();
    remote.commit();
    let mut untouched = Untouched::watch(&[secret.path(), &secret.path().join("secret.ts")]);
    let snapshot = index(&remote).await.unwrap();
    assert_eq!(untouched.told(), 0, "somebody followed a link");
    assert_eq!(paths(&snapshot), ["sound.ts"]);
    assert!(!serde_json::to_string(&snapshot.files).unwrap().contains("secretcanary"));
}

#[tokio::test]
async fn names_that_lead_out_of_a_tree_or_into_git_are_no_files() {
    let blob = {
        let remote = Repository::with(&[("sound.ts", SOUND)]);
        remote.commit();
        remote.git(&["rev-parse", "HEAD:sound.ts"])
    };
    let remote = with_entries(&[
        ("100644", &blob, b"../../escape.ts"),
        ("100644", &blob, b".."),
        ("100644", &blob, b"."),
        ("100644", &blob, b"/etc/absolute.ts"),
        ("100644", &blob, b"a/b.ts"),
        ("100644", &blob, b"control\x1b[31m\n.ts"),
        ("100644", &blob, b"latin\xe9.ts"),
        ("100644", &blob, b"Case.ts"),
        ("100644", &blob, b"case.ts"),
        ("100755", &blob, b"run.ts"),
        ("100644", &blob, b"C:\\x.ts"),
    ]);
    let snapshot = index(&remote).await.unwrap();
    let found = paths(&snapshot);
    for sound in ["sound.ts", "Case.ts", "case.ts", "run.ts"] {
        assert!(found.contains(&sound), "{sound}: {found:?}");
    }
    for path in &found {
        let is_plain = path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
        assert!(is_plain && !path.contains(|c: char| c.is_control()), "{path:?}");
    }
}

#[tokio::test]
async fn a_git_folder_in_a_tree_configures_nothing() {
    let canary = tempfile::tempdir().unwrap();
    let touch = format!("touch {}", canary.path().join("ran").display());
    let remote = Repository::with(&[("sound.ts", SOUND)]);
    remote.commit();
    let config = remote.git_with_input(
        &["hash-object", "-w", "--stdin"],
        &format!("[core]\n\tfsmonitor = {touch}\n\tsshCommand = {touch}\n[include]\n\tpath = /etc/passwd\n"),
    );
    let hook = remote.git_with_input(&["hash-object", "-w", "--stdin"], &format!("#!/bin/sh\n{touch}\n"));
    let tree = |text: String| {
        std::fs::write(remote.path().join("t"), text).unwrap();
        remote.git_with_input(&["mktree"], &std::fs::read_to_string(remote.path().join("t")).unwrap())
    };
    let hooks = tree(format!("100755 blob {hook}\tpost-checkout\n100755 blob {hook}\treference-transaction\n"));
    let git = tree(format!("100644 blob {config}\tconfig\n040000 tree {hooks}\thooks\n"));
    let made = with_entries(&[]);
    // The objects are needed where the tree is made.
    for (kind, id) in [("blob", &config), ("blob", &hook), ("tree", &hooks), ("tree", &git)] {
        let object = remote.path().join(".git/objects").join(&id[..2]).join(&id[2..]);
        let to = made.path().join(".git/objects").join(&id[..2]);
        std::fs::create_dir_all(&to).unwrap();
        std::fs::copy(object, to.join(&id[2..])).unwrap_or_else(|error| panic!("{kind}: {error}"));
    }
    let sound = made.git(&["rev-parse", "HEAD:sound.ts"]);
    let mut bytes = Vec::new();
    for (mode, id, name) in [("40000", &git, ".git"), ("40000", &git, "GIT~1"), ("100644", &sound, "sound.ts")] {
        bytes.extend(format!("{mode} {name}\0").as_bytes());
        bytes.extend(hex::decode(id).unwrap());
    }
    std::fs::write(made.path().join("tree.bin"), bytes).unwrap();
    let root = made.git(&["hash-object", "-t", "tree", "-w", "--literally", "tree.bin"]);
    let commit = made.git(&["commit-tree", "-m", "made", &root]);
    made.git(&["update-ref", "HEAD", &commit]);
    let snapshot = index(&made).await.unwrap();
    assert_eq!(paths(&snapshot), ["sound.ts"]);
    assert_eq!(std::fs::read_dir(canary.path()).unwrap().count(), 0, "nothing ran");
}

#[tokio::test]
async fn submodules_filters_large_file_pointers_and_attributes_start_nothing() {
    let canary = tempfile::tempdir().unwrap();
    let touch = format!("touch {}", canary.path().join("ran").display());
    let other = Repository::with(&[("inner.ts", "export const inner = 1;\n")]);
    let inner = other.commit();
    let remote = Repository::with(&[
        ("sound.ts", SOUND),
        (".gitattributes", "*.ts filter=evil diff=evil merge=evil text eol=crlf\n*.js export-ignore ident\n"),
        (".lfsconfig", "[lfs]\n\turl = http://127.0.0.2:1/lfs\n"),
        (
            "model.js",
            "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n",
        ),
    ]);
    remote.write(".gitmodules", format!("[submodule \"s\"]\n\tpath = s\n\turl = file://{}\n\tupdate = !{touch}\n[submodule \"../../x\"]\n\tpath = x\n\turl = ext::{touch}\n", other.path().display()).as_bytes());
    remote.commit();
    remote.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{inner},s")]);
    remote.git(&["commit", "-qm", "submodule"]);
    for (key, value) in
        [("filter.evil.smudge", &touch), ("uploadpack.packObjectsHook", &touch), ("core.fsmonitor", &touch)]
    {
        remote.git(&["config", key, value]);
    }
    for hook in ["post-upload-pack", "pre-auto-gc", "reference-transaction"] {
        remote.write(&format!(".git/hooks/{hook}"), format!("#!/bin/sh\n{touch}\n").as_bytes());
        let path = remote.path().join(".git/hooks").join(hook);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut untouched = Untouched::watch(&[canary.path(), other.path()]);
    let snapshot = index(&remote).await.unwrap();
    assert_eq!(paths(&snapshot), ["sound.ts"]);
    assert_eq!(skipped(&snapshot, "model.js"), Some("lfs_pointer"));
    assert_eq!(untouched.told(), 0, "somebody looked into the submodule or ran something");
    assert_eq!(std::fs::read_dir(canary.path()).unwrap().count(), 0, "nothing ran");
}

#[tokio::test]
async fn trees_that_hold_themselves_and_more_files_than_are_read_end_at_a_limit() {
    let remote = Repository::with(&[("sound.ts", SOUND)]);
    remote.commit();
    let mut tree = remote.git(&["rev-parse", "HEAD^{tree}"]);
    for _ in 0..10 {
        let entries = (0..10).fold(String::new(), |mut text, n| {
            let _ = writeln!(text, "040000 tree {tree}\td{n}");
            text
        });
        tree = remote.git_with_input(&["mktree"], &entries);
    }
    let commit = remote.git(&["commit-tree", "-m", "bomb", &tree]);
    remote.git(&["update-ref", "HEAD", &commit]);
    let refused = index(&remote).await.unwrap_err();
    let IndexChildError::Child(ChildError::Refused { what, next }) = &refused else { panic!("{refused:?}") };
    assert!(what.contains("too_large") && !next.is_empty(), "{what}");
}

#[tokio::test]
async fn large_files_and_deep_paths_cost_themselves() {
    let remote = Repository::with(&[]);
    remote.git(&["init", "-q"]);
    // Git itself serves no more than 2048 folders in one another.
    let (deep, deeper) = ("d/".repeat(500), format!("{}/", "e".repeat(100)).repeat(60));
    let file = |path: &str| format!("M 100644 inline {path}x.ts\ndata {}\n{SOUND}\n", SOUND.len());
    let import = format!(
        "commit refs/heads/trunk\ncommitter T <t@example.com> 0 +0000\ndata 1\nm\n{}{}{}",
        file(&deep),
        file(&deeper),
        file("")
    );
    remote.git_with_input(&["fast-import", "--quiet"], &import);
    remote.git(&["checkout", "-q", "trunk", "--", "x.ts"]);
    let large = std::fs::File::create(remote.path().join("large.ts")).unwrap();
    large.set_len(96 << 20).unwrap();
    remote.git(&["add", "large.ts"]);
    let tree = remote.git(&["write-tree"]);
    let whole = remote.git(&["ls-tree", "trunk"]);
    let blob = remote.git(&["ls-tree", &tree, "large.ts"]);
    let tree = remote.git_with_input(&["mktree"], &format!("{whole}\n{blob}\n"));
    let commit = remote.git(&["commit-tree", "-m", "large", &tree]);
    remote.git(&["update-ref", "refs/heads/trunk", &commit]);
    let snapshot = index(&remote).await.unwrap();
    assert_eq!(paths(&snapshot), [format!("{deep}x.ts"), "x.ts".to_owned()]);
    assert!(skipped(&snapshot, "large.ts").is_some_and(|reason| reason.contains("large")), "{:?}", snapshot.skipped);
    let reasons: Vec<_> = snapshot.header.partial_reasons.iter().map(|reason| reason.reason.as_str()).collect();
    assert!(reasons.contains(&"path_too_long"), "{reasons:?}");
}

#[tokio::test]
async fn objects_that_are_missing_or_of_another_kind_cost_what_they_hit() {
    let blob = {
        let remote = Repository::with(&[("sound.ts", SOUND)]);
        remote.commit();
        remote.git(&["rev-parse", "HEAD:sound.ts"])
    };
    // A file as a folder, a folder that is there as a file, a commit of nowhere.
    let remote = with_entries(&[
        ("40000", &blob, b"folder"),
        ("160000", &"4".repeat(40), b"module"),
        ("100644", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", b"tree.ts"),
    ]);
    remote.git_with_input(&["mktree"], "");
    let forge = Forge::start().await;
    let url = forge.serve(remote.path(), "kinds");
    // Git itself may refuse to send it, which is an answer too.
    if Fetcher::of(&forge).await.fetch(&url, &["HEAD"]).await.is_ok() {
        let snapshot = index(&remote).await.unwrap();
        assert_eq!(paths(&snapshot), ["sound.ts"]);
        assert!(snapshot.header.partial);
    }
}

#[tokio::test]
async fn a_source_folder_with_a_pipe_or_a_device_is_not_waited_for() {
    let remote = Repository::with(&[("sound.ts", SOUND)]);
    remote.commit();
    let forge = Forge::start().await;
    let url = forge.serve(remote.path(), "pipe");
    let worker = Fetcher::of(&forge).await;
    let fetched = worker.fetch(&url, &["HEAD"]).await.unwrap();
    let repository = fetched.repository.unwrap();
    // Somebody put it into the mirror: it is said, and the next fetch makes the mirror anew where it has to.
    nix::unistd::mkfifo(&repository.join("objects/pack/evil.pack"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let request = IndexRequest {
        executable: EXECUTABLE.into(),
        path: repository.clone(),
        rev: Some(fetched.heads[0].commit.clone()),
        ref_name: None,
        cache: None,
        gate: "auto",
        known: None,
        spool: std::env::temp_dir(),
    };
    let error = index_child::run(&request).await.unwrap_err().to_string();
    assert!(error.contains("evil.pack"), "{error}");
    worker.fetch(&url, &["HEAD"]).await.unwrap();
    assert!(!Path::new(&repository.join("objects/pack/evil.pack")).exists());
    assert!(index_child::run(&request).await.is_ok());
}
