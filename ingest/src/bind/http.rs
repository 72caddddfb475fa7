//! Plain HTTP: `fetch` with a URL that the code shows.

use sync_core::graph::Client;

use super::clients::{self, Host, Record, Site};
use super::eval::Evaluator;
use super::keys::Keys;
use super::sites::Found;
use super::text::url;
use super::value::{FileId, Value};
use crate::parse::{Argument, CallFact, Expr, ExprId};

impl Evaluator<'_, '_> {
    /// A call of the global `fetch`, where its host is a vendor's.
    pub(super) fn fetch(&mut self, file: FileId, call: &CallFact, arguments: &[Argument]) -> Option<Found> {
        let target = arguments.first().filter(|argument| !argument.spread)?;
        let readings = self.texts_of(file, target.value);
        let urls: Vec<_> = readings.iter().filter_map(url).collect();
        let mut vendors: Vec<&str> = Vec::new();
        for url in &urls {
            let vendor = self.catalog.vendor_of_host(&url.host)?;
            if !vendors.contains(&vendor.id.as_str()) {
                vendors.push(&vendor.id);
            }
        }
        let [vendor] = vendors.as_slice() else { return None };
        let mut found = Found {
            vendor: (*vendor).to_owned(),
            operation: None,
            client: None,
            keys: Keys::default(),
            trail: None,
            reason: String::new(),
            sdk: false,
            response: true,
            envelope: None,
            enum_keys: Vec::new(),
        };
        let init = arguments.get(1).map(|argument| argument.value);
        match self.method(file, init) {
            Some(method) => {
                let mut operations: Vec<_> =
                    urls.iter().map(|url| self.catalog.route(&method, url).map(|(_, operation)| operation)).collect();
                operations.dedup();
                match operations.as_slice() {
                    [Some(operation)] => {
                        found.reason = format!("{operation} at {}", urls[0].host);
                        found.operation = Some(operation.clone());
                    }
                    [None] => found.reason = format!("no one operation of {vendor} has this method and path"),
                    _ => "the URL may name several operations".clone_into(&mut found.reason),
                }
            }
            None => "the method is not known here".clone_into(&mut found.reason),
        }
        if let Some(init) = init {
            found.keys = self.body_keys(file, init);
        }
        found.client = Some(self.plain_client(file, call, vendor, init));
        Some(found)
    }

    /// `GET` where nothing else is said; `None` where what is said is not known.
    fn method(&mut self, file: FileId, init: Option<ExprId>) -> Option<String> {
        let Some(init) = init else { return Some("GET".to_owned()) };
        if let Some((file, method)) = self.option(file, init, "method") {
            return self.text_of(file, method).map(|method| method.to_ascii_uppercase());
        }
        let (there, object) = self.object(file, init)?;
        // A spread that is not known may hold a method.
        let parsed = self.world.file(there).parsed;
        let Expr::Object(properties) = parsed.expr(object) else { return None };
        for property in properties {
            match property {
                crate::parse::Property::Spread(value) => {
                    let value = *value;
                    self.object(there, value)?;
                }
                crate::parse::Property::Computed => return None,
                crate::parse::Property::Named(..) => {}
            }
        }
        Some("GET".to_owned())
    }

    fn body_keys(&mut self, file: FileId, init: ExprId) -> Keys {
        match self.option(file, init, "body") {
            Some((there, body)) => self.encoded_keys(there, body, 0),
            None => Keys::default(),
        }
    }

    /// The keys of a body, behind what encodes it.
    fn encoded_keys(&mut self, there: FileId, body: ExprId, depth: u32) -> Keys {
        let hidden = Keys { hidden: true, ..Keys::default() };
        let (there, body) = match self.initial(there, body) {
            Some(initial) => initial,
            None => (there, body),
        };
        if let Expr::Either(left, right) = *self.world.file(there).parsed.expr(body)
            && depth < 8
        {
            // `body ? JSON.stringify(body) : undefined`
            let is_null = |expr| matches!(self.world.file(there).parsed.expr(expr), Expr::Null);
            return match (is_null(left), is_null(right)) {
                (false, true) => self.encoded_keys(there, left, depth + 1),
                (true, false) => self.encoded_keys(there, right, depth + 1),
                _ => hidden,
            };
        }
        let Expr::Call { callee, arguments, construct, .. } = self.world.file(there).parsed.expr(body) else {
            return hidden;
        };
        let parsed = self.world.file(there).parsed;
        let encodes = match parsed.expr(*callee) {
            // `JSON.stringify({ … })`
            Expr::Member(object, name) => {
                parsed.name(*name) == "stringify"
                    && matches!(parsed.expr(*object), Expr::Global(global) if matches!(parsed.name(*global), "JSON" | "qs"))
            }
            // `new URLSearchParams({ … })`
            Expr::Global(name) => *construct && parsed.name(*name) == "URLSearchParams",
            _ => false,
        };
        match arguments.first() {
            Some(first) if encodes => self.keys(there, first.value),
            _ => hidden,
        }
    }

    /// The initialiser behind a constant.
    fn initial(&self, file: FileId, expr: ExprId) -> Option<(FileId, ExprId)> {
        use crate::parse::Origin;
        let parsed = self.world.file(file).parsed;
        let Expr::Binding(binding) = parsed.expr(expr) else { return None };
        let it = parsed.bindings.get(*binding as usize)?;
        match &it.origin {
            Origin::Value(value, steps) if steps.is_empty() && it.writes.is_empty() => Some((file, *value)),
            _ => None,
        }
    }

    /// Plain requests of one symbol to one vendor with one version header are one client.
    fn plain_client(&mut self, file: FileId, call: &CallFact, vendor: &str, init: Option<ExprId>) -> usize {
        let world = self.world;
        let catalog = self.catalog;
        let facts = catalog.vendors().find(|known| known.id == vendor);
        let header = facts.and_then(|facts| facts.api_version_header.clone());
        let mut version = None;
        if let (Some(header), Some(init)) = (header, init)
            && let Some((there, headers)) = self.option(file, init, "headers")
            && let Value::Object(there, headers) = self.expr(there, headers)
        {
            let parsed = world.file(there).parsed;
            if let Expr::Object(properties) = parsed.expr(headers) {
                for property in properties {
                    if let crate::parse::Property::Named(name, value) = property
                        && parsed.name(*name).eq_ignore_ascii_case(&header)
                    {
                        version = self.text_of(there, *value);
                    }
                }
            }
        }
        let (qualified, ordinal) = match world.symbol(file, call.symbol) {
            Some(symbol) => (symbol.qualified.clone(), symbol.ordinal),
            None => (String::new(), 0),
        };
        let site = Site::Plain(file, call.symbol, vendor.to_owned(), version.clone());
        let source = if version.is_some() { "header" } else { "unknown" };
        let client = Client {
            id: clients::id(world.file(file).path, &qualified, ordinal, vendor, None),
            vendor: vendor.to_owned(),
            package: None,
            sdk_version: None,
            sdk_version_source: "unknown".to_owned(),
            api_version: version,
            api_version_source: source.to_owned(),
            constructed_at: world.target(file, call.symbol),
            envelope: None,
        };
        self.clients.at(site, || Record { client, host: Host::Own, named: false })
    }
}
