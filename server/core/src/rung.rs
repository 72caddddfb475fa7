//! How a binding was established: the ladder `static` < `resolved` < `observed`, and `unattributed`, which is history.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A rung of the ladder. Nothing may claim one that nothing established (promise 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// Derived from syntax and the catalog; not confirmed.
    Static,
    /// Confirmed by the TypeScript compiler against the vendor's own declarations.
    Resolved,
    /// Confirmed by a production span from this call site.
    Observed,
}

impl Rung {
    /// The word used in answers and rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Resolved => "resolved",
            Self::Observed => "observed",
        }
    }
}

/// What a stored row says of its rung. `Unattributed` is found on rows written before the column existed; it passes
/// through answers verbatim and no code writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BindingSource {
    /// The rung that established the binding.
    Rung(Rung),
    /// A historic row: nobody wrote down how it was established.
    Unattributed,
}

impl BindingSource {
    /// The word used in answers and rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rung(rung) => rung.as_str(),
            Self::Unattributed => "unattributed",
        }
    }

    /// What an envelope says of several rows: their common value, or nothing where they disagree or are none.
    pub fn agreed(sources: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut sources = sources.into_iter();
        let first = sources.next()?;
        sources.all(|source| source == first).then_some(first)
    }
}

impl fmt::Display for BindingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that is neither a rung nor `unattributed`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a binding source")]
pub struct BadBindingSource(String);

impl FromStr for BindingSource {
    type Err = BadBindingSource;

    fn from_str(text: &str) -> Result<Self, BadBindingSource> {
        match text {
            "static" => Ok(Self::Rung(Rung::Static)),
            "resolved" => Ok(Self::Rung(Rung::Resolved)),
            "observed" => Ok(Self::Rung(Rung::Observed)),
            "unattributed" => Ok(Self::Unattributed),
            other => Err(BadBindingSource(crate::text::shown(other, 40))),
        }
    }
}

impl Serialize for BindingSource {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for BindingSource {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder_is_ordered_and_a_mixed_page_has_no_common_rung() {
        assert!(Rung::Static < Rung::Resolved && Rung::Resolved < Rung::Observed);
        let fixed = BindingSource::Rung(Rung::Static);
        assert_eq!(BindingSource::agreed([fixed, fixed]), Some(fixed));
        assert_eq!(BindingSource::agreed([fixed, BindingSource::Unattributed]), None);
        assert_eq!(BindingSource::agreed([]), None);
    }
}
