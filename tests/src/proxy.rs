//! Between the service and its database: cuts every connection, or lets nothing through, and then goes on.

use std::sync::{Arc, Mutex, PoisonError};

use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use url::Url;

/// What is done with what comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Passed on.
    Open,
    /// Connections are closed, and new ones at once.
    Cut,
    /// Nothing is passed on, and nothing closed: the network has gone silent.
    Silent,
}

/// A proxy in front of a test's database.
pub struct Proxy {
    /// The database's address through it.
    pub url: String,
    mode: watch::Sender<Mode>,
    connections: Arc<Mutex<JoinSet<()>>>,
}

impl Proxy {
    /// In front of a database at `url`, a socket or an address.
    pub async fn before(url: &str) -> std::io::Result<Self> {
        let target: PgConnectOptions = url.parse().map_err(std::io::Error::other)?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let mut through: Url = url.parse().map_err(std::io::Error::other)?;
        through.set_query(None);
        let set = through.set_host(Some("127.0.0.1")).is_ok()
            && through.set_port(Some(listener.local_addr()?.port())).is_ok();
        debug_assert!(set, "an address of Postgres has a host and a port");
        let (mode, watched) = watch::channel(Mode::Open);
        let connections: Arc<Mutex<JoinSet<()>>> = Arc::default();
        let taken = connections.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (target, mode) = (target.clone(), watched.clone());
                taken.lock().unwrap_or_else(PoisonError::into_inner).spawn(serve(client, target, mode));
            }
        });
        Ok(Self { url: through.into(), mode, connections })
    }

    /// Closes every connection, and new ones as they come.
    pub fn cut(&self) {
        self.mode.send_replace(Mode::Cut);
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }

    /// Lets nothing through any more.
    pub fn silence(&self) {
        self.mode.send_replace(Mode::Silent);
    }

    /// Goes on; what was held back is passed on.
    pub fn restore(&self) {
        self.mode.send_replace(Mode::Open);
    }
}

async fn serve(client: TcpStream, target: PgConnectOptions, mode: watch::Receiver<Mode>) {
    if *mode.borrow() == Mode::Cut {
        return;
    }
    let (from_client, to_client) = client.into_split();
    if let Some(folder) = target.get_socket() {
        let path = folder.join(format!(".s.PGSQL.{}", target.get_port()));
        let Ok(server) = UnixStream::connect(path).await else { return };
        let (from_server, to_server) = server.into_split();
        both(from_client, to_server, from_server, to_client, mode).await;
    } else {
        let Ok(server) = TcpStream::connect((target.get_host(), target.get_port())).await else { return };
        let (from_server, to_server) = server.into_split();
        both(from_client, to_server, from_server, to_client, mode).await;
    }
}

async fn both(
    from_client: impl AsyncRead + Unpin,
    to_server: impl AsyncWrite + Unpin,
    from_server: impl AsyncRead + Unpin,
    to_client: impl AsyncWrite + Unpin,
    mode: watch::Receiver<Mode>,
) {
    tokio::select! {
        () = pass_on(from_client, to_server, mode.clone()) => {}
        () = pass_on(from_server, to_client, mode) => {}
    }
}

async fn pass_on(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, mut mode: watch::Receiver<Mode>) {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let Ok(count @ 1..) = from.read(&mut bytes).await else { return };
        if mode.wait_for(|mode| *mode != Mode::Silent).await.is_err() || to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
