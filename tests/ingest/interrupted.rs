//! Caches of runs that were killed, ran out of room, met another tree or catalog, or were damaged: each next index is
//! that of a run without a cache.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::unistd::{Uid, setfsuid};
use sync_ingest::index::{IndexOptions, Silent};
use sync_ingest::pool::ParseCommand;

use super::EXECUTABLE;
use super::cache::{cache_folder, cold, make, options, warm};
use super::killers::eventually;
use super::repository::Repository;

/// A tree whose files depend on each other and on a vendor; `seed` makes it another one.
fn tree(files: usize, seed: &str) -> Repository {
    let folder = Repository::with(&[
        ("package.json", r#"{"dependencies":{"stripe":"17.0.0"}}"#),
        ("src/stripe.ts", "import Stripe from 'stripe';\nexport const stripe = new Stripe(process.env.KEY!);\n"),
    ]);
    for n in 0..files {
        let text = format!(
            "import {{ stripe }} from './stripe';\n// {seed}\nexport const f{n} = async (x: string) => (await stripe.customers.retrieve(x)).{};\n",
            if n % 2 == 0 { "email" } else { seed }
        );
        folder.write(&format!("src/f{n}.ts"), text.as_bytes());
    }
    folder
}

fn files(cache: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn bytes_of(cache: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(cache) else { return 0 };
    entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
}

/// Copies a folder of catalog files, but not what it knows of one vendor.
fn copy_without_stripe(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_without_stripe(&entry.path(), &to);
        } else if entry.file_name() != "stripe.json" {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Options under which no parse child can be started.
fn without_children(path: &Path, cache: &Path) -> IndexOptions {
    IndexOptions {
        parse: ParseCommand { executable: "/nonexistent".into(), args: vec![] },
        ..options(path, Some(cache))
    }
}

#[test]
fn a_run_that_is_killed_anywhere_leaves_a_sound_cache() {
    let folder = tree(150, "name");
    let expected = cold(folder.path());
    let (_held, cache) = cache_folder();
    for until in [1, 2_000, 8_000, 20_000, 30_000] {
        let mut index = Command::new(EXECUTABLE)
            .arg("index")
            .arg(folder.path())
            .arg("--cache")
            .arg(&cache)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let before = bytes_of(&cache);
        // Whether it was killed in time or had ended is up to the machine; both must be borne.
        eventually("the index wrote nothing", || {
            bytes_of(&cache) >= before + until || index.try_wait().unwrap().is_some()
        });
        index.kill().unwrap();
        index.wait().unwrap();
        let made = make(&options(folder.path(), Some(&cache)), &Silent);
        assert!(made.bytes == expected, "killed after {until} bytes");
        for file in files(&cache) {
            fs::remove_file(file).unwrap();
        }
    }
    warm(folder.path(), &cache);
    assert_eq!(warm(folder.path(), &cache).counts(), (0, 151));
}

#[test]
fn leftovers_of_killed_runs_go() {
    let folder = tree(3, "name");
    let (_held, cache) = cache_folder();
    warm(folder.path(), &cache);
    for name in ["parsed-killed.tmp", "parsed-killed.pack"] {
        fs::write(cache.join(name), "half a l").unwrap();
    }
    for _ in 0..2 {
        assert_eq!(warm(folder.path(), &cache).counts(), (0, 4));
    }
    let left: Vec<_> = files(&cache).into_iter().filter(|path| path.display().to_string().contains("killed")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_full_disk_costs_the_cache_and_not_the_index() {
    let folder = tree(60, "name");
    let expected = cold(folder.path());
    let mut warned = 0;
    for blocks in [0, 1, 2, 4, 8, 16, 32, 100_000] {
        let (_held, cache) = cache_folder();
        // With the signal ignored, a write beyond the limit fails as it does where no room is left.
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" index \"$1\" --cache \"$2\"");
        let output = Command::new("sh")
            .args(["-c", &script, EXECUTABLE])
            .arg(folder.path())
            .arg(&cache)
            .env("HOME", "/nonexistent")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{blocks}: {said}");
        assert!(output.stdout == expected, "{blocks}");
        if !said.is_empty() {
            assert!(said.starts_with("warning: the parse cache `") && said.contains("; next: "), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
            warned += 1;
        }
        warm(folder.path(), &cache);
        assert_eq!(warm(folder.path(), &cache).counts(), (0, 61), "{blocks}");
    }
    assert!((3..8).contains(&warned), "{warned} of them met the limit");
}

#[test]
fn a_cache_that_may_only_be_read_is_read() {
    let folder = tree(5, "name");
    let (held, cache) = cache_folder();
    warm(folder.path(), &cache);
    // A file with the content of another: known, though the tree is not that of the last index.
    folder.write("src/again.ts", &fs::read(folder.path().join("src/f0.ts")).unwrap());
    let expected = cold(folder.path());
    let all = |mode: u32, folder_mode: u32| {
        for file in files(&cache) {
            fs::set_permissions(file, Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(&cache, Permissions::from_mode(folder_mode)).unwrap();
    };
    all(0o444, 0o555);
    for path in [held.path(), folder.path()] {
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    // Root may write anywhere: this thread and those that it starts are nobody to the file system.
    let made = std::thread::scope(|scope| {
        let made = scope.spawn(|| {
            setfsuid(Uid::from_raw(65_534));
            make(&without_children(folder.path(), &cache), &Silent)
        });
        made.join().unwrap()
    });
    all(0o644, 0o755);
    assert!(made.bytes == expected);
    assert_eq!((made.parsed, made.cached), (0, 7));
    assert!(made.problem.is_some_and(|problem| problem.contains("ermission denied")));
}

#[test]
fn a_cache_of_another_tree_or_catalog_changes_nothing() {
    let (one, two) = (tree(8, "name"), tree(8, "phone"));
    two.write("package.json", br#"{"dependencies":{"stripe":"12.0.0"}}"#);
    let (_held, cache) = cache_folder();
    for _ in 0..2 {
        warm(one.path(), &cache);
        warm(two.path(), &cache);
    }
    // Without its vendor's file nothing is bound.
    let catalog = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ingest/catalog");
    copy_without_stripe(&source, catalog.path());
    let with = |catalog: Option<&Path>, cache: Option<&Path>| {
        let options = IndexOptions { catalog: catalog.map(Path::to_owned), ..options(one.path(), cache) };
        make(&options, &Silent).bytes
    };
    let (own, other) = (with(None, None), with(Some(catalog.path()), None));
    assert!(own != other);
    for _ in 0..2 {
        assert!(with(Some(catalog.path()), Some(&cache)) == other);
        assert!(with(None, Some(&cache)) == own);
    }
}

#[test]
fn damage_anywhere_in_a_cache_changes_nothing() {
    let folder = tree(12, "name");
    let expected = cold(folder.path());
    let (_held, cache) = cache_folder();
    warm(folder.path(), &cache);
    // The second run has all of it from the cache, and leaves what it will look at.
    warm(folder.path(), &cache);
    let kept: Vec<(PathBuf, Vec<u8>)> =
        files(&cache).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    assert!(kept.len() > 1, "packs, and the last index");
    for (path, sound) in &kept {
        for part in 0..20 {
            let at = sound.len() * part / 20;
            let mut flipped = sound.clone();
            flipped[at] ^= 0x40;
            for damaged in
                [flipped, sound[..at].to_vec(), [sound, &sound[at..]].concat(), [&sound[at..], &sound[..at]].concat()]
            {
                for file in files(&cache) {
                    fs::remove_file(file).unwrap();
                }
                for (path, sound) in &kept {
                    fs::write(path, sound).unwrap();
                }
                fs::write(path, damaged).unwrap();
                let made = make(&options(folder.path(), Some(&cache)), &Silent);
                assert!(made.bytes == expected, "{} damaged at {at}", path.display());
            }
        }
    }
}

#[test]
fn runs_at_once_over_different_trees_do_not_disturb_each_other() {
    let trees = [tree(20, "name"), tree(20, "phone"), tree(25, "address")];
    let expected: Vec<Vec<u8>> = trees.iter().map(|tree| cold(tree.path())).collect();
    let (_held, cache) = cache_folder();
    for _ in 0..2 {
        let running: Vec<_> = trees
            .iter()
            .cycle()
            .take(6)
            .map(|tree| {
                let mut command = Command::new(EXECUTABLE);
                command.arg("index").arg(tree.path()).arg("--cache").arg(&cache).env("HOME", "/nonexistent");
                command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        for (at, child) in running.into_iter().enumerate() {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            assert!(output.stdout == expected[at % 3], "tree {}", at % 3);
        }
    }
}
