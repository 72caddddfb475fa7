//! `catalog check`: what a vendor file can get wrong although it loads.

use std::collections::BTreeSet;

use super::Catalog;

/// Every defect found, in words, each with its file in front; empty for a sound catalog.
pub fn check(catalog: &Catalog) -> Vec<String> {
    let mut defects = vec![];
    for package in &catalog.packages {
        let name = format!("{}: package `{}`", catalog.vendor(package.vendor).file, package.name);
        if package.editions.is_empty() {
            defects.push(format!("{name}: no recorded version"));
        }
        for pair in package.editions.windows(2) {
            if pair[0].version.major >= pair[1].version.major {
                defects.push(format!(
                    "{name}: versions {} and {} are not ascending majors",
                    pair[0].version, pair[1].version
                ));
            }
        }
        for (chain, entries) in package.chains() {
            let mut seen = BTreeSet::new();
            let all: Vec<u8> = (0..u8::try_from(package.editions.len()).unwrap_or(u8::MAX)).collect();
            for entry in entries {
                let editions = if entry.editions.is_empty() { &all } else { &entry.editions };
                if editions.iter().any(|edition| !seen.insert(*edition)) {
                    defects.push(format!("{name}: `{chain}` requests two operations in one version"));
                }
            }
        }
    }
    for (index, (vendor, routes)) in catalog.all_routes().enumerate() {
        let file = &vendor.file;
        if *file != format!("{}.json", vendor.id) {
            defects.push(format!("{file}: it is of vendor `{}`, whose file is `{}.json`", vendor.id, vendor.id));
        }
        let is_recorded = catalog.packages.iter().any(|package| usize::from(package.vendor.0) == index);
        for route in routes {
            let text = route.operation.as_str();
            let balanced = text.matches('{').count() == text.matches('}').count();
            if !balanced || text.contains(char::is_whitespace) && text.split(' ').count() > 2 || text.contains("//") {
                defects.push(format!("{file}: `{text}` is no template"));
            }
            // A number in front is a version (`/1/indexes`); one further on is somebody's id.
            let concrete = |segment: &super::route::Segment| match segment {
                super::route::Segment::Literal(text) => text.bytes().all(|b| b.is_ascii_digit()),
                _ => false,
            };
            let is_concrete =
                route.segments.iter().skip(1).any(concrete) || text.contains("undefined") || text.contains("null");
            if is_recorded && is_concrete {
                defects.push(format!("{file}: `{text}` is of one recording, not of the vendor"));
            }
        }
        for operation in vendor.enum_keys.keys() {
            if !routes.iter().any(|route| route.operation.erased() == *operation) {
                defects.push(format!("{file}: enum keys of `{operation}`, which it does not have"));
            }
        }
        for server in &vendor.servers {
            let plain = server.host.strip_prefix("*.").unwrap_or(&server.host);
            let labels: Vec<&str> = plain.split('.').collect();
            let label =
                |label: &&str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
            if labels.len() < 2
                || !labels.iter().all(label)
                || !(server.base.is_empty() || server.base.starts_with('/'))
            {
                defects.push(format!("{file}: `{}{}` is no server", server.host, server.base));
            }
        }
    }
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
