//! `PUT /v1/sources/{source}/snapshots/{commit}`.

use axum::response::Response;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sync_core::policy::Operation;
use sync_core::text::is_commit;
use sync_store::{Outcome, Repository, RepositoryState, StoreError, Swap};
use time::Duration;

use super::audit_filter::instant;
use super::endpoint::{self, Call, Endpoint, Input, Nothing, Respond};
use super::repository_named::RepositoryNamed;
use super::source_views::deleting;
use super::words;
use crate::audit::Failure as _;
use crate::audit::ahead::Ahead;
use crate::http::problem::Problem;
use crate::http::spool::{Spooled, spool};
use crate::http::uploads::busy;
use crate::jobs::snapshot_file::SnapshotFault;
use crate::jobs::uploaded::{self, UploadFault, Uploaded};
use crate::sources::provider::not_registered;
use crate::sources::register::check_ref;

/// How far a clock may be ahead of ours.
const SKEW: Duration = Duration::minutes(10);

/// Store a snapshot that was made elsewhere.
pub(super) struct UploadSnapshot;

/// Of what.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Place {
    /// The source: its id, or its name with `%2F` for each slash.
    #[schemars(schema_with = "words::repository_named")]
    source: RepositoryNamed,
    /// The commit, in full, as the snapshot's header has it.
    #[schemars(regex(pattern = r"^([0-9a-f]{40}|[0-9a-f]{64})$"))]
    commit: String,
}

/// Where it stands in the history.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Standing {
    /// The ref whose newest commit it is; the default branch, where nothing is said.
    #[schemars(schema_with = "words::optional_ref_name")]
    r#ref: Option<String>,
    /// When the commit was made (`git show -s --format=%cI`): one that is older than what is indexed is then refused, so
    /// that runs of CI may end in any order.
    #[schemars(extend("format" = "date-time"))]
    committed_at: Option<String>,
}

/// What became of it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StoredSnapshot")]
pub(super) struct Stored {
    /// The index that answers now. The same where nothing differed.
    #[schemars(regex(pattern = r"^idx_[0-9a-f]{32}$"))]
    index_id: String,
    /// Its commit.
    commit: String,
    /// Its ref.
    r#ref: String,
    /// Files whose facts are new or changed.
    changed_files: u64,
    /// Files that are gone.
    removed_files: u64,
    /// Calls that reach, or may reach, a vendor.
    call_sites: u64,
}

impl Endpoint for UploadSnapshot {
    const OPERATION: Operation = Operation::UploadSnapshot;
    const METHOD: Method = Method::PUT;
    const PATH: &'static str = "/v1/sources/{source}/snapshots/{commit}";
    const TAG: &'static str = "snapshots";
    const SUMMARY: &'static str = "Store a snapshot that was made elsewhere";
    const DESCRIPTION: &'static str = "The body is what `sync-ingest index` wrote, plain or compressed with zstd, of at most 256 MiB: facts, and nothing of the code. It is checked line by line (an error names the line) and stored as a whole or not at all. A branch that Sync fetches itself keeps what was fetched: there only the commit that is indexed is taken, and changes nothing. 201 where the index is another now; 200 where nothing differed. The same upload may be sent any number of times. A snapshot claims `static` bindings, and is refused where it claims more.";
    const SUBJECT: &'static str = "source";
    const SUCCESS: StatusCode = StatusCode::CREATED;
    const ALSO: Option<StatusCode> = Some(StatusCode::OK);
    const UPLOADS: &'static [&'static str] = &["application/x-ndjson", "application/zstd"];
    fn absent() -> Problem {
        not_registered()
    }
    type Path = Place;
    type Query = Standing;
    type Body = Nothing;
    type Output = Stored;
}

impl Respond for UploadSnapshot {
    async fn respond(call: &Call, input: Input<Self>) -> Result<Response, Problem> {
        let Standing { r#ref, committed_at } = &input.query;
        if let Some(name) = r#ref {
            check_ref("ref", name)?;
        }
        if !is_commit(&input.path.commit) {
            return Err(Problem::invalid_argument("commit", "a commit's id in full, in lower-case hexadecimal"));
        }
        let committed_at = instant("committed_at", committed_at.as_deref())?;
        // A commit of the future would keep out all that come after it.
        if committed_at.is_some_and(|at| at > call.app.clock.now() + SKEW) {
            return Err(Problem::invalid_argument("committed_at", "an instant that has been"));
        }
        let source = source(call, &input.path.source).await?;
        let ref_name = r#ref.clone().unwrap_or_else(|| source.default_branch.clone());
        let arguments = json!({"commit": input.path.commit, "ref": ref_name});
        let about = (source.id, source.name.clone());
        let ahead: Result<Ahead, Problem> = call.app.auditor.ahead(&call.asker, None, &arguments, Some(about)).await;
        let ahead = ahead?;
        let deadline = ahead.deadline();
        let done = async {
            let (uploads, organization) = (&call.app.uploads, call.principal().organization);
            let Spooled { file, place } = spool(input.stream, uploads.place(organization)?).await?;
            // Those that wait hold no connection to the database meanwhile.
            let turn = tokio::time::timeout_at(deadline, uploads.turn(organization)).await.map_err(|_| busy())?;
            let uploaded =
                Uploaded { file, repository: source.id, ref_name: &ref_name, commit: &input.path.commit, committed_at };
            let stored = tokio::time::timeout_at(deadline, store(call, uploaded)).await;
            drop((place, turn));
            stored.unwrap_or_else(|_elapsed| Err(Problem::unavailable()))
        };
        let done = done.await;
        let (outcome, code, rows) = match &done {
            Ok(swap) => (Outcome::Ok, None, Some(swap.changed_files)),
            Err(problem) => (problem.outcome(), Some(problem.code), None),
        };
        // Where that cannot be written down, the log has the event without an outcome, which becomes a timeout.
        let _ = ahead.finish(outcome, code, rows).await;
        let swap = done?;
        let status = if swap.confirmed { StatusCode::OK } else { StatusCode::CREATED };
        let output = Stored {
            index_id: swap.index.id.to_string(),
            commit: input.path.commit,
            r#ref: ref_name,
            changed_files: swap.changed_files,
            removed_files: swap.removed_files,
            call_sites: swap.index.counts.call_sites,
        };
        Ok(endpoint::said(status, endpoint::body::<Self>(&output)?))
    }
}

/// The source, where the caller may see it.
async fn source(call: &Call, named: &RepositoryNamed) -> Result<Repository, Problem> {
    let mut tx = call.app.store.begin(call.principal()).await?;
    let source = named.find(&mut tx).await?;
    tx.commit().await?;
    let source = source.ok_or_else(not_registered)?;
    if source.state == RepositoryState::Deleting { Err(deleting()) } else { Ok(source) }
}

async fn store(call: &Call, uploaded: Uploaded<'_>) -> Result<Swap, Problem> {
    let mut tx = call.app.store.begin_write(call.principal()).await?;
    let swap = uploaded::store(&mut tx, uploaded, call.app.clock.now()).await.map_err(problem)?;
    tx.commit().await?;
    Ok(swap)
}

fn problem(fault: UploadFault) -> Problem {
    let what = fault.to_string();
    let unsound =
        |next: &str| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_snapshot", sentence(&what), next);
    match fault {
        UploadFault::Snapshot(SnapshotFault::Unsound(error)) => unsound(&sentence(error.next_step())),
        UploadFault::OtherCommit { .. } => unsound("Send it under the commit that its header names."),
        UploadFault::Fetched { .. } => Problem::conflict(
            "source_is_fetched",
            sentence(&what),
            "Nothing has to be sent for it: POST /v1/sources/{source}/refresh has it looked at now. To answer from uploads instead, PATCH /v1/sources/{source} with {\"gate\": \"off\"}: then nothing is fetched.",
        ),
        UploadFault::Deleting => deleting(),
        UploadFault::Older { .. } => Problem::conflict(
            "newer_indexed",
            sentence(&what),
            "Nothing has to be done; leave out committed_at to go back to the older commit on purpose.",
        ),
        UploadFault::Snapshot(SnapshotFault::Store(StoreError::Refused(what))) => {
            let (what, next) = what.split_once("; next: ").unwrap_or((&what, "Write the snapshot anew"));
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_snapshot", sentence(what), sentence(next))
        }
        UploadFault::Snapshot(SnapshotFault::Store(error)) => error.into(),
        UploadFault::Snapshot(SnapshotFault::Reader) => Problem::internal(),
    }
}

/// A text as a sentence.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}
