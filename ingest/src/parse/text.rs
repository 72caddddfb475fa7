//! Which string literals may be kept as text.
//!
//! A snapshot never carries source text (promise 5), and the safest way is that most strings do not even leave the
//! parser: what cannot be an API version, an HTTP method, a URL, a route or a method name of a string-dispatched API
//! is withheld. Its digest is enough for comparing it with an enum value that a vendor publishes.

use sha2::{Digest, Sha256};

/// Longest text kept.
const LONGEST: usize = 300;

/// What may be kept of a string: all of it, or of a URL what precedes its query.
pub(crate) fn kept(text: &str) -> Option<&str> {
    if may_keep(text) {
        return Some(text);
    }
    let (before, _) = text.split_once('?')?;
    let kept = &text[..=before.len()];
    (before.contains('/') && may_keep(kept)).then_some(kept)
}

/// Whether a string may be kept.
pub(super) fn may_keep(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= LONGEST
        && !text.contains(['\n', '\r', '\0'])
        && (is_method(text) || is_url_or_path(text) || is_route(text) || is_version(text) || is_dotted_name(text))
}

/// Whether a string can be the key of a query or a form.
pub(super) fn is_key(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'[' | b']'))
}

/// The first 8 bytes of the digest that stands for a literal (`sync_core::graph::short_hash` of the one text).
pub(crate) fn digest(text: &str) -> u64 {
    let mut hasher = Sha256::new();
    hasher.update((text.len() as u64).to_be_bytes());
    hasher.update(text.as_bytes());
    let bytes = hasher.finalize();
    let mut first = [0_u8; 8];
    first.copy_from_slice(&bytes[..8]);
    u64::from_be_bytes(first)
}

/// An HTTP method in either case.
fn is_method(text: &str) -> bool {
    matches!(text.to_ascii_uppercase().as_str(), "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS")
}

/// A URL, a path, or a piece of one, without credentials or a query's values.
fn is_url_or_path(text: &str) -> bool {
    let rest = ["https://", "http://", "/"].iter().find_map(|prefix| text.strip_prefix(prefix));
    // A piece behind a template's placeholder: `.json`, `?x=`, or a host's tail `.example.com/v1`.
    let piece = rest.or_else(|| text.strip_prefix(['.', '?', '&', ':']));
    let bare = text.contains('/') || is_host(text);
    (piece.is_some() || bare)
        && !may_name_somebody(text)
        && text.bytes().all(|b| b.is_ascii_graphic())
        && !text.contains(['"', '\'', '`', '<', '>', '\\', ';', '(', ')'])
}

/// Whether a text holds an `@` that may stand behind a user, a password or a mailbox: any but one that begins a segment
/// of a path (`/users/@me`).
fn may_name_somebody(text: &str) -> bool {
    text.match_indices('@').any(|(at, _)| !text[..at].ends_with('/') || text[..at].ends_with("//"))
}

fn is_host(text: &str) -> bool {
    text.contains('.')
        && text.split('.').all(|part| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        })
}

/// `METHOD /path/{parameter}`.
fn is_route(text: &str) -> bool {
    text.split_once(' ').is_some_and(|(method, path)| {
        is_method(method) && (path.starts_with('/') || path.starts_with("https://")) && !path.contains(' ')
    })
}

/// `2023-10-16`, `2025-05-28.basil`, `v3`, `2.1`.
fn is_version(text: &str) -> bool {
    // Numbers, which may have a little behind them (`1beta1`), and at most one word: what is more may say anything.
    let parts = text.strip_prefix('v').unwrap_or(text).split(['.', '-', '_']);
    let mut words = 0;
    text.len() <= 32
        && parts.enumerate().all(|(at, part)| {
            let is_number = part.len() <= 8 && part.starts_with(|c: char| c.is_ascii_digit());
            words += usize::from(!is_number);
            (is_number || (at > 0 && words == 1 && !part.is_empty()))
                && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        })
}

/// `chat.postMessage`: names that an API dispatches on.
fn is_dotted_name(text: &str) -> bool {
    text.len() <= 64
        && text.contains('.')
        && text.split('.').all(|part| {
            part.starts_with(|c: char| c.is_ascii_lowercase()) && part.bytes().all(|b| b.is_ascii_alphanumeric())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_methods_routes_and_urls_are_kept() {
        for text in [
            "2025-05-28.basil",
            "v3",
            "v1beta1",
            "2024-02-15-preview",
            "POST",
            "get",
            "https://api.stripe.com/v1/charges",
            "/v1/charges",
            "/charges/",
            "/members/@me",
            "https://discord.com/api/users/@me/guilds",
            "GET /repos/{owner}/{repo}/pulls",
            "chat.postMessage",
            "api.stripe.com",
        ] {
            assert!(may_keep(text), "{text}");
        }
    }

    #[test]
    fn of_a_url_with_a_query_that_is_no_url_the_rest_is_kept() {
        let kept_of = [
            ("https://api.github.com/search/issues?q=merged:>=2010", Some("https://api.github.com/search/issues?")),
            ("/search/issues?q=a b", Some("/search/issues?")),
            ("Is it and/or? Nobody knows.", None),
            ("really? a/b", None),
        ];
        for (text, expected) in kept_of {
            assert_eq!(kept(text), expected, "{text}");
        }
    }

    #[test]
    fn prose_secrets_and_names_are_withheld() {
        for text in [
            "",
            "sk_live_51abcDEF",
            "customers",
            "Hello, world.",
            "https://user:secret@example.com/",
            "active",
            "v1-hunter2-secret",
            "9lives-of-a-cat",
            "2correcthorse",
            "a\nb/c",
            "<b>/</b>",
            "jane@example.com",
        ] {
            assert!(!may_keep(text), "{text}");
        }
    }

    #[test]
    fn the_digest_is_the_short_hash_of_the_text() {
        assert_eq!(format!("{:016x}", digest("card")), sync_core::graph::short_hash(&["card"]));
    }
}
