//! Bodies of requests, within bounds of size and time.

use std::time::Duration;

use axum::body::{Body, Bytes};
use futures::StreamExt as _;
use http::{HeaderMap, StatusCode, header};
use sha2::{Digest as _, Sha256};

use super::problem::Problem;

/// The largest body of a message or an operation that is read.
pub const MAX_BODY_BYTES: usize = 1024 * 1024;

/// How long a client may take to send its body.
const BUDGET: Duration = Duration::from_secs(10);

/// How much of a body that is too long is read before its sender is told.
const MAX_DRAINED_BYTES: usize = 16 * MAX_BODY_BYTES;

/// All of a body, or what is wrong with it.
pub async fn read(body: Body) -> Result<Bytes, Problem> {
    read_up_to(body, MAX_BODY_BYTES, async { None::<()> }).await.map(|(bytes, _)| bytes)
}

/// The same of a body that may be longer. What is beyond [`MAX_BODY_BYTES`] is held with the place that is waited for by
/// then; give it back with the body. Where there is none, no more is held: the rest is only looked at.
pub async fn read_up_to<P>(
    body: Body,
    most: usize,
    place: impl Future<Output = Option<P>>,
) -> Result<(Bytes, Option<P>), Problem> {
    match tokio::time::timeout(BUDGET, collect(body, most, place)).await {
        Ok(Ok(read)) => Ok(read),
        Ok(Err(TooLong)) => Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "payload_too_large",
            format!("The message is longer than {most} bytes."),
            "Send a shorter message.",
        )),
        Err(_elapsed) => Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "request_timeout",
            "The message did not arrive in time.",
            "Send it again.",
        )),
    }
}

/// Whether the head says that the body is JSON.
pub fn is_json(headers: &HeaderMap) -> bool {
    is_one_of(headers, &["application/json"])
}

/// How the head says that the body is encoded; nothing where it is as it is.
pub fn encoding(headers: &HeaderMap) -> Option<&str> {
    let said = headers.get(header::CONTENT_ENCODING)?.to_str().unwrap_or("?").trim();
    (!said.is_empty() && !said.eq_ignore_ascii_case("identity")).then_some(said)
}

/// Whether the head says that the body is in one of these forms.
pub fn is_one_of(headers: &HeaderMap, forms: &[&str]) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.and_then(|kind| kind.split(';').next())
        .is_some_and(|kind| forms.iter().any(|form| kind.trim().eq_ignore_ascii_case(form)))
}

struct TooLong;

/// All of the body, if it is short enough. Of one that is not, some more is read and thrown away: a client that is
/// still writing would see a broken connection instead of the reason.
async fn collect<P>(
    body: Body,
    most: usize,
    place: impl Future<Output = Option<P>>,
) -> Result<(Bytes, Option<P>), TooLong> {
    let mut chunks = body.into_data_stream();
    let (mut kept, mut seen, mut held) = (Vec::new(), 0, None);
    let (mut place, mut passing) = (Some(place), Sha256::new());
    while let Some(chunk) = chunks.next().await {
        // The connection broke: nobody will read what is said.
        let Ok(chunk) = chunk else { break };
        seen += chunk.len();
        if seen <= most {
            if seen > MAX_BODY_BYTES
                && let Some(place) = place.take()
            {
                held = Box::pin(place).await;
            }
            if seen <= MAX_BODY_BYTES || held.is_some() {
                kept.extend_from_slice(&chunk);
            } else {
                // As much work as a signature is, so that its time tells nothing of whether it is held.
                passing.update(&chunk);
            }
        } else if seen > most.saturating_add(MAX_DRAINED_BYTES) {
            break;
        }
    }
    if seen > most { Err(TooLong) } else { Ok((Bytes::from(kept), held)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_has_no_place_is_not_held() {
        let long = || Body::from(vec![b'a'; 3 * MAX_BODY_BYTES]);
        let read = async |place: Option<u8>, most| {
            let read = read_up_to(long(), most, async { place }).await;
            read.map(|(bytes, place)| (bytes.len(), place)).map_err(|problem| problem.code)
        };
        assert_eq!(read(Some(7), 4 * MAX_BODY_BYTES).await, Ok((3 * MAX_BODY_BYTES, Some(7))));
        let (held, place) = read(None, 4 * MAX_BODY_BYTES).await.unwrap();
        assert!(held <= MAX_BODY_BYTES && place.is_none(), "{held}");
        for place in [Some(7), None] {
            assert_eq!(read(place, 2 * MAX_BODY_BYTES).await, Err("payload_too_large"));
        }
    }
}
