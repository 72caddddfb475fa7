//! Which operation arguments name, and which argument carries its keys.

use sync_core::operation::Operation;

use super::eval::Evaluator;
use super::keys::Keys;
use super::sites::Found;
use super::text::{Piece, known, path_parts};
use super::value::{FileId, Value};
use crate::catalog::{Arguments, ByKey, Dispatch, Meaning, OperationEntry, Package, Source, VendorId};
use crate::parse::{Argument, Expr, ExprId};

impl Evaluator<'_, '_> {
    /// The keys of the argument that carries an operation's.
    pub(super) fn argument_keys(
        &mut self,
        file: FileId,
        package: &Package,
        entry: &OperationEntry,
        arguments: &[Argument],
    ) -> Keys {
        let spread = arguments.iter().position(|argument| argument.spread);
        let Some(index) = self.index_of_keys(file, entry, arguments) else { return Keys::default() };
        if spread.is_some_and(|at| at <= index) {
            return Keys { hidden: true, ..Keys::default() };
        }
        let Some(argument) = arguments.get(index) else { return Keys::default() };
        // What is told the answer is no argument of the request.
        if matches!(self.expr(file, argument.value), Value::Function(..)) {
            return Keys::default();
        }
        let mut keys = self.keys(file, argument.value);
        let is_options = !keys.names.is_empty()
            && !keys.hidden
            && !package.options_keys.is_empty()
            && keys
                .names
                .iter()
                .all(|key| package.options_keys.iter().any(|option| option == key.split('.').next().unwrap_or(key)));
        if is_options {
            return Keys::default();
        }
        without_options(&mut keys, package);
        if entry.arguments == Arguments::Nested {
            let body: Vec<String> =
                keys.names.iter().filter_map(|key| key.strip_prefix("requestBody.").map(str::to_owned)).collect();
            keys.names.extend(body);
            keys.names.remove("requestBody");
            keys.names.retain(|key| !key.starts_with("requestBody."));
        }
        keys
    }

    /// Which argument carries an operation's keys, if any does.
    fn index_of_keys(&mut self, file: FileId, entry: &OperationEntry, arguments: &[Argument]) -> Option<usize> {
        Some(match entry.arguments {
            Arguments::None => return None,
            Arguments::At(index) => index,
            Arguments::Nested => 0,
            Arguments::AfterPath => {
                let path = entry.operation.as_str();
                let path = path.split(" (").next().unwrap_or(path);
                path.matches('{').count()
            }
            Arguments::FirstObject => arguments
                .iter()
                .position(|argument| matches!(self.expr(file, argument.value), Value::Object(..)))
                .unwrap_or(0),
        })
    }

    /// Which of two operations a key of the argument makes of a call; none where nobody can see whether it is there.
    pub(super) fn decide_by_key(
        &mut self,
        file: FileId,
        package: &Package,
        entry: &OperationEntry,
        decided: &ByKey,
        arguments: &[Argument],
        found: &mut Found,
    ) {
        let index = self.index_of_keys(file, entry, arguments).unwrap_or(0);
        let there = match arguments.get(index) {
            _ if arguments.iter().take(index + 1).any(|argument| argument.spread) => None,
            None => Some(false),
            Some(argument) => self.has_key(file, argument.value, &decided.keys),
        };
        let keys = decided.keys.join("`, `");
        if let Some(there) = there {
            let (operation, with) = if there { (&decided.with, "with") } else { (&decided.without, "without") };
            found.operation = Some(operation.clone());
            found.reason = format!("{with} `{keys}` it is {operation} of {}", package.name);
        } else {
            found.operation = None;
            found.reason = format!("whether its argument has `{keys}` decides, and cannot be seen here");
        }
    }

    /// Whether an argument has one of these keys; nothing where some of it is hidden.
    fn has_key(&mut self, file: FileId, argument: ExprId, keys: &[String]) -> Option<bool> {
        if matches!(self.world.file(file).parsed.expr(argument), Expr::Text(..) | Expr::Template(_) | Expr::Literal(_))
        {
            return Some(false);
        }
        self.object(file, argument)?;
        let mut any = false;
        for key in keys {
            let options = self.options(file, argument, key);
            match options.values.as_slice() {
                [] if !options.hidden => {}
                [(there, value), ..] if !options.may_be_absent => {
                    any |= !matches!(self.world.file(*there).parsed.expr(*value), Expr::Null);
                }
                _ => return None,
            }
        }
        Some(any)
    }

    /// Which operation an argument names; why none, where that can be said.
    pub(super) fn dispatched(
        &mut self,
        file: FileId,
        package: &Package,
        edition: usize,
        dispatches: &[Dispatch],
        arguments: &[Argument],
        found: &mut Found,
    ) {
        let catalog = self.catalog;
        for dispatch in dispatches {
            let (operation, keys) = match dispatch {
                Dispatch::Route { argument, keys } => {
                    let Some(at) = arguments.get(*argument) else { continue };
                    let operation = self.route(file, at.value, package.vendor);
                    if operation.is_none() && self.text_of(file, at.value).is_some_and(|text| text.contains('/')) {
                        found.reason = no_operation(&catalog.vendor(package.vendor).id);
                    }
                    // `request({ method, url, owner })`: what is given stands beside the route.
                    if let Some(operation) = operation.clone().filter(|_| self.object(file, at.value).is_some()) {
                        found.reason = format!("{operation}, named by an argument");
                        found.operation = Some(operation);
                        found.keys = self.keys(file, at.value);
                        found.keys.names.retain(|key| !matches!(key.as_str(), "method" | "url" | "baseUrl"));
                        without_options(&mut found.keys, package);
                        return;
                    }
                    (operation, arguments.get(*keys).map(|it| it.value))
                }
                Dispatch::Reference { argument, keys } => {
                    let Some(at) = arguments.get(*argument) else { continue };
                    let value = self.expr(file, at.value);
                    let operation = value.vendors().find_map(|vendor| {
                        let chain = vendor.chain.trim_end_matches("()");
                        match package.meaning(edition, chain) {
                            Meaning::Operation(entry, _) => Some((entry.operation.clone(), vendor.made)),
                            _ => None,
                        }
                    });
                    let Some((operation, _)) = operation else { continue };
                    (Some(operation), arguments.get(*keys).map(|it| it.value))
                }
                Dispatch::Chain { argument, keys } => {
                    let Some(at) = arguments.get(*argument) else { continue };
                    // Most words of a source are kept as digests only; those of the catalog are no secret.
                    let chain = match *self.world.file(file).parsed.expr(at.value) {
                        Expr::Literal(Some(digest)) => package.chain_of_digest(digest).map(str::to_owned),
                        _ => self.text_of(file, at.value),
                    };
                    let operation = chain.and_then(|chain| match package.meaning(edition, &chain) {
                        Meaning::Operation(entry, _) => Some(entry.operation.clone()),
                        _ => None,
                    });
                    (operation, arguments.get(*keys).map(|it| it.value))
                }
                Dispatch::Command { argument } => {
                    let Some(at) = arguments.get(*argument) else { continue };
                    let value = self.expr(file, at.value);
                    let commands = value.vendors().filter_map(|vendor| {
                        let shape = catalog.shape(vendor.shape);
                        // A document client also sends the commands of the plain package, and a presigner any.
                        let package = catalog.package_of(shape.package);
                        Some((shape.command.clone()?, vendor.made, package, self.edition(vendor, file)))
                    });
                    let commands: Vec<_> = commands.collect();
                    let Some((chain, _, package, edition)) = commands.first() else { continue };
                    if commands.iter().any(|(other, ..)| other != chain) {
                        // One of several, depending on values.
                        continue;
                    }
                    let Meaning::Operation(entry, _) = package.meaning(*edition, chain) else { continue };
                    found.operation = Some(entry.operation.clone());
                    found.reason = format!("{chain} of {} is {}", package.name, entry.operation);
                    found.keys = Keys::default();
                    for (_, made, ..) in &commands {
                        let Some((there, made)) = *made else {
                            found.keys.hidden = true;
                            continue;
                        };
                        let Expr::Call { arguments, .. } = self.world.file(there).parsed.expr(made) else { continue };
                        if let Some(first) = arguments.first() {
                            let keys = self.keys(there, first.value);
                            found.keys.hidden |= keys.hidden;
                            found.keys.names.extend(keys.names);
                            found.keys.literals.extend(keys.literals);
                        }
                    }
                    return;
                }
                Dispatch::Path { method, path, keys } => {
                    let method = self.source_text(file, method, arguments);
                    let path = self.source_pieces(file, path, arguments);
                    let operation = match (method, path) {
                        (Some(method), Some(path)) => {
                            let method = method.to_ascii_uppercase();
                            let operation = catalog.route_text(package.vendor, &method, &path_parts(path.iter(), ""));
                            if operation.is_none() && known(&path).is_some() {
                                found.reason = no_operation(&catalog.vendor(package.vendor).id);
                            }
                            operation
                        }
                        _ => None,
                    };
                    let keys = keys.as_ref().and_then(|keys| self.source(file, keys, arguments)).map(|(_, expr)| expr);
                    (operation, keys)
                }
            };
            if let Some(operation) = operation {
                found.reason = format!("{operation}, named by an argument");
                found.operation = Some(operation);
                found.keys = keys.map_or_else(Keys::default, |keys| self.keys(file, keys));
                without_options(&mut found.keys, package);
                return;
            }
        }
    }

    pub(super) fn source(&mut self, file: FileId, source: &Source, arguments: &[Argument]) -> Option<(FileId, ExprId)> {
        match source {
            Source::Fixed(_) => None,
            Source::Argument(at) => arguments.get(*at).map(|it| (file, it.value)),
            Source::Option(at, key) => self.option(file, arguments.get(*at)?.value, key),
        }
    }

    pub(super) fn source_text(&mut self, file: FileId, source: &Source, arguments: &[Argument]) -> Option<String> {
        if let Source::Fixed(text) = source {
            return Some(text.clone());
        }
        let (file, expr) = self.source(file, source, arguments)?;
        self.text_of(file, expr)
    }

    pub(super) fn source_pieces(
        &mut self,
        file: FileId,
        source: &Source,
        arguments: &[Argument],
    ) -> Option<Vec<Piece>> {
        if let Source::Fixed(text) = source {
            return Some(vec![Piece::Known(text.clone())]);
        }
        let (file, expr) = self.source(file, source, arguments)?;
        match self.texts_of(file, expr).as_slice() {
            [text] => Some(text.clone()),
            _ => None,
        }
    }

    /// The operation of `METHOD /path`, of a path alone, or of an object with `method` and `url`.
    pub(super) fn route(&mut self, file: FileId, expr: ExprId, vendor: VendorId) -> Option<Operation> {
        if let Value::Object(there, object) = self.expr(file, expr) {
            let (method_file, method) = self.option(there, object, "method")?;
            let method = self.text_of(method_file, method)?;
            let (url_file, url) = self.option(there, object, "url")?;
            let readings = self.texts_of(url_file, url);
            let [text] = readings.as_slice() else { return None };
            return self.catalog.route_text(vendor, &method.to_ascii_uppercase(), &path_parts(text.iter(), ""));
        }
        let readings = self.texts_of(file, expr);
        let [text] = readings.as_slice() else { return None };
        let Some(Piece::Known(first)) = text.first() else { return None };
        let (method, rest) = match first.split_once(' ') {
            Some((method, rest)) => (method.to_ascii_uppercase(), rest.trim_start().to_owned()),
            None => ("GET".to_owned(), first.clone()),
        };
        let mut pieces = vec![Piece::Known(rest)];
        pieces.extend(text[1..].iter().cloned());
        self.catalog.route_text(vendor, &method, &path_parts(pieces.iter(), ""))
    }
}

/// Why a method and a path that are known name nothing.
pub(super) fn no_operation(vendor: &str) -> String {
    format!("no one operation of {vendor} has this method and path")
}

/// Leaves out keys that are options of the request, and what is below them.
fn without_options(keys: &mut Keys, package: &Package) {
    if !package.options_inside.is_empty() {
        let is_option = |key: &str| {
            let first = key.split('.').next().unwrap_or(key);
            package.options_inside.iter().any(|option| option == first)
        };
        keys.names.retain(|key| !is_option(key));
        keys.literals.retain(|key, _| !is_option(key));
    }
}
