//! The snapshot file: the facts of one index, line by line (`openapi/snapshot.md`).
//!
//! [`Writer`] makes it with the same bytes for the same facts; [`Reader`] believes nothing of it: what it hands out
//! has passed every check that does not need a database, and what it refuses, it refuses with the line's number.

mod bounds;
mod digest;
mod reader;
mod writer;

pub use bounds::Breach;
pub use reader::{Limits, Reader, Record, SnapshotError, is_compressed};
pub use writer::{FileLine, LineCounts, WriteError, Writer};

/// The version of this analyzer, as snapshots and parse caches name it: facts of another version are not comparable.
pub const ANALYZER: &str = concat!("sync-ingest/", env!("CARGO_PKG_VERSION"));

/// The longest line that is read or written, without its line feed, in bytes.
pub const MAX_LINE: usize = 16 << 20;

/// Most paths that one partial reason names.
pub const MAX_REASON_FILES: usize = 20;

#[cfg(test)]
mod tests;
