//! The job `erase`: a source goes with all that is known of it, on disk and in the database.

use serde_json::json;

use super::place::WorkerFolders;
use super::run::{Fault, Problem, Run};

/// Does it. Every worker keeps folders of its own: those of others lose a source's when they look for room.
pub(super) async fn run(run: &Run, folders: &WorkerFolders) -> Result<(), Fault> {
    let (organization, repository) = (run.ticket.organization, run.repository.id);
    let its = folders.clone();
    let removed = tokio::task::spawn_blocking(move || its.erase(organization, repository)).await;
    removed.unwrap_or_else(|error| Err(std::io::Error::other(error))).map_err(|error| {
        let reason = format!("what is kept of {} on disk could not be removed: {error}", run.repository.name);
        Fault::Passing(Problem::new("disk", reason, "have the operator look at worker_data_dir"))
    })?;
    let mut tx = run.store.begin_write(&run.principal()).await?;
    let rows = run.timed("erase", tx.erase_source(repository, Some(run.job.id))).await?;
    run.finish(tx, json!({"rows": rows})).await
}
