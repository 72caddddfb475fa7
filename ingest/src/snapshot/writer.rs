//! Writing a snapshot: sections in order, paths ascending, counts and digest at the end.

use std::io::{self, Write};

use serde::Serialize;
use sha2::{Digest, Sha256};
use sync_core::graph::{End, FileFacts, Header, Skipped};

use super::MAX_LINE;

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

/// Writes one snapshot: the header when made, then skipped paths, then files, each ascending by path, then
/// [`Writer::finish`]. The bytes are a function of what is written.
pub struct Writer<'a> {
    out: &'a mut dyn Write,
    digest: Sha256,
    counts: End,
    last_skipped: Option<String>,
    last_file: Option<String>,
    line: Vec<u8>,
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
        let mut writer =
            Self { out, digest: Sha256::new(), counts, last_skipped: None, last_file: None, line: Vec::new() };
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
        if self.last_file.as_ref().is_some_and(|last| *last >= facts.path) {
            return Err(WriteError::OutOfOrder { path: facts.path.clone() });
        }
        self.write_line(&facts.path, &LineRef::File(facts))?;
        self.last_file = Some(facts.path.clone());
        self.counts.files += 1;
        self.counts.symbols += facts.symbols.len() as u64;
        self.counts.edges += facts.edges.len() as u64;
        self.counts.unresolved += facts.unresolved.len() as u64;
        self.counts.call_sites += facts.call_sites.len() as u64;
        Ok(())
    }

    /// Writes the end and flushes; what was counted comes back.
    pub fn finish(mut self) -> Result<End, WriteError> {
        let mut end = self.counts.clone();
        end.sha256 = hex::encode(std::mem::take(&mut self.digest).finalize());
        self.write_line("end", &LineRef::End(&end))?;
        self.out.flush()?;
        Ok(end)
    }

    fn write_line(&mut self, path: &str, line: &LineRef<'_>) -> Result<(), WriteError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, line)
            .map_err(|error| WriteError::Encode { path: path.to_owned(), reason: error.to_string() })?;
        if self.line.len() > MAX_LINE {
            return Err(WriteError::LineTooLong { path: path.to_owned(), bytes: self.line.len() });
        }
        self.line.push(b'\n');
        self.digest.update(&self.line);
        self.out.write_all(&self.line)?;
        Ok(())
    }
}
