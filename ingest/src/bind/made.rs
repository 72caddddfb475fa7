//! What calls and constructions give, and clients that are only declared.

use std::rc::Rc;

use super::clients::{Record, Site};
use super::eval::{Evaluator, Question, stepped};
use super::passes;
use super::value::{FileId, Value, Vendor};
use crate::catalog::ShapeId;
use crate::parse::{Expr, ExprId, FunctionId, SymbolIndex};

impl Evaluator<'_, '_> {
    pub(super) fn eval_returns(&mut self, file: FileId, function: FunctionId) -> Value {
        let parsed = self.world.file(file).parsed;
        let Some(it) = parsed.functions.get(function as usize) else { return Value::Unknown };
        let mut value = Value::Unknown;
        for returned in &it.returns {
            let returned = self.expr(file, *returned);
            value = value.or(returned);
        }
        if !value.is_known()
            && let Some(ty) = it.return_type
        {
            let ty = self.ask(Question::Type(file, ty));
            value = self.declared(ty, file, it.symbol, 0, "returned with the client's type");
        }
        let name = self.world.symbol(file, it.symbol).map(|symbol| (symbol.qualified.clone(), symbol.line));
        match name {
            Some((name, line)) => stepped(value, file, line, it.symbol, &format!("returned by {name}")),
            None => value,
        }
    }

    /// What a call gives.
    pub(super) fn called(&mut self, callee: &Value, file: FileId, call: ExprId) -> Value {
        match callee {
            Value::Many(values) => {
                let mut all = Value::Unknown;
                for value in values.iter() {
                    let given = self.called(value, file, call);
                    all = all.or(given);
                }
                all
            }
            Value::Function(file, function) => self.ask(Question::Returns(*file, *function)),
            // Where classes are called to be made; elsewhere such a call fails.
            Value::Class(file, class) => Value::Instance(*file, *class),
            Value::Own => Value::Own,
            Value::Builder(_) => callee.clone(),
            Value::Getter(whole) => self.got(whole, file, call),
            Value::Method(method) => {
                self.declared(method.gives.clone(), file, None, 0, "an element of the client's type")
            }
            Value::Passes(passes) => self.passed_on(*passes, file, call),
            Value::Toolbox(module) if passes::is_of_validators(module) => callee.clone(),
            Value::Toolbox(module) => match passes::of_module(module, "default") {
                Some(passes) => self.passed_on(passes, file, call),
                None => Value::Unknown,
            },
            Value::Signature(file, ty) => {
                let value = self.returned_type(*file, *ty);
                self.declared(value, *file, None, 0, "returned with the client's type")
            }
            Value::Http(http) => self.http_made(http, file, call),
            Value::Global(name) => match passes::of_function(name) {
                Some(passes) => self.passed_on(passes, file, call),
                None => Value::Unknown,
            },
            Value::Namespace(specifier) => {
                let specifier = Rc::clone(specifier);
                let whole = self.package(&specifier, "default");
                match self.catalog.exported(&specifier, "*") {
                    Some(_) => self.called(&whole, file, call),
                    None => Value::Unknown,
                }
            }
            Value::Vendor(vendor) if vendor.chain.is_empty() => match self.catalog.shape(vendor.shape).call {
                Some(shape) => self.made(vendor, shape, file, call, false),
                None => Value::Unknown,
            },
            Value::Vendor(vendor) => Value::vendor(Vendor {
                chain: format!("{}()", vendor.chain),
                made: Some((file, call)),
                ..(**vendor).clone()
            }),
            _ => Value::Unknown,
        }
    }

    /// What `new` gives.
    pub(super) fn instance(&mut self, class: &Value, file: FileId, call: ExprId) -> Value {
        match class {
            Value::Many(values) => {
                let mut all = Value::Unknown;
                for value in values.iter() {
                    let given = self.instance(value, file, call);
                    all = all.or(given);
                }
                all
            }
            Value::Class(file, class) => Value::Instance(*file, *class),
            Value::Own => Value::Own,
            Value::Http(http) => self.http_constructed(http, file, call),
            Value::Namespace(specifier) => {
                let specifier = Rc::clone(specifier);
                match self.catalog.exported(&specifier, "*") {
                    Some(_) => {
                        let whole = self.package(&specifier, "default");
                        self.instance(&whole, file, call)
                    }
                    None => Value::Unknown,
                }
            }
            Value::Vendor(vendor) if vendor.chain.is_empty() => match self.catalog.shape(vendor.shape).construct {
                Some(shape) => self.made(vendor, shape, file, call, true),
                None => Value::Unknown,
            },
            _ => Value::Unknown,
        }
    }

    pub(super) fn made(
        &mut self,
        from: &Rc<Vendor>,
        shape: ShapeId,
        file: FileId,
        call: ExprId,
        construct: bool,
    ) -> Value {
        let made = self.catalog.shape(shape);
        let mut vendor = Vendor { shape, chain: String::new(), made: Some((file, call)), ..(**from).clone() };
        let Some(client) = &made.client else { return Value::vendor(vendor) };
        let parsed = self.world.file(file).parsed;
        let place = match parsed.expr(call) {
            Expr::Call { call, .. } => parsed.calls.get(*call as usize),
            _ => None,
        };
        let symbol = place.and_then(|place| place.symbol);
        let line = place.map_or(0, |place| place.line);
        if let Some(key) = &made.client_in
            && let Expr::Call { arguments, .. } = parsed.expr(call)
            && let Some((there, value)) = arguments.first().and_then(|first| self.option(file, first.value, key))
        {
            let given = self.expr(there, value);
            vendor.client = given.vendors().find_map(|given| given.client);
        }
        if vendor.client.is_none() || made.client_in.is_none() && self.catalog.shape(from.shape).client.is_none() {
            let mut record = self.constructed(&vendor, file, symbol, call);
            if let Some(before) = vendor.client {
                // `client.withOptions({ … })`: what it does not say is as it was.
                record.inherit(self.clients.get(before));
            }
            vendor.client = Some(self.made_for(vendor.client, &vendor, (file, call), symbol, record));
        }
        if let Some(selector) = &client.selector
            && let Some(segment) = self.selected(file, call, selector)
        {
            // The prefix grows by what the call selects (`google.gmail({ version: "v1" })`).
            vendor.chain = if client.prefix.is_empty() { segment } else { format!("{}.{segment}", client.prefix) };
        }
        let verb = if construct { "constructed by new" } else { "made by calling" };
        Value::vendor(vendor.step(file, line, symbol, format!("{verb} {}", self.catalog.shape(from.shape).name)))
    }

    /// The client of a construction: one for all calls of the function around it, but for those whose arguments make it
    /// another one.
    fn made_for(
        &mut self,
        before: Option<usize>,
        vendor: &Vendor,
        (file, call): (FileId, ExprId),
        symbol: Option<SymbolIndex>,
        record: Record,
    ) -> usize {
        let site = Site::Made(file, call);
        let Some(frame) = self.frame.clone().filter(|_| before.is_none()) else {
            return self.clients.at(site, || record);
        };
        let alone = self.alone(|this| this.constructed(vendor, file, symbol, call));
        if alone == record {
            return self.clients.at(site, || record);
        }
        let given = frame.arguments.iter().map(|argument| argument.value).collect();
        self.clients.at(Site::MadeFor(file, call, frame.caller, given), || record)
    }

    /// A value that is a client because it is declared so.
    pub(super) fn declared(&mut self, value: Value, file: FileId, symbol: Option<u32>, line: u32, step: &str) -> Value {
        match value {
            Value::Many(values) => {
                let mut all = Value::Unknown;
                for value in values.iter() {
                    let declared = self.declared(value.clone(), file, symbol, line, step);
                    all = all.or(declared);
                }
                all
            }
            Value::Vendor(vendor) if vendor.client.is_none() && self.catalog.shape(vendor.shape).client.is_some() => {
                let mut vendor = (*vendor).clone();
                let record = self.declaration(&vendor, file, symbol);
                let site = Site::Declared(
                    file,
                    symbol,
                    self.catalog.package_of(self.catalog.shape(vendor.shape).package).vendor,
                    vendor.specifier.to_string(),
                );
                vendor.client = Some(self.clients.at(site, || record));
                if line == 0 {
                    Value::vendor(vendor)
                } else {
                    Value::vendor(vendor.step(file, line, symbol, step.to_owned()))
                }
            }
            other => other,
        }
    }
}
