//! Which of the modules that a file takes everything from has a name: a library's index takes from hundreds, and looking
//! into each of them for each name that somebody imports is most of what an index of such a repository costs.
//!
//! Files that take everything from each other in a circle see the same modules, so what is known of those is kept once
//! for all files of a circle.

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher, BuildHasherDefault};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::value::FileId;
use super::world::World;

/// Modules and their names that a table has. Where there are more, each module is looked into for each name.
const MOST_OF_A_TABLE: usize = 200_000;
/// The same for all tables that are kept at once.
const MOST: usize = 2_000_000;
/// Entries of a table that cost whoever asks it as much as a step: it may have to be made anew for them. They are counted
/// in powers of two: were each of them counted, whoever asks would be bound again for any name that is exported anew.
const ENTRIES_OF_A_STEP: usize = 8;
/// A file that is of no circle yet.
const NONE: u32 = u32::MAX;

/// What is known of files that take everything from others.
#[derive(Debug)]
pub(super) struct Stars {
    /// The circle of each file.
    of: Vec<Cell<u32>>,
    circles: RefCell<Vec<Circle>>,
    /// Entries of all tables.
    kept: Cell<usize>,
    /// The first circle of which it is not known whether it changed.
    judged: Cell<usize>,
}

/// Files of which each takes everything from each other, mostly a single one.
#[derive(Debug)]
struct Circle {
    files: Vec<FileId>,
    /// The circles that its files take everything from, which all come before it.
    below: Vec<u32>,
    /// How many entries its table has, whether or not that is kept.
    entries: Option<usize>,
    table: Option<Rc<Table>>,
    /// Whether one of its files or of those below exports something else than when the last index was made, once it is
    /// judged.
    is_changed: bool,
}

/// The module that has a name itself, by the hash of that; nothing where several have it.
type Table = FxHashMap<u64, Option<FileId>>;

/// The modules that have a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum With {
    Nothing,
    Only(FileId),
    /// Several, or more modules than a table is made of.
    Unknown,
}

impl Stars {
    /// Of so many files.
    pub(super) fn new(files: usize) -> Self {
        Self { of: vec![Cell::new(NONE); files], circles: RefCell::default(), kept: Cell::new(0), judged: Cell::new(0) }
    }

    /// The modules, among those that a file takes everything from and itself, that have a name; and how many steps it
    /// takes to know. That depends on the modules alone, not on what is known already.
    pub(super) fn with(&self, world: &World<'_>, file: FileId, name: &str) -> (With, usize) {
        let circle = self.circle_of(world, file);
        let (known, entries) = {
            let circles = self.circles.borrow();
            (circles[circle].table.clone(), circles[circle].entries)
        };
        if entries.is_some_and(|entries| entries > MOST_OF_A_TABLE) {
            return (With::Unknown, 1);
        }
        let (table, entries) = if let (Some(table), Some(entries)) = (known, entries) {
            (table, entries)
        } else {
            let (table, entries) = self.table(world, circle);
            let table = Rc::new(table);
            self.keep(circle, entries, &table);
            if entries > MOST_OF_A_TABLE {
                return (With::Unknown, 1);
            }
            (table, entries)
        };
        let with = match table.get(&hash(name)) {
            None => With::Nothing,
            Some(Some(module)) => With::Only(*module),
            Some(None) => With::Unknown,
        };
        (with, 1 + entries.next_power_of_two() / ENTRIES_OF_A_STEP)
    }

    /// Whether one of the modules that a file takes everything from, or itself, exports something else than when the
    /// last index was made; `changed` says that of each file, and is the same at each call.
    pub(super) fn has_changed(&self, world: &World<'_>, file: FileId, changed: &[bool]) -> bool {
        if file as usize >= self.of.len() {
            return true;
        }
        let circle = self.circle_of(world, file);
        let mut circles = self.circles.borrow_mut();
        for at in self.judged.get()..=circle {
            let Circle { files, below, .. } = &circles[at];
            let is = |file: FileId| changed.get(file as usize).is_none_or(|changed| *changed);
            let is_own = files.iter().any(|file| is(*file) || world.siblings(*file).any(is));
            let is_below = || below.iter().any(|below| circles[*below as usize].is_changed);
            circles[at].is_changed = is_own || is_below();
            self.judged.set(at + 1);
        }
        circles[circle].is_changed
    }

    /// What the files of a circle and those below export, and how many entries that took; of more than a table has it
    /// says nothing.
    fn table(&self, world: &World<'_>, circle: usize) -> (Table, usize) {
        let circles = self.circles.borrow();
        let (mut table, mut entries) = (Table::default(), 0);
        let mut met = FxHashSet::from_iter([circle]);
        let mut open = vec![circle];
        while let Some(circle) = open.pop() {
            let Circle { files, below, .. } = &circles[circle];
            open.extend(below.iter().map(|below| *below as usize).filter(|below| met.insert(*below)));
            for module in files {
                for part in std::iter::once(*module).chain(world.siblings(*module)) {
                    entries += 1;
                    for name in world.surface(part).names().filter(|name| !matches!(*name, "*" | "default" | "=")) {
                        entries += 1;
                        let only = table.entry(hash(name)).or_insert(Some(*module));
                        *only = only.filter(|known| known == module);
                    }
                }
                if entries > MOST_OF_A_TABLE {
                    return (Table::default(), entries);
                }
            }
        }
        (table, entries)
    }

    fn keep(&self, circle: usize, entries: usize, table: &Rc<Table>) {
        let mut circles = self.circles.borrow_mut();
        let mut kept = self.kept.get() + table.len();
        if kept > MOST {
            for circle in circles.iter_mut() {
                circle.table = None;
            }
            kept = table.len();
        }
        self.kept.set(kept);
        circles[circle].entries = Some(entries);
        circles[circle].table = Some(Rc::clone(table));
    }

    /// The circle of a file, found as Tarjan does; those below it are found before.
    fn circle_of(&self, world: &World<'_>, start: FileId) -> usize {
        let of = |file: FileId| self.of[file as usize].get();
        let mut numbers: FxHashMap<FileId, usize> = FxHashMap::default();
        let mut waiting: Vec<FileId> = Vec::new();
        let mut open: Vec<Open> = Vec::new();
        let mut next = (of(start) == NONE).then_some(start);
        loop {
            if let Some(file) = next.take() {
                let number = numbers.len();
                numbers.insert(file, number);
                let targets = world.starred(file).collect();
                open.push(Open { targets, number, lowest: number, below: waiting.len() });
                waiting.push(file);
            }
            let Some(top) = open.last_mut() else { return of(start) as usize };
            if let Some(target) = top.targets.pop() {
                match numbers.get(&target) {
                    _ if of(target) != NONE => {}
                    Some(number) => top.lowest = top.lowest.min(*number),
                    None => next = Some(target),
                }
                continue;
            }
            let Some(done) = open.pop() else { continue };
            if let Some(outer) = open.last_mut() {
                outer.lowest = outer.lowest.min(done.lowest);
            }
            if done.lowest == done.number {
                self.add(world, waiting.split_off(done.below));
            }
        }
    }

    fn add(&self, world: &World<'_>, files: Vec<FileId>) {
        let mut circles = self.circles.borrow_mut();
        let own = u32::try_from(circles.len()).unwrap_or(NONE);
        for file in &files {
            self.of[*file as usize].set(own);
        }
        let mut below: Vec<u32> =
            files.iter().flat_map(|file| world.starred(*file)).map(|it| self.of[it as usize].get()).collect();
        below.sort_unstable();
        below.dedup();
        below.retain(|below| *below != own);
        circles.push(Circle { files, below, entries: None, table: None, is_changed: false });
    }
}

/// A file whose circle is being looked for.
struct Open {
    /// Modules that were not looked at yet.
    targets: Vec<FileId>,
    number: usize,
    /// The lowest number that it leads to.
    lowest: usize,
    /// Files that were waiting for their circle before it.
    below: usize,
}

fn hash(name: &str) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(name)
}
