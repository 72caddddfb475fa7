//! `catalog build openapi`: a vendor file from an OpenAPI description, for plain HTTP.
//!
//! Descriptions in the wild bend the specification; what cannot be used is left out and said, and only a description
//! from which nothing can be used is refused.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use sync_core::operation::erase;

use super::check::check;
use super::load;

/// Methods that OpenAPI knows, in lower case.
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
/// More hosts than a vendor lists; a variable with more values stands for any label.
const MAX_HOSTS: usize = 32;
/// Deepest nesting of brackets in YAML, unbalanced ones in prose counted: its scanner is quadratic in it.
const MAX_BRACKETS: i32 = 1_000;
/// Widest line of lists in a vendor file.
const WIDTH: usize = 117;

/// A vendor file, and what of the description is not in it.
#[derive(Debug)]
pub struct Built {
    /// The file's text; the same description gives the same bytes.
    pub text: String,
    /// How many operations it has.
    pub operations: usize,
    /// What was left out and why, in words.
    pub left_out: Vec<String>,
}

/// A description that gives no vendor file.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// It is neither JSON nor YAML.
    #[error("it is neither JSON nor YAML: {0}; next: give the OpenAPI file itself, not a page about it")]
    Unreadable(String),
    /// It is something else.
    #[error("{0}; next: give an OpenAPI 3 or Swagger 2 file")]
    NotOpenApi(&'static str),
    /// It says nowhere where the vendor answers.
    #[error("it names no public host ({0}); next: say where the vendor answers with `--server https://HOST/BASE`")]
    NoServer(String),
    /// A server given by hand is not one.
    #[error("`{0}` is no server; next: write it as `https://HOST` or `https://HOST/BASE`")]
    BadServer(String),
    /// It has no operation at all.
    #[error(
        "it has no operation under `paths`; next: give the file that has them (references to other files are not followed)"
    )]
    NoOperation,
    /// The vendor's id cannot be one.
    #[error("`{0}` is no vendor id; next: use lower-case letters, digits and hyphens")]
    BadVendor(String),
    /// The file that came of it does not pass `catalog check`.
    #[error("what came of it is not sound: {0}; next: correct the description")]
    Unsound(String),
}

/// Makes the vendor file. `servers` are instead of those that the description names.
pub fn build(vendor: &str, text: &str, servers: &[String]) -> Result<Built, BuildError> {
    let is_id = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if vendor.is_empty() || !vendor.bytes().all(is_id) {
        return Err(BuildError::BadVendor(vendor.to_owned()));
    }
    let spec = read(text)?;
    let mut left_out = BTreeSet::new();
    let hosts = if servers.is_empty() { described(&spec, &mut left_out)? } else { given(servers)? };
    let routes = routes(&spec, &mut left_out);
    if routes.is_empty() {
        return Err(BuildError::NoOperation);
    }
    let text = write(vendor, &hosts, &routes);
    let name = format!("{vendor}.json");
    let catalog = load::from_files([(name.as_str(), text.as_str())].into_iter());
    let defects = catalog.map_or_else(|error| vec![error.to_string()], |catalog| check(&catalog));
    match defects.first() {
        Some(defect) => Err(BuildError::Unsound(defect.clone())),
        None => Ok(Built { text, operations: routes.len(), left_out: left_out.into_iter().collect() }),
    }
}

fn read(text: &str) -> Result<Map<String, Value>, BuildError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let json = serde_json::from_str(text);
    let spec = match json {
        Ok(spec) => spec,
        // JSON with a mistake is not YAML by it, and YAML's message would only mislead.
        Err(error) if text.trim_start().starts_with('{') => return Err(BuildError::Unreadable(error.to_string())),
        Err(_) if is_deep(text) => {
            return Err(BuildError::Unreadable(format!("it nests brackets more than {MAX_BRACKETS} deep")));
        }
        Err(_) => serde_yaml_ng::from_str(text).map_err(|error| BuildError::Unreadable(error.to_string()))?,
    };
    let Value::Object(spec) = spec else { return Err(BuildError::NotOpenApi("it is no mapping")) };
    let says = |key: &str| spec.contains_key(key);
    if !says("openapi") && !says("swagger") {
        return Err(BuildError::NotOpenApi("it has neither `openapi` nor `swagger`, which name the version"));
    }
    Ok(spec)
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

/// Host and base, the order of the description kept.
type Hosts = Vec<(String, String)>;

fn given(servers: &[String]) -> Result<Hosts, BuildError> {
    let split = |server: &String| split_url(server).ok_or_else(|| BuildError::BadServer(server.clone()));
    servers.iter().map(split).collect()
}

fn described(spec: &Map<String, Value>, left_out: &mut BTreeSet<String>) -> Result<Hosts, BuildError> {
    let mut urls = Vec::new();
    for server in list(spec.get("servers")) {
        if let Some(url) = server.get("url").and_then(Value::as_str) {
            urls.extend(expanded(url, server.get("variables")));
        }
    }
    // Swagger 2.
    if let Some(host) = spec.get("host").and_then(Value::as_str) {
        let base = spec.get("basePath").and_then(Value::as_str).unwrap_or_default();
        urls.push(format!("https://{host}/{}", base.trim_start_matches('/')));
    }
    let mut hosts = Hosts::new();
    for url in &urls {
        match split_url(url) {
            Some(server) if !hosts.contains(&server) => hosts.push(server),
            Some(_) => {}
            None => {
                left_out.insert(format!("server `{}`: no public host", shown(url)));
            }
        }
    }
    if hosts.is_empty() {
        let said = urls.first().map_or_else(|| "no servers".to_owned(), |url| format!("`{}`", shown(url)));
        return Err(BuildError::NoServer(said));
    }
    Ok(hosts)
}

/// A server's URL for all values of its variables; `*` for a variable that is not listed or has very many.
fn expanded(url: &str, variables: Option<&Value>) -> Vec<String> {
    let mut urls = vec![url.to_owned()];
    loop {
        let Some(first) = urls.first() else { return urls };
        let Some((name, placeholder)) = first.split_once('{').and_then(|(_, behind)| {
            let name = behind.split_once('}')?.0;
            Some((name.to_owned(), format!("{{{name}}}")))
        }) else {
            return urls;
        };
        let variable = variables.and_then(|variables| variables.get(&name));
        let listed: Vec<&str> =
            list(variable.and_then(|variable| variable.get("enum"))).iter().filter_map(Value::as_str).collect();
        let host = first.split_once("://").map_or(first.as_str(), |(_, behind)| behind);
        let host = host.split('/').next().unwrap_or_default();
        let is_label = host.contains(&placeholder) && host != placeholder;
        let default = variable.and_then(|variable| variable.get("default")).and_then(Value::as_str);
        let values: Vec<&str> = match (listed.len(), default) {
            (1.., _) if listed.len() * urls.len() <= MAX_HOSTS => listed,
            // Without a list, a default is what everybody has, but in a host's labels: there it is only an example.
            (_, Some(default)) if !is_label => vec![default],
            _ => vec!["*"],
        };
        // A value may not bring a placeholder again: it would never end.
        let values: Vec<String> = values.iter().map(|value| value.replace(['{', '}'], "")).collect();
        urls = urls.iter().flat_map(|url| values.iter().map(|value| url.replace(&placeholder, value))).collect();
    }
}

/// Host and base of a URL; nothing where the host is none that a vendor answers at.
fn split_url(url: &str) -> Option<(String, String)> {
    let behind = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let behind = behind.split(['?', '#']).next()?;
    let (host, base) = behind.split_once('/').map_or((behind, String::new()), |(host, base)| {
        let base = base.trim_end_matches('/');
        (host, if base.is_empty() { String::new() } else { format!("/{base}") })
    });
    let host = host.split(':').next()?.to_ascii_lowercase();
    // `*` stands for whole labels in front: `{region}-api.example.com` is any host of `example.com` here.
    let host = match host.rfind('*') {
        Some(at) => format!("*.{}", host[at..].split_once('.')?.1),
        None => host,
    };
    let plain = host.strip_prefix("*.").unwrap_or(&host);
    let labels: Vec<&str> = plain.split('.').collect();
    let is_label = |label: &&str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let last = labels.last()?;
    let is_public = labels.len() > 1
        && labels.iter().all(is_label)
        && !last.bytes().all(|b| b.is_ascii_digit())
        && !matches!(*last, "localhost" | "local" | "internal" | "test" | "invalid");
    (is_public && !base.contains(['*', ' ', '{'])).then_some((host, base))
}

/// `METHOD /path` of every operation, sorted by path.
fn routes(spec: &Map<String, Value>, left_out: &mut BTreeSet<String>) -> Vec<String> {
    let mut found: BTreeMap<(String, &str), String> = BTreeMap::new();
    let mut erased: BTreeMap<String, String> = BTreeMap::new();
    for (path, item) in spec.get("paths").and_then(Value::as_object).into_iter().flatten() {
        if path.starts_with("x-") {
            continue;
        }
        if let Some(reason) = unusable(path) {
            left_out.insert(format!("path `{}`: {reason}", shown(path)));
            continue;
        }
        let Some(item) = referred(spec, item) else {
            left_out.insert(format!("path `{}`: it refers to what is not in this file", shown(path)));
            continue;
        };
        for method in METHODS {
            if !item.get(method).is_some_and(Value::is_object) {
                continue;
            }
            let route = format!("{} {path}", method.to_ascii_uppercase());
            match erased.entry(erase(&route)) {
                Entry::Occupied(other) => {
                    left_out.insert(format!("`{}`: `{}` but for names", shown(&route), shown(other.get())));
                }
                Entry::Vacant(entry) => {
                    entry.insert(route.clone());
                    found.insert((path.clone(), method), route);
                }
            }
        }
    }
    found.into_values().collect()
}

/// Why a path is no template.
fn unusable(path: &str) -> Option<&'static str> {
    if !path.starts_with('/') {
        Some("it does not start with `/`")
    } else if path.contains(['?', '#']) {
        Some("a query or fragment tells its operations apart, which a path cannot")
    } else if path.contains(|c: char| c.is_whitespace() || c.is_control()) || path.contains("//") {
        Some("it has spaces or an empty segment")
    } else if path.matches('{').count() != path.matches('}').count() {
        Some("its braces do not match")
    } else {
        None
    }
}

/// A path's operations, also where the path only refers to them, in this file.
fn referred<'s>(spec: &'s Map<String, Value>, item: &'s Value) -> Option<&'s Map<String, Value>> {
    let item = item.as_object()?;
    let Some(reference) = item.get("$ref").and_then(Value::as_str) else { return Some(item) };
    let (first, rest) = reference.strip_prefix("#/")?.split_once('/')?;
    spec.get(first)?.pointer(&format!("/{rest}"))?.as_object()
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A text from the description, short enough for a line.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(100).collect()
}

/// The file as `build.py` lays it out: lists on one line where they fit.
fn write(vendor: &str, hosts: &Hosts, routes: &[String]) -> String {
    let servers = hosts.iter().map(|(host, base)| {
        let base = if base.is_empty() { String::new() } else { format!(", \"base\": {}", json!(base)) };
        format!("{{\"host\": {}{base}}}", json!(host))
    });
    let servers = lines(&servers.collect::<Vec<_>>());
    let routes = lines(&routes.iter().map(|route| json!(route).to_string()).collect::<Vec<_>>());
    format!(
        "{{\n \"format\": {},\n \"vendor\": {},\n \"servers\": {servers},\n \"routes\": {routes}\n}}\n",
        super::file::FORMAT,
        json!(vendor)
    )
}

fn lines(items: &[String]) -> String {
    let flat = format!("[{}]", items.join(", "));
    if flat.len() <= WIDTH { flat } else { format!("[\n  {}\n ]", items.join(",\n  ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: &str = r##"
openapi: 3.0.3
info: {title: Acme, version: 1}
servers:
  - url: https://api.acme.com/v1/
  - url: https://{region}.acme.com/v1
    variables: {region: {enum: [eu, us], default: eu}}
  - url: https://{tenant}.acme.io
    variables: {tenant: {default: demo}}
  - url: http://localhost:8080
  - url: /relative
paths:
  /charges/{charge}:
    parameters: []
    get: {responses: {200: {description: ok}}}
    post: {}
    summary: one
  /charges:
    post: {}
  /charges/{id}:
    get: {}
  /rest/api/3/issue: {get: {}}
  /items: {$ref: "#/components/pathItems/items"}
  /other: {$ref: "other.yaml#/x"}
  /?Action=Send: {post: {}}
  "/a b": {get: {}}
  x-internal: {get: {}}
components:
  pathItems:
    items: {get: {}, delete: {}}
"##;

    #[test]
    fn servers_and_templates_are_taken_and_the_rest_is_said() {
        let built = build("acme", SPEC, &[]).unwrap();
        let expected = r#"{
 "format": 1,
 "vendor": "acme",
 "servers": [
  {"host": "api.acme.com", "base": "/v1"},
  {"host": "eu.acme.com", "base": "/v1"},
  {"host": "us.acme.com", "base": "/v1"},
  {"host": "*.acme.io"}
 ],
 "routes": [
  "POST /charges",
  "GET /charges/{charge}",
  "POST /charges/{charge}",
  "DELETE /items",
  "GET /items",
  "GET /rest/api/3/issue"
 ]
}
"#;
        assert_eq!(built.text, expected);
        assert_eq!(built.operations, 6);
        assert_eq!(
            built.left_out,
            [
                "`GET /charges/{id}`: `GET /charges/{charge}` but for names",
                "path `/?Action=Send`: a query or fragment tells its operations apart, which a path cannot",
                "path `/a b`: it has spaces or an empty segment",
                "path `/other`: it refers to what is not in this file",
                "server `/relative`: no public host",
                "server `http://localhost:8080`: no public host",
            ]
        );
    }

    #[test]
    fn what_is_built_answers_for_plain_http() {
        let built = build("acme", SPEC, &[]).unwrap();
        let catalog = load::from_files([("acme.json", built.text.as_str())].into_iter()).unwrap();
        let route = |host: &str, path: &str| {
            let url = crate::catalog::UrlPattern {
                host: host.to_owned(),
                path: vec![crate::catalog::UrlPart::Literal(path.to_owned())],
            };
            catalog.route("GET", &url).map(|(_, operation)| operation.as_str().to_owned())
        };
        assert_eq!(route("us.acme.com", "/v1/charges/ch_1").as_deref(), Some("GET /charges/{charge}"));
        assert_eq!(route("us.acme.com", "/charges/ch_1"), None);
        assert_eq!(route("me.acme.io", "/rest/api/3/issue").as_deref(), Some("GET /rest/api/3/issue"));
        assert_eq!(route("acme.test", "/v1/items"), None);
    }

    #[test]
    fn swagger_2_and_servers_by_hand_are_read() {
        let swagger = r#"{"swagger":"2.0","host":"API.acme.com","basePath":"/v2/","paths":{"/x":{"get":{}}}}"#;
        let text = |servers: &[String]| build("acme", swagger, servers).unwrap().text;
        assert_eq!(
            text(&[]),
            "{\n \"format\": 1,\n \"vendor\": \"acme\",\n \"servers\": [{\"host\": \"api.acme.com\", \"base\": \"/v2\"}],\n \"routes\": [\"GET /x\"]\n}\n"
        );
        assert!(text(&["https://eu.acme.com".to_owned()]).contains(r#""servers": [{"host": "eu.acme.com"}]"#));
    }

    #[test]
    fn variables_that_are_the_whole_address_have_their_default() {
        let spec = r#"{"openapi":"3.1.0","servers":[{"url":"{scheme}://{host}/{base}/","variables":{
            "scheme":{"default":"https"},"host":{"default":"api.acme.com"},"base":{"default":"v3"}}}],"paths":{"/x":{"get":{}}}}"#;
        assert!(build("acme", spec, &[]).unwrap().text.contains(r#"[{"host": "api.acme.com", "base": "/v3"}]"#));
    }

    #[test]
    fn what_gives_no_vendor_file_is_refused_with_the_next_step() {
        let bomb = format!("openapi: 3.0.0\nservers: {}", "[".repeat(100_000));
        for (vendor, text, servers, expected) in [
            ("Acme Inc", "{}", &[][..], "no vendor id"),
            ("acme", "{", &[], "neither JSON nor YAML"),
            ("acme", "- a", &[], "no mapping"),
            ("acme", "<html>", &[], "no mapping"),
            ("acme", "{\"a\":1}", &[], "neither `openapi` nor `swagger`"),
            ("acme", r#"{"openapi":"3.0.0","paths":{"/x":{"get":{}}}}"#, &[], "`--server https://HOST/BASE`"),
            ("acme", r#"{"openapi":"3.0.0","servers":[{"url":"/v1"}]}"#, &[], "no public host (`/v1`)"),
            ("acme", r#"{"openapi":"3.0.0"}"#, &["ftp://x".to_owned()], "`ftp://x` is no server"),
            ("acme", r#"{"openapi":"3.0.0","paths":[]}"#, &["https://acme.com".to_owned()], "no operation under"),
            ("acme", bomb.as_str(), &[], "more than 1000 deep"),
        ] {
            let error = build(vendor, text, servers).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("; next: "), "{error}");
        }
    }
}
