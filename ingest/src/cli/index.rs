//! `index`: writes the snapshot of a tree of code.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;

use super::{FAILED, OK, REFUSED, say_error};
use crate::gate::Gate;
use crate::index::{IndexError, IndexOptions, IndexSummary, Progress, identity, index};
use crate::pool::ParseCommand;
use crate::reason::told;
use crate::replace::replace;
use crate::walk::Limits;
use crate::{sandbox, tree};

/// How long an index may take when a service runs it.
const WALL_TIME: Duration = Duration::from_mins(5);
/// Compression of `.zst` output.
const ZSTD_LEVEL: i32 = 3;
/// Bytes of output that are written at once.
const BUFFER: usize = 256 << 10;

/// Writes the snapshot of a repository or folder: which call depends on which vendor operation, and no source.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  sync-ingest index . --out snapshot.ndjson.zst

Exit codes: 0 written (also when partial), 1 failed, 2 bad use, 3 refused by the gate.")]
pub struct IndexArgs {
    /// A git repository (bare too; uncommitted changes are not seen) or a plain folder.
    path: PathBuf,
    /// Branch, tag or commit to index [default: HEAD].
    #[arg(long)]
    rev: Option<String>,
    /// Name of the ref that the snapshot is of [default: the branch of HEAD].
    #[arg(long = "ref", value_name = "NAME")]
    ref_name: Option<String>,
    /// Name of the repository.
    #[arg(long, value_name = "NAME")]
    repository: Option<String>,
    /// `on`: index; `auto`: only what looks like one repository; `off`: refuse.
    #[arg(long, value_name = "on|off|auto", default_value = "on", value_parser = ["on", "off", "auto"])]
    gate: String,
    /// Folder of catalog files instead of the embedded catalog.
    #[arg(long, value_name = "DIR")]
    catalog: Option<PathBuf>,
    /// Folder that keeps what is known of each file, so that the next index parses only what changed.
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Where to write; `-` is stdout, a name ending in `.zst` is compressed [default: -].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Most source files to read.
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().sources)]
    max_files: usize,
    /// Most folder entries to look at.
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().entries)]
    max_entries: u64,
    /// `COMMIT,ANALYZER,CATALOG` of the last index: where they are still the same, nothing is written.
    #[arg(long, hide = true, value_name = "COMMIT,ANALYZER,CATALOG")]
    known: Option<String>,
    /// Bound memory, processor and wall time, leave the network and all files but the tree and the cache: how a service
    /// runs it.
    #[arg(long, hide = true)]
    limits: bool,
}

/// Runs `index`; `parse` says how its parse children are started.
pub fn run_index(args: &IndexArgs, parse: ParseCommand) -> ExitCode {
    // Asked before the process has another user's identity to the system, which a namespace may give it.
    let home = std::env::home_dir();
    if args.limits
        && let Err(reason) = enter_limits(args)
    {
        say_error(&reason, "run it on a system that has resource limits");
        return ExitCode::from(FAILED);
    }
    match write_snapshot(args, home, parse) {
        Ok(summary) => {
            if let Some(summary) = summary {
                tell(&summary);
            }
            ExitCode::from(OK)
        }
        Err(error) => match error.downcast::<IndexError>() {
            Ok(error) => {
                say_error(&error.to_string(), error.next_step());
                ExitCode::from(if matches!(error, IndexError::Refused { .. }) { REFUSED } else { FAILED })
            }
            Err(error) => {
                say_error(&format!("{error:#}"), "check the output's folder, space and permissions");
                ExitCode::from(FAILED)
            }
        },
    }
}

/// Gives nothing where the last index is still that of the tree.
fn write_snapshot(
    args: &IndexArgs,
    home: Option<PathBuf>,
    parse: ParseCommand,
) -> anyhow::Result<Option<IndexSummary>> {
    let options = IndexOptions {
        path: args.path.clone(),
        rev: args.rev.clone(),
        ref_name: args.ref_name.clone(),
        repository: args.repository.clone(),
        gate: args.gate.parse().unwrap_or(Gate::On),
        home,
        catalog: args.catalog.clone(),
        cache: args.cache.clone(),
        parse,
        parsers: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        limits: Limits { sources: args.max_files, entries: args.max_entries, ..Limits::default() },
    };
    if let Some(known) = &args.known
        && identity(&options)?.is_some_and(|identity| identity == *known)
    {
        return Ok(None);
    }
    let bar = Bar::new();
    let summary = match args.out.as_deref().filter(|out| *out != Path::new("-")) {
        None => index(&options, &mut BufWriter::new(io::stdout().lock()), &bar)?,
        Some(out) => to_file(&options, out, &bar)?,
    };
    bar.clear();
    Ok(Some(summary))
}

/// Writes beside the file and renames, so that a snapshot is there whole or not at all. A pipe or a device is written to
/// as it is: renamed over, `/dev/null` would be a file from then on.
fn to_file(options: &IndexOptions, out: &Path, bar: &Bar) -> anyhow::Result<IndexSummary> {
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let cannot = || format!("`{}` cannot be written", out.display());
    let compressed = out.extension().is_some_and(|extension| extension == "zst");
    if std::fs::metadata(out).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        let file = File::options().write(true).open(out).with_context(cannot)?;
        return write_to(options, &file, compressed, bar);
    }
    let file = tempfile::Builder::new().prefix(".snapshot-").tempfile_in(folder).with_context(cannot)?;
    let summary = write_to(options, file.as_file(), compressed, bar)?;
    readable_as_any_file(file.as_file()).with_context(cannot)?;
    replace(file, out).with_context(cannot)?;
    Ok(summary)
}

fn write_to(options: &IndexOptions, file: &File, compressed: bool, bar: &Bar) -> anyhow::Result<IndexSummary> {
    if !compressed {
        return Ok(index(options, &mut BufWriter::with_capacity(BUFFER, file), bar)?);
    }
    let cannot = "the snapshot cannot be compressed";
    let mut encoder = zstd::Encoder::new(file, ZSTD_LEVEL).context(cannot)?;
    let summary = index(options, &mut encoder, bar)?;
    encoder.finish().context(cannot)?;
    Ok(summary)
}

/// Temporary files are private; a snapshot gets the permissions that a file made by hand has.
fn readable_as_any_file(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

fn enter_limits(args: &IndexArgs) -> Result<(), String> {
    if let Some(cache) = &args.cache {
        // It has to be there to be let through; that it cannot be made is said by who uses it.
        let _ = std::fs::create_dir_all(cache);
    }
    let mut tree = tree::folders(&args.path);
    tree.extend(args.catalog.clone());
    let notes = sandbox::enter_index(&tree, args.cache.as_deref());
    for note in notes.map_err(|error| format!("resource limits cannot be set: {error}"))? {
        let _ = writeln!(io::stderr(), "note: {note}");
    }
    let started = Instant::now();
    std::thread::spawn(move || {
        std::thread::sleep(WALL_TIME.saturating_sub(started.elapsed()));
        say_error(&format!("the index took longer than {} s", WALL_TIME.as_secs()), "index a part of the tree");
        std::process::exit(i32::from(FAILED));
    });
    Ok(())
}

/// One line on a terminal; in any case why an index is partial and why the next one will not be faster.
fn tell(summary: &IndexSummary) {
    let mut stderr = io::stderr();
    for reason in &summary.partial_reasons {
        let _ = writeln!(stderr, "partial: {}", told(reason));
    }
    if let Some(problem) = &summary.cache_problem {
        let next = "check the folder's permissions and free space; the index is none the worse for it";
        let _ = writeln!(stderr, "warning: {problem}; next: {next}");
    }
    if stderr.is_terminal() {
        let (end, parsed, bound) = (&summary.end, summary.parsed, summary.bound);
        let (files, symbols, call_sites) = (end.files, end.symbols, end.call_sites);
        let _ = writeln!(
            stderr,
            "{files} files ({parsed} parsed, {bound} bound), {symbols} symbols, {call_sites} call sites"
        );
    }
}

/// Progress on a terminal; silent elsewhere.
struct Bar {
    shown: bool,
    state: Mutex<BarState>,
}

#[derive(Default)]
struct BarState {
    total: usize,
    last: Option<Instant>,
}

impl Bar {
    fn new() -> Self {
        Self { shown: io::stderr().is_terminal(), state: Mutex::default() }
    }

    fn clear(&self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Progress for Bar {
    fn found(&self, files: usize) {
        if let Ok(mut state) = self.state.lock() {
            state.total = files;
        }
    }

    fn parsed(&self, files: usize) {
        if !self.shown {
            return;
        }
        let Ok(mut state) = self.state.lock() else { return };
        if state.last.is_none_or(|last| last.elapsed() > Duration::from_millis(100)) {
            state.last = Some(Instant::now());
            let _ = write!(io::stderr(), "\rparsing {files} of {} files\x1b[K", state.total);
        }
    }
}
