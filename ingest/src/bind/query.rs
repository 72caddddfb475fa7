//! Which keys a request's URL shows in its query.

use super::eval::Evaluator;
use super::keys::Keys;
use super::text::is_nothing;
use super::value::{FileId, Value};
use crate::parse::{Expr, ExprId, Origin, Step, TextPart};

/// Texts in texts, followed this far.
const DEEPEST: u32 = 12;
/// Longest key, in bytes.
const LONGEST: usize = 64;

/// Where in a URL we are.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// Before the query; whether a value here is a segment (or all so far), and not the tail of one.
    Path(bool),
    /// In a key, with what is known of it.
    Key(String),
    /// In a value.
    Value,
    /// Behind the query.
    Behind,
}

/// A query while it is read.
#[derive(Debug, Clone)]
struct Query {
    place: Place,
    keys: Keys,
}

impl Query {
    fn text(&mut self, text: &str) {
        for c in text.chars() {
            match (&mut self.place, c) {
                (Place::Behind, _) => return,
                (_, '#') => {
                    self.finish_key();
                    self.place = Place::Behind;
                }
                (Place::Path(_), '?') => self.place = Place::Key(String::new()),
                (Place::Path(segment), c) => *segment = c == '/',
                (Place::Key(_), '=') => {
                    self.finish_key();
                    self.place = Place::Value;
                }
                (Place::Key(_) | Place::Value, '&') => {
                    self.finish_key();
                    self.place = Place::Key(String::new());
                }
                (Place::Key(key), c) => key.push(c),
                (Place::Value, _) => {}
            }
        }
    }

    fn finish_key(&mut self) {
        if let Place::Key(key) = &self.place
            && !key.is_empty()
        {
            if key.len() <= LONGEST {
                self.keys.names.insert(key.clone());
            } else {
                self.keys.hidden = true;
            }
        }
    }

    /// A value of which nothing is known.
    fn unknown(&mut self) {
        match &self.place {
            Place::Path(true) | Place::Value | Place::Behind => {}
            // The tail of a segment may be a query.
            Place::Path(false) | Place::Key(_) => self.keys.hidden = true,
        }
        if let Place::Key(_) = self.place {
            self.place = Place::Value;
        }
        if let Place::Path(segment) = &mut self.place {
            *segment = false;
        }
    }

    fn or(&mut self, other: Self) {
        self.keys.hidden |= other.keys.hidden || self.place != other.place && other.place != Place::Path(false);
        self.keys.names.extend(other.keys.names);
    }
}

impl Evaluator<'_, '_> {
    /// The keys of a URL's query; hidden where a part of it that may hold some is not known.
    pub(super) fn query_keys(&mut self, file: FileId, url: ExprId) -> Keys {
        let mut query = Query { place: Place::Path(true), keys: Keys::default() };
        self.query_in(file, url, &mut query, 0);
        // A `?` with nothing behind it is what is kept of a query that is not.
        query.keys.hidden |= query.place == Place::Key(String::new());
        query.finish_key();
        query.keys
    }

    fn query_in(&mut self, file: FileId, expr: ExprId, query: &mut Query, depth: u32) {
        if depth > DEEPEST || !self.may_look() {
            query.keys.hidden = true;
            return;
        }
        let parsed = self.world.file(file).parsed;
        match parsed.expr(expr) {
            Expr::Text(name, _) => query.text(parsed.name(*name)),
            Expr::Template(parts) => {
                for part in parts {
                    match part {
                        TextPart::Text(name) => query.text(parsed.name(*name)),
                        TextPart::Withheld => query.unknown(),
                        TextPart::Value(value) if query.place == Place::Key(String::new()) => {
                            let keys = self.encoded_keys(file, *value, 0);
                            query.keys.hidden |= keys.hidden;
                            query.keys.names.extend(keys.names);
                            query.place = Place::Value;
                        }
                        TextPart::Value(value) => self.query_in(file, *value, query, depth + 1),
                    }
                }
            }
            Expr::Cast(value, _) | Expr::Guarded(value) | Expr::Await(value) => {
                self.query_in(file, *value, query, depth + 1);
            }
            Expr::Either(left, right) => {
                let mut other = query.clone();
                self.query_in(file, *left, query, depth + 1);
                self.query_in(file, *right, &mut other, depth + 1);
                query.or(other);
            }
            Expr::Null => {}
            Expr::Literal(_) if is_nothing(parsed, expr) => {}
            Expr::Binding(binding) => {
                if !self.reading.insert((file, *binding)) {
                    return;
                }
                self.query_in_name(file, *binding, query, depth);
                self.reading.remove(&(file, *binding));
                let set = self.keys_set(file, *binding);
                query.keys.hidden |= set.hidden;
                query.keys.names.extend(set.names);
            }
            // `new URL(path, base)`, `new Request(url)`
            Expr::Call { callee, arguments, construct: true, .. } => {
                let carries = matches!(parsed.expr(*callee), Expr::Global(name)
                    if matches!(parsed.name(*name), "URL" | "Request"));
                match arguments.first() {
                    Some(first) if carries => self.query_in(file, first.value, query, depth + 1),
                    _ => query.unknown(),
                }
            }
            Expr::Call { callee, arguments, construct: false, .. } => match parsed.expr(*callee) {
                Expr::Member(object, name) if matches!(parsed.name(*name), "toString" | "trim" | "toJSON") => {
                    self.query_in(file, *object, query, depth + 1);
                }
                Expr::Global(name) if parsed.name(*name) == "String" && !arguments.is_empty() => {
                    self.query_in(file, arguments[0].value, query, depth + 1);
                }
                _ => match self.expr(file, *callee) {
                    // A function that only puts a text together.
                    Value::Function(there, function) => {
                        let parsed = self.world.file(there).parsed;
                        match parsed.functions[function as usize].returns.as_slice() {
                            [value] => self.query_in(there, *value, query, depth + 1),
                            _ => query.unknown(),
                        }
                    }
                    _ => query.unknown(),
                },
            },
            Expr::Member(object, name) if parsed.name(*name) == "href" => {
                self.query_in(file, *object, query, depth + 1);
            }
            // What is known of it is a constant's text.
            _ => match (self.text_of(file, expr), parsed.expr(expr)) {
                (Some(text), _) => query.text(&text),
                (None, Expr::Member(object, name)) => {
                    let member = self.option(file, *object, parsed.name(*name));
                    self.query_in_option(member, query, depth);
                }
                _ => query.unknown(),
            },
        }
    }

    fn query_in_option(&mut self, option: Option<(FileId, ExprId)>, query: &mut Query, depth: u32) {
        match option {
            Some((there, value)) => self.query_in(there, value, query, depth + 1),
            None => query.unknown(),
        }
    }

    fn query_in_name(&mut self, file: FileId, binding: u32, query: &mut Query, depth: u32) {
        let parsed = self.world.file(file).parsed;
        let Some(it) = parsed.bindings.get(binding as usize) else { return query.unknown() };
        match &it.origin {
            Origin::Value(value, steps) if steps.is_empty() => self.query_in(file, *value, query, depth + 1),
            Origin::Unknown if it.writes.iter().any(|write| !write.appends) => {}
            Origin::Parameter(function, at, steps) => match (self.argument(file, *function, *at), steps.as_slice()) {
                (Some(given), []) => {
                    self.outside(&given, |this| this.query_in(given.file, given.expr, query, depth + 1));
                }
                (Some(given), [Step::Member(name)]) => self.outside(&given, |this| {
                    let member = this.option(given.file, given.expr, parsed.name(*name));
                    this.query_in_option(member, query, depth);
                }),
                _ => query.unknown(),
            },
            Origin::Import { specifier, name } => {
                let target = self.world.file(file).targets.get(specifier).copied();
                match target.and_then(|target| self.exported_text(target, parsed.name(*name))) {
                    Some((there, value)) => self.query_in(there, value, query, depth + 1),
                    None => query.unknown(),
                }
            }
            _ => query.unknown(),
        }
        for write in &it.writes {
            if write.appends {
                self.query_in(file, write.value, query, depth + 1);
            } else {
                let mut other = Query { place: Place::Path(true), keys: Keys::default() };
                self.query_in(file, write.value, &mut other, depth + 1);
                query.or(other);
            }
        }
    }
}
