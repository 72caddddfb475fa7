//! One word that options give, such as a method: what it is, or that it is left out, so that what stands for a missing
//! one counts.

use super::eval::Evaluator;
use super::text::known;
use super::value::FileId;
use crate::parse::{BindingId, Expr, ExprId, Origin, Step};

/// Words of words, followed this far.
const DEEPEST: u32 = 12;

/// A word, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    Known(String),
    /// Nothing is given.
    Absent,
    Hidden,
}

impl Word {
    fn or(self, other: impl FnOnce() -> Self) -> Self {
        if self == Self::Absent { other() } else { self }
    }
}

impl Evaluator<'_, '_> {
    /// The word that an expression is.
    pub(super) fn word(&mut self, file: FileId, expr: ExprId) -> Word {
        self.word_within(file, expr, 0)
    }

    fn word_within(&mut self, file: FileId, expr: ExprId, depth: u32) -> Word {
        if depth > DEEPEST || !self.may_look() {
            return Word::Hidden;
        }
        let parsed = self.world.file(file).parsed;
        match parsed.expr(expr) {
            Expr::Null => Word::Absent,
            Expr::Cast(value, _) => self.word_within(file, *value, depth + 1),
            Expr::Either(left, right) => {
                // `options.method || "GET"`, where the branches of a condition would be two words.
                let is_part = matches!(parsed.expr(*left), Expr::Member(..) | Expr::Binding(_));
                let right = *right;
                match self.word_within(file, *left, depth + 1).or(|| self.word_within(file, right, depth + 1)) {
                    word if is_part => word,
                    _ => self.word_of_text(file, expr),
                }
            }
            Expr::Call { callee, construct: false, .. } => match parsed.expr(*callee) {
                Expr::Member(object, name)
                    if matches!(parsed.name(*name), "toUpperCase" | "toLowerCase" | "trim" | "toString") =>
                {
                    self.word_within(file, *object, depth + 1)
                }
                _ => self.word_of_text(file, expr),
            },
            Expr::Member(object, name) => {
                if self.is_left_out(file, *object) {
                    return Word::Absent;
                }
                match self.word_at(file, *object, parsed.name(*name), depth) {
                    Word::Hidden => self.word_of_text(file, expr),
                    word => word,
                }
            }
            Expr::Binding(binding) => match self.word_of_name(file, *binding, depth) {
                Word::Hidden => self.word_of_text(file, expr),
                word => word,
            },
            _ => self.word_of_text(file, expr),
        }
    }

    fn word_of_text(&mut self, file: FileId, expr: ExprId) -> Word {
        match self.texts_of(file, expr).as_slice() {
            [text] => known(text).map_or(Word::Hidden, Word::Known),
            _ => Word::Hidden,
        }
    }

    /// The word under a key of an object.
    fn word_at(&mut self, file: FileId, object: ExprId, key: &str, depth: u32) -> Word {
        if self.object(file, object).is_none() {
            return Word::Hidden;
        }
        let found = self.options(file, object, key);
        match found.values.as_slice() {
            [] if !found.hidden => Word::Absent,
            [(there, value)] if !found.may_be_absent && !found.hidden => self.word_within(*there, *value, depth + 1),
            _ => Word::Hidden,
        }
    }

    /// The word that a name holds which is a parameter, or a part of one.
    fn word_of_name(&mut self, file: FileId, binding: BindingId, depth: u32) -> Word {
        let parsed = self.world.file(file).parsed;
        let Some(it) = parsed.bindings.get(binding as usize) else { return Word::Hidden };
        if it.writes.iter().any(|write| !write.fallback) || !self.changes_of_binding(file, binding).is_empty() {
            return Word::Hidden;
        }
        let word = match &it.origin {
            Origin::Parameter(function, at, steps) if self.frame_of(file, *function).is_some() => {
                let default = parsed.functions.get(*function as usize).and_then(|it| it.parameters.get(*at as usize));
                let default = default.and_then(|parameter| parameter.default);
                let mut word = match self.argument(file, *function, *at) {
                    Some(given) => {
                        self.outside(&given, |this| this.word_in(given.file, given.expr, steps, file, depth))
                    }
                    None if self.leaves_out(file, *function, *at) || self.defaulted(file, *function, *at).is_some() => {
                        Word::Absent
                    }
                    None => Word::Hidden,
                };
                if let Some(default) = default
                    && word == Word::Absent
                {
                    word = self.word_in(file, default, steps, file, depth);
                }
                word
            }
            Origin::Value(value, steps) => {
                if self.is_left_out(file, *value) && !steps.is_empty() {
                    Word::Absent
                } else {
                    self.word_in(file, *value, steps, file, depth)
                }
            }
            _ => Word::Hidden,
        };
        let fallback = it.writes.iter().find(|write| write.fallback).map(|write| write.value);
        word.or(|| fallback.map_or(Word::Absent, |value| self.word_within(file, value, depth + 1)))
    }

    /// The word at the end of a pattern's steps, whose names are of the file of the pattern.
    fn word_in(&mut self, file: FileId, value: ExprId, steps: &[Step], pattern: FileId, depth: u32) -> Word {
        let names = self.world.file(pattern).parsed;
        match steps {
            [] => self.word_within(file, value, depth + 1),
            [Step::Member(name)] => match *self.world.file(file).parsed.expr(value) {
                Expr::Null => Word::Absent,
                _ => self.word_at(file, value, names.name(*name), depth),
            },
            _ => Word::Hidden,
        }
    }
}
