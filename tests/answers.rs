//! Answers over a real database, asked through the tools' table.

mod absences;
mod errors;
mod generated;
mod pages;
mod promises;
mod sample;
mod world;
