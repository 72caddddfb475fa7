//! The inside of a parse child: reads files from stdin, writes their facts to stdout, until stdin ends.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, raise};

use super::wire::{self, HELLO, MAX_REQUEST};
use super::{Reply, Said, cost};
use crate::limits::{self, FILE_TIME};
use crate::parse;

/// No file is being parsed.
const IDLE: u64 = u64::MAX;
/// Stack of the thread that watches the clock.
const WATCH_STACK: usize = 64 << 10;

/// Runs a parse child to its end.
pub fn serve() -> io::Result<()> {
    limits::enter_parse()?;
    let begun = Arc::new(AtomicU64::new(IDLE));
    let watched = Arc::clone(&begun);
    // Before the parser's thread, which limits the address space to what is taken by then.
    std::thread::Builder::new().name("watch".to_owned()).stack_size(WATCH_STACK).spawn(move || watch(&watched))?;
    let parser = std::thread::Builder::new().name("parse".to_owned()).stack_size(limits::PARSE_STACK);
    let parser = parser.spawn(move || answer_all(&begun))?;
    parser.join().map_err(|_| io::Error::other("the parser panicked"))?
}

/// Ends this process, as the kernel would, once a file has had its processor time. The kernel itself counts in whole
/// seconds, and the parent does not see when a file begins.
fn watch(begun: &AtomicU64) {
    loop {
        let begun = begun.load(Ordering::Acquire);
        let used = limits::cpu_used().unwrap_or_default();
        let left = match begun {
            IDLE => FILE_TIME,
            begun => FILE_TIME.saturating_sub(used.saturating_sub(Duration::from_micros(begun))),
        };
        if left.is_zero() && raise(Signal::SIGXCPU).is_ok() {
            return;
        }
        // One thread parses: it cannot use more of the processor than time passes.
        std::thread::sleep(left.max(Duration::from_millis(1)));
    }
}

fn answer_all(begun: &AtomicU64) -> io::Result<()> {
    let mut input = io::stdin().lock();
    // The facts of most files fit; larger ones pass through.
    let mut output = BufWriter::with_capacity(256 << 10, io::stdout().lock());
    limits::limit_heap()?;
    wire::write_frame(&mut output, HELLO)?;
    while let Some(payload) = wire::read_frame(&mut input, MAX_REQUEST)? {
        limits::limit_file_cpu()?;
        let before = limits::cpu_used()?;
        begun.store(u64::try_from(before.as_micros()).unwrap_or(IDLE), Ordering::Release);
        let (head, bytes) =
            wire::parse_request(&payload).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        let reply = match parse::parse(&head.path, head.language, bytes) {
            Ok(parsed) => Reply::Parsed(Box::new(parsed)),
            Err(_) => Reply::Refused,
        };
        let cost = cost::of_time(limits::cpu_used()?.saturating_sub(before));
        let said = postcard::to_allocvec(&Said { cost, reply });
        let said = said.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        begun.store(IDLE, Ordering::Release);
        wire::write_frame(&mut output, &said)?;
        output.flush()?;
    }
    Ok(())
}
