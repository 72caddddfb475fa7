//! Plain HTTP: calls of `fetch`, `axios` and their like with a URL that the code shows.

use sync_core::graph::Client;

use super::clients::{self, Host, Record, Site};
use super::eval::Evaluator;
use super::operation::no_operation;
use super::sites::{Answer, Found};
use super::text::{Piece, Text, distinct, joined, url};
use super::value::{FileId, Http, Value};
use super::word::Word;
use crate::catalog::{HttpCall, HttpLibrary};
use crate::language::Family;
use crate::parse::{Argument, CallFact, Expr, ExprId, Origin, Property};

/// A request, with its parts where the library carries them.
pub(super) struct Request<'r> {
    pub(super) file: FileId,
    pub(super) library: &'r HttpLibrary,
    pub(super) shape: &'r HttpCall,
    http: &'r Http,
    made_with: &'r [(FileId, ExprId)],
    pub(super) url: Option<ExprId>,
    method: Option<ExprId>,
    pub(super) body: Option<ExprId>,
    pub(super) options: Option<ExprId>,
    /// Whether a spread hides some of the arguments.
    pub(super) cut_short: bool,
}

impl<'p> Evaluator<'p, '_> {
    /// A call that makes a plain request, where its host is a vendor's.
    pub(super) fn requested(
        &mut self,
        file: FileId,
        call: &CallFact,
        http: &Http,
        arguments: &[Argument],
    ) -> Option<Found> {
        let request = self.request(file, http, arguments, call.keywords)?;
        let urls: Vec<_> = self.addresses(&request).iter().filter_map(url).collect();
        let mut vendors: Vec<&str> = Vec::new();
        for url in &urls {
            let vendor = self.catalog.vendor_of_host(&url.host)?;
            if !vendors.contains(&vendor.id.as_str()) {
                vendors.push(&vendor.id);
            }
        }
        let [vendor] = vendors.as_slice() else { return None };
        let method = self.method(&request);
        let mut found = Found {
            vendor: (*vendor).to_owned(),
            operation: None,
            client: None,
            keys: self.request_keys(&request, call, method.as_deref()),
            trail: None,
            reason: String::new(),
            answer: Answer::Plain {
                envelope: request.library.envelope.clone(),
                by_methods: request.library.answers_by_methods,
            },
            uses: None,
            response: !request.library.hides_response,
            envelope: envelope(request.library, call),
            enum_keys: Vec::new(),
            addresses: Vec::new(),
        };
        let is_known = method.is_some();
        match method {
            Some(method) => {
                let mut operations: Vec<_> =
                    urls.iter().map(|url| self.catalog.route(&method, url).map(|(_, operation)| operation)).collect();
                operations.dedup();
                match operations.as_slice() {
                    [Some(operation)] => {
                        found.reason = format!("{operation} at {}", urls[0].host);
                        found.operation = Some(operation.clone());
                    }
                    [None] => found.reason = no_operation(vendor),
                    _ => "the URL may name several operations".clone_into(&mut found.reason),
                }
            }
            None => "the method is not known here".clone_into(&mut found.reason),
        }
        if is_known {
            found.addresses = urls;
        }
        if request.library.name != "fetch" {
            found.reason = format!("{} with {}", found.reason, request.library.name);
        }
        found.client = Some(self.plain_client(&request, call, vendor, found.envelope.clone()));
        Some(found)
    }

    /// The parts of a request; `None` where the call makes none.
    pub(super) fn request<'r>(
        &mut self,
        file: FileId,
        http: &'r Http,
        arguments: &[Argument],
        keywords: Option<ExprId>,
    ) -> Option<Request<'r>>
    where
        'p: 'r,
    {
        let catalog = self.catalog;
        let library = catalog.http().library(http.library);
        let shape = match &http.member {
            None => library.call.as_ref()?,
            Some(member) => library.calls.get(&**member)?,
        };
        let shown = arguments.iter().position(|argument| argument.spread).unwrap_or(arguments.len());
        let at =
            |index: Option<usize>| index.and_then(|index| arguments[..shown].get(index)).map(|argument| argument.value);
        let mut url = at(shape.url);
        let mut options = keywords.or_else(|| at(shape.options));
        // `axios({ url, … })`
        if let Some(first) = url
            && library.options.name_the_target()
            && self.object(file, first).is_some()
        {
            options = Some(first);
            url = None;
        }
        // `fetch(new Request(url, init))`
        if let Some(first) = url
            && let Some((address, init)) = self.carried(file, first)
        {
            url = Some(address);
            options = options.or(init);
        }
        // A callback is no options, and neither is what the call that is looked into leaves out.
        if let Some(given) = options
            && (self.is_left_out(file, given) || matches!(self.expr(file, given), Value::Function(..)))
        {
            options = None;
        }
        Some(Request {
            file,
            library,
            shape,
            http,
            made_with: &http.made_with,
            url,
            method: at(shape.method_at),
            body: at(shape.body),
            options,
            cut_short: shown < arguments.len(),
        })
    }

    /// The URL and the options that a `Request` carries.
    fn carried(&self, file: FileId, expr: ExprId) -> Option<(ExprId, Option<ExprId>)> {
        let parsed = self.world.file(file).parsed;
        let made = self.initial(file, expr).map_or(expr, |(_, made)| made);
        let Expr::Call { callee, arguments, construct: true, .. } = parsed.expr(made) else { return None };
        let is_request = match parsed.expr(*callee) {
            Expr::Global(name) => parsed.name(*name) == "Request",
            Expr::Binding(binding) => match &parsed.bindings.get(*binding as usize)?.origin {
                Origin::Import { specifier, name } => {
                    parsed.name(*name) == "Request"
                        && self.catalog.http().of_module(Family::Script, parsed.name(*specifier)).is_some()
                }
                _ => false,
            },
            _ => false,
        };
        let shown = arguments.iter().take(2).all(|argument| !argument.spread);
        let url = arguments.first().filter(|_| is_request && shown)?.value;
        Some((url, arguments.get(1).map(|argument| argument.value)))
    }

    /// Every reading of the URL that a request goes to.
    pub(super) fn addresses(&mut self, request: &Request<'_>) -> Vec<Text> {
        let urls = self.targets(request);
        let named = &request.library.options;
        let base = named.base.as_ref().and_then(|key| {
            let own = request.options.and_then(|options| self.option(request.file, options, key));
            own.or_else(|| self.default_base(request, key)).or_else(|| {
                request.made_with.iter().rev().find_map(|(file, options)| self.option(*file, *options, key))
            })
        });
        let base = base.or(request.http.base);
        let Some((there, base)) = base else { return urls };
        let bases = self.texts_of(there, base);
        let mut all = Vec::new();
        for base in &bases {
            all.extend(urls.iter().map(|url| joined(base, url, named.join)));
        }
        distinct(&mut all);
        all
    }

    /// `client.defaults.baseURL = …`, in the file of the request or in one that made the client.
    fn default_base(&mut self, request: &Request<'_>, key: &str) -> Option<(FileId, ExprId)> {
        let made = request.made_with.iter().rev().map(|(file, _)| *file).filter(|file| *file != request.file);
        let files: Vec<FileId> = std::iter::once(request.file).chain(made).collect();
        files.into_iter().find_map(|file| self.default_of(file, request.http, key))
    }

    /// The same before what the client was made with is added.
    fn targets(&mut self, request: &Request<'_>) -> Vec<Text> {
        if let Some(url) = request.url {
            return self.texts_of(request.file, url);
        }
        let named = &request.library.options;
        // What a client that is made for one address is given says nothing of where it goes.
        if named.made_with_base && named.path.is_none() {
            return request.made_with.last().map_or_else(Vec::new, |(there, base)| self.texts_of(*there, *base));
        }
        let Some(options) = request.options else { return Vec::new() };
        if let Some((there, url)) = named.url.iter().find_map(|key| self.option(request.file, options, key)) {
            return self.texts_of(there, url);
        }
        if named.made_with_base {
            let bases = request.made_with.last().map_or_else(Vec::new, |(there, base)| self.texts_of(*there, *base));
            let path = named.path.as_ref().and_then(|key| self.option(request.file, options, key));
            let paths = path.map_or_else(Vec::new, |(there, path)| self.texts_of(there, path));
            let mut all: Vec<Text> = Vec::new();
            for base in &bases {
                all.extend(paths.iter().map(|path| joined(base, path, named.join)));
            }
            distinct(&mut all);
            return all;
        }
        // Options that are not shown may name anything.
        if named.name_the_target() && self.object(request.file, options).is_none() {
            return vec![vec![Piece::Value]];
        }
        let Some((there, host)) = named.host.iter().find_map(|key| self.option(request.file, options, key)) else {
            return Vec::new();
        };
        let hosts = self.texts_of(there, host);
        let path = named.path.as_ref().and_then(|key| self.option(request.file, options, key));
        let paths = match path {
            Some((there, path)) => self.texts_of(there, path),
            None => vec![Vec::new()],
        };
        let mut all = Vec::new();
        for host in &hosts {
            // A host of which a part is not known is none.
            let [Piece::Known(host)] = host.as_slice() else { continue };
            let start = [Piece::Known(format!("https://{host}"))];
            all.extend(paths.iter().map(|path| start.iter().chain(path).cloned().collect::<Text>()));
        }
        distinct(&mut all);
        all
    }

    /// What the call, its options or the client's schema say, else `GET`; `None` where what they say is not known.
    fn method(&mut self, request: &Request<'_>) -> Option<String> {
        if let Some(method) = &request.shape.method {
            return Some(method.clone());
        }
        if request.shape.method_at.is_some() {
            let (there, method) = match request.method {
                Some(method) => (request.file, method),
                // By its name.
                None => self.option(request.file, request.options?, "method")?,
            };
            return self.text_of(there, method).map(|method| method.to_ascii_uppercase());
        }
        if request.cut_short {
            return None;
        }
        if let Some(options) = request.options {
            if let Some((there, method)) = self.option(request.file, options, "method") {
                if self.may_be_overridden(request.file, options, "method") {
                    return None;
                }
                match self.word(there, method) {
                    Word::Known(method) => return Some(method.to_ascii_uppercase()),
                    Word::Hidden => return None,
                    Word::Absent => {}
                }
            } else if !self.all_shown(request.file, options) {
                return None;
            }
        }
        if let Some(method) = self.method_in_schema(request) {
            return Some(method);
        }
        for (there, options) in request.made_with {
            if let Some((there, method)) = self.option(*there, *options, "method") {
                return self.text_of(there, method).map(|method| method.to_ascii_uppercase());
            }
        }
        let named = &request.library.options;
        let file = request.file;
        let is_given = |this: &mut Self, body: ExprId| !matches!(this.world.file(file).parsed.expr(body), Expr::Null);
        let in_place = request.body.is_some_and(|body| is_given(self, body));
        let has_body = named.body_means_post
            && (in_place
                || request.options.is_some_and(|options| {
                    named.body.iter().any(|key| self.option(request.file, options, key).is_some())
                }));
        Some(if has_body { "POST" } else { "GET" }.to_owned())
    }

    /// Whether options are an object literal that hides nothing: a spread that is not known may hold a method.
    pub(super) fn all_shown(&mut self, file: FileId, options: ExprId) -> bool {
        let Some((there, object)) = self.object(file, options) else { return false };
        let Expr::Object(properties) = self.world.file(there).parsed.expr(object) else { return false };
        properties.iter().all(|property| match property {
            Property::Spread(value) => self.object(there, *value).is_some() || self.is_left_out(there, *value),
            Property::Computed => false,
            Property::Named(..) => true,
        })
    }

    /// Whether something unknown is spread into an object behind a key, and so may hold another value of it.
    fn may_be_overridden(&mut self, file: FileId, object: ExprId, key: &str) -> bool {
        let Some((there, object)) = self.object(file, object) else { return true };
        let parsed = self.world.file(there).parsed;
        let Expr::Object(properties) = parsed.expr(object) else { return true };
        properties
            .iter()
            .rev()
            .take_while(|it| !matches!(it, Property::Named(name, _) if parsed.name(*name) == key))
            .any(|property| match property {
                Property::Spread(value) => {
                    let value = self.expr(there, *value);
                    !value.alternatives().iter().all(|value| matches!(value, Value::Object(..) | Value::Null))
                }
                Property::Computed => true,
                Property::Named(..) => false,
            })
    }

    /// The method that the schema of a client gives for a URL as it is called.
    fn method_in_schema(&mut self, request: &Request<'_>) -> Option<String> {
        let key = request.library.options.schema.as_ref()?;
        let url = self.text_of(request.file, request.url?)?;
        for (file, options) in request.made_with.iter().rev() {
            let Some((there, schema)) = self.option(*file, *options, key) else { continue };
            let (there, schema) = self.object(there, schema)?;
            let parsed = self.world.file(there).parsed;
            let Expr::Object(properties) = parsed.expr(schema) else { return None };
            self.world.go_through(properties.len());
            let entry = properties.iter().find_map(|property| match property {
                Property::Named(name, value) if parsed.name(*name) == url => Some(*value),
                _ => None,
            })?;
            let (there, method) = self.option(there, entry, "method")?;
            return self.text_of(there, method).map(|method| method.to_ascii_uppercase());
        }
        None
    }

    /// Plain requests of one symbol to one vendor, with one library and one version header, are one client.
    fn plain_client(
        &mut self,
        request: &Request<'_>,
        call: &CallFact,
        vendor: &str,
        envelope: Option<String>,
    ) -> usize {
        let world = self.world;
        let catalog = self.catalog;
        let file = request.file;
        let facts = catalog.vendors().find(|known| known.id == vendor);
        let version = match facts.and_then(|facts| facts.api_version_header.as_deref()) {
            Some(header) => {
                let own = request.options.map(|options| (file, options));
                own.into_iter()
                    .chain(request.made_with.iter().rev().copied())
                    .find_map(|(there, options)| self.header(there, options, header))
            }
            None => None,
        };
        let version = version.and_then(|(there, value)| self.text_of(there, value));
        let (qualified, ordinal) = match world.symbol(file, call.symbol) {
            Some(symbol) => (symbol.qualified.clone(), symbol.ordinal),
            None => (String::new(), 0),
        };
        let site = Site::Plain(file, call.symbol, vendor.to_owned(), version.clone(), envelope.clone());
        let source = if version.is_some() { "header" } else { "unknown" };
        // Requests that are answered in envelopes are another client than those that are not.
        let kind = envelope.as_ref().map(|envelope| format!("?{envelope}"));
        let client = Client {
            id: clients::id(world.path(file), &qualified, ordinal, vendor, kind.as_deref()),
            vendor: vendor.to_owned(),
            package: None,
            sdk_version: None,
            sdk_version_source: "unknown".to_owned(),
            api_version: version,
            api_version_source: source.to_owned(),
            constructed_at: world.target(file, call.symbol),
            envelope,
        };
        self.clients.at(site, || Record { client, host: Host::Own })
    }

    /// The value of a header that options give.
    fn header(&mut self, file: FileId, options: ExprId, header: &str) -> Option<(FileId, ExprId)> {
        let (there, headers) = self.option(file, options, "headers")?;
        let Value::Object(there, headers) = self.expr(there, headers) else { return None };
        let parsed = self.world.file(there).parsed;
        let Expr::Object(properties) = parsed.expr(headers) else { return None };
        self.world.go_through(properties.len());
        properties.iter().rev().find_map(|property| match property {
            Property::Named(name, value) if parsed.name(*name).eq_ignore_ascii_case(header) => Some((there, *value)),
            _ => None,
        })
    }
}

/// The member of the response that holds the vendor's answer, unless a reader already takes it out.
fn envelope(library: &HttpLibrary, call: &CallFact) -> Option<String> {
    let read =
        |read: &crate::parse::ReadFact| library.readers.iter().any(|reader| read.path.starts_with(reader.as_str()));
    library.envelope.clone().filter(|_| !call.uses.reads.iter().any(read))
}
