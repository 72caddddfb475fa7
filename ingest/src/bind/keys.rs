//! Which keys an argument shows, and which literals of it are worth a digest.

use std::collections::{BTreeMap, BTreeSet};

use super::changes::{Change, is_object_assign};
use super::eval::Evaluator;
use super::value::{Collection, FileId, Value};
use crate::parse::{Expr, ExprId, Origin, Property};

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

/// An argument in the file that gives it.
type Given = (FileId, ExprId);

/// The values that a key may have.
#[derive(Debug, Clone, Default)]
pub(super) struct Options {
    /// Alternatives.
    pub(super) values: Vec<(FileId, ExprId)>,
    /// Whether it may be left out.
    pub(super) may_be_absent: bool,
    /// Whether something that is not shown may hold another value of it.
    pub(super) hidden: bool,
    /// Whether some are assigned after the object was made.
    pub(super) changed: bool,
}

/// The expression of any file that nothing is known of.
const NOT_KNOWN: ExprId = 0;

impl<'p> Evaluator<'p, '_> {
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
        if let Some((known, given)) = self.known_keys(file, expr) {
            let dotted = |key: &String| if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            out.names.extend(known.iter().map(dotted));
            if let Some((there, given)) = given {
                self.collect(there, given, prefix, depth + 1, out);
            }
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
                self.collect_changes(file, expr, prefix, depth, out);
            }
            Expr::Call { callee, arguments, construct: false, .. } if is_object_assign(parsed, *callee) => {
                for argument in arguments {
                    self.collect(file, argument.value, prefix, depth + 1, out);
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
            _ if self.collect_made(file, expr, prefix, depth, out) => {}
            _ => {
                for value in self.expr(file, expr).alternatives() {
                    match *value {
                        Value::Object(there, object) if (there, object) != (file, expr) => {
                            self.collect(there, object, prefix, depth + 1, out);
                        }
                        Value::Each(Collection::List, ref item) => self.collect_items(item, prefix, depth, out),
                        Value::Null => {}
                        _ => out.hidden = true,
                    }
                }
            }
        }
    }

    /// The keys of what a function of the repository makes for one call: what others give it is theirs. Whether it is such
    /// a call.
    fn collect_made(&mut self, file: FileId, expr: ExprId, prefix: &str, depth: u32, out: &mut Keys) -> bool {
        let (file, expr) = self.initial(file, expr).unwrap_or((file, expr));
        let parsed = self.world.file(file).parsed;
        let expr = match parsed.expr(expr) {
            Expr::Await(inner) => *inner,
            _ => expr,
        };
        let Expr::Call { callee, arguments, construct: false, call } = parsed.expr(expr) else { return false };
        if parsed.calls.get(*call as usize).is_none_or(|call| call.keywords.is_some()) {
            return false;
        }
        let Value::Function(there, function) = self.expr(file, *callee) else { return false };
        let Some(it) = self.world.file(there).parsed.functions.get(function as usize) else { return false };
        if it.returns.is_empty() || self.frame_of(there, function).is_some() {
            return false;
        }
        let made = self.world.file(there).parsed;
        for returned in &it.returns {
            // What it was given may have got more keys on the way.
            let is_given = matches!(made.expr(*returned), Expr::Binding(binding)
                if made.bindings.get(*binding as usize).is_some_and(|it| matches!(it.origin, Origin::Parameter(..))));
            out.hidden |= is_given;
            self.inside((there, function), file, arguments, |this| {
                this.collect(there, *returned, prefix, depth + 1, out);
            });
        }
        true
    }

    /// The keys that a package puts into an object which a member of something of it holds, or gives beside an argument:
    /// `context.repo`, `context.issue({ body })`.
    fn known_keys(&mut self, file: FileId, expr: ExprId) -> Option<(&'p [String], Option<Given>)> {
        let (file, expr) = self.initial(file, expr).unwrap_or((file, expr));
        let parsed = self.world.file(file).parsed;
        let (member, given) = match parsed.expr(expr) {
            Expr::Member(..) => (expr, None),
            Expr::Call { callee, arguments, construct: false, .. } if arguments.len() < 2 => {
                (*callee, arguments.first().map(|argument| (file, argument.value)))
            }
            _ => return None,
        };
        let Expr::Member(object, name) = *parsed.expr(member) else { return None };
        let Value::Vendor(vendor) = self.expr(file, object) else { return None };
        let shape = self.catalog.shape(vendor.shape);
        let keys = shape.keys.get(parsed.name(name)).filter(|_| vendor.chain.is_empty())?;
        Some((keys, given))
    }

    /// The keys of what a list is made of.
    fn collect_items(&mut self, item: &Value, prefix: &str, depth: u32, out: &mut Keys) {
        for item in item.alternatives() {
            match *item {
                Value::Object(there, object) => self.collect(there, object, prefix, depth + 1, out),
                _ => out.hidden = true,
            }
        }
    }

    /// Keys that are assigned to an object after it is made.
    fn collect_changes(&mut self, file: FileId, object: ExprId, prefix: &str, depth: u32, out: &mut Keys) {
        let parsed = self.world.file(file).parsed;
        for change in self.changes_of_object(file, object) {
            match change {
                Change::Spread(source) => self.collect(file, source, prefix, depth + 1, out),
                Change::Member(_, write) if write.fallback => {}
                Change::Member(path, write) => {
                    let mut key = prefix.to_owned();
                    let mut shown = true;
                    for name in &path {
                        let Some(name) = name else {
                            // `metadata[key] = …` hides nothing of the level above.
                            out.hidden |= key == prefix;
                            shown = false;
                            break;
                        };
                        if !key.is_empty() {
                            key.push('.');
                        }
                        key.push_str(parsed.name(*name));
                        out.names.insert(key.clone());
                    }
                    if shown {
                        self.nested(file, write.value, &key, depth + 1, out);
                    }
                }
            }
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
                for value in self.expr(file, expr).alternatives() {
                    if let Value::Object(there, object) = *value {
                        self.nested_object(there, object, key, depth, out);
                    }
                    self.nested_items(value, key, depth, out);
                }
            }
            // `list.map((item) => ({ … }))`
            Expr::Call { construct: false, .. } => {
                let value = self.expr(file, expr);
                self.nested_items(&value, key, depth, out);
            }
            _ => {}
        }
    }

    fn nested_items(&mut self, value: &Value, key: &str, depth: u32, out: &mut Keys) {
        if let Value::Each(Collection::List, item) = value {
            let hidden = out.hidden;
            self.collect_items(item, key, depth, out);
            out.hidden = hidden;
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
        let found = self.options_within(file, object, key, depth)?;
        match found.values.as_slice() {
            [] => None,
            [.., last] if !found.changed => Some(*last),
            [only] if !found.may_be_absent => Some(*only),
            _ => Some((file, NOT_KNOWN)),
        }
    }

    /// Every value that a key of an object literal may have.
    pub(super) fn options(&mut self, file: FileId, object: ExprId, key: &str) -> Options {
        self.options_within(file, object, key, 0).unwrap_or_default()
    }

    /// `None` where the object is not shown.
    fn options_within(&mut self, file: FileId, object: ExprId, key: &str, depth: u32) -> Option<Options> {
        if depth > DEEPEST || !self.may_look() {
            return None;
        }
        let (mut found, mut at) = (Options::default(), vec![(file, object)]);
        for name in key.split('.') {
            let mut next = Options { may_be_absent: found.may_be_absent, ..Options::default() };
            for (file, value) in std::mem::take(&mut at) {
                // Each of several objects (`test ? { … } : { … }`) may be the one.
                for (there, object) in self.objects(file, value) {
                    let mut one = Options::default();
                    self.values_of(there, object, name, depth, &mut one);
                    next.values.extend(one.values);
                    next.may_be_absent |= one.may_be_absent;
                    next.hidden |= one.hidden;
                    next.changed |= one.changed;
                }
            }
            at.clone_from(&next.values);
            next.changed |= found.changed;
            next.hidden |= found.hidden;
            found = next;
        }
        Some(found)
    }

    fn values_of(&mut self, file: FileId, object: ExprId, name: &str, depth: u32, out: &mut Options) {
        let parsed = self.world.file(file).parsed;
        let Expr::Object(properties) = parsed.expr(object) else { return };
        let mut absent = true;
        for property in properties {
            match property {
                Property::Named(known, value) if parsed.name(*known) == name => {
                    out.values = vec![(file, *value)];
                    absent = false;
                }
                Property::Spread(value) => {
                    let spread = self.expr(file, *value);
                    let mut perhaps = self.is_one_of_several(file, *value) || spread.alternatives().len() > 1;
                    let mut values = Vec::new();
                    for alternative in spread.alternatives() {
                        let Value::Object(there, object) = *alternative else {
                            out.hidden |= !matches!(alternative, Value::Null);
                            continue;
                        };
                        let Some(inner) = self.options_within(there, object, name, depth + 1) else { continue };
                        perhaps |= inner.may_be_absent;
                        out.hidden |= inner.hidden;
                        values.extend(inner.values);
                    }
                    if !values.is_empty() && !perhaps {
                        out.values.clear();
                        absent = false;
                    }
                    out.values.extend(values);
                }
                _ => {}
            }
        }
        for change in self.changes_of_object(file, object) {
            match change {
                Change::Member(path, write) => match path.as_slice() {
                    [Some(only)] if parsed.name(*only) == name => {
                        out.changed = true;
                        if write.certain && !write.appends {
                            out.values.clear();
                            absent = false;
                        }
                        out.values.push((file, if write.appends { NOT_KNOWN } else { write.value }));
                    }
                    [None] => out.hidden = true,
                    _ => {}
                },
                Change::Spread(source) => {
                    let inner = self.options_within(file, source, name, depth + 1);
                    out.hidden |= inner.is_none() || self.object(file, source).is_none();
                    out.values.extend(inner.unwrap_or_default().values);
                }
            }
        }
        out.may_be_absent |= absent;
    }

    /// Whether an expression is what a condition makes of it, also through a constant.
    fn is_one_of_several(&self, file: FileId, expr: ExprId) -> bool {
        let (there, expr) = self.initial(file, expr).unwrap_or((file, expr));
        matches!(self.world.file(there).parsed.expr(expr), Expr::Guarded(_) | Expr::Either(..))
    }

    fn objects(&mut self, file: FileId, expr: ExprId) -> Vec<(FileId, ExprId)> {
        if let Value::Many(values) = self.expr(file, expr) {
            let object = |value: &Value| match *value {
                Value::Object(there, object) => Some((there, object)),
                _ => None,
            };
            return values.iter().filter_map(object).collect();
        }
        self.object(file, expr).into_iter().collect()
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
