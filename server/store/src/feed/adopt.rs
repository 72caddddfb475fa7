//! Taking over a verified feed. No version falls here, whatever the verifier's own memory says.

use std::collections::BTreeSet;

use sync_core::change::{Axis, VendorFeed};
use time::OffsetDateTime;

use super::{Adoption, FeedSource, VerifiedFeed};
use crate::convert::{count, stored, stored_count, text};
use crate::error::StoreError;
use crate::tx::SystemTx;

impl SystemTx {
    /// What is kept of a place that feeds come from.
    pub async fn feed_source(&mut self, name: &str) -> Result<Option<FeedSource>, StoreError> {
        let row: Option<(i64, i64, OffsetDateTime, OffsetDateTime)> =
            sqlx::query_as("SELECT root_version, version, expires_at, checked_at FROM feed.sources WHERE name = $1")
                .bind(name)
                .fetch_optional(self.connection())
                .await?;
        Ok(row.map(|(root_version, version, expires_at, checked_at)| FeedSource {
            name: name.to_owned(),
            root_version: count(root_version),
            version: count(version),
            expires_at,
            checked_at,
        }))
    }

    /// Notes a verified check of a place. Refuses versions that fall.
    pub async fn record_feed_check(&mut self, source: &FeedSource) -> Result<(), StoreError> {
        let done = sqlx::query(
            "INSERT INTO feed.sources AS s (name, root_version, version, expires_at, checked_at)
             VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (name) DO UPDATE
             SET root_version = excluded.root_version, version = excluded.version, expires_at = excluded.expires_at,
                 checked_at = greatest(s.checked_at, excluded.checked_at)
             WHERE s.root_version <= excluded.root_version AND s.version <= excluded.version",
        )
        .bind(&source.name)
        .bind(stored_count(source.root_version))
        .bind(stored_count(source.version))
        .bind(source.expires_at)
        .bind(source.checked_at)
        .execute(self.connection())
        .await?;
        if done.rows_affected() == 0 {
            return Err(StoreError::Refused(format!(
                "the feed at `{}` is older than the one already verified (root {}, version {}); next: nothing, the \
                 newer one serves on, but find out who serves the old one",
                source.name, source.root_version, source.version
            )));
        }
        Ok(())
    }

    /// Replaces a vendor's feed by a verified one; the place was noted with [`SystemTx::record_feed_check`] in this
    /// transaction. Refuses a version that falls, and the same version with other bytes.
    pub async fn adopt_feed(
        &mut self,
        source: &str,
        feed: &VerifiedFeed<'_>,
        now: OffsetDateTime,
    ) -> Result<Adoption, StoreError> {
        let vendor = &feed.feed.vendor;
        let sha256 = hex::decode(feed.sha256).map_err(|error| StoreError::Bug(format!("a feed's SHA-256: {error}")))?;
        let kept: Option<(i64, Vec<u8>)> =
            sqlx::query_as("SELECT version, sha256 FROM feed.vendors WHERE vendor = $1 FOR UPDATE")
                .bind(vendor)
                .fetch_optional(self.connection())
                .await?;
        let same_bytes = kept.as_ref().is_some_and(|(_, bytes)| *bytes == sha256);
        if let Some((version, _)) = &kept
            && (count(*version) > feed.version || (count(*version) == feed.version && !same_bytes))
        {
            return Err(StoreError::Refused(format!(
                "version {} of the {vendor} feed does not follow version {version}, which is kept; next: publish \
                 the feed with a greater version",
                feed.version
            )));
        }
        self.write_vendor(source, feed, &sha256, now).await?;
        if same_bytes {
            return Ok(Adoption::Unchanged);
        }
        self.write_versions(feed.feed).await?;
        self.write_changes(feed.feed).await?;
        Ok(Adoption::Adopted)
    }

    async fn write_vendor(
        &mut self,
        source: &str,
        feed: &VerifiedFeed<'_>,
        sha256: &[u8],
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        let groups: BTreeSet<&str> = feed.feed.changes.iter().map(|change| change.group_id.as_str()).collect();
        sqlx::query(
            "INSERT INTO feed.vendors (vendor, source, version, sha256, format, license, adopted_at, changes, groups)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             ON CONFLICT (vendor) DO UPDATE
             SET source = excluded.source, version = excluded.version, sha256 = excluded.sha256,
                 format = excluded.format, license = excluded.license, adopted_at = excluded.adopted_at,
                 changes = excluded.changes, groups = excluded.groups",
        )
        .bind(&feed.feed.vendor)
        .bind(source)
        .bind(stored_count(feed.version))
        .bind(sha256)
        .bind(stored(feed.feed.format))
        .bind(&feed.feed.license)
        .bind(now)
        .bind(stored_count(feed.feed.changes.len() as u64))
        .bind(stored_count(groups.len() as u64))
        .execute(self.connection())
        .await?;
        Ok(())
    }

    async fn write_versions(&mut self, feed: &VendorFeed) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM feed.versions WHERE vendor = $1")
            .bind(&feed.vendor)
            .execute(self.connection())
            .await?;
        sqlx::query(
            "INSERT INTO feed.versions (vendor, position, label, body)
             SELECT $1, u.n - 1, u.label, u.body::json
             FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS u (label, body, n)",
        )
        .bind(&feed.vendor)
        .bind(feed.versions.iter().map(|version| text(&version.label)).collect::<Vec<_>>())
        .bind(bodies(&feed.versions)?)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    async fn write_changes(&mut self, feed: &VendorFeed) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM feed.changes WHERE vendor = $1").bind(&feed.vendor).execute(self.connection()).await?;
        let changes = &feed.changes;
        sqlx::query(
            "INSERT INTO feed.changes
                 (vendor, position, change_id, group_id, axis, package, introduced_ordinal, published_at, body,
                  operation_erased)
             SELECT $1, u.n - 1, u.change_id, u.group_id, u.axis, u.package, u.introduced_ordinal, u.published_at,
                    u.body::json, u.operation_erased
             FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::integer[], $7::date[], $8::text[],
                         $9::text[])
                  WITH ORDINALITY AS u (change_id, group_id, axis, package, introduced_ordinal, published_at, body,
                                        operation_erased, n)",
        )
        .bind(&feed.vendor)
        .bind(changes.iter().map(|change| change.change_id.as_str()).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| text(&change.group_id)).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.axis.map(Axis::as_str)).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.package.as_deref().map(text)).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.introduced_ordinal.map(stored)).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.published_at).collect::<Vec<_>>())
        .bind(bodies(changes)?)
        .bind(
            changes
                .iter()
                .map(|change| change.operation.as_ref().map(|operation| text(&operation.erased()).into_owned()))
                .collect::<Vec<_>>(),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}

fn bodies<T: serde::Serialize>(values: &[T]) -> Result<Vec<String>, StoreError> {
    values
        .iter()
        .map(serde_json::to_string)
        .collect::<Result<_, _>>()
        .map_err(|error| StoreError::Bug(format!("a feed's content: {error}")))
}
