//! Results that are handed to what gives them back: a validator (`schema.parse(await response.json())`), or a function of
//! the repository that reads them (`json(await fetch(url))`, `fetch(url).then(json)`).

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use super::eval::Evaluator;
use super::passes::{Passes, Place};
use super::results::joined;
use super::value::{FileId, Value};
use crate::parse::{CallFact, Expr, ExprId, FunctionId, Origin, ParsedFile, ReadFact, Step, Uses};

/// Expressions in expressions, and functions that hand on, followed this far.
const DEEPEST: u32 = 6;
/// Calls that one result is handed to.
const MOST_CALLS: usize = 16;

/// A part of a result that is an argument of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    /// The call whose result stands for what is made of it.
    call: ExprId,
    /// What it is handed to.
    to: ExprId,
    /// The position of the argument.
    at: u32,
    /// Which part, as in [`ReadFact`].
    path: String,
}

/// What a file hands on of the results of its calls, by these.
#[derive(Debug, Default)]
pub(super) struct Handed {
    parts: HashMap<ExprId, Vec<Part>>,
}

impl Handed {
    fn of(parsed: &ParsedFile) -> Self {
        let mut handed = Self::default();
        for call in &parsed.calls {
            let Expr::Call { callee, arguments, construct: false, .. } = parsed.expr(call.expr) else { continue };
            // `result.then(read)`
            if let Expr::Member(promise, then) = *parsed.expr(*callee)
                && let [first, ..] = arguments.as_slice()
                && parsed.name(then) == "then"
                && !matches!(parsed.expr(first.value), Expr::Function(_))
            {
                handed.add(parsed, call.expr, first.value, 0, promise);
                continue;
            }
            for (at, argument) in (0..).zip(arguments).take_while(|(_, argument)| !argument.spread) {
                handed.add(parsed, call.expr, *callee, at, argument.value);
            }
        }
        handed
    }

    fn add(&mut self, parsed: &ParsedFile, call: ExprId, to: ExprId, at: u32, value: ExprId) {
        each_root(parsed, value, &mut |root, path| {
            if matches!(parsed.expr(root), Expr::Call { .. }) {
                self.parts.entry(root).or_default().push(Part { call, to, at, path });
            }
        });
    }
}

/// The calls and names of which an expression is a part, each with which part of it that is.
fn each_root(parsed: &ParsedFile, expr: ExprId, found: &mut impl FnMut(ExprId, String)) {
    let mut at = expr;
    let mut path: Vec<String> = Vec::new();
    let mut tell = |at: ExprId, path: &[String]| {
        let mut text = String::new();
        for step in path.iter().rev() {
            text = joined(&text, step);
        }
        found(at, text);
    };
    for _ in 0..DEEPEST * 4 {
        match parsed.expr(at) {
            Expr::Await(value) | Expr::Cast(value, _) | Expr::Guarded(value) => at = *value,
            Expr::Member(object, name) => {
                path.push(parsed.name(*name).to_owned());
                at = *object;
            }
            Expr::Index(object) => {
                path.push("[]".to_owned());
                at = *object;
            }
            Expr::Binding(binding) => {
                let Some(it) = parsed.bindings.get(*binding as usize).filter(|it| it.writes.is_empty()) else { return };
                let (value, steps) = match &it.origin {
                    Origin::Value(value, steps) => (Some(*value), steps),
                    Origin::Parameter(_, _, steps) => (None, steps),
                    _ => return,
                };
                for step in steps.iter().rev() {
                    match step {
                        Step::Member(name) => path.push(parsed.name(*name).to_owned()),
                        Step::Item | Step::Element(_) => path.push("[]".to_owned()),
                        Step::Rest => return,
                    }
                }
                match value {
                    Some(value) => at = value,
                    None => return tell(at, &path),
                }
            }
            Expr::Call { callee, arguments, construct: false, .. } => {
                // What is decoded is what it was encoded as.
                if is_decoder(parsed, *callee)
                    && let Some(first) = arguments.first()
                {
                    at = first.value;
                    continue;
                }
                tell(at, &path);
                let Expr::Member(object, name) = parsed.expr(*callee) else { return };
                path.push(format!("{}()", parsed.name(*name)));
                at = *object;
            }
            _ => return,
        }
    }
}

/// `JSON.parse`
fn is_decoder(parsed: &ParsedFile, callee: ExprId) -> bool {
    matches!(parsed.expr(callee), Expr::Member(object, name) if parsed.name(*name) == "parse"
        && matches!(parsed.expr(*object), Expr::Global(global) if parsed.name(*global) == "JSON"))
}

/// Whether an expression is a parameter of a function, or a part of one: which.
fn part_of_parameter(parsed: &ParsedFile, expr: ExprId, function: FunctionId, at: u32) -> Option<String> {
    let mut part = None;
    each_root(parsed, expr, &mut |root, path| {
        if let Expr::Binding(binding) = parsed.expr(root)
            && let Some(it) = parsed.bindings.get(*binding as usize)
            && matches!(it.origin, Origin::Parameter(of, position, _) if (of, position) == (function, at))
        {
            part = Some(path);
        }
    });
    part
}

impl Evaluator<'_, '_> {
    /// How the result of a call is used in its file, also behind what it is handed to and given back by.
    pub(super) fn uses_here<'c>(&mut self, file: FileId, call: &'c CallFact) -> Cow<'c, Uses> {
        self.uses_within(file, call, 0)
    }

    fn uses_within<'c>(&mut self, file: FileId, call: &'c CallFact, depth: u32) -> Cow<'c, Uses> {
        let escapes = call.uses.escapes || call.uses.reads.iter().any(|read| read.escapes);
        if !escapes || depth > DEEPEST {
            return Cow::Borrowed(&call.uses);
        }
        let parsed = self.world.whole_file(file).parsed;
        let handed = Rc::clone(self.handed.entry(file).or_insert_with(|| Rc::new(Handed::of(parsed))));
        let Some(parts) = handed.parts.get(&call.expr) else { return Cow::Borrowed(&call.uses) };
        let mut uses = call.uses.clone();
        for part in parts.iter().take(MOST_CALLS) {
            if !self.may_look() {
                break;
            }
            let Expr::Call { call: outer, .. } = parsed.expr(part.call) else { continue };
            let Some(outer) = parsed.calls.get(*outer as usize) else { continue };
            let given_back = self.given_back(file, part, depth, &mut uses);
            if given_back.is_empty() {
                continue;
            }
            let outer_uses = self.uses_within(file, outer, depth + 1);
            for (path, inside) in given_back {
                for read in &outer_uses.reads {
                    if let Some(rest) = behind(&read.path, inside) {
                        uses.reads.push(ReadFact { path: joined(&path, rest), ..read.clone() });
                    }
                }
                if outer.function == call.function {
                    let returned = outer_uses.returned.iter().filter_map(|returned| behind(returned, inside));
                    uses.returned.extend(returned.map(|rest| joined(&path, rest)));
                }
            }
        }
        Cow::Owned(uses)
    }

    /// Which parts of a result a call gives back that it is handed to, each with the member of what that call gives; and
    /// what a function reads of it.
    fn given_back(
        &mut self,
        file: FileId,
        part: &Part,
        depth: u32,
        uses: &mut Uses,
    ) -> Vec<(String, Option<&'static str>)> {
        if is_decoder(self.world.file(file).parsed, part.to) {
            return vec![(part.path.clone(), None)];
        }
        match self.expr(file, part.to) {
            Value::Passes(Passes::Itself) if part.at == 0 => vec![(part.path.clone(), None)],
            Value::Passes(Passes::Held(Place::Member(name))) if part.at == 0 => vec![(part.path.clone(), Some(name))],
            Value::Function(there, function) => self.read_by(there, function, part, depth, uses),
            _ => Vec::new(),
        }
    }

    fn read_by(
        &mut self,
        there: FileId,
        function: FunctionId,
        part: &Part,
        depth: u32,
        uses: &mut Uses,
    ) -> Vec<(String, Option<&'static str>)> {
        let parsed = self.world.whole_file(there).parsed;
        let Some(it) = parsed.functions.get(function as usize) else { return Vec::new() };
        let mut given_back = Vec::new();
        for returned in &it.returns {
            if let Some(path) = part_of_parameter(parsed, *returned, function, part.at)
                && !path.contains("()")
            {
                given_back.push((joined(&part.path, &path), None));
            }
        }
        // `const body = await response.json()` in it: what is read of that, and what is returned of it.
        for call in &parsed.calls {
            let Expr::Call { callee, construct: false, .. } = parsed.expr(call.expr) else { continue };
            let Expr::Member(object, name) = parsed.expr(*callee) else { continue };
            if !parsed.functions_around(call.function).any(|around| around == function) {
                continue;
            }
            let Some(path) = part_of_parameter(parsed, *object, function, part.at) else { continue };
            let path = joined(&part.path, &joined(&path, &format!("{}()", parsed.name(*name))));
            let inner = self.uses_within(there, call, depth + 1);
            uses.reads
                .extend(inner.reads.iter().map(|read| ReadFact { path: joined(&path, &read.path), ..read.clone() }));
            given_back.extend(inner.returned.iter().map(|returned| (joined(&path, returned), None)));
        }
        given_back
    }
}

/// What is left of a path behind a member, where one is asked for.
fn behind<'p>(path: &'p str, member: Option<&str>) -> Option<&'p str> {
    let Some(member) = member else { return Some(path) };
    let rest = path.strip_prefix(member)?;
    match rest.strip_prefix('.') {
        Some(rest) => Some(rest),
        None => (rest.is_empty() || rest.starts_with('[')).then_some(rest),
    }
}
