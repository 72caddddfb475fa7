//! Which keys a plain request shows: of its body, behind what encodes it, and of its query.

use super::eval::Evaluator;
use super::http::Request;
use super::keys::Keys;
use super::value::{FileId, Value};
use crate::parse::{CallFact, Expr, ExprId, Origin};

/// Encodings of encodings, and methods of one result, followed this far.
const DEEPEST: u32 = 8;

impl Evaluator<'_, '_> {
    /// The keys of a request's bodies and queries.
    pub(super) fn request_keys(&mut self, request: &Request<'_>, call: &CallFact, method: Option<&str>) -> Keys {
        let file = request.file;
        let mut keys = Keys { hidden: request.cut_short, ..Keys::default() };
        if let Some(url) = request.url {
            merge(&mut keys, self.query_keys(file, url));
        }
        if let Some(body) = request.body {
            merge(&mut keys, self.encoded_keys(file, body, 0));
        }
        if let Some(options) = request.options {
            // What is spread into them unseen may hold a body.
            keys.hidden |= !self.all_shown(file, options);
            let named = &request.library.options;
            if request.url.is_none()
                && let Some(path) = &named.path
                && let Some((there, path)) = self.option(file, options, path)
            {
                merge(&mut keys, self.query_keys(there, path));
            }
            for key in named.body.iter().chain(&named.query) {
                if let Some((there, value)) = self.option(file, options, key) {
                    merge(&mut keys, self.encoded_keys(there, value, 0));
                }
            }
        }
        for value in self.chained(request, call) {
            merge(&mut keys, self.encoded_keys(file, value, 0));
        }
        if request.library.hides_body && method != Some("GET") {
            keys.hidden = true;
        }
        keys
    }

    /// What is given to methods of the result that continue the request (`post(url).send({ … })`).
    fn chained(&mut self, request: &Request<'_>, call: &CallFact) -> Vec<ExprId> {
        let mut values = Vec::new();
        if request.library.chained.is_empty() {
            return values;
        }
        let parsed = self.world.file(request.file).parsed;
        let mut at = call.expr;
        for _ in 0..DEEPEST {
            let Some(next) = self.call_on(request.file, at) else { break };
            let Expr::Call { callee, arguments, .. } = parsed.expr(next) else { break };
            let Expr::Member(_, name) = parsed.expr(*callee) else { break };
            if request.library.chained.iter().any(|known| known == parsed.name(*name)) {
                values.extend(arguments.first().map(|argument| argument.value));
            }
            at = next;
        }
        values
    }

    /// The keys of a body, behind what encodes it.
    pub(super) fn encoded_keys(&mut self, there: FileId, body: ExprId, depth: u32) -> Keys {
        let set = match *self.world.file(there).parsed.expr(body) {
            Expr::Binding(binding) => self.keys_set(there, binding),
            _ => Keys::default(),
        };
        let (there, body) = match self.initial(there, body) {
            Some(initial) => initial,
            None => (there, body),
        };
        let mut keys = self.encoded(there, body, depth);
        merge(&mut keys, set);
        keys
    }

    fn encoded(&mut self, there: FileId, body: ExprId, depth: u32) -> Keys {
        let hidden = Keys { hidden: true, ..Keys::default() };
        let parsed = self.world.file(there).parsed;
        match parsed.expr(body) {
            // `json: true` says how, not what.
            Expr::Null | Expr::Literal(None) => Keys::default(),
            Expr::Either(left, right) if depth < DEEPEST => {
                // `body ? JSON.stringify(body) : undefined`
                let is_null = |expr: &ExprId| matches!(parsed.expr(*expr), Expr::Null);
                match (is_null(left), is_null(right)) {
                    (false, true) => self.encoded_keys(there, *left, depth + 1),
                    (true, false) => self.encoded_keys(there, *right, depth + 1),
                    _ => hidden,
                }
            }
            Expr::Guarded(value) | Expr::Cast(value, _) if depth < DEEPEST => {
                self.encoded_keys(there, *value, depth + 1)
            }
            // `new URLSearchParams({ … }).toString()`
            Expr::Call { callee, construct: false, .. }
                if depth < DEEPEST
                    && matches!(parsed.expr(*callee), Expr::Member(_, name) if parsed.name(*name) == "toString") =>
            {
                let Expr::Member(object, _) = parsed.expr(*callee) else { return hidden };
                self.encoded_keys(there, *object, depth + 1)
            }
            Expr::Call { callee, arguments, construct, .. } => {
                let encodes = match parsed.expr(*callee) {
                    // `JSON.stringify({ … })`
                    Expr::Member(object, name) => parsed.name(*name) == "stringify" && self.is_encoder(there, *object),
                    // `new URLSearchParams({ … })`
                    Expr::Global(name) => *construct && parsed.name(*name) == "URLSearchParams",
                    _ => false,
                };
                let is_form = *construct
                    && matches!(parsed.expr(*callee), Expr::Global(name)
                        if matches!(parsed.name(*name), "URLSearchParams" | "FormData"));
                match arguments.first() {
                    Some(first) if encodes => self.keys(there, first.value),
                    // What is set on it later are its keys.
                    None if is_form => Keys::default(),
                    _ => hidden,
                }
            }
            _ => match self.expr(there, body) {
                Value::Object(there, object) => self.keys(there, object),
                _ => hidden,
            },
        }
    }

    /// `JSON`, or a package whose `stringify` encodes a query.
    fn is_encoder(&self, file: FileId, expr: ExprId) -> bool {
        let parsed = self.world.file(file).parsed;
        match parsed.expr(expr) {
            Expr::Global(name) => parsed.name(*name) == "JSON",
            Expr::Binding(binding) => {
                let origin = parsed.bindings.get(*binding as usize).map(|it| &it.origin);
                let specifier = match origin {
                    Some(Origin::Import { specifier, .. }) => Some(*specifier),
                    Some(Origin::Value(value, steps)) if steps.is_empty() => match parsed.expr(*value) {
                        Expr::Require(specifier) => Some(*specifier),
                        _ => None,
                    },
                    _ => None,
                };
                specifier.is_some_and(|specifier| {
                    matches!(parsed.name(specifier), "qs" | "querystring" | "node:querystring" | "query-string")
                })
            }
            _ => false,
        }
    }

    /// The initialiser behind a constant.
    pub(super) fn initial(&self, file: FileId, expr: ExprId) -> Option<(FileId, ExprId)> {
        let parsed = self.world.file(file).parsed;
        let Expr::Binding(binding) = parsed.expr(expr) else { return None };
        let it = parsed.bindings.get(*binding as usize)?;
        match &it.origin {
            Origin::Value(value, steps) if steps.is_empty() && it.writes.is_empty() => Some((file, *value)),
            _ => None,
        }
    }
}

fn merge(all: &mut Keys, more: Keys) {
    all.hidden |= more.hidden;
    all.names.extend(more.names);
    all.literals.extend(more.literals);
}
