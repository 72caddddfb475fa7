//! `sync-ingest index` as a process: what it writes, what it refuses, and what cannot bring it down.

mod bindings;
mod cache;
mod canaries;
mod command_line;
mod folders;
mod git;
mod histories;
mod hostile;
mod ignored;
mod interrupted;
mod killers;
mod languages;
mod linking;
mod multiplying;
mod navigation;
pub(crate) mod repository;
mod trees;

use std::path::Path;
use std::process::{Command, Output};

use sync_core::graph::{FileFacts, Header, Skipped};
use sync_ingest::snapshot::{Limits, Reader, Record};

/// The executable under test.
pub(crate) const EXECUTABLE: &str = env!("CARGO_BIN_EXE_syncd-under-test");

/// Runs `index` with arguments.
pub(crate) fn run_index(path: &Path, args: &[&str]) -> Output {
    Command::new(EXECUTABLE).arg("index").arg(path).args(args).env("HOME", "/nonexistent").output().unwrap()
}

/// A snapshot that its reader found sound.
struct Snapshot {
    bytes: Vec<u8>,
    header: Header,
    skipped: Vec<Skipped>,
    files: Vec<FileFacts>,
}

impl Snapshot {
    fn read(bytes: Vec<u8>) -> Self {
        let mut reader = Reader::new(bytes.as_slice(), Limits::default()).unwrap();
        let (mut skipped, mut files) = (Vec::new(), Vec::new());
        while let Some(record) = reader.next_record().unwrap() {
            match record {
                Record::Skipped(path) => skipped.push(path),
                Record::File(facts) => files.push(*facts),
            }
        }
        let header = reader.header().clone();
        drop(reader);
        Self { bytes, header, skipped, files }
    }

    fn paths(&self) -> Vec<&str> {
        self.files.iter().map(|facts| facts.path.as_str()).collect()
    }

    fn skips(&self) -> Vec<(&str, &str)> {
        self.skipped.iter().map(|skipped| (skipped.path.as_str(), skipped.reason.as_str())).collect()
    }

    fn reasons(&self) -> Vec<(&str, u64)> {
        self.header.partial_reasons.iter().map(|reason| (reason.reason.as_str(), reason.count)).collect()
    }
}

/// The snapshot of a path, which must succeed.
fn snapshot_of(path: &Path, args: &[&str]) -> Snapshot {
    let output = run_index(path, args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Snapshot::read(output.stdout)
}
