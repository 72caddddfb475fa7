//! Work that no request waits for: a snapshot becomes an index, a verified feed is adopted, findings follow both.

pub mod backoff;
pub mod child;
pub mod egress;
pub mod fetch_child;
mod findings;
pub mod index_child;
pub mod mirrors;
pub mod refresh_feed;
pub mod reindex;
pub mod run;
pub mod worker;
