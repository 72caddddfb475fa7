//! Text that came from outside: what it is, and how it is shown.

/// Whether a character moves what stands around it: control characters, ends of lines, marks of direction.
fn misleads(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text cut to at most `max` characters, control characters and marks of direction replaced, for messages that quote what was given.
pub fn shown(text: &str, max: usize) -> String {
    let mut out: String = text.chars().take(max).map(|c| if misleads(c) { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(max).is_some() {
        out.push('…');
    }
    out
}

/// Whether the text is a complete commit id.
pub fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::{is_commit, shown};

    #[test]
    fn complete_commits_only() {
        assert!(is_commit(&"0a".repeat(20)) && is_commit(&"0a".repeat(32)));
        assert!(!is_commit("0a0a0a") && !is_commit(&"0A".repeat(20)) && !is_commit("main"));
    }

    #[test]
    fn long_and_control_characters_are_tamed() {
        assert_eq!(shown("a\u{202e}b\u{2028}c\u{2066}é", 20), "a\u{fffd}b\u{fffd}c\u{fffd}é");
        assert_eq!(shown("ab\ncd", 3), "ab\u{fffd}…");
        assert_eq!(shown("abc", 3), "abc");
    }
}
