//! Answers over a real database, asked through the tools' table.

mod absences;
mod errors;
mod fixture;
mod generated;
mod heard;
mod pages;
mod promises;
mod sample;
mod world;

pub(crate) use world::{START, World};
