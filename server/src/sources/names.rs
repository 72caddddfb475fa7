//! Names of repositories and refs, and patterns of refs, as they are taken.

/// The most characters of a ref's name or a pattern.
pub const MAX_REF: usize = 255;

/// The most patterns of one source.
pub const MAX_PATTERNS: usize = 20;

/// Names of repositories, as a pattern of JSON Schema.
pub const REPOSITORY: &str = "^[a-z0-9._-]+(/[a-z0-9._-]+)*$";

/// Names of refs, as a pattern of JSON Schema: what [`is_ref`] takes.
pub const REF: &str = "^[^\\u0000-\\u0020\\u007f-\\u00a0~^:?*\\[\\\\/.{-](\\.?[^\\u0000-\\u0020\\u007f-\\u00a0~^:?*\\[\\\\/.{])*(/[^\\u0000-\\u0020\\u007f-\\u00a0~^:?*\\[\\\\/.{-](\\.?[^\\u0000-\\u0020\\u007f-\\u00a0~^:?*\\[\\\\/.{])*)*$";

/// Patterns of refs, as a pattern of JSON Schema: what [`is_pattern`] takes.
pub const PATTERN: &str = "^[^\\u0000-\\u0020\\u007f-\\u00a0~^:?\\[\\\\/.{-](\\.?[^\\u0000-\\u0020\\u007f-\\u00a0~^:?\\[\\\\/.{])*(/[^\\u0000-\\u0020\\u007f-\\u00a0~^:?\\[\\\\/.{-](\\.?[^\\u0000-\\u0020\\u007f-\\u00a0~^:?\\[\\\\/.{])*)*$";

/// Whether a repository may be called so: `acme/billing`, at most 100 characters.
pub fn is_repository(name: &str) -> bool {
    let letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-');
    name.len() <= 100 && name.split('/').all(|part| !part.is_empty() && part.bytes().all(letter))
}

/// Whether a ref may be called so: as git has it, and a little stricter, so that no name is an option or a pattern.
pub fn is_ref(name: &str) -> bool {
    name.chars().count() <= MAX_REF && name.split('/').all(|part| is_part(part, false))
}

/// Whether it is a pattern of refs: the name of one, in which `*` stands for anything within a part, and `**` for
/// anything.
pub fn is_pattern(pattern: &str) -> bool {
    pattern.chars().count() <= MAX_REF && pattern.split('/').all(|part| is_part(part, true))
}

fn is_part(part: &str, stars: bool) -> bool {
    let plain = |c: char| {
        !matches!(c, '\u{0}'..='\u{20}' | '\u{7f}'..='\u{a0}' | '~' | '^' | ':' | '?' | '[' | '\\' | '{')
            && (stars || c != '*')
    };
    !part.is_empty()
        && !part.starts_with(['.', '-'])
        && !part.ends_with('.')
        && !part.contains("..")
        && part.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_git_or_a_command_line_would_take_for_something_else_are_refused() {
        for name in ["main", "release/2.x", "feature/é-1", "refs/pull/7/head", "a@b", "HEAD"] {
            assert!(is_ref(name) && is_pattern(name), "{name}");
        }
        for name in [
            "", "/", "a/", "/a", "a//b", "-f", "a/-b", ".a", "a..b", "a.", "a b", "a\n", "a:b", "a~1", "a^", "a?",
            "a[b", "a\\b", "@{u}", "a\u{7f}", "*",
        ] {
            assert!(!is_ref(name), "{name:?}");
        }
        assert!(is_pattern("release/*") && is_pattern("**") && !is_pattern("-*") && !is_pattern("a?"));
        assert!(!is_ref(&"a".repeat(256)) && is_ref(&"a".repeat(255)));
        assert!(is_repository("acme/billing.js") && is_repository("a"));
        for name in ["", "/a", "a/", "a//b", "A", "a b", "é", &"a".repeat(101)] {
            assert!(!is_repository(name), "{name}");
        }
    }
}
