//! A tool's parameters: declared once, and both the schema that clients see and the check of what they send are made
//! from the declaration, so that the two cannot differ.
//!
//! The MCP library hands arguments over unchecked. `null` counts as not given, since some models fill every parameter.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::error::AnswerError;

/// Rows on a page where the caller does not say.
pub const DEFAULT_LIMIT: u32 = 20;
/// The most rows on a page of a tool.
pub const MAX_LIMIT: u32 = 50;
/// The longest path, in characters.
pub const MAX_PATH: u32 = 1024;
/// The longest repository name, in characters.
pub const MAX_REPOSITORY: u32 = 100;
/// The longest name of a ref, a commit, a version or a vendor, in characters.
pub const MAX_NAME: u32 = 250;

/// One parameter of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name, which is never changed.
    pub name: &'static str,
    /// One sentence for an agent.
    pub description: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Whether it must be given; a parameter added later never must.
    pub required: bool,
}

/// What a parameter takes.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A text of 1 to so many characters, none of them a control character.
    Text(u32),
    /// A file or directory of the repository, relative to its root.
    Path,
    /// The name of a repository.
    Repository,
    /// One of a few words.
    Word(&'static [&'static str]),
    /// A whole number, both ends included.
    Number(u32, u32),
    /// True or false.
    Flag,
    /// A page cursor, whose own check comes when it is opened: a broken one is an expired one.
    Cursor,
}

impl Parameter {
    /// A parameter that may be left out.
    pub const fn optional(name: &'static str, kind: Kind, description: &'static str) -> Self {
        Self { name, description, kind, required: false }
    }

    /// A parameter that must be given.
    pub const fn required(name: &'static str, kind: Kind, description: &'static str) -> Self {
        Self { name, description, kind, required: true }
    }
}

/// `limit`, the same on every tool that lists.
pub const LIMIT: Parameter =
    Parameter::optional("limit", Kind::Number(1, MAX_LIMIT), "Rows on a page, default 20; large pages end early.");
/// `cursor`, the same on every tool that lists.
pub const CURSOR: Parameter =
    Parameter::optional("cursor", Kind::Cursor, "next_cursor of the page before, with the same arguments.");
/// `repository`, the same on every tool.
pub const REPOSITORY: Parameter =
    Parameter::optional("repository", Kind::Repository, "Repository name; needed where several are visible.");
/// `ref`, the same on every tool.
pub const REF: Parameter = Parameter::optional("ref", Kind::Text(MAX_NAME), "Ref; default: the default branch.");

/// The JSON schema of these parameters.
pub fn schema(parameters: &[Parameter]) -> Map<String, Value> {
    let mut properties = Map::new();
    for parameter in parameters {
        let mut schema = match parameter.kind {
            Kind::Text(max) => json!({"type": "string", "minLength": 1, "maxLength": max}),
            Kind::Path => json!({"type": "string", "minLength": 1, "maxLength": MAX_PATH}),
            Kind::Repository => json!({"type": "string", "minLength": 1, "maxLength": MAX_REPOSITORY}),
            Kind::Word(words) => json!({"type": "string", "enum": words}),
            Kind::Number(from, to) => json!({"type": "integer", "minimum": from, "maximum": to}),
            Kind::Flag => json!({"type": "boolean"}),
            Kind::Cursor => json!({"type": "string"}),
        };
        schema["description"] = parameter.description.into();
        properties.insert(parameter.name.to_owned(), schema);
    }
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    let required: Vec<&str> = parameters.iter().filter(|p| p.required).map(|p| p.name).collect();
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

/// Arguments that were checked.
#[derive(Debug, Default)]
pub struct Arguments(BTreeMap<&'static str, Checked>);

#[derive(Debug)]
enum Checked {
    Text(String),
    Number(u32),
    Flag(bool),
}

impl Arguments {
    /// Checks what was given against the declaration; the first wrong argument is named.
    pub fn check(parameters: &[Parameter], given: &Map<String, Value>) -> Result<Self, AnswerError> {
        if let Some((name, value)) = given.iter().find(|(name, _)| !parameters.iter().any(|p| p.name == *name)) {
            let known: Vec<&str> = parameters.iter().map(|p| p.name).collect();
            return Err(AnswerError::unknown_argument(name, value, &known));
        }
        let mut checked = BTreeMap::new();
        for parameter in parameters {
            match given.get(parameter.name).filter(|value| !value.is_null()) {
                Some(value) => {
                    if let Some(value) = parameter.check(value)? {
                        checked.insert(parameter.name, value);
                    }
                }
                None if parameter.required => {
                    return Err(AnswerError::missing_argument(parameter.name, parameter.kind.allowed()));
                }
                None => {}
            }
        }
        Ok(Self(checked))
    }

    /// The text given for a parameter.
    pub fn text(&self, name: &str) -> Option<String> {
        match self.0.get(name) {
            Some(Checked::Text(text)) => Some(text.clone()),
            _ => None,
        }
    }

    /// The number given for a parameter.
    pub fn number(&self, name: &str) -> Option<u32> {
        match self.0.get(name) {
            Some(Checked::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// Whether a flag is set.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.0.get(name), Some(Checked::Flag(true)))
    }

    /// Rows on a page.
    pub fn limit(&self) -> u32 {
        self.number("limit").unwrap_or(DEFAULT_LIMIT)
    }
}

impl Parameter {
    /// The value in its checked form; nothing where it is as if it were not given.
    fn check(&self, value: &Value) -> Result<Option<Checked>, AnswerError> {
        let fail = || AnswerError::invalid_argument(self.name, value, self.kind.allowed());
        let text = || value.as_str().ok_or_else(fail);
        let checked = match self.kind {
            Kind::Text(max) => Checked::Text(bounded(text()?, max).ok_or_else(fail)?.to_owned()),
            Kind::Path => match relative(bounded(text()?, MAX_PATH).ok_or_else(fail)?).ok_or_else(fail)? {
                "" | "." => return Ok(None),
                path => Checked::Text(path.to_owned()),
            },
            Kind::Repository => {
                let name = text()?;
                if !is_repository_name(name) {
                    return Err(fail());
                }
                Checked::Text(name.to_owned())
            }
            Kind::Word(words) => {
                let given = text()?;
                if !words.contains(&given) {
                    return Err(fail());
                }
                Checked::Text(given.to_owned())
            }
            Kind::Number(from, to) => {
                Checked::Number(whole(value).filter(|n| (from..=to).contains(n)).ok_or_else(fail)?)
            }
            Kind::Flag => Checked::Flag(value.as_bool().ok_or_else(fail)?),
            Kind::Cursor => Checked::Text(text()?.to_owned()),
        };
        Ok(Some(checked))
    }
}

impl Kind {
    fn allowed(self) -> String {
        match self {
            Self::Text(max) => format!("a text of 1 to {max} characters without control characters"),
            Self::Path => {
                format!("a path relative to the repository's root, without `..`, at most {MAX_PATH} characters")
            }
            Self::Repository => format!(
                "a repository name as sync_repositories lists it: lower-case letters, digits, `.`, `_`, `-`, parts joined by `/`, at most {MAX_REPOSITORY} characters"
            ),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::Number(from, to) => format!("a whole number from {from} to {to}"),
            Self::Flag => "true or false".to_owned(),
            Self::Cursor => "a next_cursor of this tool, as it was given".to_owned(),
        }
    }
}

/// A whole number however it is written: to JSON Schema, `3.0` is an integer too, and some clients write it so.
fn whole(value: &Value) -> Option<u32> {
    if let Some(number) = value.as_u64() {
        return u32::try_from(number).ok();
    }
    let number = value.as_f64().filter(|n| n.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(n))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and within the bounds of u32")]
    Some(number as u32)
}

fn bounded(text: &str, max: u32) -> Option<&str> {
    let fits = !text.is_empty() && text.chars().count() <= max as usize && !text.chars().any(char::is_control);
    fits.then_some(text)
}

/// Without `./` before it and `/` behind it; nothing where it leaves the repository.
fn relative(path: &str) -> Option<&str> {
    let mut rest = path;
    while let Some(shorter) = rest.strip_prefix("./") {
        rest = shorter;
    }
    if rest.starts_with('/') || rest.split('/').any(|segment| segment == "..") {
        return None;
    }
    Some(rest.trim_end_matches('/'))
}

/// Whether the text can be the name of a repository: `[a-z0-9._-]+(/[a-z0-9._-]+)*`, at most 100 characters.
pub fn is_repository_name(name: &str) -> bool {
    let part_byte = |b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-');
    name.len() <= MAX_REPOSITORY as usize && name.split('/').all(|part| !part.is_empty() && part.bytes().all(part_byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERS: [Parameter; 5] = [
        Parameter::optional("path", Kind::Path, "p"),
        Parameter::optional("severity", Kind::Word(&["breaking"]), "s"),
        Parameter::required("line", Kind::Number(1, 9), "l"),
        Parameter::optional("flag", Kind::Flag, "f"),
        CURSOR,
    ];

    fn check(given: &Value) -> Result<Arguments, String> {
        Arguments::check(&PARAMETERS, given.as_object().unwrap()).map_err(|error| {
            assert_eq!(error.code.as_str(), "invalid_argument");
            error.message
        })
    }

    #[test]
    fn a_wrong_argument_is_named_with_what_is_allowed() {
        for (given, message) in [
            (json!({"line": 10}), "`line` cannot be 10: allowed is a whole number from 1 to 9."),
            (json!({"line": "3"}), "`line` cannot be \"3\": allowed is a whole number from 1 to 9."),
            (json!({"line": 1.5}), "`line` cannot be 1.5: allowed is a whole number from 1 to 9."),
            (json!({}), "`line` is required and was not given: it is a whole number from 1 to 9."),
            (json!({"line": 1, "severity": "bad"}), "`severity` cannot be \"bad\": allowed is one of breaking."),
            (json!({"line": 1, "flag": "yes"}), "`flag` cannot be \"yes\": allowed is true or false."),
            (
                json!({"line": 1, "cursor": 1}),
                "`cursor` cannot be 1: allowed is a next_cursor of this tool, as it was given.",
            ),
            (
                json!({"line": 1, "lines": 1}),
                "`lines` is no argument of this tool; its arguments are path, severity, line, flag, cursor.",
            ),
        ] {
            assert_eq!(check(&given).unwrap_err(), message);
        }
        assert_eq!(check(&json!({"line": 9.0})).unwrap().number("line"), Some(9));
        for wrong in [json!(-1), json!(-1.0), json!(1e300), json!(4_294_967_297_u64), json!(true), json!([1])] {
            assert!(check(&json!({"line": wrong})).is_err(), "{wrong}");
        }
        let right = check(&json!({"line": 9, "severity": null, "flag": true})).unwrap();
        assert_eq!((right.number("line"), right.text("severity"), right.flag("flag")), (Some(9), None, true));
    }

    #[test]
    fn paths_are_relative_to_the_root() {
        let read = |path: &str| check(&json!({"line": 1, "path": path})).map(|arguments| arguments.text("path"));
        assert_eq!(read("./src/a.ts"), Ok(Some("src/a.ts".to_owned())));
        assert_eq!(read("src/"), Ok(Some("src".to_owned())));
        assert_eq!(read("."), Ok(None));
        assert_eq!(read("./"), Ok(None));
        for bad in ["/src/a.ts", ".//etc", "../a.ts", "src/../../a", "", "a\nb"] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn repository_names() {
        for good in ["billing", "acme/billing", "a.b_c-d/e"] {
            assert!(is_repository_name(good), "{good}");
        }
        for bad in ["", "/", "a/", "Acme", "a b", "a//b", &"x".repeat(101)] {
            assert!(!is_repository_name(bad), "{bad}");
        }
    }

    #[test]
    fn the_schema_says_what_the_check_holds() {
        let schema = schema(&PARAMETERS);
        assert_eq!(schema["required"], json!(["line"]));
        assert_eq!(
            schema["properties"]["line"],
            json!({"type": "integer", "minimum": 1, "maximum": 9, "description": "l"})
        );
        assert_eq!(schema["additionalProperties"], false);
    }
}
