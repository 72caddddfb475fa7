//! Every integration test, in one binary: one link, one Postgres.

#![expect(clippy::unwrap_used, reason = "a helper of tests says what went wrong by panicking, as tests do")]

mod answers;
mod architecture;
mod audit;
mod dev;
mod fetch;
mod golden;
mod http;
mod ingest;
mod jobs;
mod load;
mod mcp;
mod store;
mod surface_rules;
mod webhooks;
