//! Bodies of requests, within bounds of size and time.

use std::time::Duration;

use axum::body::{Body, Bytes};
use futures::StreamExt as _;
use http::{HeaderMap, StatusCode, header};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::problem::Problem;

/// The largest body of a message or an operation that is read.
pub const MAX_BODY_BYTES: usize = 1024 * 1024;

/// How long a client may take to send its body.
const BUDGET: Duration = Duration::from_secs(10);

/// How much of a body that is too long is read before its sender is told.
const MAX_DRAINED_BYTES: usize = 16 * MAX_BODY_BYTES;

/// How many bodies of more than [`MAX_BODY_BYTES`] are held at a time, so that those who send them take no more memory
/// than that.
static LARGE: Semaphore = Semaphore::const_new(8);

/// All of a body, or what is wrong with it.
pub async fn read(body: Body) -> Result<Bytes, Problem> {
    read_up_to(body, MAX_BODY_BYTES).await.map(|(bytes, _)| bytes)
}

/// A place among the large bodies; give it back with the body.
pub type Place = Option<SemaphorePermit<'static>>;

/// The same of a body that may be longer.
pub async fn read_up_to(body: Body, most: usize) -> Result<(Bytes, Place), Problem> {
    match tokio::time::timeout(BUDGET, collect(body, most)).await {
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

/// Whether the head says that the body is in one of these forms.
pub fn is_one_of(headers: &HeaderMap, forms: &[&str]) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.and_then(|kind| kind.split(';').next())
        .is_some_and(|kind| forms.iter().any(|form| kind.trim().eq_ignore_ascii_case(form)))
}

struct TooLong;

/// All of the body, if it is short enough. Of one that is not, some more is read and thrown away: a client that is
/// still writing would see a broken connection instead of the reason.
async fn collect(body: Body, most: usize) -> Result<(Bytes, Place), TooLong> {
    let mut chunks = body.into_data_stream();
    let (mut kept, mut seen, mut place) = (Vec::new(), 0, None);
    while let Some(chunk) = chunks.next().await {
        // The connection broke: nobody will read what is said.
        let Ok(chunk) = chunk else { break };
        seen += chunk.len();
        if seen <= most {
            if seen > MAX_BODY_BYTES && place.is_none() {
                // The semaphore is never closed.
                place = LARGE.acquire().await.ok();
            }
            kept.extend_from_slice(&chunk);
        } else if seen > most.saturating_add(MAX_DRAINED_BYTES) {
            break;
        }
    }
    if seen > most { Err(TooLong) } else { Ok((Bytes::from(kept), place)) }
}
