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
//! A run reads it whole, and decodes of what was found only what it needs: the rest is written as it lies
//! ([`crate::pieces`]). Where a byte of it is not what was written, all is found again.

use std::borrow::Cow;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use gix::ObjectId;
use serde::{Deserialize, Serialize};

use crate::analyze::{Analyzed, Kept, Place};
use crate::language::Language;
use crate::manifests::Id;
use crate::pieces::Numbers;
use crate::pins::Problem;
use crate::snapshot::ANALYZER;
use crate::walk::{Known, Sizes, SourceEntry};

/// Its name in the folder of a cache.
const NAME: &str = "last.index";
/// Bytes behind everything else.
const TAIL: usize = 8 + 4;
/// Written at once.
const BUFFER: usize = 256 << 10;

/// Names what the file depends on beside the tree: the sources of everything that makes an index, and the catalog.
fn build_line(catalog: &str) -> String {
    format!("sync last index 2, {ANALYZER}, {}, {catalog}\n", env!("SYNC_INDEX_STAMP"))
}

/// The bytes of the last index.
#[derive(Debug)]
pub(crate) struct Last {
    bytes: Vec<u8>,
    /// Where the lines begin.
    lines: usize,
    /// Where they end and what was found begins.
    found: usize,
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
    /// What is in the folder of a cache, if it is of this build and this catalog, and whole.
    pub(crate) fn read(folder: &Path, catalog: &str) -> Option<Self> {
        let path = folder.join(NAME);
        // A device or a pipe in its place would be read without end.
        fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        Self::of(fs::read(path).ok()?, catalog)
    }

    fn of(bytes: Vec<u8>, catalog: &str) -> Option<Self> {
        let lines = build_line(catalog);
        bytes.starts_with(lines.as_bytes()).then_some(())?;
        let lines = lines.len();
        let (rest, checksum) = bytes.split_last_chunk::<4>()?;
        (crc32fast::hash(rest) == u32::from_le_bytes(*checksum)).then_some(())?;
        let (rest, length) = rest.split_last_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let found = rest.len().checked_sub(length).filter(|found| *found >= lines)?;
        Some(Self { bytes, lines, found })
    }

    /// What it found.
    pub(crate) fn state(&self) -> Option<State<'_>> {
        postcard::from_bytes(self.bytes.get(self.found..self.bytes.len() - TAIL)?).ok()
    }

    /// The line of a file.
    pub(crate) fn line(&self, place: Place) -> Option<&[u8]> {
        let from = self.lines.checked_add(usize::try_from(place.offset).ok()?)?;
        let to = from.checked_add(place.length as usize).filter(|to| *to <= self.found)?;
        self.bytes.get(from..to)
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

    /// A file of the last index, if it is the same file.
    pub(crate) fn same_file(&self, path: &str, language: Language, content_hash: &str) -> Option<SourceEntry> {
        let at = self.files.binary_search_by(|kept| kept.path.cmp(path)).ok()?;
        let kept = self.files.get(at)?;
        (kept.language == language && kept.content_hash == content_hash).then(|| SourceEntry {
            path: path.to_owned(),
            language,
            content_hash: content_hash.to_owned(),
            bytes: kept.bytes,
        })
    }
}

/// Puts an index in the place of the last one. `lines` are those of the files that have one, in their order, whose places
/// are set here.
pub(super) fn write<'l>(
    folder: &Path,
    catalog: &str,
    (manifests, problems, sizes): (&'l [Id], &'l [Problem], &Sizes),
    files: impl Iterator<Item = (Kept<'l, &'l Analyzed<'l>>, Option<&'l [u8]>)>,
) -> io::Result<()> {
    let file = tempfile::Builder::new().prefix(super::PREFIX).suffix(super::UNFINISHED).tempfile_in(folder)?;
    let mut out = Summed { out: BufWriter::with_capacity(BUFFER, file), sum: crc32fast::Hasher::new() };
    out.write_all(build_line(catalog).as_bytes())?;
    let mut all = Vec::new();
    let mut offset = 0;
    for (mut kept, line) in files {
        if let Some((place, line)) = kept.line.as_mut().zip(line) {
            out.write_all(line)?;
            place.offset = offset;
            offset += u64::from(place.length);
        }
        all.push(kept);
    }
    let state = State { manifests: manifests.into(), problems: problems.into(), files: all, sizes: numbers(sizes) };
    let found = postcard::to_allocvec(&state).map_err(io::Error::other)?;
    out.write_all(&found)?;
    out.write_all(&(found.len() as u64).to_le_bytes())?;
    let Summed { mut out, sum } = out;
    out.write_all(&sum.finalize().to_le_bytes())?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.persist(folder.join(NAME)).map_err(|error| error.error)?;
    Ok(())
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
