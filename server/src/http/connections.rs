//! Connections: how they are taken, how long one may say nothing, and how they end.
//!
//! axum's own loop waits for the head of a request for ever, so that anyone could hold as many connections as the
//! process may have files, without a credential and at no cost.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::serve::Listener;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use crate::shutdown::Shutdown;

/// How long a connection may stand without a whole head of a request: also between two requests, so that it is longer
/// than the minute for which balancers keep theirs.
pub(super) const SILENCE: Duration = Duration::from_secs(75);

/// The most connections at once. Whoever comes then waits in the kernel's queue, so that strangers cost neither memory
/// nor files without bound.
pub(super) const MOST: usize = 4096;

/// Takes connections until `shutdown`, as many at once as `places` has, and serves each in a task of `connections`,
/// which ends after the requests in flight then.
pub(super) async fn take(
    mut listener: TcpListener,
    router: Router,
    shutdown: &Shutdown,
    connections: &TaskTracker,
    places: &Arc<Semaphore>,
    silence: Duration,
) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(silence);
    // Asks a peer that says nothing whether it is still there.
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(silence / 2).keep_alive_timeout(silence / 2);
    loop {
        let place = tokio::select! {
            place = places.clone().acquire_owned() => place,
            () = shutdown.begun() => return,
        };
        // The semaphore is never closed; were it, no connection could be taken any more.
        let Ok(place) = place else { return };
        // Accepting waits a moment where the process has no file left, and does not fail.
        let (stream, peer) = tokio::select! {
            accepted = Listener::accept(&mut listener) => accepted,
            () = shutdown.begun() => return,
        };
        // Small answers on a kept connection must not wait for an acknowledgement.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set");
        }
        let served = serve(builder.clone(), stream, peer, router.clone(), shutdown.clone(), silence);
        connections.spawn(holding(place, served));
    }
}

/// Keeps the place of a connection until it has ended.
async fn holding(place: OwnedSemaphorePermit, served: impl Future<Output = ()>) {
    served.await;
    drop(place);
}

async fn serve(
    builder: Builder<TokioExecutor>,
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    shutdown: Shutdown,
    silence: Duration,
) {
    let spoke = Arc::new(AtomicBool::new(false));
    let heard = spoke.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        heard.store(true, Ordering::Relaxed);
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        let router = router.clone();
        async move { Ok::<_, Infallible>(router.oneshot(request).await.unwrap_or_else(|never| match never {})) }
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // Before the first bytes have shown which HTTP is spoken, nothing in the library is timed.
    let mut first = pin!(tokio::time::sleep(silence));
    let (mut waiting, mut ending) = (true, false);
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection ended early");
                }
                return;
            }
            () = first.as_mut(), if waiting => {
                if !spoke.load(Ordering::Relaxed) {
                    return;
                }
                waiting = false;
            }
            () = shutdown.begun(), if !ending => {
                connection.as_mut().graceful_shutdown();
                ending = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// What a client that writes `said` and then nothing hears until its connection ends.
    async fn heard(said: &[u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (shutdown, connections) = (Shutdown::default(), TaskTracker::new());
        let router = Router::new().route("/", get(async |ConnectInfo(peer): ConnectInfo<SocketAddr>| peer.to_string()));
        let client = async {
            let mut client = TcpStream::connect(address).await.unwrap();
            client.write_all(said).await.unwrap();
            let mut all = Vec::new();
            // A reset is an end too.
            let _ = client.read_to_end(&mut all).await;
            shutdown.begin();
            String::from_utf8_lossy(&all).into_owned().replace(&client.local_addr().unwrap().to_string(), "me")
        };
        let places = Arc::new(Semaphore::new(1));
        let silence = Duration::from_millis(200);
        let (heard, ()) = tokio::join!(client, take(listener, router, &shutdown, &connections, &places, silence));
        connections.close();
        connections.wait().await;
        heard
    }

    #[tokio::test]
    async fn whoever_says_nothing_is_not_kept() {
        // Each of these would wait for ever otherwise.
        for silent in ["", "GET / HTTP/1.1\r\nHost: a", "PRI * HT", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
            assert!(!heard(silent.as_bytes()).await.contains("me"), "{silent}");
        }
        let answered = heard(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert!(answered.starts_with("HTTP/1.1 200 OK") && answered.ends_with("me"), "{answered}");
    }
    #[tokio::test]
    async fn a_place_is_held_while_its_connection_lasts_and_then_given_on() {
        const ASK: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (shutdown, connections) = (Shutdown::default(), TaskTracker::new());
        let router = Router::new().route("/", get("answered"));
        let places = Arc::new(Semaphore::new(1));
        let clients = async {
            let mut first = TcpStream::connect(address).await.unwrap();
            first.write_all(ASK).await.unwrap();
            let mut byte = [0];
            first.read_exact(&mut byte).await.unwrap();
            assert_eq!(places.available_permits(), 0);
            let mut second = TcpStream::connect(address).await.unwrap();
            second.write_all(ASK).await.unwrap();
            drop(first);
            second.read_exact(&mut byte).await.unwrap();
            shutdown.begin();
        };
        tokio::join!(clients, take(listener, router, &shutdown, &connections, &places, Duration::from_hours(1)));
        connections.close();
        connections.wait().await;
        assert_eq!(places.available_permits(), 1);
    }
}
