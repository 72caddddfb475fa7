//! What is written is read back, and what is not as it was written is refused, with its line.

use std::io::Read;

use sync_core::graph::{
    CallSite, Client, Context, Edge, EvidenceStep, Export, FileFacts, Header, Import, PartialReason, Skipped, Symbol,
    Unresolved,
};
use sync_core::rung::Rung;

use super::*;

fn header() -> Header {
    Header {
        format: 1,
        analyzer: ANALYZER.to_owned(),
        catalog: "c".to_owned(),
        repository: Some("acme/billing".to_owned()),
        ref_name: Some("main".to_owned()),
        commit: None,
        gate: "on".to_owned(),
        clients: vec![Client {
            id: "0011223344556677".to_owned(),
            vendor: "stripe".to_owned(),
            package: Some("stripe".to_owned()),
            sdk_version: None,
            sdk_version_source: "unknown".to_owned(),
            api_version: None,
            api_version_source: "unknown".to_owned(),
            constructed_at: "a.ts#stripe#0".to_owned(),
            envelope: None,
        }],
        partial: true,
        partial_reasons: vec![PartialReason {
            reason: "parse_timeout".to_owned(),
            count: 1,
            files: vec!["z.ts".to_owned()],
            limit: Some("2 s a file".to_owned()),
        }],
    }
}

fn file(path: &str) -> FileFacts {
    let call_site = CallSite {
        line: 1,
        end_line: 1,
        column: 1,
        callee_line: 1,
        callee_column: 1,
        symbol: String::new(),
        symbol_ordinal: 0,
        call_ordinal: 0,
        chain: "stripe.charges.create".to_owned(),
        client: Some("0011223344556677".to_owned()),
        vendor: "stripe".to_owned(),
        operation: None,
        args_keys: vec![],
        args_complete: true,
        args_literals: std::collections::BTreeMap::new(),
        response_fields_read: vec![],
        reads: vec![],
        response_complete: true,
        call_hash: "0".repeat(16),
        binding_source: Rung::Static,
        context: Context::Code,
        evidence: vec![],
    };
    FileFacts {
        path: path.to_owned(),
        content_hash: "0".repeat(40),
        facts_hash: String::new(),
        language: "typescript".to_owned(),
        parser: "oxc".to_owned(),
        bytes: 1,
        lines: 1,
        symbols: vec![],
        imports: vec![],
        exports: vec![],
        edges: vec![],
        unresolved: vec![],
        call_sites: vec![call_site],
    }
    .seal()
    .unwrap()
}

fn written() -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, &header()).unwrap();
    for path in ["dist/", "z.ts"] {
        writer.skipped(&Skipped { path: path.to_owned(), reason: "r".to_owned() }).unwrap();
    }
    for path in ["a.ts", "b.ts"] {
        writer.file(&file(path)).unwrap();
    }
    writer.finish().unwrap();
    out
}

fn read(bytes: impl Read) -> Result<usize, SnapshotError> {
    read_within(bytes, Limits::default())
}

fn read_within(bytes: impl Read, limits: Limits) -> Result<usize, SnapshotError> {
    let mut reader = Reader::new(bytes, limits)?;
    let mut records = 0;
    while reader.next_record()?.is_some() {
        records += 1;
    }
    assert!(reader.end().is_some());
    assert!(reader.next_record()?.is_none(), "the end stays the end");
    Ok(records)
}

fn lines() -> Vec<String> {
    String::from_utf8(written()).unwrap().lines().map(str::to_owned).collect()
}

fn joined(lines: &[String]) -> Vec<u8> {
    lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

/// Changes one line in a way that keeps its facts hash true, so that what is found is not the hash.
fn resealed(mut facts: FileFacts, change: impl FnOnce(&mut FileFacts)) -> String {
    change(&mut facts);
    serde_json::to_string(&sync_core::graph::Line::File(Box::new(facts.seal().unwrap()))).unwrap()
}

#[test]
fn a_snapshot_comes_back_plain_and_compressed_with_the_same_bytes_every_time() {
    assert_eq!(written(), written());
    assert_eq!(read(written().as_slice()).unwrap(), 4);
    let compressed = zstd::encode_all(written().as_slice(), 3).unwrap();
    assert_eq!(read(compressed.as_slice()).unwrap(), 4);
    let reader = Reader::new(written().as_slice(), Limits::default()).map(|reader| reader.header().clone());
    assert_eq!(reader.unwrap(), header());
}

#[test]
fn every_way_of_tampering_is_told_apart_with_its_line() {
    type Tamper = fn(&mut Vec<String>);
    let cases: [(&str, Tamper, &str); 19] = [
        ("no header", |l| drop(l.remove(0)), "line 1: a snapshot starts with its header"),
        ("second header", |l| l.insert(1, l[0].clone()), "line 2: a second header"),
        ("newer format", |l| l[0] = l[0].replace("\"format\":1", "\"format\":9"), "line 1: snapshot format 9"),
        ("no end", |l| drop(l.pop()), "line 5: the snapshot is truncated"),
        ("more after the end", |l| l.push(l[3].clone()), "line 7: something follows the end line"),
        ("swapped files", |l| l.swap(3, 4), "line 5: `a.ts` is out of order"),
        ("swapped skips", |l| l.swap(1, 2), "line 3: `dist/` is out of order"),
        ("skip after files", |l| l.swap(2, 3), "line 4: `z.ts` is out of order"),
        ("file twice", |l| l.insert(4, l[3].clone()), "line 5: `a.ts` is there twice"),
        ("skip twice", |l| l.insert(2, l[1].clone()), "line 3: `dist/` is there twice"),
        ("file removed", |l| drop(l.remove(4)), "line 5: the end line counts 2 files, there are 1"),
        ("skip removed", |l| drop(l.remove(1)), "line 5: the end line counts 2 skipped paths, there are 1"),
        ("altered facts", |l| l[3] = l[3].replace("\"bytes\":1", "\"bytes\":2"), "line 4: the facts of `a.ts` do not"),
        ("altered header", |l| l[0] = l[0].replace("acme", "evil"), "line 6: the lines do not have the digest"),
        (
            "altered facts with their hash",
            |l| l[3] = resealed(file("a.ts"), |facts| facts.lines = 7),
            "line 6: the lines do not have the digest",
        ),
        (
            "claimed observation",
            |l| l[4] = resealed(file("b.ts"), |facts| facts.call_sites[0].binding_source = Rung::Observed),
            "line 5: `b.ts` claims a binding `observed`",
        ),
        (
            "unlisted client",
            |l| l[4] = resealed(file("b.ts"), |facts| facts.call_sites[0].client = Some("f".repeat(16))),
            "line 5: `b.ts` names client `ffffffffffffffff`",
        ),
        (
            "path upward",
            |l| l[4] = resealed(file("../b.ts"), |_| {}),
            "line 5: `path` is `../b.ts`, no path inside a repository",
        ),
        ("not JSON", |l| l[3].truncate(20), "line 4: EOF while parsing"),
    ];
    for (name, tamper, expected) in cases {
        let mut lines = lines();
        tamper(&mut lines);
        let error = read(joined(&lines).as_slice()).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{name}: {error}");
        assert!(!error.next_step().is_empty());
    }
}

#[test]
fn a_field_that_holds_what_none_may_is_named_with_its_line() {
    type Change = fn(&mut FileFacts);
    let cases: [(Change, &str); 26] = [
        (|f| f.path = "/etc/passwd".to_owned(), "`path` is `/etc/passwd`, no path"),
        (|f| f.path = "a/../../b".to_owned(), "`path` is `a/../../b`, no path"),
        (|f| f.path = "c\n".to_owned(), "`path` is"),
        (|f| f.path = format!("c{}", "/a".repeat(512)), "`path` is"),
        (|f| f.content_hash = "A".repeat(40), "`content_hash` is"),
        (|f| f.language = "x".repeat(65), "`language` is"),
        (|f| f.parser = String::new(), "`parser` is ``; a word"),
        (|f| f.bytes = 1 << 41, "`bytes` is more than"),
        (|f| f.lines = u32::MAX, "`lines` is 4294967295"),
        (|f| f.symbols[0].name = "n".repeat(1025), "`symbols[0].name` has 1025 bytes; there are at most 1024"),
        (|f| f.symbols[0].kind = "two words".to_owned(), "`symbols[0].kind` is `two words`"),
        (|f| f.symbols[0].line = 0, "`symbols[0].line` is 0; lines count from 1"),
        (|f| f.symbols[0].end_line = 10, "`symbols[0].line` is 10; the file has 9 lines"),
        (|f| f.imports[0].target = Some("../x.ts".to_owned()), "`imports[0].target` is `../x.ts`, no path"),
        (|f| f.imports[0].names = vec![String::new(); 524_289], "`imports[0].names` has 524289 members"),
        (|f| f.exports[0].local = Some("n".repeat(2000)), "`exports[0].local` has 2000 bytes"),
        (|f| f.edges[0].to = "n".repeat(3000), "`edges[0].to` has 3000 bytes; there are at most 2060"),
        (|f| f.edges[0].line = 0, "`edges[0].line` is 0"),
        (|f| f.unresolved[0].line = 99, "`unresolved[0].line` is 99; the file has 9 lines"),
        (|f| f.call_sites[0].end_line = 0, "`call_sites[0].end_line` is 0, before the line 1"),
        (|f| f.call_sites[0].callee_line = 2, "`call_sites[0].callee_line` is 2, outside"),
        (|f| f.call_sites[0].callee_column = 0, "`call_sites[0].callee_column` is 0; columns"),
        (|f| f.call_sites[0].vendor = "a\0b".to_owned(), "`call_sites[0].vendor` is"),
        (|f| f.call_sites[0].chain = "c".repeat(100_000), "`call_sites[0].chain` has 100000 bytes"),
        (|f| f.call_sites[0].call_hash = "0".repeat(17), "`call_sites[0].call_hash` is"),
        (|f| f.call_sites[0].evidence[0].line = Some(0), "`call_sites[0].evidence[0].line` is 0"),
    ];
    let whole = || FileFacts {
        lines: 9,
        symbols: vec![Symbol {
            name: "n".to_owned(),
            qualified: "n".to_owned(),
            ordinal: 0,
            kind: "function".to_owned(),
            line: 1,
            end_line: 9,
            exported: true,
        }],
        imports: vec![Import { specifier: "s".to_owned(), target: None, names: vec![] }],
        exports: vec![Export { name: "n".to_owned(), local: None, target: None }],
        edges: vec![Edge { from: "n#0".to_owned(), to: "d.ts#n#0".to_owned(), line: 9, via: "import".to_owned() }],
        unresolved: vec![Unresolved { name: "n".to_owned(), from: "#".to_owned(), line: 9 }],
        call_sites: vec![CallSite {
            evidence: vec![EvidenceStep { step: "s".to_owned(), line: Some(9), target: None }],
            ..file("c.ts").call_sites.remove(0)
        }],
        ..file("c.ts")
    };
    let with = |facts: FileFacts| {
        let mut lines = lines();
        lines.insert(5, resealed(facts, |_| {}));
        read(joined(&lines).as_slice()).unwrap_err().to_string()
    };
    assert!(with(whole()).contains("the end line counts 2 files, there are 3"), "all of it is sound");
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, &header()).unwrap();
    writer.file(&whole().seal().unwrap()).unwrap();
    for (change, expected) in cases {
        let mut facts = whole();
        change(&mut facts);
        let told = with(facts.clone());
        assert!(told.starts_with(&format!("line 6: {expected}")), "{expected}: {told}");
        let refused = writer.file(&facts.seal().unwrap());
        assert!(matches!(refused, Err(WriteError::OutOfBounds { .. })), "what is refused is not written: {expected}");
    }
}

#[test]
fn a_header_holds_no_more_than_headers_do() {
    type Change = fn(&mut Header);
    let cases: [(Change, &str); 10] = [
        (|h| h.gate = "on".repeat(4 << 20), "`gate` is"),
        (|h| h.analyzer = "a".repeat(1025), "`analyzer` has 1025 bytes; there are at most 1024"),
        (|h| h.ref_name = Some("r".repeat(1025)), "`ref` has 1025"),
        (|h| h.commit = Some("main".to_owned()), "`commit` is no commit's id"),
        (|h| h.clients[0].id = "x".to_owned(), "`clients[0].id` is `x`"),
        (|h| h.clients[0].api_version = Some("v".repeat(1025)), "`clients[0].api_version` has"),
        (|h| h.clients.push(h.clients[0].clone()), "`clients` are not in order, each once"),
        (|h| h.partial = false, "`partial` and `partial_reasons` contradict"),
        (|h| h.partial_reasons[0].files = vec!["a".to_owned(); 21], "`partial_reasons[0].files` names more than 20"),
        (|h| h.partial_reasons[0].files = vec!["/a".to_owned()], "`partial_reasons[0].files` is `/a`, no path"),
    ];
    for (change, expected) in cases {
        let mut header = header();
        change(&mut header);
        let refused = Writer::new(&mut Vec::new(), &header).map(|_| ()).unwrap_err();
        assert!(matches!(refused, WriteError::Header { .. }), "{expected}: {refused}");
        let mut lines = lines();
        lines[0] = serde_json::to_string(&sync_core::graph::Line::Header(header)).unwrap();
        let told = read(joined(&lines).as_slice()).unwrap_err().to_string();
        assert!(told.starts_with(&format!("line 1: {expected}")), "{expected}: {told}");
    }
}

#[test]
fn a_line_of_very_many_values_is_refused_before_it_is_read() {
    let mut lines = lines();
    lines.insert(3, format!("{{\"kind\":\"file\",\"path\":[{}0]}}", "0,".repeat(3 << 20)));
    let error = read(joined(&lines).as_slice()).unwrap_err();
    assert!(matches!(error, SnapshotError::TooLarge { line: 4, .. }), "{error}");
    // One that is not known may hold anything, as far as it is short: what it holds is not looked at.
    let unknown = format!("{{\"kind\":\"file\",\"newer\":\"{}\",", "n".repeat(2 << 20));
    lines[3] = lines[4].replacen("{\"kind\":\"file\",", &unknown, 1).replace("\"bytes\":1", "\"bytes\":2");
    let error = read(joined(&lines).as_slice()).unwrap_err();
    assert!(matches!(error, SnapshotError::FactsHash { line: 4, .. }), "{error}");
}

#[test]
fn a_snapshot_cut_anywhere_is_refused() {
    let whole = written();
    for length in 0..whole.len() {
        let error = read(&whole[..length]).unwrap_err();
        assert!(matches!(error, SnapshotError::Empty | SnapshotError::Truncated { .. }), "cut at {length}: {error}");
    }
    let compressed = zstd::encode_all(whole.as_slice(), 3).unwrap();
    for length in 0..compressed.len() {
        assert!(read(&compressed[..length]).is_err(), "cut at {length}");
    }
}

#[test]
fn a_snapshot_with_any_byte_changed_is_refused() {
    let whole = written();
    for at in 0..whole.len() {
        let bit = [0x01, 0x20, 0x80][at % 3];
        let mut altered = whole.clone();
        altered[at] ^= bit;
        assert!(read(altered.as_slice()).is_err(), "byte {at} changed by {bit:#x}");
    }
}

#[test]
fn what_a_snapshot_may_cost_is_bounded() {
    let bomb = zstd::encode_all(std::io::repeat(b'a').take(MAX_LINE as u64 + 100), 3).unwrap();
    assert!(bomb.len() < 10_000);
    let error = read(bomb.as_slice()).unwrap_err();
    assert!(matches!(error, SnapshotError::LineTooLong { line: 1 }), "{error}");
    let error = read_within(written().as_slice(), Limits { bytes: 1000, lines: 100 }).unwrap_err();
    assert!(matches!(error, SnapshotError::TooLarge { .. }), "{error}");
    let error = read_within(written().as_slice(), Limits { bytes: 1 << 20, lines: 3 }).unwrap_err();
    assert!(matches!(error, SnapshotError::TooLarge { line: 4, .. }), "{error}");
}

#[test]
fn fields_of_a_newer_writer_are_accepted_and_belong_to_the_hash() {
    let mut lines = lines();
    let mut value: serde_json::Value = serde_json::from_str(&lines[3]).unwrap();
    value.as_object_mut().unwrap().remove("facts_hash");
    value["newer"] = 1.into();
    let canonical = serde_json_canonicalizer::to_vec(&value).unwrap();
    value["facts_hash"] = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(&canonical)).into();
    lines[3] = value.to_string();
    let error = read(joined(&lines).as_slice()).unwrap_err();
    assert!(matches!(error, SnapshotError::Digest { .. }), "only the end line is not right: {error}");
}

#[test]
fn a_snapshot_of_many_chunks_has_the_digest_of_all_of_them() {
    let write = |out: &mut dyn std::io::Write| {
        let mut writer = Writer::new(out, &header())?;
        for at in 0..3_000 {
            writer.file(&file(&format!("{at:04}.ts")))?;
        }
        writer.finish()
    };
    let mut out = Vec::new();
    write(&mut out).unwrap();
    assert!(out.len() > 1 << 20, "{} bytes", out.len());
    assert_eq!(read(out.as_slice()).unwrap(), 3_000);
    let mut too_small = vec![0; 600 << 10];
    assert!(matches!(write(&mut too_small.as_mut_slice()), Err(WriteError::Output(_))));
}

#[test]
fn a_writer_refuses_what_a_reader_would() {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, &header()).unwrap();
    writer.file(&file("b.ts")).unwrap();
    assert!(matches!(writer.file(&file("a.ts")), Err(WriteError::OutOfOrder { .. })));
    let late = Skipped { path: "x".to_owned(), reason: "r".to_owned() };
    assert!(matches!(writer.skipped(&late), Err(WriteError::OutOfOrder { .. })));
}
