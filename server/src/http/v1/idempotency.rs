//! `Idempotency-Key`: the same change asked for twice under one key is done once, and answered twice.
//!
//! What a change answered is remembered in its own transaction for 24 hours, so that there is an answer exactly where
//! there was a change; a change that failed did nothing and is done anew. An answer that holds a secret is never stored:
//! asked again it is a conflict that names what was made.

use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sync_store::RememberedAnswer;
use time::Duration;

use super::endpoint::Call;
use crate::audit::Reading;
use crate::http::problem::Problem;

/// The header of a request.
pub(super) const HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// The header of an answer that was given before.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// How long an answer is remembered.
const REMEMBERED: Duration = Duration::hours(24);

/// The longest key.
pub(super) const MAX_KEY: usize = 255;

/// One use of a key.
pub(super) struct Key {
    hash: [u8; 32],
    request: [u8; 32],
}

/// The key of a request; nothing where it has none.
pub(super) fn of(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut given = headers.get_all(HEADER).iter();
    let Some(first) = given.next() else { return Ok(None) };
    let text = first
        .to_str()
        .ok()
        .filter(|text| (1..=MAX_KEY).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()));
    match (text, given.next()) {
        (Some(text), None) => Ok(Some(text.to_owned())),
        _ => Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "invalid_argument",
            format!("The header Idempotency-Key must be given once, with 1 to {MAX_KEY} printable characters."),
            "Send a new random key for each change, such as a UUID, and the same one when you ask again.",
        )),
    }
}

impl Key {
    /// The use of `key` for an operation with these arguments.
    pub(super) fn new(call: &Call, key: &str, arguments: &Value) -> Self {
        let principal = call.principal();
        let mut hash = Sha256::new();
        hash.update(principal.organization.uuid().as_bytes());
        hash.update(principal.id.uuid().as_bytes());
        hash.update(key.as_bytes());
        let request = json!({ "action": call.asker.door, "arguments": arguments });
        Self { hash: hash.finalize().into(), request: call.app.auditor.digest(principal.organization, &request) }
    }

    /// What was answered to this before; nothing where the change is still to be made.
    pub(super) async fn answered(&self, reading: &mut Reading) -> Result<Option<RememberedAnswer>, Problem> {
        if !reading.tx.hold_idempotency_key(&self.hash).await? {
            let told = Problem::conflict(
                "in_progress",
                "A request with this Idempotency-Key is being worked on.",
                "Ask again in a second, with the same key.",
            );
            return Err(Problem { retry_after_s: Some(1), ..told });
        }
        let Some(answer) = reading.tx.remembered_answer(&self.hash, reading.now - REMEMBERED).await? else {
            return Ok(None);
        };
        if answer.request_digest != self.request {
            return Err(Problem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "idempotency_key_reused",
                "This Idempotency-Key was used for another request.",
                "Send a new key with a new request; the same key only with exactly the same one.",
            ));
        }
        match &answer.created_id {
            None => Ok(Some(answer)),
            Some(id) => Err(Problem::conflict(
                "already_created",
                "This was made before under the same Idempotency-Key; its secret was shown then and is kept nowhere.",
                "Use what details.id names, or make another under a new key.",
            )
            .with_details(json!({ "id": id }))),
        }
    }

    /// Remembers an answer along with the change; of one that was shown once only the id of what was made.
    pub(super) async fn remember(
        &self,
        reading: &mut Reading,
        status: StatusCode,
        body: &[u8],
        shown_once: Option<String>,
    ) -> Result<(), Problem> {
        let answer = RememberedAnswer {
            request_digest: self.request,
            status: status.as_u16(),
            body: (shown_once.is_none() && !body.is_empty()).then(|| body.to_vec()),
            created_id: shown_once,
        };
        reading.tx.remember_answer(&self.hash, &answer, reading.now - REMEMBERED, reading.now).await?;
        Ok(())
    }
}

/// Marks an answer as one that was given before.
pub(super) fn replayed(mut response: Response) -> Response {
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_printable_text() {
        let with = |values: &[&[u8]]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(HEADER, HeaderValue::from_bytes(value).unwrap());
            }
            of(&headers).map_err(|problem| problem.code)
        };
        assert_eq!(with(&[]), Ok(None));
        assert_eq!(with(&[b"abc-1"]), Ok(Some("abc-1".to_owned())));
        for wrong in [&[&b""[..]][..], &[b"a b"], &[b"\xff"], &[b"a", b"a"], &[&[b'a'; 256]]] {
            assert_eq!(with(wrong), Err("invalid_argument"));
        }
    }
}
