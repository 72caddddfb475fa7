//! Names what is kept in a cache depends on beside the tree, so that a cache of another build is not believed.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

/// The reading of a file: the parsers' versions, what facts are made of, and what makes them.
const PARSE: [&str; 5] =
    ["../Cargo.lock", "../server/core/src/graph.rs", "src/language.rs", "src/parse", "src/walk/content.rs"];
/// Everything that has a part in an index.
const INDEX: [&str; 4] = ["../Cargo.lock", "../server/core/src", "src", "catalog"];

fn main() -> io::Result<()> {
    stamp("SYNC_PARSE_STAMP", &PARSE)?;
    stamp("SYNC_INDEX_STAMP", &INDEX)
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
