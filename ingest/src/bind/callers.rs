//! Who calls whom, and functions that put a vendor's URL together from their parameters.

use std::collections::{HashMap, HashSet};

use super::eval::Evaluator;
use super::sites::Found;
use super::text::{Start, Text, start};
use super::value::{FileId, Http, Value};
use crate::parse::{Argument, CallId, Expr, ExprId, FunctionId};

/// Functions whose one plain request to a vendor depends on their parameters, with that request.
pub(super) type Wrappers = HashMap<(FileId, FunctionId), Wrapper>;

/// The one request of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wrapper {
    request: CallId,
    /// Whether even the host is a matter of its parameters.
    open: bool,
}

impl Evaluator<'_, '_> {
    /// Looks at every call once: who calls which function, and which functions wrap a plain request.
    pub(super) fn survey(&mut self) -> Wrappers {
        let world = self.world;
        let mut callers: HashMap<(FileId, FunctionId), Vec<(FileId, ExprId)>> = HashMap::new();
        let mut wrappers = Wrappers::new();
        let mut open = Wrappers::new();
        let mut several = HashSet::new();
        for (file, there) in (0..).zip(&world.files) {
            self.begin_file();
            for (at, call) in (0..).zip(&there.parsed.calls) {
                let Expr::Call { callee, arguments, construct, .. } = there.parsed.expr(call.expr) else { continue };
                self.begin_call();
                let value = self.expr(file, *callee);
                for alternative in value.alternatives() {
                    match alternative {
                        Value::Function(target, function) if !construct => {
                            callers.entry((*target, *function)).or_default().push((file, call.expr));
                        }
                        Value::Class(target, class) if *construct => {
                            let constructor = world.file(*target).parsed.classes[*class as usize].constructor;
                            if let Some(constructor) = constructor {
                                callers.entry((*target, constructor)).or_default().push((file, call.expr));
                            }
                        }
                        other => {
                            if let Some(function) = call.function
                                && let Some(http) = self.as_http(other)
                                && let Some(wrapper) = self.wraps(file, at, &http, arguments)
                            {
                                let all = if wrapper.open { &mut open } else { &mut wrappers };
                                if all.insert((file, function), wrapper).is_some() {
                                    several.insert((file, function, wrapper.open));
                                }
                            }
                        }
                    }
                }
            }
        }
        // Of several requests in one function a caller cannot be told which one it makes.
        wrappers.retain(|(file, function), _| !several.contains(&(*file, *function, false)));
        for ((file, function), wrapper) in open {
            if !several.contains(&(file, function, true)) && !several.contains(&(file, function, false)) {
                wrappers.entry((file, function)).or_insert(wrapper);
            }
        }
        self.know_callers(callers);
        wrappers
    }

    /// What a request makes of the function around it, where it may reach a vendor.
    fn wraps(&mut self, file: FileId, request: CallId, http: &Http, arguments: &[Argument]) -> Option<Wrapper> {
        let parts = self.request(file, http, arguments)?;
        let readings = self.addresses(&parts);
        if readings.iter().any(|text| self.starts_at_vendor(text)) {
            return Some(Wrapper { request, open: false });
        }
        readings.iter().any(|text| start(text) == Start::Value).then_some(Wrapper { request, open: true })
    }

    fn starts_at_vendor(&self, text: &Text) -> bool {
        matches!(start(text), Start::Host(host) if self.catalog.vendor_of_host(host).is_some())
    }

    /// The request that a call of a wrapper makes, where the wrapper alone does not say which.
    pub(super) fn wrapped(
        &mut self,
        file: FileId,
        value: &Value,
        arguments: &[Argument],
        wrappers: &Wrappers,
    ) -> Option<Found> {
        let Value::Function(there, function) = *value else { return None };
        let wrapper = *wrappers.get(&(there, function))?;
        // Most callers of a request for anything ask something else.
        if wrapper.open
            && !arguments.iter().any(|argument| {
                let readings = self.texts_of(file, argument.value);
                readings.iter().any(|text| self.starts_at_vendor(text))
            })
        {
            return None;
        }
        let parsed = self.world.file(there).parsed;
        let request = parsed.calls.get(wrapper.request as usize)?;
        let Expr::Call { callee, arguments: inner, .. } = parsed.expr(request.expr) else { return None };
        let client = self.expr(there, *callee);
        let http = self.as_http(&client)?;
        if self.requested(there, request, &http, inner).is_some_and(|found| found.operation.is_some()) {
            return None;
        }
        let mut found =
            self.inside((there, function), file, arguments, |this| this.requested(there, request, &http, inner))?;
        found.operation.as_ref()?;
        let name = self.world.symbol(there, parsed.functions[function as usize].scope).map(|it| it.qualified.clone());
        found.reason = format!("{}, requested by {}", found.reason, name.unwrap_or_default());
        Some(found)
    }
}
