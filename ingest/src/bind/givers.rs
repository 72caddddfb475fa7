//! Clients of which their type alone says whose they are: what a function is given, and what is assigned beside, may be
//! pointed at a server of somebody else.

use std::borrow::Cow;
use std::rc::Rc;

use super::clients::{Host, Record, Site};
use super::eval::{Evaluator, stepped};
use super::value::{FileId, Value, Vendor};
use crate::parse::{CallFact, Expr, ExprId, FunctionId, Step};

/// Functions around a call that are looked at.
const MOST_FUNCTIONS: usize = 3;
/// Callers of one function that are looked at.
const MOST_CALLERS: usize = 16;

impl Evaluator<'_, '_> {
    /// Whether somebody gives the function around a call a client, as an expression of it is, whose requests do not
    /// provably go to the vendor.
    pub(super) fn is_given_elsewhere(&mut self, file: FileId, call: &CallFact, client: ExprId) -> bool {
        let world = self.world;
        let parsed = world.file(file).parsed;
        for function in parsed.functions_around(call.function).take(MOST_FUNCTIONS) {
            for (there, caller) in self.callers_of(file, function).iter().take(MOST_CALLERS) {
                if world.is_test(*there) && !world.is_test(file) {
                    continue;
                }
                let Expr::Call { arguments, .. } = world.file(*there).parsed.expr(*caller) else { continue };
                let given = self.inside((file, function), *there, arguments, |this| this.expr(file, client));
                if given.vendors().any(|vendor| self.is_elsewhere(vendor)) {
                    return true;
                }
            }
        }
        false
    }

    /// A parameter that is declared to be a client: the one client that all callers give, or one that a caller gives of
    /// which the requests do not provably go to the vendor.
    pub(super) fn unless_given_elsewhere(
        &mut self,
        declared: Value,
        (file, function): (FileId, FunctionId),
        at: u32,
        (steps, line): (&[Step], u32),
    ) -> Value {
        if !declared.vendors().any(|vendor| vendor.chain.is_empty()) {
            return declared;
        }
        let promised = declared.vendors().any(|vendor| self.is_promise(vendor));
        let world = self.world;
        let it = world.file(file).parsed.functions.get(function as usize);
        let symbol = it.and_then(|it| it.scope);
        let default = it.and_then(|it| it.parameters.get(at as usize)).and_then(|parameter| parameter.default);
        let mut all = vec![default.map(|default| self.expr(file, default))];
        let callers = self.callers_of(file, function);
        for caller in callers.iter().take(MOST_CALLERS) {
            if world.is_test(file) || !world.is_test(caller.0) {
                all.push(self.given_by(*caller, (file, function), at, line, 0));
            }
        }
        let mut one = Value::Unknown;
        let mut is_one = callers.len() <= MOST_CALLERS;
        let mut elsewhere = None;
        for given in all.into_iter().flatten() {
            let given = self.walk(given, file, steps);
            elsewhere = elsewhere.or_else(|| given.vendors().find(|vendor| self.is_elsewhere(vendor)).cloned());
            is_one &= matches!(&given, Value::Vendor(vendor) if self.is_one_of(vendor, &declared));
            one = one.or(given);
        }
        if let Some(elsewhere) = elsewhere.filter(|_| promised && !(is_one && matches!(one, Value::Vendor(_)))) {
            let doubtful = self.doubtful(&elsewhere, (file, function), at);
            return stepped(doubtful, file, line, symbol, "given by a caller");
        }
        match one {
            // What it is pinned to is known where it is made.
            Value::Vendor(_) if is_one => stepped(one, file, line, symbol, "given by every caller"),
            _ => declared,
        }
    }

    /// A client in the place of which callers give different ones, some of which are pointed elsewhere.
    fn doubtful(&mut self, vendor: &Vendor, (file, function): (FileId, FunctionId), at: u32) -> Value {
        let Some(client) = vendor.client.map(|client| self.clients.get(client).client.clone()) else {
            return Value::vendor(vendor.clone());
        };
        let record = Record { client, host: Host::Hidden };
        let client = Some(self.clients.at(Site::Doubtful(file, function, at), || record));
        Value::vendor(Vendor { client, ..vendor.clone() })
    }

    /// A part of a value of which only the type says that it is a client: the one client that this is given as, where
    /// that is known of all who give it.
    pub(super) fn as_given(&mut self, declared: Value, file: FileId, whole: ExprId, steps: &[Step]) -> Value {
        let Value::Vendor(vendor) = &declared else { return declared };
        let is_made = vendor.client.is_none_or(|client| self.clients.made_in(client).is_some());
        if is_made || !vendor.chain.is_empty() {
            return declared;
        }
        match self.behind_type(file, whole, steps.to_vec(), 0) {
            Value::Vendor(given) if self.is_one_of(&given, &declared) => Value::Vendor(given),
            _ => declared,
        }
    }

    /// Whether a client is made somewhere that is known, and is what a type promises.
    fn is_one_of(&self, vendor: &Vendor, declared: &Value) -> bool {
        let is_made = vendor.client.is_some_and(|client| self.clients.made_in(client).is_some());
        let promised = |promise: &Rc<Vendor>| promise.chain.is_empty() && promise.shape == vendor.shape;
        is_made && vendor.chain.is_empty() && declared.vendors().all(promised)
    }

    /// A value without the clients that are only declared to be some, where another one of the package that it may be
    /// is pointed elsewhere.
    pub(super) fn without_promises<'v>(&self, value: &'v Value) -> Cow<'v, Value> {
        let packages = value.vendors().filter(|vendor| self.is_elsewhere(vendor));
        let packages: Vec<_> = packages.map(|vendor| self.catalog.shape(vendor.shape).package).collect();
        let is_hollow = |value: &Value| match value {
            Value::Vendor(vendor) => {
                packages.contains(&self.catalog.shape(vendor.shape).package)
                    && self.is_promise(vendor)
                    && !self.is_elsewhere(vendor)
            }
            _ => false,
        };
        if !value.alternatives().iter().any(is_hollow) {
            return Cow::Borrowed(value);
        }
        let rest = value.alternatives().iter().filter(|value| !is_hollow(value)).cloned().collect();
        Cow::Owned(Value::Many(Rc::new(rest)))
    }

    /// Whether the requests of a client do not provably go to the vendor whose package it is of.
    fn is_elsewhere(&self, vendor: &Vendor) -> bool {
        vendor.client.is_some_and(|client| self.clients.get(client).host != Host::Own)
    }

    /// Whether a value is a client by its type alone, of a package that others than its vendor answer as well.
    pub(super) fn is_promise(&self, vendor: &Vendor) -> bool {
        let package = self.catalog.package_of(self.catalog.shape(vendor.shape).package);
        package.client_options.spoken_elsewhere
            && vendor.client.is_some_and(|client| self.clients.made_in(client).is_none())
    }
}
