//! The words and pure rules of Sync.
//!
//! No IO, no async, no clock and no randomness of its own: time and unique ids are arguments, so that every rule
//! here can be tested with exact expected answers. Everything another crate says about organizations, call sites,
//! operations, vendor changes and findings, it says with the types of this one.

pub mod address;
pub mod change;
pub mod clock;
pub mod correlate;
pub mod cursor;
pub mod graph;
pub mod ids;
pub mod issuer_route;
pub mod join;
pub mod operation;
pub mod policy;
pub mod principal;
pub mod provenance;
pub mod rung;
pub mod seal;
pub mod text;
pub mod watch;
