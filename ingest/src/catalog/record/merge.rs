//! A recording of one version of a package becomes an edition of the package in its vendor's file.
//!
//! What a maintainer wrote stays: servers, envelopes, shapes, argument rules, chains under `added`, and the other
//! versions. The same file and recording give the same bytes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use semver::Version;
use sync_core::operation::erase;

use super::lines::{Call, Recording};
use crate::catalog::ordered::Ordered;

/// What came of it, for the maintainer.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Merged {
    /// The vendor file.
    pub(super) text: String,
    /// Chains that the version requests something by.
    pub(super) chains: usize,
    /// Operations that the file did not know.
    pub(super) new: usize,
    /// What a maintainer has to look at, in words.
    pub(super) notes: Vec<String>,
}

/// Chain → major of the version → what it requests.
type Chains = BTreeMap<String, BTreeMap<u64, String>>;

/// Merges; `existing` is the text of the vendor's file, if there is one.
pub(super) fn merge(
    vendor: &str,
    package: &str,
    version: &Version,
    recording: &Recording,
    existing: Option<&str>,
) -> Result<Merged, String> {
    let mut file: Ordered = match existing {
        Some(text) => serde_json::from_str(text).map_err(|error| format!("it is no vendor file: {error}"))?,
        None => Ordered::object([("format", Ordered::number(1)), ("vendor", Ordered::text(vendor))]),
    };
    if file.get("vendor").and_then(Ordered::as_str) != Some(vendor) {
        return Err(format!("it is not of vendor `{vendor}`"));
    }
    let mut merged = Merged::default();
    add_servers(&mut file, recording, &mut merged);
    let names = Names::of(&file, package);
    let mut found = BTreeMap::new();
    for call in &recording.calls {
        if let Some(operation) = names.operation(call, &mut merged) {
            found.insert(call.chain.as_str(), (operation, call));
        }
    }
    let known: BTreeSet<String> = names.texts.keys().cloned().collect();
    merged.new =
        found.values().map(|(text, _)| erased(text)).filter(|key| !known.contains(key)).collect::<BTreeSet<_>>().len();
    merged.chains = found.len();
    let mut packages = file.get("packages").map(|packages| packages.items().to_vec()).unwrap_or_default();
    let at = packages.iter().position(|known| known.get("name").and_then(Ordered::as_str) == Some(package));
    let mut entry = at.map_or_else(|| skeleton(package, recording, &mut merged), |at| packages.remove(at));
    let majors = add_edition(&mut entry, version)?;
    add_operations(&mut entry, &majors, version.major, &found);
    add_arguments(&mut entry, &found, at.is_none());
    packages.insert(at.unwrap_or(packages.len()), entry);
    file.set("packages", Ordered::Array(packages));
    keep_client(&mut file, package, recording);
    merged.text = file.written();
    Ok(merged)
}

/// The form in which operations compare, with or without their host.
fn erased(text: &str) -> String {
    let Some((method, rest)) = text.split_once(' ') else { return text.to_owned() };
    erase(&format!("{method} {}", rest.find('/').map_or(rest, |slash| &rest[slash..])))
}

/// Hosts that a new file has: the one with most chains answers all but what names another.
fn add_servers(file: &mut Ordered, recording: &Recording, merged: &mut Merged) {
    let mut hosts: BTreeMap<&str, usize> = BTreeMap::new();
    for call in recording.calls.iter().filter(|call| !call.host.is_empty()) {
        *hosts.entry(&call.host).or_default() += 1;
    }
    let known: Vec<&str> = file
        .get("servers")
        .map(|servers| servers.items().iter().filter_map(|server| server.get("host")?.as_str()).collect())
        .unwrap_or_default();
    if known.is_empty() {
        let most = hosts.iter().max_by_key(|(host, count)| (**count, std::cmp::Reverse(**host))).map(|(host, _)| *host);
        let server = |host: &&str| match most {
            Some(most) if most == *host => Ordered::object([("host", Ordered::text(*host))]),
            _ => Ordered::object([
                ("host", Ordered::text(*host)),
                ("named_only", Ordered::Plain(serde_json::Value::Bool(true))),
            ]),
        };
        if most.is_some() {
            merged.notes.push("servers are those that were recorded: see that they are the vendor's".to_owned());
            file.set("servers", Ordered::Array(hosts.keys().map(server).collect()));
        }
        return;
    }
    let is_known = |host: &str| {
        known.iter().any(|known| known.strip_prefix('*').map_or(*known == host, |tail| host.ends_with(tail)))
    };
    for (host, count) in hosts.iter().filter(|(host, _)| !is_known(host)) {
        merged.notes.push(format!("{count} chains request `{host}`, which is none of the servers"));
    }
}

/// How the file names operations.
struct Names {
    /// Erased → as the file writes it, host included.
    texts: HashMap<String, String>,
    /// Host → (what precedes every template there, whether operations have to name it).
    servers: HashMap<String, (String, bool)>,
    /// Chains of the package that are a maintainer's.
    by_hand: BTreeSet<String>,
    drop: Vec<String>,
    replace: HashMap<String, String>,
    parameters: HashMap<String, String>,
    snake: bool,
}

impl Names {
    fn of(file: &Ordered, package: &str) -> Self {
        let mut texts = HashMap::new();
        let mut by_hand = BTreeSet::new();
        for known in file.get("packages").map_or(&[][..], Ordered::items) {
            for (text, _) in
                ["operations", "added"].iter().flat_map(|key| known.get(key).map_or(&[][..], Ordered::entries))
            {
                texts.entry(erased(text)).or_insert_with(|| text.clone());
            }
            if known.get("name").and_then(Ordered::as_str) == Some(package) {
                let chains =
                    known.get("added").map_or(&[][..], Ordered::entries).iter().flat_map(|(_, chains)| chains.items());
                by_hand
                    .extend(chains.filter_map(Ordered::as_str).filter(|chain| !chain.contains('@')).map(str::to_owned));
            }
        }
        for routes in ["routes", "recorded_routes"].iter().filter_map(|key| file.get(key)) {
            for text in routes.items().iter().filter_map(Ordered::as_str).filter(|text| !text.contains(" as ")) {
                texts.entry(erased(text)).or_insert_with(|| text.to_owned());
            }
        }
        let server = |server: &Ordered| {
            let text = |key: &str| server.get(key).and_then(Ordered::as_str).unwrap_or_default().to_owned();
            let named = matches!(server.get("named_only"), Some(Ordered::Plain(serde_json::Value::Bool(true))));
            (text("host"), (text("base"), named))
        };
        let recording = file.get("recording");
        let rules = recording.and_then(|recording| recording.get("rules"));
        let pairs = |of: Option<&Ordered>, key: &str| -> HashMap<String, String> {
            let entries = of.and_then(|of| of.get(key)).map_or(&[][..], Ordered::entries);
            entries.iter().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
        };
        let dropped = recording.and_then(|recording| recording.get("drop")).map_or(&[][..], Ordered::items);
        Self {
            texts,
            servers: file.get("servers").map_or(&[][..], Ordered::items).iter().map(server).collect(),
            by_hand,
            drop: dropped.iter().filter_map(Ordered::as_str).map(str::to_owned).collect(),
            replace: pairs(recording, "replace"),
            parameters: pairs(rules, "parameters"),
            snake: rules.and_then(|rules| rules.get("parameter_case")).and_then(Ordered::as_str) == Some("snake"),
        }
    }

    /// What a call requests, as this file names it; nothing where a maintainer said so.
    fn operation(&self, call: &Call, merged: &mut Merged) -> Option<String> {
        if let Some(text) = self.replace.get(&call.chain) {
            return Some(self.texts.get(&erased(text)).unwrap_or(text).clone());
        }
        if self.drop.iter().any(|dropped| covers(dropped, &call.chain)) || self.by_hand.contains(&call.chain) {
            return None;
        }
        let (base, named) = self.servers.get(&call.host).map_or(("", false), |(base, named)| (base.as_str(), *named));
        let path = call.path.strip_prefix(base).unwrap_or(&call.path);
        let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
        if !path.starts_with('/') || path.contains(char::is_whitespace) || path.contains("{}") {
            merged.notes.push(format!("`{}` requests `{path}`, which is no template", call.chain));
            return None;
        }
        let mut text = format!("{} {}{}", call.method, if named { &call.host } else { "" }, self.parameters(path));
        if let Some(field) = &call.field {
            text = format!("{text} ({field})");
        }
        // The file's own name for a parameter is the vendor's, or was agreed on before.
        Some(self.texts.get(&erased(&text)).cloned().unwrap_or(text))
    }

    fn parameters(&self, path: &str) -> String {
        let mut out = String::new();
        let mut used: BTreeSet<String> = BTreeSet::new();
        let mut rest = path;
        while let Some((before, behind)) = rest.split_once('{')
            && let Some((name, after)) = behind.split_once('}')
        {
            let mut name = match self.parameters.get(name) {
                Some(renamed) => renamed.clone(),
                None if self.snake => snake(name),
                None => name.to_owned(),
            };
            // `arg0` is what stands where minified source has no name.
            if name.strip_prefix("arg").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit())) || name.len() == 1
            {
                "id".clone_into(&mut name);
            }
            let plain = name.clone();
            let mut count = 1;
            while !used.insert(name.clone()) {
                count += 1;
                name = format!("{plain}{count}");
            }
            out.push_str(before);
            out.push('{');
            out.push_str(&name);
            out.push('}');
            rest = after;
        }
        out.push_str(rest);
        out
    }
}

/// Whether a chain is meant by a text in which `*` at an end stands for anything.
fn covers(text: &str, chain: &str) -> bool {
    match (text.strip_prefix('*'), text.strip_suffix('*')) {
        (Some(rest), None) => chain.ends_with(rest),
        (None, Some(rest)) => chain.starts_with(rest),
        (Some(rest), Some(_)) => chain.contains(rest.trim_end_matches('*')),
        (None, None) => text == chain,
    }
}

/// `fileID` as `file_id`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    let mut is_low = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && is_low {
            out.push('_');
        }
        is_low = c.is_ascii_lowercase() || c.is_ascii_digit();
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// A package that the file did not have: one export, which constructs the client that was recorded.
fn skeleton(package: &str, recording: &Recording, merged: &mut Merged) -> Ordered {
    let made = recording.clients.first().map_or("", |(_, made)| made.as_str());
    let (way, rest) =
        made.strip_prefix("new sdk.").map_or_else(|| ("call", made.strip_prefix("sdk.")), |rest| ("new", Some(rest)));
    let export = rest.and_then(|rest| rest.split('(').next()).filter(|name| !name.is_empty());
    let mut shapes = vec![];
    let mut exports = vec![];
    if let Some(export) = export {
        exports.push((export.to_owned(), Ordered::text("made")));
        shapes.push(("made".to_owned(), Ordered::object([(way, Ordered::text("client"))])));
    } else {
        merged.notes.push(format!("`modules` and `shapes` of `{package}` do not say how its client is come by"));
    }
    shapes.push(("client".to_owned(), Ordered::object([("client", Ordered::text(""))])));
    let module = Ordered::object([("specifiers", Ordered::texts([package])), ("exports", Ordered::Object(exports))]);
    Ordered::object([
        ("name", Ordered::text(package)),
        ("editions", Ordered::Array(vec![])),
        ("modules", Ordered::Array(vec![module])),
        ("shapes", Ordered::Object(shapes)),
    ])
}

/// Adds the version among the editions, in place of one of the same major; gives the majors before.
fn add_edition(entry: &mut Ordered, version: &Version) -> Result<Vec<u64>, String> {
    let mut editions = vec![];
    for edition in entry.get("editions").map_or(&[][..], Ordered::items) {
        let text = edition.get("version").and_then(Ordered::as_str).unwrap_or_default();
        let known = Version::parse(text).map_err(|error| format!("version `{text}`: {error}"))?;
        editions.push((known.major, edition.clone()));
    }
    let majors: Vec<u64> = editions.iter().map(|(major, _)| *major).collect();
    if let Some((_, edition)) = editions.iter_mut().find(|(major, _)| *major == version.major) {
        edition.set("version", Ordered::text(version.to_string()));
    } else {
        let at = editions.iter().position(|(major, _)| *major > version.major).unwrap_or(editions.len());
        let mut edition = Ordered::object([("version", Ordered::text(version.to_string()))]);
        let near = at.checked_sub(1).or((!editions.is_empty()).then_some(0)).and_then(|near| editions.get(near));
        if let Some(envelope) = near.and_then(|(_, near)| near.get("envelope")) {
            edition.set("envelope", envelope.clone());
        }
        editions.insert(at, (version.major, edition));
    }
    entry.set("editions", Ordered::Array(editions.into_iter().map(|(_, edition)| edition).collect()));
    Ok(majors)
}

fn add_operations(entry: &mut Ordered, before: &[u64], major: u64, found: &BTreeMap<&str, (String, &Call)>) {
    let mut chains = Chains::new();
    for (text, known) in entry.get("operations").map_or(&[][..], Ordered::entries) {
        for chain in known.items().iter().filter_map(Ordered::as_str) {
            let (chain, majors) = chain.split_once(" @").unwrap_or((chain, ""));
            let of: Vec<u64> = majors.split(',').filter_map(|major| major.parse().ok()).collect();
            for of in if majors.is_empty() { before } else { &of } {
                if *of != major {
                    chains.entry(chain.to_owned()).or_default().insert(*of, text.clone());
                }
            }
        }
    }
    for (chain, (text, _)) in found {
        chains.entry((*chain).to_owned()).or_default().insert(major, text.clone());
    }
    let all: BTreeSet<u64> = before.iter().copied().chain([major]).collect();
    // By path, then by method.
    let key =
        |text: &str| (text.split_once(' ').map_or_else(String::new, |(_, path)| path.to_owned()), text.to_owned());
    let mut operations: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (chain, by_major) in &chains {
        let mut texts: BTreeMap<&String, BTreeSet<u64>> = BTreeMap::new();
        for (major, text) in by_major {
            texts.entry(text).or_default().insert(*major);
        }
        for (text, majors) in texts {
            let written = if majors == all {
                chain.clone()
            } else {
                let majors: Vec<String> = majors.iter().map(u64::to_string).collect();
                format!("{chain} @{}", majors.join(","))
            };
            operations.entry(key(text)).or_default().push(written);
        }
    }
    let written = operations.into_iter().map(|((_, text), chains)| (text, Ordered::texts(chains))).collect();
    entry.set("operations", Ordered::Object(written));
}

/// Which argument carries the keys: the package's rule where it holds, else the chain's own.
fn add_arguments(entry: &mut Ordered, found: &BTreeMap<&str, (String, &Call)>, is_new: bool) {
    let parameters = |text: &str| text.matches('{').count();
    let is_after_path = |(text, call): &&(String, &Call)| parameters(text) == call.keys;
    if is_new {
        let after_path = found.values().filter(is_after_path).count();
        let first = found.values().filter(|(_, call)| call.keys == 0).count();
        let rule = if after_path > first {
            Ordered::text("after_path")
        } else {
            Ordered::object([("at", Ordered::number(0))])
        };
        let mut entries = entry.entries().to_vec();
        entries.insert(2, ("arguments".to_owned(), rule));
        *entry = Ordered::Object(entries);
    }
    let at = |rule: &Ordered| match rule.get("at") {
        Some(Ordered::Plain(index)) => index.as_u64().and_then(|index| usize::try_from(index).ok()),
        _ => None,
    };
    let rule = entry.get("arguments").cloned().unwrap_or_else(|| Ordered::text("after_path"));
    let default = at(&rule);
    if default.is_none() && rule.as_str() != Some("after_path") {
        return;
    }
    let mut own = entry.get("chain_arguments").cloned().unwrap_or_else(|| Ordered::object([]));
    let mut is_changed = false;
    for (chain, (text, call)) in found {
        if own.get(chain).is_none() && call.keys != default.unwrap_or(parameters(text)) {
            own.set(chain, Ordered::object([("at", Ordered::number(call.keys))]));
            is_changed = true;
        }
    }
    if is_changed {
        entry.set("chain_arguments", own);
        // Operations are the long part of an entry and stay at its end.
        if let Some(operations) = entry.get("operations").cloned() {
            entry.remove("operations");
            entry.set("operations", operations);
        }
    }
}

/// Keeps how the client was made, for the next version, and forgets that `build.py` made the package.
fn keep_client(file: &mut Ordered, package: &str, recording: &Recording) {
    let mut kept = file.get("recording").cloned().unwrap_or_else(|| Ordered::object([]));
    if let Some(by_script) = kept.get_mut("packages") {
        by_script.remove(package);
        if by_script.entries().is_empty() {
            kept.remove("packages");
        }
    }
    if !recording.clients.is_empty() {
        let mut clients = kept.get("clients").cloned().unwrap_or_else(|| Ordered::object([]));
        let made = recording.clients.iter().map(|(prefix, made)| (prefix.clone(), Ordered::text(made)));
        clients.set(package, Ordered::Object(made.collect()));
        kept.set("clients", clients);
    }
    let packages = file.get("packages").cloned();
    let is_new = file.get("recording").is_none();
    if kept.entries().is_empty() {
        file.remove("recording");
    } else {
        file.set("recording", kept);
    }
    if is_new && let Some(packages) = packages {
        file.remove("packages");
        file.set("packages", packages);
    }
}
