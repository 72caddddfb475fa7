//! The digest of a snapshot, made beside the writing of it: of a large one either takes as long as the other.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use sha2::{Digest, Sha256};

/// Chunks that may wait to be digested.
const WAITING: usize = 2;

/// Digests chunks, by a thread of its own where one can be had.
pub(super) enum Digested {
    Here(Sha256),
    Apart(SyncSender<Arc<Vec<u8>>>, JoinHandle<Sha256>),
}

impl Digested {
    /// By a thread of its own.
    pub(super) fn apart() -> Self {
        let (sender, chunks) = sync_channel::<Arc<Vec<u8>>>(WAITING);
        let all = move || chunks.iter().fold(Sha256::new(), |digest, chunk| digest.chain_update(&*chunk));
        let thread = Builder::new().name("digest".to_owned()).spawn(all);
        thread.map_or_else(|_| Self::Here(Sha256::new()), |thread| Self::Apart(sender, thread))
    }

    /// The next chunk.
    pub(super) fn update(&mut self, chunk: &Arc<Vec<u8>>) -> io::Result<()> {
        match self {
            Self::Here(digest) => digest.update(&**chunk),
            Self::Apart(chunks, _) => chunks.send(Arc::clone(chunk)).map_err(|_| gone())?,
        }
        Ok(())
    }

    /// The digest of all chunks, in hexadecimal.
    pub(super) fn finish(self) -> io::Result<String> {
        let digest = match self {
            Self::Here(digest) => digest,
            Self::Apart(chunks, thread) => {
                drop(chunks);
                thread.join().map_err(|_| gone())?
            }
        };
        Ok(hex::encode(digest.finalize()))
    }
}

/// What digests ends only when it is told to, or by a panic.
fn gone() -> io::Error {
    io::Error::other("the digest of what was written is lost")
}
