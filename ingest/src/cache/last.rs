//! What the last index with a cache found: one file, which the next index replaces as a whole.
//!
//! ```text
//! a line that names the build and the catalog
//! the lines of the snapshot, one a file
//! what was found of each file, and which other files were read for that (postcard)
//! its length             8 bytes, little endian
//! CRC-32                 4 bytes, little endian, over all that stands before it
//! ```
//!
//! A run decodes of what was found only what it needs: the rest is written as it lies ([`crate::pieces`]). The lines,
//! which are most of it, are never in memory all at once: they are looked through when the file is opened and copied when
//! a snapshot is written. Where a byte of it is not what was written, all is found again.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use gix::ObjectId;
use serde::{Deserialize, Serialize};

use crate::analyze::{Analyzed, Kept, Place};
use crate::manifests::Id;
use crate::pieces::Numbers;
use crate::pins::Problem;
use crate::replace::replace;
use crate::snapshot::ANALYZER;
use crate::walk::{Known, Sizes};

/// Its name in the folder of a cache.
const NAME: &str = "last.index";
/// Bytes behind everything else.
const TAIL: u64 = 8 + 4;
/// More than the first line has.
const BUILD_LINE: usize = 512;
/// Read or written at once.
const BUFFER: usize = 256 << 10;

/// Names what the file depends on beside the tree: the sources of everything that makes an index, and the catalog.
fn build_line(catalog: &str) -> String {
    format!("sync last index 2, {ANALYZER}, {}, {catalog}\n", env!("SYNC_INDEX_STAMP"))
}

/// The last index, opened.
#[derive(Debug)]
pub(crate) struct Last {
    file: File,
    /// The line that names the build and the catalog.
    build: Vec<u8>,
    /// Where the lines begin.
    lines: u64,
    /// Where they end.
    lines_end: u64,
    found: Vec<u8>,
}

/// What the last index found, as it lies in its bytes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct State<'l, A = Analyzed<'l>> {
    /// The manifests that it had.
    pub(crate) manifests: Cow<'l, [Id]>,
    /// What was wrong with them.
    pub(crate) problems: Cow<'l, [Problem]>,
    /// Ascending by path.
    #[serde(borrow, bound(deserialize = "A: Deserialize<'de>"))]
    pub(crate) files: Vec<Kept<'l, A>>,
    /// Ids and sizes of the objects of a commit: five numbers and two.
    #[serde(borrow)]
    sizes: Numbers<'l, 7>,
}

impl Last {
    /// What is in the folder of a cache, if it is of this build, and whole.
    pub(crate) fn read(folder: &Path) -> Option<Self> {
        let path = folder.join(NAME);
        // A device or a pipe in its place would be read without end.
        fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        Self::of(File::open(path).ok()?)
    }

    fn of(file: File) -> Option<Self> {
        let mut build = vec![0; BUILD_LINE];
        let most = file.read_at(&mut build, 0).ok()?;
        build.truncate(build.get(..most)?.iter().position(|byte| *byte == b'\n')? + 1);
        build.starts_with(build_line("").trim_end().as_bytes()).then_some(())?;
        let lines = build.len() as u64;
        let end = file.metadata().ok()?.len().checked_sub(TAIL)?;
        let (mut length, mut checksum) = ([0; 8], [0; 4]);
        file.read_exact_at(&mut length, end).ok()?;
        file.read_exact_at(&mut checksum, end + 8).ok()?;
        let found_length = u64::from_le_bytes(length);
        let lines_end = end.checked_sub(found_length).filter(|at| *at >= lines)?;
        let mut sum = crc32fast::Hasher::new();
        sum.update(&build);
        let mut buffer = vec![0; BUFFER];
        let mut at = lines;
        while at < lines_end {
            let most = usize::try_from(lines_end - at).map_or(BUFFER, |left| left.min(BUFFER));
            let chunk = buffer.get_mut(..most)?;
            file.read_exact_at(chunk, at).ok()?;
            sum.update(chunk);
            at += chunk.len() as u64;
        }
        let mut found = vec![0; usize::try_from(found_length).ok()?];
        file.read_exact_at(&mut found, lines_end).ok()?;
        sum.update(&found);
        sum.update(&length);
        (sum.finalize() == u32::from_le_bytes(checksum)).then_some(Self { file, build, lines, lines_end, found })
    }

    /// What it found, if that was with this catalog.
    pub(crate) fn state(&self, catalog: &str) -> Option<State<'_>> {
        if self.build != build_line(catalog).as_bytes() {
            return None;
        }
        postcard::from_bytes(&self.found).ok()
    }

    /// Whether it has a line.
    pub(crate) fn has(&self, place: Place) -> bool {
        self.line_at(place).is_some()
    }

    /// Its lines, to be read one after the other.
    pub(crate) const fn lines(&self) -> Lines<'_> {
        Lines { last: self, buffer: Vec::new(), from: 0 }
    }

    fn line_at(&self, place: Place) -> Option<u64> {
        let from = self.lines.checked_add(place.offset)?;
        from.checked_add(u64::from(place.length)).filter(|to| *to <= self.lines_end).map(|_| from)
    }
}

/// Reads lines of the last index.
pub(crate) struct Lines<'a> {
    last: &'a Last,
    /// What was read last, from an offset in the file on.
    buffer: Vec<u8>,
    from: u64,
}

impl Lines<'_> {
    /// The line of a file.
    pub(crate) fn get(&mut self, place: Place) -> io::Result<&[u8]> {
        let from = self.last.line_at(place).ok_or(io::ErrorKind::InvalidData)?;
        let length = place.length as usize;
        let known = |buffer: &[u8], start: u64| {
            let at = usize::try_from(from.checked_sub(start)?).ok()?;
            at.checked_add(length).filter(|to| *to <= buffer.len()).map(|to| at..to)
        };
        if known(&self.buffer, self.from).is_none() {
            let left = usize::try_from(self.last.lines_end - from).unwrap_or(usize::MAX);
            self.buffer.resize(length.max(BUFFER).min(left), 0);
            self.last.file.read_exact_at(&mut self.buffer, from)?;
            self.from = from;
        }
        let found = known(&self.buffer, self.from).and_then(|range| self.buffer.get(range));
        found.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

impl State<'_> {
    /// What is known of the objects of a commit.
    pub(crate) fn known(&self) -> Known {
        let size = |[a, b, c, d, e, low, high]: [u32; 7]| {
            let mut id = [0; 20];
            for (bytes, number) in id.chunks_exact_mut(4).zip([a, b, c, d, e]) {
                bytes.copy_from_slice(&number.to_le_bytes());
            }
            (ObjectId::Sha1(id), u64::from(high) << 32 | u64::from(low))
        };
        Known {
            sizes: self.sizes.iter().map(size).collect(),
            manifests: self.manifests.iter().map(|id| id.content_hash.clone()).collect(),
        }
    }

    /// What the last index has of files that are given by their paths, ascending.
    pub(crate) fn of_paths<'p>(&self, paths: impl Iterator<Item = &'p str>) -> Vec<Option<&Kept<'_>>> {
        let mut all = self.files.iter().peekable();
        paths
            .map(|path| {
                while all.next_if(|kept| kept.path < path).is_some() {}
                all.next_if(|kept| kept.path == path)
            })
            .collect()
    }
}

/// What is done with each file that is kept, and its line if it has one.
pub(crate) type Keep<'k, 'l> = dyn FnMut(Kept<'l, &'l Analyzed<'l>>, Option<&[u8]>) -> io::Result<()> + 'k;

/// Puts an index in the place of the last one. `files` gives all of its files, in their order; the places of their lines
/// are set here.
pub(super) fn write<'l>(
    folder: &Path,
    catalog: &str,
    (manifests, problems, sizes): (&'l [Id], &'l [Problem], &Sizes),
    files: impl FnOnce(&mut Keep<'_, 'l>) -> io::Result<()>,
) -> io::Result<()> {
    let file = tempfile::Builder::new().prefix(super::PREFIX).suffix(super::UNFINISHED).tempfile_in(folder)?;
    let mut out = Summed { out: BufWriter::with_capacity(BUFFER, file), sum: crc32fast::Hasher::new() };
    out.write_all(build_line(catalog).as_bytes())?;
    let mut all = Vec::new();
    let mut offset = 0;
    files(&mut |mut kept, line| {
        if let Some((place, line)) = kept.line.as_mut().zip(line) {
            out.write_all(line)?;
            place.offset = offset;
            offset += u64::from(place.length);
        }
        all.push(kept);
        Ok(())
    })?;
    let state = State { manifests: manifests.into(), problems: problems.into(), files: all, sizes: numbers(sizes) };
    let found = postcard::to_allocvec(&state).map_err(io::Error::other)?;
    out.write_all(&found)?;
    out.write_all(&(found.len() as u64).to_le_bytes())?;
    let Summed { mut out, sum } = out;
    out.write_all(&sum.finalize().to_le_bytes())?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    replace(file, &folder.join(NAME))
}

fn numbers(sizes: &Sizes) -> Numbers<'static, 7> {
    let group = |(id, size): (&ObjectId, &u64)| {
        let id = <[u8; 20]>::try_from(id.as_slice()).ok()?;
        let size = size.to_le_bytes();
        let mut group = [0; 7];
        let words = group.iter_mut().zip(id.chunks_exact(4).chain(size.chunks_exact(4)));
        for (number, bytes) in words {
            *number = u32::from_le_bytes(*bytes.first_chunk()?);
        }
        Some(group)
    };
    Numbers::of(sizes.iter().filter_map(group))
}

/// Writes, and sums up what was written.
struct Summed<W> {
    out: W,
    sum: crc32fast::Hasher,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
pub(super) fn seed<'l>(files: Vec<Kept<'l, &'l Analyzed<'l>>>) -> Vec<u8> {
    let (manifests, problems) = (Cow::Borrowed(&[][..]), Cow::Borrowed(&[][..]));
    postcard::to_allocvec(&State { manifests, problems, files, sizes: Numbers::default() }).unwrap()
}
