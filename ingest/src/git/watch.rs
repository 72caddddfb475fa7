//! Limits on something that runs: a fetch ends in time and within its bytes, also where the remote holds it up.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::answer::{Fault, FaultCode, FetchLimits};

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How long it may take to end by itself once it is told to.
const GRACE: Duration = Duration::from_secs(2);

/// Runs `work` on a thread of its own and tells it to stop at a limit, which `written` says for bytes. What does not stop then is left behind, with its
/// connection: the caller is a process that ends.
pub(super) fn watched<T: Send + 'static>(
    what: &str,
    written: impl Fn() -> u64,
    limits: &FetchLimits,
    work: impl FnOnce(&AtomicBool) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let interrupt = Arc::new(AtomicBool::new(false));
    let (done, result) = channel();
    let started = Instant::now();
    let stop = interrupt.clone();
    let spawned = std::thread::Builder::new().name("fetch".to_owned()).spawn(move || {
        // Nobody listens any more after a limit.
        let _ = done.send(work(&stop));
    });
    if let Err(error) = spawned {
        return Err(Fault::new(FaultCode::Disk, format!("`{what}` could not be fetched: no thread: {error}")));
    }
    loop {
        let fault = match result.recv_timeout(LOOK) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Fault::new(
                    FaultCode::Protocol,
                    format!("`{what}` could not be fetched: its reader failed"),
                ));
            }
            Err(RecvTimeoutError::Timeout) if started.elapsed() > limits.time => {
                let seconds = limits.time.as_secs();
                Fault::new(FaultCode::Timeout, format!("`{what}` was not fetched within {seconds} s (timeout)"))
            }
            Err(RecvTimeoutError::Timeout) if written() > limits.bytes => too_large(what, limits),
            Err(RecvTimeoutError::Timeout) => continue,
        };
        interrupt.store(true, Ordering::Relaxed);
        let _ = result.recv_timeout(GRACE);
        return Err(fault);
    }
}

/// Larger than may be.
pub(super) fn too_large(what: &str, limits: &FetchLimits) -> Fault {
    Fault::new(FaultCode::TooLarge, format!("`{what}` is larger than {} bytes (too_large)", limits.bytes))
}

/// Bytes of the files below a folder, links not followed; what vanishes meanwhile counts nothing.
pub fn size_of(folder: &Path) -> u64 {
    let mut total = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) => total += metadata.len(),
                Err(_) => {}
            }
        }
    }
    total
}
