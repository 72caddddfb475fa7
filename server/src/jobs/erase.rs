//! The job `erase`: a source goes with all that is known of it, on disk and in the database.

use serde_json::json;

use super::reindex::Reindex;
use super::run::{Fault, Problem, Run};
use super::sweep::Remotes as _;

/// Does it. Every worker keeps folders of its own: those of others go with their next sweep.
pub(super) async fn run(run: &Run, reindex: &Reindex) -> Result<(), Fault> {
    let (organization, repository) = (run.ticket.organization, run.repository.id);
    let disk = |reason: String| {
        let reason = format!("what is kept of {} on disk could not be removed: {reason}", run.repository.name);
        Fault::Passing(Problem::new("disk", reason, "nothing: it is tried again"))
    };
    let caches = reindex.caches.clone();
    tokio::task::spawn_blocking(move || caches.erase(organization, repository))
        .await
        .unwrap_or_else(|error| Err(std::io::Error::other(error)))
        .map_err(|error| disk(error.to_string()))?;
    if !reindex.remotes.forget(organization, repository).await.map_err(|error| disk(error.to_string()))? {
        return Err(disk("a run still reads it".to_owned()));
    }
    let mut tx = run.store.begin_write(&run.principal()).await?;
    let rows = run.timed("erase", tx.erase_source(repository, Some(run.job.id))).await?;
    run.finish(tx, json!({"rows": rows})).await
}
