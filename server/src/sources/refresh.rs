//! Bringing a ref up to date because somebody asks: which may be asked for, and for how long one is kept that nobody
//! follows.

use sync_store::{Enqueued, Gate, JobCause, JobKind, RefOrigin, Repository, RepositoryState, StoreError, Tx};
use time::OffsetDateTime;

use super::register::enqueue;
use crate::jobs::refs::is_tracked;
use crate::jobs::reindex::REQUESTED_FOR;

/// The most refs of one source that are kept because they were asked for.
pub const MAX_REQUESTED: usize = 50;

/// Why a source cannot be brought up to date as things stand.
#[derive(Debug, thiserror::Error)]
pub enum CannotRefresh {
    /// Nobody allowed to fetch its code.
    #[error("nobody allowed to fetch this source's code")]
    NotConsented,
    /// It is being erased.
    #[error("the source is being erased")]
    Deleting,
    /// It is not to be indexed.
    #[error("the source's gate is off")]
    Gated,
    /// Too many refs are kept because they were asked for.
    #[error("{MAX_REQUESTED} refs of the source are kept because they were asked for")]
    TooManyRefs,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Whether a source may be looked at anew. Consent is to code leaving where it lies: what is on the worker's own machine
/// wants none, and where there is no address at all the job says so.
pub fn may_refresh(source: &Repository) -> Result<(), CannotRefresh> {
    let leaves = source.clone_url.as_deref().is_some_and(|address| !address.starts_with("file:"));
    match source {
        Repository { state: RepositoryState::Deleting, .. } => Err(CannotRefresh::Deleting),
        Repository { egress_consent: None, .. } if leaves => Err(CannotRefresh::NotConsented),
        Repository { settings, .. } if settings.gate == Gate::Off => Err(CannotRefresh::Gated),
        _ => Ok(()),
    }
}

/// Whether the index of a ref is what Sync fetches itself: its default branch and the branches that it follows, of a source
/// that has an address and may be looked at. Uploads of others, and of sources that are not fetched, are answered from.
pub fn is_fetched(source: &Repository, ref_name: &str) -> bool {
    source.clone_url.is_some()
        && may_refresh(source).is_ok()
        && (ref_name == source.default_branch || is_tracked(&source.settings.tracked_refs, ref_name))
}

/// Asks for a ref to be brought up to date; nothing named: the default branch. One that the source does not follow is kept
/// for [`REQUESTED_FOR`].
pub async fn refresh(
    tx: &mut Tx,
    source: &Repository,
    ref_name: Option<&str>,
    now: OffsetDateTime,
) -> Result<Enqueued, CannotRefresh> {
    may_refresh(source)?;
    if let Some(name) = ref_name.filter(|name| *name != source.default_branch) {
        keep(tx, source, name, now).await?;
    }
    Ok(enqueue(tx, source.id, JobKind::Reindex, ref_name, JobCause::Person, now).await?)
}

async fn keep(tx: &mut Tx, source: &Repository, name: &str, now: OffsetDateTime) -> Result<(), CannotRefresh> {
    if is_tracked(&source.settings.tracked_refs, name) {
        return Ok(tx.keep_ref(source.id, name, RefOrigin::Tracked, None).await?);
    }
    let kept = tx.refs(source.id).await?;
    match kept.iter().find(|kept| kept.name == name) {
        // What is uploaded stays as long as it is.
        Some(kept) if kept.origin != RefOrigin::Requested && kept.is_kept(now) => return Ok(()),
        Some(_) => {}
        None => {
            let asked = kept.iter().filter(|kept| kept.origin == RefOrigin::Requested && kept.is_kept(now));
            if asked.count() >= MAX_REQUESTED {
                return Err(CannotRefresh::TooManyRefs);
            }
        }
    }
    Ok(tx.keep_ref(source.id, name, RefOrigin::Requested, Some(now + REQUESTED_FOR)).await?)
}
