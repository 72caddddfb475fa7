//! JSON whose objects keep the order in which a maintainer wrote their keys, and how a vendor file is laid out.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

/// Widest line that a value is put on whole.
const WIDTH: usize = 118;
/// How deep values are laid out over several lines.
const DEPTH: usize = 4;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ordered {
    Object(Vec<(String, Ordered)>),
    Array(Vec<Ordered>),
    /// Anything without parts.
    Plain(serde_json::Value),
}

impl Ordered {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Plain(serde_json::Value::String(text.into()))
    }

    pub(super) fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::Array(texts.into_iter().map(Self::text).collect())
    }

    pub(super) fn number(number: usize) -> Self {
        Self::Plain(serde_json::Value::from(number))
    }

    pub(super) fn object<const N: usize>(entries: [(&str, Self); N]) -> Self {
        Self::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        match self {
            Self::Object(entries) => entries.iter_mut().find(|(known, _)| known == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Gives a key of an object its value, in its place, or at the end where it is new.
    pub(super) fn set(&mut self, key: &str, value: Self) {
        if let Some(known) = self.get_mut(key) {
            *known = value;
        } else if let Self::Object(entries) = self {
            entries.push((key.to_owned(), value));
        }
    }

    pub(super) fn remove(&mut self, key: &str) {
        if let Self::Object(entries) = self {
            entries.retain(|(known, _)| known != key);
        }
    }

    pub(super) fn entries(&self) -> &[(String, Self)] {
        match self {
            Self::Object(entries) => entries,
            _ => &[],
        }
    }

    pub(super) fn items(&self) -> &[Self] {
        match self {
            Self::Array(items) => items,
            _ => &[],
        }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Plain(value) => value.as_str(),
            _ => None,
        }
    }

    /// The vendor file: one operation, shape or server a line.
    pub(super) fn written(&self) -> String {
        let mut out = self.laid_out(0);
        out.push('\n');
        out
    }

    fn laid_out(&self, depth: usize) -> String {
        let pad = " ".repeat(depth + 1);
        let (open, close, lines): (_, _, Vec<String>) = match self {
            Self::Object(entries) if !entries.is_empty() && self.spreads(depth) => {
                let line =
                    |(key, value): &(String, Self)| format!("{pad}{}: {}", quoted(key), value.laid_out(depth + 1));
                ('{', '}', entries.iter().map(line).collect())
            }
            Self::Array(items) if !items.is_empty() && self.spreads(depth) => {
                ('[', ']', items.iter().map(|item| format!("{pad}{}", item.laid_out(depth + 1))).collect())
            }
            _ => return self.flat(),
        };
        let whole = self.flat();
        // Objects of the two outer levels are the file's own outline.
        let is_outline = depth < 2 && open == '{';
        if !is_outline && whole.len() + depth <= WIDTH {
            return whole;
        }
        format!("{open}\n{}\n{}{close}", lines.join(",\n"), " ".repeat(depth))
    }

    fn spreads(&self, depth: usize) -> bool {
        match self {
            Self::Object(entries) => {
                depth < 2 || depth < DEPTH && entries.iter().any(|(_, value)| !matches!(value, Self::Plain(_)))
            }
            Self::Array(items) => {
                depth < 2 || depth < DEPTH && items.iter().all(|item| !matches!(item, Self::Plain(_)))
            }
            Self::Plain(_) => false,
        }
    }

    fn flat(&self) -> String {
        match self {
            Self::Object(entries) => {
                let inner: Vec<_> =
                    entries.iter().map(|(key, value)| format!("{}: {}", quoted(key), value.flat())).collect();
                format!("{{{}}}", inner.join(", "))
            }
            Self::Array(items) => format!("[{}]", items.iter().map(Self::flat).collect::<Vec<_>>().join(", ")),
            Self::Plain(value) => value.to_string(),
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl<'de> Deserialize<'de> for Ordered {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Ordered;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered, A::Error> {
                let mut entries = vec![];
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Ordered::Object(entries))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Ordered, A::Error> {
                let mut items = vec![];
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Ordered::Array(items))
            }
            fn visit_bool<E>(self, value: bool) -> Result<Ordered, E> {
                Ok(Ordered::Plain(value.into()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Ordered, E> {
                Ok(Ordered::Plain(value.into()))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Ordered, E> {
                Ok(Ordered::Plain(value.into()))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Ordered, E> {
                Ok(Ordered::Plain(value.into()))
            }
            fn visit_str<E>(self, value: &str) -> Result<Ordered, E> {
                Ok(Ordered::text(value))
            }
            fn visit_unit<E>(self) -> Result<Ordered, E> {
                Ok(Ordered::Plain(serde_json::Value::Null))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_vendor_file_of_this_build_is_laid_out_as_it_would_be_written() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("catalog");
        let mut files = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let text = std::fs::read_to_string(&path).unwrap();
                let read: Ordered = serde_json::from_str(&text).unwrap();
                assert!(read.written() == text, "{}: write it with `catalog build`", path.display());
                files += 1;
            }
        }
        assert!(files > 25, "{files}");
    }

    #[test]
    fn keys_keep_their_order_and_changes_their_place() {
        let mut value: Ordered = serde_json::from_str(r#"{"z": 1, "a": {"y": [null, true, "ü\n"], "x": {}}}"#).unwrap();
        assert_eq!(value.flat(), r#"{"z": 1, "a": {"y": [null, true, "ü\n"], "x": {}}}"#);
        value.set("z", Ordered::number(2));
        value.set("b", Ordered::texts(["c"]));
        value.get_mut("a").unwrap().remove("y");
        assert_eq!(value.written(), "{\n \"z\": 2,\n \"a\": {\n  \"x\": {}\n },\n \"b\": [\"c\"]\n}\n");
    }
}
