//! Reading a snapshot that anyone may have written.

use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Read, Seek};

use sha2::{Digest, Sha256};
use sync_core::graph::{End, FileFacts, Header, Line, SNAPSHOT_FORMAT, Skipped};
use sync_core::rung::Rung;
use sync_core::text::shown;

use super::MAX_LINE;
use super::bounds::{self, Breach};

/// First bytes of a zstd frame.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Largest zstd window that is accepted, as a power of two: 8 MiB, what level 19 uses.
const ZSTD_WINDOW_LOG: u32 = 23;

/// The longest line that may hold fields this version does not know: they are read as values of any kind, which take
/// fifty times the room of their text.
const MAX_UNKNOWN: usize = 1 << 20;

/// The most values of one line, counted by the commas between them before it is read: one of three bytes would take forty
/// times its room. No line that the indexer writes has a tenth of them.
const MAX_VALUES: usize = 2 << 20;

/// What a snapshot may cost before it is refused.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes after decompression.
    pub bytes: u64,
    /// Lines.
    pub lines: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 4 << 30, lines: 2_000_000 }
    }
}

/// One body line of a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// A path that was not read.
    Skipped(Skipped),
    /// The facts of a file.
    File(Box<FileFacts>),
}

/// A snapshot that is refused; lines count from 1.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The input failed, or is no valid zstd stream.
    #[error("line {line}: the snapshot could not be read: {source}")]
    Input {
        /// Line being read.
        line: u64,
        /// Why.
        source: io::Error,
    },
    /// Nothing in it.
    #[error("the snapshot is empty")]
    Empty,
    /// The first line is not a header.
    #[error("line 1: a snapshot starts with its header")]
    NoHeader,
    /// A header after the first line.
    #[error("line {line}: a second header")]
    SecondHeader {
        /// Where.
        line: u64,
    },
    /// Written by a newer version.
    #[error("line 1: snapshot format {found}; this version reads format {SNAPSHOT_FORMAT}")]
    UnknownFormat {
        /// The format it says.
        found: u64,
    },
    /// A line that is not JSON of a known kind with all its fields.
    #[error("line {line}: {reason}")]
    Malformed {
        /// Where.
        line: u64,
        /// Why.
        reason: String,
    },
    /// A line beyond [`MAX_LINE`].
    #[error("line {line}: longer than {MAX_LINE} bytes")]
    LineTooLong {
        /// Where.
        line: u64,
    },
    /// Beyond [`Limits`].
    #[error("line {line}: the snapshot is larger than {limit}")]
    TooLarge {
        /// Where.
        line: u64,
        /// What it exceeds, in words.
        limit: String,
    },
    /// The end line, or a line's own end, is missing.
    #[error("line {line}: the snapshot is truncated")]
    Truncated {
        /// The last line that is there.
        line: u64,
    },
    /// Something after the end line.
    #[error("line {line}: something follows the end line")]
    AfterEnd {
        /// Where.
        line: u64,
    },
    /// A skipped line after a file, or a path before its predecessor.
    #[error("line {line}: `{path}` is out of order")]
    OutOfOrder {
        /// Where.
        line: u64,
        /// Whose line.
        path: String,
    },
    /// The same path twice.
    #[error("line {line}: `{path}` is there twice")]
    Duplicate {
        /// Where.
        line: u64,
        /// Whose line.
        path: String,
    },
    /// A field that holds what none may: a text that is too long, a path that leaves the repository, line 0.
    #[error("line {line}: {breach}")]
    OutOfBounds {
        /// Where.
        line: u64,
        /// Which field, and what is wrong with it.
        breach: Breach,
    },
    /// The line is not the one that was hashed.
    #[error("line {line}: the facts of `{path}` do not have the hash they claim")]
    FactsHash {
        /// Where.
        line: u64,
        /// Whose line.
        path: String,
    },
    /// A rung that no snapshot can have established.
    #[error("line {line}: `{path}` claims a binding `{rung}`; a snapshot may claim `static`")]
    ClaimedRung {
        /// Where.
        line: u64,
        /// Whose line.
        path: String,
        /// What it claims.
        rung: &'static str,
    },
    /// A call site of a client that the header does not list.
    #[error("line {line}: `{path}` names client `{client}`, which the header does not list")]
    UnknownClient {
        /// Where.
        line: u64,
        /// Whose line.
        path: String,
        /// The client's id.
        client: String,
    },
    /// The end line counts something else than what is there.
    #[error("line {line}: the end line counts {claimed} {what}, there are {found}")]
    Count {
        /// Where.
        line: u64,
        /// What is counted.
        what: &'static str,
        /// As claimed.
        claimed: u64,
        /// As found.
        found: u64,
    },
    /// The digest of the end line is not that of the lines before it.
    #[error("line {line}: the lines do not have the digest that the end line gives; the snapshot was altered")]
    Digest {
        /// Where.
        line: u64,
    },
}

impl SnapshotError {
    /// What whoever has this snapshot should do.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::UnknownFormat { .. } => "upgrade the reader, or write the snapshot with its version of sync-ingest",
            Self::TooLarge { .. } | Self::LineTooLong { .. } => {
                "index a smaller part of the repository, or exclude generated code from it"
            }
            Self::ClaimedRung { .. } => "upload the snapshot as sync-ingest wrote it",
            Self::OutOfBounds { .. } => {
                "write the snapshot with `sync-ingest index` and transfer it unchanged; report the field, if it did write that"
            }
            _ => "write the snapshot again with `sync-ingest index` and transfer it unchanged",
        }
    }
}

/// Hands out the lines of a snapshot, each checked: form, bounds of its fields, order, hashes, rungs, clients; and at the end counts
/// and digest. Only after [`Reader::next_record`] has returned `None` was all of it sound.
pub struct Reader<'a> {
    input: Box<dyn BufRead + 'a>,
    limits: Limits,
    header: Header,
    clients: HashSet<String>,
    digest: Sha256,
    line: u64,
    bytes: u64,
    counts: End,
    end: Option<End>,
    last_skipped: Option<String>,
    last_file: Option<String>,
    buffer: Vec<u8>,
}

impl<'a> Reader<'a> {
    /// Reads the header; plain and zstd input are told apart by their first bytes.
    pub fn new(input: impl Read + 'a, limits: Limits) -> Result<Self, SnapshotError> {
        let mut reader = Reader {
            input: decompressed(input)?,
            limits,
            header: Header {
                format: 0,
                analyzer: String::new(),
                catalog: String::new(),
                repository: None,
                ref_name: None,
                commit: None,
                gate: String::new(),
                clients: vec![],
                partial: false,
                partial_reasons: vec![],
            },
            clients: HashSet::new(),
            digest: Sha256::new(),
            line: 0,
            bytes: 0,
            counts: End {
                files: 0,
                skipped: 0,
                symbols: 0,
                edges: 0,
                unresolved: 0,
                call_sites: 0,
                sha256: String::new(),
            },
            end: None,
            last_skipped: None,
            last_file: None,
            buffer: Vec::new(),
        };
        if !reader.read_line()? {
            return Err(SnapshotError::Empty);
        }
        reader.header = reader.parse_header()?;
        reader.clients = reader.header.clients.iter().map(|client| client.id.clone()).collect();
        reader.digest.update(&reader.buffer);
        Ok(reader)
    }

    /// What the snapshot is of.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The number of the line read last, from 1.
    pub const fn line(&self) -> u64 {
        self.line
    }

    /// How long the line read last is, in bytes, with its line feed.
    pub const fn line_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// The end line; there once [`Reader::next_record`] has returned `None`.
    pub const fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// The next line, or `None` when the snapshot ended as it should.
    pub fn next_record(&mut self) -> Result<Option<Record>, SnapshotError> {
        if self.end.is_some() {
            return Ok(None);
        }
        if !self.read_line()? {
            return Err(SnapshotError::Truncated { line: self.line });
        }
        let line = self.line;
        match self.parse_line()? {
            Line::Header(_) => Err(SnapshotError::SecondHeader { line }),
            Line::Skipped(skipped) => {
                self.check_skipped(&skipped)?;
                self.digest.update(&self.buffer);
                Ok(Some(Record::Skipped(skipped)))
            }
            Line::File(facts) => {
                self.check_file(&facts)?;
                self.digest.update(&self.buffer);
                Ok(Some(Record::File(facts)))
            }
            Line::End(end) => {
                self.check_end(&end)?;
                if self.read_line()? {
                    return Err(SnapshotError::AfterEnd { line: self.line });
                }
                self.end = Some(end);
                Ok(None)
            }
        }
    }

    /// Reads a line with its line feed into the buffer; false at the end of the input.
    fn read_line(&mut self) -> Result<bool, SnapshotError> {
        self.buffer.clear();
        let line = self.line + 1;
        let limit = MAX_LINE as u64 + 1;
        let read = (&mut self.input)
            .take(limit)
            .read_until(b'\n', &mut self.buffer)
            .map_err(|source| SnapshotError::Input { line, source })?;
        if read == 0 {
            return Ok(false);
        }
        self.line = line;
        self.bytes += read as u64;
        if self.bytes > self.limits.bytes {
            return Err(SnapshotError::TooLarge { line, limit: format!("{} bytes", self.limits.bytes) });
        }
        if line > self.limits.lines {
            return Err(SnapshotError::TooLarge { line, limit: format!("{} lines", self.limits.lines) });
        }
        if self.buffer.last() != Some(&b'\n') {
            if read as u64 == limit {
                return Err(SnapshotError::LineTooLong { line });
            }
            return Err(SnapshotError::Truncated { line });
        }
        Ok(true)
    }

    fn parse_header(&self) -> Result<Header, SnapshotError> {
        // The format is looked at before anything else, since a newer header may lack what this one must have.
        #[derive(serde::Deserialize)]
        struct Format {
            kind: String,
            #[serde(default)]
            format: u64,
        }
        let format: Format = serde_json::from_slice(&self.buffer).map_err(|_| SnapshotError::NoHeader)?;
        if format.kind != "header" {
            return Err(SnapshotError::NoHeader);
        }
        if format.format != u64::from(SNAPSHOT_FORMAT) {
            return Err(SnapshotError::UnknownFormat { found: format.format });
        }
        let Line::Header(header) = self.parse_line()? else { return Err(SnapshotError::NoHeader) };
        bounds::header(&header).map_err(|breach| self.out_of_bounds(breach))?;
        Ok(header)
    }

    fn out_of_bounds(&self, breach: Breach) -> SnapshotError {
        SnapshotError::OutOfBounds { line: self.line, breach }
    }

    fn parse_line(&self) -> Result<Line, SnapshotError> {
        let line = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        if line.split(|byte| *byte == b',').count() > MAX_VALUES {
            return Err(SnapshotError::TooLarge { line: self.line, limit: format!("{MAX_VALUES} values in a line") });
        }
        serde_json::from_slice(line).map_err(|error| {
            // The parser counts lines of its own, which would contradict ours.
            let text = error.to_string();
            let what = text.split(" at line ").next().unwrap_or_default();
            let reason = format!("{} (column {})", shown(what, 200), error.column());
            SnapshotError::Malformed { line: self.line, reason }
        })
    }

    fn check_skipped(&mut self, skipped: &Skipped) -> Result<(), SnapshotError> {
        bounds::skipped(skipped).map_err(|breach| self.out_of_bounds(breach))?;
        if self.last_file.is_some() {
            return Err(SnapshotError::OutOfOrder { line: self.line, path: shown(&skipped.path, 200) });
        }
        check_order(self.last_skipped.as_deref(), &skipped.path, self.line)?;
        self.last_skipped = Some(skipped.path.clone());
        self.counts.skipped += 1;
        Ok(())
    }

    fn check_file(&mut self, facts: &FileFacts) -> Result<(), SnapshotError> {
        let line = self.line;
        bounds::file(facts).map_err(|breach| self.out_of_bounds(breach))?;
        check_order(self.last_file.as_deref(), &facts.path, line)?;
        for call_site in &facts.call_sites {
            if call_site.binding_source != Rung::Static {
                let rung = call_site.binding_source.as_str();
                return Err(SnapshotError::ClaimedRung { line, path: facts.path.clone(), rung });
            }
            if let Some(client) = &call_site.client
                && !self.clients.contains(client)
            {
                let client = shown(client, 40);
                return Err(SnapshotError::UnknownClient { line, path: facts.path.clone(), client });
            }
        }
        if !self.has_claimed_hash(facts) {
            return Err(SnapshotError::FactsHash { line, path: facts.path.clone() });
        }
        self.last_file = Some(facts.path.clone());
        self.counts.files += 1;
        self.counts.symbols += facts.symbols.len() as u64;
        self.counts.edges += facts.edges.len() as u64;
        self.counts.unresolved += facts.unresolved.len() as u64;
        self.counts.call_sites += facts.call_sites.len() as u64;
        Ok(())
    }

    /// The hash is over the line as written: a newer writer's additional fields belong to it, though this version
    /// does not know them.
    fn has_claimed_hash(&self, facts: &FileFacts) -> bool {
        if facts.compute_facts_hash().is_ok_and(|hash| hash == facts.facts_hash) {
            return true;
        }
        if self.buffer.len() > MAX_UNKNOWN {
            return false;
        }
        let Ok(serde_json::Value::Object(mut object)) = serde_json::from_slice(&self.buffer) else { return false };
        object.remove("facts_hash");
        serde_json_canonicalizer::to_vec(&object)
            .is_ok_and(|canonical| hex::encode(Sha256::digest(&canonical)) == facts.facts_hash)
    }

    fn check_end(&self, end: &End) -> Result<(), SnapshotError> {
        let counts = &self.counts;
        for (what, claimed, found) in [
            ("files", end.files, counts.files),
            ("skipped paths", end.skipped, counts.skipped),
            ("symbols", end.symbols, counts.symbols),
            ("edges", end.edges, counts.edges),
            ("unresolved calls", end.unresolved, counts.unresolved),
            ("call sites", end.call_sites, counts.call_sites),
        ] {
            if claimed != found {
                return Err(SnapshotError::Count { line: self.line, what, claimed, found });
            }
        }
        if end.sha256 != hex::encode(self.digest.clone().finalize()) {
            return Err(SnapshotError::Digest { line: self.line });
        }
        Ok(())
    }
}

fn check_order(last: Option<&str>, path: &str, line: u64) -> Result<(), SnapshotError> {
    match last {
        Some(last) if last == path => Err(SnapshotError::Duplicate { line, path: shown(path, 200) }),
        Some(last) if last > path => Err(SnapshotError::OutOfOrder { line, path: shown(path, 200) }),
        _ => Ok(()),
    }
}

/// Whether a snapshot is compressed; leaves the input at its start.
pub fn is_compressed(input: &mut (impl Read + Seek)) -> io::Result<bool> {
    let mut magic = Vec::with_capacity(ZSTD_MAGIC.len());
    input.rewind()?;
    input.take(ZSTD_MAGIC.len() as u64).read_to_end(&mut magic)?;
    input.rewind()?;
    Ok(magic == ZSTD_MAGIC)
}

fn decompressed<'a>(input: impl Read + 'a) -> Result<Box<dyn BufRead + 'a>, SnapshotError> {
    let failed = |source| SnapshotError::Input { line: 1, source };
    let mut input = BufReader::new(input);
    // A reader may give less than four bytes at once, so the magic is collected and put back.
    let mut magic = Vec::with_capacity(4);
    (&mut input).take(4).read_to_end(&mut magic).map_err(failed)?;
    let compressed = magic == ZSTD_MAGIC;
    let whole = io::Cursor::new(magic).chain(input);
    if !compressed {
        return Ok(Box::new(BufReader::new(whole)));
    }
    let mut decoder = zstd::stream::read::Decoder::new(whole).map_err(failed)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG).map_err(failed)?;
    Ok(Box::new(BufReader::new(decoder)))
}
