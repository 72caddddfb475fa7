//! How feed files are fetched: one client for all, with time-outs, a cap on bodies and conditional requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use reqwest::StatusCode;
use reqwest::header::{ETAG, HeaderValue, IF_NONE_MATCH};
use tough::{Transport, TransportError, TransportErrorKind, TransportStream};
use url::Url;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);
const MIB: usize = 1024 * 1024;

/// Fetches `file:` and `https:` URLs (`http:` from this machine alone). What it hands out is not verified.
#[derive(Debug, Clone)]
pub(super) struct FeedTransport {
    client: reqwest::Client,
    /// The last answer of each URL that had a tag; only `timestamp.json` has more than one answer in its life.
    tagged: Arc<Mutex<HashMap<Url, (HeaderValue, Bytes)>>>,
}

/// A body that does not end within the bound for its kind of file.
#[derive(Debug, thiserror::Error)]
#[error("the body exceeds {0} bytes")]
pub(super) struct BodyTooLarge(usize);

impl FeedTransport {
    pub(super) fn new() -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(REQUEST_TIMEOUT)
            .redirect(reqwest::redirect::Policy::limited(3))
            .build()?;
        Ok(Self { client, tagged: Arc::default() })
    }

    async fn get(&self, url: &Url, cap: usize) -> Result<Bytes, TransportError> {
        let other = |error: reqwest::Error| TransportError::new_with_cause(TransportErrorKind::Other, url, error);
        let known = self.tagged.lock().unwrap_or_else(PoisonError::into_inner).get(url).cloned();
        let mut request = self.client.get(url.clone());
        if let Some((tag, _)) = &known {
            request = request.header(IF_NONE_MATCH, tag.clone());
        }
        let mut response = request.send().await.map_err(other)?;
        match (response.status(), known) {
            (StatusCode::NOT_MODIFIED, Some((_, body))) => return Ok(body),
            (StatusCode::FORBIDDEN | StatusCode::NOT_FOUND | StatusCode::GONE, _) => {
                return Err(TransportError::new(TransportErrorKind::FileNotFound, url));
            }
            _ => response = response.error_for_status().map_err(other)?,
        }
        let tag = response.headers().get(ETAG).cloned();
        let mut body = BytesMut::new();
        while let Some(chunk) = response.chunk().await.map_err(other)? {
            if body.len() + chunk.len() > cap {
                return Err(TransportError::new_with_cause(TransportErrorKind::Other, url, BodyTooLarge(cap)));
            }
            body.extend_from_slice(&chunk);
        }
        let body = body.freeze();
        if let Some(tag) = tag.filter(|_| file_name(url) == "timestamp.json") {
            let mut tagged = self.tagged.lock().unwrap_or_else(PoisonError::into_inner);
            tagged.insert(url.clone(), (tag, body.clone()));
        }
        Ok(body)
    }

    async fn read(url: &Url, cap: usize) -> Result<Bytes, TransportError> {
        use tokio::io::AsyncReadExt;
        let path =
            url.to_file_path().map_err(|()| TransportError::new(TransportErrorKind::UnsupportedUrlScheme, url))?;
        let failed = |error: std::io::Error| {
            let kind = match error.kind() {
                std::io::ErrorKind::NotFound => TransportErrorKind::FileNotFound,
                _ => TransportErrorKind::Other,
            };
            TransportError::new_with_cause(kind, url, error)
        };
        let file = tokio::fs::File::open(path).await.map_err(failed)?;
        let mut body = Vec::new();
        file.take(cap as u64 + 1).read_to_end(&mut body).await.map_err(failed)?;
        if body.len() > cap {
            return Err(TransportError::new_with_cause(TransportErrorKind::Other, url, BodyTooLarge(cap)));
        }
        Ok(body.into())
    }
}

#[async_trait]
impl Transport for FeedTransport {
    async fn fetch(&self, url: Url) -> Result<TransportStream, TransportError> {
        let cap = cap(&url);
        let body = match url.scheme() {
            "file" => Self::read(&url, cap).await?,
            "https" => self.get(&url, cap).await?,
            "http" if is_loopback(&url) => self.get(&url, cap).await?,
            _ => return Err(TransportError::new(TransportErrorKind::UnsupportedUrlScheme, url)),
        };
        // The stream has to be Sync, which a response's is not, so the body is read first, under its cap.
        Ok(Box::pin(futures::stream::iter([Ok(body)])))
    }
}

fn file_name(url: &Url) -> &str {
    url.path().rsplit('/').next().unwrap_or_default()
}

/// Sizes that a file of its kind never reaches: a feed of ten thousand changes is about 5 MB.
fn cap(url: &Url) -> usize {
    let name = file_name(url);
    if name.ends_with("timestamp.json") || name.ends_with("snapshot.json") || name.ends_with("root.json") {
        MIB
    } else if name.ends_with("targets.json") {
        4 * MIB
    } else {
        64 * MIB
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}
