//! `syncd audit tail` and `syncd audit export`: whoever reads the log from the command line is in it too.

mod follow;

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use sync_core::clock::Clock as _;
use sync_core::ids::RequestId;
use sync_core::principal::Principal;
use sync_store::{AuditFilter, AuditOrder, LoggedEvent, Outcome, Protocol, Store};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::time::Instant;

use super::super::{Failure, say};
use super::{connect, organizations};
use crate::answers::error::AnswerError;
use crate::audit::ahead::Ahead;
use crate::audit::entry::Entry;
use crate::audit::export::{Broken, Export, Format, Sink};
use crate::audit::{Asker, AuditLedger, Auditor};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::keys::Keys;

/// What is read of the newest rows.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct TailArgs {
    /// Short name of the organization.
    #[arg(long, short, value_name = "NAME")]
    organization: String,
    /// How many rows.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    lines: u32,
    /// Go on with each row that is written from now on, until Ctrl-C. One of a call that has not ended has no outcome yet.
    #[arg(long, short)]
    follow: bool,
}

/// What is exported.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ExportArgs {
    /// Short name of the organization.
    #[arg(long, short, value_name = "NAME")]
    organization: String,
    /// How rows are written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Calls that began at this instant or later: 2026-11-30T12:00:00Z.
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    from: Option<OffsetDateTime>,
    /// Calls that began before this instant.
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    to: Option<OffsetDateTime>,
}

/// Prints the newest rows.
pub(super) async fn tail(args: &TailArgs, config: &Config) -> Result<ExitCode, Failure> {
    let reader = Reader::of(&args.organization, "audit tail", config).await?;
    let (lines, follows) = (args.lines, args.follow);
    let arguments = json!({ "lines": lines, "follow": follows });
    let read = reader.auditor.audited(&reader.asker, None, &arguments, move |reading| {
        Box::pin(async move {
            let newest = AuditOrder::NewestFirst(None);
            // What is written by transactions from here on comes when it is followed, and only then.
            let horizon = reading.tx.audit_horizon().await?;
            let filter = AuditFilter { below_xid: follows.then_some(horizon), ..AuditFilter::default() };
            let events = reading.tx.audit_events(&filter, newest, lines).await?;
            reading.rows(events.len());
            Ok((events, horizon))
        })
    });
    let events: Result<_, AnswerError> = read.await;
    let (events, horizon) = events.map_err(|error| failed(&error))?;
    events.into_iter().rev().try_for_each(print)?;
    if args.follow { follow::run(&args.organization, horizon, config).await } else { Ok(ExitCode::SUCCESS) }
}

fn print(event: LoggedEvent) -> Result<(), Failure> {
    // An entry is plain text and numbers, which always have their JSON.
    say(&serde_json::to_string(&Entry::from(event)).unwrap_or_default())
}

/// Writes the log to stdout.
pub(super) async fn export(args: &ExportArgs, config: &Config) -> Result<ExitCode, Failure> {
    let reader = Reader::of(&args.organization, "audit export", config).await?;
    let shown = |at: Option<OffsetDateTime>| at.map_or(Value::Null, |at| at.to_string().into());
    let arguments = json!({ "from": shown(args.from), "to": shown(args.to) });
    let ahead: Result<Ahead, AnswerError> = reader.auditor.ahead(&reader.asker, None, &arguments, None).await;
    let ahead = ahead.map_err(|error| failed(&error))?;
    let filter = AuditFilter { from: args.from, to: args.to, ..AuditFilter::default() };
    let mut export = Export::new(&reader.store, &reader.asker.principal, filter, args.format, Stdout);
    let result = export.run(ahead.deadline()).await;
    let (outcome, code) = match &result {
        Ok(exported) if exported.complete => (Outcome::Ok, None),
        Ok(_) => (Outcome::Timeout, Some("timeout")),
        Err(Broken::Left) => (Outcome::Error, Some("client_left")),
        Err(Broken::Store(_)) => (Outcome::Error, Some("unavailable")),
    };
    let rows = export.rows;
    let written = ahead.finish(outcome, code, Some(rows)).await;
    match result {
        Err(Broken::Store(error)) => Err(error.into()),
        Err(Broken::Left) => Err(Failure::failed("stdout was closed before the export ended", "keep it open")),
        Ok(exported) if !exported.complete => Err(Failure::failed(
            "the export was ended after four minutes",
            "go on with --from and the `last_time` of its last line",
        )),
        Ok(_) if written.is_err() => {
            Err(Failure::failed("the outcome could not be written down", "check the database; it becomes a timeout"))
        }
        Ok(_) => Ok(ExitCode::SUCCESS),
    }
}

/// Who reads from the command line.
struct Reader {
    store: Store,
    auditor: Auditor,
    asker: Asker,
}

impl Reader {
    async fn of(organization: &str, task: &'static str, config: &Config) -> Result<Self, Failure> {
        let keys = Keys::derive(config.secret_key()?);
        let store = connect(config).await?;
        let organization = organizations(&store, Some(organization)).await?;
        let [organization] = organization.as_slice() else {
            return Err(Failure::failed("there is no such organization", "check the name"));
        };
        let asker = Asker {
            principal: Arc::new(Principal::service(organization.id, task)),
            request_id: RequestId::at(SystemClock.now()),
            protocol: Protocol::Cli,
            door: if task == "audit tail" { "cli.audit_tail" } else { "cli.audit_export" },
            began: Instant::now(),
            client_ip: None,
            pinned_repository: None,
            ledger: AuditLedger::default(),
        };
        Ok(Self { auditor: Auditor::new(store.clone(), Arc::new(SystemClock), keys), store, asker })
    }
}

struct Stdout;

impl Sink for Stdout {
    async fn take(&mut self, lines: Bytes) -> Result<(), Broken> {
        std::io::stdout().write_all(&lines).map_err(|_| Broken::Left)
    }
}

fn failed(error: &AnswerError) -> Failure {
    Failure::failed(error.message.clone(), error.next_step.clone())
}

fn instant(text: &str) -> Result<OffsetDateTime, String> {
    OffsetDateTime::parse(text, &Rfc3339).map_err(|_| "an instant like 2026-11-30T12:00:00Z".to_owned())
}
