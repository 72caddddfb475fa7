//! The parse cache: it saves reading and parsing, and never changes a byte of the snapshot.

use std::fs;
use std::num::NonZeroUsize;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sync_ingest::gate::Gate;
use sync_ingest::index::{IndexOptions, Progress, Silent, index};
use sync_ingest::pool::ParseCommand;
use sync_ingest::walk::Limits;
use tempfile::TempDir;

use super::repository::Repository;
use super::{EXECUTABLE, Snapshot, run_index};

const FILES: [(&str, &str); 7] = [
    ("package.json", r#"{"name":"acme","dependencies":{"stripe":"17.0.0"}}"#),
    ("tsconfig.json", r#"{"compilerOptions":{"paths":{"@/*":["./src/*"]}}}"#),
    (
        "src/stripe.ts",
        "import Stripe from 'stripe';\nexport const stripe = new Stripe(process.env.KEY!);\nexport * from './util';\n",
    ),
    (
        "src/bill.ts",
        "import { stripe } from '@/stripe';\nexport const bill = () => stripe.customers.create({ email: 'x' });\n",
    ),
    ("src/util.ts", "export function util() { return 1; }\n"),
    ("src/types.d.ts", "export declare const kind: string;\n"),
    ("src/gen.ts", "// @generated\nexport {};\n"),
];
/// Of [`FILES`], what is read as a source: the generated one is looked at but not parsed.
const SOURCES: usize = 5;

/// Where a cache has what the last index found.
const LAST: &str = "last.index";

/// What came of an index.
#[derive(Debug, PartialEq)]
pub(super) struct Made {
    pub(super) bytes: Vec<u8>,
    pub(super) parsed: usize,
    pub(super) cached: usize,
    bound: usize,
    pub(super) problem: Option<String>,
}

impl Made {
    pub(super) fn counts(&self) -> (usize, usize) {
        assert_eq!(self.problem, None);
        (self.parsed, self.cached)
    }
}

pub(super) fn options(path: &Path, cache: Option<&Path>) -> IndexOptions {
    IndexOptions {
        path: path.to_owned(),
        rev: None,
        ref_name: None,
        repository: None,
        gate: Gate::On,
        home: None,
        catalog: None,
        cache: cache.map(Path::to_owned),
        parse: ParseCommand { executable: EXECUTABLE.into(), args: vec!["parse".into()] },
        parsers: NonZeroUsize::new(2).unwrap(),
        limits: Limits::default(),
    }
}

pub(super) fn make(options: &IndexOptions, progress: &dyn Progress) -> Made {
    let mut bytes = Vec::new();
    let summary = index(options, &mut bytes, progress).unwrap();
    Made { bytes, parsed: summary.parsed, cached: summary.cached, bound: summary.bound, problem: summary.cache_problem }
}

pub(super) fn cold(path: &Path) -> Vec<u8> {
    make(&options(path, None), &Silent).bytes
}

/// An index with a cache, whose bytes must be those of one without.
pub(super) fn warm(path: &Path, cache: &Path) -> Made {
    let made = make(&options(path, Some(cache)), &Silent);
    assert!(made.bytes == cold(path), "the cache changes the snapshot");
    made
}

/// The files of a cache.
pub(super) fn files(cache: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Those with the facts of files.
fn packs(cache: &Path) -> Vec<PathBuf> {
    let mut files = files(cache);
    files.retain(|file| file.file_name().unwrap() != LAST);
    files
}

pub(super) fn cache_folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache");
    (folder, path)
}

#[test]
fn a_second_index_parses_nothing_and_starts_no_child() {
    let folder = Repository::with(&FILES);
    folder.commit();
    let (_held, cache) = cache_folder();
    assert_eq!(warm(folder.path(), &cache).counts(), (SOURCES - 1, 0));
    let no_child = ParseCommand { executable: "/nonexistent".into(), args: vec![] };
    let again = IndexOptions { parse: no_child, ..options(folder.path(), Some(&cache)) };
    let again = make(&again, &Silent);
    // The file that says it is generated was skipped before; that is remembered too.
    assert_eq!(again.counts(), (0, SOURCES));
    assert!(again.bytes == cold(folder.path()));
}

#[test]
fn unchanged_files_of_a_commit_are_not_read() {
    let folder = Repository::with(&FILES);
    folder.commit();
    let (_held, cache) = cache_folder();
    let first = warm(folder.path(), &cache);
    // Whoever looks an object up now, for its content or only for its size, gets an error.
    for file in ["src/stripe.ts", "src/gen.ts"] {
        let blob = folder.git(&["rev-parse", &format!("HEAD:{file}")]);
        fs::remove_file(folder.path().join(".git/objects").join(&blob[..2]).join(&blob[2..])).unwrap();
    }
    let without = Snapshot::read(cold(folder.path()));
    assert_eq!(without.skips(), [("src/gen.ts", "unreadable"), ("src/stripe.ts", "unreadable")]);
    let again = make(&options(folder.path(), Some(&cache)), &Silent);
    assert_eq!(again.counts(), (0, SOURCES));
    assert!(again.bytes == first.bytes);
}

#[test]
fn one_commit_later_only_what_changed_is_parsed() {
    let folder = Repository::with(&FILES);
    for n in 0..50 {
        folder.write(&format!("src/many/f{n}.ts"), format!("export const f{n} = {n};\n").as_bytes());
    }
    folder.commit();
    let (_held, cache) = cache_folder();
    warm(folder.path(), &cache);
    for n in 0..3 {
        folder.write(&format!("src/many/f{n}.ts"), format!("export const g{n} = {n};\n").as_bytes());
    }
    folder.write("src/many/moved.ts", b"export const f9 = 9;\n");
    fs::remove_file(folder.path().join("src/many/f9.ts")).unwrap();
    folder.commit();
    assert_eq!(warm(folder.path(), &cache).counts(), (3, SOURCES + 47));
    assert_eq!(warm(folder.path(), &cache).counts(), (0, SOURCES + 50));
}

/// A file that makes a client, one that re-exports it, and three that import from there.
const READERS: [(&str, &str); 6] = [
    ("package.json", r#"{"name":"acme","dependencies":{"stripe":"17.0.0"}}"#),
    ("client.ts", "import Stripe from 'stripe';\nexport const stripe = new Stripe('k');\n"),
    ("index.ts", "export * from './client';\nexport * from './other';\n"),
    ("other.ts", "export function other() { return 1; }\n"),
    ("pay.ts", "import { stripe } from './index';\nexport const pay = () => stripe.charges.list({});\n"),
    ("use.ts", "import { other } from './index';\nother();\n"),
];

#[test]
fn only_what_read_a_changed_file_is_bound_again() {
    let folder = Repository::with(&READERS);
    let (_held, cache) = cache_folder();
    assert_eq!(warm(folder.path(), &cache).bound, 5);
    let written = || fs::metadata(cache.join(LAST)).unwrap().ino();
    let first = written();
    assert_eq!(warm(folder.path(), &cache).bound, 0);
    assert_eq!(written(), first, "what is the same is not written again");
    for (path, text, bound) in [
        // Where it stands, nobody sees.
        ("other.ts", "// Moved.\nexport function other() { return 1; }\n", 1),
        // Another name comes through the index, and those that look for others are none the wiser.
        ("other.ts", "export function other() { return 1; }\nexport const more = 2;\n", 1),
        // What a function does beside what it returns is its own.
        ("other.ts", "export function other() { log({ a: 1 }); return 1; }\nexport const more = 2;\n", 1),
        // What is read of a file is read again: by `use.ts` alone.
        ("other.ts", "export function other() { return [1]; }\nexport const more = 2;\n", 2),
        // Two stars that disagree give nothing: both `pay.ts` and the index's other readers look again.
        ("other.ts", "export function other() {}\nexport const stripe = 3;\n", 3),
        ("client.ts", "export const none = 1;\n", 2),
        ("new.ts", "import { other } from './other';\nother();\n", 1),
    ] {
        folder.write(path, text.as_bytes());
        assert_eq!(warm(folder.path(), &cache).bound, bound, "{path}: {text}");
    }
}

#[test]
fn a_new_caller_says_anew_what_a_parameter_is() {
    let folder = Repository::with(&READERS);
    folder.write("list.ts", b"export function list(client) { return client.charges.list({ limit: 1 }); }\n");
    folder.write("a.ts", b"import { stripe } from './client';\nimport { list } from './list';\nlist(stripe);\n");
    let (_held, cache) = cache_folder();
    let sites = |made: Made| {
        let snapshot = Snapshot::read(made.bytes);
        snapshot.files.iter().find(|facts| facts.path == "list.ts").unwrap().call_sites.len()
    };
    assert_eq!(sites(warm(folder.path(), &cache)), 1);
    folder.write("b.ts", b"import { list } from './list';\nlist({ charges: { list() {} } });\n");
    let made = warm(folder.path(), &cache);
    assert_eq!(made.bound, 3, "the caller, what it calls, and whoever uses the result of that");
    assert_eq!(sites(made), 0);
    fs::remove_file(folder.path().join("b.ts")).unwrap();
    let made = warm(folder.path(), &cache);
    assert_eq!(made.bound, 2);
    assert_eq!(sites(made), 1);
}

#[test]
fn a_function_is_bound_again_when_a_file_begins_or_ends_to_pass_it_on() {
    let folder = Repository::with(&READERS);
    folder.write("opened.ts", b"export const opened = async ({ client }) => client.views.open({ view: {} });\n");
    let (_held, cache) = cache_folder();
    let sites = |made: Made| {
        let snapshot = Snapshot::read(made.bytes);
        snapshot.files.iter().find(|facts| facts.path == "opened.ts").unwrap().call_sites.len()
    };
    assert_eq!(sites(warm(folder.path(), &cache)), 0);
    let listens = "import { App } from '@slack/bolt';\nimport { opened } from './opened';\n";
    folder.write("app.ts", format!("{listens}new App({{}}).action('x', opened);\n").as_bytes());
    assert_eq!(sites(warm(folder.path(), &cache)), 1);
    folder.write("app.ts", format!("{listens}new App({{}}).action('x', () => opened);\n").as_bytes());
    assert_eq!(sites(warm(folder.path(), &cache)), 0);
    folder.write("app.ts", format!("{listens}new App({{}}).action('x', opened);\n").as_bytes());
    assert_eq!(sites(warm(folder.path(), &cache)), 1);
    fs::remove_file(folder.path().join("app.ts")).unwrap();
    assert_eq!(sites(warm(folder.path(), &cache)), 0);
}

#[test]
fn a_call_is_bound_again_when_what_it_leads_to_begins_or_ends_to_make_the_request() {
    let wraps = "export function send(path) { return fetch('https://api.stripe.com/v1' + path); }\n";
    let own = "export function send(path) { return path; }\n";
    let folder = Repository::with(&[
        ("send.ts", own),
        ("get.ts", "import { send } from './send';\nexport function get(name) { return send('/' + name); }\n"),
        ("by.ts", "import { get } from './get';\nexport function by(name) { return get(`${name}/ch_1`); }\n"),
        ("use.ts", "import { by } from './by';\nby('charges');\n"),
    ]);
    let (_held, cache) = cache_folder();
    let operations = |made: Made| {
        let snapshot = Snapshot::read(made.bytes);
        let used = snapshot.files.iter().find(|facts| facts.path == "use.ts").unwrap();
        used.call_sites.iter().map(|site| site.operation.as_ref().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(operations(warm(folder.path(), &cache)), Vec::<String>::new());
    for (text, bound) in [(Some(wraps), 1), (Some(own), 0), (Some(wraps), 1), (None, 0), (Some(wraps), 1)] {
        match text {
            Some(text) => folder.write("send.ts", text.as_bytes()),
            None => fs::remove_file(folder.path().join("send.ts")).unwrap(),
        }
        let expected = vec!["GET /v1/charges/{charge}".to_owned(); bound];
        assert_eq!(operations(warm(folder.path(), &cache)), expected);
    }
}

#[test]
fn what_is_kept_of_an_index_is_not_believed_where_it_is_damaged_or_its_facts_are_lost() {
    let folder = Repository::with(&READERS);
    let (_held, cache) = cache_folder();
    warm(folder.path(), &cache);
    let last = cache.join(LAST);
    let whole = fs::read(&last).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 40) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&last, bytes).unwrap();
        assert!(warm(folder.path(), &cache).bound > 0, "byte {at} of {} is not missed", whole.len());
        assert_eq!(warm(folder.path(), &cache).bound, 0);
    }
    for length in [0, 1, 100, whole.len() / 2, whole.len() - 1] {
        fs::write(&last, &whole[..length]).unwrap();
        assert_eq!(warm(folder.path(), &cache).bound, 5);
    }
    // `pay.ts` needs the facts of the client, which only the packs have.
    for pack in packs(&cache) {
        fs::remove_file(pack).unwrap();
    }
    folder.write("pay.ts", b"import { stripe } from './index';\nstripe.charges.list({ limit: 2 });\n");
    assert_eq!(warm(folder.path(), &cache).counts(), (5, 0));
}

#[test]
fn manifests_that_are_as_they_were_say_the_same_whether_they_are_read_again_or_not() {
    let folder = Repository::with(&FILES);
    folder.write("broken/package.json", b"{");
    folder.write("package-lock.json", br#"{"packages":{"node_modules/stripe":{"version":"17.1.0"}}}"#);
    folder.commit();
    let (_held, cache) = cache_folder();
    warm(folder.path(), &cache);
    for (path, text) in [
        // Nothing asks for them.
        ("src/util.ts", "export function util() { return 2; }\n"),
        // A new import asks where it leads, and a client which version it has.
        (
            "src/util.ts",
            "import { stripe } from '@/stripe';\nexport function util() { return stripe.charges.list(); }\n",
        ),
        (
            "src/stripe.ts",
            "import Stripe from 'stripe';\nexport const stripe = new Stripe('k');\nexport * from './util';\n",
        ),
    ] {
        folder.write(path, text.as_bytes());
        folder.commit();
        let snapshot = Snapshot::read(warm(folder.path(), &cache).bytes);
        assert_eq!(snapshot.reasons(), [("manifest_unreadable", 1)], "{path}: {text}");
    }
}

#[test]
fn a_change_of_manifests_alone_resolves_again_without_parsing() {
    let folder = Repository::with(&FILES);
    folder.write("lib/stripe.ts", b"export const stripe = { customers: { create() {} } };\n");
    let (_held, cache) = cache_folder();
    let bound = |made: Made| {
        let snapshot = Snapshot::read(made.bytes);
        let bill = snapshot.files.iter().find(|facts| facts.path == "src/bill.ts").unwrap().clone();
        (bill.imports[0].target.clone(), bill.call_sites.len())
    };
    assert_eq!(bound(warm(folder.path(), &cache)), (Some("src/stripe.ts".to_owned()), 1));
    folder.write("tsconfig.json", br#"{"compilerOptions":{"paths":{"@/*":["./lib/*"]}}}"#);
    let again = warm(folder.path(), &cache);
    assert_eq!(again.counts(), (0, SOURCES + 1));
    assert_eq!(bound(again), (Some("lib/stripe.ts".to_owned()), 0));
}

#[test]
fn a_folder_notices_an_edit_of_the_same_size_and_time() {
    let folder = Repository::with(&[("a.ts", "export const one = 1;\n")]);
    let (_held, cache) = cache_folder();
    assert_eq!(warm(folder.path(), &cache).counts(), (1, 0));
    let path = folder.path().join("a.ts");
    let modified: SystemTime = fs::metadata(&path).unwrap().modified().unwrap();
    folder.write("a.ts", b"export const two = 2;\n");
    fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    let again = warm(folder.path(), &cache);
    assert_eq!(again.counts(), (1, 0));
    assert_eq!(Snapshot::read(again.bytes).files[0].symbols[0].name, "two");
}

#[test]
fn the_same_bytes_under_other_names_are_other_facts() {
    let text = "export declare const a: number;\nexport function f<T>(x: T) { return x; }\n";
    let folder = Repository::with(&[("a.ts", text), ("a.d.ts", text), ("b.ts", text), ("c.tsx", text), ("d.js", text)]);
    let (_held, cache) = cache_folder();
    warm(folder.path(), &cache);
    assert_eq!(warm(folder.path(), &cache).counts(), (0, 5));
}

#[test]
fn what_no_parser_can_read_is_remembered_and_what_killed_a_parser_is_not() {
    let folder = Repository::with(&[("a.ts", "export {};\n")]);
    folder.write("latin.ts", b"export const a = '\xe9';\n");
    let (_held, cache) = cache_folder();
    let first = warm(folder.path(), &cache);
    assert_eq!(first.counts(), (2, 0));
    assert_eq!(Snapshot::read(first.bytes).reasons(), [("parse_error", 1)]);
    assert_eq!(warm(folder.path(), &cache).counts(), (0, 2));

    // Deep enough to overflow the parser's stack in any build.
    folder.write("deep.ts", "[".repeat(500_000).as_bytes());
    let killed = warm(folder.path(), &cache);
    assert_eq!(killed.counts(), (1, 2));
    let killed = Snapshot::read(killed.bytes);
    assert!(killed.skips().iter().any(|(path, reason)| *path == "deep.ts" && *reason == "parse_overflow"));
    assert_eq!(warm(folder.path(), &cache).counts(), (1, 2), "it is tried again");
}

#[test]
fn a_damaged_cache_is_ignored_and_made_anew() {
    let folder = Repository::with(&FILES);
    let (_held, cache) = cache_folder();
    warm(folder.path(), &cache);
    let pack = packs(&cache).remove(0);
    let whole = fs::read(&pack).unwrap();
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let mut foreign = whole.clone();
    foreign[20] ^= 1;
    let truncated = whole[..whole.len() - 1].to_vec();
    for (damaged, parsed) in
        [(flipped, 1), (truncated, 1), (foreign, SOURCES), (vec![], SOURCES), (vec![7; 99], SOURCES)]
    {
        for file in files(&cache) {
            fs::remove_file(file).unwrap();
        }
        fs::write(&pack, damaged).unwrap();
        let made = warm(folder.path(), &cache);
        // Which entry is last is up to the order in which files were parsed: it may be the one that needs no parser.
        assert_eq!(made.cached, SOURCES - parsed);
        assert_eq!(warm(folder.path(), &cache).counts(), (0, SOURCES));
        assert!(packs(&cache).iter().all(|path| *path != pack), "the damaged pack is gone");
    }
}

/// Panics once so many files are done: as abrupt as an end within a process can be.
struct AbortAfter(usize);

impl Progress for AbortAfter {
    fn found(&self, _files: usize) {}
    fn parsed(&self, files: usize) {
        assert!(files < self.0, "aborted");
    }
}

#[test]
fn an_aborted_run_keeps_what_it_parsed() {
    let folder = Repository::with(&[]);
    for n in 0..40 {
        folder.write(&format!("f{n}.ts"), format!("export const f{n} = {n};\n").as_bytes());
    }
    let (_held, cache) = cache_folder();
    let one = IndexOptions { parsers: NonZeroUsize::MIN, ..options(folder.path(), Some(&cache)) };
    assert!(index(&one, &mut Vec::new(), &AbortAfter(25)).is_err());
    assert_eq!(warm(folder.path(), &cache).counts(), (15, 25));
}

#[test]
fn two_runs_at_once_are_safe() {
    let folder = Repository::with(&FILES);
    for n in 0..60 {
        folder.write(&format!("src/f{n}.ts"), format!("export const f{n} = {n};\n").as_bytes());
    }
    let (_held, cache) = cache_folder();
    let expected = cold(folder.path());
    std::thread::scope(|scope| {
        let runs: Vec<_> =
            (0..4).map(|_| scope.spawn(|| make(&options(folder.path(), Some(&cache)), &Silent))).collect();
        for run in runs {
            let made = run.join().unwrap();
            assert_eq!(made.problem, None);
            assert!(made.bytes == expected);
        }
    });
    assert_eq!(warm(folder.path(), &cache).counts(), (0, SOURCES + 60));
}

#[test]
fn a_cache_that_cannot_be_written_is_a_warning() {
    let folder = Repository::with(&FILES);
    let (_held, cache) = cache_folder();
    fs::write(&cache, "a file").unwrap();
    let made = warm_with_problem(folder.path(), &cache);
    assert!(made.contains("the parse cache `") && made.contains("/cache` cannot be used: "), "{made}");

    let output = run_index(folder.path(), &["--cache", cache.to_str().unwrap()]);
    assert!(output.status.success());
    assert!(output.stdout == cold(folder.path()));
    let warning = String::from_utf8(output.stderr).unwrap();
    assert!(warning.starts_with("warning: the parse cache `") && warning.contains("; next: "), "{warning}");
    assert_eq!(warning.lines().count(), 1, "{warning}");
    assert_eq!(fs::read_to_string(&cache).unwrap(), "a file");
}

fn warm_with_problem(path: &Path, cache: &Path) -> String {
    let made = make(&options(path, Some(cache)), &Silent);
    assert!(made.bytes == cold(path));
    made.problem.unwrap()
}

#[test]
fn the_command_line_keeps_a_cache_and_says_nothing_of_it() {
    let folder = Repository::with(&FILES);
    let (_held, cache) = cache_folder();
    for _ in 0..2 {
        let output = run_index(folder.path(), &["--cache", cache.to_str().unwrap()]);
        assert!(output.status.success() && output.stderr.is_empty());
        assert!(output.stdout == cold(folder.path()));
        assert_eq!(packs(&cache).len(), 1);
    }
}
