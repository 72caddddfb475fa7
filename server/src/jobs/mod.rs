//! Work that no request waits for: the head of a ref becomes an index, a source is erased, a verified feed is adopted,
//! findings follow.

pub mod backoff;
pub mod caches;
pub mod child;
pub mod egress;
mod erase;
pub mod fetch_child;
mod findings;
pub mod index_child;
pub mod mirrors;
pub mod place;
pub mod refresh_feed;
pub mod refs;
pub mod reindex;
pub mod remote;
mod room;
pub mod run;
pub mod snapshot_file;
pub mod sweep;
pub mod uploaded;
pub mod worker;

use async_trait::async_trait;
use sync_store::JobKind;

use reindex::Reindex;
use run::{Fault, Run, Work};

/// Every kind of job.
pub struct AllJobs {
    /// The job `reindex`, whose folders `erase` empties.
    pub reindex: Reindex,
}

#[async_trait]
impl Work for AllJobs {
    async fn run(&self, run: &Run) -> Result<(), Fault> {
        match run.ticket.kind {
            JobKind::Reindex => self.reindex.run(run).await,
            JobKind::Erase => erase::run(run, &self.reindex).await,
        }
    }
}
