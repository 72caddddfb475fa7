//! Matching a path against the templates of a vendor.

use sync_core::operation::Operation;

use super::model::{Server, UrlPart};

/// A template, ready to match.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) method: String,
    /// The only host at which it answers, where it says one.
    pub(super) host: Option<String>,
    pub(super) segments: Vec<Segment>,
    pub(super) operation: Operation,
}

/// A segment of a template: literal text around at most a few parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    Literal(String),
    /// One parameter that is the whole segment.
    Parameter,
    /// The texts before, between and after several parameters, or around one.
    Mixed(Vec<String>),
    /// `{name+}`, `{+name}`: the rest of the path, at least one segment.
    Rest,
}

/// Splits a template (`/v1/charges/{charge}/capture`) into segments.
pub(super) fn segments(path: &str) -> Vec<Segment> {
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    path.split('/').filter(|segment| !segment.is_empty()).map(segment).collect()
}

fn segment(text: &str) -> Segment {
    if text.strip_prefix(':').is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic())) {
        return Segment::Parameter;
    }
    if text.starts_with("{+") || (text.starts_with('{') && text.ends_with("+}")) {
        return Segment::Rest;
    }
    let mut texts = vec![];
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{')
        && let Some((_, after)) = behind.split_once('}')
    {
        texts.push(before.to_owned());
        rest = after;
    }
    if texts.is_empty() {
        return Segment::Literal(text.to_owned());
    }
    texts.push(rest.to_owned());
    if texts.len() == 2 && texts.iter().all(String::is_empty) { Segment::Parameter } else { Segment::Mixed(texts) }
}

/// The segments of a path as code shows it, each as the known texts around its values: one text where there is none.
fn written(path: &[UrlPart]) -> Option<Vec<Vec<String>>> {
    let mut out = vec![vec![String::new()]];
    for part in path {
        match part {
            UrlPart::Literal(text) => {
                let known = text.split(['?', '#']).next().unwrap_or_default();
                for (index, piece) in known.split('/').enumerate() {
                    if index > 0 {
                        out.push(vec![String::new()]);
                    }
                    if let Some(last) = out.last_mut().and_then(|segment| segment.last_mut()) {
                        last.push_str(piece);
                    }
                }
                if known.len() < text.len() {
                    break;
                }
            }
            UrlPart::Value => {
                if let Some(last) = out.last_mut() {
                    last.push(String::new());
                }
            }
            UrlPart::Anything => return None,
        }
    }
    // `{x}` and `:x` in written text are values too: that is how routes are written out for a client.
    for segment in &mut out {
        if let [text] = segment.as_slice() {
            match self::segment(text) {
                Segment::Parameter | Segment::Rest => *segment = vec![String::new(), String::new()],
                Segment::Mixed(texts) => *segment = texts,
                Segment::Literal(_) => {}
            }
        }
    }
    out.retain(|segment| segment.len() > 1 || segment.iter().any(|text| !text.is_empty()));
    Some(out)
}

/// Whether known text consists of these texts with at least one character between each two.
fn consists_of(text: &str, texts: &[String]) -> bool {
    let Some((first, inner)) = texts.split_first() else { return false };
    let Some(mut rest) = text.strip_prefix(first.as_str()) else { return false };
    let Some((last, between)) = inner.split_last() else { return rest.is_empty() };
    for wanted in between {
        let Some(at) =
            rest.char_indices().skip(1).map(|(at, _)| at).find(|at| rest[*at..].starts_with(wanted.as_str()))
        else {
            return false;
        };
        rest = &rest[at + wanted.len()..];
    }
    rest.len() > last.len() && rest.ends_with(last.as_str())
}

/// How specific a match is: one rank a segment, compared from the left; higher is more literal.
fn rank(template: &[Segment], path: &[Vec<String>]) -> Option<Vec<u8>> {
    let mut ranks = Vec::with_capacity(template.len());
    for (index, segment) in template.iter().enumerate() {
        if *segment == Segment::Rest {
            ranks.push(0);
            return (index + 1 == template.len() && path.len() > index).then_some(ranks);
        }
        let written = path.get(index)?;
        ranks.push(match (segment, written.as_slice()) {
            (Segment::Literal(text), [known]) if text.eq_ignore_ascii_case(known) => 3,
            (Segment::Mixed(texts), [known]) if consists_of(known, texts) => 2,
            (Segment::Mixed(texts), around) if around.len() > 1 && texts.as_slice() == around => 2,
            // What stands behind other text of its segment may be more than that segment.
            (Segment::Parameter, [_]) => 1,
            (Segment::Parameter, [before, _]) if before.is_empty() => 1,
            _ => return None,
        });
    }
    (path.len() == template.len()).then_some(ranks)
}

/// Whether a parameter of a template takes a segment that the code writes out.
fn takes_a_text(rank: &[u8], path: &[Vec<String>]) -> bool {
    path.iter().zip(rank).any(|(written, rank)| written.len() == 1 && *rank <= 1)
}

/// Whether a segment is one value.
fn is_value(written: &[String]) -> bool {
    written.len() == 2 && written.iter().all(String::is_empty)
}

/// Whether every template that has a parameter at a position of a path has another one behind it.
fn comes_in_pairs(routes: &[Route], path: &[Vec<String>], at: usize) -> bool {
    let mut any = false;
    for route in routes {
        let Some(before) = route.segments.get(..at) else { continue };
        if rank(before, &path[..at]).is_none() || matches!(route.segments.get(at), None | Some(Segment::Literal(_))) {
            continue;
        }
        let is_pair = matches!(route.segments.get(at..at + 2), Some([Segment::Parameter, Segment::Parameter]));
        if !is_pair {
            return false;
        }
        any = true;
    }
    any
}

/// Whether the server answers the route; a server without a host stands for any of the vendor's.
fn answers(server: &Server, route: &Route) -> bool {
    match &route.host {
        _ if server.host.is_empty() => true,
        Some(host) => *host == server.host || server.also.contains(host),
        None => !server.named_only,
    }
}

/// The one most specific template that answers there, or nothing.
pub(super) fn find(routes: &[Route], server: &Server, method: &str, path: &[UrlPart]) -> Option<Operation> {
    let mut path = written(path)?;
    for piece in server.base.split('/').filter(|piece| !piece.is_empty()) {
        let first = (!path.is_empty()).then(|| path.remove(0))?;
        // A parameter of the base is whatever stands there.
        if !piece.starts_with('{') && first != [piece] {
            return None;
        }
    }
    let best_of = |method: &str, path: &[Vec<String>]| {
        let mut best: Option<(Vec<u8>, Vec<&Route>)> = None;
        for route in routes.iter().filter(|route| route.method.eq_ignore_ascii_case(method)) {
            if !answers(server, route) {
                continue;
            }
            let Some(rank) = rank(&route.segments, path) else { continue };
            match &mut best {
                Some((known, same)) if *known == rank => same.push(route),
                Some((known, _)) if *known > rank => {}
                _ => best = Some((rank, vec![route])),
            }
        }
        let (rank, same) = best?;
        let first = same.first()?;
        let one = same.iter().all(|route| route.operation.erased() == first.operation.erased());
        one.then(|| (first.operation.clone(), takes_a_text(&rank, path)))
    };
    let best = |method: &str| {
        let best = best_of(method, &path);
        let operation = match best {
            Some((operation, false)) => return Some(operation),
            Some((operation, true)) => Some(operation),
            None => None,
        };
        // Where a parameter takes what the code writes out, or where no template knows a value that is not followed by
        // another, a value of the code may be two segments (`owner/name`), so that nothing has to.
        let mut others = (0..path.len())
            .filter(|at| is_value(&path[*at]) && (operation.is_some() || comes_in_pairs(routes, &path, *at)))
            .filter_map(|at| {
                let mut longer = path.clone();
                longer.insert(at, path[at].clone());
                best_of(method, &longer).filter(|(_, takes_a_text)| !takes_a_text).map(|(operation, _)| operation)
            });
        match others.next() {
            None => operation,
            Some(other) => others.all(|more| more.erased() == other.erased()).then_some(other),
        }
    };
    best(method).or_else(|| {
        let operation = method.eq_ignore_ascii_case("HEAD").then(|| best("GET")).flatten()?;
        Some(Operation::new("HEAD", operation.as_str().split_once(' ')?.1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(texts: &[&str]) -> Vec<Route> {
        let route = |text: &&str| {
            let (method, path) = text.split_once(' ').unwrap();
            Route {
                method: method.to_owned(),
                host: None,
                segments: segments(path),
                operation: Operation::new(method, path),
            }
        };
        texts.iter().map(route).collect()
    }

    fn at(method: &str, path: &[UrlPart]) -> Option<String> {
        let routes = routes(&[
            "GET /v1/charges/{charge}",
            "GET /v1/charges/search",
            "POST /v1/charges/{charge}/capture",
            "GET /repos/{owner}/{repo}/compare/{base}...{head}",
            "GET /twins/{a}/x",
            "GET /twins/{b}/{c}",
            "GET /same/{a}/y",
            "GET /same/{b}/y",
            "GET /files/{path+}",
            "GET /clash/{a}/lit",
            "GET /Accounts/{sid}.json",
        ]);
        find(&routes, &Server::any(), method, path).map(|operation| operation.as_str().to_owned())
    }

    fn lit(text: &str) -> UrlPart {
        UrlPart::Literal(text.to_owned())
    }

    #[test]
    fn a_literal_segment_beats_a_parameter_and_a_value_matches_a_parameter_only() {
        assert_eq!(at("GET", &[lit("/v1/charges/ch_1")]).as_deref(), Some("GET /v1/charges/{charge}"));
        assert_eq!(at("GET", &[lit("/v1/charges/search?query=x")]).as_deref(), Some("GET /v1/charges/search"));
        assert_eq!(at("get", &[lit("/v1/charges/"), UrlPart::Value]).as_deref(), Some("GET /v1/charges/{charge}"));
        assert_eq!(at("GET", &[lit("/v1/"), UrlPart::Value, lit("/ch_1")]), None, "a value is no known literal");
        assert_eq!(at("GET", &[lit("/v1/charges/"), UrlPart::Anything]), None);
        assert_eq!(at("PUT", &[lit("/v1/charges/ch_1")]), None);
        assert_eq!(
            at("POST", &[lit("/v1/charges/"), UrlPart::Value, lit("/capture")]).as_deref(),
            Some("POST /v1/charges/{charge}/capture")
        );
    }

    #[test]
    fn mixed_segments_rests_and_ties() {
        assert_eq!(
            at("GET", &[lit("/repos/o/r/compare/"), UrlPart::Value, lit("..."), UrlPart::Value]).as_deref(),
            Some("GET /repos/{owner}/{repo}/compare/{base}...{head}")
        );
        assert_eq!(at("GET", &[lit("/repos/o/r/compare/"), UrlPart::Value, lit("-"), UrlPart::Value]), None);
        assert_eq!(
            at("GET", &[lit("/repos/o/r/compare/a...b")]).as_deref(),
            Some("GET /repos/{owner}/{repo}/compare/{base}...{head}")
        );
        assert_eq!(at("GET", &[lit("/twins/1/x")]).as_deref(), Some("GET /twins/{a}/x"));
        assert_eq!(at("GET", &[lit("/same/1/y")]).as_deref(), Some("GET /same/{a}/y"), "parameter names do not differ");
        assert_eq!(at("GET", &[lit("/files/a/b/c")]).as_deref(), Some("GET /files/{path+}"));
        assert_eq!(at("HEAD", &[lit("/v1/charges/search")]).as_deref(), Some("HEAD /v1/charges/search"));
        assert_eq!(
            at("GET", &[lit("/Accounts/"), UrlPart::Value, lit(".json")]).as_deref(),
            Some("GET /Accounts/{sid}.json")
        );
    }

    #[test]
    fn a_value_that_may_be_two_segments_leaves_what_is_written_out_to_what_is_written_so() {
        let routes = routes(&[
            "GET /repos/{owner}/{repo}",
            "GET /repos/{owner}/{repo}/pulls",
            "PATCH /repos/{owner}/{repo}/comments/{comment_id}",
            "PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}",
        ]);
        let at = |method: &str, path: &[UrlPart]| {
            find(&routes, &Server::any(), method, path).map(|operation| operation.as_str().to_owned())
        };
        let value = UrlPart::Value;
        assert_eq!(
            at("PATCH", &[lit("/repos/"), value.clone(), lit("/issues/comments/"), value.clone()]).as_deref(),
            Some("PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}")
        );
        assert_eq!(
            at("GET", &[lit("/repos/"), value.clone(), lit("/pulls")]).as_deref(),
            Some("GET /repos/{owner}/{repo}/pulls")
        );
        assert_eq!(
            at("GET", &[lit("/repos/"), value.clone(), lit("/sync")]).as_deref(),
            Some("GET /repos/{owner}/{repo}")
        );
        assert_eq!(
            at("PATCH", &[lit("/repos/"), value.clone(), lit("/"), value.clone(), lit("/comments/"), value]).as_deref(),
            Some("PATCH /repos/{owner}/{repo}/comments/{comment_id}")
        );
    }

    #[test]
    fn routes_written_out_for_a_client_match_with_their_own_parameter_names() {
        assert_eq!(at("GET", &[lit("/v1/charges/:id")]).as_deref(), Some("GET /v1/charges/{charge}"));
        assert_eq!(
            at("GET", &[lit("/repos/{owner}/{repo}/compare/{base}...{head}")]).as_deref(),
            Some("GET /repos/{owner}/{repo}/compare/{base}...{head}")
        );
    }
}
