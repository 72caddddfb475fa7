//! What the cache keeps of a file: its size and what a child said of it, or why it is no source.

use super::{Outcome, Said};
use crate::language::Language;
use crate::reason::Reason;
use crate::walk::SourceEntry;

/// Why a file is no source, as it is kept: a byte in place of everything else.
const SKIPPED: [Reason; 3] = [Reason::Binary, Reason::Generated, Reason::LfsPointer];

/// Keeps that the bytes of a file say that it is no source.
pub(super) fn skipped(reason: Reason) -> Vec<u8> {
    SKIPPED.iter().position(|known| *known == reason).and_then(|at| u8::try_from(at).ok()).into_iter().collect()
}

/// Keeps what a child said of a file of so many bytes.
pub(super) fn replied(bytes: u64, reply: &[u8]) -> Vec<u8> {
    let mut payload = Vec::with_capacity(8 + reply.len());
    payload.extend_from_slice(&bytes.to_le_bytes());
    payload.extend_from_slice(reply);
    payload
}

/// What was kept, as an outcome of this file, and what that cost.
pub(super) fn outcome(payload: &[u8], path: String, language: Language, content_hash: &str) -> Option<(Outcome, u32)> {
    if let [skipped] = payload {
        return SKIPPED.get(usize::from(*skipped)).map(|reason| (Outcome::of_content(*reason), 0));
    }
    let (bytes, reply) = payload.split_first_chunk::<8>()?;
    let entry =
        SourceEntry { path, language, content_hash: content_hash.to_owned(), bytes: u64::from_le_bytes(*bytes) };
    let Said { cost, reply } = postcard::from_bytes(reply).ok()?;
    Some((reply.outcome(entry), cost))
}

/// What a child took for the file; nothing where it was never asked.
pub(super) fn cost(payload: &[u8]) -> Option<u32> {
    let (_, reply) = payload.split_first_chunk::<8>()?;
    // The first of what was said.
    Some(postcard::take_from_bytes(reply).ok()?.0)
}
