//! Over HTTP: conditional requests, missing files, endless bodies.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::probes::{NOW, Probe};
use crate::feed::verify::{Loaded, VerifyError};

/// A static file server on loopback that tags `timestamp.json`, for as long as the test runs.
struct Server {
    address: String,
    /// Status and path of each answer.
    log: Arc<Mutex<Vec<(u16, String)>>>,
}

impl Server {
    async fn of(dir: PathBuf, endless: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/feed", listener.local_addr().unwrap());
        let log = Arc::new(Mutex::new(Vec::new()));
        let answers = Arc::clone(&log);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, dir.clone(), endless, Arc::clone(&answers)));
            }
        });
        Self { address, log }
    }

    fn answers(&self, name: &str) -> Vec<u16> {
        let log = self.log.lock().unwrap();
        log.iter().filter(|(_, path)| path.ends_with(name)).map(|(status, _)| *status).collect()
    }
}

async fn answer(
    mut stream: TcpStream,
    dir: PathBuf,
    endless: Option<&'static str>,
    log: Arc<Mutex<Vec<(u16, String)>>>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8(head).unwrap();
    let path = head.split(' ').nth(1).unwrap().to_owned();
    let body = std::fs::read(dir.join(path.trim_start_matches("/feed/"))).ok();
    let sum = |body: &Vec<u8>| body.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    let tag = body.as_ref().map(|body| format!("\"{}-{}\"", body.len(), sum(body)));
    let (status, body) = match (body, &tag) {
        (Some(_), Some(tag)) if head.contains(tag.as_str()) => (304, Vec::new()),
        (Some(body), _) => (200, body),
        (None, _) => (403, Vec::new()),
    };
    log.lock().unwrap().push((status, path.clone()));
    let head = |length: String| {
        let tag = tag.as_ref().map(|tag| format!("etag: {tag}\r\n")).unwrap_or_default();
        format!("HTTP/1.1 {status} X\r\n{tag}{length}connection: close\r\n\r\n")
    };
    if endless.is_some_and(|name| path.ends_with(name)) {
        stream.write_all(head(String::new()).as_bytes()).await.unwrap();
        while stream.write_all(&[b' '; 4096]).await.is_ok() {}
        return;
    }
    // Whoever asked may have left.
    let _ = stream.write_all(head(format!("content-length: {}\r\n", body.len())).as_bytes()).await;
    let _ = stream.write_all(&body).await;
}

#[tokio::test]
async fn a_feed_is_fetched_and_asked_for_conditionally() {
    let mut probe = Probe::published().await;
    let server = Server::of(probe.public(), None).await;
    let verifier = probe.verifier(&server.address, "seen");
    assert!(matches!(verifier.load(None, NOW).await, Ok(Loaded::New(feed)) if feed.version == 1));
    assert!(matches!(verifier.load(Some(1), NOW).await, Ok(Loaded::Unchanged { version: 1, .. })));
    assert_eq!(server.answers("timestamp.json"), [200, 304]);
    // The second check fetched no target, and a missing next root is not an error.
    assert_eq!(server.answers(".slack.json"), [200]);
    assert_eq!(server.answers("2.root.json"), [403, 403]);
    probe.publish(NOW).await;
    assert!(matches!(verifier.load(Some(1), NOW).await, Ok(Loaded::New(feed)) if feed.version == 2));
    assert_eq!(server.answers("timestamp.json"), [200, 304, 200]);
}

#[tokio::test]
async fn an_endless_body_is_refused() {
    for name in ["timestamp.json", "1.targets.json"] {
        let probe = Probe::published().await;
        let server = Server::of(probe.public(), Some(name)).await;
        let loaded = probe.verifier(&server.address, "seen").load(None, NOW).await;
        assert!(matches!(loaded, Err(VerifyError::Oversized(_))), "{name}: {loaded:?}");
    }
}

#[tokio::test]
async fn nobody_at_the_address_is_unreachable() {
    let probe = Probe::published().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let loaded = probe.verifier(&address, "seen").load(None, NOW).await;
    assert!(matches!(loaded, Err(VerifyError::Unreachable(_))), "{loaded:?}");
    // Plain HTTP is for this machine alone.
    let loaded = probe.verifier("http://feeds.example.com/", "seen").load(None, NOW).await;
    assert!(matches!(loaded, Err(VerifyError::Address(_))), "{loaded:?}");
}
