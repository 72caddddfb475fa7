//! The last good public feed, kept in schema `feed`. Fetching and verifying happen elsewhere; what comes here is verified.

mod adopt;

use serde::{Deserialize, Serialize};
use sqlx::{FromRow, Postgres, QueryBuilder};
use sync_core::change::{Axis, FeedVersion, VendorChange, VendorFeed};
use sync_core::ids::ChangeId;
use time::{Date, OffsetDateTime};

use crate::convert::{count, small, stored};
use crate::error::StoreError;
use crate::indexes::Index;
use crate::tx::Tx;

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

/// The columns of [`FeedColumns`].
macro_rules! select_feeds {
    ($rest:literal) => {
        concat!(
            "SELECT v.vendor, v.version, s.checked_at, s.expires_at, v.license, v.source, v.changes, v.groups
             FROM feed.vendors v JOIN feed.sources s ON s.name = v.source ",
            $rest
        )
    };
}

impl Tx {
    /// Every feed kept, by vendor.
    pub async fn feeds(&mut self) -> Result<Vec<FeedRow>, StoreError> {
        let rows: Vec<FeedColumns> =
            sqlx::query_as(select_feeds!("ORDER BY v.vendor")).fetch_all(self.connection()).await?;
        Ok(rows.into_iter().map(FeedColumns::read).collect())
    }

    /// Those feeds of the vendors that the findings of an index were joined with, by vendor; each with the version that was
    /// joined.
    pub async fn feeds_joined(&mut self, index: &Index, vendors: &[&str]) -> Result<Vec<(u64, FeedRow)>, StoreError> {
        let rows: Vec<JoinedColumns> = sqlx::query_as(
            "SELECT j.version AS joined, v.vendor, v.version, s.checked_at, s.expires_at, v.license, v.source, v.changes,
                    v.groups
             FROM sync.joined_feeds j
             JOIN feed.vendors v ON v.vendor = j.vendor
             JOIN feed.sources s ON s.name = v.source
             WHERE j.ref_key = $1 AND j.vendor = ANY ($2) ORDER BY j.vendor",
        )
        .bind(index.ref_key)
        .bind(vendors)
        .fetch_all(self.connection())
        .await?;
        Ok(rows.into_iter().map(|row| (count(row.joined), row.feed.read())).collect())
    }

    /// One vendor's feed.
    pub async fn feed(&mut self, vendor: &str) -> Result<Option<FeedRow>, StoreError> {
        let row: Option<FeedColumns> =
            sqlx::query_as(select_feeds!("WHERE v.vendor = $1")).bind(vendor).fetch_optional(self.connection()).await?;
        Ok(row.map(FeedColumns::read))
    }

    /// The content of the feeds of those vendors, for the join, with their versions, by vendor.
    pub async fn vendor_feeds(&mut self, vendors: &[String]) -> Result<Vec<(JoinedFeed, VendorFeed)>, StoreError> {
        let rows: Vec<(String, i64, i32, String)> = sqlx::query_as(
            "SELECT vendor, version, format, license FROM feed.vendors WHERE vendor = ANY ($1) ORDER BY vendor",
        )
        .bind(vendors)
        .fetch_all(self.connection())
        .await?;
        let mut feeds = Vec::with_capacity(rows.len());
        for (vendor, version, format, license) in rows {
            let versions: Vec<String> =
                sqlx::query_scalar("SELECT body::text FROM feed.versions WHERE vendor = $1 ORDER BY position")
                    .bind(&vendor)
                    .fetch_all(self.connection())
                    .await?;
            let changes: Vec<String> =
                sqlx::query_scalar("SELECT body::text FROM feed.changes WHERE vendor = $1 ORDER BY position")
                    .bind(&vendor)
                    .fetch_all(self.connection())
                    .await?;
            let feed = VendorFeed {
                format: small(format),
                vendor: vendor.clone(),
                license,
                versions: versions.iter().map(|body| read_version(body)).collect::<Result<_, _>>()?,
                changes: changes.iter().map(|body| read_change(body)).collect::<Result<_, _>>()?,
            };
            feeds.push((JoinedFeed { vendor, version: count(version) }, feed));
        }
        Ok(feeds)
    }

    /// Version labels of a vendor that are written exactly so, on any axis.
    pub async fn feed_versions(&mut self, vendor: &str, label: &str) -> Result<Vec<FeedVersion>, StoreError> {
        let rows: Vec<String> = sqlx::query_scalar(
            "SELECT body::text FROM feed.versions WHERE vendor = $1 AND label = $2 ORDER BY position",
        )
        .bind(vendor)
        .bind(label)
        .fetch_all(self.connection())
        .await?;
        rows.iter().map(|body| read_version(body)).collect()
    }

    /// A page of a vendor's changes, one row a group, newest first, after position `after`, at most `limit`.
    pub async fn changes(
        &mut self,
        vendor: &str,
        since: Option<&Since>,
        after: Option<u32>,
        limit: u32,
    ) -> Result<ChangePage, StoreError> {
        let grouped = |select: &'static str| {
            let mut query: QueryBuilder<Postgres> = QueryBuilder::new(select);
            query.push(
                " FROM (SELECT c.group_id, min(c.position) AS position, count(*) AS size
                        FROM feed.changes c WHERE c.vendor = ",
            );
            query.push_bind(vendor.to_owned());
            if let Some(since) = since {
                push_since(&mut query, since);
            }
            query.push(" GROUP BY c.group_id) g");
            query
        };
        let total: i64 = grouped("SELECT count(*)").build_query_scalar().fetch_one(self.connection()).await?;
        let mut page = grouped("SELECT n.body::text, g.position, g.size");
        page.push(" JOIN feed.changes n ON n.position = g.position AND n.vendor = ").push_bind(vendor);
        page.push(" WHERE g.position > ").push_bind(after.map_or(-1, stored));
        page.push(" ORDER BY g.position LIMIT ").push_bind(i64::from(limit));
        let rows: Vec<(String, i32, i64)> = page.build_query_as().fetch_all(self.connection()).await?;
        let rows = rows
            .into_iter()
            .map(|(body, position, size)| {
                Ok(ChangeRow {
                    change: read_change(&body)?,
                    position: small(position),
                    group_size: u32::try_from(size).unwrap_or(u32::MAX),
                })
            })
            .collect::<Result<_, StoreError>>()?;
        Ok(ChangePage { rows, total: count(total) })
    }

    /// One change, of any vendor.
    pub async fn change(&mut self, id: &ChangeId) -> Result<Option<ChangeRow>, StoreError> {
        let row: Option<(String, i32, i64)> = sqlx::query_as(
            "SELECT c.body::text, c.position,
                    (SELECT count(*) FROM feed.changes o WHERE o.vendor = c.vendor AND o.group_id = c.group_id)
             FROM feed.changes c WHERE c.change_id = $1",
        )
        .bind(id.as_str())
        .fetch_optional(self.connection())
        .await?;
        row.map(|(body, position, size)| {
            Ok(ChangeRow {
                change: read_change(&body)?,
                position: small(position),
                group_size: u32::try_from(size).unwrap_or(u32::MAX),
            })
        })
        .transpose()
    }
}

/// Adds what `since` means for a change `c`.
pub(crate) fn push_since(query: &mut QueryBuilder<Postgres>, since: &Since) {
    match since {
        Since::Version { vendor, axis, package, ordinal } => {
            query.push(" AND c.vendor = ").push_bind(vendor.clone());
            query.push(" AND c.axis = ").push_bind(axis.as_str());
            query.push(" AND c.package IS NOT DISTINCT FROM ").push_bind(package.clone());
            query.push(" AND c.introduced_ordinal > ").push_bind(stored(*ordinal));
        }
        Since::Date(day) => {
            query.push(" AND c.published_at > ").push_bind(*day);
        }
        Since::Change { vendor, position } => {
            query.push(" AND c.vendor = ").push_bind(vendor.clone());
            query.push(" AND c.position < ").push_bind(stored(*position));
        }
    }
}

pub(crate) fn read_change(body: &str) -> Result<VendorChange, StoreError> {
    serde_json::from_str(body).map_err(|error| StoreError::unreadable("vendor change", error))
}

fn read_version(body: &str) -> Result<FeedVersion, StoreError> {
    serde_json::from_str(body).map_err(|error| StoreError::unreadable("feed version", error))
}

#[derive(FromRow)]
struct JoinedColumns {
    joined: i64,
    #[sqlx(flatten)]
    feed: FeedColumns,
}

#[derive(FromRow)]
struct FeedColumns {
    vendor: String,
    version: i64,
    checked_at: OffsetDateTime,
    expires_at: OffsetDateTime,
    license: String,
    source: String,
    changes: i64,
    groups: i64,
}

impl FeedColumns {
    fn read(self) -> FeedRow {
        FeedRow {
            vendor: self.vendor,
            version: count(self.version),
            fetched_at: self.checked_at,
            expires_at: self.expires_at,
            license: self.license,
            source: self.source,
            changes: count(self.changes),
            groups: count(self.groups),
        }
    }
}
