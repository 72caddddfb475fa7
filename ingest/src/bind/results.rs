//! What is read of a result behind the function that returns it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use super::eval::Evaluator;
use super::value::FileId;
use crate::parse::{CallFact, CallId, Expr, ExprId, FunctionId, ParsedFile, ReadFact, Uses};

/// Functions that return what a function returns, followed this far.
const DEEPEST: u32 = 4;
/// Callers that are looked at.
const MOST_CALLERS: usize = 32;
/// Longest path that is followed, in bytes.
const LONGEST: usize = 256;

/// Reads while they are collected, by path.
#[derive(Default)]
struct Collected {
    reads: BTreeMap<String, ReadFact>,
    escapes: bool,
    open: HashSet<(FileId, FunctionId)>,
}

impl Collected {
    fn add(&mut self, path: String, read: &ReadFact) {
        if path.is_empty() {
            self.escapes |= read.escapes;
            return;
        }
        match self.reads.get_mut(&path) {
            None => {
                self.reads.insert(path.clone(), ReadFact { path, ..read.clone() });
            }
            Some(known) => {
                known.guarded &= read.guarded;
                known.compared |= read.compared;
                known.escapes |= read.escapes;
            }
        }
    }
}

impl Evaluator<'_, '_> {
    /// How the result of a call is used: in its function and, where that returns it, by whoever calls that.
    pub(super) fn uses_of<'c>(&mut self, file: FileId, call: &'c CallFact) -> Cow<'c, Uses> {
        let uses = self.uses_here(file, call);
        if uses.returned.is_empty() {
            return uses;
        }
        let mut all = Collected::default();
        self.collect_uses(file, call, "", &mut all, 0);
        Cow::Owned(Uses { reads: all.reads.into_values().collect(), escapes: all.escapes, returned: Vec::new() })
    }

    fn collect_uses(&mut self, file: FileId, call: &CallFact, prefix: &str, all: &mut Collected, depth: u32) {
        let uses = self.uses_here(file, call);
        all.escapes |= uses.escapes && prefix.is_empty();
        for read in &uses.reads {
            all.add(joined(prefix, &read.path), read);
        }
        for returned in &uses.returned {
            let path = joined(prefix, returned);
            let followed = call
                .function
                .is_some_and(|function| self.collect_from_callers(file, function, call, &path, all, depth));
            if path.is_empty() {
                all.escapes |= !followed;
            } else {
                let read = ReadFact { path: String::new(), guarded: false, compared: false, escapes: !followed };
                all.add(path, &read);
            }
        }
    }

    /// False where somebody may use it who is not known.
    fn collect_from_callers(
        &mut self,
        file: FileId,
        function: FunctionId,
        call: &CallFact,
        path: &str,
        all: &mut Collected,
        depth: u32,
    ) -> bool {
        let world = self.world;
        let parsed = world.file(file).parsed;
        let Some(it) = parsed.functions.get(function as usize) else { return false };
        // Of several results a caller cannot be told which one it reads.
        let returns = it.returns.iter().filter(|returned| gives_something(parsed, **returned)).count();
        if depth >= DEEPEST || path.len() > LONGEST || returns != 1 || !all.open.insert((file, function)) {
            return false;
        }
        let callers = self.callers_of(file, function);
        // A function that nobody calls may be called from where nobody looks.
        let all_known = it.closed && (1..=MOST_CALLERS).contains(&callers.len());
        for (there, caller) in callers.iter().copied().take(MOST_CALLERS) {
            let parsed = world.file(there).parsed;
            if let Some(caller) = call_of(parsed, caller).and_then(|at| parsed.calls.get(at as usize))
                && !std::ptr::eq(caller, call)
            {
                self.collect_uses(there, caller, path, all, depth + 1);
            }
        }
        all.open.remove(&(file, function));
        all_known
    }
}

fn call_of(parsed: &ParsedFile, expr: ExprId) -> Option<CallId> {
    match parsed.expr(expr) {
        Expr::Call { call, .. } => Some(*call),
        _ => None,
    }
}

fn gives_something(parsed: &ParsedFile, expr: ExprId) -> bool {
    !matches!(parsed.expr(expr), Expr::Null | Expr::Literal(_))
}

/// A path behind another one.
pub(super) fn joined(prefix: &str, path: &str) -> String {
    match (prefix, path) {
        ("", path) => path.to_owned(),
        (prefix, "") => prefix.to_owned(),
        (prefix, path) if path.starts_with('[') => format!("{prefix}{path}"),
        (prefix, path) => format!("{prefix}.{path}"),
    }
}
