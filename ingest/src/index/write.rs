//! Writing what was found: the snapshot, and beside it what the next index can keep.

use std::io::Write;

use sync_core::graph::{End, Header, Skipped};

use super::run::Made;
use crate::analyze::{Analyzed, Found, Kept, Line, Place};
use crate::cache::Last;
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
    fn all(self) -> impl Iterator<Item = (&'a SourceEntry, &'a Found<'a>, Option<(&'a [u8], LineCounts)>)> {
        self.entries.iter().zip(self.found).map(move |(entry, found)| {
            let line = match &found.line {
                Line::New(line) => Some((line.bytes.as_slice(), line.counts)),
                Line::Kept(place) => self.last.and_then(|last| Some((last.line(*place)?, place.counts))),
                Line::TooLarge => None,
            };
            (entry, found, line)
        })
    }

    /// Whether all lines that the last index is to have are there.
    pub(super) fn are_whole(self) -> bool {
        self.all().all(|(_, found, line)| line.is_some() || matches!(found.line, Line::TooLarge))
    }

    /// Writes the snapshot.
    pub(super) fn write(self, out: &mut dyn Write, header: &Header, skipped: &[Skipped]) -> Result<End, WriteError> {
        let mut writer = Writer::new(out, header)?;
        for skipped in skipped {
            writer.skipped(skipped)?;
        }
        for (entry, _, line) in self.all() {
            if let Some((line, counts)) = line {
                writer.line(&entry.path, line, counts)?;
            }
        }
        writer.finish()
    }

    /// What the next index can keep, with the lines.
    pub(super) fn kept(self) -> impl Iterator<Item = (Kept<'a, &'a Analyzed<'a>>, Option<&'a [u8]>)> {
        self.all().map(|(entry, found, line)| {
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
            (kept, line.map(|(line, _)| line))
        })
    }
}
