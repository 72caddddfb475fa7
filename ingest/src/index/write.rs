//! Writing what was found: the snapshot, and beside it what the next index can keep.

use std::io::{self, Write};

use sync_core::graph::{End, Header, Skipped};

use crate::analyze::{Found, Line};
use crate::cache::{Cache, LastWriter, Lines};
use crate::manifests::Manifests;
use crate::snapshot::{WriteError, Writer};
use crate::walk::{Sizes, SourceEntry};

/// Writes a snapshot; the cache keeps what was found of its files.
pub(super) fn write(
    out: &mut dyn Write,
    header: &Header,
    skipped: &[Skipped],
    files: impl Iterator<Item = (SourceEntry, Found)>,
    mut lines: Option<Lines>,
    mut keep: Option<Keep<'_>>,
) -> Result<End, WriteError> {
    let mut writer = Writer::new(out, header)?;
    for skipped in skipped {
        writer.skipped(skipped)?;
    }
    for (entry, Found { analyzed, line, kept: _ }) in files {
        let line = match &line {
            Line::New(line) => Some((line.bytes.as_slice(), line.counts)),
            Line::Kept(place) => match &mut lines {
                Some(lines) => Some((lines.read(*place)?, place.counts)),
                None => None,
            },
            Line::TooLarge => None,
        };
        if let Some((line, counts)) = line {
            writer.line(&entry.path, line, counts)?;
        }
        if let Some(keep) = &mut keep {
            keep.attempt(|writer| writer.file(entry, analyzed, line));
        }
    }
    let end = writer.finish()?;
    if let Some(keep) = keep {
        keep.finish();
    }
    Ok(end)
}

/// Keeps an index for the next one. Where that fails, the cache says so and the snapshot is none the worse.
pub(super) struct Keep<'c> {
    cache: &'c Cache,
    writer: Option<LastWriter>,
}

impl<'c> Keep<'c> {
    pub(super) fn new(cache: &'c Cache, catalog: &str, manifests: &Manifests, sizes: &Sizes) -> Self {
        let writer = cache.keep(catalog, manifests, sizes).map_err(|error| cache.note(&error)).ok();
        Self { cache, writer }
    }

    fn attempt(&mut self, act: impl FnOnce(&mut LastWriter) -> io::Result<()>) {
        if let Some(writer) = &mut self.writer
            && let Err(error) = act(writer)
        {
            self.cache.note(&error);
            self.writer = None;
        }
    }

    fn finish(self) {
        if let Some(writer) = self.writer
            && let Err(error) = writer.finish()
        {
            self.cache.note(&error);
        }
    }
}
