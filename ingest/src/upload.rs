//! Sends a snapshot that was made elsewhere, in CI mostly, to a running Sync: what leaves is the snapshot and nothing of
//! the code.
//!
//! The same upload may be sent any number of times, so that what fails in passing is tried again.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode};
use serde::Deserialize;
use sync_core::text::shown;
use url::{Host, Url};

use crate::snapshot::{Limits, Reader, SnapshotError};

/// Waits before each further try, where the service names no other time.
const PAUSES: [Duration; 4] =
    [Duration::from_secs(2), Duration::from_secs(8), Duration::from_secs(20), Duration::from_mins(1)];

/// The longest wait that a service may ask for.
const LONGEST_PAUSE: Duration = Duration::from_mins(2);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The service answers within four minutes, after all of the body has arrived.
const TIMEOUT: Duration = Duration::from_mins(15);

/// Most of an answer that is read.
const MAX_ANSWER: usize = 64 << 10;

const ZSTD: &str = "application/zstd";

/// The service's word where a commit that was made later is indexed.
const NEWER_INDEXED: &str = "newer_indexed";

/// What to send, and where.
pub struct Upload<'a> {
    /// The snapshot, plain or compressed.
    pub snapshot: &'a Path,
    /// Where the service is: `https://sync.example.com`.
    pub url: &'a Url,
    /// The source: its id or its name.
    pub source: &'a str,
    /// The ref that the commit is the newest of; by default the one that the snapshot names, else the default branch.
    pub ref_name: Option<&'a str>,
    /// When the commit was made (RFC 3339): an upload that is older than what is indexed is then refused.
    pub committed_at: Option<&'a str>,
    /// The credential: `sync_…`.
    pub token: &'a str,
}

/// Why nothing was uploaded.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    /// The file cannot be read.
    #[error("the snapshot `{path}` cannot be read: {reason}")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// The file is no snapshot.
    #[error("`{path}` is no snapshot: {reason}")]
    Unsound {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: SnapshotError,
    },
    /// It is one of a folder.
    #[error("the snapshot is of no commit, and uploads are kept by commit")]
    NoCommit,
    /// The token would be sent in the clear.
    #[error("`{0}` is not https")]
    Insecure(Url),
    /// The token holds something that no header may.
    #[error("the token in SYNC_TOKEN is none")]
    BadToken,
    /// Nobody answers there.
    #[error("{url} was not reached: {reason}")]
    Unreached {
        /// Where.
        url: Url,
        /// Why.
        reason: String,
    },
    /// The service refuses it.
    #[error("the service answered {status}: {detail}")]
    Refused {
        /// How.
        status: StatusCode,
        /// The service's word for it.
        code: Option<String>,
        /// What it says happened.
        detail: String,
        /// What it says to do.
        next_step: String,
    },
}

impl UploadError {
    /// What to do about it.
    pub fn next_step(&self) -> &str {
        match self {
            Self::Unreadable { .. } => "give the file that `sync-ingest index --out FILE` wrote",
            Self::Unsound { reason, .. } => reason.next_step(),
            Self::NoCommit => "index a git repository, not a folder that was copied out of one",
            Self::Insecure(_) => "give an https address; plain http is taken for this machine only",
            Self::BadToken => "put a token of the scope sources:write into SYNC_TOKEN, without quotes or line breaks",
            Self::Unreached { .. } => "check --url and the network; the same upload may be sent again",
            Self::Refused { next_step, .. } => next_step,
        }
    }

    /// Whether another try may go better.
    fn passes(&self) -> bool {
        match self {
            Self::Unreached { .. } => true,
            Self::Refused { status, .. } => {
                matches!(status.as_u16(), 408 | 425 | 429 | 502 | 503 | 504)
            }
            _ => false,
        }
    }
}

/// What became of an upload.
#[derive(Debug, PartialEq, Eq)]
pub enum Uploaded {
    /// It is stored, or was: the service's answer.
    Stored(String),
    /// A commit that was made later is there already, which is as good: runs of CI end in any order. The service's words.
    Newer(String),
}

/// Sends it, again where that may help. `told` hears of each try that failed in passing.
pub async fn upload(upload: &Upload<'_>, told: impl Fn(&UploadError, Duration)) -> Result<Uploaded, UploadError> {
    if !is_private(upload.url) {
        return Err(UploadError::Insecure(upload.url.clone()));
    }
    let mut authorization =
        HeaderValue::try_from(format!("Bearer {}", upload.token)).map_err(|_| UploadError::BadToken)?;
    authorization.set_sensitive(true);
    let address = address(upload)?;
    let packed = packed(upload.snapshot).map_err(|reason| unreadable(upload.snapshot, reason))?;
    let client = Client::builder().connect_timeout(CONNECT_TIMEOUT).timeout(TIMEOUT);
    // A credential is for the host that was named and for no other.
    let client = client.redirect(reqwest::redirect::Policy::none()).build();
    let client = client.map_err(|error| unreached(upload.url, &error))?;
    let mut pauses = PAUSES.into_iter();
    loop {
        let (error, asked) = match send(&client, &address, &authorization, &packed).await {
            Ok(answer) => return Ok(Uploaded::Stored(answer)),
            Err((UploadError::Refused { code: Some(code), detail, .. }, _)) if code == NEWER_INDEXED => {
                return Ok(Uploaded::Newer(detail));
            }
            Err(failed) => failed,
        };
        let Some(pause) = pauses.next().filter(|_| error.passes()) else { return Err(error) };
        let pause = asked.map_or(pause, |asked| asked.min(LONGEST_PAUSE));
        told(&error, pause);
        tokio::time::sleep(pause).await;
    }
}

/// Whether what is sent there is read by nobody on the way.
fn is_private(url: &Url) -> bool {
    match url.scheme() {
        "https" => true,
        "http" => match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        },
        _ => false,
    }
}

/// `…/v1/sources/{source}/snapshots/{commit}?ref=…`.
fn address(upload: &Upload<'_>) -> Result<Url, UploadError> {
    let file = File::open(upload.snapshot).map_err(|reason| unreadable(upload.snapshot, reason))?;
    let reader = Reader::new(file, Limits::default())
        .map_err(|reason| UploadError::Unsound { path: upload.snapshot.to_owned(), reason })?;
    let header = reader.header();
    let commit = header.commit.as_deref().ok_or(UploadError::NoCommit)?;
    let mut address = upload.url.clone();
    address.set_query(None);
    if let Ok(mut path) = address.path_segments_mut() {
        path.pop_if_empty().extend(["v1", "sources", upload.source, "snapshots", commit]);
    }
    if let Some(name) = upload.ref_name.or(header.ref_name.as_deref()) {
        address.query_pairs_mut().append_pair("ref", name);
    }
    if let Some(at) = upload.committed_at {
        address.query_pairs_mut().append_pair("committed_at", at);
    }
    Ok(address)
}

/// The snapshot as it is sent: compressed.
fn packed(snapshot: &Path) -> io::Result<File> {
    let mut file = File::open(snapshot)?;
    if crate::snapshot::is_compressed(&mut file)? {
        return Ok(file);
    }
    let mut packed = tempfile::tempfile()?;
    zstd::stream::copy_encode(file, &mut packed, zstd::DEFAULT_COMPRESSION_LEVEL)?;
    Ok(packed)
}

/// One try. Of one that failed, also how long the service asks to wait.
async fn send(
    client: &Client,
    address: &Url,
    authorization: &HeaderValue,
    packed: &File,
) -> Result<String, (UploadError, Option<Duration>)> {
    let body = from_start(packed).map_err(|error| (unreached(address, &error), None))?;
    let request = client
        .put(address.clone())
        .header(AUTHORIZATION, authorization)
        .header(CONTENT_TYPE, ZSTD)
        .body(reqwest::Body::from(tokio::fs::File::from_std(body)));
    let response = request.send().await.map_err(|error| (unreached(address, &error), None))?;
    let (status, asked) = (response.status(), pause_asked(&response));
    let text = text(response).await;
    if status.is_success() { Ok(text) } else { Err((refused(status, &text), asked)) }
}

fn from_start(packed: &File) -> io::Result<File> {
    use std::io::Seek as _;
    let mut body = packed.try_clone()?;
    body.rewind()?;
    Ok(body)
}

fn pause_asked(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// What the service says, as far as it says it in a decent length.
async fn text(mut response: Response) -> String {
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_ANSWER {
            bytes.truncate(MAX_ANSWER);
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What of a problem (RFC 9457) is told.
#[derive(Deserialize)]
struct Problem {
    code: Option<String>,
    detail: String,
    next_step: Option<String>,
}

fn refused(status: StatusCode, text: &str) -> UploadError {
    let problem = serde_json::from_str(text).unwrap_or_else(|_| Problem {
        code: None,
        detail: shown(text.trim(), 200),
        next_step: None,
    });
    UploadError::Refused {
        status,
        code: problem.code,
        detail: problem.detail.trim_end_matches('.').to_owned(),
        next_step: problem.next_step.map_or_else(
            || "check --url: Sync answers in another form".to_owned(),
            |next| next.trim_end_matches('.').to_owned(),
        ),
    }
}

fn unreadable(path: &Path, reason: io::Error) -> UploadError {
    UploadError::Unreadable { path: path.to_owned(), reason }
}

fn unreached(url: &Url, error: &dyn std::error::Error) -> UploadError {
    // The outermost says least: "error sending request".
    let mut reason = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        reason = deeper.to_string();
        cause = deeper.source();
    }
    UploadError::Unreached { url: url.clone(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_sent_over_https_or_to_this_machine_only() {
        for (url, fine) in [
            ("https://sync.example.com", true),
            ("http://localhost:8787", true),
            ("http://127.0.0.1:8787", true),
            ("http://[::1]:8787", true),
            ("http://sync.example.com", false),
            ("http://localhost.example.com", false),
            ("ftp://127.0.0.1", false),
        ] {
            assert_eq!(is_private(&url.parse().unwrap()), fine, "{url}");
        }
    }

    #[test]
    fn an_answer_that_is_no_problem_is_told_in_short() {
        let error = refused(StatusCode::BAD_GATEWAY, &"<html>".repeat(1000));
        assert!(error.passes() && error.to_string().len() < 300, "{error}");
        let text = r#"{"detail": "Line 3 is none.", "next_step": "Write it again."}"#;
        let error = refused(StatusCode::UNPROCESSABLE_ENTITY, text);
        assert!(!error.passes());
        assert_eq!((error.to_string().contains("Line 3 is none"), error.next_step()), (true, "Write it again"));
    }
}
