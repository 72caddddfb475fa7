//! The HTTP surface: [`router`] is the table, [`serve`] runs it.

pub mod body;
pub mod challenge;
pub mod client_address;
mod connections;
mod cors;
pub mod entrance;
pub mod health;
pub mod limits;
pub mod names;
pub mod problem;
pub mod request_id;
pub mod router;
pub mod spool;
pub mod uploads;
pub mod v1;
pub mod well_known;

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

use crate::app::App;
use crate::shutdown::Shutdown;

/// How often what was only counted is written down.
const COUNTS_FLUSH: Duration = Duration::from_secs(5);

/// Serves until `shutdown`; then takes no more connections, lets requests in flight finish within the configured
/// grace, and ends what is left.
pub async fn serve(app: Arc<App>, listener: TcpListener, shutdown: Shutdown) -> std::io::Result<()> {
    let grace = Duration::from_secs(app.config.shutdown_grace_s);
    let flusher = tokio::spawn(flush_counts(app.clone(), shutdown.clone()));
    let connections = TaskTracker::new();
    let places = std::sync::Arc::new(tokio::sync::Semaphore::new(connections::MOST));
    connections::take(listener, router::router(&app), &shutdown, &connections, &places, connections::SILENCE).await;
    connections.close();
    if tokio::time::timeout(grace, connections.wait()).await.is_err() {
        tracing::warn!(grace_s = grace.as_secs(), "requests were still in flight at the end of the grace period");
    }
    // Work that outlives its connection is bounded by the audit budget; it is not abandoned halfway.
    app.work.close();
    if tokio::time::timeout(crate::audit::TOTAL_BUDGET * 2, app.work.wait()).await.is_err() {
        tracing::warn!("work was still under way when the process ended");
    }
    // Deliveries were taken until now.
    app.deliveries.flush(&app.store, &app.auditor, true).await;
    if flusher.await.is_err() {
        tracing::warn!("the counters of refusals and of use ended early");
    }
    Ok(())
}

async fn flush_counts(app: Arc<App>, shutdown: Shutdown) {
    loop {
        let ending = tokio::select! {
            () = tokio::time::sleep(COUNTS_FLUSH) => false,
            () = shutdown.begun() => true,
        };
        app.refusals.flush(&app.store).await;
        app.limits.throttled.flush(&app.auditor).await;
        app.usage.flush(&app.store).await;
        app.deliveries.flush(&app.store, &app.auditor, false).await;
        if ending {
            return;
        }
    }
}
