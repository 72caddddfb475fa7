//! `syncd serve`.

use std::sync::Arc;

use sync_store::{PoolOptions, Store};
use tokio::net::TcpListener;

use super::Failure;
use crate::app::App;
use crate::clock::SystemClock;
use crate::config::Config;
use crate::http;
use crate::shutdown::Shutdown;

/// Serves until SIGTERM or Ctrl-C.
pub(super) async fn run(mut config: Config) -> Result<(), Failure> {
    crate::log::init(&config)?;
    let options = PoolOptions { max_connections: config.database_connections, ..PoolOptions::default() };
    let store = Store::connect(config.database_url()?, options).await?;
    let listen = config.listen;
    let taken = |error: std::io::Error| {
        Failure::failed(format!("cannot listen on {listen}: {error}"), "set SYNC_LISTEN to a free address")
    };
    let listener = TcpListener::bind(listen).await.map_err(taken)?;
    config.bound_to(listener.local_addr().map_err(taken)?);
    let shutdown = Shutdown::at_signal()
        .map_err(|error| Failure::failed(format!("signals cannot be handled: {error}"), "report it"))?;
    let closing = store.clone();
    let app = App::in_process(config, store, Arc::new(SystemClock))?;
    tracing::info!(address = %app.config.listen, public_url = app.public_url, "serving");
    let ended = http::serve(app, listener, shutdown).await;
    closing.close().await;
    ended.map_err(|error| Failure::failed(format!("serving ended: {error}"), "look at the log"))
}
