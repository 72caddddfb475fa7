//! Answers over a real database, asked through the tools' table.

mod absences;
mod errors;
mod fixture;
pub(crate) mod generated;
pub(crate) mod heard;
mod pages;
mod partial;
mod promises;
pub(crate) mod sample;
mod world;

pub(crate) use world::{START, World};
