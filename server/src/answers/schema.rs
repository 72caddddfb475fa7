//! JSON schemas of tool results, in the subset that every client and model provider takes.

use std::borrow::Cow;

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema, json_schema};
use serde_json::{Map, Value, json};

use super::envelope::envelope_properties;

/// An object whose fields the listed schema does not repeat, because every session of every agent pays for them; the
/// golden responses pin them all the same.
pub struct Opaque;

impl JsonSchema for Opaque {
    fn schema_name() -> Cow<'static, str> {
        "Opaque".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object"})
    }
}

/// The schema of a tool's result: the envelope's fields and the tool's own in one object. Descriptions of the tool's
/// own fields are left out: they cost every session of every agent, and the tool's description says what matters.
pub fn result<T: JsonSchema>() -> Map<String, Value> {
    let schema = SchemaSettings::draft2020_12()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .for_serialize();
    let body = portable(without_descriptions(schema.into_generator().into_root_schema_for::<T>().to_value()));
    let mut properties = listed_envelope();
    let mut required: Vec<Value> = properties.keys().map(|name| Value::from(name.as_str())).collect();
    if let Some(Value::Object(own)) = body.get("properties") {
        properties.extend(own.clone());
    }
    if let Some(Value::Array(own)) = body.get("required") {
        required.extend(own.iter().cloned());
    }
    let mut object = Map::new();
    object.insert("type".to_owned(), "object".into());
    object.insert("properties".to_owned(), properties.into());
    object.insert("required".to_owned(), required.into());
    object
}

/// The envelope as each tool lists it: what its objects hold is said once, by [`envelope_properties`], and not in
/// every tool.
fn listed_envelope() -> Map<String, Value> {
    let mut properties = envelope_properties();
    properties.insert("feeds".to_owned(), json!({"type": "array", "items": {"type": "object"}}));
    properties.insert("context_savings".to_owned(), json!({"type": "object"}));
    properties
}

/// Rewrites what schemars says and some clients refuse: number formats, `type: [T, "null"]`, titles.
fn portable(schema: Value) -> Map<String, Value> {
    match rewrite(schema) {
        Value::Object(object) => object,
        other => Map::from_iter([("anyOf".to_owned(), json!([other]))]),
    }
}

fn rewrite(schema: Value) -> Value {
    match schema {
        Value::Object(object) => {
            let mut out = Map::new();
            let number = matches!(object.get("type"), Some(Value::String(kind)) if kind == "integer" || kind == "number")
                || matches!(object.get("type"), Some(Value::Array(kinds)) if kinds.iter().any(|k| k == "integer" || k == "number"));
            for (key, value) in object {
                match key.as_str() {
                    "format" if number => {}
                    "minimum" if number && value == json!(0) => {}
                    "title" if value.is_string() => {}
                    "properties" => {
                        // Names of properties are not keywords: a field called `title` stays.
                        if let Value::Object(fields) = value {
                            let fields = fields.into_iter().map(|(name, field)| (name, rewrite(field)));
                            out.insert(key, Value::Object(fields.collect()));
                        }
                    }
                    "const" | "enum" | "default" | "required" => {
                        out.insert(key, value);
                    }
                    _ => {
                        out.insert(key, rewrite(value));
                    }
                }
            }
            nullable(out)
        }
        Value::Array(items) => Value::Array(items.into_iter().map(rewrite).collect()),
        other => other,
    }
}

/// `type: [T, "null"]` with the keywords that go with `T`, as `anyOf` of two.
fn nullable(mut object: Map<String, Value>) -> Value {
    let Some(Value::Array(kinds)) = object.get("type") else { return object.into() };
    let mut alternatives: Vec<Value> = Vec::new();
    let kinds = kinds.clone();
    object.remove("type");
    let description = object.remove("description");
    for kind in kinds {
        let mut alternative = if kind == "null" { Map::new() } else { object.clone() };
        alternative.insert("type".to_owned(), kind);
        alternatives.push(alternative.into());
    }
    let mut out = Map::new();
    out.insert("anyOf".to_owned(), alternatives.into());
    if let Some(description) = description {
        out.insert("description".to_owned(), description);
    }
    out.into()
}

fn without_descriptions(schema: Value) -> Value {
    match schema {
        Value::Object(object) => Value::Object(
            object
                .into_iter()
                .filter(|(key, value)| key != "description" || !value.is_string())
                .map(|(key, value)| (key, without_descriptions(value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(without_descriptions).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;

    #[derive(Serialize, JsonSchema)]
    struct Row {
        /// A name that is also a keyword.
        title: Option<u32>,
        nested: Option<Vec<Inner>>,
    }

    #[derive(Serialize, JsonSchema)]
    struct Inner {
        at: u64,
    }

    #[test]
    fn what_clients_refuse_is_rewritten() {
        let text = Value::Object(result::<Row>()).to_string();
        assert!(!text.contains("\"format\"") && !text.contains("$schema") && !text.contains("$ref"), "{text}");
        let schema = result::<Row>();
        assert_eq!(schema["properties"]["title"], json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}));
        assert_eq!(schema["properties"]["nested"]["anyOf"][0]["items"]["properties"]["at"], json!({"type": "integer"}));
        assert!(schema["required"].as_array().unwrap().contains(&json!("title")));
        assert!(schema["properties"].get("status").is_some());
    }
}
