//! `syncd serve`.

use std::sync::Arc;

use sync_store::{PoolOptions, Store};
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

use super::Failure;
use crate::app::App;
use crate::clock::SystemClock;
use crate::config::{Config, LogFormat};
use crate::http;
use crate::shutdown::Shutdown;

/// Serves until SIGTERM or Ctrl-C.
pub(super) async fn run(mut config: Config) -> Result<(), Failure> {
    log(&config)?;
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

fn log(config: &Config) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(&config.log).map_err(|error| {
        Failure::failed(format!("configuration key `log` is no filter: {error}"), "write it like `info,rmcp=warn`")
    })?;
    let to_stderr = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match config.log_format {
        LogFormat::Text => to_stderr.init(),
        LogFormat::Json => to_stderr.json().flatten_event(true).init(),
    }
    Ok(())
}
