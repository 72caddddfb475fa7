//! The end of the process, told to everyone who has to know.

use tokio_util::sync::CancellationToken;

/// Says that the process is to end. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Shutdown(CancellationToken);

impl Shutdown {
    /// One that begins at SIGTERM or Ctrl-C.
    pub fn at_signal() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let shutdown = Self::default();
        let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let begun = shutdown.clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            begun.begin();
        });
        Ok(shutdown)
    }

    /// Begins the end.
    pub fn begin(&self) {
        self.0.cancel();
    }

    /// Returns once the end has begun.
    pub async fn begun(&self) {
        self.0.cancelled().await;
    }
}
