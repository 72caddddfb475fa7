//! Plain folders with everything that a disk can hold, and folders that change while they are read.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use nix::sys::stat::Mode;
use nix::unistd::{Uid, mkfifo, setfsuid};
use sync_ingest::index::{Progress, Silent, index};

use super::cache::options;
use super::repository::Repository;
use super::{Snapshot, snapshot_of};

#[test]
fn links_pipes_and_sockets_are_skipped_and_never_opened() {
    let folder = Repository::with(&[("a.ts", "export const a = 1;\n"), ("sub/b.ts", "export {};\n")]);
    let at = |name: &str| folder.path().join(name);
    symlink(".", at("loop")).unwrap();
    symlink("../..", at("sub/up")).unwrap();
    symlink("twin.ts", at("twin2.ts")).unwrap();
    symlink("twin2.ts", at("twin.ts")).unwrap();
    symlink("/dev/zero", at("zero.ts")).unwrap();
    symlink("/etc/passwd", at("package.json")).unwrap();
    symlink("/etc/passwd", at("sub/.gitignore")).unwrap();
    for name in ["pipe.ts", "tsconfig.json", ".gitignore"] {
        mkfifo(&at(name), Mode::S_IRWXU).unwrap();
    }
    let _socket = UnixListener::bind(at("socket.ts")).unwrap();
    let snapshot = snapshot_of(folder.path(), &[]);
    assert_eq!(snapshot.paths(), ["a.ts", "sub/b.ts"]);
    let expected = [
        (".gitignore", "special"),
        ("loop", "symlink"),
        ("package.json", "symlink"),
        ("pipe.ts", "special"),
        ("socket.ts", "special"),
        ("sub/.gitignore", "symlink"),
        ("sub/up", "symlink"),
        ("tsconfig.json", "special"),
        ("twin.ts", "symlink"),
        ("twin2.ts", "symlink"),
        ("zero.ts", "symlink"),
    ];
    assert_eq!(snapshot.skips(), expected);
    assert!(!snapshot.header.partial);
}

#[test]
fn devices_are_skipped() {
    let listed = sync_ingest::tree::Tree::open(Path::new("/dev"), None).unwrap();
    let entries = listed.reader().list("", &listed.root()).unwrap();
    let null = entries.iter().find(|entry| entry.name == b"null").unwrap();
    assert_eq!(null.kind, sync_ingest::tree::Kind::Special);
    assert!(listed.reader().read("null", &null.node, 10).is_err());
}

#[test]
fn names_that_differ_in_case_or_direction_are_files_of_their_own() {
    let folder = Repository::with(&[
        ("case.ts", "export const lower = 1;\n"),
        ("Case.ts", "export const upper = 1;\n"),
        (
            "user.ts",
            "import { upper } from './Case';\nimport { lower } from './case';\nexport const x = [upper, lower];\n",
        ),
        ("src/A/x.ts", "export {};\n"),
        ("src/a/x.ts", "import '../A/x';\n"),
        ("\u{202e}st.kcatta.ts", "export const right_to_left = 1;\n"),
        ("e\u{301}.ts", "export const decomposed = 1;\n"),
        ("\u{e9}.ts", "import './e\u{301}';\n"),
        ("back\\slash.ts", "export {};\n"),
    ]);
    for name in [b"tab\there.ts".as_slice(), b"\xff\xfe.ts", b"esc\x1b[31m.ts", b"del\x7f.ts", b"ret\r.ts"] {
        fs::write(folder.path().join(OsStr::from_bytes(name)), "").unwrap();
    }
    for snapshot in [snapshot_of(folder.path(), &[]), {
        folder.commit();
        snapshot_of(folder.path(), &[])
    }] {
        let imports: BTreeMap<_, Vec<_>> = snapshot
            .files
            .iter()
            .map(|file| (file.path.as_str(), file.imports.iter().map(|import| import.target.as_deref()).collect()))
            .collect();
        assert_eq!(imports.len(), 9);
        assert_eq!(imports["user.ts"], [Some("Case.ts"), Some("case.ts")]);
        assert_eq!(imports["src/a/x.ts"], [Some("src/A/x.ts")]);
        assert_eq!(imports["\u{e9}.ts"], [Some("e\u{301}.ts")]);
        assert!(imports.contains_key("\u{202e}st.kcatta.ts") && imports.contains_key("back\\slash.ts"));
        let bad = snapshot.skips().iter().filter(|(_, reason)| *reason == "bad_name").count();
        assert_eq!((bad, snapshot.skips().len()), (5, 5));
    }
}

#[test]
fn what_may_not_be_read_is_said_and_its_neighbours_are_walked() {
    let folder = Repository::with(&[
        ("closed/a.ts", "export {};\n"),
        ("open/secret.ts", "export {};\n"),
        ("package.json", "{}"),
        ("open/.gitignore", "*\n"),
    ]);
    for name in ["closed", "open/secret.ts", "package.json", "open/.gitignore"] {
        fs::set_permissions(folder.path().join(name), Permissions::from_mode(0o000)).unwrap();
    }
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let mut out = Vec::new();
    // Tests may run as root, who may read anything: this thread, and those that it starts, look at files as nobody.
    // No parse child is needed, since no source can be read.
    let summary = std::thread::scope(|scope| {
        let indexed = scope.spawn(|| {
            setfsuid(Uid::from_raw(65_534));
            let mut options = options(folder.path(), None);
            options.parse.executable = "/nonexistent".into();
            index(&options, &mut out, &Silent).unwrap()
        });
        indexed.join().unwrap()
    });
    for name in ["closed", "open/secret.ts", "package.json", "open/.gitignore"] {
        fs::set_permissions(folder.path().join(name), Permissions::from_mode(0o755)).unwrap();
    }
    assert!(summary.partial);
    let snapshot = Snapshot::read(out);
    assert!(snapshot.files.is_empty());
    let unreadable = [".gitignore", "secret.ts"].map(|name| format!("open/{name}"));
    let expected = ["closed/", &unreadable[0], &unreadable[1], "package.json"].map(|path| (path, "unreadable"));
    assert_eq!(snapshot.skips(), expected);
    assert_eq!(snapshot.reasons(), [("unreadable", 4)]);
}

/// Changes the folder between the walk and the reading of files.
struct Meanwhile<F: Fn() + Sync>(F);

impl<F: Fn() + Sync> Progress for Meanwhile<F> {
    fn found(&self, _files: usize) {
        (self.0)();
    }

    fn parsed(&self, _files: usize) {}
}

#[test]
fn files_that_change_while_they_are_read_are_read_as_they_are_then() {
    let names = ["cut", "folder", "gone", "grown", "huge", "link", "other", "pipe", "same"];
    let folder = Repository::with(&[]);
    for name in names {
        folder.write(&format!("{name}.ts"), b"export const before = 1;\nexport const more = 2;\n");
    }
    let at = |name: &str| folder.path().join(format!("{name}.ts"));
    let changed = Meanwhile(|| {
        fs::write(at("cut"), "export const before = 1;\n").unwrap();
        for name in ["folder", "gone", "link", "pipe"] {
            fs::remove_file(at(name)).unwrap();
        }
        fs::create_dir(at("folder")).unwrap();
        fs::write(at("grown"), "export const after = 1;\n".repeat(100)).unwrap();
        fs::write(at("huge"), vec![b' '; (512 << 10) + 1]).unwrap();
        symlink("/etc/passwd", at("link")).unwrap();
        fs::write(at("other"), "export const other = 1;\n").unwrap();
        mkfifo(&at("pipe"), Mode::S_IRWXU).unwrap();
    });
    let mut out = Vec::new();
    index(&options(folder.path(), None), &mut out, &changed).unwrap();
    let snapshot = Snapshot::read(out);
    let unreadable = ["folder", "gone", "link", "pipe"];
    let mut skipped: Vec<_> = unreadable.iter().map(|name| (format!("{name}.ts"), "unreadable")).collect();
    skipped.push(("huge.ts".to_owned(), "too_large"));
    skipped.sort();
    let found: Vec<_> = snapshot.skips().into_iter().map(|(path, reason)| (path.to_owned(), reason)).collect();
    assert_eq!(found, skipped);
    let symbols: Vec<_> =
        snapshot.files.iter().map(|file| (file.path.as_str(), file.symbols.len(), file.bytes)).collect();
    assert_eq!(symbols, [("cut.ts", 1, 25), ("grown.ts", 100, 2400), ("other.ts", 1, 24), ("same.ts", 2, 48)]);
}

#[test]
fn a_folder_of_many_files_is_read_to_its_cap_and_counted_beyond_it() {
    let folder = Repository::with(&[]);
    for n in 0..3_000 {
        fs::write(folder.path().join(format!("f{n:05}.ts")), "").unwrap();
    }
    let snapshot = snapshot_of(folder.path(), &["--max-files", "100"]);
    assert_eq!((snapshot.files.len(), snapshot.skips().len()), (100, 2_900));
    let reason = &snapshot.header.partial_reasons[0];
    assert_eq!((reason.reason.as_str(), reason.count, reason.files.len()), ("file_cap", 2_900, 20));
    assert_eq!(reason.limit.as_deref(), Some("100 source files"));
    let snapshot = snapshot_of(folder.path(), &["--max-entries", "100", "--max-files", "50"]);
    assert_eq!(snapshot.reasons(), [("file_cap", 50), ("tree_too_large", 1)]);
    let reason = &snapshot.header.partial_reasons[1];
    assert_eq!(reason.limit.as_deref(), Some("100 entries, 2 GiB of files"));
    assert_eq!(reason.files, ["./"], "the folder in which the walk ended");
}
