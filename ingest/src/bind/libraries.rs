//! Libraries that make plain requests, as values: what importing one gives, its members, and clients made of it.

use std::rc::Rc;

use super::eval::Evaluator;
use super::value::{FileId, Http, Value};
use crate::catalog::HttpId;
use crate::language::Family;
use crate::parse::{Expr, ExprId};

/// Clients made of clients, followed this far.
const MOST_MADE: usize = 8;

impl Evaluator<'_, '_> {
    /// What a library exports under a name; `*` and `=` are the client, which its namespace stands for.
    pub(super) fn http_export(&self, family: Family, specifier: &str, name: &str) -> Value {
        let http = self.catalog.http();
        match http.of_module(family, specifier) {
            Some(library) if matches!(name, "*" | "=") => client(library),
            Some(library) => self.http_member(&Http { library, member: None, made_with: Vec::new(), base: None }, name),
            None if family == Family::Script => Value::Unknown,
            // A module in a module.
            None => match http.of_module(family, &format!("{specifier}{}{name}", family.separator())) {
                Some(library) => client(library),
                None => Value::Unknown,
            },
        }
    }

    /// A value whose declared type is a library's client.
    pub(super) fn http_typed(&self, family: Family, specifier: &str, name: &str) -> Value {
        let http = self.catalog.http();
        match http.of_module(family, specifier) {
            Some(id) if http.library(id).types.iter().any(|known| known == name) => client(id),
            _ => Value::Unknown,
        }
    }

    /// A member of a client.
    pub(super) fn http_member(&self, http: &Http, name: &str) -> Value {
        let library = self.catalog.http().library(http.library);
        if http.member.is_some() {
            return Value::Unknown;
        }
        if library.knows(name) {
            return Value::Http(Rc::new(Http { member: Some(name.into()), ..http.clone() }));
        }
        if name == "default" || library.itself.iter().any(|itself| itself == name) {
            return Value::Http(Rc::new(http.clone()));
        }
        Value::Unknown
    }

    /// What a call gives where it makes no request.
    pub(super) fn http_made(&mut self, http: &Http, file: FileId, call: ExprId) -> Value {
        let library = self.catalog.http().library(http.library);
        let Some(member) = &http.member else { return Value::Unknown };
        let parsed = self.world.file(file).parsed;
        let Expr::Call { arguments, call, .. } = parsed.expr(call) else { return Value::Unknown };
        let keywords = parsed.calls.get(*call as usize).and_then(|call| call.keywords);
        if library.passes.iter().any(|known| **known == **member) {
            return arguments.first().map_or(Value::Unknown, |argument| self.expr(file, argument.value));
        }
        if let Some(at) = library.bases.get(&**member) {
            let base = arguments.get(*at).map(|argument| (file, argument.value));
            return Value::Http(Rc::new(Http { member: None, base, ..http.clone() }));
        }
        let Some(options) = library.makers.get(&**member) else { return Value::Unknown };
        if http.made_with.len() >= MOST_MADE {
            return Value::Unknown;
        }
        let mut made_with = http.made_with.clone();
        let options = keywords.or_else(|| arguments.get(*options).map(|argument| argument.value));
        made_with.extend(options.map(|options| (file, options)));
        Value::Http(Rc::new(Http { library: http.library, member: None, made_with, base: http.base }))
    }

    /// What `new` gives.
    pub(super) fn http_constructed(&mut self, http: &Http, file: FileId, call: ExprId) -> Value {
        let libraries = self.catalog.http();
        let made = http.member.as_deref().and_then(|member| libraries.library(http.library).constructs.get(member));
        let Some(library) = made.and_then(|name| libraries.named(name)) else {
            // `http.Client{…}`
            let is_client = http.member.is_none() && libraries.library(http.library).language != Family::Script;
            return if is_client { Value::Http(Rc::new(http.clone())) } else { Value::Unknown };
        };
        let Expr::Call { arguments, .. } = self.world.file(file).parsed.expr(call) else { return Value::Unknown };
        let made_with = arguments.first().map(|argument| (file, argument.value)).into_iter().collect();
        Value::Http(Rc::new(Http { library, member: None, made_with, base: None }))
    }

    /// The libraries behind a value of which each alternative can be called for a request; none where one cannot.
    pub(super) fn as_https(&self, value: &Value) -> Vec<Rc<Http>> {
        value.alternatives().iter().map(|value| self.as_http(value)).collect::<Option<_>>().unwrap_or_default()
    }

    /// The library behind a value that can be called for a request.
    pub(super) fn as_http(&self, value: &Value) -> Option<Rc<Http>> {
        match value {
            Value::Http(http) => Some(Rc::clone(http)),
            Value::Global(name) => match client(self.catalog.http().of_global(name)?) {
                Value::Http(http) => Some(http),
                _ => None,
            },
            _ => None,
        }
    }
}

fn client(library: HttpId) -> Value {
    Value::Http(Rc::new(Http { library, member: None, made_with: Vec::new(), base: None }))
}
