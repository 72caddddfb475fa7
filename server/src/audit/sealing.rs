//! Makes seals.

use sync_core::ids::OrganizationId;
use sync_core::seal::{FORMAT, Hash, Head, HeadKind, Pruning, PruningKind, Row, tree};
use sync_store::{Maintenance, StoreError};
use time::{Duration, OffsetDateTime};

use super::seal_key::SealKeys;

/// About how many rows one seal covers: a proof reads all rows of its seal.
const SEAL_ROWS: u32 = 8192;

/// About how many rows one pruning removes.
const PRUNE_ROWS: u64 = 200_000;

/// What was sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sealed {
    /// Seals made.
    pub seals: u64,
    /// Rows below them.
    pub rows: u64,
}

/// Seals all rows of an organization whose transactions have ended. Where there are none, and where another worker is at
/// it, nothing is made.
pub async fn seal(
    maintenance: &Maintenance,
    keys: &SealKeys,
    organization: OrganizationId,
    now: OffsetDateTime,
) -> Result<Sealed, StoreError> {
    let mut sealed = Sealed::default();
    loop {
        match seal_once(maintenance, keys, organization, now).await {
            Ok(Some((rows, more))) => {
                sealed.seals += 1;
                sealed.rows += rows;
                if !more {
                    return Ok(sealed);
                }
            }
            // Another worker made that seal between the two statements.
            Ok(None) | Err(StoreError::Conflict(_)) => return Ok(sealed),
            Err(error) => return Err(error),
        }
    }
}

/// Makes one seal; gives its rows, and whether there are more that can be sealed.
async fn seal_once(
    maintenance: &Maintenance,
    keys: &SealKeys,
    organization: OrganizationId,
    now: OffsetDateTime,
) -> Result<Option<(u64, bool)>, StoreError> {
    let mut tx = maintenance.begin(organization).await?;
    if !tx.lock_seals().await? {
        return Ok(None);
    }
    let last = tx.last_seal().await?.map(|seal| seal.head);
    let from_xid = last.as_ref().map_or(0, |last| last.to_xid);
    let horizon = tx.horizon().await?;
    if horizon < from_xid {
        return Err(StoreError::Refused(format!(
            "the audit log of {organization} is sealed up to transaction {from_xid}, but this database is at {horizon}: \
             it was restored into a new cluster; next: stop it and run `pg_resetwal --next-transaction-id={from_xid}`"
        )));
    }
    let (rows, to_xid) = tx.rows_to_seal(from_xid, horizon, SEAL_ROWS).await?;
    if rows.is_empty() {
        // The lock is let go of here and now, and not whenever a dropped transaction is rolled back.
        tx.commit().await?;
        return Ok(None);
    }
    let key = keys.current();
    let number = last.as_ref().map_or(1, |last| last.number + 1);
    let leaves: Vec<Hash> = rows.iter().map(Row::leaf).collect();
    let mut records = Vec::new();
    for (position, (row, leaf)) in (0_u64..).zip(rows.iter().zip(&leaves)) {
        key.records().record(organization, number, position, (row.kind, row.event_id), *leaf).write(&mut records);
    }
    let head = Head {
        format: FORMAT,
        from_xid,
        key_id: key.id().to_owned(),
        kind: HeadKind::AuditSeal,
        number,
        organization,
        previous: last.as_ref().map_or(Hash::ZERO, Head::hash),
        root: tree::root(&leaves),
        rows: rows.len() as u64,
        time: to_millis(now),
        to_xid,
    };
    tx.insert_seal(&key.sign_head(head), &records).await?;
    tx.commit().await?;
    Ok(Some((rows.len() as u64, to_xid < horizon)))
}

/// Removes the rows of whole seals that were made more than `kept` ago, and signs that they were; gives how many.
pub async fn prune(
    maintenance: &Maintenance,
    keys: &SealKeys,
    organization: OrganizationId,
    now: OffsetDateTime,
    kept: Duration,
) -> Result<u64, StoreError> {
    let mut gone = 0;
    loop {
        let mut tx = maintenance.begin(organization).await?;
        // A seal is never made of rows that are being removed, nor are they removed twice.
        if !tx.lock_seals().await? {
            return Ok(gone);
        }
        let Some(through) = tx.seal_to_prune(now - kept, PRUNE_ROWS).await? else {
            tx.commit().await?;
            return Ok(gone);
        };
        let key = keys.current();
        let pruning = Pruning {
            format: FORMAT,
            key_id: key.id().to_owned(),
            kind: PruningKind::AuditPruning,
            organization,
            through,
            time: to_millis(now),
        };
        gone += tx.prune(&key.sign_pruning(pruning)).await?;
        tx.commit().await?;
    }
}

/// Instants leave with three decimals, and what is signed is what leaves.
fn to_millis(instant: OffsetDateTime) -> OffsetDateTime {
    instant.replace_nanosecond(u32::from(instant.millisecond()) * 1_000_000).unwrap_or(instant)
}
