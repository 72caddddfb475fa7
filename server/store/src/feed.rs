//! The last good public feed, kept in schema `feed`. Fetching and verifying happen elsewhere; what comes here is verified.

use serde::{Deserialize, Serialize};
use sync_core::change::{Axis, FeedVersion, VendorChange, VendorFeed};
use sync_core::ids::ChangeId;
use time::{Date, OffsetDateTime};

use crate::error::StoreError;
use crate::tx::{SystemTx, Tx};

/// What is kept of a place that feeds come from, so that a replay is refused even without a verifier's own datastore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedSource {
    /// Which one: its URL, or `dev`.
    pub name: String,
    /// Version of the trusted root.
    pub root_version: u64,
    /// Version of the newest verified metadata (the timestamp role's).
    pub version: u64,
    /// When that metadata expires.
    pub expires_at: OffsetDateTime,
    /// Last verified check; a "not modified" counts.
    pub checked_at: OffsetDateTime,
}

/// One vendor's verified feed, to adopt.
#[derive(Debug, Clone, Copy)]
pub struct VerifiedFeed<'a> {
    /// Version that the signed metadata gives it; never falls.
    pub version: u64,
    /// SHA-256 of the signed target file, in hexadecimal.
    pub sha256: &'a str,
    /// Its content.
    pub feed: &'a VendorFeed,
}

/// What adopting did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adoption {
    /// The content is new: join anew.
    Adopted,
    /// The same content as before; only the version or the check's instant moved.
    Unchanged,
}

/// A vendor's feed as kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedRow {
    /// Vendor id.
    pub vendor: String,
    /// Its version.
    pub version: u64,
    /// Last verified check of the place it comes from.
    pub fetched_at: OffsetDateTime,
    /// When its signed metadata expires.
    pub expires_at: OffsetDateTime,
    /// Data licence of the content.
    pub license: String,
    /// The place it comes from.
    pub source: String,
    /// How many changes.
    pub changes: u64,
    /// How many groups.
    pub groups: u64,
}

/// The version of a vendor's feed that findings were joined with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinedFeed {
    /// Vendor id.
    pub vendor: String,
    /// Version.
    pub version: u64,
}

/// "After this", exclusive. Which one a caller's text means is decided by the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Since {
    /// Introduced by a later version of the same vendor, axis and package.
    Version {
        /// Vendor id.
        vendor: String,
        /// Which axis.
        axis: Axis,
        /// Package, on the SDK axis.
        package: Option<String>,
        /// Ordinal of the version named.
        ordinal: u32,
    },
    /// Published after this day.
    Date(Date),
    /// Newer in the same vendor's feed than the change at this position.
    Change {
        /// Vendor id.
        vendor: String,
        /// [`ChangeRow::position`] of the change named.
        position: u32,
    },
}

/// A change of a feed.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeRow {
    /// The change.
    pub change: VendorChange,
    /// Place in the vendor's feed, from 0, newest first.
    pub position: u32,
    /// How many changes its group has (those that meet the question's `since`).
    pub group_size: u32,
}

/// A page of groups.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangePage {
    /// The newest change of each group, newest first.
    pub rows: Vec<ChangeRow>,
    /// Groups over all pages.
    pub total: u64,
}

impl Tx {
    /// Every feed kept, by vendor.
    pub async fn feeds(&mut self) -> Result<Vec<FeedRow>, StoreError> {
        Err(crate::tx::pending())
    }

    /// One vendor's feed.
    pub async fn feed(&mut self, vendor: &str) -> Result<Option<FeedRow>, StoreError> {
        let _ = vendor;
        Err(crate::tx::pending())
    }

    /// The content of the feeds of those vendors, for the join, with their versions, by vendor.
    pub async fn vendor_feeds(&mut self, vendors: &[String]) -> Result<Vec<(JoinedFeed, VendorFeed)>, StoreError> {
        let _ = vendors;
        Err(crate::tx::pending())
    }

    /// Version labels of a vendor that are written exactly so, on any axis.
    pub async fn feed_versions(&mut self, vendor: &str, label: &str) -> Result<Vec<FeedVersion>, StoreError> {
        let _ = (vendor, label);
        Err(crate::tx::pending())
    }

    /// A page of a vendor's changes, one row a group, newest first, after position `after`, at most `limit`.
    pub async fn changes(
        &mut self,
        vendor: &str,
        since: Option<&Since>,
        after: Option<u32>,
        limit: u32,
    ) -> Result<ChangePage, StoreError> {
        let _ = (vendor, since, after, limit);
        Err(crate::tx::pending())
    }

    /// One change, of any vendor.
    pub async fn change(&mut self, id: &ChangeId) -> Result<Option<ChangeRow>, StoreError> {
        let _ = id;
        Err(crate::tx::pending())
    }
}

impl SystemTx {
    /// What is kept of a place that feeds come from.
    pub async fn feed_source(&mut self, name: &str) -> Result<Option<FeedSource>, StoreError> {
        let _ = name;
        Err(crate::tx::pending())
    }

    /// Notes a verified check of a place. Refuses versions that fall.
    pub async fn record_feed_check(&mut self, source: &FeedSource) -> Result<(), StoreError> {
        let _ = source;
        Err(crate::tx::pending())
    }

    /// Replaces a vendor's feed by a verified one; the place was noted with [`SystemTx::record_feed_check`] in this
    /// transaction. Refuses a version that falls, and the same version with other bytes.
    pub async fn adopt_feed(
        &mut self,
        source: &str,
        feed: &VerifiedFeed<'_>,
        now: OffsetDateTime,
    ) -> Result<Adoption, StoreError> {
        let _ = (source, feed, now);
        Err(crate::tx::pending())
    }
}
