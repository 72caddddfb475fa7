//! `catalog check`: what a vendor file can get wrong although it loads.

use std::collections::{BTreeMap, BTreeSet};

use sync_core::operation::erase;

use super::model::{Arguments, Edition, Module, Package, Server, Vendor};
use super::route::{Route, Segment};
use super::text::operation;
use super::{Catalog, VendorId};

/// No method of an SDK has its keys in a later argument.
const MAX_ARGUMENT: usize = 9;
/// Methods of HTTP, in the order of their frequency.
const METHODS: [&str; 8] = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE"];

/// Every defect found, in words, each with its file in front; empty for a sound catalog.
pub fn check(catalog: &Catalog) -> Vec<String> {
    let mut defects = vec![];
    for package in &catalog.packages {
        let name = format!("{}: package `{}`", catalog.vendor(package.vendor).file, package.name);
        let found = editions(package).into_iter().chain(chains(package)).chain(plumbing(package));
        defects.extend(found.map(|defect| format!("{name}: {defect}")));
    }
    for module in &catalog.modules {
        let package = catalog.package_of(module.package);
        let file = &catalog.vendor(package.vendor).file;
        defects.extend(pins(module, &package.editions).into_iter().map(|defect| format!("{file}: {defect}")));
    }
    for (index, (vendor, routes)) in (0_u16..).zip(catalog.all_routes()) {
        let is_recorded = catalog.packages.iter().any(|package| package.vendor.0 == index);
        let mut found = vec![];
        if vendor.file != format!("{}.json", vendor.id) {
            found.push(format!("it is of vendor `{}`, whose file is `{}.json`", vendor.id, vendor.id));
        }
        found.extend(routes.iter().flat_map(|route| template(route, is_recorded)));
        found.extend(texts(&catalog.texts_of(VendorId(index))));
        for operation in vendor.enum_keys.keys() {
            if !routes.iter().any(|route| route.operation.erased() == *operation) {
                found.push(format!("enum keys of `{operation}`, which it does not have"));
            }
        }
        found.extend(servers(vendor));
        defects.extend(found.into_iter().map(|defect| format!("{}: {defect}", vendor.file)));
    }
    defects.extend(shared_hosts(catalog));
    defects
}

/// Every version of a package is in the range of one edition; where a range is longer than a major, that is said.
fn editions(package: &Package) -> Vec<String> {
    let mut defects = vec![];
    if package.editions.is_empty() {
        defects.push("no recorded version".to_owned());
    }
    for edition in &package.editions {
        let is_name = |text: &String| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_$".contains(c));
        if edition.envelope.as_ref().is_some_and(|envelope| !is_name(envelope)) {
            defects.push(format!("the envelope of version {} is no member's name", edition.version));
        }
        if edition.through.is_some_and(|through| through < edition.version.major) {
            defects.push(format!("`through` of version {} is before it", edition.version));
        }
    }
    for pair in package.editions.windows(2) {
        let [Edition { version, through, .. }, Edition { version: next, .. }] = pair else { continue };
        let last = through.unwrap_or(version.major);
        if version.major >= next.major {
            defects.push(format!("versions {version} and {next} are not ascending majors"));
        } else if last >= next.major {
            defects.push(format!("`through` of version {version} reaches into version {next}"));
        } else if last + 1 < next.major {
            let (from, to) = (last + 1, next.major - 1);
            let gap = if from == to { format!("major {from} is") } else { format!("majors {from} to {to} are") };
            defects.push(format!(
                "{gap} of no edition: record one, or say with `through` how far version {version} stands for them"
            ));
        }
    }
    defects
}

/// A chain requests one operation in a version, and is nothing else.
fn chains(package: &Package) -> Vec<String> {
    let mut defects = vec![];
    let all: Vec<u8> = (0..u8::try_from(package.editions.len()).unwrap_or(u8::MAX)).collect();
    for (chain, entries) in package.chains() {
        let mut seen = BTreeSet::new();
        for entry in entries {
            let editions = if entry.editions.is_empty() { &all } else { &entry.editions };
            if editions.iter().any(|edition| !seen.insert(*edition)) {
                defects.push(format!("`{chain}` requests two operations in one version"));
            }
        }
        if package.is_local(chain) {
            defects.push(format!("`{chain}` is local, and requests an operation"));
        }
        if package.dispatch.contains_key(chain) {
            defects.push(format!("`{chain}` requests an operation, and one that its arguments name"));
        }
    }
    defects
}

/// Rules of arguments, options and suffixes are of what there is.
fn plumbing(package: &Package) -> Vec<String> {
    let mut defects = vec![];
    let is_far = |arguments: Arguments| matches!(arguments, Arguments::At(index) if index > MAX_ARGUMENT);
    if is_far(package.arguments) || package.client_options.argument > MAX_ARGUMENT {
        defects.push(format!("an argument after the first {} holds keys or options", MAX_ARGUMENT + 1));
    }
    for (chain, arguments) in package.chain_arguments.iter().collect::<BTreeMap<_, _>>() {
        if !package.chains().contains_key(chain) {
            defects.push(format!("`chain_arguments` of `{chain}`, which requests nothing"));
        } else if is_far(*arguments) {
            defects.push(format!("`{chain}` has its keys after the first {} arguments", MAX_ARGUMENT + 1));
        }
    }
    for suffix in package.suffixes.iter().filter(|suffix| !suffix.tail.starts_with(['.', '('])) {
        defects.push(format!("suffix `{}` starts with neither `.` nor `(`", suffix.tail));
    }
    if package.options_keys.iter().any(String::is_empty) {
        defects.push("an option without a name".to_owned());
    }
    defects
}

/// What a module's versions stand for begins with the first, ascends, and names editions that there are.
fn pins(module: &Module, editions: &[Edition]) -> Vec<String> {
    let mut defects = vec![];
    let name = &module.pinned_as;
    if let Some((first, _)) =
        module.versions.first().filter(|(first, _)| (first.major, first.minor, first.patch) != (0, 0, 0))
    {
        defects.push(format!("versions of `{name}` before {first} are of no edition"));
    }
    for pair in module.versions.windows(2).filter(|pair| pair[0].0 >= pair[1].0) {
        defects.push(format!("versions {} and {} of `{name}` do not ascend", pair[0].0, pair[1].0));
    }
    for (from, edition) in &module.versions {
        if !editions.iter().any(|known| known.version.major == edition.major) {
            defects.push(format!("versions of `{name}` from {from} are of edition {edition}, which there is not"));
        }
    }
    defects
}

/// A template is the vendor's, as the vendor writes it.
fn template(route: &Route, is_recorded: bool) -> Vec<String> {
    let text = route.operation.as_str();
    let path = text.split_once(' ').map_or(text, |(_, path)| path);
    let balanced = path.matches('{').count() == path.matches('}').count();
    let has_space = path.contains(char::is_whitespace) && !path.contains(" (");
    let is_colon = |segment: &str| segment.strip_prefix(':').is_some_and(|name| name.starts_with(char::is_alphabetic));
    if !balanced || has_space || path.contains("//") || path.contains(['?', '#']) || path.split('/').any(is_colon) {
        return vec![format!("`{text}` is no template")];
    }
    let mut defects = vec![];
    if path.len() > 1 && path.ends_with('/') {
        defects.push(format!("`{text}` ends in `/`"));
    }
    if !METHODS.contains(&route.method.as_str()) {
        defects.push(format!("`{text}` has no method of HTTP"));
    }
    let mut names: Vec<&str> = path.split('{').skip(1).filter_map(|behind| Some(behind.split_once('}')?.0)).collect();
    names.sort_unstable();
    if names.iter().any(|name| name.is_empty()) || names.windows(2).any(|pair| pair[0] == pair[1]) {
        defects.push(format!("`{text}` has a parameter without a name, or two of one"));
    }
    // A number in front, or a single digit (`/rest/api/3`), is a version; others are somebody's id.
    let concrete = |segment: &Segment| match segment {
        Segment::Literal(text) => text.len() > 1 && text.bytes().all(|b| b.is_ascii_digit()),
        _ => false,
    };
    let is_concrete =
        route.segments.iter().skip(1).any(concrete) || text.contains("undefined") || text.contains("null");
    if is_recorded && is_concrete {
        defects.push(format!("`{text}` is of one recording, not of the vendor"));
    }
    defects
}

/// One operation is written one way, and what is written differently in code stands for an operation that there is.
fn texts(texts: &[&str]) -> Vec<String> {
    let erased = |text: &str| operation(text).map(|(host, operation)| (host, erase(operation.as_str())));
    let mut defects = vec![];
    let mut known = BTreeMap::new();
    for text in texts.iter().filter(|text| !text.contains(" as ")) {
        let Some(key) = erased(text) else { continue };
        let first = *known.entry(key).or_insert(*text);
        if first != *text {
            defects.push(format!("`{first}` and `{text}` are one operation"));
        }
    }
    for (text, (_, canonical)) in texts.iter().filter_map(|text| Some((text, text.split_once(" as ")?))) {
        let Some((_, wanted)) = erased(canonical) else { continue };
        if !known.keys().any(|(_, key)| *key == wanted) {
            defects.push(format!("`{text}` stands for an operation that there is not"));
        }
    }
    defects
}

fn servers(vendor: &Vendor) -> Vec<String> {
    let mut defects = vec![];
    let mut seen: Vec<&Server> = vec![];
    for server in &vendor.servers {
        let plain = server.host.strip_prefix("*.").unwrap_or(&server.host);
        let labels: Vec<&str> = plain.split('.').collect();
        let label = |label: &&str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let is_piece = |piece: &str| {
            let name = piece.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(piece);
            !name.is_empty() && !name.contains(['?', '#', '{', '}', '*', ' '])
        };
        let is_base =
            server.base.is_empty() || server.base.strip_prefix('/').is_some_and(|base| base.split('/').all(is_piece));
        if labels.len() < 2 || !labels.iter().all(label) || !is_base {
            defects.push(format!("`{}{}` is no server", server.host, server.base));
        }
        if seen.iter().any(|known| (&known.host, &known.base) == (&server.host, &server.base)) {
            defects.push(format!("`{}{}` is a server twice", server.host, server.base));
        }
        for also in server.also.iter().filter(|also| !vendor.servers.iter().any(|known| known.host == **also)) {
            defects.push(format!("`{}` answers for `{also}`, which is no server", server.host));
        }
        seen.push(server);
    }
    defects
}

fn shared_hosts(catalog: &Catalog) -> Vec<String> {
    let mut defects = vec![];
    for (index, (server, vendor)) in catalog.hosts.iter().enumerate() {
        for (other, another) in catalog.hosts.iter().skip(index + 1).filter(|(_, another)| another != vendor) {
            let is_same_host = server.host == other.host;
            // Operations that name their host, or different paths before them, keep vendors of one host apart.
            let is_apart = server.named_only || other.named_only || !overlap(&server.base, &other.base);
            if is_same_host && !is_apart {
                let (file, id) = (&catalog.vendor(*another).file, &catalog.vendor(*vendor).id);
                defects.push(format!("{file}: `{}{}` is a server of `{id}` too", other.host, other.base));
            }
        }
    }
    defects
}

/// Whether one of two paths continues the other.
fn overlap(a: &str, b: &str) -> bool {
    let continues =
        |long: &str, short: &str| long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    continues(a, b) || continues(b, a)
}
