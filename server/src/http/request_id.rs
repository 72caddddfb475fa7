//! Every request has an id, in the response, in the log and in the audit row.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderName, HeaderValue};
use sync_core::clock::Clock;
use sync_core::ids::RequestId;
use tracing::Instrument as _;
use uuid::Uuid;

const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Takes the caller's `X-Request-Id` where it is one (`req_…` or a UUID) and makes one where it is not; puts it into
/// the request's extensions, the log's span and the response.
pub async fn assign(State(clock): State<Arc<dyn Clock>>, mut request: Request, next: Next) -> Response {
    let id = request
        .headers()
        .get(HEADER)
        .and_then(|value| value.to_str().ok())
        .and_then(given)
        .unwrap_or_else(|| RequestId::at(clock.now()));
    request.extensions_mut().insert(id);
    let span =
        tracing::info_span!("request", request_id = %id, method = %request.method(), path = request.uri().path());
    let mut response = next.run(request).instrument(span).await;
    if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
        response.headers_mut().insert(HEADER, value);
    }
    response
}

fn given(text: &str) -> Option<RequestId> {
    text.parse().ok().or_else(|| Uuid::try_parse(text).ok().map(RequestId::from_uuid))
}

#[cfg(test)]
mod tests {
    use super::given;

    #[test]
    fn ids_and_uuids_are_taken_and_other_text_is_not() {
        let id = "req_019ad0e0a0b07c3c8f0e5f3f4a5b6c7d";
        assert_eq!(given(id).unwrap().to_string(), id);
        assert_eq!(given("019ad0e0-a0b0-7c3c-8f0e-5f3f4a5b6c7d").unwrap().to_string(), id);
        assert!(given("my id\u{7f}").is_none() && given("").is_none());
    }
}
