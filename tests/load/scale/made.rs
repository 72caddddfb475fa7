//! Snapshots of any size that look like those of large repositories of TypeScript, made line by line.

use std::fs::File;
use std::io::BufWriter;

use sync_core::graph::{Edge, Export, FileFacts, Import, Symbol, Unresolved};
use sync_ingest::snapshot::Writer;
use sync_server::jobs::snapshot_file::SnapshotFile;
use sync_tests::facts::SnapshotFacts;

use crate::answers::{generated, sample};

/// Symbols, edges, calls that lead nowhere and imports of a file: a million symbols are 58,824 files.
const SYMBOLS: usize = 17;
const EDGES: usize = 51;
const UNRESOLVED: usize = 30;
const IMPORTS: usize = 9;

/// How many files have a call site: one in so many.
const CALLS_ONE_IN: usize = 6;

/// Files that differ between two versions: one in so many.
pub(super) const CHANGED_ONE_IN: usize = 50;

const WORDS: [&str; 32] = [
    "account", "address", "amount", "batch", "billing", "cache", "charge", "client", "config", "context", "create",
    "customer", "delete", "email", "event", "filter", "handler", "invoice", "items", "order", "parse", "payment",
    "price", "query", "render", "request", "response", "session", "state", "token", "update", "user",
];

/// How many files hold so many symbols.
pub(super) fn files_for(symbols: usize) -> usize {
    symbols.div_ceil(SYMBOLS)
}

/// A word that looks chosen, the same one for the same numbers.
fn word(of: usize, at: usize) -> &'static str {
    let mixed = (of.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ at.wrapping_mul(0xc2b2_ae3d_27d4_eb4f)) >> 17;
    WORDS[mixed % WORDS.len()]
}

/// Three levels of folders, which sort as their numbers do.
pub(super) fn path(file: usize) -> String {
    let (area, package) = (file / 2500, file / 100);
    format!("packages/{area:03}-{}/src/{package:05}-{}/{file:06}-{}.ts", word(area, 1), word(package, 2), word(file, 3))
}

fn name(file: usize, symbol: usize) -> String {
    let (a, b, c) = (word(file, symbol), word(file, symbol + 100), word(file, symbol + 200));
    format!("{a}{}{}{c}{symbol}", b[..1].to_uppercase(), &b[1..])
}

/// A file as it is in a version: the n-th version changes the files whose number leaves n.
pub(super) fn file(file: usize, files: usize, version: usize) -> FileFacts {
    let nth = file % CHANGED_ONE_IN;
    let moved = usize::from(version > 0 && nth > 0 && version % CHANGED_ONE_IN >= nth);
    let line = |at: usize| u32::try_from(at * 9 + 12 + moved).unwrap_or(u32::MAX);
    let other = |at: usize| (file * 31 + at * at * 977 + 1) % files;
    let mut facts = sample::file(&path(file), 4000, Vec::new());
    facts.lines = 400;
    facts.content_hash = format!("{:040x}", file * 64 + moved);
    facts.symbols = (0..SYMBOLS)
        .map(|at| Symbol {
            name: name(file, at),
            qualified: name(file, at),
            ordinal: 0,
            kind: if at % 3 == 0 { "constant" } else { "function" }.to_owned(),
            line: line(at),
            end_line: line(at) + 8,
            exported: at % 2 == 0,
        })
        .collect();
    facts.imports = (0..IMPORTS)
        .map(|at| {
            let target = path(other(at));
            let names = vec![name(other(at), at)];
            Import { specifier: format!("@/{}", target.trim_end_matches(".ts")), target: Some(target), names }
        })
        .collect();
    facts.exports = (0..SYMBOLS)
        .step_by(2)
        .map(|at| Export { name: name(file, at), local: Some(name(file, at)), target: None })
        .collect();
    facts.edges = (0..EDGES)
        .map(|at| {
            let from = format!("{}#0", name(file, at % SYMBOLS));
            let (to, via) = if at % 3 == 0 { (file, "local") } else { (other(at % IMPORTS), "import") };
            Edge {
                from,
                to: format!("{}#{}#0", path(to), name(to, at % IMPORTS)),
                line: line(at % SYMBOLS) + 2,
                via: via.to_owned(),
            }
        })
        .collect();
    facts.unresolved = (0..UNRESOLVED)
        .map(|at| Unresolved {
            name: word(at, 7).to_owned(),
            from: format!("{}#0", name(file, at % SYMBOLS)),
            line: line(at % SYMBOLS) + 3,
        })
        .collect();
    if file.is_multiple_of(CALLS_ONE_IN) {
        let operation = format!("POST /v1/{}/{}", word(file, 8), word(file, 9));
        let chain = format!("client.{}.create", word(file, 8));
        facts.call_sites.push(sample::call_site(generated::VENDOR, line(1), &name(file, 1), &chain, Some(&operation)));
    }
    facts
}

/// A snapshot of so many files.
pub(super) fn snapshot(files: usize, version: usize) -> SnapshotFile {
    let commit = format!("{version:040x}");
    let SnapshotFacts { header, .. } = sample::snapshot(&commit, vec![], vec![], vec![]);
    let mut spool = tempfile::tempfile().unwrap();
    let mut out = BufWriter::with_capacity(1 << 20, &mut spool);
    let mut writer = Writer::new(&mut out, &header).unwrap();
    for at in 0..files {
        writer.file(&file(at, files, version).seal().unwrap()).unwrap();
    }
    writer.finish().unwrap();
    drop(out);
    let spool: File = spool;
    SnapshotFile::open(spool).unwrap()
}
