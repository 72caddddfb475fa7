//! What parsing alone costs, beside an index of the same files: see `tests/load/README.md`.
//!
//! `parsers MODE FOLDER < LIST`, one path a line: reads every file of the list that is TypeScript or JavaScript below
//! FOLDER, on one thread, and does with its text what MODE says:
//!
//! - `read`: nothing;
//! - `oxc`: parses and analyzes scopes, as an index does before it lowers what it found to facts;
//! - `tree-sitter`: parses;
//! - `facts`: all that an index does with one file.
//!
//! It prints how many files and bytes it read. Its process is what `tests/load/beside.py` measures.

#![expect(clippy::print_stdout, reason = "the counts are what it is run for")]

use std::hint::black_box;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use oxc_allocator::Allocator;
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;
use sync_ingest::language::Language;
use sync_ingest::parse;

/// Parsers recurse: the deepest file of a repository decides.
const STACK: usize = 512 << 20;

fn main() -> Result<()> {
    let worker = std::thread::Builder::new().stack_size(STACK).spawn(run)?;
    worker.join().unwrap_or_else(|_| bail!("a parser gave up"))
}

fn run() -> Result<()> {
    // Cargo adds `--bench` when it runs this itself.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|it| it != "--bench").collect();
    let [mode, folder] = arguments.as_slice() else { bail!("usage: parsers read|oxc|tree-sitter|facts FOLDER < LIST") };
    let mut list = String::new();
    std::io::stdin().read_to_string(&mut list)?;
    let mut grammars = Grammars::new()?;
    let (mut files, mut bytes) = (0_usize, 0_usize);
    for path in list.lines() {
        let Some(language) = script(path) else { continue };
        let Ok(text) = std::fs::read_to_string(Path::new(folder).join(path)) else { continue };
        files += 1;
        bytes += text.len();
        match mode.as_str() {
            "read" => {
                black_box(&text);
            }
            "oxc" => oxc(&text, source_type(path, language)),
            "tree-sitter" => {
                black_box(grammars.of(language).parse(&text, None));
            }
            "facts" => {
                drop(black_box(parse::parse(path, language, text.as_bytes())));
            }
            other => bail!("`{other}` is no mode; read, oxc, tree-sitter or facts"),
        }
    }
    println!("{files} files, {bytes} bytes");
    Ok(())
}

/// The language of what both parsers read; components and other languages are left out of all modes.
fn script(path: &str) -> Option<Language> {
    let language = Language::of_path(path)?;
    matches!(language, Language::TypeScript | Language::Tsx | Language::JavaScript | Language::Jsx).then_some(language)
}

/// One arena a file and scopes with nodes, as an index has them.
fn oxc(text: &str, source_type: SourceType) {
    let allocator = Allocator::default();
    let parsed = oxc_parser::Parser::new(&allocator, text, source_type).parse();
    if !parsed.panicked {
        black_box(SemanticBuilder::new().with_build_nodes(true).build(&parsed.program).semantic.nodes().len());
    }
}

fn source_type(path: &str, language: Language) -> SourceType {
    match language {
        Language::TypeScript if parse::is_declaration(path) => SourceType::d_ts(),
        Language::TypeScript => SourceType::ts(),
        Language::Tsx => SourceType::tsx(),
        _ => SourceType::unambiguous().with_jsx(true),
    }
}

/// One tree-sitter parser a grammar, made once.
struct Grammars {
    typescript: tree_sitter::Parser,
    tsx: tree_sitter::Parser,
}

impl Grammars {
    fn new() -> Result<Self> {
        let make = |grammar: tree_sitter::Language| -> Result<tree_sitter::Parser> {
            let mut parser = tree_sitter::Parser::new();
            parser.set_language(&grammar).context("the grammar is of another tree-sitter")?;
            Ok(parser)
        };
        Ok(Self {
            typescript: make(tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into())?,
            tsx: make(tree_sitter_typescript::LANGUAGE_TSX.into())?,
        })
    }

    fn of(&mut self, language: Language) -> &mut tree_sitter::Parser {
        if language == Language::TypeScript { &mut self.typescript } else { &mut self.tsx }
    }
}
