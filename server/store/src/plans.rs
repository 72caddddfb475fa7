//! What an organization's plan allows, as data, and what it used.

use sync_core::ids::RepositoryId;
use time::{Date, OffsetDateTime};

use sqlx::{FromRow, PgConnection};

use crate::convert::{count, stored_count};
use crate::error::StoreError;
use crate::tx::{AuthTx, Tx};

/// A plan; a limit that is absent does not limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What it is called.
    pub name: String,
    /// Registered sources.
    pub sources: Option<u64>,
    /// Call sites in the current indexes of all refs.
    pub call_sites: Option<u64>,
    /// Spans a second.
    pub spans_per_second: Option<u64>,
    /// Requests a minute of the whole organization.
    pub requests_per_minute: Option<u64>,
    /// The tools that may be called; absent: all.
    pub tools: Option<Vec<String>>,
}

impl Default for Plan {
    /// Of an organization of which nothing was said: called `default`, without limits.
    fn default() -> Self {
        Self {
            name: "default".to_owned(),
            sources: None,
            call_sites: None,
            spans_per_second: None,
            requests_per_minute: None,
            tools: None,
        }
    }
}

/// What an organization has, now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holdings {
    /// Registered sources.
    pub sources: u64,
    /// Call sites in the current indexes of all refs.
    pub call_sites: u64,
    /// Members that are not disabled.
    pub members: u64,
}

/// How often something was used in a month.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Used {
    /// The month's first day.
    pub month: Date,
    /// `requests`, `tool_calls`, ….
    pub what: String,
    /// How often.
    #[sqlx(try_from = "i64")]
    pub count: u64,
}

impl AuthTx {
    /// The organization's plan.
    pub async fn plan(&mut self) -> Result<Plan, StoreError> {
        plan(self.connection()).await
    }
}

impl Tx {
    /// The organization's plan.
    pub async fn plan(&mut self) -> Result<Plan, StoreError> {
        plan(self.connection()).await
    }

    /// Puts the organization on a plan.
    pub async fn set_plan(&mut self, plan: &Plan, now: OffsetDateTime) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO sync.plans (name, sources, call_sites, spans_per_second, requests_per_minute, tools, changed_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (organization_id) DO UPDATE SET name = $1, sources = $2, call_sites = $3,
                 spans_per_second = $4, requests_per_minute = $5, tools = $6, changed_at = $7",
        )
        .bind(&plan.name)
        .bind(plan.sources.map(stored_count))
        .bind(plan.call_sites.map(stored_count))
        .bind(plan.spans_per_second.map(stored_count))
        .bind(plan.requests_per_minute.map(stored_count))
        .bind(&plan.tools)
        .bind(now)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// What the organization has, whatever the principal may read of it.
    pub async fn holdings(&mut self) -> Result<Holdings, StoreError> {
        let (sources, call_sites, members): (i64, i64, i64) = sqlx::query_as(
            "SELECT (SELECT count(*) FROM sync.repositories),
                    (SELECT coalesce(sum(i.call_sites), 0)::bigint FROM sync.refs r
                     JOIN sync.indexes i ON i.organization_id = r.organization_id AND i.id = r.current_index),
                    (SELECT count(*) FROM sync.principals WHERE disabled_at IS NULL)",
        )
        .fetch_one(self.connection())
        .await?;
        Ok(Holdings { sources: count(sources), call_sites: count(call_sites), members: count(members) })
    }

    /// Adds what was used in a month.
    pub async fn add_usage(&mut self, month: Date, what: &str, used: u64) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO sync.usage AS u (month, what, count) VALUES ($1, $2, $3)
             ON CONFLICT (organization_id, month, what) DO UPDATE SET count = u.count + excluded.count",
        )
        .bind(month)
        .bind(what)
        .bind(stored_count(used))
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// What was used from one month to another, both among them, newest first.
    pub async fn usage(&mut self, from: Date, to: Date) -> Result<Vec<Used>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT month, what, count FROM sync.usage WHERE month BETWEEN $1 AND $2 ORDER BY month DESC, what",
        )
        .bind(from)
        .bind(to)
        .fetch_all(self.connection())
        .await?)
    }

    /// [`StoreError::OverLimit`] where the plan has no room for one more source.
    pub(crate) async fn require_room_for_a_source(&mut self) -> Result<(), StoreError> {
        let Some(allowed) = self.plan().await?.sources else { return Ok(()) };
        let known: i64 =
            sqlx::query_scalar("SELECT count(*) FROM sync.repositories").fetch_one(self.connection()).await?;
        if count(known) >= allowed { Err(self.over_limit("sources", allowed).await?) } else { Ok(()) }
    }

    /// [`StoreError::OverLimit`] where the plan has no room for an index of so many call sites in the place of what the
    /// ref of that repository has.
    pub(crate) async fn require_room_for_call_sites(
        &mut self,
        repository: RepositoryId,
        reference: &str,
        call_sites: u64,
    ) -> Result<(), StoreError> {
        let Some(allowed) = self.plan().await?.call_sites else { return Ok(()) };
        let others: i64 = sqlx::query_scalar(
            "SELECT coalesce(sum(i.call_sites), 0)::bigint FROM sync.refs r
             JOIN sync.indexes i ON i.organization_id = r.organization_id AND i.id = r.current_index
             WHERE NOT (r.repository_id = $1 AND r.name = $2)",
        )
        .bind(repository.uuid())
        .bind(reference)
        .fetch_one(self.connection())
        .await?;
        if count(others).saturating_add(call_sites) > allowed {
            return Err(self.over_limit("call_sites", allowed).await?);
        }
        Ok(())
    }

    /// The error of a limit of the organization's plan.
    pub(crate) async fn over_limit(&mut self, limit: &'static str, allowed: u64) -> Result<StoreError, StoreError> {
        Ok(StoreError::OverLimit { limit, allowed, plan: self.plan().await?.name })
    }
}

#[derive(FromRow)]
struct PlanColumns {
    name: String,
    sources: Option<i64>,
    call_sites: Option<i64>,
    spans_per_second: Option<i64>,
    requests_per_minute: Option<i64>,
    tools: Option<Vec<String>>,
}

async fn plan(connection: &mut PgConnection) -> Result<Plan, StoreError> {
    let row: Option<PlanColumns> = sqlx::query_as(
        "SELECT name, sources, call_sites, spans_per_second, requests_per_minute, tools FROM sync.plans",
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map_or_else(Plan::default, |row| Plan {
        name: row.name,
        sources: row.sources.map(count),
        call_sites: row.call_sites.map(count),
        spans_per_second: row.spans_per_second.map(count),
        requests_per_minute: row.requests_per_minute.map(count),
        tools: row.tools,
    }))
}
