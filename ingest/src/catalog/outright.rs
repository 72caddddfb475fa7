//! Specifiers that name a package of the registry, and often its version, outright: as Deno and browsers import.

/// Addresses that serve packages of the registry by their names.
const SERVERS: [&str; 7] = [
    "https://esm.sh/",
    "https://esm.run/",
    "https://cdn.skypack.dev/",
    "https://cdn.jsdelivr.net/npm/",
    "https://unpkg.com/",
    "https://ga.jspm.io/npm:",
    "https://jspm.dev/",
];

/// Modules that are published at an address of their own, beside the registry.
const MODULES: &str = "https://deno.land/x/";

/// A package that is named outright.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outright<'s> {
    /// Its name; of a module beside the registry with where that is published.
    pub(super) name: &'s str,
    /// The version, range or tag asked for.
    pub(super) version: Option<&'s str>,
    /// What is imported inside it; empty for the package itself, also where its entry is named by its file.
    pub(super) inside: &'s str,
}

/// The package that a specifier names outright, if it does.
pub(super) fn outright(specifier: &str) -> Option<Outright<'_>> {
    if let Some(rest) = specifier.strip_prefix("npm:").or_else(|| specifier.strip_prefix("jsr:")) {
        return package(rest.trim_start_matches('/'));
    }
    if specifier.starts_with(MODULES) {
        let host = specifier.strip_prefix("https://")?;
        let (_, module) = host.split_at_checked("deno.land/x/".len())?;
        let found = package(module)?;
        let length = "deno.land/x/".len() + found.name.len();
        return Some(Outright { name: host.get(..length)?, ..found });
    }
    let rest = SERVERS.iter().find_map(|server| specifier.strip_prefix(server))?;
    // `v135/`, `stable/` and `pin/` say how it is built; `*` leaves out what it needs itself.
    let mut rest = rest;
    if let Some((first, behind)) = rest.split_once('/') {
        let is_build = first.strip_prefix('v').is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()));
        if (is_build && first.len() > 1) || matches!(first, "stable" | "pin") {
            rest = behind;
        }
        // Of other registries.
        if matches!(first, "gh" | "github" | "pr" | "jsr") {
            return None;
        }
    }
    package(rest.trim_start_matches('*'))
}

/// `@scope/name@version/inside?options`
fn package(text: &str) -> Option<Outright<'_>> {
    let text = text.split(['?', '#', '&']).next().unwrap_or(text);
    let scope = if text.starts_with('@') { text.find('/')? + 1 } else { 0 };
    let end = text[scope..].find('/').map_or(text.len(), |at| scope + at);
    let (named, inside) = text.split_at(end);
    let (name, version) = match named[scope..].find('@') {
        Some(at) => (&named[..scope + at], Some(&named[scope + at + 1..])),
        None => (named, None),
    };
    if name.len() <= scope {
        return None;
    }
    let inside = inside.trim_start_matches('/');
    let is_file = inside.starts_with('+') || [".js", ".mjs", ".ts"].iter().any(|ending| inside.ends_with(ending));
    Some(Outright {
        name,
        version: version.filter(|version| !version.is_empty()),
        inside: if is_file { "" } else { inside },
    })
}

#[cfg(test)]
mod tests {
    use super::{Outright, outright};

    #[test]
    fn packages_that_are_named_outright_are_told_with_their_versions() {
        for (specifier, name, version, inside) in [
            ("npm:stripe@17.7.0", "stripe", Some("17.7.0"), ""),
            ("npm:/@supabase/supabase-js@2", "@supabase/supabase-js", Some("2"), ""),
            ("npm:stripe", "stripe", None, ""),
            ("jsr:@supabase/supabase-js@2", "@supabase/supabase-js", Some("2"), ""),
            ("https://esm.sh/stripe@10.13.0?target=deno&no-check", "stripe", Some("10.13.0"), ""),
            ("https://esm.sh/v135/@octokit/rest@20.0.2", "@octokit/rest", Some("20.0.2"), ""),
            ("https://esm.sh/*openai@4", "openai", Some("4"), ""),
            ("https://esm.sh/firebase-admin@12/app", "firebase-admin", Some("12"), "app"),
            ("https://cdn.jsdelivr.net/npm/@octokit/rest@20/+esm", "@octokit/rest", Some("20"), ""),
            ("https://unpkg.com/stripe@12/esm/stripe.esm.js", "stripe", Some("12"), ""),
            ("https://cdn.skypack.dev/resend", "resend", None, ""),
            ("https://deno.land/x/openai@v4.24.1/mod.ts", "deno.land/x/openai", Some("v4.24.1"), ""),
        ] {
            assert_eq!(outright(specifier), Some(Outright { name, version, inside }), "{specifier}");
        }
    }

    #[test]
    fn what_names_no_package_is_none() {
        for specifier in [
            "stripe",
            "@octokit/rest",
            "./npm:stripe",
            "node:https",
            "https://esm.sh.example/stripe",
            "https://example.com/stripe@1",
            "https://esm.sh/gh/acme/stripe",
            "https://esm.sh/",
            "npm:",
            "npm:@scope",
            "npm:@scope/",
            "https://deno.land/x/",
        ] {
            assert_eq!(outright(specifier), None, "{specifier}");
        }
    }
}
