//! Who calls whom, and functions that put a vendor's URL together from their parameters.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::eval::Evaluator;
use super::reads::Reads;
use super::text::{Start, Text, known, start, url};
use super::value::{FileId, Http, Value};
use crate::parse::{Argument, CallId, ClassId, Expr, ExprId, FunctionId, Origin, ParsedFile, Property, TextPart};
use crate::pieces::{Numbers, Piece};

/// What a first look at every call of one file finds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Survey<'l> {
    /// Functions of the repository that it calls, each behind its file and before the call, in source order.
    #[serde(borrow)]
    pub(crate) calls: Numbers<'l, 3>,
    /// Functions of the repository that it passes to calls by a name or a member, each behind its file and before the
    /// call and the position of the argument, in source order.
    #[serde(borrow)]
    pub(crate) passed: Numbers<'l, 4>,
    /// How its functions make requests for others: [`Ways`].
    #[serde(borrow)]
    pub(crate) ways: Piece<'l>,
    /// What was read for this.
    #[serde(borrow)]
    pub(crate) reads: Reads<'l>,
    /// What it took.
    pub(crate) spent: usize,
}

/// An argument: of which call, and at which position.
pub(crate) type Place = (ExprId, u32);

impl Survey<'_> {
    /// Gives each file its new position.
    pub(crate) fn moved(&mut self, to: impl Fn(FileId) -> FileId) {
        self.calls.change(|[target, ..]| *target = to(*target));
        self.passed.change(|[target, ..]| *target = to(*target));
        self.ways.change(|ways: &mut Ways| {
            for (_, relay) in &mut ways.relays {
                relay.file = to(relay.file);
            }
        });
        self.reads.moved(&to);
    }
}

/// How the functions of a file make requests for others.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ways {
    /// Its functions whose one plain request to a vendor depends on their parameters. Ascending.
    pub(super) wrappers: Vec<(FunctionId, Wrapper)>,
    /// Calls by which its functions pass parameters of their own on to functions of the repository, in source order.
    pub(super) relays: Vec<(FunctionId, Relay)>,
}

impl Ways {
    /// Those of all files that have any; nothing where what was kept cannot be read.
    pub(crate) fn of<'s>(surveys: impl Iterator<Item = Option<&'s Survey<'s>>>) -> Option<Vec<(FileId, Self)>> {
        let some = (0..).zip(surveys).filter_map(|(file, survey)| Some((file, &survey?.ways)));
        some.filter(|(_, ways)| !ways.is_default()).map(|(file, ways)| Some((file, ways.get()?))).collect()
    }
}

/// The one request of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Wrapper {
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
    pub(super) file: FileId,
    pub(super) function: FunctionId,
}

/// Classes that extend each other, followed this far.
pub(super) const MOST_BASES: usize = 8;

/// Functions between a call and the one that makes the request, followed this far.
pub(super) const MOST_RELAYS: u32 = 3;

/// The surveys of all files.
#[derive(Debug, Default)]
pub(crate) struct Surveyed {
    callers: ByFunction<ExprId>,
    passed: ByFunction<Place>,
    pub(super) wrappers: FxHashMap<(FileId, FunctionId), Wrapper>,
    /// Calls that lead to a wrapper.
    pub(super) relays: FxHashMap<(FileId, FunctionId), Vec<Relay>>,
}

impl Surveyed {
    /// Surveys in the order of the files.
    pub(crate) fn new<'s>(
        surveys: &(impl ExactSizeIterator<Item = &'s Survey<'s>> + Clone),
        ways: &[(FileId, Ways)],
    ) -> Self {
        let files = surveys.len();
        let all = || (0..).zip(surveys.clone());
        let callers = ByFunction::new(files, || {
            all().flat_map(|(file, survey)| {
                survey.calls.iter().map(move |[to, function, call]| (to, function, (file, call)))
            })
        });
        let passed = ByFunction::new(files, || {
            all().flat_map(|(file, survey)| {
                survey.passed.iter().map(move |[to, function, call, at]| (to, function, (file, (call, at))))
            })
        });
        let mut all = Self { callers, passed, relays: leading(ways), ..Self::default() };
        for relays in all.relays.values_mut() {
            relays.retain(|relay| (relay.file as usize) < files);
        }
        for (file, ways) in ways {
            all.wrappers.extend(ways.wrappers.iter().map(|(function, wrapper)| ((*file, *function), *wrapper)));
        }
        all
    }
}

/// What files say of functions, by the file of the function.
#[derive(Debug, Default)]
struct ByFunction<T> {
    /// Where what is said of each file's functions begins; one more at the end.
    starts: Vec<usize>,
    /// The function of which it is said, ascending within a file.
    functions: Vec<FunctionId>,
    /// What is said, behind the file that says it. Of one function in the order of those.
    said: Vec<(FileId, T)>,
}

impl<T: Copy + Default> ByFunction<T> {
    /// Of the functions of so many files.
    fn new<I: Iterator<Item = (FileId, FunctionId, (FileId, T))>>(files: usize, all: impl Fn() -> I) -> Self {
        let mut starts = vec![0; files + 1];
        for (to, ..) in all() {
            if let Some(count) = starts.get_mut(to as usize + 1) {
                *count += 1;
            }
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut free = starts.clone();
        let mut sorted = vec![(0, (0, T::default())); starts[files]];
        for (to, function, said) in all().filter(|(to, ..)| (*to as usize) < files) {
            let at = &mut free[to as usize];
            sorted[*at] = (function, said);
            *at += 1;
        }
        for bounds in starts.windows(2) {
            sorted[bounds[0]..bounds[1]].sort_by_key(|(function, _)| *function);
        }
        let (functions, said) = sorted.into_iter().unzip();
        Self { starts, functions, said }
    }

    fn of(&self, file: FileId, function: FunctionId) -> &[(FileId, T)] {
        let at = file as usize;
        let (Some(start), Some(end)) = (self.starts.get(at), self.starts.get(at + 1)) else { return &[] };
        let functions = &self.functions[*start..*end];
        let from = functions.partition_point(|known| *known < function);
        let to = functions.partition_point(|known| *known <= function);
        &self.said[start + from..start + to]
    }
}

/// The calls by which each function leads to a wrapper, level by level.
pub(crate) fn leading(all: &[(FileId, Ways)]) -> FxHashMap<(FileId, FunctionId), Vec<Relay>> {
    let mut reaching: FxHashSet<(FileId, FunctionId)> = FxHashSet::default();
    for (file, ways) in all {
        reaching.extend(ways.wrappers.iter().map(|(function, _)| (*file, *function)));
    }
    let leads = |reaching: &FxHashSet<_>, from: (FileId, FunctionId), relay: &Relay| {
        let to = (relay.file, relay.function);
        // A file that is gone may have had any.
        from != to && (relay.file == FileId::MAX || reaching.contains(&to))
    };
    for _ in 0..MOST_RELAYS {
        let mut found = Vec::new();
        for (file, ways) in all {
            let leading = ways.relays.iter().filter(|(function, relay)| leads(&reaching, (*file, *function), relay));
            found.extend(leading.map(|(function, _)| (*file, *function)));
        }
        reaching.extend(found);
    }
    let mut leading: FxHashMap<_, Vec<Relay>> = FxHashMap::default();
    for (file, ways) in all {
        for (function, relay) in &ways.relays {
            if leads(&reaching, (*file, *function), relay) {
                leading.entry((*file, *function)).or_default().push(*relay);
            }
        }
    }
    leading
}

impl<'w> Evaluator<'_, 'w> {
    /// The calls of a function; none while files are surveyed.
    pub(super) fn callers_of(&self, file: FileId, function: FunctionId) -> &'w [(FileId, ExprId)] {
        let Some(surveyed) = self.surveyed else { return &[] };
        self.world.note_callers(file, function);
        surveyed.callers.of(file, function)
    }

    /// The calls that a function is passed to by a name or a member; none while files are surveyed.
    pub(super) fn passers_of(&self, file: FileId, function: FunctionId) -> &'w [(FileId, Place)] {
        let Some(surveyed) = self.surveyed else { return &[] };
        self.world.note_callers(file, function);
        surveyed.passed.of(file, function)
    }

    /// The functions that arguments of a call are, where the call does not hold or name them itself: as in [`Survey`].
    fn passes(&mut self, file: FileId, call: ExprId, arguments: &[Argument]) -> Vec<[u32; 4]> {
        let parsed = self.world.file(file).parsed;
        let mut all = Vec::new();
        for (at, argument) in (0..).zip(arguments).take_while(|(_, argument)| !argument.spread) {
            if !may_be_function(parsed, argument.value) {
                continue;
            }
            let value = self.expr(file, argument.value);
            for alternative in value.alternatives() {
                if let Value::Function(there, function) = alternative {
                    all.push([*there, *function, call, at]);
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
    pub(super) fn survey(&mut self, file: FileId, left: usize) -> Survey<'static> {
        self.begin_file(left);
        let world = self.world;
        let parsed = world.whole_file(file).parsed;
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
                        calls.push([*target, *function, call.expr]);
                        for around in parsed.functions_around(call.function) {
                            if arguments.iter().any(|argument| mentions(parsed, argument.value, around, 0)) {
                                let relay = Relay { call: call.expr, file: *target, function: *function };
                                relays.push((around, relay));
                            }
                        }
                    }
                    Value::Class(target, class) => {
                        let made = self.constructor_of(*target, *class);
                        calls.extend(made.map(|(target, constructor)| [target, constructor, call.expr]));
                    }
                    // `super(…)`
                    Value::Instance(target, class) if matches!(parsed.expr(*callee), Expr::Super(_)) => {
                        let made = self.constructor_of(*target, *class);
                        calls.extend(made.map(|(target, constructor)| [target, constructor, call.expr]));
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
        Survey {
            calls: Numbers::of(calls.into_iter()),
            passed: Numbers::of(given.into_iter()),
            ways: Piece::of(&Ways { wrappers, relays }),
            reads: world.reads(),
            spent: self.spent_of_file(),
        }
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
        let host = match start(text) {
            Start::Host("") => url(text).map(|url| url.host),
            Start::Host(host) => Some(host.to_owned()),
            Start::Value | Start::Other => None,
        };
        host.is_some_and(|host| self.catalog.vendor_of_host(&host).is_some())
    }

    /// Whether an argument of a call, or what stands for one that is left out, starts a URL of a vendor.
    pub(super) fn names_a_vendor(
        &mut self,
        caller: FileId,
        arguments: &[Argument],
        (file, function): (FileId, FunctionId),
        this: Option<(FileId, ClassId)>,
    ) -> bool {
        if this.is_some_and(|this| self.is_of_a_vendor(this)) {
            return true;
        }
        let left_out = self.world.file(file).parsed.functions.get(function as usize).into_iter();
        let left_out = left_out.flat_map(|it| it.parameters.iter().skip(arguments.len()));
        let defaults = left_out.filter_map(|parameter| parameter.default.map(|value| (file, value)));
        let given = arguments.iter().map(|argument| (caller, argument.value));
        given.chain(defaults).any(|(there, value)| self.is_address_of_vendor(there, value, 0))
    }

    /// Whether a text starts a URL of a vendor or is the host of one, or an object has such a member.
    pub(super) fn is_address_of_vendor(&mut self, file: FileId, value: ExprId, depth: u32) -> bool {
        if let Some((there, object)) = self.object(file, value) {
            let Expr::Object(properties) = self.world.file(there).parsed.expr(object) else { return false };
            return depth == 0
                && properties.iter().any(|property| match property {
                    Property::Named(_, value) => self.is_address_of_vendor(there, *value, 1),
                    Property::Spread(_) | Property::Computed => false,
                });
        }
        let readings = self.texts_of(file, value);
        readings.iter().any(|text| {
            let host = known(text).filter(|_| depth > 0);
            self.starts_at_vendor(text) || host.is_some_and(|host| self.catalog.vendor_of_host(&host).is_some())
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
