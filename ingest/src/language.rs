//! The languages whose files are read.

use serde::{Deserialize, Serialize};

/// A language, as the name of a file tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Language {
    /// `.ts`, `.mts`, `.cts`.
    #[serde(rename = "typescript")]
    TypeScript,
    /// `.tsx`.
    Tsx,
    /// `.js`, `.mjs`, `.cjs`.
    #[serde(rename = "javascript")]
    JavaScript,
    /// `.jsx`.
    Jsx,
    /// The scripts of a `.vue` component.
    Vue,
    /// The scripts of a `.svelte` component.
    Svelte,
    /// `.py`.
    Python,
    /// `.go`.
    Go,
    /// `.rs`.
    Rust,
}

/// Languages that import each other's files, by one system of modules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Family {
    /// TypeScript and JavaScript, in components too.
    #[default]
    Script,
    /// Python.
    Python,
    /// Go.
    Go,
    /// Rust.
    Rust,
}

impl Family {
    /// What stands between the names of modules in modules.
    pub const fn separator(self) -> &'static str {
        match self {
            Self::Script | Self::Go => "/",
            Self::Python => ".",
            Self::Rust => "::",
        }
    }
}

impl Language {
    /// The system of modules that a language is of.
    pub const fn family(self) -> Family {
        match self {
            Self::Python => Family::Python,
            Self::Go => Family::Go,
            Self::Rust => Family::Rust,
            _ => Family::Script,
        }
    }

    /// The language of a file by the end of its name; `None` for what is not indexed.
    pub fn of_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next()?;
        let (stem, extension) = name.rsplit_once('.')?;
        if stem.is_empty() {
            return None;
        }
        match extension {
            "ts" | "mts" | "cts" => Some(Self::TypeScript),
            "tsx" => Some(Self::Tsx),
            "js" | "mjs" | "cjs" => Some(Self::JavaScript),
            "jsx" => Some(Self::Jsx),
            "vue" => Some(Self::Vue),
            "svelte" => Some(Self::Svelte),
            "py" => Some(Self::Python),
            "go" => Some(Self::Go),
            "rs" => Some(Self::Rust),
            _ => None,
        }
    }

    /// Whether a file of it is a component, of which the scripts are read.
    pub const fn is_component(self) -> bool {
        matches!(self, Self::Vue | Self::Svelte)
    }

    /// The word used in snapshots.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TypeScript => "typescript",
            Self::Tsx => "tsx",
            Self::JavaScript => "javascript",
            Self::Jsx => "jsx",
            Self::Vue => "vue",
            Self::Svelte => "svelte",
            Self::Python => "python",
            Self::Go => "go",
            Self::Rust => "rust",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Language;

    #[test]
    fn a_name_tells_its_language() {
        for (path, language) in [
            ("src/a.ts", Some(Language::TypeScript)),
            ("src/a.d.ts", Some(Language::TypeScript)),
            ("a.mts", Some(Language::TypeScript)),
            ("a.tsx", Some(Language::Tsx)),
            ("a.cjs", Some(Language::JavaScript)),
            ("a.jsx", Some(Language::Jsx)),
            ("A.vue", Some(Language::Vue)),
            ("+page.svelte", Some(Language::Svelte)),
            ("a.svelte.ts", Some(Language::TypeScript)),
            ("a/b.py", Some(Language::Python)),
            ("b_test.go", Some(Language::Go)),
            ("src/a.rs", Some(Language::Rust)),
            ("a.pyi", None),
            ("a.json", None),
            ("dir.ts/readme", None),
            (".ts", None),
        ] {
            assert_eq!(Language::of_path(path), language, "{path}");
        }
    }
}
