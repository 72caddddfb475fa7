//! Showing text that came from outside.

/// The text cut to at most `max` characters, control characters replaced, for messages that quote what was given.
pub fn shown(text: &str, max: usize) -> String {
    let mut out: String = text.chars().take(max).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(max).is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn long_and_control_characters_are_tamed() {
        assert_eq!(shown("ab\ncd", 3), "ab\u{fffd}…");
        assert_eq!(shown("abc", 3), "abc");
    }
}
