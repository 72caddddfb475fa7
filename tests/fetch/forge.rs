//! A forge on the loopback address: git's own server behind TLS, and beside it whatever a hostile one would say.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use futures::stream;
use http::{Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::{CancellationToken, DropGuard};

/// What a path of the forge does beside what git does.
#[derive(Clone)]
pub(super) enum Odd {
    /// Leads elsewhere.
    Redirect(String),
    /// Answers so, and with nothing else.
    Status(u16),
    /// Answers what no git server does.
    Page(&'static str),
    /// Says nothing.
    Silent,
    /// Never ends.
    Endless(&'static str),
    /// A server of git's protocol that serves these refs and this pack.
    Serves { refs: Vec<String>, pack: Vec<u8> },
}

/// A forge with a certificate authority of its own; it ends when it is dropped.
pub(super) struct Forge {
    pub(super) port: u16,
    pub(super) folder: tempfile::TempDir,
    pub(super) heard: Arc<Mutex<Vec<Heard>>>,
    odd: Arc<Mutex<BTreeMap<String, Odd>>>,
    certificates: tempfile::NamedTempFile,
    _running: DropGuard,
}

/// A request that arrived.
#[derive(Debug, Clone)]
pub(super) struct Heard {
    pub(super) path: String,
    pub(super) authorization: Option<String>,
}

#[derive(Clone)]
struct Served {
    root: PathBuf,
    wants: Option<String>,
    heard: Arc<Mutex<Vec<Heard>>>,
    odd: Arc<Mutex<BTreeMap<String, Odd>>>,
}

impl Forge {
    /// A forge whose certificate is for `localhost`.
    pub(super) async fn start() -> Self {
        Self::named("localhost", None).await
    }

    /// A forge whose certificate is for a name, and that wants this `Authorization` of everybody.
    pub(super) async fn named(name: &str, wants: Option<&str>) -> Self {
        // Others may have installed it.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let (authority, acceptor) = identity(name);
        let certificates = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(certificates.path(), authority).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let folder = tempfile::tempdir().unwrap();
        let (heard, odd) = (Arc::default(), Arc::default());
        let served = Served {
            root: folder.path().to_owned(),
            wants: wants.map(str::to_owned),
            heard: Arc::clone(&heard),
            odd: Arc::clone(&odd),
        };
        let ended = CancellationToken::new();
        tokio::spawn(ended.clone().run_until_cancelled_owned(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, served) = (acceptor.clone(), served.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = service_fn(|request| {
                        let served = served.clone();
                        async move { Ok::<_, Infallible>(served.answer(request).await) }
                    });
                    let _ = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
                });
            }
        }));
        Self { port, folder, heard, odd, certificates, _running: ended.drop_guard() }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("https://localhost:{}/{path}", self.port)
    }

    pub(super) fn certificates(&self) -> &Path {
        self.certificates.path()
    }

    /// Has a path do something else.
    pub(super) fn odd(&self, path: &str, odd: Odd) -> String {
        self.odd.lock().unwrap().insert(format!("/{path}"), odd);
        self.url(path)
    }

    /// Serves a repository of this machine under a name.
    pub(super) fn serve(&self, repository: &Path, name: &str) -> String {
        let git = if repository.join(".git").exists() { repository.join(".git") } else { repository.to_owned() };
        std::os::unix::fs::symlink(git, self.folder.path().join(name)).unwrap();
        self.url(name)
    }
}

/// A certificate authority, and what a server has that it certifies for a name.
fn identity(name: &str) -> (String, TlsAcceptor) {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    // Who asks for this machine may do it by its address too.
    let names =
        [name].into_iter().chain((name == "localhost").then_some("127.0.0.1")).map(str::to_owned).collect::<Vec<_>>();
    let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    (authority.pem(), TlsAcceptor::from(Arc::new(config)))
}

impl Served {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let (path, header) = (request.uri().path().to_owned(), |name| request.headers().get(name).cloned());
        let authorization = header(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
        self.heard.lock().unwrap().push(Heard { path: path.clone(), authorization: authorization.clone() });
        if self.wants.is_some() && self.wants != authorization {
            let mut response = status(401);
            response.headers_mut().insert(header::WWW_AUTHENTICATE, "Basic realm=\"forge\"".parse().unwrap());
            return response;
        }
        let repository = path.trim_end_matches("/info/refs").trim_end_matches("/git-upload-pack").to_owned();
        let odd = self.odd.lock().unwrap().get(&repository).cloned();
        let rest = request.uri().path_and_query().unwrap().as_str()[repository.len()..].to_owned();
        match odd {
            None => self.backend(request).await,
            Some(Odd::Status(code)) => status(code),
            Some(Odd::Redirect(to)) => {
                let mut response = status(302);
                response.headers_mut().insert(header::LOCATION, format!("{to}{rest}").parse().unwrap());
                response
            }
            Some(Odd::Page(text)) => typed("text/html", Body::from(text)),
            Some(Odd::Silent) => std::future::pending().await,
            Some(Odd::Endless(line)) => {
                let line = Bytes::from(packet(line.as_bytes()).repeat(1000));
                let first = stream::iter([Ok::<_, Infallible>(Bytes::from(advertised()))]);
                let body = futures::StreamExt::chain(first, stream::repeat_with(move || Ok(line.clone())));
                // As the protocol before the second, which lists the refs at once.
                typed("application/x-git-upload-pack-advertisement", Body::from_stream(body))
            }
            Some(Odd::Serves { refs, pack }) => serves(request, &refs, &pack).await,
        }
    }

    /// Git's own server, as a program of the common gateway interface.
    async fn backend(&self, request: Request<Incoming>) -> Response<Body> {
        let header = |name: &str| request.headers().get(name).and_then(|it| it.to_str().ok()).unwrap_or("").to_owned();
        let mut child = tokio::process::Command::new("git")
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", &self.root)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_PROTOCOL", header("git-protocol"))
            .env("PATH_INFO", request.uri().path())
            .env("QUERY_STRING", request.uri().query().unwrap_or_default())
            .env("REQUEST_METHOD", request.method().as_str())
            .env("CONTENT_TYPE", header("content-type"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let body = axum::body::to_bytes(Body::new(request.into_body()), 16 << 20).await.unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&body).await.unwrap();
        drop(stdin);
        let output = child.wait_with_output().await.unwrap().stdout;
        let end = output.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(0);
        let mut response = Response::new(Body::from(output[(end + 4).min(output.len())..].to_vec()));
        for line in String::from_utf8_lossy(&output[..end]).lines() {
            match line.split_once(": ") {
                Some(("Status", code)) => *response.status_mut() = code[..3].parse().unwrap(),
                Some((name, value)) => {
                    let name: http::HeaderName = name.parse().unwrap();
                    response.headers_mut().insert(name, value.parse().unwrap());
                }
                None => {}
            }
        }
        response
    }
}

/// The second protocol, spoken by hand.
async fn serves(request: Request<Incoming>, refs: &[String], pack: &[u8]) -> Response<Body> {
    if request.method() == http::Method::GET {
        let mut body = [packet(b"# service=git-upload-pack\n"), b"0000".to_vec()].concat();
        for line in ["version 2\n", "agent=hostile\n", "ls-refs=unborn\n", "fetch=shallow\n", "object-format=sha1\n"] {
            body.extend(packet(line.as_bytes()));
        }
        body.extend(b"0000");
        return typed("application/x-git-upload-pack-advertisement", Body::from(body));
    }
    let asked = axum::body::to_bytes(Body::new(request.into_body()), 1 << 20).await.unwrap();
    let mut body = Vec::new();
    if asked.windows(7).any(|window| window == b"ls-refs") {
        for line in refs {
            body.extend(packet(format!("{line}\n").as_bytes()));
        }
    } else {
        body.extend(packet(b"packfile\n"));
        for part in pack.chunks(60_000) {
            body.extend(packet(&[&[1], part].concat()));
        }
    }
    body.extend(b"0000");
    typed("application/x-git-upload-pack-result", Body::from(body))
}

fn advertised() -> Vec<u8> {
    let first = format!("{} HEAD\0agent=hostile shallow symref=HEAD:refs/heads/main\n", "1".repeat(40));
    [packet(b"# service=git-upload-pack\n"), b"0000".to_vec(), packet(first.as_bytes())].concat()
}

/// A line of git's protocol.
fn packet(data: &[u8]) -> Vec<u8> {
    [format!("{:04x}", data.len() + 4).as_bytes(), data].concat()
}

fn status(code: u16) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    response
}

fn typed(kind: &str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, kind.parse().unwrap());
    response
}
