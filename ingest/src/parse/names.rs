//! The names of a file, once each, in one text: thousands of files are read back from a cache or a parse child at once.

use serde::{Deserialize, Serialize};

/// Texts by position.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Names {
    text: String,
    /// Where each ends.
    ends: Vec<u32>,
}

impl Names {
    /// How many.
    pub const fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Adds one behind the others. A text beyond 4 GiB, which no source is, would be cut.
    pub fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
    }

    /// The text at a position; nothing where there is none.
    pub fn get(&self, at: usize) -> Option<&str> {
        let end = *self.ends.get(at)?;
        let start = at.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.text.get(start as usize..end as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn names_are_found_by_their_position() {
        let mut names = Names::default();
        for name in ["a", "", "déjà", "b"] {
            names.push(name);
        }
        let all: Vec<_> = (0..5).map(|at| names.get(at)).collect();
        assert_eq!(all, [Some("a"), Some(""), Some("déjà"), Some("b"), None]);
        assert_eq!(names.len(), 4);
    }
}
