//! Sources, their jobs and webhooks as `/v1` shows them, and how one is found.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sync_core::clock::millis;
use sync_core::ids::{JobId, RepositoryId, WebhookId};
use sync_ingest::reason::Reason;
use sync_store::{
    Forge, Gate, Index, Job, RefRow, Repository, RepositoryState, SOURCE_IS_BUSY, SecretPurpose, StoreError,
    WebhookEndpoint,
};
use time::OffsetDateTime;

use super::endpoint::Call;
use super::repository_named::RepositoryNamed;
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;
use crate::sources::provider::{not_consented, not_registered};
use crate::sources::refresh::CannotRefresh;
use crate::sources::register::Unfit;
use crate::webhooks::EndpointAddress;

/// How many of its last jobs a source is shown with.
const JOBS: u32 = 10;

/// Which source, in a path.
#[derive(Deserialize, JsonSchema)]
pub(super) struct SourcePath {
    /// Its id, or its name with `%2F` for each slash.
    #[schemars(schema_with = "words::repository_named")]
    pub(super) source: RepositoryNamed,
}

/// Which job, in a path.
#[derive(Deserialize, JsonSchema)]
pub(super) struct JobPath {
    /// Its id.
    #[schemars(schema_with = "words::job_id")]
    pub(super) job: JobId,
}

/// A word of a gate as it is sent; its schema is `words::gate`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum GateWord {
    Auto,
    On,
    Off,
}

impl From<GateWord> for Gate {
    fn from(word: GateWord) -> Self {
        match word {
            GateWord::Auto => Self::Auto,
            GateWord::On => Self::On,
            GateWord::Off => Self::Off,
        }
    }
}

/// A forge as it is sent; its schema is `words::forge`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ForgeWord {
    Github,
    Gitlab,
    Gitea,
    Forgejo,
    Bitbucket,
}

impl From<ForgeWord> for Forge {
    fn from(word: ForgeWord) -> Self {
        match word {
            ForgeWord::Github => Self::Github,
            ForgeWord::Gitlab => Self::Gitlab,
            ForgeWord::Gitea => Self::Gitea,
            ForgeWord::Forgejo => Self::Forgejo,
            ForgeWord::Bitbucket => Self::Bitbucket,
        }
    }
}

/// A source: a repository that is registered once and then follows its code.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Source")]
pub(super) struct SourceView {
    /// Its id.
    #[schemars(schema_with = "words::repository_id")]
    pub(super) id: RepositoryId,
    /// Its name, unique in the organization; what tools take as `repository`.
    #[schemars(schema_with = "words::repository_name")]
    name: String,
    /// Whose forge it lies at; null where nobody said it.
    provider: Option<String>,
    /// Where it is cloned from; null where its snapshots are brought.
    #[schemars(schema_with = "words::known_clone_url")]
    clone_url: Option<String>,
    /// The branch that answers where none is named; `HEAD` until the first run learned the remote's.
    default_branch: String,
    /// Patterns of further branches that are followed.
    tracked_refs: Vec<String>,
    /// Whether it is indexed at all: `auto` unless nobody can have meant to.
    #[schemars(schema_with = "words::gate")]
    gate: String,
    /// Who allowed to fetch its code, and when; null: nobody, so that nothing is fetched.
    egress_consent: Option<ConsentView>,
    /// What indexing is doing. An older index still answers where it is `gated` or `failed`.
    #[schemars(schema_with = "words::source_state")]
    state: String,
    /// Why, where that needs saying.
    state_reason: Option<String>,
    /// Since when.
    #[serde(with = "millis")]
    #[schemars(schema_with = "words::instant")]
    state_at: OffsetDateTime,
}

/// Who allowed to fetch a source's code.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "EgressConsent")]
pub(super) struct ConsentView {
    /// Name of who did.
    by: String,
    /// When.
    #[serde(with = "millis")]
    #[schemars(schema_with = "words::instant")]
    at: OffsetDateTime,
}

impl SourceView {
    /// Where it stands in a list.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl From<Repository> for SourceView {
    fn from(row: Repository) -> Self {
        Self {
            id: row.id,
            name: row.name,
            provider: row.provider,
            clone_url: row.clone_url,
            default_branch: row.default_branch,
            tracked_refs: row.settings.tracked_refs,
            gate: row.settings.gate.as_str().to_owned(),
            egress_consent: row.egress_consent.map(|(at, by)| ConsentView { by, at }),
            state: row.state.as_str().to_owned(),
            state_reason: row.state_reason,
            state_at: row.state_at,
        }
    }
}

/// A source with all that is known of how it is.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SourceStatus")]
pub(super) struct SourceStatus {
    /// The source itself.
    #[serde(flatten)]
    pub(super) source: SourceView,
    /// Since when a credential is stored; null where there is none.
    #[serde(with = "millis::option")]
    #[schemars(schema_with = "words::optional_instant")]
    credential_set_at: Option<OffsetDateTime>,
    /// The refs that are kept, by name.
    refs: Vec<RefView>,
    /// Why the index of the default branch is not whole; empty where it is.
    partial_reasons: Vec<PartialView>,
    /// The last jobs, the newest first, at most 10.
    jobs: Vec<JobView>,
    /// Where its forge sends word; null where nothing is set up.
    webhook: Option<WebhookView>,
}

/// A ref that is kept.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SourceRef")]
pub(super) struct RefView {
    /// Its name, as tools take `ref`.
    name: String,
    /// Why it is kept.
    #[schemars(schema_with = "words::ref_origin")]
    origin: String,
    /// The commit that is indexed; null where none is.
    commit: Option<String>,
    /// When that commit was made, as it says itself.
    #[serde(with = "millis::option")]
    #[schemars(schema_with = "words::optional_instant")]
    committed_at: Option<OffsetDateTime>,
    /// When it was last stored or confirmed.
    #[serde(with = "millis::option")]
    #[schemars(schema_with = "words::optional_instant")]
    indexed_at: Option<OffsetDateTime>,
    /// A newer head, when one is known.
    head_commit: Option<String>,
    /// From when on it is not kept; null: as long as the source follows it.
    #[serde(with = "millis::option")]
    #[schemars(schema_with = "words::optional_instant")]
    expires_at: Option<OffsetDateTime>,
}

impl From<RefRow> for RefView {
    fn from(row: RefRow) -> Self {
        Self {
            name: row.name,
            origin: row.origin.as_str().to_owned(),
            commit: row.commit,
            committed_at: row.committed_at,
            indexed_at: row.indexed_at,
            head_commit: row.head_commit,
            expires_at: row.expires_at,
        }
    }
}

/// One reason for which an index is not whole.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SourcePartialReason")]
pub(super) struct PartialView {
    /// `too_large`, `parse_timeout`, ….
    reason: String,
    /// How many files.
    count: u64,
    /// Some of them.
    files: Vec<String>,
    /// The limit that was met.
    limit: Option<String>,
    /// What to do about it.
    next_step: Option<String>,
}

fn partial_reasons(index: Option<Index>) -> Vec<PartialView> {
    let reasons = index.map(|index| index.partial_reasons).unwrap_or_default();
    let view = |reason: sync_core::graph::PartialReason| PartialView {
        next_step: Reason::of(&reason.reason).map(|known| known.about().next.to_owned()),
        reason: reason.reason,
        count: reason.count,
        files: reason.files,
        limit: reason.limit,
    };
    reasons.into_iter().map(view).collect()
}

/// A job: asked for, waiting, running, ended.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Job")]
pub(super) struct JobView {
    /// Its id.
    #[schemars(schema_with = "words::job_id")]
    pub(super) id: JobId,
    /// Of which source.
    #[schemars(schema_with = "words::repository_id")]
    source: RepositoryId,
    /// What it does.
    #[schemars(schema_with = "words::job_kind")]
    kind: String,
    /// Which ref; null where the whole source is meant.
    r#ref: Option<String>,
    /// Why it was asked for; of several, the most urgent.
    #[schemars(schema_with = "words::job_cause")]
    cause: String,
    /// How often it was asked for while it waited.
    requests: u32,
    /// What it is doing. A `dead` one was given up: see `reason` and `next_step`.
    #[schemars(schema_with = "words::job_state")]
    state: String,
    /// Runs that were begun.
    attempts: u32,
    /// Why the last run did not end well.
    reason: Option<String>,
    /// What to do about it.
    next_step: Option<String>,
    /// When it was asked for first.
    #[serde(with = "millis")]
    #[schemars(schema_with = "words::instant")]
    enqueued_at: OffsetDateTime,
    /// From when on it may run.
    #[serde(with = "millis")]
    #[schemars(schema_with = "words::instant")]
    run_at: OffsetDateTime,
    /// When the last run began.
    #[serde(with = "millis::option")]
    #[schemars(schema_with = "words::optional_instant")]
    started_at: Option<OffsetDateTime>,
    /// When it ended for good.
    #[serde(with = "millis::option")]
    #[schemars(schema_with = "words::optional_instant")]
    ended_at: Option<OffsetDateTime>,
    /// Milliseconds of the last run, by phase.
    timings_ms: BTreeMap<String, u64>,
    /// What it did, once it is done.
    result: Option<Value>,
}

impl From<Job> for JobView {
    fn from(row: Job) -> Self {
        Self {
            id: row.id,
            source: row.repository,
            kind: row.kind.as_str().to_owned(),
            r#ref: row.ref_name,
            cause: row.cause.as_str().to_owned(),
            requests: row.requests,
            state: row.state.as_str().to_owned(),
            attempts: row.attempts,
            reason: row.reason,
            next_step: row.next_step,
            enqueued_at: row.enqueued_at,
            run_at: row.run_at,
            started_at: row.started_at,
            ended_at: row.ended_at,
            timings_ms: row.timings,
            result: row.result,
        }
    }
}

/// Where a forge sends word of what happens to a source.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Webhook")]
pub(super) struct WebhookView {
    /// Its id; what the audit log calls the credential of its deliveries.
    #[schemars(schema_with = "words::webhook_id")]
    pub(super) id: WebhookId,
    /// Which forge delivers, and so how deliveries are signed.
    #[schemars(schema_with = "words::forge")]
    provider: String,
    /// The address that the forge posts to.
    url: String,
    /// Since when it is.
    #[serde(with = "millis")]
    #[schemars(schema_with = "words::instant")]
    created_at: OffsetDateTime,
    /// Until when the secret before the present one is taken too.
    #[serde(with = "millis::option")]
    #[schemars(schema_with = "words::optional_instant")]
    previous_secret_until: Option<OffsetDateTime>,
    /// When a delivery with a good signature came last; null: none yet.
    #[serde(with = "millis::option")]
    #[schemars(schema_with = "words::optional_instant")]
    last_delivery_at: Option<OffsetDateTime>,
    /// What it said: `push`, `ping`, ….
    last_event: Option<String>,
    /// What is wrong with the deliveries, as of the last one; null: nothing.
    last_problem: Option<String>,
}

impl WebhookView {
    /// Of an endpoint, as callers reach it.
    pub(super) fn of(call: &Call, row: WebhookEndpoint) -> Self {
        let address = EndpointAddress { organization: call.principal().organization, id: row.id };
        Self {
            id: row.id,
            provider: row.forge.as_str().to_owned(),
            url: address.url(&call.app.public_url, row.forge),
            created_at: row.created_at,
            previous_secret_until: row.previous_until,
            last_delivery_at: row.last_delivery_at,
            last_event: row.last_event,
            last_problem: row.last_problem,
        }
    }
}

/// The source of that id, where the caller may see it; the answer is about it.
pub(super) async fn found(reading: &mut Reading, named: &RepositoryNamed) -> Result<Repository, Problem> {
    let source = named.find(&mut reading.tx).await?.ok_or_else(not_registered)?;
    reading.about(source.id, &source.name);
    Ok(source)
}

/// The same where something is to be put beside it: not while it is being erased.
pub(super) async fn lasting(reading: &mut Reading, named: &RepositoryNamed) -> Result<Repository, Problem> {
    let source = found(reading, named).await?;
    if source.state == RepositoryState::Deleting { Err(deleting()) } else { Ok(source) }
}

/// The same where what is said of it is to be changed: not while an index of it is being stored, either.
pub(super) async fn changeable(reading: &mut Reading, named: &RepositoryNamed) -> Result<Repository, Problem> {
    let source = locked(reading, named).await?;
    if source.state == RepositoryState::Deleting { Err(deleting()) } else { Ok(source) }
}

/// The source of that id, which nobody else changes until the answer is made.
pub(super) async fn locked(reading: &mut Reading, named: &RepositoryNamed) -> Result<Repository, Problem> {
    let source = found(reading, named).await?;
    reading.tx.lock_source(source.id).await.map_err(|error| match error {
        StoreError::Conflict(rule) if rule == SOURCE_IS_BUSY => busy(),
        StoreError::NotFound(_) => not_registered(),
        error => error.into(),
    })?;
    // As it is now: who had it locked may have changed it.
    found(reading, &RepositoryNamed::Id(source.id)).await
}

/// An index of it is being stored.
fn busy() -> Problem {
    Problem {
        retry_after_s: Some(5),
        ..Problem::conflict(
            "source_is_busy",
            "An index of this source is being stored just now, so that nothing was changed.",
            "Ask again in some seconds; GET /v1/sources/{source} shows the job, if it is one of a worker.",
        )
    }
}

/// All that is known of a source, as it is now.
pub(super) async fn status(
    call: &Call,
    reading: &mut Reading,
    named: &RepositoryNamed,
) -> Result<SourceStatus, Problem> {
    let source = found(reading, named).await?;
    let id = source.id;
    let purpose = SecretPurpose::RepositoryCredential;
    let credential_set_at = reading.tx.secret_changed_at(purpose, &id.to_string()).await?;
    let refs = reading.tx.refs(id).await?.into_iter().map(RefView::from).collect();
    let index = reading.tx.current_index(id, &source.default_branch).await?;
    let jobs = reading.tx.jobs_of(id, JOBS).await?.into_iter().map(JobView::from).collect();
    let webhook = reading.tx.webhook_of(id).await?.map(|row| WebhookView::of(call, row));
    reading.rows(1);
    Ok(SourceStatus {
        source: source.into(),
        credential_set_at,
        refs,
        partial_reasons: partial_reasons(index),
        jobs,
        webhook,
    })
}

/// A job that was just asked for.
pub(super) async fn asked_job(reading: &mut Reading, id: JobId) -> Result<JobView, Problem> {
    reading.rows(1);
    reading.tx.job(id).await?.map(JobView::from).ok_or_else(Problem::internal)
}

/// It is being erased.
pub(super) fn deleting() -> Problem {
    Problem::conflict(
        "source_is_deleting",
        "The source is being erased.",
        "Wait until its job has ended (GET /v1/jobs/{job}), then register it anew.",
    )
}

impl From<Unfit> for Problem {
    fn from(unfit: Unfit) -> Self {
        Self::new(
            http::StatusCode::UNPROCESSABLE_ENTITY,
            "invalid_argument",
            format!("`{}` cannot be taken: {}.", unfit.argument, unfit.reason.trim_end_matches('.')),
            unfit.next_step,
        )
    }
}

impl From<CannotRefresh> for Problem {
    fn from(error: CannotRefresh) -> Self {
        match error {
            CannotRefresh::NotConsented => not_consented(),
            CannotRefresh::Deleting => deleting(),
            CannotRefresh::Gated => Self::conflict(
                "source_is_gated",
                "The source's gate is off, so that it is not indexed.",
                "PATCH /v1/sources/{source} with {\"gate\": \"auto\"} first.",
            ),
            CannotRefresh::TooManyRefs => Self::conflict(
                "too_many_refs",
                format!(
                    "As many refs of the source as may be are kept because they were asked for: {}.",
                    crate::sources::refresh::MAX_REQUESTED
                ),
                "Follow branches by a pattern (tracked_refs), or wait until one of the others expires.",
            ),
            CannotRefresh::Store(StoreError::Conflict(rule)) if rule == "source_is_deleting" => deleting(),
            CannotRefresh::Store(error) => error.into(),
        }
    }
}
