//! Between the numbers and words of Rust and those of rows.

use std::borrow::Cow;

use sync_core::graph::Context;
use sync_core::rung::BindingSource;

use crate::error::StoreError;

/// A count read from the database, which never is negative.
pub(crate) fn count(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// A small number read from the database.
pub(crate) fn small(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

/// A number to store; what does not fit is stored as the greatest, since only hostile files have lines beyond it.
pub(crate) fn stored(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

/// A count or version to store.
pub(crate) fn stored_count(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Text to store: Postgres has no NUL in text, and a hostile file may have one in a name.
pub(crate) fn text(value: &str) -> Cow<'_, str> {
    if value.contains('\0') { Cow::Owned(value.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(value) }
}

/// A rung read from a row.
pub(crate) fn binding_source(word: &str) -> Result<BindingSource, StoreError> {
    word.parse().map_err(|error| StoreError::unreadable("binding source", error))
}

/// A context read from a row.
pub(crate) fn context(word: &str) -> Result<Context, StoreError> {
    match word {
        "code" => Ok(Context::Code),
        "test" => Ok(Context::Test),
        other => Err(StoreError::unreadable("context", other)),
    }
}

/// The first path and the end of the half-open range of everything below a folder: `src/` and `src0`, since `0` is the
/// character after `/`. Range comparison keeps its index under row security, where LIKE does not.
pub(crate) fn below(folder: &str) -> (String, String) {
    (format!("{folder}/"), format!("{folder}0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_a_range_of_paths() {
        let (first, end) = below("src");
        for inside in ["src/a.ts", "src/z/ü.ts", "src/\u{10ffff}"] {
            assert!(inside >= first.as_str() && inside < end.as_str(), "{inside}");
        }
        for outside in ["src", "src.ts", "src-gen/a.ts", "src0", "srca/b.ts"] {
            assert!(!(outside >= first.as_str() && outside < end.as_str()), "{outside}");
        }
    }

    #[test]
    fn nul_is_replaced_and_nothing_else() {
        assert_eq!(text("a\0b"), "a\u{fffd}b");
        assert!(matches!(text("ab"), Cow::Borrowed("ab")));
    }
}
