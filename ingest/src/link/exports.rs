//! What a package's manifest says about ways into it, in the one form that the module resolver reads as Node does.

use serde_json::{Map, Value};

use super::CONDITIONS;

/// A `package.json` whose `exports` and `imports` have their conditions decided: the first that holds counts, also where
/// it says `null`, which the resolver would pass over for the next one. Text that is no JSON object stays as it is.
pub(super) fn decided(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Ok(Value::Object(mut manifest)) = serde_json::from_str(text) else { return text.to_owned() };
    let mut is_changed = false;
    for field in ["exports", "imports"] {
        if let Some(Value::Object(entries)) = manifest.get_mut(field) {
            is_changed = true;
            decide_entries(entries);
        }
    }
    if is_changed { Value::Object(manifest).to_string() } else { text.to_owned() }
}

/// Subpaths with their targets, or the conditions of the package as a whole.
fn decide_entries(entries: &mut Map<String, Value>) {
    let is_subpath = |key: &String| key.starts_with(['.', '#']);
    if entries.is_empty() || !entries.keys().all(is_subpath) {
        // A mixture is an error, which the resolver knows. Conditions alone are the whole package's.
        if !entries.keys().any(is_subpath) {
            let target = std::mem::take(entries);
            let target = decide(Value::Object(target)).unwrap_or(Value::Null);
            entries.insert(".".to_owned(), target);
        }
        return;
    }
    for target in entries.values_mut() {
        *target = decide(target.take()).unwrap_or(Value::Null);
    }
}

/// The target that the conditions choose; nothing where none of them holds. Manifests nest no deeper than the parser of
/// JSON goes.
fn decide(target: Value) -> Option<Value> {
    match target {
        Value::Object(conditions) => conditions
            .into_iter()
            .filter(|(condition, _)| CONDITIONS.contains(&condition.as_str()))
            .find_map(|(_, target)| decide(target)),
        Value::Array(targets) => Some(Value::Array(targets.into_iter().filter_map(decide).collect())),
        target => Some(target),
    }
}

#[cfg(test)]
mod tests {
    use super::decided;

    #[test]
    fn the_first_condition_that_holds_counts() {
        for (manifest, expected) in [
            (r#"{"exports":{"./a":{"browser":"./1","node":null,"default":"./2"}}}"#, r#"{"exports":{"./a":null}}"#),
            (r#"{"exports":{"./a":{"node":{"deno":"./1"},"import":"./2"}}}"#, r#"{"exports":{"./a":"./2"}}"#),
            (r#"{"exports":{"./a":[{"deno":"./1"},{"node":"./2"},"./3"]}}"#, r#"{"exports":{"./a":["./2","./3"]}}"#),
            (r#"{"exports":{"deno":"./1","node":"./2"}}"#, r#"{"exports":{".":"./2"}}"#),
            (r#"{"exports":{"deno":"./1"}}"#, r#"{"exports":{".":null}}"#),
            (r##"{"imports":{"#a":{"default":"./1"},"#b":3}}"##, r##"{"imports":{"#a":"./1","#b":3}}"##),
            (r#"{"exports":{".":"./1","node":"./2"}}"#, r#"{"exports":{".":"./1","node":"./2"}}"#),
            (r#"{"exports":"./1"}"#, r#"{"exports":"./1"}"#),
            ("\u{feff}[]", "[]"),
            ("{", "{"),
        ] {
            assert_eq!(decided(manifest), expected);
        }
    }
}
