//! What the answers about one file were made of: the other files that were read for them, and the tables that were
//! asked. As long as none of these changes, neither do the answers.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::value::FileId;
use super::world::Definition;
use crate::parse::FunctionId;
use crate::pieces::{Numbers, Piece};

/// What was read for one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reads<'l> {
    /// Files of which anything may have been read; the file itself among them. Ascending.
    #[serde(borrow)]
    pub(crate) whole: Numbers<'l, 1>,
    /// Files of which was read what others see of them. Ascending, none of `whole`.
    #[serde(borrow)]
    pub(crate) seen: Numbers<'l, 1>,
    /// Files of which the names that they export were read. Ascending, none of `whole`.
    #[serde(borrow)]
    pub(crate) surfaces: Numbers<'l, 1>,
    /// Files of which also the names were read that all modules export which they take everything from. Ascending.
    #[serde(borrow)]
    pub(crate) stars: Numbers<'l, 1>,
    /// Names that were looked up in a file and found in another or not at all: [`Sought`].
    #[serde(borrow)]
    pub(super) definitions: Piece<'l>,
    /// The steps that looking those names up took.
    pub(super) steps: usize,
    /// Functions whose callers were asked for, each behind its file. Ascending.
    #[serde(borrow)]
    pub(crate) callers: Numbers<'l, 2>,
}

/// Names that were looked up, each behind its file and with where it was. Ascending.
pub(super) type Sought = Vec<(FileId, String, Option<Definition>)>;

impl Reads<'_> {
    /// Gives each file its new position.
    pub(crate) fn moved(&mut self, to: impl Fn(FileId) -> FileId) {
        for files in [&mut self.whole, &mut self.seen, &mut self.surfaces, &mut self.stars] {
            files.change(|[file]| *file = to(*file));
        }
        self.callers.change(|[file, _]| *file = to(*file));
        self.definitions.change(|sought: &mut Sought| {
            for (file, _, found) in sought {
                *file = to(*file);
                if let Some(found) = found {
                    found.moved(&to);
                }
            }
        });
    }
}

/// Collects [`Reads`].
#[derive(Debug)]
pub(super) struct Noted {
    marks: Vec<Marks>,
    files: Vec<FileId>,
    stars: FxHashSet<FileId>,
    callers: Vec<(FileId, FunctionId)>,
    definitions: FxHashMap<(FileId, String), Option<Definition>>,
    steps: usize,
}

/// What was read of a file: any of these.
type Marks = u8;
const SURFACE: Marks = 1;
const SEEN: Marks = 2;
const WHOLE: Marks = 4;

impl Noted {
    /// Nothing of so many files was read yet.
    pub(super) fn new(files: usize) -> Self {
        Self {
            marks: vec![0; files],
            files: Vec::new(),
            stars: FxHashSet::default(),
            callers: Vec::new(),
            definitions: FxHashMap::default(),
            steps: 0,
        }
    }

    pub(super) fn whole(&mut self, file: FileId) {
        self.note(file, WHOLE);
    }

    pub(super) fn seen(&mut self, file: FileId) {
        self.note(file, SEEN);
    }

    pub(super) fn surface(&mut self, file: FileId) {
        self.note(file, SURFACE);
    }

    pub(super) fn callers(&mut self, function: (FileId, FunctionId)) {
        self.callers.push(function);
    }

    pub(super) fn stars(&mut self, file: FileId) {
        self.stars.insert(file);
    }

    /// A name was looked up in so many steps. Gives the steps that are to be paid: it is looked up once.
    pub(super) fn definition(&mut self, file: FileId, name: &str, found: Option<Definition>, steps: usize) -> usize {
        if self.definitions.insert((file, name.to_owned()), found).is_some() {
            return 0;
        }
        self.steps = self.steps.saturating_add(steps);
        steps
    }

    fn note(&mut self, file: FileId, mark: Marks) {
        let known = &mut self.marks[file as usize];
        if *known == 0 {
            self.files.push(file);
        }
        *known |= mark;
    }

    pub(super) fn clear(&mut self) {
        for file in self.files.drain(..) {
            self.marks[file as usize] = 0;
        }
        self.stars.clear();
        self.callers.clear();
        self.definitions.clear();
        self.steps = 0;
    }

    pub(super) fn reads(&self) -> Reads<'static> {
        let mut files = self.files.clone();
        files.sort_unstable();
        let marked = |mark| {
            // Who read all of a file read all else.
            let is_marked = |marks: Marks| marks & mark != 0 && (mark == WHOLE || marks & WHOLE == 0);
            let files = files.iter().filter(|file| is_marked(self.marks[**file as usize]));
            Numbers::of(files.map(|file| [*file]))
        };
        let mut stars: Vec<_> = self.stars.iter().map(|file| [*file]).collect();
        stars.sort_unstable();
        let mut callers = self.callers.clone();
        callers.sort_unstable();
        callers.dedup();
        let sought = self.definitions.iter();
        let mut definitions: Sought = sought.map(|((file, name), found)| (*file, name.clone(), *found)).collect();
        definitions.sort_unstable_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        Reads {
            whole: marked(WHOLE),
            seen: marked(SEEN),
            surfaces: marked(SURFACE),
            stars: Numbers::of(stars.into_iter()),
            definitions: Piece::of(&definitions),
            steps: self.steps,
            callers: Numbers::of(callers.into_iter().map(|(file, function)| [file, function])),
        }
    }
}
