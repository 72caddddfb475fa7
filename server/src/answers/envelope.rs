//! One answer: the envelope and the tool's own fields, flattened into one object.

use serde::Serialize;
use serde_json::{Map, Value, json};
use sync_core::provenance::Envelope;

/// An answer. The envelope's fields come first; a tool's own field never has the name of one of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer<T> {
    /// Where the answer comes from and how fresh that is.
    #[serde(flatten)]
    pub envelope: Envelope,
    /// What was asked for.
    #[serde(flatten)]
    pub body: T,
}

/// The JSON schema of the envelope's fields: `properties` of every tool's output. Written by hand, because it is a
/// contract of its own that a change of the Rust type must not move silently; a test holds the two together.
pub fn envelope_properties() -> Map<String, Value> {
    let text = json!({"type": "string"});
    let nullable_text = json!({"anyOf": [{"type": "string"}, {"type": "null"}]});
    let mut properties = Map::new();
    let mut put = |name: &str, schema: &Value| {
        properties.insert(name.to_owned(), schema.clone());
    };
    put("status", &text);
    for name in ["repository", "ref", "commit", "indexed_at", "head_commit"] {
        put(name, &nullable_text);
    }
    put("partial", &json!({"type": "boolean"}));
    put("partial_reasons", &json!({"type": "array", "items": text}));
    put("binding_source", &nullable_text);
    put("feed_fetched_at", &nullable_text);
    put(
        "feeds",
        &json!({"type": "array", "items": {"type": "object", "properties": {
            "vendor": text,
            "version": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "fetched_at": nullable_text,
            "state": text,
        }, "required": ["vendor", "version", "fetched_at", "state"]}}),
    );
    put(
        "context_savings",
        &json!({"type": "object", "properties": {
            "tokens": {"type": "integer"}, "files": {"type": "integer"}, "basis": text,
        }, "required": ["tokens", "files", "basis"]}),
    );
    properties
}

#[cfg(test)]
mod tests {
    use super::*;
    use sync_core::provenance::{ContextSavings, Status};

    #[test]
    fn the_envelope_and_its_schema_have_the_same_fields_and_all_are_always_present() {
        let envelope = Envelope {
            status: Status::Ok,
            repository: None,
            ref_name: None,
            commit: None,
            indexed_at: None,
            head_commit: None,
            partial: false,
            partial_reasons: vec![],
            binding_source: None,
            feed_fetched_at: None,
            feeds: vec![],
            context_savings: ContextSavings::estimate(0, 0, 0, "no files"),
        };
        let value = serde_json::to_value(&envelope).unwrap();
        let mut fields: Vec<&String> = value.as_object().unwrap().keys().collect();
        let properties = envelope_properties();
        let mut declared: Vec<&String> = properties.keys().collect();
        fields.sort();
        declared.sort();
        assert_eq!(fields, declared);
    }
}
