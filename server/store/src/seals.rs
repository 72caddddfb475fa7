//! Seals of the audit log, and the rows below them as they are sealed. Read by the service, to prove; written only by
//! [`crate::Maintenance`].

use sqlx::{FromRow, PgConnection};
use sync_core::ids::{EventId, OrganizationId, PrincipalId, RepositoryId, RequestId};
use sync_core::seal::{
    FORMAT, Hash, Head, HeadKind, Pruning, PruningKind, Row, RowKind, Signature, SignedHead, SignedPruning,
};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::convert::{count, stored_count};
use crate::error::StoreError;
use crate::tx::Tx;

/// Rows that are newer than the last seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsealed {
    /// How many.
    pub rows: u64,
    /// The time of the oldest.
    pub oldest: Option<OffsetDateTime>,
    /// The time of the newest.
    pub newest: Option<OffsetDateTime>,
}

impl Tx {
    /// The seals after a number, in order, at most `limit`.
    pub async fn seals_after(&mut self, number: u64, limit: u32) -> Result<Vec<SignedHead>, StoreError> {
        seals_after(self.connection(), number, limit).await
    }

    /// The last seal.
    pub async fn last_seal(&mut self) -> Result<Option<SignedHead>, StoreError> {
        last_seal(self.connection()).await
    }

    /// The seal that covers a transaction.
    pub async fn seal_of(&mut self, xid: u64) -> Result<Option<SignedHead>, StoreError> {
        let row: Option<SealRow> = sqlx::query_as(
            "SELECT organization_id, number, from_xid::text AS from_xid, to_xid::text AS to_xid, rows, root, previous,
                    sealed_at, key_id, signature
             FROM sync.audit_seals WHERE to_xid > ($1::text)::xid8 ORDER BY to_xid LIMIT 1",
        )
        .bind(xid.to_string())
        .fetch_optional(self.connection())
        .await?;
        row.map(SealRow::read).transpose().map(|seal| seal.filter(|seal| seal.head.from_xid <= xid))
    }

    /// What a seal kept of its leaves; nothing where that was removed.
    pub async fn seal_records(&mut self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(sqlx::query_scalar("SELECT records FROM sync.audit_seal_records WHERE number = $1")
            .bind(stored_count(number))
            .fetch_optional(self.connection())
            .await?)
    }

    /// The rows of the transactions from one until before another, as they are sealed, in the order of
    /// [`Row::key`], at most about `limit`: see [`crate::MaintenanceTx::rows_to_seal`].
    pub async fn sealed_rows(&mut self, from_xid: u64, to_xid: u64) -> Result<Vec<Row>, StoreError> {
        rows(self.connection(), from_xid, Some(to_xid), None).await
    }

    /// The last signed statement that rows were removed.
    pub async fn last_pruning(&mut self) -> Result<Option<SignedPruning>, StoreError> {
        last_pruning(self.connection()).await
    }

    /// What is newer than the last seal.
    pub async fn unsealed(&mut self, from_xid: u64) -> Result<Unsealed, StoreError> {
        let (rows, oldest, newest): (i64, _, _) = sqlx::query_as(
            "SELECT count(*), min(time), max(time)
             FROM (SELECT time FROM sync.audit_events WHERE xid >= ($1::text)::xid8
                   UNION ALL SELECT time FROM sync.audit_outcomes WHERE xid >= ($1::text)::xid8) newer",
        )
        .bind(from_xid.to_string())
        .fetch_one(self.connection())
        .await?;
        Ok(Unsealed { rows: count(rows), oldest, newest })
    }
}

pub(crate) async fn seals_after(
    connection: &mut PgConnection,
    number: u64,
    limit: u32,
) -> Result<Vec<SignedHead>, StoreError> {
    let rows: Vec<SealRow> = sqlx::query_as(
        "SELECT organization_id, number, from_xid::text AS from_xid, to_xid::text AS to_xid, rows, root, previous,
                sealed_at, key_id, signature
         FROM sync.audit_seals WHERE number > $1 ORDER BY number LIMIT $2",
    )
    .bind(stored_count(number))
    .bind(i64::from(limit))
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(SealRow::read).collect()
}

pub(crate) async fn last_seal(connection: &mut PgConnection) -> Result<Option<SignedHead>, StoreError> {
    let row: Option<SealRow> = sqlx::query_as(
        "SELECT organization_id, number, from_xid::text AS from_xid, to_xid::text AS to_xid, rows, root, previous,
                sealed_at, key_id, signature
         FROM sync.audit_seals ORDER BY number DESC LIMIT 1",
    )
    .fetch_optional(connection)
    .await?;
    row.map(SealRow::read).transpose()
}

pub(crate) async fn last_pruning(connection: &mut PgConnection) -> Result<Option<SignedPruning>, StoreError> {
    let row: Option<(Uuid, i64, OffsetDateTime, String, Vec<u8>)> = sqlx::query_as(
        "SELECT organization_id, through, pruned_at, key_id, signature
         FROM sync.audit_prunings ORDER BY through DESC LIMIT 1",
    )
    .fetch_optional(connection)
    .await?;
    row.map(|(organization, through, time, key_id, bytes)| {
        let pruning = Pruning {
            format: FORMAT,
            key_id,
            kind: PruningKind::AuditPruning,
            organization: OrganizationId::from_uuid(organization),
            through: count(through),
            time,
        };
        Ok(SignedPruning { pruning, signature: signature(&bytes)? })
    })
    .transpose()
}

/// Rows of both tables in the order of [`Row::key`]. With a limit, that many of each table and so at least that many in
/// all where there are.
pub(crate) async fn rows(
    connection: &mut PgConnection,
    from_xid: u64,
    to_xid: Option<u64>,
    limit: Option<u32>,
) -> Result<Vec<Row>, StoreError> {
    let events: Vec<StoredRow> = sqlx::query_as(
        "SELECT 'e' AS kind, organization_id, event_id, time, xid::text AS xid, principal_id, principal,
                principal_kind, credential_id, protocol, action, repository_id, repository_name, arguments_digest,
                outcome, code, rows, duration_us, request_id, client_ip::text AS client_ip
         FROM sync.audit_events WHERE xid >= ($1::text)::xid8 AND ($2::text IS NULL OR xid < ($2::text)::xid8)
         ORDER BY xid, time, event_id LIMIT $3",
    )
    .bind(from_xid.to_string())
    .bind(to_xid.map(|xid| xid.to_string()))
    .bind(limit.map(i64::from))
    .fetch_all(&mut *connection)
    .await?;
    let outcomes: Vec<StoredRow> = sqlx::query_as(
        "SELECT 'o' AS kind, organization_id, event_id, time, xid::text AS xid, NULL::uuid AS principal_id,
                NULL AS principal, NULL AS principal_kind, NULL AS credential_id, NULL AS protocol, NULL AS action,
                NULL::uuid AS repository_id, NULL AS repository_name, NULL::bytea AS arguments_digest, outcome, code,
                rows, duration_us, NULL::uuid AS request_id, NULL AS client_ip
         FROM sync.audit_outcomes WHERE xid >= ($1::text)::xid8 AND ($2::text IS NULL OR xid < ($2::text)::xid8)
         ORDER BY xid, time, event_id LIMIT $3",
    )
    .bind(from_xid.to_string())
    .bind(to_xid.map(|xid| xid.to_string()))
    .bind(limit.map(i64::from))
    .fetch_all(connection)
    .await?;
    let mut rows = events.into_iter().chain(outcomes).map(StoredRow::read).collect::<Result<Vec<Row>, StoreError>>()?;
    rows.sort_by_key(Row::key);
    Ok(rows)
}

/// A transaction id as text.
pub(crate) fn xid(text: &str) -> Result<u64, StoreError> {
    text.parse().map_err(|error| StoreError::unreadable("transaction id", error))
}

fn hash(bytes: &[u8]) -> Result<Hash, StoreError> {
    bytes.try_into().map(Hash).map_err(|_| StoreError::unreadable("hash", "not 32 bytes"))
}

fn signature(bytes: &[u8]) -> Result<Signature, StoreError> {
    bytes.try_into().map(Signature).map_err(|_| StoreError::unreadable("signature", "not 64 bytes"))
}

#[derive(FromRow)]
struct SealRow {
    organization_id: Uuid,
    number: i64,
    from_xid: String,
    to_xid: String,
    rows: i64,
    root: Vec<u8>,
    previous: Vec<u8>,
    sealed_at: OffsetDateTime,
    key_id: String,
    signature: Vec<u8>,
}

impl SealRow {
    fn read(self) -> Result<SignedHead, StoreError> {
        let head = Head {
            format: FORMAT,
            from_xid: xid(&self.from_xid)?,
            key_id: self.key_id,
            kind: HeadKind::AuditSeal,
            number: count(self.number),
            organization: OrganizationId::from_uuid(self.organization_id),
            previous: hash(&self.previous)?,
            root: hash(&self.root)?,
            rows: count(self.rows),
            time: self.sealed_at,
            to_xid: xid(&self.to_xid)?,
        };
        Ok(SignedHead { head, signature: signature(&self.signature)? })
    }
}

#[derive(FromRow)]
struct StoredRow {
    kind: String,
    organization_id: Uuid,
    event_id: Uuid,
    time: OffsetDateTime,
    xid: String,
    principal_id: Option<Uuid>,
    principal: Option<String>,
    principal_kind: Option<String>,
    credential_id: Option<String>,
    protocol: Option<String>,
    action: Option<String>,
    repository_id: Option<Uuid>,
    repository_name: Option<String>,
    arguments_digest: Option<Vec<u8>>,
    outcome: Option<String>,
    code: Option<String>,
    rows: Option<i64>,
    duration_us: Option<i64>,
    request_id: Option<Uuid>,
    client_ip: Option<String>,
}

impl StoredRow {
    fn read(self) -> Result<Row, StoreError> {
        Ok(Row {
            kind: if self.kind == "e" { RowKind::Event } else { RowKind::Outcome },
            event_id: EventId::from_uuid(self.event_id),
            organization: OrganizationId::from_uuid(self.organization_id),
            time: self.time,
            xid: xid(&self.xid)?,
            principal_id: self.principal_id.map(PrincipalId::from_uuid),
            principal: self.principal,
            principal_kind: self.principal_kind,
            credential_id: self.credential_id,
            protocol: self.protocol,
            action: self.action,
            repository_id: self.repository_id.map(RepositoryId::from_uuid),
            repository_name: self.repository_name,
            arguments_digest: self.arguments_digest,
            outcome: self.outcome,
            code: self.code,
            rows: self.rows,
            duration_us: self.duration_us,
            request_id: self.request_id.map(RequestId::from_uuid),
            client_ip: self.client_ip,
        })
    }
}
