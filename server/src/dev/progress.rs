//! What a person who waits is told, on stderr.

use std::io::{self, Write as _};
use std::time::Instant;

/// Tells how far the start is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    begun: Instant,
}

impl Progress {
    /// From now on.
    pub(super) fn begin() -> Self {
        Self { begun: Instant::now() }
    }

    /// One line, with the time since the start.
    pub(super) fn say(self, what: &str) {
        // Whoever closed stderr does not want to know.
        let _ = writeln!(io::stderr(), "{:5.1}s  {what}", self.begun.elapsed().as_secs_f32());
    }
}
