//! A call site as it is written down: the fields of the response, and the chain without its arguments.

use std::collections::BTreeMap;

use sync_core::graph::Read;

use super::sites::{Answer, Found};
use crate::parse::{Expr, ExprId, Name, ParsedFile, Uses};

/// Longest chain that is written down, in bytes.
const LONGEST_CHAIN: usize = 200;

/// What is read of the response, and whether that is all.
pub(super) fn response(uses: &Uses, found: &Found) -> (Vec<Read>, bool) {
    if !found.response {
        return (Vec::new(), false);
    }
    let mut complete = !uses.escapes;
    let mut reads: BTreeMap<String, Read> = BTreeMap::new();
    for read in &uses.reads {
        // Methods of a builder, of a pager or of an HTTP response come before the first field.
        let mut rest = read.path.as_str();
        let mut methods = Vec::new();
        if let Answer::Plain { envelope: Some(envelope), .. } = &found.answer
            && let Some(behind) = rest.strip_prefix(envelope.as_str()).and_then(|behind| behind.strip_prefix('.'))
            && behind.split(['.', '[']).next().is_some_and(|first| first.ends_with("()"))
        {
            // `const { body } = await request(url); await body.json()`
            rest = behind;
        }
        while let Some(end) = rest.find("()") {
            if rest[..end].contains(['.', '[']) {
                break;
            }
            methods.push(&rest[..end]);
            rest = rest[end + 2..].trim_start_matches('.');
        }
        match &found.answer {
            // What an unknown method of an answer gives is no part of it.
            Answer::Package { methods: known, builder: false, .. }
                if methods.iter().any(|method| !known.iter().any(|known| known == method)) =>
            {
                complete = false;
                continue;
            }
            // The status of a response and its like are no fields of what the vendor answered.
            Answer::Plain { envelope, by_methods } if methods.is_empty() => {
                let first = rest.split(['.', '[']).next().unwrap_or(rest);
                if *by_methods || envelope.as_deref().is_some_and(|envelope| envelope != first) {
                    complete &= !(read.escapes && first == "body");
                    continue;
                }
            }
            _ => {}
        }
        let methods = methods.len();
        // Of what is streamed each piece is an answer.
        let rest = match &found.answer {
            Answer::Package { .. } if found.keys.names.contains("stream") => match rest.strip_prefix("[]") {
                Some(inside) => inside.trim_start_matches('.'),
                None => rest,
            },
            _ => rest,
        };
        // Of several values that a method gives the first is the answer.
        let rest = match &found.answer {
            Answer::Package { first: true, .. } if !rest.is_empty() => match rest.strip_prefix("[]") {
                Some(inside) => inside.trim_start_matches('.'),
                None => continue,
            },
            _ => rest,
        };
        // A method behind a field ends what is known.
        let rest = match rest.split_once("()") {
            Some((before, _)) => before.rsplit_once('.').map_or(before, |(head, _)| head),
            None => rest,
        };
        if rest.is_empty() {
            complete &= !read.escapes || methods == 0;
            if read.escapes {
                complete = false;
            }
            continue;
        }
        // Walking a page walks the items of its list.
        let field = if rest.starts_with("[]")
            && found.operation.is_some()
            && matches!(found.answer, Answer::Package { bare: false, .. })
        {
            format!("data{rest}")
        } else {
            rest.to_owned()
        };
        let whole = found.envelope.as_deref() == Some(field.as_str()) || field == "data" || field.ends_with("[]");
        // An item that is only looked at as a whole is a read of its list.
        let field = field.trim_end_matches("[]").to_owned();
        if field.is_empty() {
            complete &= !read.escapes;
            continue;
        }
        if read.escapes && whole {
            complete = false;
        }
        let entry = reads.entry(field.clone()).or_insert(Read { field, guarded: true, compared: false });
        entry.guarded &= read.guarded;
        entry.compared |= read.compared;
    }
    (reads.into_values().collect(), complete)
}

/// Member names and `()`, never arguments.
pub(super) fn chain_as_written(parsed: &ParsedFile, callee: ExprId) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut at = callee;
    let mut steps = 0;
    let root = loop {
        steps += 1;
        if steps > 100 {
            break "…".to_owned();
        }
        match parsed.expr(at) {
            Expr::Member(object, name) => {
                parts.push(format!(".{}", parsed.name(*name)));
                at = *object;
            }
            Expr::Index(object) => {
                parts.push("[]".to_owned());
                at = *object;
            }
            Expr::Call { callee, construct: false, .. } => {
                parts.push("()".to_owned());
                at = *callee;
            }
            Expr::Call { callee, construct: true, .. } => {
                parts.push("()".to_owned());
                break format!("new {}", chain_root(parsed, *callee));
            }
            Expr::Await(value) | Expr::Guarded(value) | Expr::Cast(value, _) | Expr::Either(value, _) => at = *value,
            _ => break chain_root(parsed, at),
        }
    };
    parts.reverse();
    let mut chain = format!("{root}{}", parts.concat());
    if chain.len() > LONGEST_CHAIN {
        let mut end = LONGEST_CHAIN;
        while !chain.is_char_boundary(end) {
            end -= 1;
        }
        chain.truncate(end);
    }
    chain
}

fn chain_root(parsed: &ParsedFile, at: ExprId) -> String {
    let text = |name: Name| parsed.name(name).to_owned();
    match parsed.expr(at) {
        Expr::Binding(binding) => parsed.bindings.get(*binding as usize).map_or_else(String::new, |it| text(it.name)),
        Expr::Global(name) => text(*name),
        // A class, too, speaks of itself so.
        Expr::This(_) | Expr::Own(_) | Expr::Class(_) => "this".to_owned(),
        Expr::Super(_) => "super".to_owned(),
        Expr::Import(_) => "import()".to_owned(),
        Expr::Require(_) => "require()".to_owned(),
        Expr::Member(object, name) => format!("{}.{}", chain_root(parsed, *object), text(*name)),
        _ => "()".to_owned(),
    }
}
