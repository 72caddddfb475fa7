//! Frameworks that carry what a type says to functions that they are given: contexts of React, Hono and tRPC, and stores
//! of asynchronous calls.

use std::rc::Rc;

use super::eval::{Evaluator, Question};
use super::passes::{CONTEXT, Place};
use super::value::{FileId, Method, Value};
use crate::parse::{BindingId, Expr, ExprId, FunctionId, Name, Origin, Type, TypeId, digest};

/// What is made of the type that is given to something a framework exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carries {
    /// `createContext<T>()`: `useContext` gives it.
    Context,
    /// `new AsyncLocalStorage<T>()`: `getStore()` gives it.
    Store,
    /// `initTRPC.context<T>()`: procedures get `{ ctx }`.
    Procedures,
    /// `new Hono<{ Variables: T }>()`: handlers get a context of it.
    Handlers,
    /// `Context<{ Variables: T }>`: that itself.
    Variables,
}

/// What an export of a module, or a member of it, makes of the type that is given to it.
fn carried_by(module: &str, name: &str) -> Option<Carries> {
    match (module, name) {
        ("react" | "preact" | "preact/hooks" | "preact/compat", "createContext") => Some(Carries::Context),
        ("async_hooks" | "node:async_hooks", "AsyncLocalStorage") => Some(Carries::Store),
        ("@trpc/server", "context") => Some(Carries::Procedures),
        ("hono" | "hono/quick" | "hono/tiny" | "@hono/zod-openapi", "Hono" | "OpenAPIHono")
        | ("hono/factory", "createFactory") => Some(Carries::Handlers),
        ("hono", "Context") => Some(Carries::Variables),
        _ => None,
    }
}

/// Whether a file is one of those whose exports SvelteKit calls, and what they are called there.
fn routed_by_svelte(path: &str) -> &'static [&'static str] {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.strip_suffix(".ts").or_else(|| name.strip_suffix(".js")).unwrap_or(name);
    match stem {
        "+page" | "+page.server" | "+layout" | "+layout.server" => &["load"],
        "+server" => &["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "fallback"],
        _ => &[],
    }
}

impl Evaluator<'_, '_> {
    /// What a router gives a function that it finds by its export: SvelteKit's event has a `fetch` that requests what the
    /// global one does.
    pub(super) fn given_by_router(&mut self, file: FileId, function: FunctionId, at: u32) -> Value {
        let names = routed_by_svelte(self.world.path(file));
        if at == 0 && names.iter().any(|name| self.is_exported_as(file, function, name)) {
            return Value::Held(Place::Member("fetch"), Rc::new(Value::Global("fetch".into())));
        }
        Value::Unknown
    }

    /// What a framework makes of the type that is given to something that it exports.
    pub(super) fn carried_type(
        &mut self,
        file: FileId,
        binding: BindingId,
        path: &[Name],
        arguments: &[TypeId],
    ) -> Value {
        let parsed = self.world.file(file).parsed;
        let Some(it) = parsed.bindings.get(binding as usize) else { return Value::Unknown };
        let (Origin::Import { specifier, name }, Some(first)) = (&it.origin, arguments.first()) else {
            return Value::Unknown;
        };
        let name = path.last().unwrap_or(name);
        let Some(carries) = carried_by(parsed.name(*specifier), parsed.name(*name)) else { return Value::Unknown };
        let given = self.ask(Question::Type(file, *first));
        let given = match carries {
            Carries::Handlers | Carries::Variables => self.member(&given, "Variables"),
            // What makes the context, or what that gives.
            Carries::Procedures if matches!(given, Value::Function(..) | Value::Signature(..)) => {
                self.result_of_type(&given)
            }
            _ => given,
        };
        if !given.is_known() {
            return Value::Unknown;
        }
        let given = Rc::new(given);
        let variables = Value::Held(Place::Member("var"), Rc::clone(&given));
        match carries {
            Carries::Context => Value::Held(CONTEXT, given),
            Carries::Store => {
                let method = Method { gives: (*given).clone(), takes: Value::Unknown };
                Value::Held(Place::Member("getStore"), Rc::new(Value::Method(Rc::new(method))))
            }
            Carries::Procedures => Value::Builder(Rc::new(Value::Held(Place::Member("ctx"), given))),
            Carries::Handlers => Value::Builder(Rc::new(variables)),
            Carries::Variables => variables,
        }
    }

    /// What a context gives for the key that a call names.
    pub(super) fn got(&mut self, whole: &Value, file: FileId, call: ExprId) -> Value {
        let parsed = self.world.file(file).parsed;
        let Expr::Call { arguments, .. } = parsed.expr(call) else { return Value::Unknown };
        let (Some(first), &Value::Typed(there, ty)) = (arguments.first(), whole) else { return Value::Unknown };
        let (Expr::Literal(Some(key)) | Expr::Text(_, key)) = parsed.expr(first.value) else { return Value::Unknown };
        let parsed = self.world.file(there).parsed;
        let Some(Type::Object(members, _)) = parsed.types.get(ty as usize) else { return Value::Unknown };
        let named = members.iter().find(|(name, _)| digest(parsed.name(*name)) == *key);
        let Some((_, ty)) = named else { return Value::Unknown };
        let value = self.ask(Question::Type(there, *ty));
        self.declared(value, file, None, 0, "a member of the client's type")
    }
}
