//! Bounded answers: pages that end early, and texts that end early.

use serde::Serialize;

use super::arguments::DEFAULT_LIMIT;
use super::error::AnswerError;

/// The most bytes of an answer at the default limit, as `structuredContent`.
pub const DEFAULT_BYTES: usize = 4096;
/// The most bytes of an answer at any arguments.
pub const MAX_BYTES: usize = 16 * 1024;

/// Room kept for what is filled in after the rows are chosen: the cursor and the savings.
const RESERVED: usize = 260;

/// Longest file path shown, in bytes. Longer ones are cut: bounded answers come before paths that nobody has.
pub(super) const FILE: usize = 400;
/// Longest operation, chain or pointer shown, in bytes.
pub(super) const LONG: usize = 160;
/// Longest symbol or field shown, in bytes.
pub(super) const NAME: usize = 100;
/// Longest explanation, in bytes.
pub(super) const EXPLANATION: usize = 400;
/// Longest vendor id, kind or version shown, in bytes.
pub(super) const WORD: usize = 40;

/// The most bytes of an answer with this limit.
pub(super) const fn budget(limit: u32) -> usize {
    if limit > DEFAULT_LIMIT { MAX_BYTES } else { DEFAULT_BYTES }
}

/// How many of the rows fit into `budget` bytes beside an answer that is `empty` without them: at least one, so that
/// paging always goes on, and at most `limit`.
pub(super) fn fitting<T: Serialize>(
    rows: &[T],
    limit: u32,
    empty: &impl Serialize,
    budget: usize,
) -> Result<usize, AnswerError> {
    let rows = rows.get(..limit as usize).unwrap_or(rows);
    Ok(fitting_or_none(rows, empty, budget)?.max(usize::from(!rows.is_empty())))
}

/// The same for a list that may be left out altogether.
pub(super) fn fitting_or_none<T: Serialize>(
    rows: &[T],
    empty: &impl Serialize,
    budget: usize,
) -> Result<usize, AnswerError> {
    let mut bytes = size(empty)? + RESERVED;
    let mut fitting = 0;
    for row in rows {
        bytes += size(row)? + 1;
        if bytes > budget {
            break;
        }
        fitting += 1;
    }
    Ok(fitting)
}

/// Bytes of the compact JSON.
pub(super) fn size(value: &impl Serialize) -> Result<usize, AnswerError> {
    serde_json::to_vec(value).map(|json| json.len()).map_err(|error| {
        tracing::error!(%error, "an answer has no JSON");
        AnswerError::internal()
    })
}

/// The text cut to at most `max` bytes, with `…` where it was cut, and without control characters.
pub(super) fn clip(text: &str, max: usize) -> String {
    if text.len() <= max && !text.chars().any(char::is_control) {
        return text.to_owned();
    }
    let cut = text.len() > max;
    let room = if cut { max.saturating_sub('…'.len_utf8()) } else { max };
    let mut out = String::with_capacity(max);
    for c in text.chars() {
        let c = if c.is_control() { '?' } else { c };
        if out.len() + c.len_utf8() > room {
            break;
        }
        out.push(c);
    }
    if cut {
        out.push('…');
    }
    out
}

/// The path cut to at most [`FILE`] bytes: its end stays, which tells files of a folder apart.
pub(super) fn clip_path(path: &str) -> String {
    if path.len() <= FILE {
        return clip(path, FILE);
    }
    let mut from = path.len() - (FILE - '…'.len_utf8());
    while !path.is_char_boundary(from) {
        from += 1;
    }
    format!("…{}", clip(&path[from..], FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(clip("short", 10), "short");
        assert_eq!(clip("äöüäöü", 8), "äö…");
        assert_eq!(clip("a\nb", 10), "a?b");
        assert!(clip(&"漢".repeat(400), NAME).len() <= NAME);
        let path = format!("{}/the-end.ts", "漢/".repeat(400));
        assert!(clip_path(&path).len() <= FILE && clip_path(&path).ends_with("/the-end.ts"));
        assert!(clip_path(&path).starts_with('…'));
    }

    #[test]
    fn a_page_ends_before_it_is_too_large_but_never_empty() {
        let rows = vec!["x".repeat(1000); 50];
        assert_eq!(fitting(&rows, 20, &"", 4096).unwrap(), 3);
        assert_eq!(fitting(&rows, 2, &"", 4096).unwrap(), 2);
        assert_eq!(fitting(&rows, 20, &"", 100).unwrap(), 1);
        assert_eq!(fitting(&Vec::<String>::new(), 20, &"", 100).unwrap(), 0);
    }
}
