//! Snapshots made by hand, with as little in them as a test needs, and held whole, as nothing but tests does.

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use sync_core::graph::{CallSite, Client, Context, EvidenceStep, FileFacts, Header, SNAPSHOT_FORMAT, Skipped, Symbol};
use sync_core::ids::RepositoryId;
use sync_core::operation::Operation;
use sync_core::rung::Rung;
use sync_ingest::snapshot::{Limits, Reader, Record, Writer};
use sync_server::jobs::snapshot_file::SnapshotFile;
use sync_store::{SnapshotLine, StoreError, Swap, Tx};
use time::OffsetDateTime;
use tokio::sync::mpsc;

/// All of a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct SnapshotFacts {
    /// Its first line.
    pub header: Header,
    /// Paths that were not read.
    pub skipped: Vec<Skipped>,
    /// Facts of each file, sorted by path.
    pub files: Vec<FileFacts>,
}

/// A snapshot of a commit; files are sorted by path.
pub fn snapshot(commit: &str, clients: Vec<Client>, mut files: Vec<FileFacts>) -> SnapshotFacts {
    files.sort_by(|a, b| a.path.cmp(&b.path));
    SnapshotFacts {
        header: Header {
            format: SNAPSHOT_FORMAT,
            analyzer: "analyzer-1".to_owned(),
            catalog: "catalog-1".to_owned(),
            repository: None,
            ref_name: None,
            commit: Some(commit.to_owned()),
            gate: "on".to_owned(),
            clients,
            partial: false,
            partial_reasons: vec![],
        },
        skipped: vec![Skipped { path: "node_modules/".to_owned(), reason: "vendored".to_owned() }],
        files,
    }
}

/// A sealed file with these call sites, and one symbol for each name that they stand in.
///
/// # Panics
/// Where the facts have no canonical JSON.
pub fn file(path: &str, call_sites: Vec<CallSite>) -> FileFacts {
    let mut symbols: Vec<Symbol> = Vec::new();
    for call in &call_sites {
        if !symbols.iter().any(|symbol| symbol.qualified == call.symbol) {
            symbols.push(Symbol {
                name: call.symbol.clone(),
                qualified: call.symbol.clone(),
                ordinal: 0,
                kind: "function".to_owned(),
                line: call.line,
                end_line: call.end_line + 1,
                exported: true,
            });
        }
    }
    FileFacts {
        path: path.to_owned(),
        content_hash: "0".repeat(40),
        facts_hash: String::new(),
        language: "typescript".to_owned(),
        parser: "oxc".to_owned(),
        bytes: 4000,
        lines: 100,
        symbols,
        imports: vec![],
        exports: vec![],
        edges: vec![],
        unresolved: vec![],
        call_sites,
    }
    .seal()
    .unwrap_or_else(|error| panic!("{error}"))
}

/// A call of `stripe.charges.create` in `symbol`, on one line, through the client `client()`.
pub fn call(symbol: &str, line: u32) -> CallSite {
    CallSite {
        line,
        end_line: line,
        column: 3,
        callee_line: line,
        callee_column: 20,
        symbol: symbol.to_owned(),
        symbol_ordinal: 0,
        call_ordinal: 0,
        chain: "stripe.charges.create".to_owned(),
        client: Some(CLIENT_ID.to_owned()),
        vendor: "stripe".to_owned(),
        operation: Some(Operation::from_text("POST /v1/charges")),
        args_keys: vec!["amount".to_owned()],
        args_complete: true,
        args_literals: std::collections::BTreeMap::new(),
        response_fields_read: vec!["status".to_owned()],
        reads: vec![],
        response_complete: true,
        call_hash: "0123456789abcdef".to_owned(),
        binding_source: Rung::Static,
        context: Context::Code,
        evidence: vec![EvidenceStep {
            step: "imported as stripe from ./stripe".to_owned(),
            line: Some(1),
            target: Some("src/stripe.ts#stripe#0".to_owned()),
        }],
    }
}

const CLIENT_ID: &str = "00000000000000c1";

/// The client of [`call`], pinned to an API version.
pub fn client(api_version: &str) -> Client {
    Client {
        id: CLIENT_ID.to_owned(),
        vendor: "stripe".to_owned(),
        package: Some("stripe".to_owned()),
        sdk_version: Some("18.0.0".to_owned()),
        sdk_version_source: "lockfile".to_owned(),
        api_version: Some(api_version.to_owned()),
        api_version_source: "literal".to_owned(),
        constructed_at: "src/stripe.ts#stripe#0".to_owned(),
        envelope: None,
    }
}

/// The snapshot as it is sent.
///
/// # Panics
/// Where it has no such form.
pub fn bytes(snapshot: &SnapshotFacts) -> Vec<u8> {
    let mut out = Vec::new();
    let written = Writer::new(&mut out, &snapshot.header).and_then(|mut writer| {
        for skipped in &snapshot.skipped {
            writer.skipped(skipped)?;
        }
        for file in &snapshot.files {
            writer.file(file)?;
        }
        writer.finish()
    });
    written.unwrap_or_else(|error| panic!("{error}"));
    out
}

/// The same with lines changed: their digest is made anew, so that it is not what is found wrong. The header is the first,
/// files are sealed anew.
///
/// # Panics
/// Where a line is no JSON, or facts have no canonical form.
pub fn changed_bytes(snapshot: &SnapshotFacts, change: impl Fn(&mut Value)) -> Vec<u8> {
    let text = String::from_utf8(bytes(snapshot)).unwrap_or_else(|error| panic!("{error}"));
    let mut out = Vec::new();
    for line in text.lines() {
        let mut value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}"));
        change(&mut value);
        if value["kind"] == "file" {
            let facts: FileFacts = serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}"));
            value["facts_hash"] = facts.compute_facts_hash().unwrap_or_else(|error| panic!("{error}")).into();
        }
        if value["kind"] == "end" {
            value["sha256"] = hex::encode(Sha256::digest(&out)).into();
        }
        out.extend_from_slice(value.to_string().as_bytes());
        out.push(b'\n');
    }
    out
}

/// All that is in the file.
///
/// # Panics
/// Where it is no sound snapshot.
pub fn whole(spooled: SnapshotFile) -> SnapshotFacts {
    let SnapshotFile { header, file } = spooled;
    let mut snapshot = SnapshotFacts { header, skipped: Vec::new(), files: Vec::new() };
    let mut reader = Reader::new(file, Limits::default()).unwrap_or_else(|error| panic!("{error}"));
    while let Some(record) = reader.next_record().unwrap_or_else(|error| panic!("{error}")) {
        match record {
            Record::Skipped(skipped) => snapshot.skipped.push(skipped),
            Record::File(facts) => snapshot.files.push(*facts),
        }
    }
    snapshot
}

/// Makes the snapshot the current index of a ref, without its findings.
///
/// # Errors
/// Whatever the store says.
pub async fn swap(
    tx: &mut Tx,
    repository: RepositoryId,
    ref_name: &str,
    snapshot: &SnapshotFacts,
    now: OffsetDateTime,
) -> Result<Swap, StoreError> {
    tx.swap_index(repository, ref_name, &snapshot.header, lines(snapshot), now).await
}

/// The lines of the snapshot, as whoever reads one hands them out, but checked by nobody: what tests plant may be longer than
/// anything that is sent.
pub fn lines(snapshot: &SnapshotFacts) -> mpsc::Receiver<Vec<SnapshotLine>> {
    let skipped = snapshot.skipped.iter().cloned().map(SnapshotLine::Skipped);
    let files = snapshot.files.iter().map(|facts| SnapshotLine::File { facts: Box::new(facts.clone()), bytes: 1 });
    let (sender, coming) = mpsc::channel(1);
    // It waits there until it is taken.
    let _ = sender.try_send(skipped.chain(files).chain([SnapshotLine::End]).collect());
    coming
}
