//! Names of any length become names that facts carry: a program can have an identifier of half a megabyte, and no
//! reader has use for it.

use sha2::{Digest, Sha256};
use sync_core::graph::{CallSite, FileFacts};

/// Longest name that facts carry, in bytes.
pub(crate) const MAX_NAME: usize = 1024;
/// Stands between the beginning of a long name and its digest.
const CUT: char = '…';
/// Hexadecimal digits of the digest, which keeps names of one beginning apart.
const DIGITS: usize = 16;

/// The name as facts carry it: its beginning and a digest where it is longer than [`MAX_NAME`].
pub(crate) fn kept(mut name: String) -> String {
    shorten(&mut name);
    name
}

/// Whether the name had to be shortened.
fn shorten(name: &mut String) -> bool {
    if name.len() <= MAX_NAME {
        return false;
    }
    let digest = hex::encode(Sha256::digest(name.as_bytes()));
    let room = name.floor_char_boundary(MAX_NAME - CUT.len_utf8() - DIGITS);
    name.truncate(room);
    name.push(CUT);
    name.push_str(&digest[..DIGITS]);
    true
}

/// Whether a name is what [`kept`] made of a longer one.
fn is_cut(name: &str) -> bool {
    // A character of the beginning may have had to go as a whole.
    name.len() > MAX_NAME - 4
        && name
            .rsplit_once(CUT)
            .is_some_and(|(_, digest)| digest.len() == DIGITS && digest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Shortens the long names among facts. Symbols had theirs shortened when they were found, since others refer to them;
/// whether any name was shortened comes back.
pub(crate) fn shorten_all(facts: &mut FileFacts) -> bool {
    let mut any = facts.symbols.iter().any(|symbol| is_cut(&symbol.qualified) || is_cut(&symbol.name));
    let mut cut = |name: &mut String| any |= shorten(name);
    for import in &mut facts.imports {
        cut(&mut import.specifier);
        import.names.iter_mut().for_each(&mut cut);
    }
    for export in &mut facts.exports {
        cut(&mut export.name);
        export.local.iter_mut().for_each(&mut cut);
    }
    for unresolved in &mut facts.unresolved {
        cut(&mut unresolved.name);
    }
    for CallSite { chain, args_keys, args_literals, response_fields_read, reads, evidence, .. } in &mut facts.call_sites
    {
        cut(chain);
        args_keys.iter_mut().for_each(&mut cut);
        response_fields_read.iter_mut().for_each(&mut cut);
        reads.iter_mut().map(|read| &mut read.field).for_each(&mut cut);
        evidence.iter_mut().map(|step| &mut step.step).for_each(&mut cut);
        if args_literals.keys().any(|key| key.len() > MAX_NAME) {
            let literals = std::mem::take(args_literals).into_iter();
            *args_literals = literals.map(|(key, digest)| (kept(key), digest)).collect();
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_their_beginning_and_stay_apart() {
        let short = "a".repeat(MAX_NAME);
        assert_eq!(kept(short.clone()), short);
        assert!(!is_cut(&short) && !is_cut("…0123456789abcdef"));
        let (one, two) = (kept(format!("{short}b")), kept(format!("{short}c")));
        assert_ne!(one, two);
        for name in [one, two, kept("é".repeat(100_000)), kept("漢".repeat(100_000)), kept("x😀".repeat(1_000))] {
            assert!(name.len() <= MAX_NAME && is_cut(&name), "{name}");
            assert_eq!(kept(name.clone()), name);
        }
    }
}
