//! Which keys an argument shows, and which literals of it are worth a digest.

use std::collections::{BTreeMap, BTreeSet};

use super::eval::Evaluator;
use super::value::{FileId, Value};
use crate::parse::{Expr, ExprId, Property};

/// Literals in literals, followed this far.
const DEEPEST: u32 = 8;
/// Keys of one argument.
const MOST_KEYS: usize = 200;

/// The keys of an argument.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Keys {
    /// Dotted; the elements of a list are named like the list itself.
    pub(super) names: BTreeSet<String>,
    /// Whether some are hidden.
    pub(super) hidden: bool,
    /// Digests of literals by key.
    pub(super) literals: BTreeMap<String, u64>,
}

impl Evaluator<'_, '_> {
    /// The keys that an argument shows.
    pub(super) fn keys(&mut self, file: FileId, expr: ExprId) -> Keys {
        let mut keys = Keys::default();
        self.collect(file, expr, "", 0, &mut keys);
        keys
    }

    fn collect(&mut self, file: FileId, expr: ExprId, prefix: &str, depth: u32, out: &mut Keys) {
        let parsed = self.world.file(file).parsed;
        if depth > DEEPEST || out.names.len() > MOST_KEYS || !self.may_look() {
            out.hidden = true;
            return;
        }
        match parsed.expr(expr) {
            Expr::Object(properties) => {
                for property in properties {
                    match property {
                        Property::Named(name, value) => {
                            let name = parsed.name(*name);
                            let key = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
                            self.nested(file, *value, &key, depth, out);
                            out.names.insert(key);
                        }
                        Property::Spread(value) => self.collect(file, *value, prefix, depth + 1, out),
                        Property::Computed => out.hidden = true,
                    }
                }
            }
            Expr::Either(left, right) => {
                self.collect(file, *left, prefix, depth + 1, out);
                self.collect(file, *right, prefix, depth + 1, out);
            }
            Expr::Guarded(value) | Expr::Cast(value, _) => self.collect(file, *value, prefix, depth + 1, out),
            // Several of what one argument may be (rows to insert).
            Expr::Array(items) => {
                for item in items {
                    self.collect(file, item.value, prefix, depth + 1, out);
                }
            }
            Expr::Null | Expr::Literal(_) | Expr::Text(..) | Expr::Template(_) => {}
            _ => match self.expr(file, expr) {
                Value::Object(there, object) if (there, object) != (file, expr) => {
                    self.collect(there, object, prefix, depth + 1, out);
                }
                Value::Null => {}
                _ => out.hidden = true,
            },
        }
    }

    /// Keys below a key; what is not a literal there hides nothing of the level above.
    fn nested(&mut self, file: FileId, expr: ExprId, key: &str, depth: u32, out: &mut Keys) {
        if depth > DEEPEST || !self.may_look() {
            return;
        }
        let parsed = self.world.file(file).parsed;
        match parsed.expr(expr) {
            Expr::Object(_) => self.nested_object(file, expr, key, depth, out),
            Expr::Array(items) => {
                for item in items.iter().filter(|item| !item.spread) {
                    self.nested(file, item.value, key, depth + 1, out);
                }
            }
            Expr::Text(_, digest) | Expr::Literal(Some(digest)) => {
                out.literals.insert(key.to_owned(), *digest);
            }
            Expr::Cast(value, _) | Expr::Guarded(value) => self.nested(file, *value, key, depth + 1, out),
            Expr::Either(left, right) => {
                self.nested(file, *left, key, depth + 1, out);
                self.nested(file, *right, key, depth + 1, out);
            }
            Expr::Binding(_) => {
                if let Value::Object(there, object) = self.expr(file, expr) {
                    self.nested_object(there, object, key, depth, out);
                }
            }
            _ => {}
        }
    }

    fn nested_object(&mut self, file: FileId, expr: ExprId, key: &str, depth: u32, out: &mut Keys) {
        let hidden = out.hidden;
        self.collect(file, expr, key, depth + 1, out);
        out.hidden = hidden;
    }

    /// The value under a key of an object literal, dotted where nested; the last one written counts.
    pub(super) fn option(&mut self, file: FileId, object: ExprId, key: &str) -> Option<(FileId, ExprId)> {
        self.option_within(file, object, key, 0)
    }

    fn option_within(&mut self, file: FileId, object: ExprId, key: &str, depth: u32) -> Option<(FileId, ExprId)> {
        if depth > DEEPEST || !self.may_look() {
            return None;
        }
        let (mut file, mut at) = (file, object);
        for name in key.split('.') {
            let (there, object) = self.object(file, at)?;
            let parsed = self.world.file(there).parsed;
            let Expr::Object(properties) = parsed.expr(object) else { return None };
            let mut found = None;
            for property in properties {
                match property {
                    Property::Named(known, value) if parsed.name(*known) == name => found = Some((there, *value)),
                    Property::Spread(value) => {
                        if let Some(inner) = self.object(there, *value)
                            && let Some(value) = self.option_within(inner.0, inner.1, name, depth + 1)
                        {
                            found = Some(value);
                        }
                    }
                    _ => {}
                }
            }
            (file, at) = found?;
        }
        Some((file, at))
    }

    /// The object literal that an expression is, also through constants.
    pub(super) fn object(&mut self, file: FileId, expr: ExprId) -> Option<(FileId, ExprId)> {
        match self.expr(file, expr) {
            Value::Object(file, expr) => Some((file, expr)),
            // `new Configuration({ … })` holds its options.
            Value::Vendor(vendor) => {
                let (file, expr) = vendor.made?;
                let Expr::Call { arguments, .. } = self.world.file(file).parsed.expr(expr) else { return None };
                let first = arguments.first()?.value;
                match self.expr(file, first) {
                    Value::Object(file, expr) => Some((file, expr)),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}
