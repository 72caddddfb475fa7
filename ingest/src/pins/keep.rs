//! How much is kept of what lockfiles list: of a hundred thousand packages the few that somebody will ask for.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

/// Versions, workspaces and importers that are kept of all lockfiles together. Large repositories have thousands.
const MOST: usize = 200_000;
/// Why a file beyond that pins nothing.
const TOO_MANY: &str = "with those before it, it lists more than is kept";

/// What is kept, in words.
pub(crate) fn limits() -> String {
    format!("{MOST} versions of vendors' packages, workspaces and importers together")
}

/// Which packages are asked for, and how many entries of them may still be kept.
pub(super) struct Keep<'w> {
    is_wanted: &'w dyn Fn(&str) -> bool,
    left: Cell<usize>,
    was_cut: Cell<bool>,
}

impl<'w> Keep<'w> {
    pub(super) fn new(is_wanted: &'w dyn Fn(&str) -> bool) -> Self {
        Self { is_wanted, left: Cell::new(MOST), was_cut: Cell::new(false) }
    }

    /// Whether a package is asked for.
    pub(super) fn is_wanted(&self, package: &str) -> bool {
        (self.is_wanted)(package)
    }

    /// Keeps one entry more; fails where there is no room for it.
    pub(super) fn one_more(&self) -> Result<(), String> {
        let left = self.left.get().checked_sub(1).ok_or_else(|| self.cut())?;
        self.left.set(left);
        Ok(())
    }

    /// Why a file of which there is too much pins nothing.
    pub(super) fn cut(&self) -> String {
        self.was_cut.set(true);
        TOO_MANY.to_owned()
    }

    /// Whether the file that was read last listed too much.
    pub(super) fn was_cut(&self) -> bool {
        self.was_cut.replace(false)
    }

    /// How much room there is, to go back to where a file is read a second time.
    pub(super) const fn room(&self) -> &Cell<usize> {
        &self.left
    }
}

/// Entries of an object in a lockfile.
#[derive(Debug)]
pub(super) struct Listed<T> {
    /// Those that are wanted.
    pub(super) wanted: HashMap<String, T>,
    /// Whether there are none at all.
    pub(super) is_empty: bool,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self { wanted: HashMap::new(), is_empty: true }
    }
}

/// Reads the entries of an object without holding those that are not wanted.
pub(super) struct Entries<'k, 'w, T> {
    keep: &'k Keep<'w>,
    is_kept: fn(&Keep<'w>, &str) -> bool,
    entry: PhantomData<T>,
}

impl<'k, 'w, T> Entries<'k, 'w, T> {
    /// `is_kept` says which keys have entries that are wanted.
    pub(super) const fn of(keep: &'k Keep<'w>, is_kept: fn(&Keep<'w>, &str) -> bool) -> Self {
        Self { keep, is_kept, entry: PhantomData }
    }
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for Entries<'_, '_, T> {
    type Value = Listed<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Listed<T>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<'_, '_, T> {
    type Value = Listed<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of entries")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Listed<T>, A::Error> {
        let mut listed = Listed::default();
        while let Some(key) = map.next_key::<String>()? {
            listed.is_empty = false;
            if (self.is_kept)(self.keep, &key) {
                self.keep.one_more().map_err(A::Error::custom)?;
                listed.wanted.insert(key, map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(listed)
    }
}
