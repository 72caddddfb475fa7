//! Every integration test, in one binary: one link, one Postgres.

mod architecture;
mod ingest;
