//! A validated snapshot becomes what is answered from.

use sync_core::ids::RepositoryId;
use sync_core::principal::Principal;
use sync_store::{Index, RepositoryState, SnapshotFacts, Store, StoreError, Swap};
use time::OffsetDateTime;

use super::findings;

/// Makes the snapshot the current index of the ref and its findings those of that index, in one transaction: a reader
/// sees the old index with its findings or the new one with its own.
pub async fn store_snapshot(
    store: &Store,
    principal: &Principal,
    repository: RepositoryId,
    ref_name: &str,
    snapshot: &SnapshotFacts,
    now: OffsetDateTime,
) -> Result<Swap, StoreError> {
    let mut tx = store.begin_write(principal).await?;
    let swap = tx.swap_index(repository, ref_name, snapshot, now).await?;
    if !swap.confirmed || findings::are_stale(&mut tx, &swap.index).await? {
        findings::replace(&mut tx, &swap.index, now).await?;
    }
    tx.set_repository_state(repository, RepositoryState::Indexed, None, now).await?;
    tx.commit().await?;
    Ok(swap)
}

/// Says that an index is still that of its ref's head: `indexed_at` moves, and an earlier refusal is over.
pub async fn confirm(
    store: &Store,
    principal: &Principal,
    index: &Index,
    now: OffsetDateTime,
) -> Result<(), StoreError> {
    let mut tx = store.begin_write(principal).await?;
    tx.confirm_index(index, now).await?;
    tx.set_repository_state(index.repository, RepositoryState::Indexed, None, now).await?;
    tx.commit().await
}
