//! Call sites: each call of a file that reaches, or may reach, a vendor.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use sync_core::graph::{CallSite, Context, EvidenceStep};
use sync_core::operation::Operation;
use sync_core::rung::Rung;

use super::eval::Evaluator;
use super::keys::Keys;
use super::value::{FileId, Trail, Value};
use super::written::{chain_as_written, response};
use crate::catalog::UrlPattern;
use crate::parse::{Argument, CallFact, Expr, ExprId, ParsedFile, Uses};

/// A call that reaches a vendor, before it is written down.
pub(super) struct Found {
    pub(super) vendor: String,
    pub(super) operation: Option<Operation>,
    pub(super) client: Option<usize>,
    pub(super) keys: Keys,
    pub(super) trail: Option<Rc<Trail>>,
    /// What led to the operation, or why there is none.
    pub(super) reason: String,
    /// What of the result is the vendor's answer.
    pub(super) answer: Answer,
    /// How the result is used, where that is not only a matter of the call.
    pub(super) uses: Option<Uses>,
    /// Whether the response can be seen at the call.
    pub(super) response: bool,
    /// Whether the response is read by methods of its own first (`response.json()`).
    pub(super) envelope: Option<String>,
    pub(super) enum_keys: Vec<String>,
    /// Where a plain request goes whose method is known.
    pub(super) addresses: Vec<UrlPattern>,
}

/// What of a result is the vendor's answer.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// What a vendor's package gives, also behind methods that page through it or go on building.
    Package {
        /// Methods behind which it still is.
        methods: Vec<String>,
        /// Whether any method is a step of a builder.
        builder: bool,
        /// Whether it is the first of several values, or each of them.
        first: bool,
        /// Whether a list is the answer itself.
        bare: bool,
    },
    /// What a library's response holds: under a member, or behind a method that reads it (`response.json()`).
    Plain {
        /// The member.
        envelope: Option<String>,
        /// Whether it is behind methods alone.
        by_methods: bool,
    },
}

impl Found {
    /// The same where the client's requests go to another host. Which one is nobody's business: it may be an internal one.
    pub(super) fn is_elsewhere(&mut self) {
        self.reason = format!("the client's requests go to a host that is not {}'s", self.vendor);
        self.operation = None;
    }

    /// The same without what may be otherwise, since not everything that leads there was looked at.
    fn cut(mut self) -> Self {
        self.operation = None;
        self.keys.hidden = true;
        "there is more to follow than is looked at".clone_into(&mut self.reason);
        self
    }
}

/// A file while its call sites are collected.
struct Collector<'p> {
    file: FileId,
    parsed: &'p ParsedFile,
    /// Results that a further call continues (`from("x")` in `from("x").select()`).
    continued: HashSet<ExprId>,
    ordinals: HashMap<(Option<u32>, String), u32>,
    sites: Vec<CallSite>,
}

impl<'p> Evaluator<'p, '_> {
    /// The call sites of a file, in source order.
    pub(super) fn call_sites(&mut self, file: FileId) -> Vec<CallSite> {
        let parsed = self.world.file(file).parsed;
        let mut collector =
            Collector { file, parsed, continued: continued(parsed), ordinals: HashMap::new(), sites: Vec::new() };
        let mut calls: Vec<&CallFact> = parsed.calls.iter().collect();
        calls.sort_by_key(|call| (call.line, call.column));
        for call in calls {
            let Expr::Call { callee, arguments, construct, .. } = parsed.expr(call.expr) else { continue };
            self.begin_call();
            if *construct {
                // Evaluated for the client that it may make.
                self.expr(file, call.expr);
                continue;
            }
            let (callee, arguments) = self.unwrapped(file, *callee, arguments);
            let value = self.expr(file, callee);
            let found = match self.as_https(&value).as_slice() {
                [http] => {
                    let found = self.requested(file, call, http, arguments);
                    found.map(|found| self.as_assigned(file, &value, found))
                }
                [_, ..] => self.requested_by_either(file, call, &value, arguments),
                [] => self
                    .called_vendor(file, call, &value, arguments, &collector.continued)
                    .or_else(|| self.wrapped(file, call, &value, arguments)),
            };
            let found = found.map(|found| if self.is_call_spent() { found.cut() } else { found });
            match found {
                Some(found) => self.write(&mut collector, call, callee, found),
                None => self.passed_methods(&mut collector, call, callee, arguments),
            }
            // Evaluated for the client that it may make.
            self.expr(file, call.expr);
        }
        collector.sites
    }

    /// A request that one of several clients makes, where it is the same whichever does.
    fn requested_by_either(
        &mut self,
        file: FileId,
        call: &CallFact,
        value: &Value,
        arguments: &[Argument],
    ) -> Option<Found> {
        let mut one: Option<Found> = None;
        for http in self.as_https(value) {
            let found = self.requested(file, call, &http, arguments)?;
            match &mut one {
                Some(known) if known.operation != found.operation || known.vendor != found.vendor => {
                    known.operation = None;
                    "one of several clients makes it, to different places".clone_into(&mut known.reason);
                }
                Some(_) => {}
                None => one = Some(found),
            }
        }
        one
    }

    /// A request with a global is none that is known where the file assigns something else to that global.
    fn as_assigned(&mut self, file: FileId, value: &Value, mut found: Found) -> Found {
        if let Value::Global(name) = value
            && self.replaces_global(file, name)
        {
            found.operation = None;
            found.reason = format!("{name} is assigned something else by this code");
        }
        found
    }

    /// `method.call(this, …)`, `method.apply(this, […])` and `Reflect.apply(method, this, […])` are `method(…)`.
    fn unwrapped<'e>(&mut self, file: FileId, callee: ExprId, arguments: &'e [Argument]) -> (ExprId, &'e [Argument])
    where
        'p: 'e,
    {
        let parsed = self.world.file(file).parsed;
        let Expr::Member(object, name) = *parsed.expr(callee) else { return (callee, arguments) };
        let listed = |at: usize| match arguments.get(at).map(|list| parsed.expr(list.value)) {
            Some(Expr::Array(items)) => Some(items.as_slice()),
            _ => None,
        };
        let (method, given) = match (parsed.expr(object), parsed.name(name)) {
            (Expr::Global(global), "apply") if parsed.name(*global) == "Reflect" => {
                match (arguments.first(), listed(2)) {
                    (Some(method), Some(given)) => (method.value, given),
                    _ => return (callee, arguments),
                }
            }
            (_, "call") => (object, arguments.get(1..).unwrap_or(&[])),
            (_, "apply") => match listed(1) {
                Some(given) => (object, given),
                None => return (callee, arguments),
            },
            _ => return (callee, arguments),
        };
        let is_method = self.expr(file, method).vendors().any(|vendor| !vendor.chain.is_empty());
        if is_method { (method, given) } else { (callee, arguments) }
    }

    /// Methods of clients that are passed uncalled to where they will be called.
    fn passed_methods(
        &mut self,
        collector: &mut Collector<'_>,
        call: &'p CallFact,
        callee: ExprId,
        arguments: &[Argument],
    ) {
        let parsed = collector.parsed;
        let file = collector.file;
        let calls_it = matches!(parsed.expr(callee), Expr::Member(_, name)
            if matches!(parsed.name(*name), "map" | "forEach" | "flatMap" | "then" | "filter"));
        for (at, argument) in arguments.iter().enumerate() {
            if !matches!(parsed.expr(argument.value), Expr::Member(..)) {
                continue;
            }
            if !calls_it && !self.calls_its_argument(file, callee, at) {
                continue;
            }
            let value = self.expr(file, argument.value);
            let Some(vendor) = value.vendors().find(|vendor| !vendor.chain.is_empty()).cloned() else { continue };
            let found = self.vendor_call(file, call, &vendor, &[], &HashSet::new());
            if let Some(mut found) = found.filter(|found| found.operation.is_some()) {
                found.keys = Keys { hidden: true, ..Keys::default() };
                found.response = false;
                found.reason.push_str("; passed as a function");
                self.write(collector, call, argument.value, found);
            }
        }
    }

    fn write(&mut self, collector: &mut Collector<'_>, call: &'p CallFact, callee: ExprId, found: Found) {
        let parsed = collector.parsed;
        if let Some(client) = found.client {
            self.clients.name(client);
        }
        let chain = chain_as_written(parsed, callee);
        let ordinal = collector.ordinals.entry((call.symbol, chain.clone())).or_insert(0);
        let call_ordinal = *ordinal;
        *ordinal += 1;
        let uses = match &found.uses {
            Some(uses) => Cow::Borrowed(uses),
            None => self.uses_of(collector.file, call),
        };
        let (reads, response_complete) = response(&uses, &found);
        let (symbol, symbol_ordinal) = match call.symbol.and_then(|at| parsed.symbols.get(at as usize)) {
            Some(symbol) => (symbol.qualified.clone(), symbol.ordinal),
            None => (String::new(), 0),
        };
        let args_literals = found
            .keys
            .literals
            .iter()
            .filter(|(key, _)| found.enum_keys.iter().any(|known| known == *key))
            .map(|(key, digest)| (key.clone(), format!("{digest:016x}")))
            .collect::<BTreeMap<_, _>>();
        let evidence = self.evidence(collector.file, found.trail.as_ref(), &found.reason, call.line);
        collector.sites.push(CallSite {
            line: call.line,
            end_line: call.end_line,
            column: call.column,
            callee_line: call.callee_line,
            callee_column: call.callee_column,
            symbol,
            symbol_ordinal,
            call_ordinal,
            chain,
            client: found.client.map(|client| self.clients.get(client).client.id.clone()),
            vendor: found.vendor,
            operation: found.operation,
            args_keys: found.keys.names.into_iter().collect(),
            args_complete: !found.keys.hidden,
            args_literals,
            response_fields_read: reads.iter().map(|read| read.field.clone()).collect(),
            reads,
            response_complete,
            call_hash: format!("{:016x}", call.hash),
            binding_source: Rung::Static,
            context: if self.world.is_test(collector.file) { Context::Test } else { Context::Code },
            evidence,
        });
    }

    /// The steps that led here, the first one first; those in other files by symbol, so that their lines may move.
    fn evidence(&self, file: FileId, trail: Option<&Rc<Trail>>, reason: &str, line: u32) -> Vec<EvidenceStep> {
        let mut steps = Vec::new();
        let mut at = trail;
        while let Some(trail) = at {
            at = trail.before.as_ref();
            let step = if trail.file == file {
                // A constructor that nobody wrote has no line.
                let line = (trail.line > 0).then_some(trail.line);
                EvidenceStep { step: trail.step.clone(), line, target: None }
            } else if trail.symbol.is_some() {
                let target = self.world.target(trail.file, trail.symbol);
                EvidenceStep { step: trail.step.clone(), line: None, target: Some(target) }
            } else {
                // An import or a destructuring in another file says nothing that its symbol does not.
                continue;
            };
            if !steps.contains(&step) {
                steps.push(step);
            }
        }
        steps.reverse();
        steps.push(EvidenceStep { step: reason.to_owned(), line: Some(line), target: None });
        steps
    }
}

/// Results on which a further member is called.
fn continued(parsed: &ParsedFile) -> HashSet<ExprId> {
    let mut continued = HashSet::new();
    for call in &parsed.calls {
        let Expr::Call { callee, .. } = parsed.expr(call.expr) else { continue };
        let mut at = *callee;
        while let Expr::Member(object, _) = parsed.expr(at) {
            at = *object;
        }
        if matches!(parsed.expr(at), Expr::Call { .. }) {
            continued.insert(at);
        }
    }
    continued
}
