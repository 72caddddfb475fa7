//! Bodies that are larger than memory should hold: written to a file without a name, within bounds of size and time.

use std::fs::File;
use std::time::Duration;

use axum::body::Body;
use futures::StreamExt as _;
use http::StatusCode;
use tokio::io::{AsyncSeekExt as _, AsyncWriteExt as _};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use super::problem::Problem;

/// The largest body that is taken, as it is sent.
pub const MAX_BYTES: u64 = 256 << 20;

/// How long a client may send nothing.
const SILENCE: Duration = Duration::from_secs(20);

/// How many such bodies are there at a time: what they may take of the disk is this many times [`MAX_BYTES`].
static SPOOLED: Semaphore = Semaphore::const_new(8);

/// A body on the disk, which is gone with it.
pub struct Spooled {
    /// All of it, from the start.
    pub file: File,
    /// A place among those that are there.
    pub place: SemaphorePermit<'static>,
}

/// Takes all of the body, until `deadline` at the latest.
pub async fn spool(body: Body, deadline: Instant) -> Result<Spooled, Problem> {
    match tokio::time::timeout_at(deadline, take(body)).await {
        Ok(spooled) => spooled,
        Err(_elapsed) => Err(late()),
    }
}

async fn take(body: Body) -> Result<Spooled, Problem> {
    // The semaphore is never closed.
    let place = SPOOLED.acquire().await.map_err(|_| Problem::internal())?;
    let mut file = tokio::fs::File::from_std(tempfile::tempfile().map_err(|error| no_room(&error))?);
    let mut chunks = body.into_data_stream();
    let mut taken: u64 = 0;
    loop {
        let chunk = match tokio::time::timeout(SILENCE, chunks.next()).await {
            Ok(Some(Ok(chunk))) => chunk,
            Ok(None) => break,
            Ok(Some(Err(_))) => return Err(broke_off()),
            Err(_elapsed) => return Err(late()),
        };
        taken += chunk.len() as u64;
        if taken > MAX_BYTES {
            return Err(Problem::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "payload_too_large",
                format!("The body is longer than {MAX_BYTES} bytes."),
                "Send it compressed with zstd, or send less.",
            ));
        }
        file.write_all(&chunk).await.map_err(|error| no_room(&error))?;
    }
    file.flush().await.map_err(|error| no_room(&error))?;
    file.rewind().await.map_err(|error| no_room(&error))?;
    Ok(Spooled { file: file.into_std().await, place })
}

fn late() -> Problem {
    Problem::new(
        StatusCode::REQUEST_TIMEOUT,
        "request_timeout",
        "The body did not arrive in time.",
        "Send it again; it may be sent any number of times.",
    )
}

/// Nobody reads it, but the audit log does.
fn broke_off() -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "body_broke_off", "The body broke off.", "Send it again.")
}

fn no_room(error: &std::io::Error) -> Problem {
    tracing::error!(%error, "a body cannot be written to the disk");
    Problem {
        retry_after_s: Some(30),
        ..Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "The service cannot take so large a body at present.",
            "Try again in 30 seconds; the log of the service says why.",
        )
    }
}
