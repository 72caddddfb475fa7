//! What a changelog says of types, as far as it matters: whether everything that was good before still is.
//!
//! `literal('card')`, `enum('card'|'ideal')`, `enum` (values not listed), `string`, `string | null`, `emptyable(string)`,
//! and names that mean only themselves.

use std::collections::BTreeSet;

/// The values that a type allows.
#[derive(Debug, Default)]
struct Values {
    any_string: bool,
    /// An enum whose values are not listed.
    some_strings: bool,
    literals: BTreeSet<String>,
    /// Types that mean only themselves: `null`, `DateTime`, `Price`.
    others: BTreeSet<String>,
}

/// How a type changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Difference {
    /// Every value of before is still allowed, and more; `literals`: the new ones are values of an enum.
    Wider {
        /// Whether only values of an enum came.
        literals: bool,
    },
    /// Some values of before are gone, none came.
    Narrower,
    /// Anything else, and whatever is not understood.
    Other,
}

/// Compares two types as a changelog writes them.
pub(super) fn difference(old: &str, new: &str) -> Difference {
    let (old, new) = (Values::parse(old), Values::parse(new));
    if new.holds(&old) {
        let literals = new.any_string == old.any_string && new.others == old.others;
        Difference::Wider { literals }
    } else if old.holds(&new) {
        Difference::Narrower
    } else {
        Difference::Other
    }
}

impl Values {
    fn parse(text: &str) -> Self {
        let mut values = Self::default();
        for part in alternatives(text.trim().trim_end_matches('.').trim_matches('`')) {
            values.add(part.trim());
        }
        values
    }

    fn add(&mut self, part: &str) {
        let inside = |name: &str| part.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
        if let Some(inner) = inside("literal").or_else(|| inside("enum")) {
            alternatives(inner).for_each(|literal| self.add(literal.trim()));
        } else if let Some(inner) = inside("emptyable") {
            self.add(inner);
            self.literals.insert(String::new());
        } else if let Some(inner) = inside("nullable") {
            alternatives(inner).for_each(|alternative| self.add(alternative.trim()));
            self.others.insert("null".to_owned());
        } else if let Some(literal) = part.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
            self.literals.insert(literal.to_owned());
        } else if part == "string" {
            self.any_string = true;
        } else if part == "enum" {
            self.some_strings = true;
        } else if !part.is_empty() {
            self.others.insert(part.to_owned());
        }
    }

    /// Whether every value of `other` is one of these. An enum that is not listed is taken to hold the literals that
    /// it replaced: no changelog writes of an enum that came and of values that went in one sentence.
    fn holds(&self, other: &Self) -> bool {
        let literals = self.any_string || self.some_strings || other.literals.is_subset(&self.literals);
        let strings = self.any_string || !other.any_string;
        let unlisted = self.any_string || self.some_strings || !other.some_strings;
        literals && strings && unlisted && other.others.is_subset(&self.others)
    }
}

/// The parts between bars that are not in parentheses or quotes.
fn alternatives(text: &str) -> impl Iterator<Item = &str> {
    let (mut depth, mut quoted) = (0_u32, false);
    text.split(move |c| {
        match c {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == '|' && depth == 0 && !quoted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_narrower_and_other() {
        let wider = |literals| Difference::Wider { literals };
        let cases = [
            ("`literal('none')`", "`enum('none'|'off_session')`", wider(true)),
            ("`literal('card')`", "`enum`", wider(true)),
            ("`enum('other'|'self')`", "`string`", wider(false)),
            ("`DateTime`", "`DateTime | enum('max'|'min')`", wider(true)),
            ("`string`", "`string | null`", wider(false)),
            ("`string`", "`emptyable(string)`", wider(true)),
            ("`string | null`", "`string`", Difference::Narrower),
            ("`nullable(string)`", "`string`", Difference::Narrower),
            ("`string | null`", "`nullable(string)`", wider(true)),
            ("`string`", "`'cad' | 'usd'`.", Difference::Narrower),
            ("`string`", "`enum`", Difference::Narrower),
            ("`string`", "`enum('a'|'b')`", Difference::Narrower),
            ("`string`", "`expandable(Price)`", Difference::Other),
            ("`enum('now'|'unchanged')`", "`billing_cycle_anchor_param`", Difference::Other),
            ("`enum('a'|'b')`", "`enum('b'|'c')`", Difference::Other),
            ("`a(b|c)`", "`a(b)`", Difference::Other),
        ];
        for (old, new, expected) in cases {
            assert_eq!(difference(old, new), expected, "{old} -> {new}");
        }
    }
}
