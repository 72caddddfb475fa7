//! What was not read, with reasons and counts.

use std::collections::{BTreeMap, BTreeSet};

use sync_core::graph::{PartialReason, Skipped};

use crate::snapshot::MAX_REASON_FILES;

/// Collects skipped paths and the reasons for which an index is partial. The order in which they are told does not
/// matter: files are read by several threads.
#[derive(Debug, Default)]
pub struct Report {
    skipped: BTreeMap<String, &'static str>,
    partial: BTreeMap<&'static str, Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    count: u64,
    first: BTreeSet<String>,
}

impl Report {
    /// A path that is not meant to be read; a folder ends in `/`.
    pub fn skip(&mut self, reason: &'static str, path: &str) {
        self.skipped.insert(path.to_owned(), reason);
    }

    /// A path that should have been read and was not: skipped, and the index partial.
    pub fn fail(&mut self, reason: &'static str, path: &str) {
        self.skip(reason, path);
        self.note(reason, path);
    }

    /// A reason for which the index is partial, at a path that is not itself skipped.
    pub fn note(&mut self, reason: &'static str, path: &str) {
        let counted = self.partial.entry(reason).or_default();
        counted.count += 1;
        if !path.is_empty() {
            counted.first.insert(path.to_owned());
        }
        if counted.first.len() > MAX_REASON_FILES {
            counted.first.pop_last();
        }
    }

    /// Skipped paths and partial reasons, both sorted.
    pub fn into_parts(self) -> (Vec<Skipped>, Vec<PartialReason>) {
        let skipped =
            self.skipped.into_iter().map(|(path, reason)| Skipped { path, reason: reason.to_owned() }).collect();
        let partial = self
            .partial
            .into_iter()
            .map(|(reason, counted)| PartialReason {
                reason: reason.to_owned(),
                count: counted.count,
                files: counted.first.into_iter().collect(),
            })
            .collect();
        (skipped, partial)
    }
}
