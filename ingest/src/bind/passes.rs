//! Functions of libraries that only pass on what they are given: hooks, memoizers, freezers.

use std::rc::Rc;

use super::eval::{Evaluator, Question};
use super::value::{FileId, Value};
use crate::parse::{Expr, ExprId};

/// What a function gives of what it is given first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passes {
    /// That itself: `Object.freeze(value)`, `once(function)`.
    Itself,
    /// That itself, where it is more than a literal: `Object.assign(client, { more })`.
    Extended,
    /// What that gives when it is called: `useMemo(() => value, [])`.
    Result,
    /// That, or what it gives when it is called, at a place: `useState(() => value)`.
    State(Place),
    /// That at a place: `useRef(value)`.
    Held(Place),
    /// What that holds at a place: `useContext(context)`.
    Taken(Place),
    /// What that gives when it is called, at a place: `computed(() => value)`.
    Computed(Place),
}

/// A place in a list or an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The n-th element.
    Element(u32),
    /// A member.
    Member(&'static str),
}

/// Where a context of React holds its value; no member is called so.
pub(super) const CONTEXT: Place = Place::Member("value of a context");

/// Whether anything of a module passes on what it is given.
fn is_toolbox(module: &str) -> bool {
    is_of_react(module) || is_of_memoizers(module) || matches!(module, "vue" | "@vue/reactivity" | "util" | "node:util")
}

fn is_of_react(module: &str) -> bool {
    matches!(module, "react" | "preact" | "preact/hooks" | "preact/compat" | "next/cache")
}

fn is_of_memoizers(module: &str) -> bool {
    // `lodash.once`, `lodash/once`
    let package = module.split(['/', '.']).next().unwrap_or(module);
    matches!(package, "lodash" | "lodash-es" | "underscore" | "radash" | "remeda" | "ramda" | "es-toolkit")
        || matches!(
            module,
            "mem"
                | "memoize"
                | "memoize-one"
                | "memoizee"
                | "micro-memoize"
                | "moize"
                | "p-memoize"
                | "nano-memoize"
                | "fast-memoize"
                | "onetime"
        )
}

/// Whether what a module exports makes schemas that check values and give them back.
pub(super) fn is_of_validators(module: &str) -> bool {
    matches!(module, "zod" | "zod/v3" | "zod/v4" | "zod/mini" | "zod/v4-mini" | "yup")
}

/// What a method of a schema does with what it is given.
pub(super) fn of_schema(name: &str) -> Option<Passes> {
    match name {
        "parse" | "parseAsync" | "validate" | "validateSync" | "cast" => Some(Passes::Itself),
        "safeParse" | "safeParseAsync" | "spa" => Some(Passes::Held(Place::Member("data"))),
        _ => None,
    }
}

/// What an export of a module does with what it is given.
pub(super) fn of_module(module: &str, name: &str) -> Option<Passes> {
    const CURRENT: Place = Place::Member("current");
    const VALUE: Place = Place::Member("value");
    if is_of_react(module) {
        return match name {
            "useMemo" => Some(Passes::Result),
            "useState" => Some(Passes::State(Place::Element(0))),
            "useRef" => Some(Passes::Held(CURRENT)),
            "createContext" => Some(Passes::Held(CONTEXT)),
            "useContext" | "use" => Some(Passes::Taken(CONTEXT)),
            "cache" | "unstable_cache" | "useCallback" => Some(Passes::Itself),
            _ => None,
        };
    }
    if is_of_memoizers(module) {
        // The function is what the module is, or is named.
        let named = matches!(name, "once" | "memoize" | "memo" | "memoizeOne");
        let is_one = matches!(name, "default" | "*" | "=");
        let module_is_one = !matches!(module, "lodash" | "lodash-es" | "underscore" | "radash" | "remeda" | "ramda")
            && (module.ends_with("once") || module.ends_with("memoize") || !module.contains(['/', '.']))
            && module != "es-toolkit";
        return (named || (is_one && module_is_one)).then_some(Passes::Itself);
    }
    match (module, name) {
        ("vue" | "@vue/reactivity", "ref" | "shallowRef") => Some(Passes::Held(VALUE)),
        ("vue" | "@vue/reactivity", "computed") => Some(Passes::Computed(VALUE)),
        ("vue" | "@vue/reactivity", "markRaw" | "readonly" | "reactive" | "shallowReactive" | "toRaw")
        | ("util" | "node:util", "promisify") => Some(Passes::Itself),
        _ => None,
    }
}

/// What a method of a global does with what it is given.
pub(super) fn of_global(global: &str, name: &str) -> Option<Passes> {
    match (global, name) {
        ("Object", "freeze" | "seal" | "preventExtensions") | ("Promise", "resolve") => Some(Passes::Itself),
        ("Object", "assign") => Some(Passes::Extended),
        _ => None,
    }
}

/// What a function does with what it is given that a framework (Nitro) lets code call without an import.
pub(super) fn of_function(global: &str) -> Option<Passes> {
    matches!(global, "cachedFunction" | "defineCachedFunction").then_some(Passes::Itself)
}

/// What an import of a module that passes things on is.
pub(super) fn toolbox(module: &str, name: &str) -> Value {
    if is_of_validators(module) {
        return Value::Toolbox(module.into());
    }
    if !is_toolbox(module) {
        return Value::Unknown;
    }
    match of_module(module, name) {
        Some(passes) => Value::Passes(passes),
        None if matches!(name, "default" | "*" | "=") => Value::Toolbox(module.into()),
        None => Value::Unknown,
    }
}

/// Whether all that a module gives are stand-ins of tests: what is made with it is no client, whatever its type says.
pub(super) fn makes_stand_ins(module: &str) -> bool {
    matches!(
        module,
        "jest-mock-extended"
            | "vitest-mock-extended"
            | "@golevelup/ts-jest"
            | "@golevelup/ts-vitest"
            | "ts-mockito"
            | "ts-auto-mock"
            | "moq.ts"
            | "typemoq"
            | "sinon"
            | "testdouble"
            | "substitute"
            | "@fluffy-spoon/substitute"
            | "strong-mock"
            | "jest-mock"
    )
}

impl Evaluator<'_, '_> {
    /// What a call of such a function gives.
    pub(super) fn passed_on(&mut self, passes: Passes, file: FileId, call: ExprId) -> Value {
        let Expr::Call { arguments, .. } = self.world.file(file).parsed.expr(call) else { return Value::Unknown };
        let Some(first) = arguments.first().filter(|argument| !argument.spread) else { return Value::Unknown };
        let given = self.expr(file, first.value);
        let (place, value) = match passes {
            Passes::Itself => return given,
            Passes::Extended => {
                let is_literal =
                    |value: &Value| matches!(value, Value::Object(..) | Value::List(..) | Value::Global(_));
                return if given.alternatives().iter().any(is_literal) { Value::Unknown } else { given };
            }
            Passes::Taken(place) => {
                return match given {
                    Value::Held(known, held) if known == place => {
                        self.declared((*held).clone(), file, None, 0, "held by a context of the client's type")
                    }
                    // `use(promise)`
                    _ => Value::Unknown,
                };
            }
            Passes::Result => return self.result_of(&given),
            Passes::Held(place) => (place, given),
            Passes::Computed(place) => (place, self.result_of(&given)),
            Passes::State(place) => match given {
                Value::Function(..) => (place, self.result_of(&given)),
                _ => (place, given),
            },
        };
        if value.is_known() { Value::Held(place, Rc::new(value)) } else { Value::Unknown }
    }

    fn result_of(&mut self, function: &Value) -> Value {
        match function {
            Value::Function(file, function) => self.ask(Question::Returns(*file, *function)),
            _ => Value::Unknown,
        }
    }
}
