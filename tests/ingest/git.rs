//! Git repositories that are damaged, incomplete, or made to lead elsewhere: refused with a reason, or partial with one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::repository::Repository;
use super::{EXECUTABLE, Snapshot, run_index, snapshot_of};

const FILES: [(&str, &str); 3] = [
    ("a.ts", "export const a = 1;\n"),
    ("src/b.ts", "import { a } from '../a';\nexport const b = () => a;\n"),
    ("src/c.ts", "export const c = 'secret-canary';\n"),
];

fn committed() -> Repository {
    let folder = Repository::with(&FILES);
    folder.commit();
    folder
}

/// The index fails, or makes a snapshot that its reader finds sound; it never ends otherwise.
fn ends_well(path: &Path, what: &str) -> Option<Snapshot> {
    let output = run_index(path, &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(0) => Some(Snapshot::read(output.stdout)),
        Some(1) => {
            assert!(output.stdout.is_empty(), "{what}: half a snapshot");
            assert!(said.starts_with("error: ") && said.contains("; next: "), "{what}: {said}");
            None
        }
        code => panic!("{what}: {code:?} {said}"),
    }
}

/// The index refuses, and says this and a next step.
fn refused(path: &Path, expected: &str) {
    let output = run_index(path, &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(output.stdout.is_empty());
    assert!(said.starts_with("error: ") && said.contains(expected) && said.contains("; next: "), "{said}");
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            found.extend(files_below(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

/// Writes over a file that git made read-only.
fn overwrite(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn packs_that_are_damaged_anywhere_are_refused_or_cost_what_they_hit() {
    let folder = committed();
    folder.git(&["repack", "-adq"]);
    folder.git(&["prune-packed"]);
    let packs = files_below(&folder.path().join(".git/objects/pack"));
    let mut outcomes = (0, 0);
    for path in packs.iter().filter(|path| path.extension().is_some_and(|kind| kind == "pack" || kind == "idx")) {
        let sound = fs::read(path).unwrap();
        let step = sound.len() / 7 + 1;
        for at in (0..sound.len()).step_by(step) {
            let mut flipped = sound.clone();
            flipped[at] ^= 0x55;
            for (bytes, what) in [(flipped, "flipped"), (sound[..at].to_vec(), "cut")] {
                overwrite(path, &bytes);
                match ends_well(folder.path(), &format!("{} {what} at {at}", path.display())) {
                    Some(_) => outcomes.0 += 1,
                    None => outcomes.1 += 1,
                }
            }
        }
        fs::remove_file(path).unwrap();
        ends_well(folder.path(), &format!("{} is gone", path.display()));
        fs::write(path, &sound).unwrap();
    }
    assert!(outcomes.0 > 0 && outcomes.1 > 0, "{outcomes:?}");
    assert_eq!(snapshot_of(folder.path(), &[]).paths(), ["a.ts", "src/b.ts", "src/c.ts"]);
}

#[test]
fn objects_that_are_truncated_or_gone_cost_what_they_hold() {
    let folder = committed();
    let object = |rev: &str| {
        let id = folder.git(&["rev-parse", rev]);
        folder.path().join(".git/objects").join(&id[..2]).join(&id[2..])
    };
    for (rev, expected) in [
        ("HEAD:src/b.ts", Some(("src/b.ts", vec!["a.ts", "src/c.ts"]))),
        ("HEAD:src", Some(("src/", vec!["a.ts"]))),
        ("HEAD^{tree}", Some(("./", vec![]))),
        ("HEAD", None),
    ] {
        let path = object(rev);
        let sound = fs::read(&path).unwrap();
        for bytes in [Some(vec![]), Some(b"nonsense".to_vec()), Some(sound[..sound.len() / 2].to_vec()), None] {
            match &bytes {
                Some(bytes) => overwrite(&path, bytes),
                None => fs::remove_file(&path).unwrap(),
            }
            let what = format!("{rev} with {:?} bytes", bytes.as_ref().map(Vec::len));
            let snapshot = ends_well(folder.path(), &what);
            match (&expected, snapshot) {
                (Some((unreadable, indexed)), Some(snapshot)) => {
                    assert_eq!(snapshot.reasons(), [("unreadable", 1)], "{what}");
                    assert_eq!(snapshot.header.partial_reasons[0].files, [*unreadable], "{what}");
                    let skipped = snapshot.skips();
                    // The root itself is no path that can be skipped.
                    assert_eq!(skipped.is_empty(), *unreadable == "./", "{what}");
                    assert!(skipped.iter().all(|skip| *skip == (*unreadable, "unreadable")), "{what}");
                    assert_eq!(snapshot.paths(), *indexed, "{what}");
                }
                (None, None) => {}
                (expected, snapshot) => {
                    panic!("{what}: {expected:?}, found {:?}", snapshot.map(|it| it.reasons().len()))
                }
            }
            if bytes.is_some() {
                fs::remove_file(&path).unwrap();
            }
            fs::write(&path, &sound).unwrap();
        }
    }
}

#[test]
fn a_partial_clone_is_partial_and_nothing_is_fetched_and_a_shallow_one_is_whole() {
    let origin = committed();
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    origin.write("src/d.ts", b"export const d = 1;\n");
    origin.commit();
    let address = format!("file://{}", origin.path().display());
    let clones = Repository::with(&[]);
    clones.git(&["clone", "-q", "--no-checkout", "--filter=blob:none", &address, "partial"]);
    let partial = snapshot_of(&clones.path().join("partial"), &[]);
    assert!(partial.files.is_empty());
    assert_eq!(partial.reasons(), [("unreadable", 4)]);
    clones.git(&["clone", "-q", "--depth", "1", &address, "shallow"]);
    let shallow = snapshot_of(&clones.path().join("shallow"), &[]);
    assert_eq!(shallow.paths(), ["a.ts", "src/b.ts", "src/c.ts", "src/d.ts"]);
    assert!(!shallow.header.partial);
}

#[test]
fn a_repository_of_another_hash_is_refused() {
    let folder = Repository::with(&FILES);
    folder.git(&["init", "-q", "--object-format=sha256"]);
    folder.commit();
    refused(folder.path(), "cannot be read");
}

#[test]
fn pointers_of_large_files_are_no_sources() {
    let folder = Repository::with(&[
        ("a.ts", "export const a = 1;\n"),
        (
            "model.js",
            "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n",
        ),
    ]);
    for _ in 0..2 {
        let snapshot = snapshot_of(folder.path(), &[]);
        assert_eq!(snapshot.paths(), ["a.ts"]);
        assert_eq!(snapshot.skips(), [("model.js", "lfs_pointer")]);
        assert_eq!(snapshot.reasons(), [("lfs_pointer", 1)]);
        if !folder.path().join(".git").exists() {
            folder.commit();
        }
    }
}

#[test]
fn objects_of_other_repositories_are_not_borrowed() {
    let secret = committed();
    let blob = secret.git(&["rev-parse", "HEAD:src/c.ts"]);
    let folder = Repository::with(&[("a.ts", "export const a = 1;\n")]);
    folder.commit();
    fs::create_dir_all(folder.path().join(".git/objects/info")).unwrap();
    let alternates = folder.path().join(".git/objects/info/alternates");
    let objects = secret.path().join(".git/objects");
    fs::write(&alternates, format!("{}\n", objects.display())).unwrap();
    let tree = folder.git_with_input(&["mktree"], &format!("100644 blob {blob}\tstolen.ts\n"));
    let commit = folder.git(&["commit-tree", "-m", "stolen", &tree]);
    folder.git(&["update-ref", "HEAD", &commit]);
    refused(folder.path(), "borrows objects of another repository");
    fs::write(&alternates, "../../../elsewhere\n").unwrap();
    refused(folder.path(), "borrows objects of another repository");
    fs::write(&alternates, "x".repeat(100_000)).unwrap();
    refused(folder.path(), "`alternates` is no small file");
    fs::write(&alternates, "# none\n").unwrap();
    let snapshot = snapshot_of(folder.path(), &[]);
    assert_eq!(snapshot.skips(), [("stolen.ts", "unreadable")]);
}

#[test]
fn a_git_folder_elsewhere_counts_only_where_it_knows_the_folder() {
    let main = committed();
    let elsewhere = tempfile::tempdir().unwrap();
    let tree = elsewhere.path().join("tree");
    main.git(&["worktree", "add", "-q", &tree.display().to_string(), "-b", "feature"]);
    let snapshot = snapshot_of(&tree, &[]);
    assert_eq!(snapshot.paths(), ["a.ts", "src/b.ts", "src/c.ts"]);
    assert_eq!(snapshot.header.ref_name.as_deref(), Some("feature"));

    let outer = Repository::with(&[("x.ts", "")]);
    outer.commit();
    outer.git(&["submodule", "add", "-q", &main.path().display().to_string(), "sub"]);
    assert_eq!(snapshot_of(&outer.path().join("sub"), &[]).paths(), ["a.ts", "src/b.ts", "src/c.ts"]);

    let hostile = Repository::with(&[("x.ts", "")]);
    let dot_git = hostile.path().join(".git");
    for target in [main.path().join(".git"), main.path().join(".git/worktrees/tree")] {
        fs::write(&dot_git, format!("gitdir: {}\n", target.display())).unwrap();
        refused(hostile.path(), "leads to a repository that does not know this folder");
    }
    for (text, expected) in [
        ("gitdir: /nonexistent\n", "leads nowhere"),
        ("gitdir: .git\n", "leads to a repository that does not know this folder"),
        ("nonsense", "names no git folder"),
        ("", "names no git folder"),
        (&"x".repeat(10_000), "is no small file"),
    ] {
        fs::write(&dot_git, text).unwrap();
        refused(hostile.path(), expected);
    }
    fs::remove_file(&dot_git).unwrap();
    symlink(main.path().join(".git"), &dot_git).unwrap();
    refused(hostile.path(), "its `.git` is neither a folder nor a file");
}

#[test]
fn nothing_in_a_git_folder_leads_out_of_it_or_is_waited_for() {
    let other = committed();
    for (name, make) in [
        ("objects/pack/evil.pack", "pipe"),
        ("refs/heads/pipe", "pipe"),
        ("refs/heads/link", "link"),
        ("packed-refs", "pipe"),
        ("objects/info/packs", "link"),
        ("shallow", "pipe"),
    ] {
        let folder = committed();
        let path = folder.path().join(".git").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if make == "pipe" {
            mkfifo(&path, Mode::S_IRWXU).unwrap();
        } else {
            symlink(other.path().join(".git/config"), &path).unwrap();
        }
        refused(folder.path(), &format!("`{name}` in its git folder is "));
    }
    for name in ["HEAD", "config", "objects", "refs"] {
        let folder = committed();
        let path = folder.path().join(".git").join(name);
        fs::rename(&path, folder.path().join("moved")).unwrap();
        symlink(other.path().join(".git").join(name), &path).unwrap();
        refused(folder.path(), &format!("`{name}` in its git folder is a symlink"));
        fs::remove_file(&path).unwrap();
        mkfifo(&path, Mode::S_IRWXU).unwrap();
        refused(folder.path(), &format!("`{name}` in its git folder is neither a file nor a folder"));
    }
    let folder = committed();
    fs::write(folder.path().join(".git/commondir"), other.path().join(".git").display().to_string()).unwrap();
    refused(folder.path(), "its `commondir` leads out of the repository");
}

#[test]
fn hostile_heads_and_refs_name_no_commit() {
    let folder = committed();
    let git = folder.path().join(".git");
    let head = fs::read(git.join("HEAD")).unwrap();
    let huge = vec![b'a'; 20 << 20];
    for text in [
        b"ref: ../../../../etc/passwd".as_slice(),
        b"ref: refs/heads/../../config",
        b"ref: /etc/passwd",
        b"ref: refs/heads/loop",
        b"ref: refs/heads/\x1b[31m",
        b"ref: ",
        b"",
        b"\0\0\0\0",
        b"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
        b"4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        &huge,
    ] {
        fs::write(git.join("refs/heads/loop"), "ref: refs/heads/pool\n").unwrap();
        fs::write(git.join("refs/heads/pool"), "ref: refs/heads/loop\n").unwrap();
        fs::write(git.join("HEAD"), text).unwrap();
        let shown = String::from_utf8_lossy(&text[..text.len().min(60)]).into_owned();
        assert!(ends_well(folder.path(), &shown).is_none(), "{shown}");
    }
    fs::write(git.join("HEAD"), head).unwrap();
    for rev in ["refs/heads/loop", "@{-1}", ":/x", "HEAD^{/x}", "HEAD~999999999999", "..", "--", "\u{202e}", "HEAD@{1}"]
    {
        let output = run_index(folder.path(), &[&format!("--rev={rev}")]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{rev}: {said}");
        assert!(said.contains("; next: "), "{said}");
    }
}

#[test]
fn replacements_and_grafts_change_nothing() {
    let folder = committed();
    let sound = snapshot_of(folder.path(), &[]);
    let other = folder.git_with_input(&["hash-object", "-w", "--stdin"], "export const replaced = 1;\n");
    let blob = folder.git(&["rev-parse", "HEAD:a.ts"]);
    folder.git(&["replace", &blob, &other]);
    let commit = folder.git(&["rev-parse", "HEAD"]);
    let empty = folder.git_with_input(&["mktree"], "");
    let replaced = folder.git(&["commit-tree", "-m", "empty", &empty]);
    folder.git(&["replace", &commit, &replaced]);
    fs::create_dir_all(folder.path().join(".git/info")).unwrap();
    fs::write(folder.path().join(".git/info/grafts"), format!("{commit} {replaced}\n")).unwrap();
    assert!(snapshot_of(folder.path(), &[]).bytes == sound.bytes);
}

#[test]
fn configuration_cannot_include_another_file_or_end_the_process() {
    let folder = committed();
    let canary = Repository::with(&[("config", "[core]\n\tbare = nonsense\n")]);
    let config = folder.path().join(".git/config");
    let sound = fs::read_to_string(&config).unwrap();
    let include = canary.path().join("config").display().to_string();
    for (text, is_sound) in [
        (format!("{sound}[include]\n\tpath = {include}\n[includeIf \"gitdir:/\"]\n\tpath = {include}\n"), true),
        (format!("{sound}[extensions]\n\tworktreeConfig = true\n\tpartialClone = origin\n"), true),
        (format!("{sound}[core]\n\tworktree = /\n"), true),
        ("[".repeat(100_000), false),
        (format!("[core]\n\trepositoryformatversion = 99\n{}", "#".repeat(100_000)), false),
    ] {
        fs::write(&config, &text).unwrap();
        let shown = &text[..text.len().min(300)];
        let snapshot = ends_well(folder.path(), shown);
        assert_eq!(snapshot.is_some_and(|snapshot| snapshot.files.len() == 3), is_sound, "{shown}");
    }
    let output = Command::new(EXECUTABLE).arg("index").arg(folder.path()).env_clear().output().unwrap();
    assert_eq!(output.status.code(), Some(1), "without any environment too");
}
