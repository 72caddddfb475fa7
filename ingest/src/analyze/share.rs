//! Work on many files that threads share.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, scope};

/// Stack of a thread that binds, in bytes: reserved, not committed. Values in values are followed far, but not without end.
pub(crate) const STACK: usize = 64 << 20;
/// Files that are worth a thread.
const WORTH: usize = 32;

/// Does `work` on the files, in their order where there is one thread. Each thread is given those that no other one has
/// begun.
pub(super) fn share<R: Send>(
    threads: NonZeroUsize,
    files: &[u32],
    work: impl Fn(&mut dyn Iterator<Item = u32>) -> Vec<(u32, R)> + Sync,
) -> Vec<(u32, R)> {
    let next = AtomicUsize::new(0);
    let run = || work(&mut std::iter::from_fn(|| files.get(next.fetch_add(1, Ordering::Relaxed)).copied()));
    scope(|scope| {
        let more = (threads.get() - 1).min(files.len() / WORTH);
        // Where none can be had, this one does it all.
        let more: Vec<_> = (0..more)
            .filter_map(|_| Builder::new().name("bind".to_owned()).stack_size(STACK).spawn_scoped(scope, run).ok())
            .collect();
        let mut all = run();
        for thread in more {
            all.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_worked_on_once_and_one_thread_keeps_the_order() {
        let files: Vec<u32> = (0..1000).rev().collect();
        for threads in [1, 2, 5] {
            let mut done =
                share(NonZeroUsize::new(threads).unwrap(), &files, |files| files.map(|it| (it, it)).collect());
            if threads > 1 {
                done.sort_by(|a, b| b.cmp(a));
            }
            assert!(done.into_iter().eq(files.iter().map(|it| (*it, *it))), "{threads}");
        }
    }
}
