//! Calls of what vendors' packages give: which operation a chain on a client requests, and where the client sends it.

use std::collections::HashSet;
use std::rc::Rc;

use sync_core::graph::Client;
use sync_core::operation::Operation;

use super::clients::{self, Host, Record, Site};
use super::eval::Evaluator;
use super::keys::Keys;
use super::sites::{Answer, Found};
use super::text::{Piece, url};
use super::value::{FileId, Value, Vendor};
use crate::catalog::{Meaning, SuffixKind, Vendor as Known};
use crate::parse::{Argument, CallFact, Expr, ExprId};

impl<'p> Evaluator<'p, '_> {
    /// A call of a value that may be a vendor's.
    pub(super) fn called_vendor(
        &mut self,
        file: FileId,
        call: &CallFact,
        value: &Value,
        arguments: &[Argument],
        continued: &HashSet<ExprId>,
    ) -> Option<Found> {
        let value = &*self.without_promises(value);
        let mut best: Option<Found> = None;
        let mut others: Vec<String> = Vec::new();
        let mut ambiguous = false;
        for vendor in value.vendors() {
            let Some(vendor) = self.as_called(vendor, file) else { continue };
            let Some(found) = self.vendor_call(file, call, &vendor, arguments, continued) else { continue };
            match &best {
                None => best = Some(found),
                Some(known) if known.operation.is_none() && found.operation.is_some() => best = Some(found),
                // Of a client at its own vendor's and one at another's the first is what is provable.
                Some(known) if self.is_served(known) && found.operation.is_some() && !self.is_served(&found) => {
                    others.push(known.vendor.clone());
                    best = Some(found);
                }
                Some(known) if self.is_served(known) && self.is_served(&found) && known.vendor != found.vendor => {
                    ambiguous = true;
                }
                Some(known) if known.vendor != found.vendor => others.push(found.vendor.clone()),
                Some(known) => {
                    ambiguous |= found.operation.is_some() && known.operation != found.operation;
                }
            }
        }
        let mut best = best?;
        if value.alternatives().iter().any(Value::is_own) {
            best.operation = None;
            best.reason = format!("it may be something of this repository, and not of {}", best.vendor);
            return Some(best);
        }
        if ambiguous {
            best.operation = None;
            best.reason = format!("one of several operations of {}, depending on values", best.vendor);
        }
        if !others.is_empty() {
            others.sort();
            others.dedup();
            best.reason = format!("{}; it may also be a client of {}", best.reason, others.join(", "));
        }
        Some(best)
    }

    /// The client with the chain that a call of it looks up. A function that is a client itself (`graphql(…)` of
    /// `@octokit/graphql`, `getSignedUrl(client, …)`) is called by its prefix alone.
    fn as_called(&mut self, vendor: &Rc<Vendor>, file: FileId) -> Option<Rc<Vendor>> {
        if !vendor.chain.is_empty() {
            return Some(Rc::clone(vendor));
        }
        let shape = self.catalog.shape(vendor.shape);
        let prefix = &shape.client.as_ref()?.prefix;
        let edition = self.edition(vendor, file);
        match self.catalog.package_of(shape.package).meaning(edition, prefix) {
            Meaning::Operation(..) | Meaning::Dispatch(_) => {
                Some(Rc::new(Vendor { chain: prefix.clone(), ..(**vendor).clone() }))
            }
            Meaning::Local | Meaning::Continuation(_) | Meaning::Unknown => None,
        }
    }

    /// A call of a chain on a client of a vendor.
    pub(super) fn vendor_call(
        &mut self,
        file: FileId,
        call: &CallFact,
        vendor: &Rc<Vendor>,
        arguments: &[Argument],
        continued: &HashSet<ExprId>,
    ) -> Option<Found> {
        let catalog = self.catalog;
        let package = catalog.package_of(catalog.shape(vendor.shape).package);
        let edition = self.edition(vendor, file);
        let meaning = package.meaning(edition, &vendor.chain);
        let mut found = Found {
            vendor: catalog.vendor(package.vendor).id.clone(),
            operation: None,
            client: vendor.client,
            keys: Keys::default(),
            trail: vendor.trail.clone(),
            reason: String::new(),
            answer: Answer::Package {
                methods: package.paging_methods().map(str::to_owned).collect(),
                builder: vendor.chain.contains("()."),
                first: package.editions.get(edition).is_some_and(|edition| edition.answers_first)
                    || package.answers_each.contains(&vendor.chain),
                bare: package.bare_lists,
            },
            uses: None,
            response: true,
            envelope: package
                .editions
                .get(edition)
                .and_then(|edition| edition.envelope.clone())
                .filter(|_| !package.outside_envelope.contains(&vendor.chain)),
            enum_keys: Vec::new(),
            addresses: Vec::new(),
        };
        match meaning {
            Meaning::Local | Meaning::Continuation(_) => return None,
            Meaning::Operation(entry, suffix) => {
                if let Some(suffix) = suffix {
                    // `list().autoPagingEach(…)`: the call of `list` is the call site.
                    if suffix.tail.starts_with("()") {
                        return None;
                    }
                    found.response = suffix.kind != SuffixKind::Options;
                }
                found.keys = self.argument_keys(file, package, entry, arguments);
                // `graphql({ query, owner })`: its variables stand beside the query.
                if entry.operation.as_str().ends_with("/graphql") {
                    found.keys.names.remove("query");
                }
                if let Some(key) = &catalog.shape(vendor.shape).keys_in {
                    found.keys = self.keys_made_with(vendor, key);
                }
                found.reason = format!("{} of {} is {}", vendor.chain, package.name, entry.operation);
                found.operation = Some(entry.operation.clone());
                if let Some(decided) = package.decided_by_key(edition, &vendor.chain) {
                    self.decide_by_key(file, package, entry, decided, arguments, &mut found);
                }
            }
            Meaning::Dispatch(dispatches) => {
                self.dispatched(file, package, edition, dispatches, arguments, &mut found);
                if found.operation.is_none() {
                    if found.reason.is_empty() {
                        found.reason = format!(
                            "{} of {} names its operation in a value that is not known here",
                            vendor.chain, package.name
                        );
                    }
                    found.keys.hidden = true;
                }
            }
            Meaning::Unknown => {
                // A step of a builder is nothing by itself; what it leads to is.
                if continued.contains(&call.expr) || package.leads_on(&vendor.chain) || vendor.chain.contains("()") {
                    return None;
                }
                // A promise of a client is waited for.
                if matches!(vendor.chain.as_str(), "then" | "catch" | "finally") {
                    return None;
                }
                // A member of a method is a function's own, or a mock's (`create.mockResolvedValue(…)`).
                let mut heads = vendor.chain.match_indices('.').map(|(at, _)| &vendor.chain[..at]);
                if heads
                    .any(|head| matches!(package.meaning(edition, head), Meaning::Operation(..) | Meaning::Dispatch(_)))
                {
                    return None;
                }
                // A function that this code gives the client is its own.
                if self.is_replaced(file, vendor) {
                    return None;
                }
                found.reason = format!("{} is not in the catalog of {}", vendor.chain, package.name);
                found.keys.hidden = true;
            }
        }
        if found.operation.is_some() && self.is_replaced(file, vendor) {
            found.operation = None;
            found.reason = format!("{} is assigned something else by this code", vendor.chain);
        }
        if found.operation.is_some() && !package.client_options.any_host && self.is_moved(file, vendor) {
            found.operation = None;
            "the client's requests go to a host that is not known here".clone_into(&mut found.reason);
        }
        if let Some(operation) = &found.operation {
            found.enum_keys = catalog.enum_keys(package.vendor, operation).to_vec();
        }
        let client = match (vendor.client, self.world.file(file).parsed.expr(call.expr)) {
            (Some(client), Expr::Call { callee, .. }) => Some((client, self.is_promise(vendor).then_some(*callee))),
            _ => self.client_among(file, arguments, &found.vendor),
        };
        // What a package exports ready to be called on, or a part of it that it makes, is a client of it all the same.
        let client = client.or_else(|| {
            let mut vendor = (**vendor).clone();
            vendor.chain.clear();
            let symbol = call.symbol;
            let declared = self.declared(Value::vendor(vendor), file, symbol, 0, "");
            declared.vendors().find_map(|vendor| vendor.client).map(|client| (client, None))
        });
        if let Some((client, promised)) = client {
            found.client = found.client.or(Some(client));
            match &self.clients.get(client).host {
                Host::Own => {
                    if found.operation.is_some()
                        && let Some(promised) = promised
                        && self.is_given_elsewhere(file, call, promised)
                    {
                        found.operation = None;
                        "a caller gives a client whose requests go to a host that is not known here"
                            .clone_into(&mut found.reason);
                    }
                }
                Host::Other => found.is_elsewhere(),
                Host::Served(address) => {
                    let address = address.clone();
                    self.serve(client, &address, &mut found);
                }
                Host::Hidden => {
                    "the client's requests go to a host that is not known here".clone_into(&mut found.reason);
                    found.operation = None;
                }
            }
        }
        Some(found)
    }

    fn is_served(&self, found: &Found) -> bool {
        found.client.is_some_and(|client| self.clients.is_served(client))
    }

    /// A call on a client that is pointed at another vendor's server: what it requests there.
    fn serve(&mut self, client: usize, address: &str, found: &mut Found) {
        let Some((vendor, operation)) = found.operation.as_ref().and_then(|asked| self.served(address, asked)) else {
            found.is_elsewhere();
            return;
        };
        let before = &self.clients.get(client).client;
        let record = Client {
            id: clients::id_for(&before.id, &vendor.id),
            vendor: vendor.id.clone(),
            api_version: None,
            api_version_source: "unknown".to_owned(),
            ..before.clone()
        };
        let site = Site::Served(client, vendor.id.clone());
        found.client = Some(self.clients.at(site, || Record { client: record, host: Host::Own }));
        found.reason = format!("{}; the client is pointed at {}, where that is {operation}", found.reason, vendor.id);
        found.enum_keys = vendor.enum_keys.get(&operation.erased()).cloned().unwrap_or_default();
        found.operation = Some(operation);
        vendor.id.clone_into(&mut found.vendor);
    }

    /// The operation of another vendor that an operation is at an address of that.
    fn served(&self, address: &str, asked: &Operation) -> Option<(&'p Known, Operation)> {
        let (method, path) = asked.as_str().split_once(' ')?;
        // What a name in parentheses tells apart, a path cannot.
        if path.contains(" (") {
            return None;
        }
        let mut text = vec![Piece::Known(address.trim_end_matches('/').to_owned())];
        for segment in path.split('/').skip(1) {
            text.push(Piece::Known("/".to_owned()));
            let is_value = segment.starts_with('{');
            text.push(if is_value { Piece::Value } else { Piece::Known(segment.to_owned()) });
        }
        self.catalog.route(method, &url(&text)?)
    }

    /// The client that a function of the package is given, `getSignedUrl(client, command)`, and its argument where it is
    /// one by its type alone.
    fn client_among(&mut self, file: FileId, arguments: &[Argument], vendor: &str) -> Option<(usize, Option<ExprId>)> {
        arguments.iter().find_map(|argument| {
            let value = self.expr(file, argument.value);
            let value = self.without_promises(&value);
            let clients = value.vendors().filter(|given| given.chain.is_empty()).filter_map(|given| {
                let package = self.catalog.package_of(self.catalog.shape(given.shape).package);
                let promised = self.is_promise(given).then_some(argument.value);
                given.client.filter(|_| self.catalog.vendor(package.vendor).id == vendor).zip(Some(promised))
            });
            // Of several the one whose requests provably go to the vendor.
            let clients: Vec<_> = clients.collect();
            let own = clients.iter().find(|(client, _)| self.clients.get(*client).host == Host::Own);
            own.or(clients.first()).copied()
        })
    }

    /// The keys under an option that something of a vendor was made with.
    fn keys_made_with(&mut self, vendor: &Vendor, key: &str) -> Keys {
        let hidden = Keys { hidden: true, ..Keys::default() };
        let Some((there, made)) = vendor.made else { return hidden };
        let Expr::Call { arguments, .. } = self.world.file(there).parsed.expr(made) else { return hidden };
        match arguments.first().and_then(|first| self.option(there, first.value, key)) {
            Some((there, value)) => self.keys(there, value),
            None => hidden,
        }
    }

    /// The edition of its package that a client is of.
    pub(super) fn edition(&self, vendor: &Vendor, file: FileId) -> usize {
        let Some(module) = self.catalog.module(&vendor.specifier) else { return 0 };
        let pinned = match vendor.client {
            Some(client) => self.clients.get(client).client.sdk_version.clone(),
            None => self.pinned(&vendor.specifier, file, &module.pinned_as).version,
        };
        self.catalog.edition(module, pinned.as_deref())
    }
}
