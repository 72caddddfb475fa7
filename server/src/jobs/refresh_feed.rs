//! Verified feeds become what findings are joined with.

use sync_core::ids::{OrganizationId, RepositoryId};
use sync_core::principal::Principal;
use sync_store::{Adoption, FeedSource, OrganizationState, Store, StoreError, VerifiedFeed};
use time::OffsetDateTime;

use super::findings;

/// How many repositories are listed at a time.
const PAGE: u32 = 100;

/// Adopts verified feeds and joins anew every index whose findings were made with others. Gives the vendors whose
/// content changed.
///
/// Adoption is one transaction; each repository follows in its own. Until it has followed, its answers report the
/// version that it was joined with. A crash between the two is made good by the next call.
pub async fn adopt(
    store: &Store,
    source: &FeedSource,
    feeds: &[VerifiedFeed<'_>],
    now: OffsetDateTime,
) -> Result<Vec<String>, StoreError> {
    let mut tx = store.system("refresh_feed").await?;
    tx.record_feed_check(source).await?;
    let mut changed = Vec::new();
    for feed in feeds {
        if tx.adopt_feed(&source.name, feed, now).await? == Adoption::Adopted {
            changed.push(feed.feed.vendor.clone());
        }
    }
    tx.commit().await?;
    join_stale(store, now).await?;
    Ok(changed)
}

/// Joins anew every index whose findings were made with other feeds than are kept now.
async fn join_stale(store: &Store, now: OffsetDateTime) -> Result<(), StoreError> {
    let mut tx = store.system("refresh_feed").await?;
    let organizations = tx.organizations().await?;
    tx.commit().await?;
    for organization in organizations.into_iter().filter(|known| known.state == OrganizationState::Active) {
        join_organization(store, organization.id, now).await?;
    }
    Ok(())
}

async fn join_organization(store: &Store, organization: OrganizationId, now: OffsetDateTime) -> Result<(), StoreError> {
    let principal = Principal::service(organization, "refresh_feed");
    let mut after: Option<String> = None;
    loop {
        let mut tx = store.begin(&principal).await?;
        let page = tx.visible_repositories(after.as_deref(), PAGE).await?;
        tx.commit().await?;
        for repository in &page {
            join_repository(store, &principal, repository.id, now).await?;
        }
        match page.last() {
            Some(last) => after = Some(last.name.clone()),
            None => return Ok(()),
        }
    }
}

async fn join_repository(
    store: &Store,
    principal: &Principal,
    repository: RepositoryId,
    now: OffsetDateTime,
) -> Result<(), StoreError> {
    let mut tx = store.begin_write(principal).await?;
    match tx.lock_repository(repository).await {
        // It was erased since it was listed.
        Err(StoreError::NotFound(_)) => return Ok(()),
        locked => locked?,
    }
    for index in tx.current_indexes(repository).await? {
        if findings::are_stale(&mut tx, &index).await? {
            findings::replace(&mut tx, &index, now).await?;
        }
    }
    tx.commit().await
}
