//! Digests of what other files can see of a file: as long as they stay, so does all that is found of those files.
//!
//! Lines and columns are not part of them, since facts name what is in another file by its symbol.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};
use sync_core::graph::Symbol;

use super::facts::{Binding, CallFact, Class, ExportValue, ImplicitCall, ImportFact, Member, ParsedFile};

/// What others can see of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamps {
    /// All but where it stands.
    pub(crate) whole: u64,
    /// The names that it exports, and those that it takes from other modules for that.
    pub(crate) surface: u64,
}

impl Stamps {
    /// The stamps of facts.
    pub(crate) fn of(facts: &ParsedFile) -> Self {
        Self { whole: whole(facts), surface: surface(facts) }
    }
}

fn surface(facts: &ParsedFile) -> u64 {
    let mut hasher = DefaultHasher::new();
    facts.package.map(|package| facts.name(package)).hash(&mut hasher);
    for export in &facts.exports {
        facts.name(export.name).hash(&mut hasher);
        match export.value {
            ExportValue::From { specifier, name } => {
                Some((facts.name(specifier), facts.name(name))).hash(&mut hasher);
            }
            ExportValue::Binding(_) | ExportValue::Expr(_) | ExportValue::Unknown => {
                None::<(&str, &str)>.hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}

fn whole(facts: &ParsedFile) -> u64 {
    // Every field is named here and below, so that a new one is not forgotten.
    let ParsedFile {
        parser,
        lines: _,
        package,
        names,
        symbols,
        imports,
        exports,
        mocks,
        bindings,
        exprs,
        types,
        functions,
        classes,
        calls,
        implicit,
        written,
        extensions,
    } = facts;
    let mut hasher = DefaultHasher::new();
    (parser, package, names, exports, mocks, exprs, types, functions, written, extensions).hash(&mut hasher);
    for Symbol { name, qualified, ordinal, kind, line: _, end_line: _, exported } in symbols {
        (name, qualified, ordinal, kind, exported).hash(&mut hasher);
    }
    for ImportFact { specifier, names, modules, line: _, implied } in imports {
        (specifier, names, modules, implied).hash(&mut hasher);
    }
    for Binding { name, origin, ty, writes, line: _, symbol } in bindings {
        (name, origin, ty, writes, symbol).hash(&mut hasher);
    }
    for Class { symbol, extends, further, constructor, members, assigned, line: _ } in classes {
        (symbol, extends, further, constructor, assigned, members.len()).hash(&mut hasher);
        for Member { name, is_static, kind, line: _ } in members {
            (name, is_static, kind).hash(&mut hasher);
        }
    }
    for call in calls {
        let CallFact {
            expr,
            line: _,
            column: _,
            end_line: _,
            callee_line: _,
            callee_column: _,
            symbol,
            function,
            keywords,
            // What is asked of a call in another file is what it requests, and that is in the expressions.
            hash: _,
            uses,
        } = call;
        (expr, symbol, function, keywords, uses).hash(&mut hasher);
    }
    for ImplicitCall { callee, line: _, symbol } in implicit {
        (callee, symbol).hash(&mut hasher);
    }
    (symbols.len(), imports.len(), bindings.len(), classes.len(), calls.len()).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::Stamps;
    use crate::language::Language;
    use crate::parse::parse;

    fn stamps(text: &str) -> Stamps {
        Stamps::of(&parse("a.ts", Language::TypeScript, text.as_bytes()).unwrap())
    }

    #[test]
    fn moving_a_file_down_a_line_changes_nothing_that_others_see() {
        let text = "import { b } from './b';\nexport class A { x = b(); }\nexport const c = () => b(1).d;\n";
        let before = stamps(text);
        assert_eq!(stamps(&format!("// moved\n\n{text}")), before);
        // What a function does is seen, but not by those that only look for names.
        let body = stamps(&text.replace("b(1).d", "b(1).e"));
        assert_ne!(body.whole, before.whole);
        assert_eq!(body.surface, before.surface);
        let exports = stamps(&format!("{text}export {{ d }} from './d';\n"));
        assert_ne!(exports.surface, before.surface);
        assert_ne!(stamps(&text.replace("const c", "const e")).surface, before.surface);
    }
}
