//! What takes a client away from its vendor after it was made: something else in the place of its members, another
//! address, another global.

use std::rc::Rc;

use super::eval::Evaluator;
use super::text::url;
use super::value::{FileId, Value, Vendor};
use crate::catalog::Package;
use crate::parse::{Expr, ExprId, FunctionId, Name};

/// An argument that a function changes: what it assigns to which member of that.
#[derive(Debug, Clone, Copy)]
pub(super) struct Changed {
    argument: ExprId,
    /// The file of the function.
    by: FileId,
    name: Name,
    value: ExprId,
}

impl Evaluator<'_, '_> {
    /// Whether a member of a client that a chain goes through is replaced, in the file of a call or in the one that
    /// makes the client.
    pub(super) fn is_replaced(&mut self, file: FileId, vendor: &Vendor) -> bool {
        let made = vendor.client.and_then(|client| self.clients.made_in(client)).filter(|made| *made != file);
        [Some(file), made].into_iter().flatten().any(|there| self.replaces(there, vendor))
    }

    /// Whether something is assigned to the member of a client that says where its requests go, in the file of a call or
    /// in the one that makes the client, unless that is provably the vendor's.
    pub(super) fn is_moved(&mut self, file: FileId, vendor: &Vendor) -> bool {
        let made = vendor.client.and_then(|client| self.clients.made_in(client)).filter(|made| *made != file);
        [Some(file), made].into_iter().flatten().any(|there| self.moves(there, vendor))
    }

    fn moves(&mut self, file: FileId, vendor: &Vendor) -> bool {
        let changes = self.all_changes_in(file, |changes| changes.members.is_empty() && changes.assigned.is_empty());
        let package = self.catalog.package_of(self.catalog.shape(vendor.shape).package);
        let options = &package.client_options;
        let says_where = |name: &str| options.base_url.iter().any(|key| key == name);
        let requests = |name: &str| options.requests.iter().chain(&options.fetch).any(|key| key == name);
        let here = changes.members.iter().filter_map(|(object, name, value)| Some((*object, file, (*name)?, *value)));
        let there = self.changed_by_functions(file);
        let there = there.iter().map(|it| (it.argument, it.by, it.name, it.value));
        for (object, by, name, value) in here.chain(there) {
            let name = self.world.file(by).parsed.name(name);
            if (says_where(name) || requests(name)) && self.is_client(file, object, vendor) {
                let moves = if says_where(name) {
                    !self.is_address_of(package, by, value)
                } else {
                    self.may_redirect(by, value)
                };
                if moves {
                    return true;
                }
            }
        }
        // `Object.assign(client, { baseURL })`
        for (object, source) in &changes.assigned {
            for key in &package.client_options.base_url {
                if let Some((by, value)) = self.option(file, *source, key)
                    && self.is_client(file, *object, vendor)
                    && !self.is_address_of(package, by, value)
                {
                    return true;
                }
            }
        }
        false
    }

    fn is_client(&mut self, file: FileId, expr: ExprId, vendor: &Vendor) -> bool {
        let value = self.expr(file, expr);
        value.vendors().any(|value| value.chain.is_empty() && is_of(value, vendor))
    }

    /// Whether a text provably is an address of the vendor of a package.
    fn is_address_of(&mut self, package: &Package, file: FileId, value: ExprId) -> bool {
        let ours = |host: &str| self.catalog.vendor_of_host(host).map(|vendor| vendor.id.as_str());
        let own = Some(self.catalog.vendor(package.vendor).id.as_str());
        let readings = self.texts_of(file, value);
        readings.iter().all(|text| url(text).is_some_and(|url| ours(&url.host) == own))
    }

    /// The arguments of a file's calls to members of which the functions that it calls assign something.
    fn changed_by_functions(&mut self, file: FileId) -> Rc<Vec<Changed>> {
        // What is remembered is of the same file, which has noted that.
        if let Some(known) = self.changed.get(&file) {
            return Rc::clone(known);
        }
        let parsed = self.world.whole_file(file).parsed;
        let mut all = Vec::new();
        for call in &parsed.calls {
            let Expr::Call { callee, arguments, .. } = parsed.expr(call.expr) else { continue };
            if arguments.is_empty() {
                continue;
            }
            let Value::Function(by, function) = self.expr(file, *callee) else { continue };
            let changes = self.changes_in(by);
            for (at, name, value) in changes.members_of_parameters.get(&function).into_iter().flatten() {
                let before = arguments.get(..=*at as usize).unwrap_or(&[]);
                if let Some(argument) = before.last()
                    && !before.iter().any(|argument| argument.spread)
                {
                    all.push(Changed { argument: argument.value, by, name: *name, value: *value });
                }
            }
        }
        let all = Rc::new(all);
        self.changed.insert(file, Rc::clone(&all));
        all
    }

    fn replaces(&mut self, file: FileId, vendor: &Vendor) -> bool {
        let changes = self.all_changes_in(file, |changes| changes.members.is_empty() && changes.assigned.is_empty());
        let parsed = self.world.file(file).parsed;
        let mut replaced = Vec::new();
        for (object, name, value) in &changes.members {
            // What is assigned to a response, and not to a client, replaces nothing that is called.
            let Some(name) = name.map(|name| parsed.name(name)) else { continue };
            let value = self.expr(file, *value);
            let target = self.expr(file, *object);
            for target in target.vendors().filter(|target| is_of(target, vendor)) {
                let Value::Vendor(member) = self.vendor_member(target, name) else { continue };
                // Put back to what it was, or wrapped by its own method.
                if !value.vendors().any(|value| value.chain == member.chain) {
                    replaced.push(member.chain.clone());
                }
            }
        }
        for (object, source) in &changes.assigned {
            let target = self.expr(file, *object);
            for target in target.vendors().filter(|target| is_of(target, vendor)) {
                let keys = self.keys(file, *source);
                if keys.hidden {
                    replaced.push(target.chain.clone());
                }
                for key in keys.names {
                    if let Value::Vendor(member) = self.vendor_member(target, &key) {
                        replaced.push(member.chain.clone());
                    }
                }
            }
        }
        replaced.iter().any(|chain| {
            chain.is_empty()
                || vendor
                    .chain
                    .strip_prefix(chain.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    /// Whether a file assigns something to a global that does not make requests as that does. A function that calls
    /// what was there before only watches.
    pub(super) fn replaces_global(&mut self, file: FileId, name: &str) -> bool {
        let changes = self.all_changes_in(file, |changes| changes.globals.is_empty());
        let parsed = self.world.file(file).parsed;
        changes.globals.iter().filter(|(global, _)| parsed.name(*global) == name).any(|(_, value)| {
            match self.expr(file, *value) {
                Value::Function(there, function) => !self.calls_a_library(there, function),
                value => self.as_http(&value).is_none(),
            }
        })
    }

    fn calls_a_library(&mut self, file: FileId, function: FunctionId) -> bool {
        let parsed = self.world.whole_file(file).parsed;
        let inside = |at: Option<FunctionId>| parsed.functions_around(at).any(|around| around == function);
        parsed.calls.iter().filter(|call| inside(call.function)).any(|call| {
            let Expr::Call { callee, .. } = parsed.expr(call.expr) else { return false };
            let callee = self.expr(file, *callee);
            self.as_http(&callee).is_some()
        })
    }
}

/// Whether a value is the client of another, or of its class (`Stripe.prototype`).
fn is_of(value: &Vendor, vendor: &Vendor) -> bool {
    value.client == vendor.client || (value.client.is_none() && value.made.is_none() && value.shape == vendor.shape)
}
