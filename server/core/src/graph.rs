//! The facts of one index, as a snapshot carries them line by line (`openapi/snapshot.md`).
//!
//! The same types are written by `sync-ingest`, validated on upload, stored per file by [`FileFacts::facts_hash`] and
//! read back when an answer is made. Fields only grow. No field may hold source text: string values kept are API
//! versions, methods, URL templates of known vendor hosts and import specifiers, nothing else (promise 5).

mod canonical;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::operation::Operation;
use crate::rung::Rung;

/// The snapshot format this build writes, and the newest it reads.
pub const SNAPSHOT_FORMAT: u32 = 1;

/// One line of a snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Line {
    /// The first line.
    Header(Header),
    /// A path that was not read, and why; a folder once.
    Skipped(Skipped),
    /// The facts of one file; sorted by path.
    File(Box<FileFacts>),
    /// The last line.
    End(End),
}

/// What the snapshot is of, and every vendor client constructed in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`SNAPSHOT_FORMAT`] of the writer.
    pub format: u32,
    /// Version of the analyzer; facts of another version are not comparable.
    pub analyzer: String,
    /// Version of the catalog: a hash over its files.
    pub catalog: String,
    /// Repository name, where one was given.
    #[serde(default)]
    pub repository: Option<String>,
    /// Ref name, where one was given.
    #[serde(default, rename = "ref")]
    pub ref_name: Option<String>,
    /// Commit id in hexadecimal; absent for a plain folder.
    #[serde(default)]
    pub commit: Option<String>,
    /// What the gate was set to and said: `on`, `off`, `auto`.
    pub gate: String,
    /// Vendor clients, sorted by id.
    pub clients: Vec<Client>,
    /// Whether something that should have been read was not.
    pub partial: bool,
    /// Why, counted.
    pub partial_reasons: Vec<PartialReason>,
}

/// A vendor client value: where it is made and which versions it is pinned to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// 8-byte hash of (declaring path, qualified, ordinal, vendor, package), 16 hexadecimal digits.
    pub id: String,
    /// Vendor id of the catalog.
    pub vendor: String,
    /// Package that the client comes from; absent for plain HTTP.
    pub package: Option<String>,
    /// Version of that package.
    pub sdk_version: Option<String>,
    /// `lockfile`, `manifest_range` (then `sdk_version` is the range as written) or `unknown`.
    pub sdk_version_source: String,
    /// API version pinned in the constructor or by a header.
    pub api_version: Option<String>,
    /// `literal`, `header`, `sdk_default`, `account_default`, `environment` or `unknown`.
    pub api_version_source: String,
    /// `path#qualified#ordinal` of the construction.
    pub constructed_at: String,
    /// The member of a response under which this client hands out what the vendor answered (`data` for Octokit);
    /// absent where the response is the vendor's own. Fields are recorded as written; the join removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envelope: Option<String>,
}

/// Why an index is partial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialReason {
    /// `file_cap`, `unreadable`, `too_large`, `parse_timeout`, `parse_memory`, `parse_overflow`, `parse_error`, ….
    pub reason: String,
    /// How many files.
    pub count: u64,
    /// The first of them, at most 20, sorted.
    pub files: Vec<String>,
    /// The limit that was met, in words; absent where it is none that was met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
}

/// A path that was not read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Skipped {
    /// Repository-relative path with `/`; a folder ends in `/`.
    pub path: String,
    /// `hidden`, `vendored`, `ignored`, `minified`, `too_large`, `binary`, `symlink`, `submodule`, `generated`,
    /// `parse_timeout`, ….
    pub reason: String,
}

/// Everything known of one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileFacts {
    /// Repository-relative path with `/`.
    pub path: String,
    /// Git blob id of the bytes, for folders too.
    pub content_hash: String,
    /// SHA-256 of this line's canonical JSON (RFC 8785) without this field; see [`FileFacts::seal`].
    pub facts_hash: String,
    /// `typescript`, `tsx`, `javascript`, `python`, ….
    pub language: String,
    /// `oxc`, `fallback` (tree-sitter for what oxc cannot parse) or `tree-sitter`.
    pub parser: String,
    /// Size of the file.
    pub bytes: u64,
    /// Number of lines.
    pub lines: u32,
    /// Named things, in source order.
    pub symbols: Vec<Symbol>,
    /// Imports, in source order.
    pub imports: Vec<Import>,
    /// Exports, in source order.
    pub exports: Vec<Export>,
    /// Resolved calls between symbols of the repository.
    pub edges: Vec<Edge>,
    /// Calls whose target is not known.
    pub unresolved: Vec<Unresolved>,
    /// Calls that reach, or may reach, a vendor.
    pub call_sites: Vec<CallSite>,
}

/// A named thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// The last part of the name.
    pub name: String,
    /// With the names around it, joined by `.`: `Billing.charge`.
    pub qualified: String,
    /// Which symbol of that qualified name in this file, from 0.
    pub ordinal: u32,
    /// `function`, `class`, `method`, `interface`, `type`, `enum`, `constant`, `variable`, `namespace`.
    pub kind: String,
    /// First line.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// Whether another file can import it.
    pub exported: bool,
}

/// An import or re-export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// As written.
    pub specifier: String,
    /// Path of the file it resolves to in this repository; absent for packages and what is missing.
    pub target: Option<String>,
    /// Names taken: `default`, `*`, or names as exported there.
    pub names: Vec<String>,
}

/// An exported name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// As importers write it: `default`, a name, or `*` for a star re-export.
    pub name: String,
    /// The local name behind it, if any.
    pub local: Option<String>,
    /// Path of the file that it is re-exported from, if it is.
    pub target: Option<String>,
}

/// A call from a symbol of this file to a symbol of the repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// `qualified#ordinal` of the caller, or `#` at module level.
    pub from: String,
    /// `path#qualified#ordinal` of the callee.
    pub to: String,
    /// Line of the call.
    pub line: u32,
    /// How the target was found: `local`, `import`, `reexport`, `this`, `type`, ….
    pub via: String,
}

/// A call whose target is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unresolved {
    /// The last name of the callee.
    pub name: String,
    /// `qualified#ordinal` of the caller, or `#` at module level.
    pub from: String,
    /// Line of the call.
    pub line: u32,
}

/// A call that reaches, or may reach, a vendor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallSite {
    /// Line where the call expression starts.
    pub line: u32,
    /// Line where it ends.
    pub end_line: u32,
    /// Column where it starts, in UTF-16 units from 1.
    pub column: u32,
    /// Line of the callee's last member, which production stacks report.
    pub callee_line: u32,
    /// Column of the callee's last member.
    pub callee_column: u32,
    /// Qualified name of the enclosing symbol; empty at module level.
    pub symbol: String,
    /// Which symbol of that name.
    pub symbol_ordinal: u32,
    /// Which call of that chain in the symbol, from 0.
    pub call_ordinal: u32,
    /// Member names and `()`, never arguments: `stripe.charges.create`.
    pub chain: String,
    /// Id of the [`Client`]; absent where no client is known.
    pub client: Option<String>,
    /// Vendor id of the catalog.
    pub vendor: String,
    /// The operation, or null where it is not provable (promise 2).
    pub operation: Option<Operation>,
    /// Argument keys visible at the call, dotted for nested literals, sorted.
    pub args_keys: Vec<String>,
    /// Whether these are all of them.
    pub args_complete: bool,
    /// 8-byte digests of literal arguments, only of keys that the catalog declares as enums.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub args_literals: std::collections::BTreeMap<String, String>,
    /// Response fields read, dotted, list items as `data[].id`, envelope included as written, sorted.
    pub response_fields_read: Vec<String>,
    /// How each field is read; sorted by field.
    pub reads: Vec<Read>,
    /// Whether these are all of them: false where the value escapes.
    pub response_complete: bool,
    /// 8-byte hash of the call's tokens with literals replaced by their type, 16 hexadecimal digits.
    pub call_hash: String,
    /// The rung that established the binding. A snapshot may claim `static` (later `resolved`), never `observed`.
    pub binding_source: Rung,
    /// `code`, or `test` for tests, stories, mocks and fixtures.
    pub context: Context,
    /// The steps that led to the binding.
    pub evidence: Vec<EvidenceStep>,
}

/// Where a call site stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Context {
    /// Product code.
    Code,
    /// Tests, stories, mocks and fixtures: left out of findings unless asked for.
    Test,
}

impl Context {
    /// The word used in snapshots and rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Test => "test",
        }
    }
}

/// One field of the response and how it is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Read {
    /// Dotted, as in `response_fields_read`.
    pub field: String,
    /// Behind `?.`, `??`, or a test of the value.
    pub guarded: bool,
    /// Compared or switched on.
    pub compared: bool,
}

/// One step of the reasoning behind a binding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceStep {
    /// In words: `imported as stripe from @/lib/stripe`, `constructed by new Stripe`. Never source text.
    pub step: String,
    /// Line in this file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// `path#qualified#ordinal` in another file, whose line is looked up when answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// Counts and a digest, so that a truncated or altered snapshot is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// File lines.
    pub files: u64,
    /// Skipped lines.
    pub skipped: u64,
    /// Symbols in all files.
    pub symbols: u64,
    /// Edges in all files.
    pub edges: u64,
    /// Unresolved calls in all files.
    pub unresolved: u64,
    /// Call sites in all files.
    pub call_sites: u64,
    /// SHA-256 over every line before this one, each with its line feed, in hexadecimal.
    pub sha256: String,
}

/// A value that has no canonical JSON (a number that is not finite, say).
#[derive(Debug, thiserror::Error)]
#[error("facts of `{path}` have no canonical JSON: {reason}")]
pub struct NotCanonical {
    path: String,
    reason: String,
}

impl NotCanonical {
    /// Of the facts of a file.
    pub fn new(path: &str, reason: &dyn std::fmt::Display) -> Self {
        Self { path: path.to_owned(), reason: reason.to_string() }
    }
}

impl FileFacts {
    /// SHA-256 of the line's canonical JSON (RFC 8785, with `"kind":"file"`) without `facts_hash`, in hexadecimal.
    pub fn compute_facts_hash(&self) -> Result<String, NotCanonical> {
        let bytes = canonical::canonical(self).map_err(|error| NotCanonical::new(&self.path, &error))?;
        Ok(hex::encode(Sha256::digest(&bytes)))
    }

    /// Writes [`FileFacts::facts_hash`]; the last step of making a line.
    pub fn seal(mut self) -> Result<Self, NotCanonical> {
        self.facts_hash = self.compute_facts_hash()?;
        Ok(self)
    }
}

/// Longest path of a file or folder in a snapshot, in bytes: what is longer is skipped by the walk, since no index in a
/// database takes it.
pub const MAX_PATH_BYTES: usize = 1024;

/// The digest under which [`CallSite::args_literals`] keeps a literal and the join compares an enum's value: of a
/// string its content, of a number or boolean its JSON text.
pub fn literal_digest(value: &str) -> String {
    short_hash(&[value])
}

/// 8 bytes of SHA-256 over the length-prefixed parts, in hexadecimal: the ids of [`Client`]s and of calls.
pub fn short_hash(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    hex::encode(&hasher.finalize()[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> FileFacts {
        FileFacts {
            path: "src/billing.ts".to_owned(),
            content_hash: "0".repeat(40),
            facts_hash: String::new(),
            language: "typescript".to_owned(),
            parser: "oxc".to_owned(),
            bytes: 10,
            lines: 1,
            symbols: vec![],
            imports: vec![],
            exports: vec![],
            edges: vec![],
            unresolved: vec![],
            call_sites: vec![],
        }
    }

    #[test]
    fn the_facts_hash_covers_every_field_but_itself() {
        let sealed = file().seal().unwrap();
        assert_eq!(sealed.facts_hash.len(), 64);
        assert_eq!(sealed.compute_facts_hash().unwrap(), sealed.facts_hash);
        let mut moved = sealed.clone();
        moved.lines = 2;
        assert_ne!(moved.compute_facts_hash().unwrap(), sealed.facts_hash);
    }

    #[test]
    fn the_facts_hash_is_pinned_and_follows_rfc_8785() {
        // sha256 of {"bytes":10,"call_sites":[],...,"unresolved":[]}, keys sorted, no spaces.
        let canonical = format!(
            r#"{{"bytes":10,"call_sites":[],"content_hash":"{}","edges":[],"exports":[],"imports":[],"kind":"file","language":"typescript","lines":1,"parser":"oxc","path":"src/billing.ts","symbols":[],"unresolved":[]}}"#,
            "0".repeat(40)
        );
        assert_eq!(file().compute_facts_hash().unwrap(), hex::encode(Sha256::digest(canonical.as_bytes())));
    }

    #[test]
    fn lines_carry_their_kind() {
        let json = serde_json::to_string(&Line::File(Box::new(file()))).unwrap();
        assert!(json.starts_with(r#"{"kind":"file","path":"src/billing.ts""#));
        assert_eq!(serde_json::from_str::<Line>(&json).unwrap(), Line::File(Box::new(file())));
    }
}
