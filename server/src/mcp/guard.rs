//! What stands between a handler and the MCP library: a panic there would leave its request without a reply forever,
//! and so would a handler that does not come back.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;
use rmcp::ErrorData;

/// Longer than any answer takes: answers bound themselves (`audit.rs`).
const BUDGET: Duration = Duration::from_secs(3);

/// Runs a handler to its end, to its panic or to the end of its time; the latter two are internal errors.
pub async fn guarded<T>(work: impl Future<Output = Result<T, ErrorData>> + Send) -> Result<T, ErrorData> {
    guarded_for(BUDGET, work).await
}

async fn guarded_for<T>(
    budget: Duration,
    work: impl Future<Output = Result<T, ErrorData>> + Send,
) -> Result<T, ErrorData> {
    match tokio::time::timeout(budget, AssertUnwindSafe(work).catch_unwind()).await {
        Ok(Ok(result)) => result,
        Ok(Err(_panic)) => {
            tracing::error!("an MCP handler panicked");
            Err(ErrorData::internal_error("Sync failed on this request; report the X-Request-Id of the response", None))
        }
        Err(_elapsed) => {
            tracing::error!("an MCP handler did not come back in time");
            Err(ErrorData::internal_error("this request took too long; try again", None))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn neither_a_panic_nor_a_hang_is_a_request_without_a_reply() {
        let panicked: Result<(), _> = guarded(async { panic!("a defect") }).await;
        assert_eq!(panicked.unwrap_err().code.0, -32603);
        let hung: Result<(), _> = guarded_for(Duration::ZERO, std::future::pending()).await;
        assert!(hung.unwrap_err().message.contains("too long"));
    }
}
