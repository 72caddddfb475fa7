//! Writing what was found: the snapshot, and beside it what the next index can keep.

use std::io::{self, Write};

use sync_core::graph::{End, Header, Skipped};

use super::run::Made;
use crate::analyze::{Found, Kept, Line, Place};
use crate::cache::{Keep, Last};
use crate::snapshot::{LineCounts, WriteError, Writer};
use crate::walk::SourceEntry;

/// What was found of the files of a snapshot, ascending by path.
#[derive(Clone, Copy)]
pub(super) struct Files<'a> {
    entries: &'a [SourceEntry],
    found: &'a [Found<'a>],
    /// The last index, where that found some of it.
    last: Option<&'a Last>,
}

impl<'a> Files<'a> {
    pub(super) fn of(made: &'a Made<'_>, last: Option<&'a Last>) -> Self {
        Self { entries: &made.entries, found: &made.analysis.files, last }
    }

    /// Each file, with its line if it has one.
    fn each<E: From<io::Error>>(
        self,
        mut with: impl FnMut(&'a SourceEntry, &'a Found<'a>, Option<(&[u8], LineCounts)>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut lines = self.last.map(Last::lines);
        for (entry, found) in self.entries.iter().zip(self.found) {
            let line = match (&found.line, &mut lines) {
                (Line::New(line), _) => Some((line.bytes.as_slice(), line.counts)),
                (Line::Kept(place), Some(lines)) => Some((lines.get(*place)?, place.counts)),
                (Line::Kept(_), None) | (Line::TooLarge, _) => None,
            };
            with(entry, found, line)?;
        }
        Ok(())
    }

    /// Whether all lines that the last index is to have are there.
    pub(super) fn are_whole(self) -> bool {
        self.found.iter().all(|found| match found.line {
            Line::Kept(place) => self.last.is_some_and(|last| last.has(place)),
            Line::New(_) | Line::TooLarge => true,
        })
    }

    /// Writes the snapshot.
    pub(super) fn write(self, out: &mut dyn Write, header: &Header, skipped: &[Skipped]) -> Result<End, WriteError> {
        let mut writer = Writer::new(out, header)?;
        for skipped in skipped {
            writer.skipped(skipped)?;
        }
        self.each(|entry, _, line| match line {
            Some((line, counts)) => writer.line(&entry.path, line, counts),
            None => Ok(()),
        })?;
        writer.finish()
    }

    /// Gives what the next index can keep, with the lines.
    pub(super) fn keep(self, with: &mut Keep<'_, 'a>) -> io::Result<()> {
        self.each(|entry, found, line| {
            let place = line
                .and_then(|(line, counts)| Some(Place { offset: 0, length: u32::try_from(line.len()).ok()?, counts }));
            let kept = Kept {
                path: &entry.path,
                language: entry.language,
                content_hash: &entry.content_hash,
                bytes: entry.bytes,
                analyzed: &found.analyzed,
                line: place,
            };
            with(kept, line.map(|(line, _)| line))
        })
    }
}
