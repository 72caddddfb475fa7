//! What a vendor exposes, as `METHOD /path/{parameter}`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An operation as the vendor writes it: `POST /v1/charges/{charge}/capture`. An AWS operation carries its name
/// behind it: `PUT /{Bucket}/{Key+} (PutObject)`; a GraphQL one the root field: `POST /graphql (issueCreate)`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Operation(String);

impl Operation {
    /// From a method and a path template.
    pub fn new(method: &str, path: &str) -> Self {
        Self(format!("{} {path}", method.to_ascii_uppercase()))
    }

    /// As read from a catalog, a feed or the store.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// As the vendor writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form in which operations compare: path parameters, their names, queries, a trailing slash and letter case
    /// erased. A name in parentheses stays, since there it is what tells two operations apart.
    pub fn erased(&self) -> String {
        erase(&self.0)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// See [`Operation::erased`].
pub fn erase(operation: &str) -> String {
    let operation = operation.trim();
    let (rest, name) = match operation.rfind(" (") {
        Some(at) if operation.ends_with(')') => {
            (operation[..at].trim_end(), Some(&operation[at + 2..operation.len() - 1]))
        }
        _ => (operation, None),
    };
    let (method, path) = rest.split_once(' ').unwrap_or(("", rest));
    let path = path.trim_start();
    let path = path.split_once("{?").map_or(path, |(path, _)| path);
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let mut out = String::with_capacity(operation.len());
    out.push_str(&method.to_ascii_lowercase());
    out.push(' ');
    let mut first = true;
    for segment in path.split('/') {
        if !first {
            out.push('/');
        }
        first = false;
        out.push_str(&erase_segment(segment));
    }
    while out.ends_with('/') {
        out.pop();
    }
    if let Some(name) = name {
        out.push_str(" (");
        out.push_str(&name.to_ascii_lowercase());
        out.push(')');
    }
    out
}

fn erase_segment(segment: &str) -> String {
    if let Some(name) = segment.strip_prefix(':')
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    {
        return "{}".to_owned();
    }
    let mut out = String::with_capacity(segment.len());
    let mut depth = 0_u32;
    for c in segment.chars() {
        match c {
            '{' | '<' => {
                if depth == 0 {
                    out.push_str("{}");
                }
                depth += 1;
            }
            '}' | '>' => depth = depth.saturating_sub(1),
            c if depth == 0 => out.push(c.to_ascii_lowercase()),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_names_and_queries_are_erased() {
        assert_eq!(erase("GET /v1/charges/{charge}"), "get /v1/charges/{}");
        assert_eq!(erase("GET /v1/charges/{id}/"), erase("GET /v1/charges/:charge"));
        assert_eq!(erase("PUT /{Key+}?x-id=PutObject (PutObject)"), "put /{} (putobject)");
        assert_eq!(erase("POST /v1/projects/{p}/accounts:lookup"), "post /v1/projects/{}/accounts:lookup");
        assert_eq!(erase("GET /search{?q,sort}"), "get /search");
        assert_ne!(erase("POST / (PutItem)"), erase("POST / (GetItem)"));
    }
}
