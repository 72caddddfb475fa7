//! JSON with comments and trailing commas, as `tsconfig.json` and `bun.lock` are written.

use serde::de::DeserializeOwned;

/// Reads it; fails where it is not JSON even then.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&plain(text)))
}

/// The same text without comments and trailing commas.
fn plain(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut in_string = false;
    while let Some(c) = chars.next() {
        if in_string {
            out.push(c);
            if c == '\\' {
                out.extend(chars.next());
            } else if c == '"' {
                in_string = false;
            }
            continue;
        }
        match (c, chars.peek()) {
            ('"', _) => {
                in_string = true;
                out.push(c);
            }
            ('/', Some('/')) => {
                while chars.peek().is_some_and(|c| *c != '\n') {
                    chars.next();
                }
            }
            ('/', Some('*')) => {
                chars.next();
                let mut last = ' ';
                for c in chars.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
            }
            ('}' | ']', _) => {
                let kept = out.trim_end().len();
                if out[..kept].ends_with(',') {
                    out.truncate(kept - 1);
                }
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn comments_and_trailing_commas_are_left_out_but_not_in_strings() {
        let value: serde_json::Value =
            parse("{ // one\n \"a\": [1, 2, ], /* two */ \"b\": \"//x,]\\\"/*\", }").unwrap();
        assert_eq!(value, serde_json::json!({"a": [1, 2], "b": "//x,]\"/*"}));
        assert!(parse::<serde_json::Value>("{ nope").is_err());
    }
}
