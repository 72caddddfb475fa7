//! Bindings of the repositories in `fixtures/`, exactly: a call site more or less is a failure.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sync_core::graph::{CallSite, Context};
use sync_core::ids::RepositoryId;
use sync_core::join::{FeedIndex, Site, join};
use sync_ingest::feed::{embedded_records, vendor_feeds};

use super::{Snapshot, snapshot_of};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/repositories")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(fixtures().join(path)).unwrap()
}

/// `path:line vendor operation` of every call site; `unknown` where it has no operation.
fn written_down(snapshot: &Snapshot) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for file in &snapshot.files {
        for site in &file.call_sites {
            let operation = site.operation.as_ref().map_or("unknown", |operation| operation.as_str());
            out.insert(format!("{}:{} {} {operation}", file.path, site.line, site.vendor));
        }
    }
    out
}

/// What stands before a mark, and the keys behind it.
fn marked<'a>(text: &'a str, mark: &str) -> (&'a str, Option<BTreeSet<&'a str>>) {
    match text.split_once(mark) {
        Some((before, keys)) => (before, Some(keys.split(',').filter(|key| !key.is_empty()).collect())),
        None => (text, None),
    }
}

fn joined(keys: &BTreeSet<&str>) -> String {
    keys.iter().copied().collect::<Vec<_>>().join(",")
}

/// Requires each line's `// => vendor OPERATION`, `// => vendor unknown` (a call site whose operation is not provable)
/// or `// => nothing`, and no other call site that is bound; gives the bound ones. Where ` args=a,b` or ` reads=x,y`
/// stands behind, the call site has exactly these keys, or fields of the response.
fn bound_as_marked(folder: &str, snapshot: &Snapshot) -> BTreeSet<String> {
    let all = written_down(snapshot);
    let (mut expected, mut nothing, mut wrong) = (BTreeSet::new(), BTreeSet::new(), vec![]);
    for file in &snapshot.files {
        for (index, line) in read(&format!("{folder}/{}", file.path)).lines().enumerate() {
            let at = format!("{}:{} ", file.path, index + 1);
            match line.split_once("// => ") {
                Some((_, "nothing")) => {
                    nothing.extend(all.iter().filter(|site| site.starts_with(&at)).cloned());
                }
                Some((_, answer)) => {
                    let (answer, reads) = marked(answer, " reads=");
                    let (answer, args) = marked(answer, " args=");
                    expected.insert(format!("{at}{answer}"));
                    let is_there = |site: &&CallSite| site.line as usize == index + 1 && site.operation.is_some();
                    let Some(site) = file.call_sites.iter().find(is_there) else { continue };
                    for (what, keys, found) in
                        [("args", args, &site.args_keys), ("reads", reads, &site.response_fields_read)]
                    {
                        let found: BTreeSet<&str> = found.iter().map(String::as_str).collect();
                        if let Some(keys) = keys.filter(|keys| *keys != found) {
                            wrong.push(format!("{at}{what}={}, not {}", joined(&found), joined(&keys)));
                        }
                    }
                }
                None => {}
            }
        }
    }
    let missing: Vec<_> = expected.difference(&all).collect();
    let is_bound = |site: &&String| !site.ends_with(" unknown");
    let surplus: Vec<_> = all.difference(&expected).filter(is_bound).chain(&nothing).collect();
    let is_exact = missing.is_empty() && surplus.is_empty() && wrong.is_empty();
    assert!(is_exact, "missing {missing:#?}\nsurplus {surplus:#?}\nwrong {wrong:#?}");
    expected.into_iter().filter(|site| is_bound(&site)).collect()
}

#[test]
fn plain_requests_of_every_library_bind_where_the_line_says_so_and_nowhere_else() {
    let snapshot = snapshot_of(&fixtures().join("http"), &[]);
    bound_as_marked("http", &snapshot);
    let mocked = snapshot.files.iter().find(|file| file.path == "src/axios-mocked.test.ts").unwrap();
    assert_eq!(mocked.call_sites, [], "mocks are no call sites");
}

#[test]
fn scripts_of_components_bind_in_their_place_at_the_version_that_yarn_pins() {
    let snapshot = snapshot_of(&fixtures().join("components"), &[]);
    bound_as_marked("components", &snapshot);
    let files: Vec<_> = snapshot
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.language.as_str(), file.parser.as_str(), file.lines))
        .collect();
    assert_eq!(
        files,
        [
            ("src/Balance.svelte", "svelte", "oxc", 14),
            ("src/Checkout.vue", "vue", "oxc", 31),
            ("src/stripe.ts", "typescript", "oxc", 3),
        ]
    );
    let sites: Vec<_> = snapshot
        .files
        .iter()
        .flat_map(|file| &file.call_sites)
        .map(|site| (site.line, site.column, site.callee_column, site.chain.as_str()))
        .collect();
    assert_eq!(
        sites,
        [
            (4, 29, 44, "stripe.balance.retrieve"),
            (9, 15, 30, "stripe.refunds.create"),
            (22, 24, 41, "stripe.customers.retrieve"),
            (24, 30, 45, "stripe.charges.create"),
            (25, 10, 34, "openai.chat.completions.create"),
        ]
    );
    let pinned: BTreeSet<_> = snapshot
        .header
        .clients
        .iter()
        .map(|client| (client.package.as_deref(), client.sdk_version.as_deref()))
        .collect();
    assert_eq!(pinned, [(Some("openai"), Some("4.77.0")), (Some("stripe"), Some("17.7.0"))].into());
}

#[test]
fn every_vendors_clients_bind_where_the_line_says_so_and_nowhere_else() {
    let snapshot = snapshot_of(&fixtures().join("vendors"), &[]);
    let expected = bound_as_marked("vendors", &snapshot);
    let vendors: BTreeSet<_> = expected.iter().filter_map(|line| line.split(' ').nth(1)).map(str::to_owned).collect();
    let catalog = sync_ingest::catalog::Catalog::embedded().unwrap();
    assert_eq!(vendors, catalog.vendors().map(|vendor| vendor.id.clone()).collect(), "every vendor has a fixture");
}

#[test]
fn idioms_bind_and_look_alikes_do_not() {
    let snapshot = snapshot_of(&fixtures().join("idioms"), &[]);
    bound_as_marked("idioms", &snapshot);
    for file in snapshot.files.iter().filter(|file| !SUPPORT.iter().any(|folder| file.path.starts_with(folder))) {
        let text = read(&format!("idioms/{}", file.path));
        let marks: Vec<&str> =
            text.lines().filter_map(|line| line.split_once("// => ").map(|(_, mark)| mark)).collect();
        let negatives = marks.iter().filter(|mark| **mark == "nothing" || mark.ends_with(" unknown")).count();
        assert!(negatives > 0 && negatives < marks.len(), "{} has an idiom and what looks like it", file.path);
    }
}

/// Files of the idioms that the others import.
const SUPPORT: [&str; 2] = ["packages/", "src/lib/"];

#[test]
fn the_billing_repository_says_exactly_what_is_expected_and_no_source() {
    let snapshot = snapshot_of(&fixtures().join("billing"), &[]);
    let expected: Value = serde_json::from_str(&read("billing.expected.json")).unwrap();
    let mut found = vec![];
    for file in &snapshot.files {
        for site in &file.call_sites {
            let client =
                snapshot.header.clients.iter().find(|client| Some(&client.id) == site.client.as_ref()).unwrap();
            found.push(serde_json::json!({
                "file": file.path, "line": site.line, "chain": site.chain, "vendor": site.vendor,
                "operation": site.operation, "args_keys": site.args_keys,
                "response_fields_read": site.response_fields_read, "context": site.context,
                "sdk_version": client.sdk_version, "api_version": client.api_version,
            }));
        }
    }
    assert_eq!(Value::Array(found), expected["call_sites"]);
    let text = String::from_utf8(snapshot.bytes.clone()).unwrap();
    for canary in expected["canaries"].as_array().unwrap() {
        let canary = canary.as_str().unwrap();
        let sources = snapshot.files.iter().map(|file| read(&format!("billing/{}", file.path))).collect::<String>();
        assert!(sources.contains(canary), "{canary} is in the sources");
        assert!(!text.contains(canary), "{canary} left the sources");
    }
}

#[test]
fn the_billing_repository_meets_exactly_the_changes_that_are_expected() {
    let snapshot = snapshot_of(&fixtures().join("billing"), &[]);
    let expected: Value = serde_json::from_str(&read("billing.expected.json")).unwrap();
    let sites: Vec<Site<'_>> = snapshot
        .files
        .iter()
        .flat_map(|file| file.call_sites.iter().map(|call| (file.path.as_str(), call)))
        .map(|(path, call)| {
            let client = snapshot.header.clients.iter().find(|client| Some(&client.id) == call.client.as_ref());
            Site { path, call, client }
        })
        .collect();
    let feeds = vendor_feeds(&embedded_records().unwrap()).unwrap();
    let index = FeedIndex::new(&feeds);
    let repository = RepositoryId::at(time::OffsetDateTime::UNIX_EPOCH);
    let found: BTreeSet<String> = join(repository, &sites, &index)
        .into_iter()
        .filter(|finding| finding.context == Context::Code)
        .map(|finding| {
            let change = index.change(&finding.change_id).unwrap();
            format!("{}:{} {} `{}`", finding.path, finding.line, change.change_kind, change.field)
        })
        .collect();
    let wanted: BTreeSet<String> = expected["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap();
            format!("{}:{} {} `{}`", text("file"), row["line"], text("change_kind"), text("field"))
        })
        .collect();
    assert_eq!(found, wanted);
}
