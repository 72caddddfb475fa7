//! The harness: one Postgres per test process, one database per test that writes, snapshots and feeds made by hand,
//! two organizations whose every string says whose it is.
//!
//! ```no_run
//! use sync_tests::{NOW, TestDatabase, with_database};
//!
//! #[test]
//! fn a_fresh_database_has_no_organization() {
//!     with_database(async |database: &TestDatabase| {
//!         let mut system = database.store.system("test").await.unwrap();
//!         assert!(system.organizations().await.unwrap().is_empty());
//!     });
//! }
//! ```

mod cluster;
mod database;
pub mod facts;
mod organizations;
pub mod proxy;
pub mod service;

pub use database::{TestDatabase, with_database};
pub use organizations::{Canary, TwoOrganizations};

use time::OffsetDateTime;
use time::macros::datetime;

/// Where the mock clock of a test begins.
pub const NOW: OffsetDateTime = datetime!(2026-11-30 12:00:00 UTC);
