//! What people see of jobs: asked for, waiting, running, ended. The queue that workers take from is in `job_tickets.rs`;
//! both are written in one transaction, always.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use sync_core::ids::{JobId, RepositoryId};
use time::OffsetDateTime;

use sqlx::FromRow;
use uuid::Uuid;

use crate::convert::{self, small};
use crate::error::StoreError;
use crate::tx::Tx;

/// The channel that says, with nothing in it, that a job waits.
pub(crate) const CHANNEL: &str = "sync_jobs";

/// What a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobKind {
    /// Brings the index of one ref up to its head.
    Reindex,
    /// Removes a source with all that is known of it.
    Erase,
}

impl JobKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Reindex, Self::Erase];

    /// The word used in rows and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reindex => "reindex",
            Self::Erase => "erase",
        }
    }
}

/// Why a job was asked for. Whoever waits for an answer goes before what nobody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobCause {
    /// Somebody asked.
    Person,
    /// The source is new.
    Registration,
    /// A forge said that something was pushed.
    Webhook,
    /// The remote was looked at, and is further.
    Sweep,
}

impl JobCause {
    /// Every cause.
    pub const ALL: [Self; 4] = [Self::Person, Self::Registration, Self::Webhook, Self::Sweep];

    /// The word used in rows and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Registration => "registration",
            Self::Webhook => "webhook",
            Self::Sweep => "sweep",
        }
    }

    /// From 0, which goes first, to 9.
    pub const fn priority(self) -> i16 {
        match self {
            Self::Person => 0,
            Self::Registration => 2,
            Self::Webhook => 4,
            Self::Sweep => 9,
        }
    }
}

/// What a job is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobState {
    /// It waits: for a worker, or for the time of its next try.
    Queued,
    /// A worker has it.
    Running,
    /// It ended well.
    Done,
    /// It was given up; the reason and the next step are there.
    Dead,
    /// It was taken back, or a newer request took its place.
    Cancelled,
}

impl JobState {
    /// Every state.
    pub const ALL: [Self; 5] = [Self::Queued, Self::Running, Self::Done, Self::Dead, Self::Cancelled];

    /// The word used in rows and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A job to ask for.
#[derive(Debug, Clone, PartialEq)]
pub struct NewJob<'a> {
    /// Its id, unless one waits already.
    pub id: JobId,
    /// Of which source.
    pub repository: RepositoryId,
    /// What it does.
    pub kind: JobKind,
    /// Which ref; absent for the default branch, and where the whole source is meant.
    pub ref_name: Option<&'a str>,
    /// Why.
    pub cause: JobCause,
    /// What else it has to know; replaces that of the one that waits.
    pub payload: &'a Value,
    /// Not before then.
    pub run_at: OffsetDateTime,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enqueued {
    /// The job that will do it.
    pub id: JobId,
    /// Whether it waited already, so that none was added.
    pub merged: bool,
}

/// A job as people see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// Of which source.
    pub repository: RepositoryId,
    /// What it does.
    pub kind: JobKind,
    /// Which ref; absent where the whole source is meant.
    pub ref_name: Option<String>,
    /// The most urgent one why it was asked for.
    pub cause: JobCause,
    /// How often it was asked for.
    pub requests: u32,
    /// What the last request told it.
    pub payload: Value,
    /// What it is doing.
    pub state: JobState,
    /// Runs that were begun.
    pub attempts: u32,
    /// Why the last run did not end well.
    pub reason: Option<String>,
    /// What to do about it.
    pub next_step: Option<String>,
    /// When it was asked for first.
    pub enqueued_at: OffsetDateTime,
    /// From when on it may run.
    pub run_at: OffsetDateTime,
    /// When the last run began.
    pub started_at: Option<OffsetDateTime>,
    /// When it ended for good.
    pub ended_at: Option<OffsetDateTime>,
    /// Milliseconds of the last run, by phase.
    pub timings: BTreeMap<String, u64>,
    /// What it did.
    pub result: Option<Value>,
}

/// Columns of [`JobColumns`], before a WHERE.
macro_rules! select_job {
    ($rest:literal) => {
        concat!(
            "SELECT j.id, j.repository_id, j.kind, j.ref_name, j.cause, j.requests, j.payload::text AS payload, j.state,
                    j.attempts, j.reason, j.next_step, j.enqueued_at, j.run_at, j.started_at, j.ended_at,
                    j.timings::text AS timings, j.result::text AS result
             FROM sync.jobs j ",
            $rest
        )
    };
}

impl Tx {
    /// Asks for a job, in the caller's transaction: it is queued when and only when that commits. One that waits already
    /// for the same source, kind and ref takes the request on, with the earlier time and the better priority of the two;
    /// one that runs does not. Idle workers are told at commit.
    ///
    /// [`StoreError::NotFound`] where there is no such source to be read; [`StoreError::Conflict`] `source_is_deleting`
    /// where it is being erased.
    pub async fn enqueue(&mut self, job: &NewJob<'_>, now: OffsetDateTime) -> Result<Enqueued, StoreError> {
        let default_branch = self.lock_for_job(job).await?;
        let ref_name = match job.kind {
            JobKind::Reindex => Some(job.ref_name.unwrap_or(&default_branch)),
            JobKind::Erase => None,
        };
        let key = key(self.organization().uuid(), job.repository.uuid(), job.kind, ref_name);
        // Two requests at a time meet at the index, and the second waits for the first to commit or not to.
        let (id, merged): (Uuid, bool) = sqlx::query_as(
            "INSERT INTO routing.job_tickets AS t
                 (id, kind, priority, run_at, state, serial_key, dedupe_key, enqueued_at)
             VALUES ($1, $2, $3, $4, 'waiting', $5, $5, $6)
             ON CONFLICT (dedupe_key) WHERE state = 'waiting'
             DO UPDATE SET priority = least(t.priority, excluded.priority), run_at = least(t.run_at, excluded.run_at)
             RETURNING t.id, t.id <> $1",
        )
        .bind(job.id.uuid())
        .bind(job.kind.as_str())
        .bind(job.cause.priority())
        .bind(job.run_at)
        .bind(&key[..])
        .bind(now)
        .fetch_one(self.connection())
        .await?;
        let id = JobId::from_uuid(id);
        if merged {
            self.merge_job(id, job).await?;
        } else {
            self.insert_job(job, ref_name, now).await?;
        }
        sqlx::query("SELECT pg_notify($1, '')").bind(CHANNEL).execute(self.connection()).await?;
        Ok(Enqueued { id, merged })
    }

    /// The source's default branch; the source is not erased while this transaction lasts.
    async fn lock_for_job(&mut self, job: &NewJob<'_>) -> Result<String, StoreError> {
        let readable = self.readable_ids();
        let row: Option<(String, String)> = sqlx::query_as(
            "SELECT default_branch, state FROM sync.repositories
             WHERE id = $1 AND ($2::uuid[] IS NULL OR id = ANY ($2)) FOR KEY SHARE",
        )
        .bind(job.repository.uuid())
        .bind(readable)
        .fetch_optional(self.connection())
        .await?;
        match row {
            None => Err(StoreError::NotFound(format!("repository {}", job.repository))),
            Some((_, state)) if state == "deleting" && job.kind != JobKind::Erase => {
                Err(StoreError::Conflict("source_is_deleting".to_owned()))
            }
            Some((default_branch, _)) => Ok(default_branch),
        }
    }

    async fn insert_job(
        &mut self,
        job: &NewJob<'_>,
        ref_name: Option<&str>,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO sync.jobs (id, repository_id, kind, ref_name, cause, payload, state, enqueued_at, run_at)
             VALUES ($1, $2, $3, $4, $5, $6::json, 'queued', $7, $8)",
        )
        .bind(job.id.uuid())
        .bind(job.repository.uuid())
        .bind(job.kind.as_str())
        .bind(ref_name)
        .bind(job.cause.as_str())
        .bind(job.payload.to_string())
        .bind(now)
        .bind(job.run_at)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    async fn merge_job(&mut self, id: JobId, job: &NewJob<'_>) -> Result<(), StoreError> {
        let more_urgent: Vec<&str> = JobCause::ALL
            .into_iter()
            .filter(|cause| cause.priority() < job.cause.priority())
            .map(JobCause::as_str)
            .collect();
        sqlx::query(
            "UPDATE sync.jobs SET requests = requests + 1, payload = $2::json, run_at = least(run_at, $3),
                                  cause = CASE WHEN cause = ANY ($5) THEN cause ELSE $4 END
             WHERE id = $1",
        )
        .bind(id.uuid())
        .bind(job.payload.to_string())
        .bind(job.run_at)
        .bind(job.cause.as_str())
        .bind(more_urgent)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// One job, if its source may be read.
    pub async fn job(&mut self, id: JobId) -> Result<Option<Job>, StoreError> {
        let readable = self.readable_ids();
        sqlx::query_as(select_job!("WHERE j.id = $1 AND ($2::uuid[] IS NULL OR j.repository_id = ANY ($2))"))
            .bind(id.uuid())
            .bind(readable)
            .fetch_optional(self.connection())
            .await?
            .map(JobColumns::read)
            .transpose()
    }

    /// The last jobs of a source, the newest first, at most `limit`.
    pub async fn jobs_of(&mut self, repository: RepositoryId, limit: u32) -> Result<Vec<Job>, StoreError> {
        let readable = self.readable_ids();
        let rows: Vec<JobColumns> = sqlx::query_as(select_job!(
            "WHERE j.repository_id = $1 AND ($2::uuid[] IS NULL OR j.repository_id = ANY ($2))
             ORDER BY j.enqueued_at DESC, j.id DESC LIMIT $3"
        ))
        .bind(repository.uuid())
        .bind(readable)
        .bind(i64::from(limit))
        .fetch_all(self.connection())
        .await?;
        rows.into_iter().map(JobColumns::read).collect()
    }

    /// Takes a job back; whether it had not ended yet. The worker that has it learns so with its next heartbeat, ends
    /// what it runs, and writes nothing. [`StoreError::NotFound`] where there is no such job to be read.
    pub async fn cancel_job(&mut self, id: JobId, now: OffsetDateTime) -> Result<bool, StoreError> {
        let Some(job) = self.job(id).await? else { return Err(StoreError::NotFound(format!("job {id}"))) };
        // The ticket first, in the order of those who end a job.
        self.remove_ticket(id).await?;
        let open = sqlx::query(
            "UPDATE sync.jobs SET state = 'cancelled', ended_at = $2, reason = NULL, next_step = NULL
             WHERE id = $1 AND ended_at IS NULL",
        )
        .bind(id.uuid())
        .bind(now)
        .execute(self.connection())
        .await?;
        let open = open.rows_affected() > 0;
        if open {
            self.leave_indexing(job.repository, now).await?;
        }
        Ok(open)
    }

    /// Forgets jobs that ended before an instant, at most `limit`; gives how many.
    pub async fn forget_jobs(&mut self, before: OffsetDateTime, limit: u32) -> Result<u64, StoreError> {
        let gone = sqlx::query(
            "DELETE FROM sync.jobs WHERE id IN
                 (SELECT id FROM sync.jobs WHERE ended_at < $1 ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED)",
        )
        .bind(before)
        .bind(i64::from(limit))
        .execute(self.connection())
        .await?;
        Ok(gone.rows_affected())
    }
}

impl Tx {
    /// Forgets deliveries of webhooks that came before an instant, at most `limit`; gives how many.
    pub async fn forget_deliveries(&mut self, before: OffsetDateTime, limit: u32) -> Result<u64, StoreError> {
        let gone = sqlx::query(
            "DELETE FROM sync.webhook_deliveries WHERE (endpoint_id, delivery_key) IN
                 (SELECT endpoint_id, delivery_key FROM sync.webhook_deliveries WHERE received_at < $1
                  ORDER BY received_at LIMIT $2)",
        )
        .bind(before)
        .bind(i64::from(limit))
        .execute(self.connection())
        .await?;
        Ok(gone.rows_affected())
    }
}

/// By which requests for the same thing are known. The id of a repository is random and seen under row security only: who
/// has nothing but the queue learns from the hash neither the repository nor the ref.
fn key(organization: Uuid, repository: Uuid, kind: JobKind, ref_name: Option<&str>) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in [
        organization.as_bytes(),
        &repository.as_bytes()[..],
        kind.as_str().as_bytes(),
        ref_name.unwrap_or_default().as_bytes(),
    ] {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

#[derive(FromRow)]
struct JobColumns {
    id: Uuid,
    repository_id: Uuid,
    kind: String,
    ref_name: Option<String>,
    cause: String,
    requests: i32,
    payload: String,
    state: String,
    attempts: i32,
    reason: Option<String>,
    next_step: Option<String>,
    enqueued_at: OffsetDateTime,
    run_at: OffsetDateTime,
    started_at: Option<OffsetDateTime>,
    ended_at: Option<OffsetDateTime>,
    timings: Option<String>,
    result: Option<String>,
}

impl JobColumns {
    fn read(self) -> Result<Job, StoreError> {
        let json = |error: serde_json::Error| StoreError::unreadable("job", error);
        Ok(Job {
            id: JobId::from_uuid(self.id),
            repository: RepositoryId::from_uuid(self.repository_id),
            kind: read_kind(&self.kind)?,
            ref_name: self.ref_name,
            cause: JobCause::ALL
                .into_iter()
                .find(|cause| cause.as_str() == self.cause)
                .ok_or_else(|| StoreError::unreadable("cause of a job", &self.cause))?,
            requests: small(self.requests),
            payload: serde_json::from_str(&self.payload).map_err(json)?,
            state: JobState::ALL
                .into_iter()
                .find(|state| state.as_str() == self.state)
                .ok_or_else(|| StoreError::unreadable("state of a job", &self.state))?,
            attempts: small(self.attempts),
            reason: self.reason,
            next_step: self.next_step,
            enqueued_at: self.enqueued_at,
            run_at: self.run_at,
            started_at: self.started_at,
            ended_at: self.ended_at,
            timings: self
                .timings
                .map(|text| serde_json::from_str(&text))
                .transpose()
                .map_err(json)?
                .unwrap_or_default(),
            result: self.result.map(|text| serde_json::from_str(&text)).transpose().map_err(json)?,
        })
    }
}

pub(crate) fn read_kind(word: &str) -> Result<JobKind, StoreError> {
    JobKind::ALL
        .into_iter()
        .find(|kind| kind.as_str() == word)
        .ok_or_else(|| StoreError::unreadable("kind of a job", word))
}

/// A reason or a next step as it is stored.
pub(crate) fn said(text: &str) -> String {
    sync_core::text::shown(&convert::text(text), 2000)
}
