//! Reads of a description only what a vendor file needs, however large the rest is.
//!
//! Schemas, examples and prose are the bulk of a description and are skipped while it is read, so that it is never whole
//! in memory, and odd numbers or repeated anchors in them do no harm. What has another type than it should is as if it
//! were not there.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::BuildError;

/// Methods that OpenAPI knows, in lower case.
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
/// Deepest nesting of brackets in YAML, unbalanced ones in prose counted: its scanner is quadratic in it.
const MAX_BRACKETS: i32 = 1_000;
/// Most references that lead from one to another.
const MAX_REFERENCES: usize = 16;

/// A description.
#[derive(Debug, Default)]
pub(super) struct Description {
    is_mapping: bool,
    names_version: bool,
    pub(super) servers: Vec<Server>,
    /// Of Swagger 2.
    pub(super) host: Option<String>,
    /// Of Swagger 2.
    pub(super) base_path: Option<String>,
    pub(super) paths: BTreeMap<String, Item>,
    /// `components/pathItems`.
    items: BTreeMap<String, Item>,
}

/// What is said at a path.
#[derive(Debug, Default)]
pub(super) struct Item {
    /// Methods with the servers that only they have.
    pub(super) methods: Vec<(&'static str, Vec<Server>)>,
    pub(super) servers: Vec<Server>,
    reference: Option<String>,
}

/// Where the vendor answers.
#[derive(Debug, Default, Clone)]
pub(super) struct Server {
    pub(super) url: String,
    pub(super) variables: BTreeMap<String, Variable>,
}

/// What may stand for a `{name}` of a server's URL.
#[derive(Debug, Default, Clone)]
pub(super) struct Variable {
    pub(super) listed: Vec<String>,
    pub(super) default: Option<String>,
}

/// Why a path has no item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dangling {
    Elsewhere,
    Circle,
}

impl Description {
    pub(super) fn read(text: &str) -> Result<Self, BuildError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let read: Lenient<Self> = match serde_json::from_str(text) {
            Ok(read) => read,
            // JSON with a mistake is not YAML by it, and YAML's message would only mislead.
            Err(error) if text.trim_start().starts_with('{') => return Err(BuildError::Unreadable(error.to_string())),
            Err(_) if is_deep(text) => {
                return Err(BuildError::Unreadable(format!("it nests brackets more than {MAX_BRACKETS} deep")));
            }
            Err(_) => serde_yaml_ng::from_str(text).map_err(|error| BuildError::Unreadable(error.to_string()))?,
        };
        match read.0 {
            read if !read.is_mapping => Err(BuildError::NotOpenApi("it is no mapping")),
            read if !read.names_version => {
                Err(BuildError::NotOpenApi("it has neither `openapi` nor `swagger`, which name the version"))
            }
            read => Ok(read),
        }
    }

    /// A path's item, also where it only refers to one in this file.
    pub(super) fn resolved<'s>(&'s self, item: &'s Item) -> Result<&'s Item, Dangling> {
        let mut item = item;
        for _ in 0..MAX_REFERENCES {
            let Some(reference) = &item.reference else { return Ok(item) };
            let reference = reference.strip_prefix("#/").ok_or(Dangling::Elsewhere)?;
            let unescaped =
                |name: &str| name.replace("~1", "/").replace("~0", "~").replace("%7B", "{").replace("%7D", "}");
            let found = match reference.strip_prefix("components/pathItems/") {
                Some(name) => self.items.get(&unescaped(name)),
                None => reference.strip_prefix("paths/").and_then(|name| self.paths.get(&unescaped(name))),
            };
            item = found.ok_or(Dangling::Elsewhere)?;
        }
        Err(Dangling::Circle)
    }
}

fn is_deep(text: &str) -> bool {
    let deeper = |depth: i32, byte| match byte {
        b'[' | b'{' => depth + 1,
        b']' | b'}' => (depth - 1).max(0),
        _ => depth,
    };
    let mut depth = 0;
    text.bytes().any(|byte| {
        depth = deeper(depth, byte);
        depth > MAX_BRACKETS
    })
}

/// A mapping of which some keys matter.
trait Mapping: Default {
    /// Takes or skips the value of a key.
    fn entry<'de, A: MapAccess<'de>>(&mut self, key: String, map: &mut A) -> Result<(), A::Error>;

    /// Called where there is a mapping at all.
    fn begin(&mut self) {}
}

fn skip<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(|_| ())
}

impl Mapping for Description {
    fn entry<'de, A: MapAccess<'de>>(&mut self, key: String, map: &mut A) -> Result<(), A::Error> {
        match key.as_str() {
            "openapi" | "swagger" => {
                self.names_version = true;
                return skip(map);
            }
            "servers" => self.servers = map.next_value::<List<_>>()?.0,
            "host" => self.host = map.next_value::<Text>()?.0,
            "basePath" => self.base_path = map.next_value::<Text>()?.0,
            "paths" => self.paths = map.next_value::<Lenient<Items>>()?.0.0,
            "components" => self.items = map.next_value::<Lenient<Components>>()?.0.0,
            _ => return skip(map),
        }
        Ok(())
    }

    fn begin(&mut self) {
        self.is_mapping = true;
    }
}

#[derive(Default)]
struct Items(BTreeMap<String, Item>);

impl Mapping for Items {
    fn entry<'de, A: MapAccess<'de>>(&mut self, key: String, map: &mut A) -> Result<(), A::Error> {
        if key.starts_with("x-") {
            return skip(map);
        }
        let item = map.next_value::<Lenient<Item>>()?.0;
        self.0.insert(key, item);
        Ok(())
    }
}

#[derive(Default)]
struct Components(BTreeMap<String, Item>);

impl Mapping for Components {
    fn entry<'de, A: MapAccess<'de>>(&mut self, key: String, map: &mut A) -> Result<(), A::Error> {
        if key != "pathItems" {
            return skip(map);
        }
        self.0.extend(map.next_value::<Lenient<Items>>()?.0.0);
        Ok(())
    }
}

impl Mapping for Item {
    fn entry<'de, A: MapAccess<'de>>(&mut self, key: String, map: &mut A) -> Result<(), A::Error> {
        match METHODS.iter().find(|method| **method == key) {
            Some(method) => {
                let operation = map.next_value::<Lenient<Operation>>()?.0;
                if operation.is_mapping && self.methods.iter().all(|(known, _)| known != method) {
                    self.methods.push((method, operation.servers));
                }
            }
            None if key == "servers" => self.servers = map.next_value::<List<_>>()?.0,
            None if key == "$ref" => self.reference = map.next_value::<Text>()?.0,
            None => return skip(map),
        }
        Ok(())
    }
}

#[derive(Default)]
struct Operation {
    is_mapping: bool,
    servers: Vec<Server>,
}

impl Mapping for Operation {
    fn entry<'de, A: MapAccess<'de>>(&mut self, key: String, map: &mut A) -> Result<(), A::Error> {
        if key != "servers" {
            return skip(map);
        }
        self.servers = map.next_value::<List<_>>()?.0;
        Ok(())
    }

    fn begin(&mut self) {
        self.is_mapping = true;
    }
}

impl Mapping for Server {
    fn entry<'de, A: MapAccess<'de>>(&mut self, key: String, map: &mut A) -> Result<(), A::Error> {
        match key.as_str() {
            "url" => self.url = map.next_value::<Text>()?.0.unwrap_or_default(),
            "variables" => self.variables = map.next_value::<Lenient<Variables>>()?.0.0,
            _ => return skip(map),
        }
        Ok(())
    }
}

#[derive(Default)]
struct Variables(BTreeMap<String, Variable>);

impl Mapping for Variables {
    fn entry<'de, A: MapAccess<'de>>(&mut self, key: String, map: &mut A) -> Result<(), A::Error> {
        let variable = map.next_value::<Lenient<Variable>>()?.0;
        self.0.insert(key, variable);
        Ok(())
    }
}

impl Mapping for Variable {
    fn entry<'de, A: MapAccess<'de>>(&mut self, key: String, map: &mut A) -> Result<(), A::Error> {
        match key.as_str() {
            "enum" => self.listed = map.next_value::<List<Text>>()?.0.into_iter().filter_map(|text| text.0).collect(),
            "default" => self.default = map.next_value::<Text>()?.0,
            _ => return skip(map),
        }
        Ok(())
    }
}

/// A mapping, or its default where something else stands.
struct Lenient<T>(T);

/// A list, empty where something else stands.
struct List<T>(Vec<T>);

/// A text, if it is one.
#[derive(Default)]
struct Text(Option<String>);

/// What a place may hold, whatever it should.
trait Any<'de>: Default {
    fn map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    fn seq<A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    fn text(_: &str) -> Self {
        Self::default()
    }
}

impl<T: Mapping> Default for Lenient<T> {
    fn default() -> Self {
        Self(T::default())
    }
}

impl<'de, T: Mapping> Any<'de> for Lenient<T> {
    fn map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let mut value = T::default();
        value.begin();
        while let Some(key) = map.next_key::<String>()? {
            value.entry(key, &mut map)?;
        }
        Ok(Self(value))
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(vec![])
    }
}

impl<'de, T: Listed<'de>> Any<'de> for List<T> {
    fn seq<A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        let mut items = vec![];
        while let Some(item) = seq.next_element::<T::Read>()? {
            items.push(T::of(item));
        }
        Ok(Self(items))
    }
}

/// An item of a list.
trait Listed<'de>: Sized {
    type Read: Deserialize<'de>;
    fn of(read: Self::Read) -> Self;
}

impl Listed<'_> for Server {
    type Read = Lenient<Self>;
    fn of(read: Lenient<Self>) -> Self {
        read.0
    }
}

impl Listed<'_> for Text {
    type Read = Self;
    fn of(read: Self) -> Self {
        read
    }
}

impl Any<'_> for Text {
    fn text(text: &str) -> Self {
        Self(Some(text.to_owned()))
    }
}

struct Reader<T>(PhantomData<T>);

impl<'de, T: Any<'de>> Visitor<'de> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::map(map)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<T, A::Error> {
        T::seq(seq)
    }
    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::text(text))
    }
    fn visit_bool<E>(self, _: bool) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_i64<E>(self, _: i64) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_u64<E>(self, _: u64) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_i128<E>(self, _: i128) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_u128<E>(self, _: u128) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_f64<E>(self, _: f64) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }
}

impl<'de, T: Mapping> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader(PhantomData))
    }
}

impl<'de, T: Listed<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader(PhantomData))
    }
}
