//! A file of cache entries: a line that names the build, then entry after entry, each with its checksum.
//!
//! ```text
//! length of the payload   4 bytes, little endian
//! CRC-32                  4 bytes, little endian, over the length, the key and the payload
//! key                     22 bytes
//! payload
//! ```

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::{Key, PREFIX, SUFFIX};
use crate::snapshot::ANALYZER;

/// Names the build that wrote a pack: version and sources of all that reads a file. See `build.rs`.
pub(super) fn build_line() -> String {
    format!("sync parse cache 1, {ANALYZER}, {}\n", env!("SYNC_PARSE_STAMP"))
}

/// Bytes of an entry before its payload.
const HEAD: usize = 4 + 4 + Key::LENGTH;
/// Longest payload: what a parse child may answer, and a little.
const MAX_PAYLOAD: u32 = 65 << 20;
/// Read at once while a pack is looked through; most entries fit.
const BUFFER: usize = 64 << 10;

/// Where the payload of an entry stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    offset: u64,
    length: u32,
    checksum: u32,
}

impl Place {
    pub(super) const fn offset(self) -> u64 {
        self.offset
    }

    /// Bytes of the whole entry.
    pub(super) const fn bytes(self) -> u64 {
        HEAD as u64 + self.length as u64
    }
}

/// A pack of an earlier run, or of one that is still writing.
#[derive(Debug)]
pub(super) struct Pack {
    path: PathBuf,
    file: File,
    bytes: u64,
    is_sound: bool,
}

impl Pack {
    /// Looks a pack through: its entries as far as they are whole, their payloads unread.
    pub(super) fn read(path: PathBuf) -> io::Result<(Self, Vec<(Key, Place)>)> {
        let file = File::open(&path)?;
        let bytes = file.metadata()?.len();
        let mut entries = Vec::new();
        let is_sound = look_through(&file, bytes, &mut entries).is_ok();
        Ok((Self { path, file, bytes, is_sound }, entries))
    }

    /// Whether it is of this build and nothing of it was cut off. Its payloads may still be damaged.
    pub(super) const fn is_sound(&self) -> bool {
        self.is_sound
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The payload of an entry, if it is what was written.
    pub(super) fn payload(&self, key: &Key, place: Place) -> Option<Vec<u8>> {
        let mut payload = vec![0; place.length as usize];
        self.file.read_exact_at(&mut payload, place.offset).ok()?;
        (checksum(key, &payload) == place.checksum).then_some(payload)
    }

    /// Removes the file, unless a run that still writes to it holds its lock.
    pub(super) fn remove_if_idle(self) {
        if self.file.try_lock().is_ok() {
            // Where it cannot be removed the next run tries again.
            let _ = fs::remove_file(self.path);
        }
    }
}

fn look_through(file: &File, bytes: u64, entries: &mut Vec<(Key, Place)>) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(BUFFER, file);
    let expected = build_line();
    let mut line = vec![0; expected.len()];
    reader.read_exact(&mut line)?;
    if line != expected.as_bytes() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut offset = line.len() as u64;
    while offset < bytes {
        let mut head = [0; HEAD];
        reader.read_exact(&mut head)?;
        offset += HEAD as u64;
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        let checksum = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        if length > MAX_PAYLOAD || offset + u64::from(length) > bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut key = [0; Key::LENGTH];
        key.copy_from_slice(&head[8..]);
        entries.push((Key(key), Place { offset, length, checksum }));
        reader.seek_relative(i64::from(length))?;
        offset += u64::from(length);
    }
    Ok(())
}

fn checksum(key: &Key, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&(payload.len() as u64).to_le_bytes());
    hasher.update(&key.0);
    hasher.update(payload);
    hasher.finalize()
}

/// Writes a new pack, whose lock it holds as long as it lives.
#[derive(Debug)]
pub(super) struct Writer {
    path: PathBuf,
    file: File,
    bytes: u64,
    entry: Vec<u8>,
}

impl Writer {
    /// A new file with a name of its own, readable by this user alone.
    pub(super) fn create(folder: &Path, suffix: &str) -> io::Result<Self> {
        let file = tempfile::Builder::new().prefix(PREFIX).suffix(suffix).tempfile_in(folder)?;
        let (file, path) = file.keep().map_err(|error| error.error)?;
        // A file system without locks has no other run that would look at them either.
        let _ = file.try_lock();
        let mut writer = Self { path, file, bytes: 0, entry: Vec::new() };
        writer.append(build_line().as_bytes())?;
        Ok(writer)
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes an entry in one go, past every buffer of this process: it stays if the process is killed.
    pub(super) fn write(&mut self, key: &Key, payload: &[u8]) -> io::Result<()> {
        let length = u32::try_from(payload.len()).ok().filter(|length| *length <= MAX_PAYLOAD);
        let Some(length) = length else { return Ok(()) };
        let mut entry = std::mem::take(&mut self.entry);
        entry.clear();
        entry.extend_from_slice(&length.to_le_bytes());
        entry.extend_from_slice(&checksum(key, payload).to_le_bytes());
        entry.extend_from_slice(&key.0);
        entry.extend_from_slice(payload);
        let written = self.append(&entry);
        self.entry = entry;
        written
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Makes a merged pack one that runs read.
    pub(super) fn rename(self) -> io::Result<()> {
        fs::rename(&self.path, self.path.with_extension(&SUFFIX[1..]))
    }
}
