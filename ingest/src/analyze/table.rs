//! Something of every file of a project, of which an earlier index may have found some.

use std::sync::OnceLock;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Project;
use crate::pieces::Piece;

/// A value a file, in the order of the project. What an earlier index found is decoded when it is first asked for.
#[derive(Debug)]
pub(crate) struct Table<'l, T> {
    pieces: Vec<Piece<'l>>,
    known: Vec<OnceLock<T>>,
}

impl<'l, T: Serialize + DeserializeOwned + Default + PartialEq> Table<'l, T> {
    /// For so many files.
    pub(super) fn new(files: usize) -> Self {
        Self { pieces: Vec::with_capacity(files), known: Vec::with_capacity(files) }
    }

    /// The next file has a value as it was kept.
    pub(super) fn keep(&mut self, piece: Piece<'l>) {
        self.pieces.push(piece);
        self.known.push(OnceLock::new());
    }

    /// The next file has this value.
    pub(super) fn push(&mut self, value: T) {
        self.pieces.push(Piece::of(&value));
        self.known.push(OnceLock::from(value));
    }

    /// The value of a file. Where what was kept cannot be read it is empty, and the project says so.
    pub(crate) fn of(&self, project: &Project<'_>, at: usize) -> &T {
        self.known[at].get_or_init(|| {
            self.pieces[at].get().unwrap_or_else(|| {
                project.lose();
                T::default()
            })
        })
    }

    /// The values as they are kept.
    pub(super) fn into_pieces(self) -> Vec<Piece<'l>> {
        self.pieces
    }
}
