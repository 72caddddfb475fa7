//! The way out of fetches: a proxy on this machine that only `CONNECT`s, for who has a pass, to addresses that it has
//! checked itself.
//!
//! The child that fetches speaks TLS with the remote through it, redirects included, so that nothing it is told to
//! fetch leads inside: a name is looked up here, once, each of its addresses is checked, and the checked one is dialled.
//! What keeps the child to this way is its own sandbox (`sync_ingest::sandbox`).

mod door;

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use subtle::ConstantTimeEq as _;
use sync_ingest::git::{FetchLimits, Proxy, RemoteUrl};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio_util::io::InspectReader;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use self::door::EgressPolicy;
use self::door::{Closed, Door};
use crate::identity::random_secret;

/// Most connections of one fetch: one to the remote and what its redirects lead to.
const MAX_CONNECTIONS: usize = 8;
/// Most bytes that a fetch sends: what it asks for.
const MAX_SENT: u64 = 16 << 20;
/// What TLS and HTTP may take beside the limits of a fetch, in bytes.
const OVERHEAD: u64 = 4 << 20;
/// How long a request to the proxy may take to arrive.
const PATIENCE: Duration = Duration::from_secs(10);

/// The proxy; it ends when it is dropped.
pub struct Egress {
    shared: Arc<Shared>,
    address: SocketAddr,
    socket: PathBuf,
    certificates: Option<PathBuf>,
    _folder: tempfile::TempDir,
}

struct Shared {
    door: Door,
    passes: Mutex<HashMap<String, Arc<Bounds>>>,
    ended: CancellationToken,
    tasks: TaskTracker,
}

/// Leave for one fetch to use the proxy; over when it is dropped.
pub struct Pass {
    shared: Arc<Shared>,
    bounds: Arc<Bounds>,
    user: String,
    proxy: Proxy,
}

struct Bounds {
    secret: String,
    port: u16,
    connections: AtomicUsize,
    received: AtomicU64,
    sent: AtomicU64,
    max_received: u64,
    over: CancellationToken,
    refused: Mutex<Vec<String>>,
}

impl Egress {
    /// Starts the proxy on a free port of the loopback address and on a socket in a folder of its own.
    pub async fn start(policy: EgressPolicy) -> io::Result<Self> {
        let certificates = policy.certificates.clone();
        Self::with(Door::new(policy), certificates).await
    }

    async fn with(door: Door, certificates: Option<PathBuf>) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("sync-egress-").tempdir()?;
        let socket = folder.path().join("proxy");
        let (tcp, unix) = (TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?, UnixListener::bind(&socket)?);
        let address = tcp.local_addr()?;
        let (passes, ended) = (Mutex::default(), CancellationToken::new());
        let shared = Arc::new(Shared { door, passes, ended, tasks: TaskTracker::new() });
        shared.tasks.spawn(shared.clone().take(async move || Ok(tcp.accept().await?.0)));
        shared.tasks.spawn(shared.clone().take(async move || Ok(unix.accept().await?.0)));
        Ok(Self { shared, address, socket, certificates, _folder: folder })
    }

    /// Leave to fetch from `url` within `limits`.
    pub fn pass(&self, url: &RemoteUrl, limits: &FetchLimits) -> io::Result<Pass> {
        let random = || random_secret().map(hex::encode).map_err(|_| io::Error::other("no random numbers"));
        let (user, secret) = (random()?, random()?);
        let bounds = Arc::new(Bounds {
            secret: secret.clone(),
            port: url.port(),
            connections: AtomicUsize::new(0),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            max_received: limits.bytes.saturating_add(limits.listing_bytes).saturating_add(OVERHEAD),
            over: self.shared.ended.child_token(),
            refused: Mutex::default(),
        });
        self.shared.passes().insert(user.clone(), bounds.clone());
        let (socket, address) = (Some(self.socket.clone()), self.address.to_string());
        let proxy = Proxy { socket, address, user: user.clone(), secret };
        Ok(Pass { shared: self.shared.clone(), bounds, user, proxy })
    }

    /// Certificate authorities beside the environment's.
    pub(super) fn certificates(&self) -> Option<&PathBuf> {
        self.certificates.as_ref()
    }
}

impl Drop for Egress {
    fn drop(&mut self) {
        self.shared.ended.cancel();
    }
}

impl Pass {
    /// What the child is told.
    pub fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    /// What was refused to the child so far, in words.
    pub fn refused(&self) -> Vec<String> {
        self.bounds.refused().clone()
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.shared.passes().remove(&self.user);
        self.bounds.over.cancel();
    }
}

impl Bounds {
    fn refused(&self) -> MutexGuard<'_, Vec<String>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, counter: &AtomicU64, bytes: usize, most: u64) {
        if counter.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64 > most {
            self.over.cancel();
        }
    }
}

impl Shared {
    fn passes(&self) -> MutexGuard<'_, HashMap<String, Arc<Bounds>>> {
        self.passes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn take<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        self: Arc<Self>,
        mut accept: impl AsyncFnMut() -> io::Result<S> + Send,
    ) {
        loop {
            let accepted = tokio::select! {
                accepted = accept() => accepted,
                () = self.ended.cancelled() => return,
            };
            match accepted {
                Ok(stream) => {
                    let shared = self.clone();
                    self.tasks.spawn(shared.serve(stream));
                }
                // A process that has no file left gets one again when a connection ends.
                Err(error) => {
                    tracing::warn!(%error, "the proxy of fetches takes no connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(self: Arc<Self>, stream: S) {
        let mut builder = Builder::new(TokioExecutor::new()).http1_only();
        builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE);
        let ended = self.ended.clone();
        let service = service_fn(|request| {
            let shared = self.clone();
            async move { Ok::<_, Infallible>(shared.answer(request).await) }
        });
        let serving = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
        tokio::select! {
            // The child hears of an error itself.
            _ = serving => {}
            () = ended.cancelled() => {}
        }
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        let Some(bounds) = self.bounds(request.headers()) else {
            return empty(StatusCode::PROXY_AUTHENTICATION_REQUIRED);
        };
        let target = request.uri().authority().and_then(|it| Some((it.host().to_owned(), it.port_u16()?)));
        let (true, Some((host, port))) = (request.method() == Method::CONNECT, target) else {
            return empty(StatusCode::METHOD_NOT_ALLOWED);
        };
        if bounds.connections.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
            return empty(StatusCode::TOO_MANY_REQUESTS);
        }
        match self.door.open(&host, port, bounds.port).await {
            Ok(remote) => {
                self.tasks.spawn(async move {
                    let over = bounds.over.clone();
                    let Ok(child) = hyper::upgrade::on(request).await else { return };
                    let mut child = InspectReader::new(TokioIo::new(child), |read| {
                        bounds.count(&bounds.sent, read.len(), MAX_SENT);
                    });
                    let mut remote = InspectReader::new(remote, |read| {
                        bounds.count(&bounds.received, read.len(), bounds.max_received);
                    });
                    tokio::select! {
                        // Either side may end it at any time.
                        _ = tokio::io::copy_bidirectional(&mut child, &mut remote) => {}
                        () = over.cancelled() => {}
                    }
                });
                empty(StatusCode::OK)
            }
            Err(Closed::Refused(why)) => {
                tracing::info!(why, "a fetch is refused a connection");
                bounds.refused().push(why);
                empty(StatusCode::FORBIDDEN)
            }
            Err(Closed::Unreachable) => empty(StatusCode::BAD_GATEWAY),
        }
    }

    /// The pass that a request shows.
    fn bounds(&self, headers: &HeaderMap) -> Option<Arc<Bounds>> {
        let shown = headers.get(header::PROXY_AUTHORIZATION)?.to_str().ok()?.strip_prefix("Basic ")?;
        let shown = String::from_utf8(BASE64_STANDARD.decode(shown).ok()?).ok()?;
        let (user, secret) = shown.split_once(':')?;
        let bounds = self.passes().get(user).cloned()?;
        bool::from(bounds.secret.as_bytes().ct_eq(secret.as_bytes())).then_some(bounds)
    }
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use hyper_util::client::proxy::matcher::Matcher;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpStream, UnixStream};

    use super::*;

    fn limits(bytes: u64) -> FetchLimits {
        FetchLimits { bytes, listing_bytes: 0, ..FetchLimits::default() }
    }

    async fn proxy(hosts: &[&str]) -> Egress {
        let private_hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        Egress::start(EgressPolicy { private_hosts, ..EgressPolicy::default() }).await.unwrap()
    }

    /// What the proxy says to a request.
    async fn asked(proxy: &Proxy, authorized: bool, request: &str) -> (UnixStream, String) {
        let mut stream = UnixStream::connect(proxy.socket.as_ref().unwrap()).await.unwrap();
        let pass = BASE64_STANDARD.encode(format!("{}:{}", proxy.user, proxy.secret));
        let pass = if authorized { format!("Proxy-Authorization: Basic {pass}\r\n") } else { String::new() };
        stream.write_all(format!("{request} HTTP/1.1\r\nHost: x\r\n{pass}\r\n").as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        (stream, head.split(' ').nth(1).unwrap().to_owned())
    }

    #[tokio::test]
    async fn a_tunnel_is_for_who_has_a_pass_and_leads_where_the_policy_lets_it() {
        let (egress, server) = (proxy(&["127.0.0.1"]).await, TcpListener::bind("127.0.0.1:0").await.unwrap());
        let port = server.local_addr().unwrap().port();
        let url = RemoteUrl::local(&format!("https://127.0.0.1:{port}/a")).unwrap();
        let pass = egress.pass(&url, &limits(1000)).unwrap();
        let connect = format!("CONNECT 127.0.0.1:{port}");
        assert_eq!(asked(pass.proxy(), false, &connect).await.1, "407");
        let wrong = Proxy { secret: "0".repeat(64), ..pass.proxy().clone() };
        assert_eq!(asked(&wrong, true, &connect).await.1, "407");
        assert_eq!(asked(pass.proxy(), true, &format!("GET http://127.0.0.1:{port}/")).await.1, "405");
        for refused in [format!("127.0.0.2:{port}"), "127.0.0.1:22".to_owned(), format!("localhost:{port}")] {
            assert_eq!(asked(pass.proxy(), true, &format!("CONNECT {refused}")).await.1, "403", "{refused}");
        }
        assert_eq!(pass.refused().len(), 3);
        let (mut tunnel, status) = asked(pass.proxy(), true, &connect).await;
        assert_eq!(status, "200");
        let (mut arrived, _) = server.accept().await.unwrap();
        tunnel.write_all(b"ping").await.unwrap();
        let mut heard = [0; 4];
        arrived.read_exact(&mut heard).await.unwrap();
        arrived.write_all(b"pong").await.unwrap();
        tunnel.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"pong");
        let proxy = pass.proxy().clone();
        drop(pass);
        assert_eq!(arrived.read(&mut heard).await.unwrap_or_default(), 0, "a pass that is over ends its connections");
        assert_eq!(asked(&proxy, true, &connect).await.1, "407");
    }

    #[tokio::test]
    async fn more_bytes_or_connections_than_a_fetch_needs_end_it() {
        let (egress, server) = (proxy(&["127.0.0.1"]).await, TcpListener::bind("127.0.0.1:0").await.unwrap());
        let port = server.local_addr().unwrap().port();
        let url = RemoteUrl::local(&format!("https://127.0.0.1:{port}/a")).unwrap();
        let connect = format!("CONNECT 127.0.0.1:{port}");
        let pass = egress.pass(&url, &limits(1000)).unwrap();
        let (mut tunnel, _) = asked(pass.proxy(), true, &connect).await;
        let (mut arrived, _) = server.accept().await.unwrap();
        let sending = tokio::spawn(async move { arrived.write_all(&vec![0; 20 << 20]).await });
        let mut got = Vec::new();
        let _ = tunnel.read_to_end(&mut got).await;
        assert!(got.len() < 6 << 20, "{}", got.len());
        assert!(sending.await.unwrap().is_err());
        let pass = egress.pass(&url, &limits(1000)).unwrap();
        let mut held = Vec::new();
        for _ in 0..MAX_CONNECTIONS {
            held.push(asked(pass.proxy(), true, &connect).await);
        }
        assert_eq!(asked(pass.proxy(), true, &connect).await.1, "429");
    }

    #[tokio::test]
    async fn the_operators_own_proxy_is_the_way_out_where_one_is_named() {
        let (outer, server) = (proxy(&["127.0.0.1"]).await, TcpListener::bind("127.0.0.1:0").await.unwrap());
        let port = server.local_addr().unwrap().port();
        let url = RemoteUrl::local(&format!("https://127.0.0.1:{port}/a")).unwrap();
        let beyond = outer.pass(&url, &limits(1000)).unwrap();
        let Proxy { address, user, secret, .. } = beyond.proxy();
        let matcher =
            Matcher::builder().https(format!("http://{user}:{secret}@{address}")).no("unlisted.example").build();
        let policy = EgressPolicy { any_host: true, environment: true, ..EgressPolicy::default() };
        // A name that nobody here can look up.
        let unknown: Arc<door::Resolve> = Arc::new(|_, _| Box::pin(async { Err(io::Error::other("no such name")) }));
        let inner = Egress::with(Door::with(policy, unknown, Some(matcher)), None).await.unwrap();
        let pass = inner.pass(&url, &limits(1000)).unwrap();
        assert_eq!(asked(pass.proxy(), true, &format!("CONNECT unlisted.example:{port}")).await.1, "502");
        let (mut tunnel, status) = asked(pass.proxy(), true, &format!("CONNECT 127.0.0.1:{port}")).await;
        assert_eq!(status, "200");
        let (mut arrived, _) = server.accept().await.unwrap();
        tunnel.write_all(b"ping").await.unwrap();
        let mut heard = [0; 4];
        arrived.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"ping");
    }

    #[tokio::test]
    async fn it_is_on_the_loopback_address_only_and_ends_with_its_owner() {
        let egress = proxy(&[]).await;
        let (address, socket) = (egress.address, egress.socket.clone());
        assert!(address.ip().is_loopback());
        assert!(TcpStream::connect(address).await.is_ok());
        let shared = egress.shared.clone();
        drop(egress);
        shared.tasks.close();
        shared.tasks.wait().await;
        assert!(TcpStream::connect(address).await.is_err());
        assert!(!socket.exists());
    }
}
