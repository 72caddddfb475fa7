//! What the fuzz targets in `ingest/fuzz` do with bytes: everything here reads what others wrote, and none of it may end
//! in a panic. The same functions run over a small corpus in an ordinary test, so that targets keep working.

use std::collections::BTreeMap;

use sync_core::change::VendorFeed;
use sync_core::graph::{CallSite, Client, Header, SNAPSHOT_FORMAT};
use sync_core::join::{FeedIndex, Site, join};

use crate::analyze::{Analysis, Before, Line, Project, Source, analyze};
use crate::cache;
use crate::catalog::Catalog;
use crate::language::Language;
use crate::link;
use crate::manifests::Manifests;
use crate::parse::{self, ParsedFile};
use crate::pins::Pins;
use crate::pool;
use crate::snapshot::{Limits, Reader, Writer};
use crate::walk::SourceEntry;

/// What stands before the path of each file in the input of [`link`].
const FILE: &str = "//// ";
/// What a file is read as where a target's first byte decides.
const PATHS: [&str; 10] = ["a.ts", "a.d.ts", "a.tsx", "a.js", "a.cjs", "a.vue", "a.svelte", "a.py", "a.go", "a.rs"];
/// Manifests and lockfiles.
const MANIFESTS: [&str; 11] = [
    "package.json",
    "tsconfig.json",
    "pnpm-workspace.yaml",
    "package-lock.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "npm-shrinkwrap.json",
    "pyproject.toml",
    "setup.cfg",
    "go.mod",
];

/// Parses a file; the first byte says which kind.
pub fn parse(bytes: &[u8]) {
    let Some((kind, text)) = bytes.split_first() else { return };
    parse_as(PATHS[usize::from(*kind) % PATHS.len()], text);
}

fn parse_as(path: &str, text: &[u8]) -> Option<(SourceEntry, ParsedFile)> {
    let language = Language::of_path(path)?;
    let parsed = parse::parse(path, language, text).ok()?;
    let entry = SourceEntry { path: path.to_owned(), language, content_hash: "0".repeat(40), bytes: text.len() as u64 };
    Some((entry, parsed))
}

/// Links and binds files, each behind a line `//// path`, manifests among them, and writes and reads the snapshot.
///
/// # Panics
/// Where a snapshot that was written cannot be read: a bug.
pub fn link(bytes: &[u8]) {
    let Ok(catalog) = Catalog::embedded() else { return };
    let text = String::from_utf8_lossy(bytes);
    let (mut sources, mut manifests) = (BTreeMap::new(), Manifests::default());
    for file in text.split(FILE) {
        let (path, text) = file.split_once('\n').unwrap_or(("a.ts", file));
        if path.is_empty() || path.len() > 200 || path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            continue;
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        if crate::manifests::size_limit(name).is_some() {
            manifests.files.insert(path.to_owned(), text.as_bytes().to_vec());
        } else if let Some(parsed) = parse_as(path, text.as_bytes()) {
            sources.insert(path.to_owned(), parsed);
        }
    }
    let (pins, _) = Pins::read(&manifests, &|_| true);
    link::problems(&manifests);
    let files: Vec<_> =
        sources.into_values().map(|(entry, facts): (_, _)| Source::parsed(entry, Box::new(facts))).collect();
    let project = Project::new(&files, &manifests, &pins, catalog);
    let Ok(analysis) = analyze(&project, Before::default()) else { return };
    let mut out = Vec::new();
    let header = Header {
        format: SNAPSHOT_FORMAT,
        analyzer: String::new(),
        catalog: String::new(),
        repository: None,
        ref_name: None,
        commit: None,
        gate: "on".to_owned(),
        clients: analysis.clients,
        partial: false,
        partial_reasons: Vec::new(),
    };
    let written = Writer::new(&mut out, &header).and_then(|mut writer| {
        for (source, found) in files.iter().zip(&analysis.files) {
            if let Line::New(line) = &found.line {
                writer.line(&source.entry.path, &line.bytes, line.counts)?;
            }
        }
        writer.finish()
    });
    // Paths with control characters are skipped by a walk; a reader refuses them.
    let is_usable = |path: &str| !path.contains(|c: char| c.is_control());
    if written.is_ok() && files.iter().all(|source| is_usable(&source.entry.path)) {
        assert_eq!(read_snapshot(&out), Ok(()), "what is written can be read");
    }
}

/// Reads a manifest or lockfile; the first byte says which.
pub fn manifest(bytes: &[u8]) {
    let Some((kind, text)) = bytes.split_first() else { return };
    let name = MANIFESTS[usize::from(*kind) % MANIFESTS.len()];
    let files = [
        ("package.json".to_owned(), br#"{"name":"a","dependencies":{"stripe":"^1"}}"#.to_vec()),
        (name.to_owned(), text.to_vec()),
        (format!("sub/{name}"), text.to_vec()),
    ];
    let manifests = Manifests { files: files.into_iter().collect() };
    let (pins, _) = Pins::read(&manifests, &|package| package != "a");
    for package in ["stripe", "@a/b", "a"] {
        pins.sdk_version("sub/deep/a.ts", package);
    }
    link::problems(&manifests);
    let mut modules =
        link::Modules::new(&["a.ts", "sub/b.ts", "sub/c.py", "sub/d.go", "sub/src/index.ts"], &manifests.files);
    modules.links("sub/b.ts", ["a", "a/x", "@/b", "#b", "./sub", "../a", "b"].into_iter());
    modules.links("sub/c.py", ["a", ".a", "..sub.c", "sub.c", "", "...."].into_iter());
    modules.links("sub/d.go", ["fmt", "example.com/a/sub", "./sub", ""].into_iter());
}

/// Reads a snapshot.
pub fn snapshot(bytes: &[u8]) {
    let _ = read_snapshot(bytes);
}

fn read_snapshot(bytes: &[u8]) -> Result<(), String> {
    let limits = Limits { bytes: 64 << 20, ..Limits::default() };
    let mut reader = Reader::new(bytes, limits).map_err(|error| error.to_string())?;
    while reader.next_record().map_err(|error| error.to_string())?.is_some() {}
    Ok(())
}

/// Reads a pack of the cache, and what its entries say of a file.
pub fn pack(bytes: &[u8]) {
    for payload in cache::read_for_fuzzing(bytes).unwrap_or_default() {
        pool::recall_for_fuzzing(&payload);
    }
    pool::recall_for_fuzzing(bytes);
}

/// Reads a file of a feed; the first byte says which. What a vendor's file says is written, read again and joined with a
/// call.
///
/// # Panics
/// Where what was read of a feed cannot be written and read again: a bug.
pub fn feed(bytes: &[u8]) {
    let Some((kind, text)) = bytes.split_first() else { return };
    let Some(feed) = crate::feed::read_for_fuzzing(*kind, text) else { return };
    let again = serde_json::to_vec(&feed).and_then(|text| serde_json::from_slice::<VendorFeed>(&text));
    assert!(again.is_ok_and(|again| again == feed), "what is written can be read");
    let (Ok(call), Ok(client), Ok(repository)) =
        (serde_json::from_str::<CallSite>(CALL), serde_json::from_str::<Client>(CLIENT), REPOSITORY.parse())
    else {
        return;
    };
    let site = Site { path: "src/a.ts", call: &call, client: Some(&client) };
    join(repository, &[site, Site { client: None, ..site }], &FeedIndex::new([&feed]));
}

const REPOSITORY: &str = "src_0123456789abcdef0123456789abcdef";
const CALL: &str = r#"{"line":7,"end_line":9,"column":1,"callee_line":7,"callee_column":8,"symbol":"charge",
    "symbol_ordinal":0,"call_ordinal":0,"chain":"stripe.charges.create","client":"00000000000000c1","vendor":"stripe",
    "operation":"POST /v1/charges","args_keys":["amount","card","card.number"],"args_complete":false,
    "args_literals":{"capture_method":"0123456789abcdef"},"response_fields_read":["id","data[].id","status"],
    "reads":[{"field":"status","guarded":false,"compared":true}],"response_complete":false,
    "call_hash":"0123456789abcdef","binding_source":"static","context":"code","evidence":[]}"#;
const CLIENT: &str = r#"{"id":"00000000000000c1","vendor":"stripe","package":"stripe","sdk_version":"17.7.0",
    "sdk_version_source":"lockfile","api_version":"2024-06-20","api_version_source":"literal",
    "constructed_at":"src/a.ts#stripe#0"}"#;

/// Goes on from a last index that found this of [`LAST`].
pub fn last(bytes: &[u8]) {
    let Some(state) = cache::state_for_fuzzing(bytes) else { return };
    state.known();
    let files = last_files();
    let before = Before::new(state.files, files.iter().map(|file| &file.entry));
    analyse_last(&files, before, |_| ());
}

/// Files that read each other, of which [`last`] is given what was found.
const LAST: [(&str, &str); 4] = [
    ("a.ts", "import Stripe from 'stripe';\nexport const stripe = new Stripe('k');\nexport * from './b';\n"),
    ("b.ts", "export const send = (path: string) => fetch(`https://api.stripe.com/v1/${path}`);\n"),
    (
        "c.ts",
        "import { send } from './a';\nexport function get(it: string) { return send(`${it}/1`); }\nget('charges');\n",
    ),
    ("d.ts", "import { stripe } from './a';\nimport { get } from './c';\nstripe.charges.list();\nget('customers');\n"),
];

fn last_files() -> Vec<Source> {
    let parsed = LAST.iter().filter_map(|(path, text)| parse_as(path, text.as_bytes()));
    parsed.map(|(entry, parsed)| Source::parsed(entry, Box::new(parsed))).collect()
}

fn analyse_last<R>(files: &[Source], before: Before<'_>, look: impl FnOnce(&Analysis<'_>) -> R) -> Option<R> {
    let (manifests, pins) = (Manifests::default(), Pins::default());
    let project = Project::new(files, &manifests, &pins, Catalog::embedded().ok()?);
    analyze(&project, before).ok().as_ref().map(look)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::{Kept, Place};

    /// Each target over what stands in its corpus, whole and cut anywhere.
    fn run(target: fn(&[u8]), corpus: &str) {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(corpus);
        let mut seeds = 0;
        for entry in std::fs::read_dir(&folder).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            target(&bytes);
            for parts in 1..16 {
                target(&bytes[..bytes.len() * parts / 16]);
            }
            seeds += 1;
        }
        assert!(seeds > 0, "{} holds no seed", folder.display());
    }

    #[test]
    fn parse_takes_its_seeds() {
        run(parse, "parse");
    }

    #[test]
    fn link_takes_its_seeds() {
        run(link, "link");
    }

    #[test]
    fn manifest_takes_its_seeds() {
        run(manifest, "manifest");
    }

    #[test]
    fn snapshot_takes_its_seeds() {
        run(snapshot, "snapshot");
    }

    #[test]
    fn pack_takes_its_seeds() {
        run(pack, "pack");
    }

    #[test]
    fn feed_takes_its_seeds() {
        run(feed, "feed");
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/feed");
        let seed = std::fs::read(folder.join("vendor")).unwrap();
        assert!(crate::feed::read_for_fuzzing(seed[0], &seed[1..]).is_some(), "a vendor's file is read and joined");
        assert!(serde_json::from_str::<CallSite>(CALL).is_ok() && serde_json::from_str::<Client>(CLIENT).is_ok());
    }

    /// What an index of [`LAST`] finds of it.
    fn last_seed() -> Vec<u8> {
        let files = last_files();
        let seed = |analysis: &Analysis<'_>| {
            let kept = files.iter().zip(&analysis.files).map(|(source, found)| Kept {
                path: &source.entry.path,
                language: source.entry.language,
                content_hash: &source.entry.content_hash,
                bytes: source.entry.bytes,
                analyzed: &found.analyzed,
                line: match &found.line {
                    Line::New(line) => Some(Place { offset: 0, length: 1, counts: line.counts }),
                    Line::Kept(_) | Line::TooLarge => None,
                },
            });
            cache::seed_for_fuzzing(kept.collect())
        };
        analyse_last(&files, Before::default(), seed).unwrap()
    }

    #[test]
    fn last_takes_what_an_index_found_and_anything_like_it() {
        let seed = last_seed();
        let files = last_files();
        let state = cache::state_for_fuzzing(&seed).unwrap();
        let before = Before::new(state.files, files.iter().map(|file| &file.entry));
        let all_kept = |analysis: &Analysis<'_>| analysis.files.iter().all(|found| found.kept);
        assert!(analyse_last(&files, before, all_kept).unwrap(), "the seed is what an index found");
        for at in 0..seed.len() {
            last(&seed[..at]);
            for change in [1, 0x80, 0xff] {
                let mut bytes = seed.clone();
                bytes[at] ^= change;
                last(&bytes);
            }
        }
    }
}
