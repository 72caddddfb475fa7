//! Findings follow from call sites and feeds; this is the one place that puts the three together.

use std::collections::BTreeMap;

use sync_core::ids::RepositoryId;
use sync_core::join::{self, FeedIndex, Finding, Site};
use sync_core::rung::BindingSource;
use sync_store::{CallSiteFilter, Index, IndexedSite, JoinedFeed, StoreError, Tx};
use time::OffsetDateTime;

/// Joins the current index anew with the feeds of its vendors and replaces its findings, in the caller's transaction,
/// which holds the repository's lock.
pub(super) async fn replace(tx: &mut Tx, index: &Index, now: OffsetDateTime) -> Result<(), StoreError> {
    let vendors = vendors(tx, index).await?;
    let (joined, feeds): (Vec<JoinedFeed>, Vec<_>) = tx.vendor_feeds(&vendors).await?.into_iter().unzip();
    let sites = tx.indexed_sites(index).await?;
    let findings = join(index.repository, &sites, &FeedIndex::new(&feeds));
    tx.replace_findings(index, &findings, &joined, now).await
}

/// Whether the findings of an index were made with other feeds than are kept now.
pub(super) async fn are_stale(tx: &mut Tx, index: &Index) -> Result<bool, StoreError> {
    let vendors = vendors(tx, index).await?;
    let kept: Vec<JoinedFeed> = tx
        .feeds()
        .await?
        .into_iter()
        .filter(|feed| vendors.contains(&feed.vendor))
        .map(|feed| JoinedFeed { vendor: feed.vendor, version: feed.version })
        .collect();
    Ok(kept != tx.joined_feeds(index).await?)
}

async fn vendors(tx: &mut Tx, index: &Index) -> Result<Vec<String>, StoreError> {
    let filter = CallSiteFilter { include_tests: true, ..CallSiteFilter::default() };
    Ok(tx.count_call_sites(index, &filter).await?.by_vendor.into_iter().map(|(vendor, _)| vendor).collect())
}

/// A finding's rung is its binding's as the row says it, which may be above what the snapshot claimed; so each rung is
/// joined by itself.
fn join(repository: RepositoryId, sites: &[IndexedSite], feeds: &FeedIndex<'_>) -> Vec<Finding> {
    let mut by_rung: BTreeMap<&'static str, (BindingSource, Vec<Site<'_>>)> = BTreeMap::new();
    for site in sites {
        let (_, same) =
            by_rung.entry(site.binding_source.as_str()).or_insert_with(|| (site.binding_source, Vec::new()));
        same.push(Site { path: &site.path, call: &site.call, client: site.client.as_ref() });
    }
    let mut findings = Vec::new();
    for (rung, sites) in by_rung.into_values() {
        findings.extend(join::join(repository, &sites, feeds).into_iter().map(|mut finding| {
            finding.binding_source = rung;
            finding
        }));
    }
    findings
}
