//! Writing a snapshot: sections in order, paths ascending, counts and digest at the end.

use std::io::{self, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::Sha256;
use sync_core::graph::{End, FileFacts, Header, Skipped};

use super::MAX_LINE;
use super::bounds::{self, Breach};
use super::digest::Digested;

/// Bytes that are written and digested at once.
const CHUNK: usize = 256 << 10;

/// A line of a snapshot by reference, so that facts are written without a copy; the same JSON as
/// [`sync_core::graph::Line`].
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum LineRef<'a> {
    Header(&'a Header),
    Skipped(&'a Skipped),
    File(&'a FileFacts),
    End(&'a End),
}

/// The line of one file, as it is written, and what is counted of it.
#[derive(Debug, Clone)]
pub struct FileLine {
    /// With its line feed.
    pub bytes: Vec<u8>,
    /// What it holds.
    pub counts: LineCounts,
}

/// What the line of one file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineCounts {
    /// Symbols.
    pub symbols: u64,
    /// Edges.
    pub edges: u64,
    /// Unresolved calls.
    pub unresolved: u64,
    /// Call sites.
    pub call_sites: u64,
}

impl FileLine {
    /// The line of sealed facts.
    pub fn new(facts: &FileFacts) -> Result<Self, WriteError> {
        bounds::file(facts).map_err(|breach| WriteError::OutOfBounds { path: facts.path.clone(), breach })?;
        let mut bytes = Vec::new();
        encode(&facts.path, &LineRef::File(facts), &mut bytes)?;
        let counts = LineCounts {
            symbols: facts.symbols.len() as u64,
            edges: facts.edges.len() as u64,
            unresolved: facts.unresolved.len() as u64,
            call_sites: facts.call_sites.len() as u64,
        };
        Ok(Self { bytes, counts })
    }
}

/// Writes one snapshot: the header when made, then skipped paths, then files, each ascending by path, then
/// [`Writer::finish`]. The bytes are a function of what is written.
pub struct Writer<'a> {
    out: &'a mut dyn Write,
    chunk: Vec<u8>,
    /// Of the chunks before; most snapshots have none.
    digest: Option<Digested>,
    counts: End,
    last_skipped: Option<String>,
    last_file: Option<String>,
}

/// A snapshot that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The output took no more bytes.
    #[error("the snapshot could not be written: {0}")]
    Output(#[from] io::Error),
    /// Facts that have no JSON.
    #[error("the facts of `{path}` have no JSON form: {reason}")]
    Encode {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// A line that readers refuse.
    #[error("the facts of `{path}` take {bytes} bytes; a line holds at most {MAX_LINE}")]
    LineTooLong {
        /// The file.
        path: String,
        /// Bytes of its line.
        bytes: usize,
    },
    /// A field that readers refuse.
    #[error("the facts of `{path}` cannot be written: {breach}")]
    OutOfBounds {
        /// The file.
        path: String,
        /// Which field, and what is wrong with it.
        breach: Breach,
    },
    /// A field of the header that readers refuse.
    #[error("the header of the snapshot cannot be written: {breach}")]
    Header {
        /// Which field, and what is wrong with it.
        breach: Breach,
    },
    /// Paths given in an order that readers refuse: a bug of the caller.
    #[error("`{path}` was given out of order")]
    OutOfOrder {
        /// The file.
        path: String,
    },
}

impl<'a> Writer<'a> {
    /// Writes the header.
    pub fn new(out: &'a mut dyn Write, header: &Header) -> Result<Self, WriteError> {
        let counts =
            End { files: 0, skipped: 0, symbols: 0, edges: 0, unresolved: 0, call_sites: 0, sha256: String::new() };
        bounds::header(header).map_err(|breach| WriteError::Header { breach })?;
        let mut writer = Self { out, chunk: Vec::new(), digest: None, counts, last_skipped: None, last_file: None };
        writer.write_line("header", &LineRef::Header(header))?;
        Ok(writer)
    }

    /// Writes a path that was not read; all of them before the first file.
    pub fn skipped(&mut self, skipped: &Skipped) -> Result<(), WriteError> {
        let in_order = self.last_file.is_none() && self.last_skipped.as_ref().is_none_or(|last| *last < skipped.path);
        if !in_order {
            return Err(WriteError::OutOfOrder { path: skipped.path.clone() });
        }
        self.write_line(&skipped.path, &LineRef::Skipped(skipped))?;
        self.last_skipped = Some(skipped.path.clone());
        self.counts.skipped += 1;
        Ok(())
    }

    /// Writes the sealed facts of a file.
    pub fn file(&mut self, facts: &FileFacts) -> Result<(), WriteError> {
        let line = FileLine::new(facts)?;
        self.line(&facts.path, &line.bytes, line.counts)
    }

    /// Writes the line of a file, which [`FileLine::new`] made.
    pub fn line(&mut self, path: &str, line: &[u8], counts: LineCounts) -> Result<(), WriteError> {
        if self.last_file.as_ref().is_some_and(|last| last.as_str() >= path) {
            return Err(WriteError::OutOfOrder { path: path.to_owned() });
        }
        self.write(line)?;
        self.last_file = Some(path.to_owned());
        self.counts.files += 1;
        self.counts.symbols += counts.symbols;
        self.counts.edges += counts.edges;
        self.counts.unresolved += counts.unresolved;
        self.counts.call_sites += counts.call_sites;
        Ok(())
    }

    /// Writes the end and flushes; what was counted comes back.
    pub fn finish(mut self) -> Result<End, WriteError> {
        let chunk = self.next_chunk();
        self.out.write_all(&chunk)?;
        let mut digest = self.digest.take().unwrap_or_else(|| Digested::Here(Sha256::default()));
        digest.update(&chunk)?;
        let mut end = self.counts.clone();
        end.sha256 = digest.finish()?;
        encode("end", &LineRef::End(&end), &mut self.chunk)?;
        self.out.write_all(&self.chunk)?;
        self.out.flush()?;
        Ok(end)
    }

    fn write_line(&mut self, path: &str, line: &LineRef<'_>) -> Result<(), WriteError> {
        let mut bytes = Vec::new();
        encode(path, line, &mut bytes)?;
        Ok(self.write(&bytes)?)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.chunk.extend_from_slice(bytes);
        if self.chunk.len() < CHUNK {
            return Ok(());
        }
        let chunk = self.next_chunk();
        self.digest.get_or_insert_with(Digested::apart).update(&chunk)?;
        self.out.write_all(&chunk)
    }

    fn next_chunk(&mut self) -> Arc<Vec<u8>> {
        Arc::new(std::mem::take(&mut self.chunk))
    }
}

/// The JSON of a line with its line feed.
fn encode(path: &str, line: &LineRef<'_>, bytes: &mut Vec<u8>) -> Result<(), WriteError> {
    serde_json::to_writer(&mut *bytes, line)
        .map_err(|error| WriteError::Encode { path: path.to_owned(), reason: error.to_string() })?;
    if bytes.len() > MAX_LINE {
        return Err(WriteError::LineTooLong { path: path.to_owned(), bytes: bytes.len() });
    }
    bytes.push(b'\n');
    Ok(())
}
