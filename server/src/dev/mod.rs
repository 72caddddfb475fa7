//! `syncd dev`: everything on one machine, without configuration.

pub mod announce;
mod data_dir;
mod error;
mod fixture;

pub use data_dir::{DataDir, default_root};
pub use error::DevError;
