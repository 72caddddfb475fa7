//! Bodies that are larger than memory should hold: written to a file without a name, within bounds of size and time.

use std::fs::File;
use std::time::Duration;

use axum::body::Body;
use futures::StreamExt as _;
use http::StatusCode;
use tokio::io::{AsyncSeekExt as _, AsyncWriteExt as _};

use super::problem::Problem;
use super::uploads::Place;

/// The largest body that is taken, as it is sent.
pub const MAX_BYTES: u64 = 256 << 20;

/// How long a client may send nothing.
const SILENCE: Duration = Duration::from_secs(20);

/// How long all of it may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(90);

/// A body on the disk, which is gone with it.
pub struct Spooled {
    /// All of it, from the start.
    pub file: File,
    /// Its place among those that are there.
    pub place: Place,
}

/// Takes all of a body that has a place.
pub async fn spool(body: Body, place: Place) -> Result<Spooled, Problem> {
    spool_within(ARRIVAL, SILENCE, body, place).await
}

async fn spool_within(arrival: Duration, silence: Duration, body: Body, place: Place) -> Result<Spooled, Problem> {
    match tokio::time::timeout(arrival, take(body, silence)).await {
        Ok(Ok(file)) => Ok(Spooled { file, place }),
        Ok(Err(problem)) => Err(problem),
        Err(_elapsed) => Err(late()),
    }
}

async fn take(body: Body, silence: Duration) -> Result<File, Problem> {
    let mut file = tokio::fs::File::from_std(tempfile::tempfile().map_err(|error| no_room(&error))?);
    let mut chunks = body.into_data_stream();
    let mut taken: u64 = 0;
    loop {
        let chunk = match tokio::time::timeout(silence, chunks.next()).await {
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
    Ok(file.into_std().await)
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

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use axum::body::Bytes;
    use futures::stream;
    use sync_core::ids::OrganizationId;
    use time::OffsetDateTime;

    use super::*;
    use crate::http::uploads::Uploads;

    const AGES: Duration = Duration::from_hours(1);

    async fn spooled(arrival: Duration, silence: Duration, body: Body) -> Result<String, &'static str> {
        let uploads = Uploads::default();
        let organization = OrganizationId::at(OffsetDateTime::UNIX_EPOCH);
        let place = uploads.place(organization).map_err(|problem| problem.code)?;
        let told = spool_within(arrival, silence, body, place).await;
        assert_eq!(uploads.of(organization), usize::from(told.is_ok()), "what is not taken has no place");
        let mut text = String::new();
        told.map_err(|problem| problem.code)?.file.read_to_string(&mut text).unwrap();
        Ok(text)
    }

    type Part = Result<Bytes, std::io::Error>;

    const A: Part = Ok(Bytes::from_static(b"a"));
    const B: Part = Ok(Bytes::from_static(b"b"));

    #[tokio::test]
    async fn a_body_that_is_silent_or_takes_too_long_gives_its_place_back() {
        let unending = || Body::from_stream(stream::iter([A]).chain(stream::pending()));
        assert_eq!(spooled(AGES, Duration::ZERO, unending()).await, Err("request_timeout"));
        assert_eq!(spooled(Duration::ZERO, AGES, unending()).await, Err("request_timeout"));
        let broken = stream::iter([A, Err(std::io::ErrorKind::ConnectionReset.into())]);
        assert_eq!(spooled(AGES, AGES, Body::from_stream(broken)).await, Err("body_broke_off"));
        let whole = stream::iter([A, B]);
        assert_eq!(spooled(AGES, AGES, Body::from_stream(whole)).await, Ok("ab".to_owned()));
    }
}
