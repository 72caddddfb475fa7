//! From a tree of code to a snapshot: pure facts, no tenant, no database.
//!
//! [`index::index`] is the whole of it: walk, parse in children, link, bind, write.

pub mod analyze;
mod bind;
pub mod cache;
pub mod catalog;
pub mod cli;
pub mod feed;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod gate;
pub mod git;
pub mod index;
mod jsonc;
pub mod language;
mod languages;
pub mod limits;
mod link;
pub mod manifests;
mod names;
pub mod parse;
mod pieces;
pub mod pins;
pub mod pool;
pub mod reason;
mod replace;
mod sandbox;
pub mod snapshot;
pub mod tree;
pub mod upload;
pub mod walk;
