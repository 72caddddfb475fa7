//! What a message asks, read before the MCP library sees it, so that the library and the audit log see the same.

use serde_json::{Map, Value};

use crate::answers::tools;

/// One JSON-RPC message, as far as the gate has to know it.
#[derive(Debug)]
pub struct Message {
    /// The message, parsed once; the library gets these same values.
    pub value: Value,
    /// Its id, where it is a request.
    pub id: Option<Value>,
    /// Its method.
    pub method: String,
    /// First part of the audit row's action.
    pub door: &'static str,
    /// Second part: which tool, prompt or resource, as a word of ours.
    pub question: Option<&'static str>,
    /// The revision that the message itself declares, as modern ones do.
    pub declared_version: Option<String>,
}

/// Why bytes are no message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAMessage {
    /// JSON-RPC error code.
    pub code: i32,
    /// Why.
    pub reason: &'static str,
    /// The id, where one could be read.
    pub id: Option<Value>,
}

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

/// Where a revision's own metadata stands.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// Methods that have an own name in the audit log.
const DOORS: [(&str, &str); 17] = [
    ("initialize", "mcp.initialize"),
    ("server/discover", "mcp.server/discover"),
    ("ping", "mcp.ping"),
    ("tools/list", "mcp.tools/list"),
    ("tools/call", TOOLS_CALL),
    ("prompts/list", "mcp.prompts/list"),
    ("prompts/get", PROMPTS_GET),
    ("resources/list", RESOURCES_LIST),
    ("resources/templates/list", "mcp.resources/templates/list"),
    ("resources/read", RESOURCES_READ),
    ("resources/subscribe", "mcp.resources/subscribe"),
    ("resources/unsubscribe", "mcp.resources/unsubscribe"),
    ("completion/complete", COMPLETE),
    ("logging/setLevel", "mcp.logging/setLevel"),
    ("subscriptions/listen", "mcp.subscriptions/listen"),
    ("notifications/initialized", "mcp.notifications/initialized"),
    ("notifications/cancelled", "mcp.notifications/cancelled"),
];

/// Methods that are served in every revision that has them and take parameters.
const SERVED: [&str; 7] = [
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/read",
    "completion/complete",
];

const TOOLS_CALL: &str = "mcp.tools/call";
const PROMPTS_GET: &str = "mcp.prompts/get";
const RESOURCES_LIST: &str = "mcp.resources/list";
const RESOURCES_READ: &str = "mcp.resources/read";
const COMPLETE: &str = "mcp.completion/complete";

/// The door of what is no message.
pub const MALFORMED: &str = "mcp.malformed";

/// What stands for a tool, prompt or resource that does not exist.
const UNKNOWN: &str = "unknown";

impl Message {
    /// Reads the body of a POST.
    pub fn read(bytes: &[u8]) -> Result<Self, NotAMessage> {
        let value: Value = serde_json::from_slice(bytes).map_err(|_| NotAMessage {
            code: PARSE_ERROR,
            reason: "the body is not JSON",
            id: None,
        })?;
        let refuse = |reason, id| Err(NotAMessage { code: INVALID_REQUEST, reason, id });
        let Value::Object(members) = &value else {
            let batch = value.is_array();
            let reason = if batch { "batches are not part of MCP; send one message a request" } else { NOT_A_REQUEST };
            return refuse(reason, None);
        };
        let id = members.get("id").filter(|id| id.is_string() || id.is_i64()).cloned();
        if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return refuse("`jsonrpc` must be \"2.0\"", id);
        }
        let Some(method) = members.get("method").and_then(Value::as_str).map(str::to_owned) else {
            return refuse(NOT_A_REQUEST, id);
        };
        if members.contains_key("id") && id.is_none() {
            return refuse("`id` must be text or a whole number of 64 bits with sign", None);
        }
        let params = members.get("params");
        if params.is_some_and(|params| !params.is_object()) {
            return refuse("`params` must be an object", id);
        }
        let door = DOORS
            .iter()
            .find(|(name, _)| *name == method)
            .map_or(if id.is_some() { "mcp.unknown_method" } else { "mcp.notification" }, |(_, door)| door);
        let question = question(door, params);
        let declared_version =
            params.and_then(|params| params.get("_meta")?.get(VERSION_KEY)?.as_str()).map(str::to_owned);
        Ok(Self { value, id, method, door, question, declared_version })
    }

    /// What is digested in the audit row: the tool's or prompt's arguments, else the parameters without `_meta`.
    pub fn arguments(&self) -> Value {
        let Some(Value::Object(params)) = self.value.get("params") else { return Value::Object(Map::new()) };
        if matches!(self.door, TOOLS_CALL | PROMPTS_GET) {
            return params.get("arguments").cloned().unwrap_or_else(|| Value::Object(Map::new()));
        }
        Value::Object(params.iter().filter(|(key, _)| *key != "_meta").map(|(k, v)| (k.clone(), v.clone())).collect())
    }

    /// Whether its method is one that is served, so that "method not found" can only mean parameters of another form.
    pub fn is_served(&self) -> bool {
        // The handshake is of the older revisions, whose messages declare none.
        let handshake = self.method == "initialize" && self.declared_version.is_none();
        self.id.is_some() && (handshake || SERVED.contains(&self.method.as_str()))
    }

    /// Whether it calls a tool, whose errors an agent sees.
    pub fn calls_a_tool(&self) -> bool {
        self.door == TOOLS_CALL && self.id.is_some()
    }
}

const NOT_A_REQUEST: &str = "the body is not a JSON-RPC request or notification";

fn question(door: &str, params: Option<&Value>) -> Option<&'static str> {
    let named = |key: &str| params.and_then(|params| params.get(key)).and_then(Value::as_str).unwrap_or_default();
    match door {
        TOOLS_CALL => Some(tools::find(named("name")).map_or(UNKNOWN, |tool| tool.name)),
        PROMPTS_GET => Some(super::prompts::find(named("name")).unwrap_or(UNKNOWN)),
        RESOURCES_READ => {
            Some(if super::resources::vendor_of(named("uri")).is_some() { "sync://feed" } else { UNKNOWN })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &Value) -> Message {
        Message::read(value.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn actions_are_words_of_ours() {
        let call = |name: &str| {
            let message =
                read(&json!({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":name,"arguments":{"a":1}}}));
            (message.door, message.question, message.arguments())
        };
        assert_eq!(call("sync_repositories"), ("mcp.tools/call", Some("sync_repositories"), json!({"a":1})));
        assert_eq!(call("rm -rf").1, Some("unknown"));
        let message = read(&json!({"jsonrpc":"2.0","id":1,"method":"evil","params":{"_meta":{},"b":2}}));
        assert_eq!((message.door, message.arguments()), ("mcp.unknown_method", json!({"b":2})));
    }

    #[test]
    fn what_is_no_message_is_told_why() {
        for (body, code) in [
            ("", -32700),
            ("{", -32700),
            ("[]", -32600),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
            ("7", -32600),
            ("{}", -32600),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, -32600),
        ] {
            assert_eq!(Message::read(body.as_bytes()).unwrap_err().code, code, "{body}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(Message::read(deep.as_bytes()).unwrap_err().code, -32700);
    }
}
