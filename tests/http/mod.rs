//! The HTTP surface: who gets in, what everyone else is told, health, metadata, the end of the process.

mod administration;
mod canaries;
mod credentials;
mod described;
mod ending;
mod examples;
mod idempotency;
mod issuer;
mod issuers;
mod jwks;
mod jwt;
mod keys;
mod leaving;
mod limits;
mod malformed;
mod matrix;
mod rest;
mod sources;
mod surface;
mod upload_command;
mod uploads;
mod uploads_at_once;
