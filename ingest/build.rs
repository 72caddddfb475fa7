//! Names what is kept in a cache depends on beside the tree, so that a cache of another build is not believed; and takes
//! the vendor files apart, so that a run reads no more of them than it needs.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

#[path = "src/catalog/parts.rs"]
mod parts;

/// The reading of a file: the parsers' versions, what facts are made of, and what makes them.
const PARSE: [&str; 7] = [
    "../Cargo.lock",
    "../server/core/src/graph.rs",
    "src/language.rs",
    "src/languages",
    "src/names.rs",
    "src/parse",
    "src/walk/content.rs",
];
/// Everything that has a part in an index.
const INDEX: [&str; 4] = ["../Cargo.lock", "../server/core/src", "src", "catalog"];

fn main() -> io::Result<()> {
    stamp("SYNC_PARSE_STAMP", &PARSE)?;
    stamp("SYNC_INDEX_STAMP", &INDEX)?;
    embed_catalog()
}

fn stamp(name: &str, sources: &[&str]) -> io::Result<()> {
    let mut files = Vec::new();
    for source in sources {
        println!("cargo::rerun-if-changed={source}");
        collect(Path::new(source), &mut files)?;
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        file.hash(&mut hasher);
        std::fs::read(&file)?.hash(&mut hasher);
    }
    println!("cargo::rustc-env={name}={:016x}", hasher.finish());
    Ok(())
}

/// Writes `catalog.rs`: the constants that `src/catalog/embedded.rs` describes. `INDEX` names what they depend on.
fn embed_catalog() -> io::Result<()> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir("catalog")? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            files.insert(name, std::fs::read_to_string(&path)?);
        }
    }
    let http = ("http/libraries.json", std::fs::read_to_string("catalog/http/libraries.json")?);
    let all = files.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    let version = parts::version(std::iter::once((http.0, http.1.as_str())).chain(all));
    let mut code = format!("pub(super) const VERSION: &str = {version:?};\npub(super) const FILES: &[File] = &[\n");
    let mut words = BTreeMap::new();
    for (name, text) in &files {
        let wrong = |error| io::Error::other(format!("catalog/{name}: {error}"));
        let mut file: Value = serde_json::from_str(text).map_err(wrong)?;
        let mut packages = String::new();
        let mut operations = vec![];
        for package in file.get_mut("packages").and_then(Value::as_array_mut).into_iter().flatten() {
            let lines = [take(package, "operations"), take(package, "added")].concat();
            let commands = parts::commands(&lines);
            writeln!(packages, "  Operations {{ commands: &{commands:?}, lines: {lines:?} }},")
                .map_err(io::Error::other)?;
            operations.push(lines);
        }
        let routes = [take(&mut file, "routes"), take(&mut file, "recorded_routes")].concat();
        take(&mut file, "recording");
        operations.push(routes.clone());
        words.extend(operations.iter().flat_map(|lines| lines.lines()).flat_map(literals));
        let head = file.to_string();
        write!(code, " File {{ name: {name:?}, head: {head:?}, routes: {routes:?}, packages: &[\n{packages} ] }},\n")
            .map_err(io::Error::other)?;
    }
    code.push_str("];\n");
    let words: Vec<_> = words.into_iter().collect();
    code.push_str("#[expect(clippy::unreadable_literal, reason = \"nobody reads digests\")]\n");
    writeln!(code, "pub(super) static WORDS: &[(u64, &str)] = &{words:?};").map_err(io::Error::other)?;
    let out = std::env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo names no OUT_DIR"))?;
    std::fs::write(Path::new(&out).join("catalog.rs"), code)
}

/// Takes operations, or routes, out of a file, as lines.
fn take(of: &mut Value, key: &str) -> String {
    let taken = of.as_object_mut().and_then(|of| of.remove(key));
    match &taken {
        Some(Value::Object(operations)) => {
            // In the order in which reading a folder has them.
            let sorted: BTreeMap<_, _> = operations.iter().collect();
            parts::lines(sorted.into_iter().map(|(operation, chains)| {
                (operation.as_str(), chains.as_array().into_iter().flatten().filter_map(Value::as_str))
            }))
        }
        Some(Value::Array(routes)) => {
            parts::lines(routes.iter().filter_map(Value::as_str).map(|route| (route, std::iter::empty())))
        }
        _ => String::new(),
    }
}

/// The literal segments of an operation's path, by their digests.
fn literals(line: &str) -> impl Iterator<Item = (u64, String)> {
    let operation = line.split('\t').next().unwrap_or_default();
    let written = if operation.ends_with(')') { "" } else { operation };
    let written = written.split(" as ").next().unwrap_or_default();
    let path = written.find('/').map_or("", |slash| &written[slash..]);
    let path = path.split('?').next().unwrap_or_default();
    let literal = |segment: &&str| !segment.is_empty() && !segment.contains('{') && !segment.starts_with(':');
    path.split('/').filter(literal).map(|segment| (digest(segment), segment.to_owned()))
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        collect(&entry?.path(), files)?;
    }
    Ok(())
}

/// As `parse::digest` does it; a test of the catalog compares.
fn digest(text: &str) -> u64 {
    let mut hasher = Sha256::new();
    hasher.update((text.len() as u64).to_be_bytes());
    hasher.update(text.as_bytes());
    hasher.finalize().iter().take(8).fold(0, |all, byte| all << 8 | u64::from(*byte))
}
