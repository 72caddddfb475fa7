//! Bodies that are larger than memory should hold: written to a file without a name, within bounds of size and time.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use futures::StreamExt as _;
use http::StatusCode;
use sync_core::ids::OrganizationId;
use tokio::io::{AsyncSeekExt as _, AsyncWriteExt as _};

use super::problem::Problem;

/// The largest body that is taken, as it is sent.
pub const MAX_BYTES: u64 = 256 << 20;

/// How long a client may send nothing.
const SILENCE: Duration = Duration::from_secs(20);

/// How long all of it may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(90);

/// How many such bodies are there at a time: what they may take of the disk is this many times [`MAX_BYTES`].
const PLACES: usize = 16;

/// How many of them are one organization's, so that no one keeps the others out.
const PLACES_EACH: usize = 2;

static TAKEN: Mutex<BTreeMap<OrganizationId, usize>> = Mutex::new(BTreeMap::new());

/// A body on the disk, which is gone with it.
pub struct Spooled {
    /// All of it, from the start.
    pub file: File,
    /// A place among those that are there.
    pub place: Place,
}

/// A place among the bodies that are there.
pub struct Place(OrganizationId);

impl Place {
    fn take(organization: OrganizationId) -> Result<Self, Problem> {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.get(&organization).copied().unwrap_or_default();
        if own >= PLACES_EACH || taken.values().sum::<usize>() >= PLACES {
            return Err(busy());
        }
        taken.insert(organization, own + 1);
        Ok(Self(organization))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.get_mut(&self.0) {
            Some(own) if *own > 1 => *own -= 1,
            _ => {
                taken.remove(&self.0);
            }
        }
    }
}

/// Takes all of the body of a request of that organization.
pub async fn spool(body: Body, organization: OrganizationId) -> Result<Spooled, Problem> {
    let place = Place::take(organization)?;
    match tokio::time::timeout(ARRIVAL, take(body)).await {
        Ok(Ok(file)) => Ok(Spooled { file, place }),
        Ok(Err(problem)) => Err(problem),
        Err(_elapsed) => Err(late()),
    }
}

async fn take(body: Body) -> Result<File, Problem> {
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

/// As many are under way as may be.
pub fn busy() -> Problem {
    Problem {
        retry_after_s: Some(10),
        ..Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "Other uploads are under way, as many as are taken at a time.",
            "Try again in 10 seconds; the same upload may be sent any number of times.",
        )
    }
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
