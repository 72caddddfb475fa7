//! Requests that functions of the repository make with what they are given: the call site is the call that says all.

use super::callers::{MOST_RELAYS, Relay, Wrapper};
use super::eval::Evaluator;
use super::sites::Found;
use super::value::{FileId, Value};
use crate::catalog::{UrlPart, UrlPattern};
use crate::parse::{Argument, CallFact, ClassId, Expr, FunctionId, ReadFact, Uses};

/// Calls of one function that lead to a request, looked at for one call.
const MOST_WAYS: usize = 8;
/// Callers of a function of which it is asked what they request.
const MOST_CALLERS: usize = 16;

impl Evaluator<'_, '_> {
    /// The request that a call of a function makes, where the function alone does not say which.
    pub(super) fn wrapped(
        &mut self,
        file: FileId,
        call: &CallFact,
        value: &Value,
        arguments: &[Argument],
    ) -> Option<Found> {
        let Value::Function(there, function) = *value else { return None };
        let arguments = &*self.in_order(file, arguments, call.keywords, (there, function))?;
        let this = self.receiver(file, call.expr);
        let mut found = self.requested_by(file, (there, function), arguments, this, 0)?;
        if found.operation.is_none()
            && self.is_relay(file, call)
            && (found.addresses.is_empty() || self.do_callers_say_more(file, call))
        {
            return None;
        }
        let name = self.world.symbol(there, self.world.file(there).parsed.functions[function as usize].scope);
        let name = name.map(|it| it.qualified.clone()).unwrap_or_default();
        found.reason = format!("{}, requested by {name}", found.reason);
        if found.operation.is_some() && self.replaces_global(file, "fetch") {
            found.operation = None;
            "fetch is assigned something else by this code".clone_into(&mut found.reason);
        }
        if let Some(uses) = &mut found.uses {
            answered(uses, &self.uses_of(file, call));
        }
        Some(found)
    }

    /// Whether a call passes on what its function is given: then the callers of that function say what it requests.
    fn is_relay(&self, file: FileId, call: &CallFact) -> bool {
        let Some(surveyed) = self.surveyed else { return false };
        let parsed = self.world.file(file).parsed;
        parsed.functions_around(call.function).any(|around| {
            let relays = surveyed.relays.get(&(file, around)).into_iter().flatten();
            relays.into_iter().any(|relay| relay.call == call.expr)
        })
    }

    /// Whether a caller of the function around a call makes more of what that passes on.
    fn do_callers_say_more(&mut self, file: FileId, call: &CallFact) -> bool {
        let world = self.world;
        let parsed = world.file(file).parsed;
        parsed.functions_around(call.function).any(|around| {
            let callers = self.callers_of(file, around);
            callers.iter().take(MOST_CALLERS).any(|(there, caller)| {
                let there_parsed = world.file(*there).parsed;
                let Expr::Call { call, arguments, .. } = there_parsed.expr(*caller) else { return false };
                let keywords = there_parsed.calls.get(*call as usize).and_then(|call| call.keywords);
                let Some(arguments) = self.in_order(*there, arguments, keywords, (file, around)) else { return false };
                let this = self.receiver(*there, *caller);
                self.requested_by(*there, (file, around), &arguments, this, 0).is_some()
            })
        })
    }

    fn requested_by(
        &mut self,
        file: FileId,
        (there, function): (FileId, FunctionId),
        arguments: &[Argument],
        this: Option<(FileId, ClassId)>,
        depth: u32,
    ) -> Option<Found> {
        let surveyed = self.surveyed?;
        // What it wraps is a matter of its file.
        self.world.file(there);
        let wrapper = surveyed.wrappers.get(&(there, function));
        let relays = surveyed.relays.get(&(there, function));
        if (wrapper.is_none() && relays.is_none()) || self.frame_of(there, function).is_some() {
            return None;
        }
        if let Some(wrapper) = wrapper {
            return self.requested_by_wrapper(file, (there, function), arguments, this, *wrapper);
        }
        let mut found: Option<Found> = None;
        for relay in relays.into_iter().flatten().take(MOST_WAYS).filter(|_| depth < MOST_RELAYS) {
            let Some(next) = self.requested_by_relay(file, (there, function), arguments, this, *relay, depth) else {
                continue;
            };
            match &found {
                Some(known) if next.operation.is_none() || known.operation == next.operation => {}
                Some(known) if known.operation.is_some() => return None,
                _ => found = Some(next),
            }
        }
        found
    }

    fn requested_by_wrapper(
        &mut self,
        file: FileId,
        (there, function): (FileId, FunctionId),
        arguments: &[Argument],
        this: Option<(FileId, ClassId)>,
        wrapper: Wrapper,
    ) -> Option<Found> {
        // Most callers of a request for anything ask something else.
        if wrapper.open && !self.names_a_vendor(file, arguments, (there, function), this) {
            return None;
        }
        let parsed = self.world.file(there).parsed;
        let request = parsed.calls.get(wrapper.request as usize)?;
        let Expr::Call { callee, arguments: inner, .. } = parsed.expr(request.expr) else { return None };
        let client = match this {
            Some(_) => self.inside_method(this, (there, function), file, arguments, |it| it.expr(there, *callee)),
            None => self.expr(there, *callee),
        };
        let http = self.as_http(&client)?;
        let is_bound = |found: &Found| found.operation.is_some();
        let ask = |this: &mut Self| this.requested(there, request, &http, inner);
        if self.alone(ask).as_ref().is_some_and(is_bound) {
            return None;
        }
        let mut found = self.inside_method(this, (there, function), file, arguments, ask)?;
        if !is_bound(&found) {
            // A call that says no more than the request itself is no request of its own.
            let ask = |this: &mut Self| {
                let parts = this.request(there, &http, inner, request.keywords)?;
                Some(this.addresses(&parts))
            };
            if self.alone(ask) == self.inside_method(this, (there, function), file, arguments, ask) {
                return None;
            }
        }
        found.uses = Some(self.uses_here(there, request).into_owned());
        Some(found)
    }

    fn requested_by_relay(
        &mut self,
        file: FileId,
        (there, function): (FileId, FunctionId),
        arguments: &[Argument],
        this: Option<(FileId, ClassId)>,
        relay: Relay,
        depth: u32,
    ) -> Option<Found> {
        let parsed = self.world.file(there).parsed;
        let Expr::Call { call, arguments: inner, .. } = parsed.expr(relay.call) else { return None };
        let call = parsed.calls.get(*call as usize)?;
        let target = (relay.file, relay.function);
        let inner = &*self.in_order(there, inner, call.keywords, target)?;
        // Where the function says it all, its own call is the call site.
        let own = self.receiver(there, relay.call);
        let alone = self.alone(|it| it.requested_by(there, target, inner, own, depth + 1));
        if alone.as_ref().is_some_and(|found| found.operation.is_some()) {
            return None;
        }
        let mut found = self.inside_method(this, (there, function), file, arguments, |it| {
            let own = it.receiver(there, relay.call);
            it.requested_by(there, target, inner, own, depth + 1)
        })?;
        // Where it says no more it is no request of its own.
        let says_no_more =
            |alone: Found| !alone.addresses.is_empty() && are_as_long(&alone.addresses, &found.addresses);
        if found.operation.is_none() && alone.is_some_and(says_no_more) {
            return None;
        }
        if let Some(known) = &mut found.uses {
            answered(known, &self.uses_here(there, call));
        }
        Some(found)
    }

    /// Evaluates without any call that is looked into.
    pub(super) fn alone<T>(&mut self, ask: impl FnOnce(&mut Self) -> T) -> T {
        let frame = self.frame.take();
        let known = frame.is_some().then(|| std::mem::take(&mut self.known));
        let answer = ask(self);
        if let Some(known) = known {
            self.known = known;
        }
        self.frame = frame;
        answer
    }
}

/// Whether addresses have the same hosts and as many segments: what fills a segment makes no other path of one.
fn are_as_long(some: &[UrlPattern], others: &[UrlPattern]) -> bool {
    let segments = |url: &UrlPattern| {
        let slashes = |part: &UrlPart| match part {
            UrlPart::Literal(text) => text.matches('/').count(),
            UrlPart::Value | UrlPart::Anything => 0,
        };
        url.path.iter().map(slashes).sum::<usize>()
    };
    some.len() == others.len() && some.iter().zip(others).all(|(a, b)| a.host == b.host && segments(a) == segments(b))
}

/// What a function reads of an answer, and what its caller reads of the part that it returns.
fn answered(inner: &mut Uses, outer: &Uses) {
    let returned = std::mem::take(&mut inner.returned);
    if returned.is_empty() {
        // What the function gives is made of the answer in a way that is not followed.
        inner.escapes = true;
        return;
    }
    for path in returned {
        let join = |rest: &str| match (path.as_str(), rest) {
            ("", rest) => rest.to_owned(),
            (path, "") => path.to_owned(),
            (path, rest) if rest.starts_with('[') => format!("{path}{rest}"),
            (path, rest) => format!("{path}.{rest}"),
        };
        inner.escapes |= outer.escapes;
        if !path.is_empty() {
            let read = ReadFact { path: path.clone(), guarded: false, compared: false, escapes: outer.escapes };
            inner.reads.push(read);
        }
        inner.reads.extend(outer.reads.iter().map(|read| ReadFact { path: join(&read.path), ..read.clone() }));
        inner.returned.extend(outer.returned.iter().map(|rest| join(rest)));
    }
}
