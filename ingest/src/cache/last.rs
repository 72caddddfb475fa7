//! What the last index with a cache found: one file, which the next index replaces as a whole.
//!
//! ```text
//! a line that names the build and the catalog
//! the lines of the snapshot, one a file
//! what was found of each file, and which other files were read for that (postcard)
//! its length             8 bytes, little endian
//! its CRC-32             4 bytes, little endian
//! ```
//!
//! Every line has its checksum in the part behind it. What is damaged anywhere is found again.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use gix::ObjectId;
use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};
use tempfile::NamedTempFile;

use crate::analyze::{Analyzed, Before, Kept, Place};
use crate::language::Language;
use crate::manifests::Manifests;
use crate::snapshot::{ANALYZER, LineCounts};
use crate::walk::{Sizes, SourceEntry};

/// Its name in the folder of a cache.
const NAME: &str = "last.index";
/// Bytes behind everything else.
const TAIL: usize = 8 + 4;
/// Read or written at once.
const BUFFER: usize = 256 << 10;

/// Names what the file depends on beside the tree: the sources of everything that makes an index, and the catalog.
fn build_line(catalog: &str) -> String {
    format!("sync last index 1, {ANALYZER}, {}, {catalog}\n", env!("SYNC_INDEX_STAMP"))
}

/// What is kept behind the lines.
#[derive(Serialize, Deserialize)]
struct Rest {
    /// Digest of the manifests.
    manifests: [u8; 20],
    /// Ascending by path.
    files: Vec<Kept>,
    /// Ids and sizes of the objects of a commit, ascending.
    sizes: Vec<([u8; 20], u64)>,
}

/// The last index.
#[derive(Debug)]
pub(crate) struct Last {
    manifests: [u8; 20],
    files: Vec<Kept>,
    sizes: Vec<([u8; 20], u64)>,
    lines: File,
    /// Where the lines start.
    start: u64,
}

impl Last {
    /// What is in the folder of a cache, if it is of this build and this catalog, and whole.
    pub(crate) fn read(folder: &Path, catalog: &str) -> Option<Self> {
        let mut lines = File::open(folder.join(NAME)).ok()?;
        let expected = build_line(catalog);
        let mut line = vec![0; expected.len()];
        lines.read_exact(&mut line).ok()?;
        if line != expected.as_bytes() {
            return None;
        }
        let start = line.len() as u64;
        let end = lines.seek(SeekFrom::End(0)).ok()?;
        let mut tail = [0; TAIL];
        lines.seek(SeekFrom::Start(end.checked_sub(TAIL as u64)?)).ok()?;
        lines.read_exact(&mut tail).ok()?;
        let (length, checksum) = tail.split_first_chunk::<8>()?;
        let length = u64::from_le_bytes(*length);
        let at = end.checked_sub(TAIL as u64)?.checked_sub(length).filter(|at| *at >= start)?;
        let mut rest = vec![0; usize::try_from(length).ok()?];
        lines.seek(SeekFrom::Start(at)).ok()?;
        lines.read_exact(&mut rest).ok()?;
        if crc32fast::hash(&rest).to_le_bytes() != checksum {
            return None;
        }
        let Rest { manifests, files, sizes } = postcard::from_bytes(&rest).ok()?;
        Some(Self { manifests, files, sizes, lines, start })
    }

    /// The sizes of the objects that the tree had.
    pub(crate) fn take_sizes(&mut self) -> Sizes {
        std::mem::take(&mut self.sizes).into_iter().map(|(id, size)| (ObjectId::Sha1(id), size)).collect()
    }

    /// Whether the tree had these manifests.
    pub(crate) fn is_with(&self, manifests: &Manifests) -> bool {
        self.manifests == digest(manifests)
    }

    /// A file of the last index, if it is the same file.
    pub(crate) fn same_file(&self, path: &str, language: Language, content_hash: &str) -> Option<SourceEntry> {
        let at = self.files.binary_search_by(|kept| kept.path.as_str().cmp(path)).ok()?;
        let kept = self.files.get(at)?;
        (kept.language == language && kept.content_hash == content_hash).then(|| SourceEntry {
            path: path.to_owned(),
            language,
            content_hash: content_hash.to_owned(),
            bytes: kept.bytes,
        })
    }

    /// What was found, as far as it is what was written, and the lines themselves.
    pub(crate) fn found<'f>(
        self,
        files: impl ExactSizeIterator<Item = &'f SourceEntry> + Clone,
    ) -> io::Result<(Before, Lines)> {
        let mut lines = Lines::new(self.lines, self.start)?;
        let mut before = Before::new(self.files, files);
        before.keep_lines(|place| lines.read(place).is_ok_and(|line| crc32fast::hash(line) == place.checksum));
        lines.rewind()?;
        Ok((before, lines))
    }
}

/// Lines of the last index, read in the order in which they are.
#[derive(Debug)]
pub(crate) struct Lines {
    file: BufReader<File>,
    start: u64,
    at: u64,
    line: Vec<u8>,
}

impl Lines {
    fn new(file: File, start: u64) -> io::Result<Self> {
        let mut lines = Self { file: BufReader::with_capacity(BUFFER, file), start, at: 0, line: Vec::new() };
        lines.rewind()?;
        Ok(lines)
    }

    fn rewind(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.start))?;
        self.at = 0;
        Ok(())
    }

    /// A line, which is not before one that was read.
    pub(crate) fn read(&mut self, place: Place) -> io::Result<&[u8]> {
        let ahead = i64::try_from(i128::from(place.offset) - i128::from(self.at)).map_err(io::Error::other)?;
        self.file.seek_relative(ahead)?;
        self.line.resize(place.length as usize, 0);
        self.file.read_exact(&mut self.line)?;
        self.at = place.offset + u64::from(place.length);
        Ok(&self.line)
    }
}

/// Writes what the next index will find as the last one.
#[derive(Debug)]
pub(crate) struct Writer {
    file: BufWriter<NamedTempFile>,
    path: PathBuf,
    at: u64,
    rest: Rest,
}

impl std::fmt::Debug for Rest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rest").field("files", &self.files.len()).finish_non_exhaustive()
    }
}

impl Writer {
    /// Begins a file beside the one that it will replace.
    pub(crate) fn create(folder: &Path, catalog: &str, manifests: &Manifests, sizes: &Sizes) -> io::Result<Self> {
        let file = tempfile::Builder::new().prefix(super::PREFIX).suffix(super::UNFINISHED).tempfile_in(folder)?;
        let mut file = BufWriter::with_capacity(BUFFER, file);
        file.write_all(build_line(catalog).as_bytes())?;
        let id = |id: &ObjectId| <[u8; 20]>::try_from(id.as_slice()).ok();
        let mut sizes: Vec<_> = sizes.iter().filter_map(|(object, size)| Some((id(object)?, *size))).collect();
        sizes.sort_unstable();
        let rest = Rest { manifests: digest(manifests), files: Vec::new(), sizes };
        Ok(Self { file, path: folder.join(NAME), at: 0, rest })
    }

    /// Keeps what was found of a file, with its line if it has one.
    pub(crate) fn file(
        &mut self,
        entry: SourceEntry,
        analyzed: Analyzed,
        line: Option<(&[u8], LineCounts)>,
    ) -> io::Result<()> {
        let line = match line {
            Some((line, counts)) => {
                self.file.write_all(line)?;
                let length = u32::try_from(line.len()).map_err(io::Error::other)?;
                let place = Place { offset: self.at, length, checksum: crc32fast::hash(line), counts };
                self.at += u64::from(length);
                Some(place)
            }
            None => None,
        };
        self.rest.files.push(Kept {
            path: entry.path,
            language: entry.language,
            content_hash: entry.content_hash,
            bytes: entry.bytes,
            analyzed,
            line,
        });
        Ok(())
    }

    /// Puts the file in the place of the one before.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let rest = postcard::to_allocvec(&self.rest).map_err(io::Error::other)?;
        self.file.write_all(&rest)?;
        self.file.write_all(&(rest.len() as u64).to_le_bytes())?;
        self.file.write_all(&crc32fast::hash(&rest).to_le_bytes())?;
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.persist(self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

fn digest(manifests: &Manifests) -> [u8; 20] {
    let mut digest = Sha1::new();
    for (path, bytes) in &manifests.files {
        for part in [path.as_bytes(), bytes] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
    }
    digest.finalize().into()
}
