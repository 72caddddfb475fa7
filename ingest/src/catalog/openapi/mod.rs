//! `catalog build openapi`: a vendor file from an OpenAPI description, for plain HTTP; or what a description knows
//! beyond a vendor's file.
//!
//! Descriptions in the wild bend the specification; what cannot be used is left out and said, and only a description
//! from which nothing can be used is refused.

mod read;
mod servers;
#[cfg(test)]
mod tests;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use sync_core::operation::erase;

use super::check::check;
use super::load;
use super::ordered::Ordered;
use read::{Dangling, Description};
use servers::Servers;

/// Most operations of one vendor.
const MAX_OPERATIONS: usize = 50_000;
/// Longest template.
const MAX_PATH: usize = 2_000;

/// A vendor file, and what of the description is not in it.
#[derive(Debug)]
pub struct Built {
    /// The file's text; the same description gives the same bytes.
    pub text: String,
    /// How many operations the description has that can be used.
    pub operations: usize,
    /// How many of them the file knew before.
    pub known: usize,
    /// What was left out and why, in words.
    pub left_out: Vec<String>,
}

/// A description that gives no vendor file.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// It is neither JSON nor YAML.
    #[error("it is neither JSON nor YAML: {0}; next: give the OpenAPI file itself, not a page about it")]
    Unreadable(String),
    /// It is something else.
    #[error("{0}; next: give an OpenAPI 3 or Swagger 2 file")]
    NotOpenApi(&'static str),
    /// It says nowhere where the vendor answers.
    #[error("it names no public host ({0}); next: say where the vendor answers with `--server https://HOST/BASE`")]
    NoServer(String),
    /// A server given by hand is not one.
    #[error("`{0}` is no server; next: write it as `https://HOST` or `https://HOST/BASE`")]
    BadServer(String),
    /// It has no operation at all.
    #[error(
        "it has no operation under `paths`; next: give the file that has them (references to other files are not followed)"
    )]
    NoOperation,
    /// The vendor's id cannot be one.
    #[error("`{0}` is no vendor id; next: use lower-case letters, digits and hyphens")]
    BadVendor(String),
    /// The file that is to be completed is not this vendor's.
    #[error("the file to write to was left as it is: {0}; next: give the vendor's own file, sound by `catalog check`")]
    Refused(String),
    /// The file that came of it does not pass `catalog check`.
    #[error("what came of it is not sound: {0}; next: correct the description")]
    Unsound(String),
}

/// Makes the vendor file. `servers` are instead of those that the description names. A file that is there keeps all that
/// it has, and gets the operations that it did not know as further `routes`.
pub fn build(vendor: &str, text: &str, servers: &[String], existing: Option<&str>) -> Result<Built, BuildError> {
    let is_id = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if vendor.is_empty() || !vendor.bytes().all(is_id) {
        return Err(BuildError::BadVendor(vendor.to_owned()));
    }
    let description = Description::read(text)?;
    let mut left_out = BTreeSet::new();
    let servers = Servers::of(&description, servers, &mut left_out)?;
    let file = existing.map(|text| known_file(vendor, text)).transpose()?;
    let hosts = file.as_ref().map_or_else(|| servers.clone(), Servers::of_file);
    let routes = routes(&description, &servers, &hosts, &mut left_out);
    if routes.is_empty() {
        return Err(match left_out.first() {
            Some(reason) if existing.is_some() => BuildError::Refused(reason.clone()),
            _ => BuildError::NoOperation,
        });
    }
    let (file, known) = match file {
        Some(file) => completed(file, &routes),
        None => (new_file(vendor, &servers, &routes), 0),
    };
    let text = file.written();
    let name = format!("{vendor}.json");
    let catalog = load::from_files([(name.as_str(), text.as_str())].into_iter());
    let defects = catalog.map_or_else(|error| vec![error.to_string()], |catalog| check(&catalog));
    match defects.first() {
        Some(defect) => Err(BuildError::Unsound(defect.clone())),
        None => Ok(Built { text, operations: routes.len(), known, left_out: left_out.into_iter().collect() }),
    }
}

/// Erased operation, with its host where only that answers, → as it is written; sorted by path.
type Routes = BTreeMap<(String, String), String>;

fn routes(description: &Description, servers: &Servers, hosts: &Servers, left_out: &mut BTreeSet<String>) -> Routes {
    let mut found = Routes::new();
    let mut erased: BTreeMap<String, String> = BTreeMap::new();
    for (path, item) in &description.paths {
        if let Some(reason) = unusable(path) {
            left_out.insert(format!("path `{}`: {reason}", shown(path)));
            continue;
        }
        let item = match description.resolved(item) {
            Ok(item) => item,
            Err(dangling) => {
                let reason = match dangling {
                    Dangling::Elsewhere => "it refers to what is not in this file",
                    Dangling::Circle => "it refers in a circle, or through too many others",
                };
                left_out.insert(format!("path `{}`: {reason}", shown(path)));
                continue;
            }
        };
        for (method, own) in &item.methods {
            let own = if own.is_empty() { &item.servers } else { own };
            let method = method.to_ascii_uppercase();
            let written = match servers.target(own).and_then(|target| hosts.template(&target, path)) {
                Ok(written) => written,
                Err(reason) => {
                    left_out.insert(format!("`{method} {}`: {reason}", shown(path)));
                    continue;
                }
            };
            if found.len() >= MAX_OPERATIONS {
                left_out.insert(format!("what comes after the first {MAX_OPERATIONS} operations"));
                return found;
            }
            let route = format!("{method} {written}");
            match erased.entry(erase(&route)) {
                Entry::Occupied(other) => {
                    left_out.insert(format!("`{}`: `{}` but for names", shown(&route), shown(other.get())));
                }
                Entry::Vacant(entry) => {
                    entry.insert(route.clone());
                    found.insert((path.clone(), method), route);
                }
            }
        }
    }
    found
}

/// Why a path is no template.
fn unusable(path: &str) -> Option<&'static str> {
    if !path.starts_with('/') {
        Some("it does not start with `/`")
    } else if path.len() > MAX_PATH {
        Some("it is longer than 2,000 bytes")
    } else if path.contains(['?', '#']) {
        Some("a query or fragment tells its operations apart, which a path cannot")
    } else if path.contains(|c: char| c.is_whitespace() || c.is_control()) || path.contains("//") {
        Some("it has spaces or an empty segment")
    } else if path.matches('{').count() != path.matches('}').count() {
        Some("its braces do not match")
    } else {
        None
    }
}

/// A text from the description, short enough for a line.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(100).collect()
}

fn new_file(vendor: &str, servers: &Servers, routes: &Routes) -> Ordered {
    Ordered::object([
        ("format", Ordered::number(super::file::FORMAT as usize)),
        ("vendor", Ordered::text(vendor)),
        ("servers", servers.written()),
        ("routes", Ordered::texts(routes.values())),
    ])
}

fn known_file(vendor: &str, text: &str) -> Result<Ordered, BuildError> {
    let file: Ordered =
        serde_json::from_str(text).map_err(|error| BuildError::Refused(format!("it is no vendor file: {error}")))?;
    match file.get("vendor").and_then(Ordered::as_str) {
        Some(known) if known == vendor => Ok(file),
        _ => Err(BuildError::Refused(format!("it is not of vendor `{vendor}`"))),
    }
}

/// Adds what the file does not know; how many operations it knew.
fn completed(mut file: Ordered, routes: &Routes) -> (Ordered, usize) {
    let mut known = BTreeSet::new();
    // Hosts do not tell operations apart: what a recording found at another host is the same.
    let erased = |text: &str| {
        let text = text.split(" as ").last().unwrap_or(text);
        let (method, rest) = text.split_once(' ').unwrap_or((text, ""));
        erase(&format!("{method} {}", rest.find('/').map_or(rest, |slash| &rest[slash..])))
    };
    for package in file.get("packages").map_or(&[][..], Ordered::items) {
        for key in ["operations", "added"] {
            known.extend(package.get(key).map_or(&[][..], Ordered::entries).iter().map(|(text, _)| erased(text)));
        }
    }
    for key in ["routes", "recorded_routes"] {
        let texts = file.get(key).map_or(&[][..], Ordered::items).iter().filter_map(Ordered::as_str);
        known.extend(texts.map(erased));
    }
    let (old, new): (Vec<_>, Vec<_>) = routes.values().partition(|route| known.contains(&erased(route)));
    if !new.is_empty() {
        let mut all = file.get("routes").map(|routes| routes.items().to_vec()).unwrap_or_default();
        all.extend(new.into_iter().map(Ordered::text));
        file.set("routes", Ordered::Array(all));
    }
    (file, old.len())
}
