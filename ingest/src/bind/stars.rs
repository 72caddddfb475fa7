//! Which of the modules that a file takes everything from may have a name: a library's index takes from hundreds, and
//! looking into each of them for each name that somebody imports is most of what an index of such a repository costs.

use std::hash::{BuildHasher, BuildHasherDefault};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::value::FileId;
use super::world::World;

/// Modules and their names that are looked at for one file. Of files that lead to more each is looked into.
const MOST_OF_A_FILE: usize = 20_000;
/// The same for all files together.
pub(super) const MOST: usize = 2_000_000;

/// What the modules that a file takes everything from export.
#[derive(Debug)]
pub(super) struct Stars {
    /// The only module that may have a name, by the hash of that; nothing where several may.
    by_name: FxHashMap<u64, Option<FileId>>,
    /// All files whose exports say so.
    pub(super) files: Vec<FileId>,
}

/// The modules that may have a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum With {
    Nothing,
    Only(FileId),
    Several,
}

impl Stars {
    /// What the modules of a file export; nothing where that is too much.
    pub(super) fn of(world: &World<'_>, file: FileId) -> Option<Self> {
        let mut stars = Self { by_name: FxHashMap::default(), files: Vec::new() };
        let most = MOST_OF_A_FILE.min(world.left_for_stars.get());
        let mut looked_at = 0;
        for module in world.starred(file) {
            let mut met = FxHashSet::from_iter([file]);
            let mut open = vec![module];
            while let Some(there) = open.pop() {
                if !met.insert(there) {
                    continue;
                }
                open.extend(world.starred(there));
                for part in std::iter::once(there).chain(world.siblings(there)) {
                    stars.files.push(part);
                    looked_at += 1;
                    for name in world.surface(part).names() {
                        looked_at += 1;
                        let only = stars.by_name.entry(hash(name)).or_insert(Some(module));
                        *only = only.filter(|known| *known == module);
                    }
                }
                if looked_at > most {
                    world.left_for_stars.set(world.left_for_stars.get() - most);
                    return None;
                }
            }
        }
        world.left_for_stars.set(world.left_for_stars.get() - looked_at);
        stars.files.sort_unstable();
        stars.files.dedup();
        Some(stars)
    }

    /// The modules that may have a name.
    pub(super) fn with(&self, name: &str) -> With {
        match self.by_name.get(&hash(name)) {
            None => With::Nothing,
            Some(Some(module)) => With::Only(*module),
            Some(None) => With::Several,
        }
    }
}

fn hash(name: &str) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(name)
}
