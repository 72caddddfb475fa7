//! The queue: workers take tickets of all organizations, keep them with heartbeats, and end the job in the transaction
//! that writes what it did. A ticket says nothing private; what it is for is the job of the same id, under row security.

use std::collections::BTreeMap;

use serde_json::Value;
use sync_core::ids::{JobId, LeaseId, OrganizationId};
use time::OffsetDateTime;

use sqlx::FromRow;
use sqlx::postgres::PgListener;
use uuid::Uuid;

use crate::convert::small;
use crate::error::StoreError;
use crate::jobs::{CHANNEL, Job, JobCause, JobKind, read_kind, said};
use crate::pool::Store;
use crate::tx::{SystemTx, Tx};

/// Two workers that take a ticket do so one after the other, so that turns are kept and no two take of one source.
const CLAIMING: i64 = 0x5379_6e63_4a6f_6273;

/// How many tickets that others hold at this moment are passed over.
const CLAIM_TRIES: usize = 16;

/// A lease on a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// Of which job.
    pub id: JobId,
    /// Whose.
    pub organization: OrganizationId,
    /// What it does.
    pub kind: JobKind,
    /// By which this lease is told from any other.
    pub holder: LeaseId,
    /// Which run this is, from 1.
    pub attempt: u32,
    /// When it was asked for first.
    pub enqueued_at: OffsetDateTime,
    /// Since when it might have run.
    pub run_at: OffsetDateTime,
}

/// What a run has to say at its end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobReport {
    /// Milliseconds by phase.
    pub timings: BTreeMap<String, u64>,
    /// What it did, or found.
    pub result: Option<Value>,
}

/// Why a run did not end well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobProblem {
    /// What happened, to what.
    pub reason: String,
    /// What to do about it.
    pub next_step: String,
}

/// What became of a job that was given back to the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requeued {
    /// It waits for its next run.
    Waits,
    /// A newer request for the same waits already, and does it.
    Superseded,
}

impl Store {
    /// Hears of jobs that are queued, as long as it is kept. It takes a connection of its own. What it misses is found by
    /// looking now and then, which is needed anyway: times come without anybody saying so.
    pub async fn listen_for_jobs(&self) -> Result<JobListener, StoreError> {
        let mut listener = PgListener::connect_with(self.pool()).await?;
        listener.listen(CHANNEL).await?;
        Ok(JobListener(listener))
    }
}

/// Hears of queued jobs.
#[derive(Debug)]
pub struct JobListener(PgListener);

impl JobListener {
    /// Returns when a job was queued. After an error, listen anew.
    pub async fn heard(&mut self) -> Result<(), StoreError> {
        // Nothing: the connection was lost and is there again; something may have been said meanwhile.
        self.0.try_recv().await?;
        Ok(())
    }
}

impl SystemTx {
    /// Takes the next ticket, as `holder`, until `lease_until`: the most urgent first; among those alike of the
    /// organization that has the fewest running and was served longest ago; then the one that waited longest. A lease that
    /// ran out is there to be taken again. `holder` is new each time.
    pub async fn claim(
        &mut self,
        holder: LeaseId,
        lease_until: OffsetDateTime,
        now: OffsetDateTime,
    ) -> Result<Option<Ticket>, StoreError> {
        sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(CLAIMING).execute(self.connection()).await?;
        // Of each organization that has any, and of each urgency, the next one, each by a step down an index: whatever waits
        // behind it or is not due yet. Of those the one whose turn it is. A ticket that another transaction ends or merges at
        // this moment is left to it: however long that takes, nobody else waits for it.
        let mut urgencies = JobCause::ALL.map(JobCause::priority);
        urgencies.sort_unstable();
        let mut row: Option<TicketColumns> = None;
        let mut left: Vec<Uuid> = Vec::new();
        while row.is_none() && left.len() < CLAIM_TRIES {
            let next: Option<Uuid> = sqlx::query_scalar(
                "WITH RECURSIVE asking AS (
                     (SELECT t.organization_id AS id FROM routing.job_tickets t ORDER BY t.organization_id LIMIT 1)
                     UNION ALL
                     SELECT (SELECT t.organization_id FROM routing.job_tickets t WHERE t.organization_id > asking.id
                             ORDER BY t.organization_id LIMIT 1)
                     FROM asking WHERE asking.id IS NOT NULL
                 )
                 SELECT best.id
                 FROM asking
                 CROSS JOIN LATERAL (SELECT FROM routing.organizations o
                                     WHERE o.id = asking.id AND o.state = 'active' OFFSET 0) active
                 CROSS JOIN unnest($2::smallint[]) AS urgency (priority)
                 CROSS JOIN LATERAL (
                     SELECT t.id, t.run_at FROM routing.job_tickets t
                     WHERE t.organization_id = asking.id AND t.priority = urgency.priority AND t.run_at <= $1
                       AND t.id <> ALL ($3)
                       AND CASE t.state
                               WHEN 'leased' THEN t.lease_until <= $1
                               ELSE NOT EXISTS (SELECT FROM routing.job_tickets running
                                                WHERE running.serial_key = t.serial_key AND running.state = 'leased')
                           END
                     ORDER BY t.run_at, t.id LIMIT 1) best
                 ORDER BY urgency.priority,
                          (SELECT count(*) FROM routing.job_tickets held
                           WHERE held.organization_id = asking.id AND held.state = 'leased' AND held.lease_until > $1),
                          coalesce((SELECT served.turn FROM routing.job_turns served
                                    WHERE served.organization_id = asking.id), 0),
                          best.run_at, best.id
                 LIMIT 1",
            )
            .bind(now)
            .bind(&urgencies[..])
            .bind(&left[..])
            .fetch_optional(self.connection())
            .await?;
            let Some(next) = next else { return Ok(None) };
            row = sqlx::query_as(
                "UPDATE routing.job_tickets SET state = 'leased', holder = $2, lease_until = $3, attempts = attempts + 1
                 WHERE id = (SELECT free.id FROM routing.job_tickets free
                             WHERE free.id = $1 AND free.run_at <= $4 AND (free.state = 'waiting' OR free.lease_until <= $4)
                             FOR UPDATE SKIP LOCKED)
                 RETURNING id, organization_id, kind, holder, attempts, enqueued_at, run_at",
            )
            .bind(next)
            .bind(holder.uuid())
            .bind(lease_until)
            .bind(now)
            .fetch_optional(self.connection())
            .await?;
            left.push(next);
        }
        let Some(ticket) = row.map(TicketColumns::read).transpose()? else { return Ok(None) };
        sqlx::query(
            "INSERT INTO routing.job_turns (organization_id, turn)
             SELECT $1, coalesce(max(turn), 0) + 1 FROM routing.job_turns
             ON CONFLICT (organization_id) DO UPDATE SET turn = excluded.turn",
        )
        .bind(ticket.organization.uuid())
        .execute(self.connection())
        .await?;
        Ok(Some(ticket))
    }

    /// Keeps leases until `lease_until`; gives those that are still held. The others were taken back or lost, and what
    /// runs under them is to end.
    pub async fn heartbeat(
        &mut self,
        holders: &[LeaseId],
        lease_until: OffsetDateTime,
    ) -> Result<Vec<LeaseId>, StoreError> {
        let kept: Vec<Uuid> = sqlx::query_scalar(
            "UPDATE routing.job_tickets t SET lease_until = $2
             WHERE holder = ANY ($1) AND state = 'leased'
               AND EXISTS (SELECT FROM routing.organizations o WHERE o.id = t.organization_id AND o.state = 'active')
             RETURNING holder",
        )
        .bind(holders.iter().map(|holder| holder.uuid()).collect::<Vec<_>>())
        .bind(lease_until)
        .fetch_all(self.connection())
        .await?;
        Ok(kept.into_iter().map(LeaseId::from_uuid).collect())
    }
}

impl Tx {
    /// Says that the run of a ticket begins, and gives the job. [`StoreError::Conflict`] `lease_lost` where the ticket is
    /// not held any more.
    pub async fn begin_job(&mut self, ticket: &Ticket, now: OffsetDateTime) -> Result<Job, StoreError> {
        self.hold(ticket).await?;
        sqlx::query(
            "UPDATE sync.jobs SET state = 'running', attempts = $2, started_at = $3, timings = NULL
             WHERE id = $1 AND ended_at IS NULL",
        )
        .bind(ticket.id.uuid())
        .bind(i32::try_from(ticket.attempt).unwrap_or(i32::MAX))
        .bind(now)
        .execute(self.connection())
        .await?;
        self.job(ticket.id).await?.ok_or_else(|| StoreError::NotFound(format!("job {}", ticket.id)))
    }

    /// Ends a job well, in the transaction that writes what it did, so that a worker that lost its lease
    /// ([`StoreError::Conflict`] `lease_lost`) writes nothing.
    pub async fn finish_job(
        &mut self,
        ticket: &Ticket,
        report: &JobReport,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        self.give_up_lease(ticket).await?;
        self.end_job(ticket, "done", None, report, now).await
    }

    /// Ends a job that is not tried again. [`StoreError::Conflict`] `lease_lost` as above.
    pub async fn bury_job(
        &mut self,
        ticket: &Ticket,
        problem: &JobProblem,
        report: &JobReport,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        self.give_up_lease(ticket).await?;
        self.end_job(ticket, "dead", Some(problem), report, now).await
    }

    /// Has a job tried again at `run_at`. [`StoreError::Conflict`] `lease_lost` as above.
    pub async fn retry_job(
        &mut self,
        ticket: &Ticket,
        problem: &JobProblem,
        report: &JobReport,
        run_at: OffsetDateTime,
        now: OffsetDateTime,
    ) -> Result<Requeued, StoreError> {
        let requeued = self.requeue(ticket, run_at, ticket.attempt).await?;
        if requeued == Requeued::Superseded {
            self.end_job(ticket, "cancelled", Some(problem), report, now).await?;
            return Ok(requeued);
        }
        sqlx::query(
            "UPDATE sync.jobs SET state = 'queued', run_at = $2, reason = $3, next_step = $4, timings = $5::json,
                                  result = $6::json
             WHERE id = $1",
        )
        .bind(ticket.id.uuid())
        .bind(run_at)
        .bind(said(&problem.reason))
        .bind(said(&problem.next_step))
        .bind(timings(report)?)
        .bind(report.result.as_ref().map(Value::to_string))
        .execute(self.connection())
        .await?;
        Ok(requeued)
    }

    /// Gives a lease back before its run has ended, as a worker does that is to stop: the run does not count.
    /// [`StoreError::Conflict`] `lease_lost` as above.
    pub async fn return_job(&mut self, ticket: &Ticket, now: OffsetDateTime) -> Result<Requeued, StoreError> {
        let attempts = ticket.attempt.saturating_sub(1);
        let requeued = self.requeue(ticket, now, attempts).await?;
        if requeued == Requeued::Superseded {
            self.end_job(ticket, "cancelled", None, &JobReport::default(), now).await?;
            return Ok(requeued);
        }
        sqlx::query("UPDATE sync.jobs SET state = 'queued', run_at = $2, attempts = $3 WHERE id = $1")
            .bind(ticket.id.uuid())
            .bind(now)
            .bind(i32::try_from(attempts).unwrap_or(i32::MAX))
            .execute(self.connection())
            .await?;
        Ok(requeued)
    }

    /// Removes the ticket of a job, held or not. The queue is not under row security; here and below, the job is.
    pub(crate) async fn remove_ticket(&mut self, id: JobId) -> Result<(), StoreError> {
        sqlx::query(
            "DELETE FROM routing.job_tickets t
             WHERE t.id = $1 AND EXISTS (SELECT FROM sync.jobs j WHERE j.id = t.id)",
        )
        .bind(id.uuid())
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// The lease is there, and is until this transaction ends.
    async fn hold(&mut self, ticket: &Ticket) -> Result<(), StoreError> {
        sqlx::query(
            "SELECT FROM routing.job_tickets t
             WHERE t.id = $1 AND t.holder = $2 AND EXISTS (SELECT FROM sync.jobs j WHERE j.id = t.id) FOR UPDATE OF t",
        )
        .bind(ticket.id.uuid())
        .bind(ticket.holder.uuid())
        .fetch_optional(self.connection())
        .await?
        .map(|_| ())
        .ok_or_else(lease_lost)
    }

    async fn give_up_lease(&mut self, ticket: &Ticket) -> Result<(), StoreError> {
        let gone = sqlx::query(
            "DELETE FROM routing.job_tickets t
             WHERE t.id = $1 AND t.holder = $2 AND EXISTS (SELECT FROM sync.jobs j WHERE j.id = t.id)",
        )
        .bind(ticket.id.uuid())
        .bind(ticket.holder.uuid())
        .execute(self.connection())
        .await?;
        if gone.rows_affected() == 0 { Err(lease_lost()) } else { Ok(()) }
    }

    /// Back to those that wait, unless another request for the same does.
    async fn requeue(
        &mut self,
        ticket: &Ticket,
        run_at: OffsetDateTime,
        attempts: u32,
    ) -> Result<Requeued, StoreError> {
        let held: Option<(i16, Vec<u8>, Vec<u8>)> = sqlx::query_as(
            "DELETE FROM routing.job_tickets t
             WHERE t.id = $1 AND t.holder = $2 AND EXISTS (SELECT FROM sync.jobs j WHERE j.id = t.id)
             RETURNING priority, serial_key, dedupe_key",
        )
        .bind(ticket.id.uuid())
        .bind(ticket.holder.uuid())
        .fetch_optional(self.connection())
        .await?;
        let (priority, serial_key, dedupe_key) = held.ok_or_else(lease_lost)?;
        let waits = sqlx::query(
            "INSERT INTO routing.job_tickets
                 (id, kind, priority, run_at, state, attempts, serial_key, dedupe_key, enqueued_at)
             VALUES ($1, $2, $3, $4, 'waiting', $5, $6, $7, $8)
             ON CONFLICT (dedupe_key) WHERE state = 'waiting' DO NOTHING",
        )
        .bind(ticket.id.uuid())
        .bind(ticket.kind.as_str())
        .bind(priority)
        .bind(run_at)
        .bind(i32::try_from(attempts).unwrap_or(i32::MAX))
        .bind(serial_key)
        .bind(dedupe_key)
        .bind(ticket.enqueued_at)
        .execute(self.connection())
        .await?;
        Ok(if waits.rows_affected() > 0 { Requeued::Waits } else { Requeued::Superseded })
    }

    async fn end_job(
        &mut self,
        ticket: &Ticket,
        state: &'static str,
        problem: Option<&JobProblem>,
        report: &JobReport,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE sync.jobs SET state = $2, reason = $3, next_step = $4, ended_at = $5, timings = $6::json,
                                  result = $7::json
             WHERE id = $1",
        )
        .bind(ticket.id.uuid())
        .bind(state)
        .bind(problem.map(|problem| said(&problem.reason)))
        .bind(problem.map(|problem| said(&problem.next_step)))
        .bind(now)
        .bind(timings(report)?)
        .bind(report.result.as_ref().map(Value::to_string))
        .execute(self.connection())
        .await?;
        Ok(())
    }
}

fn lease_lost() -> StoreError {
    StoreError::Conflict("lease_lost".to_owned())
}

fn timings(report: &JobReport) -> Result<String, StoreError> {
    serde_json::to_string(&report.timings).map_err(|error| StoreError::Bug(format!("timings of a job: {error}")))
}

#[derive(FromRow)]
struct TicketColumns {
    id: Uuid,
    organization_id: Uuid,
    kind: String,
    holder: Uuid,
    attempts: i32,
    enqueued_at: OffsetDateTime,
    run_at: OffsetDateTime,
}

impl TicketColumns {
    fn read(self) -> Result<Ticket, StoreError> {
        Ok(Ticket {
            id: JobId::from_uuid(self.id),
            organization: OrganizationId::from_uuid(self.organization_id),
            kind: read_kind(&self.kind)?,
            holder: LeaseId::from_uuid(self.holder),
            attempt: small(self.attempts),
            enqueued_at: self.enqueued_at,
            run_at: self.run_at,
        })
    }
}
