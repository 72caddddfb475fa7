//! What each field of a line may hold. A snapshot may be anyone's, and what it says is stored, compared and shown: no text
//! of it is longer than any that the indexer writes, and no number is one that no file has. Writers keep the same bounds,
//! so that nothing is written that is refused later.

use std::fmt;

use sync_core::graph::{
    CallSite, Client, Edge, Export, FileFacts, Header, Import, MAX_PATH_BYTES, PartialReason, Skipped, Symbol,
    Unresolved,
};
use sync_core::text::{is_commit, shown};

use super::MAX_REASON_FILES;
use crate::names::MAX_NAME;

/// The longest word of a list that only grows (a language, a kind, a vendor's id), in bytes.
const MAX_WORD: usize = 64;
/// The longest text about a whole snapshot: versions, a repository's name, a limit in words.
const MAX_TEXT: usize = 1024;
/// The longest `path#qualified#ordinal`, in bytes.
const MAX_PLACE: usize = MAX_PATH_BYTES + MAX_NAME + "##4294967295".len();
/// The most members of one list. No file that is read has as many bytes as would be needed for more.
const MAX_MEMBERS: usize = 512 * 1024;
/// The largest number that the store has a column for.
const MAX_NUMBER: u32 = i32::MAX as u32;
/// The largest size of a file that is said: more than is ever read.
const MAX_BYTES: u64 = 1 << 40;

/// A field that holds what none may.
#[derive(Debug, PartialEq, Eq)]
pub struct Breach {
    /// Which: `symbols[2].name`.
    pub field: String,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.field, self.reason)
    }
}

type Checked = Result<(), Breach>;

impl Breach {
    fn of(field: &str, reason: impl Into<String>) -> Self {
        Self { field: field.to_owned(), reason: reason.into() }
    }

    fn in_member(self, list: &str, at: usize) -> Self {
        Self { field: format!("{list}[{at}].{}", self.field), ..self }
    }
}

/// Of the first line.
pub(super) fn header(header: &Header) -> Checked {
    short("analyzer", &header.analyzer, MAX_TEXT)?;
    short("catalog", &header.catalog, MAX_TEXT)?;
    header.repository.as_deref().map_or(Ok(()), |name| short("repository", name, MAX_TEXT))?;
    header.ref_name.as_deref().map_or(Ok(()), |name| short("ref", name, MAX_TEXT))?;
    if header.commit.as_deref().is_some_and(|commit| !is_commit(commit)) {
        return Err(Breach::of("commit", "is no commit's id in full, in lower-case hexadecimal"));
    }
    word("gate", &header.gate)?;
    members("clients", &header.clients, client)?;
    members("partial_reasons", &header.partial_reasons, partial_reason)?;
    if header.partial == header.partial_reasons.is_empty() {
        return Err(Breach::of("partial", "and `partial_reasons` contradict each other"));
    }
    ascending("clients", &header.clients, |client| &client.id)?;
    ascending("partial_reasons", &header.partial_reasons, |partial| &partial.reason)
}

/// Of a path that was not read.
pub(super) fn skipped(skipped: &Skipped) -> Checked {
    path("path", skipped.path.strip_suffix('/').unwrap_or(&skipped.path))?;
    word("reason", &skipped.reason)
}

/// Of the facts of a file.
pub(super) fn file(facts: &FileFacts) -> Checked {
    path("path", &facts.path)?;
    hash("content_hash", &facts.content_hash, &[40, 64])?;
    hash("facts_hash", &facts.facts_hash, &[64])?;
    word("language", &facts.language)?;
    word("parser", &facts.parser)?;
    if facts.bytes > MAX_BYTES {
        return Err(Breach::of("bytes", format!("is more than {MAX_BYTES}")));
    }
    number("lines", facts.lines)?;
    let lines = facts.lines;
    members("symbols", &facts.symbols, |found| symbol(found, lines))?;
    members("imports", &facts.imports, import)?;
    members("exports", &facts.exports, export)?;
    members("edges", &facts.edges, |found| edge(found, lines))?;
    members("unresolved", &facts.unresolved, |found| unresolved(found, lines))?;
    members("call_sites", &facts.call_sites, |found| call_site(found, lines))
}

fn client(client: &Client) -> Checked {
    hash("id", &client.id, &[16])?;
    word("vendor", &client.vendor)?;
    for (field, value) in [
        ("package", &client.package),
        ("sdk_version", &client.sdk_version),
        ("api_version", &client.api_version),
        ("envelope", &client.envelope),
    ] {
        value.as_deref().map_or(Ok(()), |value| name(field, value))?;
    }
    word("sdk_version_source", &client.sdk_version_source)?;
    word("api_version_source", &client.api_version_source)?;
    place("constructed_at", &client.constructed_at)
}

fn partial_reason(partial: &PartialReason) -> Checked {
    word("reason", &partial.reason)?;
    if partial.files.len() > MAX_REASON_FILES {
        return Err(Breach::of("files", format!("names more than {MAX_REASON_FILES} files")));
    }
    // The root has no path of its own.
    for file in partial.files.iter().filter(|file| *file != "./") {
        path("files", file.strip_suffix('/').unwrap_or(file))?;
    }
    partial.limit.as_deref().map_or(Ok(()), |limit| short("limit", limit, MAX_TEXT))
}

fn symbol(symbol: &Symbol, lines: u32) -> Checked {
    name("name", &symbol.name)?;
    name("qualified", &symbol.qualified)?;
    number("ordinal", symbol.ordinal)?;
    word("kind", &symbol.kind)?;
    span(symbol.line, symbol.end_line, lines)
}

fn import(import: &Import) -> Checked {
    name("specifier", &import.specifier)?;
    import.target.as_deref().map_or(Ok(()), |target| path("target", target))?;
    names("names", &import.names)
}

fn export(export: &Export) -> Checked {
    name("name", &export.name)?;
    export.local.as_deref().map_or(Ok(()), |local| name("local", local))?;
    export.target.as_deref().map_or(Ok(()), |target| path("target", target))
}

fn edge(edge: &Edge, lines: u32) -> Checked {
    place("from", &edge.from)?;
    place("to", &edge.to)?;
    word("via", &edge.via)?;
    span(edge.line, edge.line, lines)
}

fn unresolved(unresolved: &Unresolved, lines: u32) -> Checked {
    name("name", &unresolved.name)?;
    place("from", &unresolved.from)?;
    span(unresolved.line, unresolved.line, lines)
}

fn call_site(call: &CallSite, lines: u32) -> Checked {
    span(call.line, call.end_line, lines)?;
    if !(call.line..=call.end_line).contains(&call.callee_line) {
        return Err(Breach::of("callee_line", format!("is {}, outside of the call's lines", call.callee_line)));
    }
    column("column", call.column)?;
    column("callee_column", call.callee_column)?;
    name("symbol", &call.symbol)?;
    number("symbol_ordinal", call.symbol_ordinal)?;
    number("call_ordinal", call.call_ordinal)?;
    name("chain", &call.chain)?;
    word("vendor", &call.vendor)?;
    call.operation.as_ref().map_or(Ok(()), |operation| name("operation", operation.as_str()))?;
    names("args_keys", &call.args_keys)?;
    few("args_literals", call.args_literals.len())?;
    for (key, digest) in &call.args_literals {
        name("args_literals", key)?;
        hash("args_literals", digest, &[16])?;
    }
    names("response_fields_read", &call.response_fields_read)?;
    members("reads", &call.reads, |read| name("field", &read.field))?;
    hash("call_hash", &call.call_hash, &[16])?;
    members("evidence", &call.evidence, |step| {
        name("step", &step.step)?;
        step.target.as_deref().map_or(Ok(()), |target| place("target", target))?;
        step.line.map_or(Ok(()), |line| span(line, line, lines))
    })
}

fn members<T>(list: &str, all: &[T], each: impl Fn(&T) -> Checked) -> Checked {
    few(list, all.len())?;
    for (at, member) in all.iter().enumerate() {
        each(member).map_err(|breach| breach.in_member(list, at))?;
    }
    Ok(())
}

fn few(list: &str, members: usize) -> Checked {
    if members <= MAX_MEMBERS {
        return Ok(());
    }
    Err(Breach::of(list, format!("has {members} members; there are at most {MAX_MEMBERS}")))
}

fn names(list: &str, all: &[String]) -> Checked {
    few(list, all.len())?;
    all.iter().try_for_each(|text| name(list, text))
}

fn ascending<T>(list: &str, all: &[T], key: impl Fn(&T) -> &String) -> Checked {
    if all.windows(2).all(|pair| key(&pair[0]) < key(&pair[1])) {
        return Ok(());
    }
    Err(Breach::of(list, "are not in order, each once"))
}

fn name(field: &str, text: &str) -> Checked {
    short(field, text, MAX_NAME)
}

fn place(field: &str, text: &str) -> Checked {
    short(field, text, MAX_PLACE)
}

fn short(field: &str, text: &str, most: usize) -> Checked {
    if text.len() <= most {
        return Ok(());
    }
    Err(Breach::of(field, format!("has {} bytes; there are at most {most}", text.len())))
}

fn word(field: &str, text: &str) -> Checked {
    if (1..=MAX_WORD).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    Err(Breach::of(field, format!("is `{}`; a word of 1 to {MAX_WORD} printable letters is meant", shown(text, 40))))
}

fn hash(field: &str, text: &str, lengths: &[usize]) -> Checked {
    let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if digits && lengths.contains(&text.len()) {
        return Ok(());
    }
    Err(Breach::of(field, format!("is `{}`, and no hash in lower-case hexadecimal", shown(text, 64))))
}

fn path(field: &str, path: &str) -> Checked {
    let sound = !path.is_empty()
        && path.len() <= MAX_PATH_BYTES
        && !path.contains(|c: char| c.is_control())
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if sound {
        Ok(())
    } else {
        Err(Breach::of(field, format!("is `{}`, no path inside a repository", shown(path, 200))))
    }
}

fn number(field: &str, number: u32) -> Checked {
    if number <= MAX_NUMBER { Ok(()) } else { Err(Breach::of(field, format!("is {number}, more than {MAX_NUMBER}"))) }
}

fn column(field: &str, column: u32) -> Checked {
    if column == 0 {
        return Err(Breach::of(field, "is 0; columns count from 1"));
    }
    number(field, column)
}

/// Lines count from 1, and end with the file's last.
fn span(line: u32, end_line: u32, lines: u32) -> Checked {
    if line == 0 {
        return Err(Breach::of("line", "is 0; lines count from 1"));
    }
    if end_line < line {
        return Err(Breach::of("end_line", format!("is {end_line}, before the line {line} that it begins at")));
    }
    if end_line > lines {
        return Err(Breach::of("line", format!("is {end_line}; the file has {lines} lines")));
    }
    Ok(())
}
