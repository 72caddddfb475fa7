//! What was not read, with reasons and counts.

use std::collections::{BTreeMap, BTreeSet};

use sync_core::graph::{PartialReason, Skipped};

use super::Limits;
use crate::reason::Reason;
use crate::snapshot::MAX_REASON_FILES;

/// Collects skipped paths and the reasons for which an index is partial. The order in which they are told does not
/// matter: files are read by several threads.
#[derive(Debug, Default)]
pub struct Report {
    skipped: BTreeMap<String, Reason>,
    partial: BTreeMap<Reason, Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    count: u64,
    first: BTreeSet<String>,
}

impl Report {
    /// A path that is not meant to be read; a folder ends in `/`.
    pub fn skip(&mut self, reason: Reason, path: &str) {
        self.skipped.insert(path.to_owned(), reason);
    }

    /// A path that should have been read and was not: skipped, and the index partial.
    pub fn fail(&mut self, reason: Reason, path: &str) {
        self.skip(reason, path);
        self.note(reason, path);
    }

    /// A reason for which the index is partial, at a path that is not itself skipped.
    pub fn note(&mut self, reason: Reason, path: &str) {
        let counted = self.partial.entry(reason).or_default();
        counted.count += 1;
        if !path.is_empty() {
            counted.first.insert(path.to_owned());
        }
        if counted.first.len() > MAX_REASON_FILES {
            counted.first.pop_last();
        }
    }

    /// Skipped paths and partial reasons, both sorted; `limits` are those of the walk.
    pub fn into_parts(self, limits: &Limits) -> (Vec<Skipped>, Vec<PartialReason>) {
        let skipped = self
            .skipped
            .into_iter()
            .map(|(path, reason)| Skipped { path, reason: reason.as_str().to_owned() })
            .collect();
        let mut partial: Vec<PartialReason> = self
            .partial
            .into_iter()
            .map(|(reason, counted)| PartialReason {
                reason: reason.as_str().to_owned(),
                count: counted.count,
                limit: reason.limit(limits),
                files: counted.first.into_iter().collect(),
            })
            .collect();
        partial.sort_by(|a, b| a.reason.cmp(&b.reason));
        (skipped, partial)
    }
}
