//! Who calls whom, and functions that put a vendor's URL together from their parameters.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::eval::Evaluator;
use super::reads::Reads;
use super::text::{Start, Text, start};
use super::value::{FileId, Http, Value};
use crate::parse::{Argument, CallId, ClassId, Expr, ExprId, FunctionId, Origin, ParsedFile, Property, TextPart};

/// What a first look at every call of one file finds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Survey {
    /// Functions of the repository that it calls, with the calls, in source order.
    pub(crate) calls: Vec<(FileId, FunctionId, ExprId)>,
    /// Functions of the repository that it passes to calls by a name or a member, with the calls and the positions of
    /// the arguments, in source order.
    pub(crate) passed: Vec<(FileId, FunctionId, Place)>,
    /// Its functions whose one plain request to a vendor depends on their parameters. Ascending.
    pub(crate) wrappers: Vec<(FunctionId, Wrapper)>,
    /// Calls by which its functions pass parameters of their own on to functions of the repository, in source order.
    pub(crate) relays: Vec<(FunctionId, Relay)>,
    /// What was read for this.
    pub(crate) reads: Reads,
    /// What it took.
    pub(crate) spent: usize,
}

/// An argument: of which call, and at which position.
pub(crate) type Place = (ExprId, u32);

/// The one request of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Wrapper {
    pub(super) request: CallId,
    /// Whether even the host is a matter of its parameters.
    pub(super) open: bool,
}

/// A call that passes parameters of the function around it on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Relay {
    /// The call.
    pub(super) call: ExprId,
    /// The function that it calls.
    pub(crate) file: FileId,
    pub(super) function: FunctionId,
}

/// Classes that extend each other, followed this far.
const MOST_BASES: usize = 8;

/// Functions between a call and the one that makes the request, followed this far.
pub(super) const MOST_RELAYS: u32 = 3;

/// The surveys of all files.
#[derive(Debug, Default)]
pub(crate) struct Surveyed {
    callers: FxHashMap<(FileId, FunctionId), Vec<(FileId, ExprId)>>,
    passed: FxHashMap<(FileId, FunctionId), Vec<(FileId, Place)>>,
    pub(super) wrappers: FxHashMap<(FileId, FunctionId), Wrapper>,
    /// Calls that lead to a wrapper.
    pub(super) relays: FxHashMap<(FileId, FunctionId), Vec<Relay>>,
}

impl Surveyed {
    /// Surveys in the order of the files.
    pub(crate) fn new<'s>(surveys: impl Iterator<Item = &'s Survey> + Clone) -> Self {
        let mut all = Self { relays: ways(&surveys), ..Self::default() };
        for (file, survey) in (0..).zip(surveys) {
            for (target, function, call) in &survey.calls {
                all.callers.entry((*target, *function)).or_default().push((file, *call));
            }
            for (target, function, place) in &survey.passed {
                all.passed.entry((*target, *function)).or_default().push((file, *place));
            }
            all.wrappers.extend(survey.wrappers.iter().map(|(function, wrapper)| ((file, *function), *wrapper)));
        }
        all
    }
}

/// The calls by which each function leads to a wrapper, level by level.
pub(crate) fn ways<'s>(
    surveys: &(impl Iterator<Item = &'s Survey> + Clone),
) -> FxHashMap<(FileId, FunctionId), Vec<Relay>> {
    let all = || (0..).zip(surveys.clone());
    let mut reaching: FxHashSet<(FileId, FunctionId)> = FxHashSet::default();
    for (file, survey) in all() {
        reaching.extend(survey.wrappers.iter().map(|(function, _)| (file, *function)));
    }
    let leads = |reaching: &FxHashSet<_>, from: (FileId, FunctionId), relay: &Relay| {
        let to = (relay.file, relay.function);
        // A file that is gone may have had any.
        from != to && (relay.file == FileId::MAX || reaching.contains(&to))
    };
    for _ in 0..MOST_RELAYS {
        let mut found = Vec::new();
        for (file, survey) in all() {
            let leading = survey.relays.iter().filter(|(function, relay)| leads(&reaching, (file, *function), relay));
            found.extend(leading.map(|(function, _)| (file, *function)));
        }
        reaching.extend(found);
    }
    let mut ways: FxHashMap<_, Vec<Relay>> = FxHashMap::default();
    for (file, survey) in all() {
        for (function, relay) in &survey.relays {
            if leads(&reaching, (file, *function), relay) {
                ways.entry((file, *function)).or_default().push(*relay);
            }
        }
    }
    ways
}

impl<'w> Evaluator<'_, 'w> {
    /// The calls of a function; none while files are surveyed.
    pub(super) fn callers_of(&self, file: FileId, function: FunctionId) -> &'w [(FileId, ExprId)] {
        let Some(surveyed) = self.surveyed else { return &[] };
        self.world.note_callers(file, function);
        surveyed.callers.get(&(file, function)).map_or(&[], Vec::as_slice)
    }

    /// The calls that a function is passed to by a name or a member; none while files are surveyed.
    pub(super) fn passers_of(&self, file: FileId, function: FunctionId) -> &'w [(FileId, Place)] {
        let Some(surveyed) = self.surveyed else { return &[] };
        self.world.note_callers(file, function);
        surveyed.passed.get(&(file, function)).map_or(&[], Vec::as_slice)
    }

    /// The functions that arguments of a call are, where the call does not hold or name them itself.
    fn passes(&mut self, file: FileId, call: ExprId, arguments: &[Argument]) -> Vec<(FileId, FunctionId, Place)> {
        let parsed = self.world.file(file).parsed;
        let mut all = Vec::new();
        for (at, argument) in (0..).zip(arguments).take_while(|(_, argument)| !argument.spread) {
            if !may_be_function(parsed, argument.value) {
                continue;
            }
            let value = self.expr(file, argument.value);
            for alternative in value.alternatives() {
                if let Value::Function(there, function) = alternative {
                    all.push((*there, *function, (call, at)));
                }
            }
        }
        all
    }

    /// What makes an instance of a class: its own constructor, or that of the class which it extends.
    pub(super) fn constructor_of(&mut self, file: FileId, class: ClassId) -> Option<(FileId, FunctionId)> {
        let (mut there, mut at) = (file, class);
        for _ in 0..MOST_BASES {
            let it = self.world.file(there).parsed.classes.get(at as usize)?;
            if let Some(constructor) = it.constructor {
                return Some((there, constructor));
            }
            let Value::Class(base_file, base) = self.expr(there, it.extends?) else { return None };
            (there, at) = (base_file, base);
        }
        None
    }

    /// Looks at every call of a file once: which functions it calls, and which of its own wrap a plain request.
    pub(super) fn survey(&mut self, file: FileId, left: usize) -> Survey {
        self.begin_file(left);
        let world = self.world;
        let parsed = world.file(file).parsed;
        let mut calls = Vec::new();
        let mut given = Vec::new();
        let mut relays = Vec::new();
        let mut wrappers = FxHashMap::default();
        let mut open = FxHashMap::default();
        let mut several = FxHashSet::default();
        for (at, call) in (0..).zip(&parsed.calls) {
            let Expr::Call { callee, arguments, construct, .. } = parsed.expr(call.expr) else { continue };
            self.begin_call();
            given.extend(self.passes(file, call.expr, arguments));
            let value = self.expr(file, *callee);
            for alternative in value.alternatives() {
                match alternative {
                    Value::Function(target, function) if !construct => {
                        calls.push((*target, *function, call.expr));
                        for around in parsed.functions_around(call.function) {
                            if arguments.iter().any(|argument| mentions(parsed, argument.value, around, 0)) {
                                let relay = Relay { call: call.expr, file: *target, function: *function };
                                relays.push((around, relay));
                            }
                        }
                    }
                    Value::Class(target, class) => {
                        let made = self.constructor_of(*target, *class);
                        calls.extend(made.map(|(target, constructor)| (target, constructor, call.expr)));
                    }
                    // `super(…)`
                    Value::Instance(target, class) if matches!(parsed.expr(*callee), Expr::Super(_)) => {
                        let made = self.constructor_of(*target, *class);
                        calls.extend(made.map(|(target, constructor)| (target, constructor, call.expr)));
                    }
                    other => {
                        if call.function.is_some()
                            && let Some(http) = self.as_http(other)
                            && let Some(wrapper) = self.wraps(file, at, &http, arguments, call.keywords)
                        {
                            let all = if wrapper.open { &mut open } else { &mut wrappers };
                            // A request in a function that is passed on is one of the function around that as well.
                            for function in parsed.functions_around(call.function) {
                                if all.insert(function, wrapper).is_some() {
                                    several.insert((function, wrapper.open));
                                }
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
        Survey { calls, passed: given, wrappers, relays, reads: world.reads(), spent: self.spent.of_file() }
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

    pub(super) fn starts_at_vendor(&self, text: &Text) -> bool {
        matches!(start(text), Start::Host(host) if self.catalog.vendor_of_host(host).is_some())
    }

    /// Whether an argument of a call, or what stands for one that is left out, starts a URL of a vendor.
    pub(super) fn names_a_vendor(
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
}

/// Whether an argument may be a function that another file or a member holds. One that stands in the call or that the
/// file itself names is found without.
fn may_be_function(parsed: &ParsedFile, expr: ExprId) -> bool {
    match parsed.expr(expr) {
        Expr::Member(..) => true,
        Expr::Binding(binding) => match parsed.bindings.get(*binding as usize).map(|it| &it.origin) {
            Some(Origin::Import { .. }) => true,
            Some(Origin::Value(value, steps)) => !steps.is_empty() || !matches!(parsed.expr(*value), Expr::Function(_)),
            _ => false,
        },
        // `handle.bind(this)`, `guarded(handle)`
        Expr::Call { construct, .. } => !construct,
        _ => false,
    }
}

/// Expressions in expressions, looked at this far.
const DEEPEST: u32 = 6;

/// Whether a text, an object or a choice of these is made of a parameter of a function.
fn mentions(parsed: &ParsedFile, expr: ExprId, function: FunctionId, depth: u32) -> bool {
    if depth > DEEPEST {
        return false;
    }
    let inner = |expr: ExprId| mentions(parsed, expr, function, depth + 1);
    match parsed.expr(expr) {
        Expr::Binding(binding) => match parsed.bindings.get(*binding as usize).map(|it| &it.origin) {
            Some(Origin::Parameter(of, ..)) => *of == function,
            Some(Origin::Value(value, _)) => inner(*value),
            _ => false,
        },
        Expr::Template(parts) => parts.iter().any(|part| matches!(part, TextPart::Value(value) if inner(*value))),
        Expr::Object(properties) => properties.iter().any(|property| match property {
            Property::Named(_, value) | Property::Spread(value) => inner(*value),
            Property::Computed => false,
        }),
        Expr::Member(value, _) | Expr::Cast(value, _) | Expr::Guarded(value) | Expr::Await(value) => inner(*value),
        Expr::Either(left, right) => inner(*left) || inner(*right),
        Expr::Call { arguments, construct: true, .. } => arguments.iter().any(|argument| inner(argument.value)),
        _ => false,
    }
}
