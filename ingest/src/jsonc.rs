//! JSON with comments and trailing commas, as `tsconfig.json` and `bun.lock` are written.

use serde::de::DeserializeOwned;
use serde_json::Deserializer;
use serde_json::de::StrRead;

/// Reads it; fails where it is not JSON even then.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    parse_with(text, |json| T::deserialize(json))
}

/// The same, with a reader that is asked again, from the start, where the text is not JSON as it stands.
pub(crate) fn parse_with<T>(
    text: &str,
    read: impl Fn(&mut Deserializer<StrRead<'_>>) -> Result<T, serde_json::Error>,
) -> Result<T, serde_json::Error> {
    let whole = |text: &str| {
        let mut json = Deserializer::from_str(text);
        let value = read(&mut json)?;
        json.end()?;
        Ok(value)
    };
    whole(text).or_else(|_: serde_json::Error| whole(&plain(text)))
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
