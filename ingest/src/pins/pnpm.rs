//! `pnpm-lock.yaml`, versions 5, 6 and 9.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_yaml_ng::{Mapping, Value};

use super::keep::Keep;
use super::{Locked, locked_version};

/// Deepest nesting of brackets in a lockfile; pnpm writes one level.
const MAX_BRACKETS: u32 = 32;
/// Most text that is parsed at once, in bytes. The largest importers of known repositories have some ten thousand.
const MOST_AT_ONCE: usize = 1 << 20;
/// Sections of a lockfile, or of one importer in it, that list what it depends on.
const DEPENDENCIES: [&str; 3] = ["dependencies", "devDependencies", "optionalDependencies"];

/// What each importer (a folder with a manifest) depends on directly.
#[derive(Debug)]
pub(super) struct PnpmLock(BTreeMap<String, BTreeMap<String, Locked>>);

impl PnpmLock {
    pub(super) fn read(bytes: &[u8], keep: &Keep<'_>) -> Result<Self, String> {
        let mut wanted = vec!["lockfileVersion", "importers"];
        wanted.extend(DEPENDENCIES);
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
        let text = sections(text, &wanted);
        // Importers are read one by one: parsing YAML takes a hundred times the memory of its text.
        let (rest, listed) = importers(&text);
        let document = parse(&rest, keep)?;
        let mut lock = Self(BTreeMap::new());
        match document.get("importers") {
            // A lockfile of one package alone lists it at the top.
            None => lock.add("", &document, keep)?,
            Some(Value::Null) => {}
            Some(Value::Mapping(listed)) => lock.add_all(listed, keep)?,
            Some(_) => return Err("`importers` is not a mapping".to_owned()),
        }
        for importer in listed {
            match parse(importer, keep)? {
                Value::Mapping(listed) => lock.add_all(&listed, keep)?,
                _ => return Err("`importers` is not a mapping".to_owned()),
            }
        }
        Ok(lock)
    }

    fn add_all(&mut self, importers: &Mapping, keep: &Keep<'_>) -> Result<(), String> {
        for (folder, importer) in importers {
            let folder = folder.as_str().ok_or("an importer has no name")?;
            self.add(if folder == "." { "" } else { folder }, importer, keep)?;
        }
        Ok(())
    }

    fn add(&mut self, folder: &str, importer: &Value, keep: &Keep<'_>) -> Result<(), String> {
        keep.one_more()?;
        let known = self.0.insert(folder.to_owned(), dependencies(importer, keep)?);
        if known.is_some() { Err("an importer is listed twice".to_owned()) } else { Ok(()) }
    }

    /// What an import in `folder` (as seen from the lockfile) of `package` gets.
    pub(super) fn find(&self, folder: &str, package: &str) -> Option<Locked> {
        let mut folder = folder;
        loop {
            if let Some(locked) = self.0.get(folder).and_then(|importer| importer.get(package)) {
                return Some(locked.clone());
            }
            if folder.is_empty() {
                return None;
            }
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }
}

fn dependencies(importer: &Value, keep: &Keep<'_>) -> Result<BTreeMap<String, Locked>, String> {
    let mut found = BTreeMap::new();
    for section in DEPENDENCIES {
        for (name, pinned) in importer.get(section).and_then(Value::as_mapping).into_iter().flatten() {
            // Version 5 writes the version itself, later ones a specifier and a version.
            let version = pinned.as_str().or_else(|| pinned.get("version").and_then(Value::as_str));
            if let (Some(name), Some(version)) = (name.as_str().filter(|name| keep.is_wanted(name)), version) {
                keep.one_more()?;
                found.entry(name.to_owned()).or_insert_with(|| locked(name, version));
            }
        }
    }
    Ok(found)
}

/// A version as pnpm writes it: `8.0.0`, with peers behind it (`8.0.0_react@17.0.2`, `8.0.0(react@18.0.0)`), of another
/// package (`/stripe/8.0.0`, `/stripe@8.0.0`, `stripe@8.0.0`), or an address (`link:../ui`).
fn locked(name: &str, text: &str) -> Locked {
    let without_peers = text.split(['(', '_']).next().unwrap_or(text);
    let (other, version) = match without_peers.strip_prefix('/') {
        Some(path) => match path.rfind('@').filter(|at| *at > 0) {
            Some(at) => (Some(&path[..at]), &path[at + 1..]),
            None => path.rsplit_once('/').map_or((None, path), |(other, version)| (Some(other), version)),
        },
        None => match without_peers.rfind('@').filter(|at| *at > 0) {
            Some(at) => (Some(&without_peers[..at]), &without_peers[at + 1..]),
            None => (None, without_peers),
        },
    };
    if other.is_some_and(|other| other != name) { Locked::Foreign } else { locked_version(version) }
}

/// Parses the wanted top-level sections of a YAML file as package managers write them. The others are cut out before
/// parsing: a lockfile's packages are most of it, and are not needed.
pub(super) fn parse_sections(bytes: &[u8], wanted: &[&str], keep: &Keep<'_>) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    parse(&sections(text, wanted), keep)
}

fn parse(text: &str, keep: &Keep<'_>) -> Result<Value, String> {
    if text.len() > MOST_AT_ONCE {
        return Err(keep.cut());
    }
    refuse_bombs(text)?;
    let document: Value = serde_yaml_ng::from_str(text).map_err(|error| error.to_string())?;
    match document {
        Value::Mapping(_) => Ok(document),
        Value::Null => Ok(Value::Mapping(Mapping::new())),
        _ => Err("it is not a mapping".to_owned()),
    }
}

/// The text without what `importers:` lists in lines of their own, and the text of each of these.
fn importers(text: &str) -> (Cow<'_, str>, Vec<&str>) {
    let is_head = |line: &str| line.trim_end() == "importers:";
    let mut start = 0;
    let head = text.split_inclusive('\n').find_map(|line| {
        start += line.len();
        is_head(line).then_some(start)
    });
    let Some(start) = head else { return (Cow::Borrowed(text), Vec::new()) };
    // Comments and empty lines are of nothing, wherever they stand.
    let indent = |line: &str| {
        let bare = line.trim_start_matches(' ');
        (!bare.trim_end().is_empty() && !bare.starts_with('#')).then(|| line.len() - bare.len())
    };
    let Some(own) = text[start..].split_inclusive('\n').find_map(indent).filter(|own| *own > 0) else {
        return (Cow::Borrowed(text), Vec::new());
    };
    let (mut listed, mut at, mut begin) = (Vec::new(), start, start);
    for line in text[start..].split_inclusive('\n') {
        match indent(line) {
            Some(column) if column < own => break,
            Some(column) if column == own && at > begin => {
                listed.push(&text[begin..at]);
                begin = at;
            }
            _ => {}
        }
        at += line.len();
    }
    listed.push(&text[begin..at]);
    (Cow::Owned(format!("{}{}", &text[..start], &text[at..])), listed)
}

/// The lines of the wanted top-level sections. Lines that start no section known to be unwanted stay, so that what is
/// no mapping at all is still seen to be wrong.
fn sections(text: &str, wanted: &[&str]) -> String {
    let mut kept = String::new();
    let mut keep = true;
    for line in text.lines() {
        if line.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '\'' | '"')) {
            let key = line.split(':').next().unwrap_or_default().trim_matches(['\'', '"']);
            keep = wanted.contains(&key) || !line.contains(':');
        }
        if keep {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// What no package manager writes and what makes parsing costly beyond the size of the file: anchors, whose aliases
/// multiply, and deep nesting, at which the YAML scanner is quadratic.
fn refuse_bombs(text: &str) -> Result<(), String> {
    let mut depth = 0_u32;
    let mut before = '\n';
    for c in text.chars() {
        match c {
            '[' | '{' => {
                depth += 1;
                if depth > MAX_BRACKETS {
                    return Err(format!("it nests brackets more than {MAX_BRACKETS} deep"));
                }
            }
            ']' | '}' => depth = depth.saturating_sub(1),
            '&' if before.is_whitespace() || matches!(before, '[' | '{' | ',' | '-' | ':') => {
                return Err("it has YAML anchors, which no package manager writes".to_owned());
            }
            _ => {}
        }
        before = c;
    }
    Ok(())
}
