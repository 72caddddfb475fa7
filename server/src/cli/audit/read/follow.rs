//! `syncd audit tail --follow`: each row once, as it becomes final.
//!
//! Whoever follows is written down like whoever exports: ahead, and with how many rows it was in the end. One such call
//! must not last, so that following is one after the other.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use sync_store::{AuditFilter, AuditOrder, LoggedEvent, Outcome, StoreError};
use tokio::time::{Instant, sleep};

use super::{Reader, failed, print};
use crate::answers::error::AnswerError;
use crate::audit::ahead::Ahead;
use crate::cli::Failure;
use crate::config::Config;
use crate::shutdown::Shutdown;

/// How often is looked for more.
const EVERY: Duration = Duration::from_secs(1);

/// How long before its deadline a call is ended and the next one begun.
const MARGIN: Duration = Duration::from_secs(30);

/// The most rows read at a time.
const PAGE: u32 = 500;

/// Prints what transactions from `horizon` on write, until Ctrl-C or SIGTERM.
pub(super) async fn run(organization: &str, mut horizon: u64, config: &Config) -> Result<ExitCode, Failure> {
    let shutdown = Shutdown::at_signal()
        .map_err(|error| Failure::failed(format!("signals cannot be handled: {error}"), "report it"))?;
    let mut ending = false;
    while !ending {
        let reader = Reader::of(organization, "audit tail", config).await?;
        let arguments = json!({ "follow": true });
        let ahead: Result<Ahead, AnswerError> = reader.auditor.ahead(&reader.asker, None, &arguments, None).await;
        let ahead = ahead.map_err(|error| failed(&error))?;
        let until = ahead.deadline() - MARGIN;
        let mut rows = 0;
        let result = loop {
            match more(&reader, &mut horizon, &mut rows).await {
                Ok(()) => {}
                Err(failure) => break Err(failure),
            }
            if ending || Instant::now() >= until {
                break Ok(());
            }
            tokio::select! {
                () = sleep(EVERY) => {}
                () = shutdown.begun() => ending = true,
            }
        };
        let (outcome, code) = match &result {
            Ok(()) => (Outcome::Ok, None),
            Err(Stopped::Reader(_)) => (Outcome::Error, Some("client_left")),
            Err(Stopped::Store(_)) => (Outcome::Error, Some("unavailable")),
        };
        let written = ahead.finish(outcome, code, Some(rows)).await;
        reader.store.close().await;
        match result {
            Err(Stopped::Reader(failure)) => return Err(failure),
            Err(Stopped::Store(error)) => return Err(error.into()),
            Ok(()) if written.is_err() => {
                return Err(Failure::failed(
                    "the outcome could not be written down",
                    "check the database; it becomes a timeout",
                ));
            }
            Ok(()) => {}
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Why following stops.
enum Stopped {
    /// What is printed goes nowhere.
    Reader(Failure),
    /// The store cannot be asked.
    Store(StoreError),
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Prints what became final since the last time.
async fn more(reader: &Reader, horizon: &mut u64, printed: &mut u64) -> Result<(), Stopped> {
    let mut tx = reader.store.begin(&reader.asker.principal).await?;
    let next = tx.audit_horizon().await?;
    let filter = AuditFilter { from_xid: Some(*horizon), below_xid: Some(next), ..AuditFilter::default() };
    let mut after = None;
    loop {
        let page = tx.audit_events(&filter, AuditOrder::OldestFirst(after), PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some((last.time, last.event_id));
        for event in page {
            print_one(event, printed)?;
        }
    }
    tx.commit().await?;
    *horizon = next;
    Ok(())
}

fn print_one(event: LoggedEvent, printed: &mut u64) -> Result<(), Stopped> {
    print(event).map_err(Stopped::Reader)?;
    *printed += 1;
    Ok(())
}
