//! Who calls whom, and functions that put a vendor's URL together from their parameters.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::eval::Evaluator;
use super::reads::Reads;
use super::sites::Found;
use super::text::{Start, Text, start};
use super::value::{FileId, Http, Value};
use crate::parse::{Argument, CallId, Expr, ExprId, FunctionId};

/// What a first look at every call of one file finds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Survey {
    /// Functions of the repository that it calls, with the calls, in source order.
    pub(crate) calls: Vec<(FileId, FunctionId, ExprId)>,
    /// Its functions whose one plain request to a vendor depends on their parameters. Ascending.
    pub(crate) wrappers: Vec<(FunctionId, Wrapper)>,
    /// What was read for this.
    pub(crate) reads: Reads,
    /// What it took.
    pub(crate) spent: usize,
}

/// The one request of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Wrapper {
    request: CallId,
    /// Whether even the host is a matter of its parameters.
    open: bool,
}

/// The surveys of all files.
#[derive(Debug, Default)]
pub(crate) struct Surveyed {
    callers: FxHashMap<(FileId, FunctionId), Vec<(FileId, ExprId)>>,
    wrappers: FxHashMap<(FileId, FunctionId), Wrapper>,
}

impl Surveyed {
    /// Surveys in the order of the files.
    pub(crate) fn new<'s>(surveys: impl Iterator<Item = &'s Survey>) -> Self {
        let mut all = Self::default();
        for (file, survey) in (0..).zip(surveys) {
            for (target, function, call) in &survey.calls {
                all.callers.entry((*target, *function)).or_default().push((file, *call));
            }
            all.wrappers.extend(survey.wrappers.iter().map(|(function, wrapper)| ((file, *function), *wrapper)));
        }
        all
    }
}

impl<'w> Evaluator<'_, 'w> {
    /// The calls of a function; none while files are surveyed.
    pub(super) fn callers_of(&self, file: FileId, function: FunctionId) -> &'w [(FileId, ExprId)] {
        let Some(surveyed) = self.surveyed else { return &[] };
        self.world.note_callers(file, function);
        surveyed.callers.get(&(file, function)).map_or(&[], Vec::as_slice)
    }

    /// Looks at every call of a file once: which functions it calls, and which of its own wrap a plain request.
    pub(super) fn survey(&mut self, file: FileId, left: usize) -> Survey {
        self.begin_file(left);
        let world = self.world;
        let parsed = world.file(file).parsed;
        let mut calls = Vec::new();
        let mut wrappers = FxHashMap::default();
        let mut open = FxHashMap::default();
        let mut several = FxHashSet::default();
        for (at, call) in (0..).zip(&parsed.calls) {
            let Expr::Call { callee, arguments, construct, .. } = parsed.expr(call.expr) else { continue };
            self.begin_call();
            let value = self.expr(file, *callee);
            for alternative in value.alternatives() {
                match alternative {
                    Value::Function(target, function) if !construct => calls.push((*target, *function, call.expr)),
                    Value::Class(target, class) => {
                        let constructor = world.file(*target).parsed.classes[*class as usize].constructor;
                        calls.extend(constructor.map(|constructor| (*target, constructor, call.expr)));
                    }
                    other => {
                        if let Some(function) = call.function
                            && let Some(http) = self.as_http(other)
                            && let Some(wrapper) = self.wraps(file, at, &http, arguments, call.keywords)
                        {
                            let all = if wrapper.open { &mut open } else { &mut wrappers };
                            if all.insert(function, wrapper).is_some() {
                                several.insert((function, wrapper.open));
                            }
                        }
                    }
                }
            }
        }
        // Of several requests in one function a caller cannot be told which one it makes.
        wrappers.retain(|function, _| !several.contains(&(*function, false)));
        for (function, wrapper) in open {
            if !several.contains(&(function, true)) && !several.contains(&(function, false)) {
                wrappers.entry(function).or_insert(wrapper);
            }
        }
        let mut wrappers: Vec<_> = wrappers.into_iter().collect();
        wrappers.sort_unstable_by_key(|(function, _)| *function);
        Survey { calls, wrappers, reads: world.reads(), spent: self.spent.of_file() }
    }

    /// What a request makes of the function around it, where it may reach a vendor.
    fn wraps(
        &mut self,
        file: FileId,
        request: CallId,
        http: &Http,
        arguments: &[Argument],
        keywords: Option<ExprId>,
    ) -> Option<Wrapper> {
        let parts = self.request(file, http, arguments, keywords)?;
        let readings = self.addresses(&parts);
        if readings.iter().any(|text| self.starts_at_vendor(text)) {
            return Some(Wrapper { request, open: false });
        }
        readings.iter().any(|text| start(text) == Start::Value).then_some(Wrapper { request, open: true })
    }

    fn starts_at_vendor(&self, text: &Text) -> bool {
        matches!(start(text), Start::Host(host) if self.catalog.vendor_of_host(host).is_some())
    }

    /// Whether an argument of a call, or what stands for one that is left out, starts a URL of a vendor.
    fn names_a_vendor(
        &mut self,
        caller: FileId,
        arguments: &[Argument],
        (file, function): (FileId, FunctionId),
    ) -> bool {
        let left_out = self.world.file(file).parsed.functions.get(function as usize).into_iter();
        let left_out = left_out.flat_map(|it| it.parameters.iter().skip(arguments.len()));
        let defaults = left_out.filter_map(|parameter| parameter.default.map(|value| (file, value)));
        let given = arguments.iter().map(|argument| (caller, argument.value));
        given.chain(defaults).any(|(there, value)| {
            let readings = self.texts_of(there, value);
            readings.iter().any(|text| self.starts_at_vendor(text))
        })
    }

    /// The request that a call of a wrapper makes, where the wrapper alone does not say which.
    pub(super) fn wrapped(
        &mut self,
        file: FileId,
        value: &Value,
        arguments: &[Argument],
        keywords: Option<ExprId>,
    ) -> Option<Found> {
        let Value::Function(there, function) = *value else { return None };
        let arguments = &*self.in_order(file, arguments, keywords, (there, function))?;
        let wrapper = *self.surveyed?.wrappers.get(&(there, function))?;
        // Most callers of a request for anything ask something else.
        if wrapper.open && !self.names_a_vendor(file, arguments, (there, function)) {
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
