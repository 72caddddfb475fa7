//! What is read of a file by those who only look for a name that it exports. It is kept beside what was found of the
//! file, so that a search through files that re-export each other decodes the facts of none.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::parse::{ExportFact, ExportValue, Name, ParsedFile};

/// The names that a file exports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Surface {
    /// The package that it says it is a part of.
    pub(super) package: Option<String>,
    /// Ascending by name; of one name in source order.
    exports: Vec<Exported>,
}

/// A name that a file exports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Exported {
    name: String,
    /// Its position among the exports of the file.
    pub(super) at: usize,
    /// What it is in another module, if it is taken from one that the file imports.
    pub(super) from: Option<Taken>,
}

/// A name of another module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Taken {
    pub(super) specifier: String,
    pub(super) name: String,
    /// What the name would be if it were a module itself.
    pub(super) module: Option<String>,
}

impl Surface {
    /// The surface of facts.
    pub(crate) fn of(facts: &ParsedFile) -> Self {
        let text = |name: Name| facts.name(name).to_owned();
        let mut modules: FxHashMap<Name, FxHashMap<&str, Name>> = FxHashMap::default();
        if facts.exports.iter().any(|export| matches!(export.value, ExportValue::From { .. })) {
            for specifier in &facts.mocks {
                modules.entry(*specifier).or_default();
            }
            for import in &facts.imports {
                let names = import.names.iter().zip(&import.modules);
                let names = names.map(|(name, module)| (facts.name(*name), *module));
                modules.entry(import.specifier).or_default().extend(names);
            }
        }
        let exported = |(at, export): (usize, &ExportFact)| Exported {
            name: text(export.name),
            at,
            from: match export.value {
                ExportValue::From { specifier, name } => modules.get(&specifier).map(|modules| Taken {
                    specifier: text(specifier),
                    name: text(name),
                    module: modules.get(facts.name(name)).map(|module| text(*module)),
                }),
                _ => None,
            },
        };
        let mut exports: Vec<_> = facts.exports.iter().enumerate().map(exported).collect();
        exports.sort_by(|a, b| a.name.cmp(&b.name));
        Self { package: facts.package.map(text), exports }
    }

    /// The names that are exported; of a name that is several times, each.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.exports.iter().map(|export| export.name.as_str())
    }

    /// The exports of a name, in source order.
    pub(super) fn named(&self, name: &str) -> &[Exported] {
        let from = self.exports.partition_point(|export| export.name.as_str() < name);
        let rest = &self.exports[from..];
        &rest[..rest.partition_point(|export| export.name == name)]
    }
}
