//! What a vendor file is taken apart into, when this is built (`build.rs` shares this file) or when a folder is read:
//! its outline, which every run needs, and long lists of operations, which are read for the packages that code imports.

use sha2::{Digest, Sha256};

/// Operations with their chains: a line each, its parts behind tabs.
pub(super) fn lines<'a, C: Iterator<Item = &'a str>>(operations: impl Iterator<Item = (&'a str, C)>) -> String {
    let mut out = String::new();
    for (operation, chains) in operations {
        out.push_str(operation);
        for chain in chains {
            out.push('\t');
            out.push_str(chain);
        }
        out.push('\n');
    }
    out
}

/// Commands that a package's chains send: `PutObjectCommand` of `send(PutObjectCommand)`. Each is an exported class.
pub(super) fn commands(lines: &str) -> Vec<String> {
    let chains = lines.lines().flat_map(|line| line.split('\t').skip(1));
    let mut out: Vec<String> = chains
        .filter_map(|chain| Some(chain.split(' ').next()?.strip_prefix("send(")?.strip_suffix(')')?.to_owned()))
        .filter(|command| !command.is_empty())
        .collect();
    out.sort();
    out.dedup();
    out
}

/// A hash over files, 16 hexadecimal digits. They come sorted by name.
pub(super) fn version<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut hasher = Sha256::new();
    for (name, text) in files {
        for part in [name, text] {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part.as_bytes());
        }
    }
    let first = hasher.finalize().iter().take(8).fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
    format!("{first:016x}")
}
