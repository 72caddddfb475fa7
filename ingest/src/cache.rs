//! What is kept from one index to the next: facts of files by the hash of their content, so that an index reads and
//! parses only what changed, and what the last index found of each file ([`last`]), so that it binds only that again.
//!
//! A cache is a folder of packs ([`pack`]) with the last index. A run writes what it parsed to a pack of its own, entry by entry, so that
//! an aborted run keeps what it parsed and runs at the same time never write to the same file. Nothing in a pack is
//! believed that does not have its checksum, and no pack of another build. At its end a run merges packs once there
//! are many of them or half of what they hold is of no use to it: a cache grows with its tree, not with history.
//!
//! A cache can only save work. Where it cannot be read, files are parsed; where it cannot be written, the index says
//! so and goes on.

mod last;
mod pack;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use sync_core::text::shown;

#[cfg(test)]
use crate::analyze::{Analyzed, Kept};
use crate::language::Language;
use crate::manifests::Id;
use crate::parse;
use crate::pins::Problem;
use crate::walk::Sizes;
use pack::{Pack, Place, Writer};

pub(crate) use last::{Keep, Last, State};

/// How names of packs begin and end. Only files of such names are ever removed.
const PREFIX: &str = "parsed-";
const SUFFIX: &str = ".pack";
/// How names of packs that are being merged end.
const UNFINISHED: &str = ".tmp";
/// Packs that may lie beside each other.
const MANY_PACKS: usize = 8;
/// Bytes of no use that are not worth a merge.
const SPARE_BYTES: u64 = 1 << 20;

/// What the facts of a file depend on, within one build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u8; Key::LENGTH]);

impl Key {
    const LENGTH: usize = 22;

    /// The key of a file; none where `content_hash` is no SHA-1 in hexadecimal.
    pub fn new(content_hash: &str, path: &str, language: Language) -> Option<Self> {
        let mut key = [0; Self::LENGTH];
        hex::decode_to_slice(content_hash, &mut key[..20]).ok()?;
        key[20] = language as u8;
        key[21] = u8::from(parse::is_declaration(path));
        Some(Self(key))
    }
}

/// An open cache; shared by the threads of one run.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    packs: Vec<Pack>,
    known: FxHashMap<Key, Known>,
    own: Mutex<Own>,
    /// Whether something was found that a merge should rid the cache of.
    damaged: AtomicBool,
}

/// An entry of a pack of an earlier run.
#[derive(Debug)]
struct Known {
    pack: usize,
    place: Place,
    used: AtomicBool,
}

/// What this run writes.
#[derive(Debug, Default)]
struct Own {
    writer: Option<Writer>,
    keys: FxHashSet<Key>,
    problem: Option<String>,
}

impl Cache {
    /// Opens the cache in a folder, which is made where there is none. Never fails: see [`Self::finish`].
    pub fn open(folder: &Path) -> Self {
        let mut cache = Self {
            folder: folder.to_owned(),
            packs: Vec::new(),
            known: FxHashMap::default(),
            own: Mutex::default(),
            damaged: AtomicBool::new(false),
        };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        if let Err(error) = made.and_then(|()| cache.read_packs()) {
            cache.own().problem = Some(error.to_string());
        }
        cache
    }

    fn read_packs(&mut self) -> io::Result<()> {
        let mut paths: Vec<PathBuf> = fs::read_dir(&self.folder)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| is_ours(path))
            .collect();
        paths.sort();
        for path in paths {
            // Another run may have removed it meanwhile.
            let Ok((pack, entries)) = Pack::read(path) else { continue };
            if !pack.is_sound() {
                self.damaged.store(true, Ordering::Relaxed);
            }
            let at = self.packs.len();
            self.packs.push(pack);
            for (key, place) in entries {
                self.known.insert(key, Known { pack: at, place, used: AtomicBool::new(false) });
            }
        }
        Ok(())
    }

    /// What was kept under a key.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let known = self.known.get(key)?;
        let Some(payload) = self.packs[known.pack].payload(key, known.place) else {
            self.damaged.store(true, Ordering::Relaxed);
            return None;
        };
        known.used.store(true, Ordering::Relaxed);
        Some(payload)
    }

    /// Says that what is kept under a key is of use, without reading it.
    pub(crate) fn touch(&self, key: &Key) {
        if let Some(known) = self.known.get(key) {
            known.used.store(true, Ordering::Relaxed);
        }
    }

    /// Keeps an index as the last one: what was found of each file, with its line if it has one.
    pub(crate) fn keep<'l>(
        &self,
        catalog: &str,
        tree: (&'l [Id], &'l [Problem], &Sizes),
        files: impl FnOnce(&mut Keep<'_, 'l>) -> io::Result<()>,
    ) {
        if let Err(problem) = last::write(&self.folder, catalog, tree, files) {
            self.own().problem.get_or_insert_with(|| problem.to_string());
        }
    }

    /// Keeps something under a key, at once and for good.
    pub fn put(&self, key: Key, payload: &[u8]) {
        let mut own = self.own();
        if own.problem.is_some() || !own.keys.insert(key) {
            return;
        }
        if let Err(error) = own.write(&self.folder, &key, payload) {
            own.problem = Some(error.to_string());
        }
    }

    /// Ends the run: merges packs where that is due, and says what kept it from writing.
    pub fn finish(self) -> Option<String> {
        let folder = shown(&self.folder.to_string_lossy(), 200);
        let problem = self.own().problem.take();
        let problem = problem.or_else(|| self.tidy().err().map(|error| error.to_string()))?;
        Some(format!("the parse cache `{folder}` cannot be used: {problem}"))
    }

    fn tidy(self) -> io::Result<()> {
        let own = self.own.into_inner().unwrap_or_else(PoisonError::into_inner).writer;
        let written = own.as_ref().map_or(0, Writer::bytes);
        let used = |known: &Known| known.used.load(Ordering::Relaxed);
        let useful: u64 = self.known.values().filter(|known| used(known)).map(|known| known.place.bytes()).sum();
        let total: u64 = self.packs.iter().map(Pack::bytes).sum();
        let is_wasteful = total + written > 2 * (useful + written) + SPARE_BYTES || self.damaged.into_inner();
        let packs = self.packs.len() + usize::from(own.is_some());
        if !is_wasteful && packs <= MANY_PACKS {
            return Ok(());
        }
        // Where there are just many, what another branch has use for stays too.
        let mut kept: Vec<_> = self.known.iter().filter(|(_, known)| !is_wasteful || used(known)).collect();
        kept.sort_by_key(|(_, known)| (known.pack, known.place.offset()));
        if !kept.is_empty() {
            let mut merged = Writer::create(&self.folder, UNFINISHED)?;
            for (key, known) in kept {
                if let Some(payload) = self.packs[known.pack].payload(key, known.place) {
                    merged.write(key, &payload)?;
                }
            }
            merged.rename()?;
        }
        // A pack that another run still writes to stays; so does this run's own.
        for pack in self.packs {
            pack.remove_if_idle();
        }
        Ok(())
    }

    fn own(&self) -> std::sync::MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Own {
    fn write(&mut self, folder: &Path, key: &Key, payload: &[u8]) -> io::Result<()> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(Writer::create(folder, SUFFIX)?),
        };
        writer.write(key, payload)
    }
}

/// The payloads of a pack of these bytes behind its first line.
#[cfg(any(test, fuzzing))]
pub(crate) fn read_for_fuzzing(bytes: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), [pack::build_line().as_bytes(), bytes].concat())?;
    let (pack, entries) = Pack::read(file.path().to_owned())?;
    Ok(entries.into_iter().filter_map(|(key, place)| pack.payload(&key, place)).collect())
}

/// What the last index found, of these bytes.
#[cfg(any(test, fuzzing))]
pub(crate) fn state_for_fuzzing(bytes: &[u8]) -> Option<State<'_>> {
    postcard::from_bytes(bytes).ok()
}

/// Such bytes.
#[cfg(test)]
pub(crate) fn seed_for_fuzzing<'l>(files: Vec<Kept<'l, &'l Analyzed<'l>>>) -> Vec<u8> {
    last::seed(files)
}

/// Whether a file of the folder is a pack or was to become one.
fn is_ours(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(PREFIX) && (name.ends_with(SUFFIX) || name.ends_with(UNFINISHED))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u32) -> Key {
        Key::new(&format!("{n:040x}"), "a.ts", Language::TypeScript).unwrap()
    }

    /// What a run that asks for some keys and adds others gets, and how many packs there are after it.
    fn run(folder: &Path, asked: &[u32], added: &[(u32, &[u8])]) -> (Vec<Option<Vec<u8>>>, usize) {
        let cache = Cache::open(folder);
        let got = asked.iter().map(|n| cache.get(&key(*n))).collect();
        for (n, payload) in added {
            cache.put(key(*n), payload);
        }
        assert_eq!(cache.finish(), None);
        (got, packs(folder).len())
    }

    fn packs(folder: &Path) -> Vec<PathBuf> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    #[test]
    fn what_was_put_is_there_in_the_next_run_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("new/cache");
        assert_eq!(run(&folder, &[1], &[(1, b"one"), (2, b""), (1, b"again")]), (vec![None], 1));
        let expected = vec![Some(b"one".to_vec()), Some(vec![]), None];
        assert_eq!(run(&folder, &[1, 2, 3], &[]), (expected.clone(), 1), "nothing new, nothing written");
        assert_eq!(run(&folder, &[1, 2, 3], &[(3, b"three")]), (expected, 2));
        assert_eq!(run(&folder, &[3, 1], &[]).0, [Some(b"three".to_vec()), Some(b"one".to_vec())]);
    }

    #[test]
    fn a_key_is_content_language_and_kind_of_file() {
        let hash = "0123456789abcdef0123456789abcdef01234567";
        let keys: FxHashSet<_> = [
            Key::new(hash, "a.ts", Language::TypeScript),
            Key::new(hash, "a.d.ts", Language::TypeScript),
            Key::new(hash, "a.tsx", Language::Tsx),
            Key::new(&hash.replace('0', "1"), "a.ts", Language::TypeScript),
        ]
        .into_iter()
        .collect();
        assert_eq!(keys.len(), 4);
        assert_eq!(Key::new(hash, "x/b.ts", Language::TypeScript), Key::new(hash, "a.mts", Language::TypeScript));
        for bad in ["", "abc", &"g".repeat(40), &"0".repeat(64)] {
            assert_eq!(Key::new(bad, "a.ts", Language::TypeScript), None);
        }
    }

    #[test]
    fn many_packs_become_one_and_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..MANY_PACKS {
            let (_, packs) = run(folder.path(), &[], &[(u32::try_from(n).unwrap(), &[7; 10])]);
            assert_eq!(packs, n + 1);
        }
        // The earlier ones are one now; the run's own lies beside it.
        assert_eq!(run(folder.path(), &[], &[(100, b"x")]).1, 2);
        let all: Vec<u32> = (0..8).chain([100]).collect();
        assert!(run(folder.path(), &all, &[]).0.iter().all(Option::is_some));
    }

    #[test]
    fn a_cache_does_not_grow_with_history() {
        let folder = tempfile::tempdir().unwrap();
        let payload = vec![1; 100_000];
        let mut most = 0;
        for n in 1..100 {
            run(folder.path(), &[n - 1], &[(n, &payload)]);
            most = most.max(packs(folder.path()).iter().map(|pack| fs::metadata(pack).unwrap().len()).sum());
        }
        assert!(most < 2 * 200_000 + SPARE_BYTES + 100_000, "{most}");
        assert_eq!(run(folder.path(), &[99], &[]).0, [Some(payload)]);
    }

    #[test]
    fn any_damage_costs_only_what_it_hits_and_is_gone_after_the_next_run() {
        let folder = tempfile::tempdir().unwrap();
        run(folder.path(), &[], &[(1, b"one"), (2, b"two")]);
        let path = packs(folder.path()).remove(0);
        let sound = fs::read(&path).unwrap();
        for at in 0..sound.len() {
            for damaged in [sound[..at].to_vec(), {
                let mut bytes = sound.clone();
                bytes[at] ^= 0x10;
                bytes
            }] {
                for pack in packs(folder.path()) {
                    fs::remove_file(pack).unwrap();
                }
                fs::write(&path, &damaged).unwrap();
                let (got, _) = run(folder.path(), &[1, 2], &[]);
                assert!(got[0].as_deref().is_none_or(|payload| payload == b"one"), "byte {at}");
                assert!(got[1].as_deref().is_none_or(|payload| payload == b"two"), "byte {at}");
                assert!(got.iter().any(Option::is_none), "byte {at} counts");
                let again = Cache::open(folder.path());
                assert!(again.packs.iter().all(Pack::is_sound), "byte {at}");
                assert_eq!(again.get(&key(1)), got[0], "byte {at}");
                assert_eq!(again.finish(), None);
            }
        }
    }

    #[test]
    fn packs_of_other_builds_and_unfinished_ones_go_and_other_files_stay() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["parsed-old.pack", "parsed-dead.tmp", "parsed-empty.pack", "notes.txt", "other.pack"] {
            let text = if name.contains("empty") { "" } else { "sync parse cache, some other build\n" };
            fs::write(folder.path().join(name), text).unwrap();
        }
        assert_eq!(run(folder.path(), &[1], &[(1, b"one")]), (vec![None], 3));
        assert_eq!(run(folder.path(), &[1], &[]).0, [Some(b"one".to_vec())]);
    }

    #[test]
    fn a_pack_that_another_run_writes_to_is_read_and_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let first = Cache::open(folder.path());
        first.put(key(1), b"one");
        let second = Cache::open(folder.path());
        assert_eq!(second.get(&key(1)), Some(b"one".to_vec()));
        // This makes the second run merge.
        second.damaged.store(true, Ordering::Relaxed);
        assert_eq!(second.finish(), None);
        first.put(key(2), b"two");
        assert_eq!(first.finish(), None);
        assert_eq!(run(folder.path(), &[1, 2], &[]).0, [Some(b"one".to_vec()), Some(b"two".to_vec())]);
    }

    #[test]
    fn an_unusable_folder_is_a_problem_and_no_failure() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let cache = Cache::open(&file);
        cache.put(key(1), b"one");
        assert_eq!(cache.get(&key(1)), None);
        let problem = cache.finish().unwrap();
        assert!(problem.contains("/file` cannot be used: "), "{problem}");
    }
}
