//! The OpenAPI 3.1 description of `/v1`, made from the table of routes and the types of each operation. The file
//! `openapi/sync.v1.json` is this text; a test and `syncd openapi --check` hold the two together.

use std::sync::LazyLock;

use http::{Method, StatusCode};
use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::endpoint::{self, Endpoint, Nothing};
use super::idempotency;
use super::routes;

/// The name of the file below `openapi/`.
pub const FILE: &str = "sync.v1.json";

/// What every operation may end with.
const COMMON: [StatusCode; 7] = [
    StatusCode::BAD_REQUEST,
    StatusCode::UNAUTHORIZED,
    StatusCode::FORBIDDEN,
    StatusCode::REQUEST_TIMEOUT,
    StatusCode::TOO_MANY_REQUESTS,
    StatusCode::INTERNAL_SERVER_ERROR,
    StatusCode::SERVICE_UNAVAILABLE,
];

/// What one may end with that takes a body.
const OF_A_BODY: [StatusCode; 2] = [StatusCode::PAYLOAD_TOO_LARGE, StatusCode::UNSUPPORTED_MEDIA_TYPE];

/// What went wrong, for a person and for a program (RFC 9457).
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
struct ProblemDetails {
    /// `about:blank`: `code` says which problem it is.
    r#type: String,
    /// The status in words.
    title: String,
    /// The status.
    #[schemars(range(min = 400, max = 599))]
    status: u16,
    /// What happened, to what.
    detail: String,
    /// What a program acts on; the words only grow.
    code: String,
    /// For a report; the same as in `X-Request-Id`.
    request_id: Option<String>,
    /// What to do now.
    next_step: String,
    /// Facts about it for a program, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Map<String, Value>>,
}

/// The description as it is committed and served.
pub fn text() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        // A value of plain maps and texts always has a JSON form.
        let mut text = serde_json::to_string_pretty(&document()).unwrap_or_default();
        text.push('\n');
        text
    });
    &TEXT
}

/// The description as a value.
pub fn document() -> Value {
    let mut describer = Describer::new();
    let mut paths: Map<String, Value> = Map::new();
    for route in routes() {
        let operation = (route.describe)(&mut describer);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_ascii_lowercase()] = operation;
    }
    let problem = describer.replies.subschema_for::<ProblemDetails>();
    let mut schemas = describer.replies.take_definitions(true);
    schemas.extend(describer.requests.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Sync",
            "version": "1",
            "description": "Which line of your code depends on which vendor operation: identity, audit and usage of an \
                organization. Agents use MCP at /mcp instead. Every request has an id (X-Request-Id) and leaves a row in \
                the organization's audit log. Errors are problem details (RFC 9457) with a code to act on and the next \
                step.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "security": [{ "bearer": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {
                    "type": "http", "scheme": "bearer",
                    "description": "A token of Sync (sync_…) or a JSON Web Token of a configured issuer.",
                },
            },
            "responses": {
                "Problem": {
                    "description": "What went wrong.",
                    "headers": headers(),
                    "content": { "application/problem+json": { "schema": problem } },
                },
            },
            "parameters": {
                "IdempotencyKey": {
                    "name": "Idempotency-Key", "in": "header", "required": false,
                    "description": "A random text of your own. The same request again under the same key, within 24 \
                        hours, changes nothing and is answered as before (Idempotency-Replayed: true); an answer with a \
                        secret is not, but with 409 already_created and the id.",
                    "schema": { "type": "string", "minLength": 1, "maxLength": idempotency::MAX_KEY, "pattern": "^[!-~]+$" },
                },
            },
            "headers": {
                "RequestId": {
                    "description": "The id of this request, as in the audit log.",
                    "schema": { "type": "string", "pattern": "^req_[0-9a-f]{32}$" },
                },
                "RateLimit": {
                    "description": "How many requests are left (r) and in how many seconds all are again (t), of the \
                        principal and of its organization; absent where nobody is known to ask.",
                    "schema": { "type": "string", "examples": ["\"principal\";r=5999;t=1, \"organization\";r=11999;t=1"] },
                },
                "RateLimitPolicy": {
                    "description": "How many requests (q) are answered in how many seconds (w).",
                    "schema": { "type": "string", "examples": ["\"principal\";q=6000;w=60, \"organization\";q=12000;w=60"] },
                },
            },
            "schemas": schemas,
        },
    })
}

fn headers() -> Value {
    json!({
        "X-Request-Id": { "$ref": "#/components/headers/RequestId" },
        "RateLimit": { "$ref": "#/components/headers/RateLimit" },
        "RateLimit-Policy": { "$ref": "#/components/headers/RateLimitPolicy" },
    })
}

/// Describes operations, and collects the schemas that they name.
pub struct Describer {
    /// Of what is sent.
    requests: SchemaGenerator,
    /// Of what is answered.
    replies: SchemaGenerator,
}

impl Describer {
    fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = "/components/schemas".into();
                settings.meta_schema = None;
            })
        };
        Self {
            requests: settings().for_deserialize().into_generator(),
            replies: settings().for_serialize().into_generator(),
        }
    }

    /// The description of one operation.
    pub(super) fn operation<E: Endpoint>(&mut self) -> Value {
        let takes_body = !Nothing::is::<E::Body>() || !E::UPLOADS.is_empty();
        let mut parameters = Vec::new();
        self.parameters::<E::Path>("path", &mut parameters);
        self.parameters::<E::Query>("query", &mut parameters);
        if !E::METHOD.is_safe() {
            parameters.push(json!({ "$ref": "#/components/parameters/IdempotencyKey" }));
        }
        let mut responses = Map::new();
        let success = endpoint::success::<E>();
        let mut told = json!({ "description": "Done.", "headers": headers() });
        if success != StatusCode::NO_CONTENT {
            told["description"] = json!("The answer.");
            let schema = self.replies.subschema_for::<E::Output>();
            let forms = E::MEDIA.iter().map(|form| ((*form).to_owned(), json!({ "schema": schema })));
            told["content"] = Value::Object(forms.collect());
        }
        if let Some(also) = E::ALSO {
            responses.insert(also.as_str().to_owned(), told.clone());
        }
        responses.insert(success.as_str().to_owned(), told);
        let absent = (!Nothing::is::<E::Path>()).then_some(StatusCode::NOT_FOUND);
        let changes = (!E::METHOD.is_safe()).then_some(StatusCode::CONFLICT);
        let takes_any = takes_body || !Nothing::is::<E::Query>() || !E::METHOD.is_safe();
        let wrong = takes_any.then_some(StatusCode::UNPROCESSABLE_ENTITY);
        let failures = COMMON.into_iter().chain(absent).chain(changes).chain(wrong).chain(E::FAILURES.iter().copied());
        for status in failures.chain(OF_A_BODY.into_iter().filter(|_| takes_body)) {
            responses.insert(status.as_str().to_owned(), json!({ "$ref": "#/components/responses/Problem" }));
        }
        let scopes: Vec<&str> = E::OPERATION.scopes().iter().map(|scope| scope.as_str()).collect();
        let needs = format!("Needs {}.", scopes.join(" or "));
        let mut operation = json!({
            "operationId": E::OPERATION.rest_id(),
            "tags": [E::TAG],
            "summary": E::SUMMARY,
            "description": format!("{}\n\n{needs}", E::DESCRIPTION),
            "x-sync-scopes": scopes,
            "responses": responses,
        });
        if !parameters.is_empty() {
            operation["parameters"] = parameters.into();
        }
        if !E::UPLOADS.is_empty() {
            // OpenAPI 3.1 leaves the schema out where the form says all: bytes.
            let forms = E::UPLOADS.iter().map(|form| ((*form).to_owned(), json!({})));
            operation["requestBody"] = json!({ "required": true, "content": Value::Object(forms.collect()) });
        } else if takes_body {
            let schema = self.requests.subschema_for::<E::Body>();
            operation["requestBody"] =
                json!({ "required": !E::BODY_OPTIONAL, "content": { "application/json": { "schema": schema } } });
        }
        debug_assert!(E::METHOD != Method::GET || !takes_body, "a GET has no body");
        operation
    }

    /// Each member of a part as a parameter.
    fn parameters<T: JsonSchema>(&mut self, place: &str, parameters: &mut Vec<Value>) {
        let mut schema = T::json_schema(&mut self.requests).to_value();
        let required: Vec<Value> = schema["required"].as_array().cloned().unwrap_or_default();
        let Some(Value::Object(members)) = schema.get_mut("properties").map(Value::take) else { return };
        for (name, mut schema) in members {
            let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            let text = schema["type"] == "string" || schema["type"] == json!(["string", "null"]);
            if text && ["pattern", "format", "enum"].iter().all(|keyword| schema.get(keyword).is_none()) {
                schema["pattern"] = json!("^[^\\u0000]*$");
            }
            let mut parameter = json!({
                "name": name, "in": place, "required": place == "path" || required.contains(&json!(name)), "schema": schema,
            });
            if let Some(description) = description {
                parameter["description"] = description;
            }
            parameters.push(parameter);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use sync_core::ids::RequestId;
    use sync_core::policy::Operation;

    use super::*;
    use crate::http::problem::Problem;

    #[test]
    fn the_committed_file_is_the_description() {
        let committed = include_str!("../../../../openapi/sync.v1.json");
        assert!(committed == text(), "openapi/sync.v1.json is stale; next: run `syncd openapi` and commit the file");
    }

    #[test]
    fn every_operation_is_in_the_table_once_and_every_row_is_served() {
        let served: Vec<Operation> = routes().iter().map(|route| route.operation).collect();
        let rows: BTreeSet<Operation> =
            Operation::ALL.iter().copied().filter(|operation| operation.rest_id().is_some()).collect();
        assert_eq!(served.iter().copied().collect::<BTreeSet<_>>(), rows);
        assert_eq!(served.len(), rows.len(), "two routes are of one operation");
        for route in routes() {
            let mutating = matches!(route.method, Method::POST | Method::PUT | Method::PATCH | Method::DELETE);
            assert!(route.path.starts_with("/v1/") && (mutating || route.method == Method::GET), "{}", route.path);
        }
    }

    #[test]
    fn nothing_unknown_is_taken() {
        let document = document();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let Some(body) = operation.pointer("/requestBody/content/application~1json/schema/$ref") else {
                    continue;
                };
                let schema = document.pointer(body.as_str().unwrap().trim_start_matches('#')).unwrap();
                assert_eq!(schema["additionalProperties"], json!(false), "{method} {path} takes unknown members");
            }
        }
    }

    /// What may be left out is not described as required. The one that has to be said may be null: a name is taken away by
    /// saying so.
    #[test]
    fn what_may_be_left_out_is_not_required() {
        let document = document();
        let mut said = Vec::new();
        for operation in document["paths"].as_object().unwrap().values().flat_map(|of| of.as_object().unwrap().values())
        {
            let schema = operation.pointer("/requestBody/content/application~1json/schema/$ref");
            let Some(schema) = schema.map(|schema| schema.as_str().unwrap().trim_start_matches('#')) else { continue };
            let schema = document.pointer(schema).unwrap();
            for name in schema["required"].as_array().into_iter().flatten() {
                let member = schema["properties"][name.as_str().unwrap()].to_string();
                if member.contains("\"null\"") {
                    said.push(format!("{} {name}", operation["operationId"]));
                }
            }
        }
        assert_eq!(said, [r#""change_organization" "display_name""#]);
    }

    #[tokio::test]
    async fn problems_are_as_described() {
        let response =
            Problem::unavailable().with_details(json!({})).response(Some(RequestId::from_uuid(uuid::Uuid::nil())));
        let body = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
        let told: Value = serde_json::from_slice(&body).unwrap();
        let described = &document()["components"]["schemas"]["Problem"]["properties"];
        let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
        assert_eq!(names(&told), names(described));
    }
}
