//! The tool surface only grows (promise 6): compares a committed `tools/list` with today's and names each rule broken.

use serde_json::{Map, Value};

/// A rule broken, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Which rule.
    pub(crate) rule: &'static str,
    /// Where: `tool`, then the way to the parameter or field.
    pub(crate) at: String,
}

/// Every rule that `today` breaks of what `committed` promised; both are arrays of tools as `tools/list` gives them.
pub(crate) fn broken(committed: &Value, today: &Value) -> Vec<Broken> {
    let mut found = Vec::new();
    let named = |tools: &Value| -> Map<String, Value> {
        let tools = tools.as_array().cloned().unwrap_or_default();
        tools.into_iter().filter_map(|tool| Some((tool["name"].as_str()?.to_owned(), tool))).collect()
    };
    let today = named(today);
    for (name, then) in named(committed) {
        let Some(now) = today.get(&name) else {
            found.push(Broken { rule: "a tool is never removed or renamed", at: name });
            continue;
        };
        arguments(&then["inputSchema"], &now["inputSchema"], &name, &mut found);
        result(&then["outputSchema"], &now["outputSchema"], &name, &mut found);
        hints(&then["annotations"], &now["annotations"], &name, &mut found);
    }
    found
}

/// What a caller may send: everything that was taken is taken still, and nothing more is asked for.
fn arguments(then: &Value, now: &Value, at: &str, found: &mut Vec<Broken>) {
    let mut broken = |rule, at: String| found.push(Broken { rule, at });
    for name in list(&now["required"]) {
        if !list(&then["required"]).contains(&name) {
            broken("a parameter is never added as required, nor becomes required", format!("{at}.{name}"));
        }
    }
    if then["additionalProperties"] != false && now["additionalProperties"] == false && then.is_object() {
        broken("a parameter's type is never tightened", format!("{at}.additionalProperties"));
    }
    for (name, then) in object(&then["properties"]) {
        let at = format!("{at}.{name}");
        let Some(now) = object(&now["properties"]).get(&name).cloned() else {
            broken("a parameter is never removed or renamed", at);
            continue;
        };
        if types(&then).iter().any(|kind| !types(&now).contains(kind)) {
            broken("a parameter's type is never tightened", at.clone());
        }
        let words = |schema: &Value| schema["enum"].as_array().cloned();
        let fewer = match (words(&then), words(&now)) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(then), Some(now)) => then.iter().any(|word| !now.contains(word)),
        };
        if fewer {
            broken("a parameter's words are never fewer", at.clone());
        }
        for (bound, greatest) in
            [("maximum", true), ("maxLength", true), ("maxItems", true), ("minimum", false), ("minLength", false)]
        {
            let narrower = match (then[bound].as_f64(), now[bound].as_f64()) {
                (_, None) => false,
                (None, Some(_)) => true,
                (Some(then), Some(now)) => (greatest && now < then) || (!greatest && now > then),
            };
            if narrower {
                broken("a parameter's range is never narrower", format!("{at}.{bound}"));
            }
        }
        if now.get("pattern").is_some() && then.get("pattern") != now.get("pattern") {
            broken("a parameter's type is never tightened", format!("{at}.pattern"));
        }
    }
}

/// What a caller may rely on: every field that was there is there still, as the same type.
fn result(then: &Value, now: &Value, at: &str, found: &mut Vec<Broken>) {
    let (kinds_then, kinds_now) = (types(then), types(now));
    if !kinds_then.is_empty() && (kinds_now.is_empty() || kinds_now.iter().any(|kind| !kinds_then.contains(kind))) {
        found.push(Broken { rule: "a field of a result never has another type", at: at.to_owned() });
    }
    for name in list(&then["required"]) {
        let kept = list(&now["required"]).contains(&name) || !object(&now["properties"]).contains_key(&name);
        if !kept {
            found.push(Broken { rule: "a field that is always present stays so", at: format!("{at}.{name}") });
        }
    }
    for (name, then) in object(&then["properties"]) {
        let at = format!("{at}.{name}");
        match object(&now["properties"]).get(&name) {
            Some(now) => result(&then, now, &at, found),
            None => found.push(Broken { rule: "a field of a result is never removed or renamed", at }),
        }
    }
    if then.get("items").is_some() {
        result(&then["items"], &now["items"], &format!("{at}[]"), found);
    }
    // The one alternative of an object that may be null.
    let inner = |schema: &Value| {
        let alternatives = schema["anyOf"].as_array().cloned().unwrap_or_default();
        alternatives.into_iter().find(|alternative| alternative["type"] != "null")
    };
    if let (Some(then), Some(now)) = (inner(then), inner(now)) {
        result(&then, &now, at, found);
    }
}

/// What a client was told a call may do: never more than before.
fn hints(then: &Value, now: &Value, at: &str, found: &mut Vec<Broken>) {
    for (hint, safe) in
        [("readOnlyHint", true), ("idempotentHint", true), ("destructiveHint", false), ("openWorldHint", false)]
    {
        if then[hint] == safe && now[hint] != safe {
            found.push(Broken { rule: "a tool never does more than its hints said", at: format!("{at}.{hint}") });
        }
    }
}

fn types(schema: &Value) -> Vec<String> {
    let mut kinds: Vec<String> = match &schema["type"] {
        Value::String(kind) => vec![kind.clone()],
        Value::Array(kinds) => kinds.iter().filter_map(|kind| kind.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    for alternative in schema["anyOf"].as_array().into_iter().flatten() {
        kinds.extend(types(alternative));
    }
    kinds
}

fn list(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

mod tests {
    use super::*;
    use serde_json::json;

    fn surface() -> Value {
        json!([{
            "name": "ask",
            "inputSchema": {"type": "object", "additionalProperties": false, "required": ["vendor"], "properties": {
                "vendor": {"type": "string", "minLength": 1, "maxLength": 250},
                "severity": {"type": "string", "enum": ["breaking", "non_breaking"]},
                "limit": {"type": "integer", "minimum": 1, "maximum": 50},
            }},
            "outputSchema": {"type": "object", "required": ["total", "rows"], "properties": {
                "total": {"type": "integer"},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "inner": {"anyOf": [{"type": "object", "properties": {"at": {"type": "integer"}}}, {"type": "null"}]},
                "rows": {"type": "array", "items": {"type": "object", "required": ["file"], "properties": {
                    "file": {"type": "string"},
                }}},
            }},
            "annotations": {"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true,
                            "openWorldHint": true},
        }])
    }

    /// Puts a value at a JSON pointer, or takes it away.
    fn with(pointer: &str, value: Option<Value>) -> Value {
        let mut surface = surface();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let parent = surface.pointer_mut(parent).unwrap();
        match (parent, value) {
            (Value::Object(object), Some(value)) => {
                object.insert(name.to_owned(), value);
            }
            (Value::Object(object), None) => {
                object.remove(name).unwrap();
            }
            (Value::Array(array), None) => {
                array.remove(name.parse().unwrap());
            }
            other => panic!("{other:?}"),
        }
        surface
    }

    #[test]
    fn each_way_to_break_a_caller_is_named() {
        let input = "/0/inputSchema";
        let output = "/0/outputSchema";
        for (pointer, value, rule, at) in [
            ("/0".to_owned(), None, "a tool is never removed or renamed", "ask"),
            (format!("{input}/properties/limit"), None, "a parameter is never removed or renamed", "ask.limit"),
            (
                format!("{input}/required"),
                Some(json!(["vendor", "severity"])),
                "a parameter is never added as required, nor becomes required",
                "ask.severity",
            ),
            (
                format!("{input}/properties/limit/type"),
                Some(json!("string")),
                "a parameter's type is never tightened",
                "ask.limit",
            ),
            (
                format!("{input}/properties/severity/enum"),
                Some(json!(["breaking"])),
                "a parameter's words are never fewer",
                "ask.severity",
            ),
            (
                format!("{input}/properties/vendor/enum"),
                Some(json!(["stripe"])),
                "a parameter's words are never fewer",
                "ask.vendor",
            ),
            (
                format!("{input}/properties/limit/maximum"),
                Some(json!(49)),
                "a parameter's range is never narrower",
                "ask.limit.maximum",
            ),
            (
                format!("{input}/properties/vendor/minLength"),
                Some(json!(2)),
                "a parameter's range is never narrower",
                "ask.vendor.minLength",
            ),
            (
                format!("{input}/properties/severity/maxLength"),
                Some(json!(9)),
                "a parameter's range is never narrower",
                "ask.severity.maxLength",
            ),
            (
                format!("{input}/properties/vendor/pattern"),
                Some(json!("^a")),
                "a parameter's type is never tightened",
                "ask.vendor.pattern",
            ),
            (
                format!("{output}/properties/total"),
                None,
                "a field of a result is never removed or renamed",
                "ask.total",
            ),
            (
                format!("{output}/properties/total/type"),
                Some(json!("string")),
                "a field of a result never has another type",
                "ask.total",
            ),
            (
                format!("{output}/properties/total"),
                Some(json!({"anyOf": [{"type": "integer"}, {"type": "null"}]})),
                "a field of a result never has another type",
                "ask.total",
            ),
            (
                format!("{output}/properties/rows/items/properties/file"),
                None,
                "a field of a result is never removed or renamed",
                "ask.rows[].file",
            ),
            (
                format!("{output}/properties/inner/anyOf/0/properties/at"),
                None,
                "a field of a result is never removed or renamed",
                "ask.inner.at",
            ),
            (
                format!("{output}/required"),
                Some(json!(["rows"])),
                "a field that is always present stays so",
                "ask.total",
            ),
            (
                "/0/annotations/readOnlyHint".to_owned(),
                Some(json!(false)),
                "a tool never does more than its hints said",
                "ask.readOnlyHint",
            ),
        ] {
            let expected = vec![Broken { rule, at: at.to_owned() }];
            assert_eq!(broken(&surface(), &with(&pointer, value)), expected, "{pointer}");
        }
    }

    #[test]
    fn growth_is_allowed() {
        assert_eq!(broken(&surface(), &surface()), []);
        for (pointer, value) in [
            ("/0/inputSchema/properties/path", json!({"type": "string"})),
            ("/0/inputSchema/properties/limit/maximum", json!(100)),
            ("/0/inputSchema/properties/severity/enum", json!(["breaking", "non_breaking", "unknown"])),
            ("/0/inputSchema/required", json!([])),
            ("/0/outputSchema/properties/more", json!({"type": "string"})),
            ("/0/outputSchema/properties/rows/items/properties/line", json!({"type": "integer"})),
            ("/0/outputSchema/properties/note", json!({"type": "string"})),
            ("/0/description", json!("other words")),
        ] {
            assert_eq!(broken(&surface(), &with(pointer, Some(value))), [], "{pointer}");
        }
        let mut grown = surface();
        grown.as_array_mut().unwrap().push(json!({"name": "another"}));
        assert_eq!(broken(&surface(), &grown), []);
    }
}
