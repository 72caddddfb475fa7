//! Limits that a process sets on itself before it touches source code. They only ever tighten.

use std::time::Duration;

use nix::errno::Errno;
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, rlim_t, setrlimit};
use nix::sys::time::TimeVal;

/// Heap that a parse child may take beside what it starts with, in bytes.
pub(crate) const PARSE_HEAP: u64 = 512 << 20;
/// The stack parsers run on: oxc recurses with the nesting of the source. Reserved, not committed.
pub(crate) const PARSE_STACK: usize = 256 << 20;
/// Processor time that a file may take to parse: what is recorded must depend on the file, not on the machine's load.
pub(crate) const FILE_TIME: Duration = Duration::from_secs(2);
/// Processor time after which the kernel ends a child that did not end itself.
const PARSE_CPU: Duration = Duration::from_secs(3);
/// Address space of a whole index, in bytes.
const INDEX_SPACE: u64 = 4 << 30;
/// Processor time of a whole index.
const INDEX_CPU: Duration = Duration::from_mins(10);

/// Largest file that an index writes: what its cache keeps, in bytes.
const INDEX_FILE: u64 = 4 << 30;
/// Memory of a fetch, in bytes.
const FETCH_HEAP: u64 = 2 << 30;
/// Files that an index or a fetch has open at once.
const FILES: u64 = 1024;

/// What a parse child sets first: it dies with its parent, leaves no core, writes no file.
pub fn enter_parse() -> Result<(), Errno> {
    die_with_parent()?;
    lower(Resource::RLIMIT_CORE, 0)?;
    lower(Resource::RLIMIT_FSIZE, 0)?;
    lower(Resource::RLIMIT_NOFILE, 64)
}

/// Leaves the calling process [`PARSE_HEAP`] beside the address space it has now. A parser's stack is reserved as a
/// whole when its thread starts, so this is called from that thread: its stack then does not count against the heap.
pub fn limit_heap() -> Result<(), Errno> {
    #[cfg(target_os = "linux")]
    if let Some(space) = address_space() {
        lower(Resource::RLIMIT_AS, space + PARSE_HEAP)?;
    }
    Ok(())
}

/// Gives the calling process its processor time for one more file.
pub fn limit_file_cpu() -> Result<(), Errno> {
    let used = cpu_used()?;
    let (_, hard) = getrlimit(Resource::RLIMIT_CPU)?;
    let soft = rlim_t::from(used.as_secs() + 1 + PARSE_CPU.as_secs()).min(hard);
    setrlimit(Resource::RLIMIT_CPU, soft, hard)
}

/// Processor time that this process has used.
pub fn cpu_used() -> Result<Duration, Errno> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let micros = |time: TimeVal| time.tv_sec().saturating_mul(1_000_000).saturating_add(time.tv_usec());
    let used = micros(usage.user_time()).saturating_add(micros(usage.system_time()));
    Ok(Duration::from_micros(u64::try_from(used).unwrap_or_default()))
}

/// What an index sets when a service runs it. The wall clock is its caller's.
pub(crate) fn enter_index() -> Result<(), Errno> {
    die_with_parent()?;
    lower(Resource::RLIMIT_CORE, 0)?;
    lower(Resource::RLIMIT_AS, INDEX_SPACE)?;
    lower(Resource::RLIMIT_FSIZE, INDEX_FILE)?;
    lower(Resource::RLIMIT_NOFILE, FILES)?;
    lower(Resource::RLIMIT_CPU, INDEX_CPU.as_secs())
}

/// What a fetch sets: it decodes what a stranger sent.
pub(crate) fn enter_fetch(bytes: u64, time: Duration) -> Result<(), Errno> {
    die_with_parent()?;
    lower(Resource::RLIMIT_CORE, 0)?;
    // Packs are mapped, so that the address space says little about memory.
    lower(Resource::RLIMIT_DATA, FETCH_HEAP)?;
    lower(Resource::RLIMIT_CPU, time.as_secs().saturating_mul(2).max(60))?;
    // The index of a pack that is as large as may be has room beside it.
    lower(Resource::RLIMIT_FSIZE, bytes.saturating_mul(2))?;
    lower(Resource::RLIMIT_NOFILE, FILES)
}

fn die_with_parent() -> Result<(), Errno> {
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
    Ok(())
}

/// Lowers both limits; one that is lower already stays.
fn lower(resource: Resource, to: u64) -> Result<(), Errno> {
    let (_, hard) = getrlimit(resource)?;
    let to = rlim_t::from(to).min(hard);
    setrlimit(resource, to, to)
}

/// Address space of this process in bytes.
#[cfg(target_os = "linux")]
fn address_space() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::address_space;

    #[test]
    fn the_kernel_says_how_much_address_space_is_taken() {
        assert!(address_space().unwrap() > 1 << 20);
    }
}
