//! Lists, sets, maps and records: what their elements are, and what their methods give of those.

use std::rc::Rc;

use super::eval::{Evaluator, Question};
use super::passes::Place;
use super::value::{Collection, FileId, MOST_ALTERNATIVES, Method, Value};
use crate::parse::{Argument, Expr, ExprId, ParsedFile, Type, TypeId, TypeRoot};

/// Elements of a list of clients that are looked at: tables of handlers have a dozen.
const MOST_ITEMS: usize = MOST_ALTERNATIVES;

impl Evaluator<'_, '_> {
    /// What an element of a list or a member of an object is, whichever it is: nothing where one of them is not known.
    pub(super) fn any_of(&mut self, whole: &Value) -> Value {
        let (file, items) = match whole {
            Value::Each(Collection::List, item) => return (**item).clone(),
            Value::Each(Collection::Map, item) => return Value::Held(Place::Element(1), Rc::clone(item)),
            Value::List(file, list) => match self.world.file(*file).parsed.expr(*list) {
                Expr::Array(items) if items.iter().all(|item| !item.spread) => {
                    let mut items: Vec<_> = items.iter().map(|item| item.value).collect();
                    items.extend(self.added_to(*file, *list));
                    (*file, items)
                }
                _ => return Value::Unknown,
            },
            Value::Object(file, object) => {
                let Some(values) = self.named_values(*file, *object) else { return Value::Unknown };
                (*file, values)
            }
            Value::Typed(file, ty) => {
                let item = self.item_of_type(*file, *ty);
                return match self.collection_of_type(*file, *ty) {
                    Some(Collection::Map) if item.is_known() => Value::Held(Place::Element(1), Rc::new(item)),
                    _ => item,
                };
            }
            _ => return Value::Unknown,
        };
        self.one_of(file, &items)
    }

    /// What any of several values is, where all of them are known.
    fn one_of(&mut self, file: FileId, items: &[ExprId]) -> Value {
        if items.len() > MOST_ITEMS {
            return Value::Unknown;
        }
        let mut all = Value::Unknown;
        for item in items {
            let item = self.expr(file, *item);
            let is_one = |value: &Value| {
                matches!(value, Value::Vendor(_) | Value::Instance(..) | Value::Object(..) | Value::Class(..))
            };
            let is_function = |value: &Value| matches!(value, Value::Function(..));
            // A table of functions holds nothing else.
            let is_alike = item.alternatives().iter().all(is_one) && !all.alternatives().iter().any(is_function)
                || item.alternatives().iter().all(is_function)
                    && all.alternatives().iter().all(|value| is_function(value) || matches!(value, Value::Unknown));
            if !is_alike {
                return Value::Unknown;
            }
            all = all.or(item);
        }
        all
    }

    /// What `new Map()` and its like hold of what the file puts into them.
    pub(super) fn collection_made(&mut self, file: FileId, made: ExprId) -> Value {
        let parsed = self.world.file(file).parsed;
        let Expr::Call { callee, construct: true, .. } = parsed.expr(made) else { return Value::Unknown };
        let Expr::Global(name) = parsed.expr(*callee) else { return Value::Unknown };
        let collection = match parsed.name(*name) {
            "Map" | "WeakMap" => Collection::Map,
            "Set" => Collection::List,
            _ => return Value::Unknown,
        };
        let added = self.added_to(file, made);
        let item = self.one_of(file, &added);
        if item.is_known() { Value::Each(collection, Rc::new(item)) } else { Value::Unknown }
    }

    /// What `list.map((item) => made)` gives, whatever the list is.
    pub(super) fn mapped(&mut self, file: FileId, callee: ExprId, arguments: &[Argument]) -> Value {
        let parsed = self.world.file(file).parsed;
        let Expr::Member(_, name) = *parsed.expr(callee) else { return Value::Unknown };
        let (Some(first), "map") = (arguments.first(), parsed.name(name)) else { return Value::Unknown };
        let Value::Function(there, function) = self.expr(file, first.value) else { return Value::Unknown };
        let is_one = |value: &Value| matches!(value, Value::Vendor(_) | Value::Instance(..) | Value::Object(..));
        let item = self.ask(Question::Returns(there, function));
        if item.alternatives().iter().all(is_one) {
            Value::Each(Collection::List, Rc::new(item))
        } else {
            Value::Unknown
        }
    }

    /// A method of a collection.
    pub(super) fn method_of_collection(&mut self, whole: &Value, name: &str) -> Value {
        let collection = match whole {
            Value::Each(collection, _) => Some(*collection),
            Value::List(..) => Some(Collection::List),
            Value::Typed(file, ty) => self.collection_of_type(*file, *ty),
            _ => None,
        };
        let Some(collection) = collection else { return Value::Unknown };
        let is_one = match (collection, name) {
            (Collection::List, "at" | "find" | "findLast" | "pop" | "shift") | (Collection::Map, "get") => true,
            (
                Collection::List,
                "concat" | "every" | "filter" | "flatMap" | "forEach" | "map" | "reverse" | "slice" | "some" | "sort"
                | "toReversed" | "toSorted" | "values",
            )
            | (Collection::Map, "forEach" | "values") => false,
            _ => return Value::Unknown,
        };
        let item = match (self.any_of(whole), collection) {
            (Value::Held(_, item), Collection::Map) => (*item).clone(),
            (item, _) => item,
        };
        if !item.is_known() {
            return Value::Unknown;
        }
        let takes = if name == "get" || name == "at" { Value::Unknown } else { item.clone() };
        let gives = match name {
            _ if is_one => item,
            "every" | "flatMap" | "forEach" | "map" | "some" => Value::Unknown,
            _ => Value::Each(Collection::List, Rc::new(item)),
        };
        Value::Method(Rc::new(Method { gives, takes }))
    }

    /// The kind of collection that a declared type is.
    pub(super) fn collection_of_type(&self, file: FileId, ty: TypeId) -> Option<Collection> {
        let parsed = self.world.file(file).parsed;
        match parsed.types.get(ty as usize)? {
            Type::List(_) => Some(Collection::List),
            Type::Reference(TypeRoot::Global(name), path, _) if path.is_empty() => match parsed.name(*name) {
                "Array" | "ReadonlyArray" | "Set" | "ReadonlySet" => Some(Collection::List),
                "Map" | "WeakMap" | "ReadonlyMap" => Some(Collection::Map),
                _ => None,
            },
            _ => None,
        }
    }

    /// What a literal without anything in it is, where its declared type says what it is to hold.
    pub(super) fn unless_empty(&mut self, value: Value, file: FileId, ty: Option<TypeId>) -> Value {
        let is_empty = match value {
            Value::List(there, list) | Value::Object(there, list) => is_empty(self.world.file(there).parsed, list),
            _ => false,
        };
        let Some(ty) = ty.filter(|_| is_empty) else { return value };
        match self.ask(Question::Type(file, ty)) {
            Value::Typed(there, ty) if self.item_of_type(there, ty).is_known() => Value::Typed(there, ty),
            _ => value,
        }
    }
}

fn is_empty(parsed: &ParsedFile, expr: ExprId) -> bool {
    match parsed.expr(expr) {
        Expr::Array(items) => items.is_empty(),
        Expr::Object(properties) => properties.is_empty(),
        _ => false,
    }
}

/// The value that a call puts into what it is called on: `map.set(key, value)`, `list.push(value)`.
pub(super) fn put(method: &str, arguments: &[Argument]) -> Option<ExprId> {
    let at = match method {
        "set" => 1,
        "add" | "push" | "unshift" => 0,
        _ => return None,
    };
    arguments.get(at).filter(|_| arguments.iter().all(|argument| !argument.spread)).map(|argument| argument.value)
}
