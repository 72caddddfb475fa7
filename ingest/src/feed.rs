//! From vendor records to a signed feed, and back to verified changes.
//!
//! A publisher reads record files ([`records`]), turns them into one [`sync_core::change::VendorFeed`] a vendor
//! ([`assemble`]) and writes them signed, as static files for any CDN ([`publish`]). A consumer fetches and verifies
//! ([`verify`]); nothing else may hand a feed to the join. The format is documented in `openapi/feed.md`.

pub mod assemble;
pub mod cli;
pub mod dev;
pub mod keys;
mod normalize;
pub mod publish;
pub mod records;
mod transport;
mod types;
pub mod verify;
mod versions;

pub use assemble::vendor_feeds;
pub use dev::{DevFeed, Renewal, publish_dev};
pub use publish::PublishError;
pub use records::embedded_records;
pub use verify::{Loaded, VerifiedFeed, Verifier, VerifyError};

#[cfg(any(test, fuzzing))]
pub(crate) use verify::read_for_fuzzing;

#[cfg(test)]
mod tests;
