//! What a request gives to its operation: parts of the path, query, JSON body, each read strictly.

use axum::body::Body;
use axum::extract::{FromRequestParts as _, Path, Query, RawPathParams};
use http::request::Parts;
use http::{StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::endpoint::{Endpoint, Input, Nothing};
use super::idempotency;
use crate::http::body;
use crate::http::problem::Problem;

/// An operation's input, and the same as the one value that is digested in the audit row.
pub(super) struct Given<E: Endpoint> {
    pub(super) input: Input<E>,
    pub(super) arguments: Value,
    /// The request's `Idempotency-Key`, where it is one of a change.
    pub(super) key: Option<String>,
}

/// Reads all of it.
pub(super) async fn read<E: Endpoint>(parts: &mut Parts, body: Body) -> Result<Given<E>, Problem> {
    let mut arguments = Map::new();
    let key = if E::METHOD.is_safe() { None } else { idempotency::of(&parts.headers)? };
    let path = if Nothing::is::<E::Path>() {
        nothing()?
    } else {
        let given = RawPathParams::from_request_parts(parts, &()).await.map_err(|_| E::absent())?;
        let named = given.iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
        arguments.insert("path".to_owned(), Value::Object(named));
        // An id of another form is the id of nothing.
        let path = Path::<E::Path>::from_request_parts(parts, &()).await;
        path.map(|Path(path)| path).map_err(|_| E::absent())?
    };
    let query = parts.uri.query().unwrap_or_default();
    if !query.is_empty() {
        let pairs = url::form_urlencoded::parse(query.as_bytes());
        arguments.insert("query".to_owned(), pairs.map(|(name, value)| json!([name, value])).collect());
    }
    let query = Query::<E::Query>::try_from_uri(&parts.uri);
    let query = query.map(|Query(query)| query).map_err(|rejection| bad_query(&rejection))?;
    if let Some(encoding) = body::encoding(&parts.headers) {
        return Err(encoded(encoding, E::UPLOADS));
    }
    let mut stream = Body::empty();
    let body = if Nothing::is::<E::Body>() {
        if !E::UPLOADS.is_empty() {
            if !body::is_one_of(&parts.headers, E::UPLOADS) {
                return Err(not_uploaded(E::UPLOADS));
            }
            stream = body;
        }
        nothing()?
    } else {
        let bytes = body::read(body).await?;
        let value: Value = if E::BODY_OPTIONAL && bytes.is_empty() {
            json!({})
        } else if body::is_json(&parts.headers) {
            serde_json::from_slice(&bytes).map_err(|error| bad_json(&error))?
        } else {
            return Err(not_json());
        };
        // To serde, a list is an object whose members come in their order.
        if !value.is_object() {
            return Err(not_an_object());
        }
        arguments.insert("body".to_owned(), value.clone());
        serde_json::from_value(whole(value)).map_err(|error| bad_body(&error))?
    };
    let arguments = Value::Object(arguments);
    if holds_nul(&arguments) {
        return Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "invalid_argument",
            "A text of the request holds the character NUL, which none may hold.",
            "Send it without.",
        ));
    }
    Ok(Given { input: Input { path, query, body, stream }, arguments, key })
}

/// The value of a part that an operation does not have.
fn nothing<T: DeserializeOwned>() -> Result<T, Problem> {
    serde_json::from_value(json!({})).map_err(|error| {
        tracing::error!(%error, "a part without members has members");
        Problem::internal()
    })
}

/// The same with `181.0` as `181`: to JSON Schema, and to clients with one kind of numbers, they are one number.
fn whole(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            #[expect(clippy::cast_possible_truncation, reason = "numbers beyond 2^53 are left alone")]
            Some(float) if float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0 => Value::from(float as i64),
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(whole).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, whole(value))).collect(),
        other => other,
    }
}

fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(holds_nul),
        Value::Object(members) => members.iter().any(|(name, value)| name.contains('\0') || holds_nul(value)),
        _ => false,
    }
}

fn bad_query(rejection: &axum::extract::rejection::QueryRejection) -> Problem {
    let reason = std::error::Error::source(rejection).map_or_else(|| rejection.to_string(), ToString::to_string);
    Problem::new(
        StatusCode::BAD_REQUEST,
        "invalid_argument",
        format!("The query cannot be taken: {}.", sync_core::text::shown(&reason, 200)),
        "Correct or leave out that parameter; /openapi.json says what this operation takes.",
    )
}

fn not_json() -> Problem {
    Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        "The body of this operation is JSON, and the request does not say that its body is.",
        "Send the body as JSON, with the header `Content-Type: application/json`.",
    )
}

fn encoded(encoding: &str, forms: &[&str]) -> Problem {
    let next = match forms {
        [] => "Send it without a `Content-Encoding`.".to_owned(),
        forms => format!("Send it without a `Content-Encoding`, with a `Content-Type` of {}.", forms.join(" or ")),
    };
    Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        format!("The body is encoded as `{}`, which is not taken.", sync_core::text::shown(encoding, 40)),
        next,
    )
    .with_header(header::ACCEPT_ENCODING, "identity")
}

fn not_uploaded(forms: &[&str]) -> Problem {
    Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        "The request does not say that its body is in a form that this operation takes.",
        format!("Send it with a `Content-Type` of {}.", forms.join(" or ")),
    )
}

fn bad_json(error: &serde_json::Error) -> Problem {
    Problem::new(
        StatusCode::BAD_REQUEST,
        "invalid_json",
        format!("The body is not JSON: it ends to be at line {}, column {}.", error.line(), error.column()),
        "Send one JSON object.",
    )
}

fn not_an_object() -> Problem {
    Problem::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "invalid_body",
        "The body cannot be taken: it is JSON, and no object.",
        "Send one JSON object; /openapi.json names its members.",
    )
}

/// What a member holds is not repeated: it may be a secret that stands in a wrong place.
fn bad_body(error: &serde_json::Error) -> Problem {
    let reason = error.to_string();
    let reason = match (reason.find('"'), reason.rfind('"')) {
        (Some(from), Some(to)) if from < to => format!("{}…{}", &reason[..=from], &reason[to..]),
        _ => reason,
    };
    Problem::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "invalid_body",
        format!("The body cannot be taken: {}.", sync_core::text::shown(&reason, 200)),
        "Correct or leave out that field; /openapi.json says what the body of this operation holds.",
    )
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[test]
    fn what_a_member_held_is_not_repeated() {
        #[derive(Debug, Deserialize)]
        struct Body {
            #[expect(dead_code, reason = "only its type matters")]
            count: u32,
        }
        let error = serde_json::from_value::<Body>(json!({ "count": "s3cret \" word" })).unwrap_err();
        let told = bad_body(&error);
        assert!(!told.detail.contains("s3cret") && told.detail.contains("expected u32"), "{}", told.detail);
        assert_eq!(whole(json!({ "a": [181.0, 1.5, -0.0, 1e300] })), json!({ "a": [181, 1.5, 0, 1e300] }));
        assert!(holds_nul(&json!({ "a": ["b", { "c\0": 1 }] })) && !holds_nul(&json!({ "a": ["b", 1, null] })));
    }
}
