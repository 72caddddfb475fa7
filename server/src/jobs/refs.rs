//! Which refs of a source are kept, and why.

use sync_store::{RefOrigin, Repository, StoreError, Tx};
use time::OffsetDateTime;

use super::reindex::REQUESTED_FOR;

/// Notes why an indexed ref is kept. One that nothing but a request names is kept for a while.
pub(super) async fn keep(
    tx: &mut Tx,
    repository: &Repository,
    ref_name: &str,
    is_default: bool,
    now: OffsetDateTime,
) -> Result<(), StoreError> {
    let (origin, expires_at) = if is_default {
        (RefOrigin::Default, None)
    } else if is_tracked(&repository.settings.tracked_refs, ref_name) {
        (RefOrigin::Tracked, None)
    } else {
        (RefOrigin::Requested, Some(now + REQUESTED_FOR))
    };
    tx.keep_ref(repository.id, ref_name, origin, expires_at).await
}

/// Whether one of the patterns names the ref.
pub fn is_tracked(patterns: &[String], ref_name: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern.as_bytes(), ref_name.as_bytes()))
}

/// `*` stands for anything but `/`, `**` for anything, `?` for one character but `/`. Linear in the length of both, whatever the pattern.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    // Which beginnings of the name the beginning of the pattern that was read so far stands for.
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    let mut rest = pattern;
    while let Some((&first, after)) = rest.split_first() {
        let (any, crosses, after) = match (first, after.split_first()) {
            (b'*', Some((b'*', after))) => (true, true, after),
            (b'*', _) => (true, false, after),
            _ => (false, false, after),
        };
        let mut next = vec![false; name.len() + 1];
        for at in 0..=name.len() {
            let before = at.checked_sub(1).map(|before| (name[before], before));
            next[at] = if any {
                reached[at] || before.is_some_and(|(byte, before)| next[before] && (crosses || byte != b'/'))
            } else {
                before.is_some_and(|(byte, before)| {
                    reached[before] && if first == b'?' { byte != b'/' } else { byte == first }
                })
            };
        }
        (reached, rest) = (next, after);
    }
    reached[name.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_whole_names() {
        for (pattern, name, stands) in [
            ("main", "main", true),
            ("main", "main2", false),
            ("release/*", "release/1.2", true),
            ("release/*", "release/1/2", false),
            ("release/*", "release", false),
            ("release/**", "release/1/2", true),
            ("v?.*", "v1.20", true),
            ("v?.*", "v10.2", false),
            ("*", "feature/x", false),
            ("**", "feature/x", true),
            ("*-stable", "3-stable-stable", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(is_tracked(&[pattern.to_owned()], name), stands, "{pattern} {name}");
        }
        assert!(!is_tracked(&[], "main"));
        // A pattern that would take a backtracking matcher ages.
        assert!(!is_tracked(&["*a".repeat(200)], &"a".repeat(199)));
    }
}
