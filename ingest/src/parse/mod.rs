//! From the bytes of one file to its facts. Pure, and the only place where source text is read.
//!
//! oxc recurses, so hostile input can overflow any stack: callers run [`parse`] in a child process, on a thread with
//! a large stack, and treat its death as a finding about the file. Nothing here tries to bound the parsers themselves.

mod assign;
mod blocks;
mod classes;
mod declare;
mod expressions;
mod facts;
mod fallback;
mod functions;
mod implicit;
mod jsdoc;
mod lower;
mod modules;
mod named_types;
mod names;
mod nodes;
mod positions;
mod stamps;
#[cfg(test)]
mod tests;
mod text;
mod tokens;
mod types;
mod uses;

use oxc_allocator::Allocator;
use oxc_parser::Parser as OxcParser;
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;

use crate::language::Language;
use crate::languages;

pub use facts::*;
pub use names::Names;
pub(crate) use nodes::{each, index};
pub(crate) use positions::Positions;
pub(crate) use stamps::Stamps;
pub(crate) use text::{digest, kept as kept_text};
pub(crate) use tokens::{Prefix, token};

/// Why a file has no facts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseFailure {
    /// The bytes are not UTF-8.
    #[error("`{path}` is not UTF-8 text; convert it, or leave it out with an ignore rule")]
    NotText {
        /// The file.
        path: String,
    },
    /// No parser could read it.
    #[error("`{path}` could not be parsed: {reason}; the rest of the repository is indexed without it")]
    Syntax {
        /// The file.
        path: String,
        /// The parser's first message.
        reason: String,
    },
}

/// Reads one file. Of `path` only [`is_declaration`] counts; it is not opened.
pub fn parse(path: &str, language: Language, bytes: &[u8]) -> Result<ParsedFile, ParseFailure> {
    let text = std::str::from_utf8(bytes).map_err(|_| ParseFailure::NotText { path: path.to_owned() })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(facts) = languages::read(language, text) {
        return facts.map_err(|reason| ParseFailure::Syntax { path: path.to_owned(), reason: reason.to_owned() });
    }
    let blocks = blocks::script(language, text);
    let (source, source_type) = match &blocks {
        Some(script) => (script.text.as_str(), module(script.language)),
        None => (text, source_type(path, language)),
    };
    let allocator = Allocator::default();
    let parsed = OxcParser::new(&allocator, source, source_type).parse();
    if parsed.panicked {
        let reason = parsed.diagnostics.first().map_or_else(String::new, ToString::to_string);
        let language = blocks.as_ref().map_or(language, |script| script.language);
        return fallback::read(language, source, text).ok_or(ParseFailure::Syntax { path: path.to_owned(), reason });
    }
    let semantic = SemanticBuilder::new().with_build_nodes(true).build(&parsed.program).semantic;
    Ok(lower::lower(&parsed.program, &semantic, text, &allocator))
}

/// Whether a file has declarations alone by its name. Beside its bytes and language all that its facts depend on, and
/// so a part of the key under which they are cached.
pub fn is_declaration(path: &str) -> bool {
    path.ends_with(".d.ts") || path.ends_with(".d.mts") || path.ends_with(".d.cts")
}

fn source_type(path: &str, language: Language) -> SourceType {
    match language {
        Language::TypeScript if is_declaration(path) => SourceType::d_ts(),
        Language::TypeScript => SourceType::ts(),
        Language::Tsx => SourceType::tsx(),
        // Plain JavaScript files hold JSX more often than the `<T>x` casts that would conflict with it, and CommonJS
        // as often as modules.
        Language::JavaScript | Language::Jsx => SourceType::unambiguous().with_jsx(true),
        _ => module(language),
    }
}

/// A component's scripts are modules, whatever they import.
fn module(language: Language) -> SourceType {
    match language {
        Language::TypeScript => SourceType::ts(),
        Language::Tsx => SourceType::tsx(),
        _ => SourceType::mjs().with_jsx(true),
    }
}
