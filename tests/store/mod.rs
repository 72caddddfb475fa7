//! The store, on a real Postgres, as the unprivileged role.

mod audit;
mod cancelled;
mod catalog;
mod counts;
mod feed;
mod fences;
mod findings;
mod idempotency;
mod identity;
mod secrets;
mod sources;
mod statements;
mod swap;
mod tenancy;
mod upgrade;
