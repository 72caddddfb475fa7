//! Erasing a source because somebody asks, wherever it is asked.

use sync_core::ids::RepositoryId;
use sync_store::{Enqueued, JobCause, JobKind, RepositoryState, SecretPurpose, StoreError, Tx};
use time::OffsetDateTime;

use super::register::enqueue;

/// Forgets at once what opens a source and what speaks of it, and asks for the rest to be erased. Lock it first
/// ([`Tx::lock_source`]).
pub async fn erase(tx: &mut Tx, source: RepositoryId, now: OffsetDateTime) -> Result<Enqueued, StoreError> {
    tx.delete_secret(SecretPurpose::RepositoryCredential, &source.to_string()).await?;
    tx.forget_webhook(source).await?;
    tx.set_repository_state(source, RepositoryState::Deleting, None, now).await?;
    enqueue(tx, source, JobKind::Erase, None, JobCause::Person, now).await
}
