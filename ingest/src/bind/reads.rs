//! What the answers about one file were made of: the other files that were read for them, and the tables that were
//! asked. As long as none of these changes, neither do the answers.

use rustc_hash::FxHashMap;
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
    /// Files of which only the names that they export were read. Ascending, none of `whole`.
    #[serde(borrow)]
    pub(crate) surfaces: Numbers<'l, 1>,
    /// Names that were looked up in a file and found in another or not at all: [`Sought`].
    #[serde(borrow)]
    pub(super) definitions: Piece<'l>,
    /// Functions whose callers were asked for, each behind its file. Ascending.
    #[serde(borrow)]
    pub(crate) callers: Numbers<'l, 2>,
}

/// Names that were looked up, each behind its file and with where it was. Ascending.
pub(super) type Sought = Vec<(FileId, String, Option<Definition>)>;

impl Reads<'_> {
    /// Gives each file its new position.
    pub(crate) fn moved(&mut self, to: impl Fn(FileId) -> FileId) {
        for files in [&mut self.whole, &mut self.surfaces] {
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
    marks: Vec<Mark>,
    files: Vec<FileId>,
    callers: Vec<(FileId, FunctionId)>,
    definitions: FxHashMap<(FileId, String), Option<Definition>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    Unread,
    Surface,
    Whole,
}

impl Noted {
    /// Nothing of so many files was read yet.
    pub(super) fn new(files: usize) -> Self {
        Self {
            marks: vec![Mark::Unread; files],
            files: Vec::new(),
            callers: Vec::new(),
            definitions: FxHashMap::default(),
        }
    }

    pub(super) fn whole(&mut self, file: FileId) {
        self.note(file, Mark::Whole);
    }

    pub(super) fn surface(&mut self, file: FileId) {
        self.note(file, Mark::Surface);
    }

    pub(super) fn callers(&mut self, function: (FileId, FunctionId)) {
        self.callers.push(function);
    }

    pub(super) fn definition(&mut self, file: FileId, name: &str, found: Option<Definition>) {
        self.definitions.insert((file, name.to_owned()), found);
    }

    fn note(&mut self, file: FileId, mark: Mark) {
        let known = &mut self.marks[file as usize];
        if *known == Mark::Unread {
            self.files.push(file);
        }
        *known = mark.max(*known);
    }

    pub(super) fn clear(&mut self) {
        for file in self.files.drain(..) {
            self.marks[file as usize] = Mark::Unread;
        }
        self.callers.clear();
        self.definitions.clear();
    }

    pub(super) fn reads(&self) -> Reads<'static> {
        let marked = |mark| {
            let mut files: Vec<_> =
                self.files.iter().copied().filter(|file| self.marks[*file as usize] == mark).collect();
            files.sort_unstable();
            Numbers::of(files.into_iter().map(|file| [file]))
        };
        let mut callers = self.callers.clone();
        callers.sort_unstable();
        callers.dedup();
        let sought = self.definitions.iter();
        let mut definitions: Sought = sought.map(|((file, name), found)| (*file, name.clone(), *found)).collect();
        definitions.sort_unstable_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        Reads {
            whole: marked(Mark::Whole),
            surfaces: marked(Mark::Surface),
            definitions: Piece::of(&definitions),
            callers: Numbers::of(callers.into_iter().map(|(file, function)| [file, function])),
        }
    }
}
