//! The edges between crates, read from every `Cargo.toml`. A crate exists only because it alone may touch something;
//! these tests keep it so.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Which of our crates each may use. `tests` may use all.
const EDGES: [(&str, &[&str]); 4] = [
    ("server/core", &[]),
    ("server/store", &["sync-core"]),
    ("ingest", &["sync-core"]),
    ("server", &["sync-core", "sync-ingest", "sync-store"]),
];

/// Dependencies that only one crate may have, by the beginning of their names.
const HELD: [(&str, &[&str]); 3] =
    [("server/store", &["sqlx"]), ("server", &["axum", "rmcp"]), ("ingest", &["oxc_", "tree-sitter", "gix"])];

#[test]
fn crates_depend_on_each_other_as_drawn() {
    for (folder, allowed) in EDGES {
        let ours: BTreeSet<String> =
            dependencies(folder).into_iter().filter(|name| name.starts_with("sync-")).collect();
        let allowed: BTreeSet<String> = allowed.iter().map(|name| (*name).to_owned()).collect();
        assert!(ours.is_subset(&allowed), "{folder} uses {:?}", ours.difference(&allowed).collect::<Vec<_>>());
    }
}

#[test]
fn what_one_crate_holds_no_other_touches() {
    for (folder, _) in EDGES {
        let used = dependencies(folder);
        for (holder, held) in HELD {
            for name in held.iter().filter(|_| holder != folder) {
                let touched: Vec<&String> = used.iter().filter(|used| used.starts_with(name)).collect();
                assert!(touched.is_empty(), "{folder} uses {touched:?}, which only {holder} may");
            }
        }
    }
}

#[test]
fn every_crate_is_drawn() {
    let workspace = manifest("");
    let members = workspace["workspace"]["members"].as_array().unwrap().iter().map(|m| m.as_str().unwrap().to_owned());
    let drawn = EDGES.iter().map(|(folder, _)| (*folder).to_owned()).chain(["tests".to_owned()]);
    assert_eq!(members.collect::<BTreeSet<_>>(), drawn.collect::<BTreeSet<_>>());
}

#[test]
fn every_crate_keeps_the_lints() {
    for (folder, _) in EDGES {
        assert_eq!(manifest(folder)["lints"]["workspace"].as_bool(), Some(true), "{folder}");
    }
}

/// Core is rules: no runtime, no network, no file format but serde's.
#[test]
fn core_does_no_io() {
    let used = dependencies("server/core");
    for name in ["tokio", "reqwest", "async-trait", "tempfile", "futures"] {
        assert!(!used.contains(name), "server/core uses {name}");
    }
    for path in sources("server/core/src") {
        let text = fs::read_to_string(&path).unwrap();
        let product = text.split("#[cfg(test)]").next().unwrap();
        for word in ["std::fs", "std::net", "std::process", "std::env", "async fn"] {
            assert!(!product.contains(word), "{} says `{word}`", path.display());
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn manifest(folder: &str) -> toml::Table {
    fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap().parse().unwrap()
}

/// Every dependency of a crate, by the name of the package: for tests, builds and single platforms too.
fn dependencies(folder: &str) -> BTreeSet<String> {
    let manifest = manifest(folder);
    let mut found = BTreeSet::new();
    collect(&manifest, &mut found);
    if let Some(targets) = manifest.get("target").and_then(toml::Value::as_table) {
        for target in targets.values() {
            collect(target.as_table().unwrap(), &mut found);
        }
    }
    assert!(!found.is_empty(), "{folder} has no dependency at all; is this test reading the right file?");
    found
}

fn collect(table: &toml::Table, found: &mut BTreeSet<String>) {
    for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
        for (name, value) in table.get(section).and_then(toml::Value::as_table).into_iter().flatten() {
            found.insert(value.get("package").and_then(toml::Value::as_str).unwrap_or(name).to_owned());
        }
    }
}

fn sources(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found
}
