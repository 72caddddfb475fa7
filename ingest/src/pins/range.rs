//! Ranges of versions as npm writes them.

use semver::{Version, VersionReq};

/// Longest range that is looked into, in bytes.
const LONGEST: usize = 256;

/// Whether a version is in a range (`^14 || ^15`, `>=1.2 <2`, `1.x`, `14.2.0`); nothing where the text is no range of
/// versions (`latest`, `1 - 2`) or
/// a very long one.
pub(super) fn satisfies(range: &str, version: &Version) -> Option<bool> {
    if range.len() > LONGEST {
        return None;
    }
    let mut any = false;
    for alternative in range.split("||") {
        any |= requirement(alternative)?.matches(version);
    }
    Some(any)
}

/// One alternative. Cargo's ranges separate with commas and read a bare version as `^`, npm's as `=`.
fn requirement(text: &str) -> Option<VersionReq> {
    let mut text = text.trim().to_owned();
    // An operator may stand apart from its version.
    for operator in [">", "<", "=", "^", "~"] {
        while let Some(at) = text.find(&format!("{operator} ")) {
            text.remove(at + operator.len());
        }
    }
    let comparators: Vec<String> = text
        .split_whitespace()
        .map(|comparator| {
            let bare = comparator.trim_start_matches('v');
            let is_bare = bare.starts_with(|c: char| c.is_ascii_digit()) && !bare.contains(['x', 'X', '*']);
            if is_bare { format!("={bare}") } else { bare.to_owned() }
        })
        .collect();
    if comparators.is_empty() {
        return Some(VersionReq::STAR);
    }
    VersionReq::parse(&comparators.join(", ")).ok()
}

#[cfg(test)]
mod tests {
    use super::satisfies;

    #[test]
    fn npm_ranges_are_read_as_npm_does() {
        for (range, version, expected) in [
            ("^14.0.0", "14.2.0", Some(true)),
            ("^14.0.0", "15.0.0", Some(false)),
            ("14.2.0", "14.3.0", Some(false)),
            ("14", "14.3.0", Some(true)),
            ("14", "15.0.0", Some(false)),
            ("1.x", "1.9.0", Some(true)),
            (">= 1.2.0 <2", "1.9.0", Some(true)),
            (">=1.2.0 < 2", "2.0.0", Some(false)),
            ("^1 || ^2", "2.1.0", Some(true)),
            ("*", "3.0.0", Some(true)),
            ("", "3.0.0", Some(true)),
            ("latest", "3.0.0", None),
            ("1 - 2", "1.0.0", None),
        ] {
            assert_eq!(satisfies(range, &version.parse().unwrap()), expected, "{range} {version}");
        }
    }
}
