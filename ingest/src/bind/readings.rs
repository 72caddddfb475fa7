//! Readings of texts that are put together: in pieces, of which some are known, and the addresses that they are.

use crate::catalog::{Join, UrlPart, UrlPattern};

/// Pieces of one text; a template with more is no URL.
pub(super) const MOST_PIECES: usize = 64;
/// Ways to read one text (the branches of conditions).
pub(super) const MOST_READINGS: usize = 16;

/// What stands in a host for a part of its first name that is not known. No name of a host has it, so that such a host
/// is one of those that stand for any name there, and of no others.
const ANY_LABEL: char = '*';

/// What stands for a value in a text.
const VALUE: char = '\u{1}';

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Known.
    Known(String),
    /// A value of which nothing is known.
    Value,
    /// A value of the environment.
    Environment,
    /// A value that may be any number of segments.
    Rest,
}

/// One reading of a text.
pub(super) type Text = Vec<Piece>;

/// Whether a known text has `:name` or `{name}` in it.
pub(super) fn has_places(text: &Text) -> bool {
    known(text).is_some_and(|text| text.contains("/:") || text.contains("/{"))
}

/// A text of Python in its parts: what stands there, and the names of the places that are filled (`{}`, `{name}`, or `%s`
/// and its like).
pub(super) fn places_of(text: &str, by_percent: bool) -> Vec<Result<String, String>> {
    let mut parts = Vec::new();
    let mut rest = text;
    let open = if by_percent { '%' } else { '{' };
    while let Some(at) = rest.find(open) {
        let (before, behind) = rest.split_at(at);
        let (field, next) = if by_percent {
            ("", behind.get(2..).unwrap_or_default())
        } else {
            let Some(end) = behind.find('}') else { break };
            (&behind[1..end], &behind[end + 1..])
        };
        parts.push(Ok(before.to_owned()));
        parts.push(Err(field.to_owned()));
        rest = next;
    }
    parts.push(Ok(rest.to_owned()));
    parts
}

/// The one reading of a text that nothing is known of.
pub(super) fn unknown() -> Vec<Text> {
    vec![vec![Piece::Value]]
}

/// Readings of what may be left out: `${team ? `?team=${team}` : ""}`. Of a value that is a part of a path what stands
/// for a missing one (`${id ?? ""}`) says nothing.
pub(super) fn or_nothing(mut all: Vec<Text>) -> Vec<Text> {
    let leads_on =
        |text: &Text| matches!(text.first(), Some(Piece::Known(first)) if first.starts_with(['?', '&', '#', '/']));
    if all.iter().all(leads_on) {
        all.push(Vec::new());
    }
    all
}

/// Each text followed by each other one; of too many, by something that is not known.
pub(super) fn products(starts: &[Text], ends: &[Text]) -> Vec<Text> {
    if starts.len() > MOST_READINGS {
        return unknown();
    }
    let mut all: Vec<Text> = Vec::new();
    for start in starts {
        for end in ends {
            if start.len() + end.len() > MOST_PIECES {
                return unknown();
            }
            let text: Text = start.iter().chain(end).cloned().collect();
            if !all.contains(&text) {
                all.push(text);
            }
        }
    }
    if all.len() > MOST_READINGS { products(starts, &unknown()) } else { all }
}

/// Readings without those that say the same; of too many, nothing is known.
pub(super) fn distinct(all: &mut Vec<Text>) {
    let mut seen: Vec<Text> = Vec::new();
    for text in all.drain(..) {
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    *all = if seen.len() > MOST_READINGS { unknown() } else { seen };
}

/// URLs after an assignment to one of their members; `None` where that says nothing of where they lead.
pub(super) fn changed_url(all: &[Text], member: &str, value: &[Text], appends: bool) -> Option<Vec<Text>> {
    let origin = |text: &Text| match text.first() {
        Some(Piece::Known(first)) => {
            let from = first.find("://")? + 3;
            let end = first[from..].find(['/', '?', '#']).map_or(first.len(), |at| from + at);
            Some((first[..from].to_owned(), first[from..end].to_owned(), first[end..].to_owned()))
        }
        _ => None,
    };
    match member {
        "href" if !appends => Some(value.to_vec()),
        "pathname" if appends => {
            let plain = |text: &Text| !text.iter().any(|it| matches!(it, Piece::Known(it) if it.contains(['?', '#'])));
            if all.iter().all(plain) { Some(products(all, value)) } else { Some(unknown()) }
        }
        "pathname" => {
            let mut next = Vec::new();
            for text in all {
                let Some((scheme, host, _)) = origin(text) else { return Some(unknown()) };
                for path in value {
                    let slash = match path.first() {
                        Some(Piece::Known(path)) if path.starts_with('/') => "",
                        _ => "/",
                    };
                    let mut text = vec![Piece::Known(format!("{scheme}{host}{slash}"))];
                    text.extend(path.iter().cloned());
                    next.push(text);
                }
            }
            Some(next)
        }
        "host" | "hostname" if !appends => {
            let mut next = Vec::new();
            for text in all {
                let Some((scheme, _, rest)) = origin(text) else { return Some(unknown()) };
                for host in value {
                    let [Piece::Known(host)] = host.as_slice() else { return Some(unknown()) };
                    let mut changed = vec![Piece::Known(format!("{scheme}{host}{rest}"))];
                    changed.extend(text.iter().skip(1).cloned());
                    next.push(changed);
                }
            }
            Some(next)
        }
        "search" | "hash" | "username" | "password" => None,
        _ => Some(unknown()),
    }
}

/// A base and a URL that continues it, as a library joins them.
pub(super) fn joined(base: &Text, url: &Text, join: Join) -> Text {
    let absolute = |text: &str| text.contains("://") || text.starts_with("//");
    if matches!(url.first(), Some(Piece::Known(text)) if absolute(text)) {
        return url.clone();
    }
    let mut all = base.clone();
    let ends_with_slash = matches!(all.last(), Some(Piece::Known(text)) if text.ends_with('/'));
    match url.first() {
        None => {}
        Some(Piece::Known(text)) => {
            if !ends_with_slash && !text.starts_with(['/', '?']) {
                all.push(Piece::Known("/".to_owned()));
            }
            let rest = if ends_with_slash { text.trim_start_matches('/') } else { text };
            all.push(Piece::Known(rest.to_owned()));
        }
        Some(first) => {
            if !ends_with_slash {
                all.push(Piece::Known("/".to_owned()));
            }
            // Where paths may start with a slash, a path is more likely than a segment.
            all.push(if join == Join::Prefix { first.clone() } else { Piece::Rest });
        }
    }
    all.extend(url.iter().skip(1).cloned());
    all
}

/// The text of a reading without unknown pieces.
pub(super) fn known(text: &Text) -> Option<String> {
    let mut out = String::new();
    for piece in text {
        match piece {
            Piece::Known(known) => out.push_str(known),
            Piece::Value | Piece::Environment | Piece::Rest => return None,
        }
    }
    Some(out)
}

/// A URL with a known host; `None` where the host is not known.
pub(super) fn url(text: &Text) -> Option<UrlPattern> {
    let mut pieces = text.iter();
    let Some(Piece::Known(first)) = pieces.next() else { return None };
    let (scheme, rest) = first.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("https") && !scheme.eq_ignore_ascii_case("http") {
        return None;
    }
    let mut whole = rest.to_owned();
    while !whole.contains(['/', '?', '#'])
        && let Some(next) = pieces.next()
    {
        match next {
            Piece::Known(more) => whole.push_str(more),
            Piece::Value | Piece::Environment => whole.push(ANY_LABEL),
            Piece::Rest => return None,
        }
    }
    let (host, path) = whole.split_at(whole.find(['/', '?', '#']).unwrap_or(whole.len()));
    // A host is known where no more than a part of its first name is not: `https://${shop}.myshopify.com`.
    let behind = host.split_once('.').map_or(host, |(_, behind)| behind);
    if behind.contains(ANY_LABEL) {
        return None;
    }
    // Another port is another server; what stands before an `@` says nothing of where a request goes.
    let host = host.rsplit('@').next().unwrap_or(host).to_ascii_lowercase();
    let host = host.strip_suffix(":443").or_else(|| host.strip_suffix(":80")).unwrap_or(&host);
    let host = host.trim_end_matches('.').to_owned();
    if host.is_empty() {
        return None;
    }
    let mut parts = vec![UrlPart::Literal(path.to_owned())];
    parts.extend(path_parts(pieces, path));
    Some(UrlPattern { host, path: parts })
}

/// How far a text that may become a URL is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start<'t> {
    /// The text where a host stands; a value behind it may still be more of it.
    Host(&'t str),
    /// Not even that.
    Value,
    /// It is no URL.
    Other,
}

/// What a text starts with.
pub(super) fn start(text: &Text) -> Start<'_> {
    match text.first() {
        Some(Piece::Known(first)) => match first.strip_prefix("https://").or_else(|| first.strip_prefix("http://")) {
            Some(rest) => Start::Host(rest.split(['/', '?', '#', ':']).next().unwrap_or(rest)),
            None => Start::Other,
        },
        Some(Piece::Value | Piece::Rest) => Start::Value,
        Some(Piece::Environment) | None => Start::Other,
    }
}

/// A path in pieces that follow what is already known.
pub(super) fn path_parts<'t>(pieces: impl Iterator<Item = &'t Piece>, before: &str) -> Vec<UrlPart> {
    let mut before = before.to_owned();
    let mut parts = Vec::new();
    for piece in pieces {
        if before.contains(['?', '#']) {
            break;
        }
        match piece {
            Piece::Known(text) => {
                parts.push(UrlPart::Literal(text.clone()));
                before.push_str(text);
            }
            Piece::Rest => parts.push(UrlPart::Anything),
            Piece::Value | Piece::Environment => {
                // A value behind another may be more of the path, or a query. One behind text may be as well, and stands
                // for a part of a segment only where a template has one there.
                parts.push(if before.ends_with(VALUE) { UrlPart::Anything } else { UrlPart::Value });
                before.push(VALUE);
            }
        }
    }
    parts
}
